package storetest

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// telemetryModel appends at random, early and late, and compares.
func telemetryModel(t *testing.T, open Open) {
	rounds := 0
	rapid.Check(t, func(rt *rapid.T) {
		if rounds++; rounds > 12 { // each makes a store
			return
		}
		clock := newClock()
		tt := &telemetryTest{rtb{t, rt}, open(t, clock.Now), clock, map[string]series.Frame{}}
		name := rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "Africa/Johannesburg", "America/Havana"}).Draw(rt, "zone")
		site := store.SiteKey{ID: "site", Zone: zone(t, name)}
		for range rapid.IntRange(1, 12).Draw(rt, "appends") {
			clock.advance(time.Duration(rapid.IntRange(0, 30).Draw(rt, "hours")) * time.Hour)
			var frames []store.AssetFrame
			for range rapid.IntRange(1, 3).Draw(rt, "frames") {
				id := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "asset")
				back := rapid.SampledFrom([]int{0, 0, 1, 3, 24, 40, 500, 2000}).Draw(rt, "hours back")
				kW := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 1, 2.5, math.NaN(), -0.1}), 1, 120).Draw(rt, "kW")
				f := power(clock.Now().Add(-time.Duration(back)*time.Hour), time.Hour, kW...)
				if rapid.Bool().Draw(rt, "temperature") {
					f.Set(series.TemperatureC, slices.Clone(kW))
				}
				frames = append(frames, store.AssetFrame{AssetID: id, Frame: f})
			}
			tt.append(site, frames...)
		}
		tt.check(site)
	})
}

// rtb is a testing.TB whose failures are rapid's, so that it can shrink.
type rtb struct {
	testing.TB
	rt *rapid.T
}

func (r rtb) Fatal(args ...any)                 { r.rt.Fatal(args...) }
func (r rtb) Fatalf(format string, args ...any) { r.rt.Fatalf(format, args...) }
