package pipeline

import (
	"math"
	"testing"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/engine/simulate"
)

func TestPlaceFromSun(t *testing.T) {
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
		place, ok := placeFromSun(sum)
		if dLat, dLon := place.LatitudeDeg-s.Location.LatitudeDeg, place.LongitudeDeg-s.Location.LongitudeDeg; !ok || math.Abs(dLat) > 6 || math.Abs(dLon) > 6 {
			t.Errorf("%s is found at %+v, is at %+v", s.ID, place, s.Location)
		} else {
			t.Logf("%s: off by %.1f° of latitude, %.1f° of longitude", s.ID, dLat, dLon)
		}
	}
	if _, ok := placeFromSun(series.Series{Start: day0, Step: time.Hour, Values: make([]float64, 5000)}); ok {
		t.Error("darkness has a place")
	}
	if _, ok := placeFromSun(series.Series{}); ok {
		t.Error("nothing has a place")
	}
}
