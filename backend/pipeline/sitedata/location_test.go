package sitedata

import (
	"math"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
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
