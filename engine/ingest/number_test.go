package ingest

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestParseNumber(t *testing.T) {
	german, english := numberStyle{',', '.'}, numberStyle{'.', ','}
	for _, c := range []struct {
		cell  string
		style numberStyle
		want  float64
		rest  string
	}{
		{"0,185", german, 0.185, ""}, {"1.234,56", german, 1234.56, ""}, {"12.345.678", german, 12345678, ""}, {"1,234.5", english, 1234.5, ""}, {"-11", english, -11, ""}, {"−11,5", german, -11.5, ""},
		{"1 234,5", german, 1234.5, ""}, {"1\u00a0234", english, 1234, ""}, {"1'234.5", english, 1234.5, ""}, {"1\u202f234,5", german, 1234.5, ""}, {"1.10 kW", english, 1.1, "kW"}, {"475 W", english, 475, "W"},
		{"1.66E-06", english, 1.66e-6, ""}, {"2e3", english, 2000, ""}, {"+7", english, 7, ""}, {".5", english, .5, ""}, {"5.", english, 5, ""}, {"0.647327935222672", english, 0.647327935222672, ""},
		{"123456789012345678901234567890", english, 123456789012345678901234567890, ""}, {"12 %", english, 12, "%"}, {"1,5", english, 1, ",5"}, {"12.5", german, 12, ".5"},
	} {
		v, rest, ok := parseNumber([]byte(c.cell), c.style)
		if !ok || math.Abs(v-c.want) > 1e-15*math.Abs(c.want) || string(rest) != c.rest {
			t.Errorf("%q is %v rest %q %t, want %v rest %q", c.cell, v, rest, ok, c.want, c.rest)
		}
	}
	for _, cell := range []string{"", "-", "--", "NaN", "null", "N/A", "#N/A", " ", "NoData", "kW", "e5", "1e999"} {
		if v, _, ok := parseNumber([]byte(cell), english); ok {
			t.Errorf("%q is %v", cell, v)
		}
	}
}

// TestNumbersLikeGo asserts the very float64 that strconv reads.
func TestNumbersLikeGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?[0-9]{1,12}(\.[0-9]{1,12})?(e-?[0-9]{1,2})?`).Draw(t, "number")
		want, err := strconv.ParseFloat(text, 64)
		got, rest, ok := parseNumber([]byte(text), numberStyle{decimal: '.'})
		if err != nil || !ok || len(rest) > 0 || got != want {
			t.Fatalf("%q is %v rest %q %t, want %v", text, got, rest, ok, want)
		}
	})
}

func TestNumberStyle(t *testing.T) {
	for _, c := range []struct {
		cells []string
		delim byte
		want  byte // decimal
	}{
		{[]string{"726,34", "1.099,28"}, ';', ','}, {[]string{"6,412"}, ';', ','}, {[]string{"5.759"}, ';', '.'}, {[]string{"1,234", "2,345"}, ',', '.'}, {[]string{"0,000", "1,897"}, ',', ','},
		{[]string{"726", "1.099", "10.246"}, ';', ','}, {[]string{"1.099", "1.246"}, ';', '.'}, {[]string{"1,234.5"}, ',', '.'}, {[]string{"12", "1500"}, ';', '.'}, {[]string{"1.234.567"}, ';', ','},
		{[]string{"0.185", "726"}, ';', '.'}, {[]string{"-", "NaN", "12.5"}, '\t', '.'},
	} {
		var e numberEvidence
		for _, cell := range c.cells {
			e.look([]byte(cell))
		}
		if style, _ := e.style(c.delim); style.decimal != c.want {
			t.Errorf("%q with delimiter %q has decimal %q, want %q", c.cells, c.delim, style.decimal, c.want)
		}
	}
}
