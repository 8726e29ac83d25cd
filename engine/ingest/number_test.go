package ingest

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

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

// TestPlainNumber asserts that the short way, where it answers, answers like
// the long one, bit for bit.
func TestPlainNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[-+]?[0-9., ]{0,8}[0-9]{0,10}[.,]?[0-9]{0,4}( kW)?`).Draw(t, "number")
		decimal := rapid.SampledFrom([]byte(".,")).Draw(t, "decimal")
		got, plain := plainNumber([]byte(text), decimal)
		if !plain {
			return
		}
		want, rest, ok := parseNumber([]byte(text), numberStyle{decimal: decimal})
		if !ok || len(rest) > 0 || math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("%q is %v, want %v rest %q %t", text, got, want, rest, ok)
		}
	})
	for _, cell := range []string{"0", "-0.5", "12", "5.", ".5", "123456789012.34"} {
		if _, ok := plainNumber([]byte(cell), '.'); !ok {
			t.Errorf("%q is not plain", cell)
		}
	}
}

// TestLateStyle asserts that numbers are read by the style that the whole file
// shows, not only its first records.
func TestLateStyle(t *testing.T) {
	for what, c := range map[string]struct {
		header, row, late string
		first, last       float64
	}{
		"decimal comma": {"Time,\"Power (kW)\"\n", "%s,\"1,234\"\n", "%s,\"2,5\"\n", 1.234, 2.5},
		"decimal dot":   {"Time;Power (kW);Temperature\n", "%s;1.099;726\n", "%s;2.5;1500\n", 1.099, 2.5},
	} {
		text, at := c.header, time.Date(2024, 6, 1, 0, 0, 0, 0, time.UTC)
		for i := range 2 * sampleRecords {
			row := c.row
			if i == 2*sampleRecords-1 {
				row = c.late
			}
			text += fmt.Sprintf(row, at.Format(time.DateTime))
			at = at.Add(5 * time.Minute)
		}
		got := powers(read(t, text, Options{}).Assets[0].Frame)
		if len(got) != 2*sampleRecords || got[0] != c.first || got[len(got)-1] != c.last {
			t.Errorf("%s: %d values from %v to %v", what, len(got), got[0], got[len(got)-1])
		}
	}
}

// TestRegisterLimits compares the search between neighbours with a comparison
// of all limits.
func TestRegisterLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := rapid.SampledFrom([]unit{{}, units["w"], units["kw"], units["°f"], units["k"]}).Draw(t, "unit")
		finder := limitFinder{unit: &u}
		for range 20 {
			raw := rapid.Float64Range(-40000, 100000).Draw(t, "raw")
			if rapid.Bool().Draw(t, "limit") {
				raw = rapid.SampledFrom(registerLimits).Draw(t, "of") * (1 + rapid.SampledFrom([]float64{0, 0, 9e-7, -9e-7, 1.1e-6, -1.1e-6}).Draw(t, "off"))
			}
			want := slices.ContainsFunc(registerLimits, func(limit float64) bool { return math.Abs(raw-limit) < 1e-6*math.Abs(limit) })
			if got := finder.isLimit(u.base(raw)); got != want {
				t.Fatalf("%v %s is a limit: %t, want %t", raw, u.name, got, want)
			}
		}
	})
}

// TestPeak compares with the quantile of all values above zero.
func TestPeak(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1, 50), 0, 4000).Draw(t, "power")
		var above []float64
		for _, v := range values {
			if v > 0 {
				above = append(above, v)
			}
		}
		if got, want := peak(values), quantile(above, 0.999); got != want {
			t.Fatalf("peak of %d is %v, want %v", len(values), got, want)
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
			e.observe([]byte(cell))
		}
		if style, _ := e.style(c.delim); style.decimal != c.want {
			t.Errorf("%q with delimiter %q has decimal %q, want %q", c.cells, c.delim, style.decimal, c.want)
		}
	}
}
