package place_test

import (
	"math"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
	"unicode"

	"pgregory.net/rapid"

	"app.sunloop/engine/place"
)

func TestFind(t *testing.T) {
	tests := []struct {
		text, name, country, zone string
		lat, lon                  float64 // ± 0.2
		words                     string
	}{
		{"Durban", "Durban", "ZA", "Africa/Johannesburg", -29.86, 31.03, "Durban, ZA (-29.86, 31.03)"},
		{"  dUrBaN , South Africa", "Durban", "ZA", "Africa/Johannesburg", -29.86, 31.03, ""},
		{"KwaZulu-Natal, Durban, ZA", "Durban", "ZA", "Africa/Johannesburg", -29.86, 31.03, ""},
		{"Durban, KwaZulu-Natal, South Africa", "Durban", "ZA", "Africa/Johannesburg", -29.86, 31.03, ""},
		{"München", "Munich", "DE", "Europe/Berlin", 48.14, 11.58, ""},
		{"MUNCHEN, de", "Munich", "DE", "Europe/Berlin", 48.14, 11.58, ""},
		{"São Paulo", "São Paulo", "BR", "America/Sao_Paulo", -23.55, -46.64, ""},
		{"sao-paulo", "São Paulo", "BR", "America/Sao_Paulo", -23.55, -46.64, ""},
		{"東京", "Tokyo", "JP", "Asia/Tokyo", 35.69, 139.69, ""},
		{"Łódź", "Łódź", "PL", "Europe/Warsaw", 51.77, 19.47, ""},
		{"lodz", "Łódź", "PL", "Europe/Warsaw", 51.77, 19.47, ""},
		{"London", "London", "GB", "Europe/London", 51.51, -0.13, "the larger of 2 of that name"},
		{"London, Canada", "London", "CA", "America/Toronto", 42.98, -81.23, ""},
		{"Paris, TX", "Paris", "US", "America/Chicago", 33.66, -95.56, "Paris, TX, US (33.66, -95.56)"},
		{"Springfield, Illinois", "Springfield", "US", "America/Chicago", 39.8, -89.64, "Springfield, IL, US"},
		{"Austin, Texas, USA", "Austin", "US", "America/Chicago", 30.27, -97.74, "Austin, TX, US"},
		{"London, UK", "London", "GB", "Europe/London", 51.51, -0.13, "London, GB (51.51, -0.13)"},
		{"Tbilisi, Georgia", "Tbilisi", "GE", "Asia/Tbilisi", 41.69, 44.83, ""},
		{"Atlanta, Georgia", "Atlanta", "US", "America/New_York", 33.75, -84.39, ""},
		{"Spain", "Madrid", "ES", "Europe/Madrid", 40.42, -3.7, "the largest town of Spain"},
		{"Some Farm, Arizona", "Phoenix", "US", "America/Phoenix", 33.45, -112.07, "the largest town of Arizona"},
		{"San Diego, CA", "San Diego", "US", "America/Los_Angeles", 32.72, -117.16, ""},
		{"Phoenix, AZ, US", "Phoenix", "US", "America/Phoenix", 33.45, -112.07, ""},
		{"-29.86, 31.03", "", "ZA", "Africa/Johannesburg", -29.86, 31.03, "-29.86, 31.03; the nearest town is"},
		{"40.4N 3.7W", "", "ES", "Europe/Madrid", 40.4, -3.7, ""},
		{"40.4° N; 3.7° W", "", "ES", "Europe/Madrid", 40.4, -3.7, ""},
		{"0,0", "", "GH", "Africa/Accra", 0, 0, ""},
	}
	for _, test := range tests {
		got, ok := place.Find(test.text)
		if !ok || got.Name != test.name || got.Country != test.country || got.Zone != test.zone ||
			math.Abs(got.LatitudeDeg-test.lat) > 0.2 || math.Abs(got.LongitudeDeg-test.lon) > 0.2 || !strings.Contains(got.Description, test.words) {
			t.Errorf("%q: %+v, %v", test.text, got, ok)
		}
	}
	for _, text := range []string{"", ",", "Unknown Town", "Durban, XX", "ES", "91, 0", "10, 181", "1", "1, 2, 3", "0x1, 2", "-3S, 4", strings.Repeat("a", 1000)} {
		if got, ok := place.Find(text); ok {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

// TestTowns asserts of every town what the rest relies on.
func TestTowns(t *testing.T) {
	zones := map[string]bool{}
	count := 0
	for _, p := range place.Towns() {
		count++
		if !(math.Abs(p.LatitudeDeg) <= 90) || !(math.Abs(p.LongitudeDeg) <= 180) || p.Population < 15_000 || len(p.Country) != 2 || p.Name == "" {
			t.Errorf("%+v", p)
		}
		if !zones[p.Zone] {
			zones[p.Zone] = true
			if _, err := time.LoadLocation(p.Zone); err != nil || p.Zone == "" {
				t.Errorf("%s: %v", p, err)
			}
		}
	}
	if count < 20_000 || len(zones) < 250 {
		t.Errorf("%d towns in %d zones", count, len(zones))
	}
}

func TestNearest(t *testing.T) {
	// The great circle between two towns, by the published 1 152 km (± 1 %)
	// of Berlin's and Paris's centres less: Versailles is nearer to the west.
	if town, km := place.Nearest(48.8566, 2.3522); town.Name != "Paris" || km > 2 {
		t.Errorf("%v, %.1f km", town, km)
	}
	// Null island lies about 580 km off Ghana's coast.
	if town, km := place.Nearest(0, 0); town.Country != "GH" || km < 500 || km > 650 {
		t.Errorf("%v, %.0f km", town, km)
	}
	// Across the date line: Fiji's towns from the east.
	if town, _ := place.Nearest(-18, -179.5); town.Country != "FJ" {
		t.Errorf("%v", town)
	}
	all := place.Towns()
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(all).Draw(t, "town")
		if town, km := place.Nearest(p.LatitudeDeg, p.LongitudeDeg); km > 0.5 {
			t.Errorf("%v is %.1f km from itself, taken for %v", p, km, town)
		}
		lat, lon := rapid.Float64Range(-90, 90).Draw(t, "lat"), rapid.Float64Range(-180, 180).Draw(t, "lon")
		if _, km := place.Nearest(lat, lon); math.IsNaN(km) || km > 20_016 {
			t.Errorf("%g, %g: %g km to the nearest town", lat, lon, km)
		}
	})
}

// TestFindEveryTown asserts that a town is found by its own words.
func TestFindEveryTown(t *testing.T) {
	states := map[string]bool{}
	for _, p := range place.Towns() {
		states[p.Region] = true
	}
	for _, p := range place.Towns() {
		if states[p.Country] {
			continue // KY is both Kentucky and the Cayman Islands: the larger town is meant
		}
		got, ok := place.Find(p.String())
		if !ok || got.Country != p.Country || got.Population < p.Population || got.Region != p.Region {
			t.Errorf("%s is found as %+v, %v", p, got, ok)
		}
	}
}

// TestFoldOfFold asserts that a fold is its own fold, for each character.
func TestFoldOfFold(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if once := place.Fold("a" + string(r)); place.Fold(once) != once {
			t.Errorf("%U: the fold %q has the fold %q", r, once, place.Fold(once))
		}
	}
}

func FuzzFind(f *testing.F) {
	for _, text := range []string{"Durban, ZA", "1,2", "40.4° N; 3.7° W", "é́́,,", "\xff", "ϔ"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := place.Find(text)
		if ok && (!(math.Abs(got.LatitudeDeg) <= 90) || !(math.Abs(got.LongitudeDeg) <= 180) || got.Zone == "" || got.Description == "") {
			t.Errorf("%q is %+v", text, got)
		}
		if once := place.Fold(text); place.Fold(once) != once {
			t.Errorf("fold of %q is not stable: %q", text, once)
		}
	})
}

func BenchmarkFind(b *testing.B) {
	place.Find("Durban") // unpacked before
	for b.Loop() {
		if _, ok := place.Find("durban, south africa"); !ok {
			b.Fatal("lost")
		}
	}
}

func BenchmarkNearest(b *testing.B) {
	place.Nearest(0, 0)
	for b.Loop() {
		place.Nearest(-29.86, 31.03)
	}
}

// Two airports, Nashville and Los Angeles: the worked example of the haversine
// formula at Rosetta Code, for its radius of 6372.8 km.
func TestDistance(t *testing.T) {
	const want = 2887.2600 * 6371.0088 / 6372.8
	if d := place.DistanceKM(36.12, -86.67, 33.94, -118.40); math.Abs(d-want) > 0.01 {
		t.Errorf("%.4f km, not %.4f", d, want)
	}
	if d := place.DistanceKM(10, 179.9, 10, -179.9); math.Abs(d-21.9) > 0.1 {
		t.Errorf("%.2f km across the date line", d)
	}
}
