package storetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// FleetEnd is the midnight at which the fleets of benchmarks end.
var FleetEnd = time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC)

// FleetUnit is the id of a unit of the fleet.
func FleetUnit(i int) string { return fmt.Sprintf("INV-%016d", i) }

// FleetPower returns power of a unit in kW with one decimal, as loggers send
// it, each 5 minutes for the given days before FleetEnd: a bell of clear sky
// times varying clouds, zero at night.
func FleetPower(unit, days int) series.Frame {
	rng := rand.New(rand.NewPCG(1, uint64(unit)))
	cloud := 0.8
	start := FleetEnd.AddDate(0, 0, -days).Unix()
	f := series.Frame{Times: make([]int64, days*288)}
	power := make([]float64, days*288)
	for i := range power {
		f.Times[i] = start + int64(i)*300
		half := 6 * (1 + 0.25*math.Cos(2*math.Pi*float64(i/288-15)/365))
		if x := (float64(i%288)/12 - 12) / half; x > -1 && x < 1 {
			cloud = min(1, max(0.1, cloud+0.04*rng.NormFloat64()))
			power[i] = math.Round(1100*math.Cos(x*math.Pi/2)*cloud) / 10
		}
	}
	f.Set(series.PowerKW, power)
	return f
}

// Fleet is the history of all units.
func Fleet(units, days int) []store.AssetFrame { return FleetPart(0, units, days) }

// FleetPart is the history of the units first..end-1: that of a large fleet need
// not be in memory at once.
func FleetPart(first, end, days int) []store.AssetFrame {
	frames := make([]store.AssetFrame, end-first)
	for i := range frames {
		frames[i] = store.AssetFrame{AssetID: FleetUnit(first + i), Frame: FleetPower(first+i, days)}
	}
	return frames
}

// FleetStep is what all units report in step i of 5 minutes after FleetEnd.
func FleetStep(units, i int) []store.AssetFrame {
	frames := make([]store.AssetFrame, units)
	for u := range frames {
		f := series.Frame{Times: []int64{FleetEnd.Unix() + int64(i)*300}}
		f.Set(series.PowerKW, []float64{float64(i+u) / 10})
		frames[u] = store.AssetFrame{AssetID: FleetUnit(u), Frame: f}
	}
	return frames
}
