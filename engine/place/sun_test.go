package place_test

import (
	"math"
	"testing"
	"time"

	"app.sunloop/engine/place"
	"app.sunloop/engine/series"
	"app.sunloop/engine/simulate"
)

var day0 = time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC)

func TestFromSun(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates three years of sites")
	}
	for _, s := range simulate.Demo(1, day0.AddDate(-1, 0, 0), day0).Sites {
		sum := series.Series{}
		for _, f := range s.Frames(day0.AddDate(-1, 0, 0), day0, time.Hour) {
			one := series.Resample(f.Times, f.Values(series.PowerKW), time.Hour, 0)
			if sum.Len() == 0 {
				sum = one
				continue
			}
			for i := range sum.Values {
				if v := one.At(sum.Time(i)); !math.IsNaN(v) {
					sum.Values[i] += v
				}
			}
		}
		lat, lon, ok := place.FromSun(sum)
		if dLat, dLon := lat-s.Location.LatitudeDeg, lon-s.Location.LongitudeDeg; !ok || math.Abs(dLat) > 6 || math.Abs(dLon) > 6 {
			t.Errorf("%s is found at %.1f, %.1f, is at %+v", s.ID, lat, lon, s.Location)
		} else {
			t.Logf("%s: off by %.1f° of latitude, %.1f° of longitude", s.ID, dLat, dLon)
		}
	}
	if _, _, ok := place.FromSun(series.Series{Start: day0, Step: time.Hour, Values: make([]float64, 5000)}); ok {
		t.Error("darkness has a place")
	}
	if _, _, ok := place.FromSun(series.Series{}); ok {
		t.Error("nothing has a place")
	}
}
