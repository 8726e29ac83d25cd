package sitedata

import (
	"math"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/model"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

// sunny is a year of hourly power at a place under a clear sky.
func sunny(lat, lon float64) series.Series {
	s := series.Series{Start: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), Step: time.Hour, Values: make([]float64, 365*24)}
	loc := solar.Location{LatitudeDeg: lat, LongitudeDeg: lon}
	for i := range s.Values {
		mid := s.Time(i).Add(30 * time.Minute)
		s.Values[i] = solar.ClearSky(mid, solar.At(mid, loc), loc, 0).GHI / 10
	}
	return s
}

func TestSiteLocation(t *testing.T) {
	number := func(v float64) *float64 { return &v }
	durban := sunny(-29.9, 31)
	tests := []struct {
		name     string
		site     api.Site
		power    series.Series
		lat, lon float64
		within   float64
		words    string
	}{
		{"coordinates", api.Site{Latitude: number(10), Longitude: number(20), Location: "Durban"}, durban, 10, 20, 0, ""},
		{"a town", api.Site{Location: "durban, za"}, durban, -29.858, 31.029, 0.01, "place: Durban, ZA (-29.86, 31.03)"},
		{"a town, dark data", api.Site{Location: "Durban"}, series.Series{}, -29.858, 31.029, 0.01, "place: Durban, ZA (-29.86, 31.03)"},
		{"a town that the sun denies", api.Site{Location: "Madrid"}, durban, -30, 31, 6, "place: Madrid, ES is given, but its times may be of another zone"},
		{"no town", api.Site{Location: "Roof 2"}, durban, -30, 31, 6, "place: none is given that is known; the sun in the data says about -"},
		{"nothing", api.Site{}, series.Series{}, 0, 0, 0, "the data do not show one"},
	}
	for _, test := range tests {
		loc, found, words := (*Data)(nil).SiteLocation(test.site, test.power)
		if math.Abs(loc.LatitudeDeg-test.lat) > test.within || math.Abs(loc.LongitudeDeg-test.lon) > test.within || !strings.Contains(strings.Join(words, "\n"), test.words) {
			t.Errorf("%s: %+v, %q", test.name, loc, words)
		}
		if found != nil && (found.LatitudeDeg != loc.LatitudeDeg || found.LongitudeDeg != loc.LongitudeDeg) {
			t.Errorf("%s: registered at %+v, trained at %+v", test.name, found, loc)
		}
	}
}

// The others' mean is the same whether one is taken off the sum or never was
// in it.
func TestMeanWithoutOne(t *testing.T) {
	nan := math.NaN()
	start := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	of := func(late int, v ...float64) series.Series {
		return series.Series{Start: start.Add(time.Duration(late) * time.Hour), Step: time.Hour, Values: v}
	}
	one, sum := of(1, 6, nan, 9), newSum(5)
	sum.add(one, start, 30)
	sum.add(of(0, 1, 2, 3, 4), start, 10)
	sum.add(of(0, 4, 8, nan, nan, 5), start, 20)
	got := sum.MeanWithout(one, start, 30, 60, 0.5)
	for k, want := range []float64{5. / 30, 10. / 30, nan, nan, 5. / 20} {
		if !(math.Abs(got[k]-want) < 1e-12) && !(math.IsNaN(want) && math.IsNaN(got[k])) {
			t.Errorf("hour %d: %g, not %g", k, got[k], want)
		}
	}
}

// TestModelLearnedElsewhere: a model that another replica has let learn is not
// used as it was before.
func TestModelCache(t *testing.T) {
	var c ModelCache
	at := day0
	c.Put("South", LoadedModel{Record: model.Model{Hash: "h"}, LearnedTo: at})
	for _, step := range []struct {
		hash    string
		learned time.Time
		want    bool
	}{{"h", at, true}, {"h", at.AddDate(0, 0, 1), false}, {"h", time.Time{}, false}, {"other", at, false}} {
		if _, ok := c.get("South", step.hash, step.learned); ok != step.want {
			t.Errorf("%s, learned to %v: %v", step.hash, step.learned, ok)
		}
	}
}
