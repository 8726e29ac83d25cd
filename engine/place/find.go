package place

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Found is the place that a text was understood as, with the reason.
type Found struct {
	Place
	Description string
	Rough       bool // a country or a state was named: the place is its largest town
}

// maxText is longer than any place that a person writes.
const maxText = 200

// Find reads where a plant is: a pair of coordinates ("-29.86, 31.03",
// "29.86 S 31.03 E"), or a town, with its country or, in the United States,
// its state behind a comma if need be ("Durban", "Durban, ZA", "Durban, South
// Africa", "Springfield, IL"). Case, accents and punctuation do not matter. Of
// several towns of a name it is the largest; of a country or a state too, where
// no town is named. ok is false where nothing of that name is known.
func Find(text string) (found Found, ok bool) {
	if len(text) > maxText || strings.TrimSpace(text) == "" { // nothing is unpacked for it
		return Found{}, false
	}
	if lat, lon, ok := Coordinates(text); ok {
		town, km := Nearest(lat, lon)
		p := Place{LatitudeDeg: lat, LongitudeDeg: lon, Country: town.Country, Zone: town.Zone}
		return Found{Place: p, Description: fmt.Sprintf("%s; the nearest town is %s, %.0f km away, whose time zone is %s", p, town, km, town.Zone)}, true
	}
	g := towns()
	parts := strings.Split(text, ",")
	// A street or a quarter may precede the town.
	for i := range parts {
		if key := Fold(parts[i]); i > 0 && (g.country(key) != "" || states[key] != "") {
			continue // what a town lies in, though some town may be called so too
		}
		if hits := g.search(parts[i], parts[i+1:]); len(hits) > 0 {
			return g.choose(hits), true
		}
	}
	for _, part := range parts {
		if f, ok := g.largest(part); ok {
			return f, true
		}
	}
	return Found{}, false
}

// largest returns the largest town of a country or a state. The name must be
// spelled out, because two letters are ambiguous.
func (g *gazetteer) largest(part string) (Found, bool) {
	key := Fold(part)
	country, state := g.country(key), states[key]
	if len(key) < 3 || country == "" && state == "" {
		return Found{}, false
	}
	best := -1
	for k, t := range g.towns {
		if (t.Country == country || t.Country == "US" && t.Region == state) && (best < 0 || t.Population > g.towns[best].Population) {
			best = k
		}
	}
	if best < 0 {
		return Found{}, false
	}
	f := Found{Place: g.towns[best], Rough: true}
	f.Description = fmt.Sprintf("%s (%.2f, %.2f), the largest town of %s", f.Place, f.LatitudeDeg, f.LongitudeDeg, strings.TrimSpace(part))
	return f, true
}

// country is the code of a country's folded name, or empty.
func (g *gazetteer) country(key string) string {
	if code, ok := otherCountries[key]; ok {
		return code
	}
	return g.countries[key]
}

// search is the towns of a name that all of the further parts agree with.
func (g *gazetteer) search(name string, further []string) []int32 {
	return slices.DeleteFunc(g.called(name), func(k int32) bool {
		return slices.ContainsFunc(further, func(part string) bool { return !g.lies(g.towns[k], part) })
	})
}

// lies reports whether the text after a town's name is consistent with it. A
// region that is neither a country nor a state is unknown.
func (g *gazetteer) lies(town Place, part string) bool {
	key := Fold(part)
	country, state := g.country(key), states[key]
	if town.Country == "US" && (state != "" && state == town.Region || strings.EqualFold(key, town.Region)) || country == town.Country {
		return true
	}
	return country == "" && state == "" && len(key) != 2
}

func (g *gazetteer) choose(hits []int32) Found {
	best := slices.MaxFunc(hits, func(a, b int32) int { return g.towns[a].Population - g.towns[b].Population })
	f := Found{Place: g.towns[best]}
	f.Description = fmt.Sprintf("%s (%.2f, %.2f)", f.Place, f.LatitudeDeg, f.LongitudeDeg)
	switch n := len(hits); {
	case n == 2:
		f.Description += ", the larger of 2 of that name"
	case n > 2:
		f.Description += fmt.Sprintf(", the largest of %d of that name", n)
	}
	return f
}

// Coordinates reads a latitude and a longitude in decimal degrees, apart by a
// comma, a semicolon or a space, signed or with N, S, E, W and ° behind.
func Coordinates(text string) (latDeg, lonDeg float64, ok bool) {
	var parts []string
	for word := range strings.FieldsFuncSeq(strings.ToUpper(text), func(r rune) bool { return strings.ContainsRune(",;° \t", r) }) {
		if len(word) == 1 && strings.Contains("NSEW", word) && len(parts) > 0 {
			parts[len(parts)-1] += word
			continue
		}
		parts = append(parts, word)
	}
	if len(parts) != 2 {
		return 0, 0, false
	}
	latDeg, okLat := degrees(parts[0], "N", "S", 90)
	lonDeg, okLon := degrees(parts[1], "E", "W", 180)
	return latDeg, lonDeg, okLat && okLon
}

func degrees(text, plus, minus string, most float64) (float64, bool) {
	sign := 1.0
	if number, ok := strings.CutSuffix(text, plus); ok {
		text = number
	} else if number, ok := strings.CutSuffix(text, minus); ok {
		text, sign = number, -1
	}
	// Go's parser also takes "0x1p3", "1_0" and "Inf".
	if strings.Trim(text, "+-.0123456789") != "" || sign < 0 && strings.HasPrefix(text, "-") {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	return sign * v, err == nil && math.Abs(v) <= most
}
