package interpolate

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"app.sunloop/engine/forecast"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

var (
	testSite  = forecast.Site{ID: "test", Location: solar.Location{LatitudeDeg: 48.2, LongitudeDeg: 11.6, AltitudeM: 500}, CapacityKW: 50}
	testStart = time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
)

// scramble is a hash: random numbers that depend on nothing but k.
func scramble(k uint64) float64 {
	k = (k ^ k>>30) * 0xbf58476d1ce4e5b9
	k = (k ^ k>>27) * 0x94d049bb133111eb
	return float64((k^k>>31)>>11) / (1 << 53)
}

// synthetic is a site under cloudy and clear spells that change within hours,
// with the irradiance that goes with them.
func synthetic(days int, step time.Duration) (series.Series, Weather) {
	n := int(time.Duration(days) * day / step)
	power := series.Series{Start: testStart, Step: step, Values: make([]float64, n)}
	ghi := series.Series{Start: testStart, Step: step, Values: make([]float64, n)}
	plane := solar.Plane{TiltDeg: 25, AzimuthDeg: 170}
	knot := func(k int) float64 { return 0.15 + 0.85*math.Sqrt(scramble(uint64(k)+77)) }
	for i := range n {
		t := power.Time(i).Add(step / 2)
		at := float64(t.Unix()) / (5 * 3600)
		k := math.Floor(at)
		index := knot(int(k))*(1-at+k) + knot(int(k)+1)*(at-k)
		pos := solar.At(t, testSite.Location)
		clear := solar.ClearSky(t, pos, testSite.Location, 0)
		poa := plane.HayDavies(pos, clear, solar.Extraterrestrial(t), 0.2)
		power.Values[i] = math.Min(testSite.CapacityKW, testSite.CapacityKW*0.95*poa.Global()/1000*index)
		ghi.Values[i] = clear.GHI * index
	}
	return power, Weather{GHI: ghi}
}

type fixture struct {
	model *Model
	power series.Series
	wx    Weather
}

// trained is one model for all tests: 80 days by the hour, with weather.
var trained = sync.OnceValues(func() (fixture, error) {
	power, wx := synthetic(80, time.Hour)
	m, _, err := Train(context.Background(), testSite, power, wx, Options{Workers: 2, Seed: 3})
	return fixture{m, power, wx}, err
})

func trainedOnce(t testing.TB) fixture {
	t.Helper()
	f, err := trained()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// hidden is power with NaN at [from, to).
func hidden(power series.Series, from, to int) series.Series {
	s := series.Series{Start: power.Start, Step: power.Step, Values: append([]float64(nil), power.Values...)}
	for i := from; i < to; i++ {
		s.Values[i] = math.NaN()
	}
	return s
}
