package ingest

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

// FuzzStamp asserts that a cell which is read as a time holds one that there
// is: a day, a month and a second of the day in their bounds, and an instant of
// the years that are believed.
func FuzzStamp(f *testing.F) {
	for _, cell := range []string{"2024-06-15T04:00:00Z", "15.6.2024 04:00", "6/15/24 4:00 PM", "2024年6月15日 04:00", "15-Jun-2024", "Sat Jun 15 2024 24:00:00", "1718424000", "1718424000000.5",
		"45458.25", "45458,25", "20240615040000", "2024-06-15 04:00 - 05:00", "00.00.0000 99:99", "2024-06-15 04:00:00 +99:99 CEST", "١٥"} {
		f.Add([]byte(cell))
	}
	f.Fuzz(func(t *testing.T, cell []byte) {
		for name, parse := range map[string]func([]byte) (stamp, bool){"stamp": parseStamp, "epoch": parseEpoch, "serial": parseSerial} {
			s, ok := parse(cell)
			if !ok {
				continue
			}
			if s.absolute {
				if s.unix < firstEpoch || s.unix >= lastEpoch {
					t.Fatalf("%s %q: %+v", name, cell, s)
				}
				continue
			}
			if s.a < 0 || s.a > 31 || s.b < 0 || s.b > 31 || s.sec < 0 || s.sec > day || s.zone.known && (s.zone.offset < -day || s.zone.offset > day) {
				t.Fatalf("%s %q: %+v", name, cell, s)
			}
		}
	})
}

// FuzzNumber asserts that a plain decimal number is read as strconv reads it,
// and that no cell gives a number that is none.
func FuzzNumber(f *testing.F) {
	for _, cell := range []string{"1", "-0.5", "+12.75 kW", "1e400", "1.7976931348623157e308", "0.000000000000000000000001", "12345678901234567890123", "−3", "1,234.5", "NaN", ".5", "5.", "1e-400", "0x1p4"} {
		f.Add([]byte(cell))
	}
	f.Fuzz(func(t *testing.T, cell []byte) {
		for _, style := range []numberStyle{plainStyle, {decimal: ','}, {decimal: '.', group: ','}, {decimal: ',', group: '.'}} {
			v, rest, ok := parseNumber(cell, style)
			if ok && (math.IsNaN(v) || math.IsInf(v, 0) || len(rest) >= len(cell)) {
				t.Fatalf("%q %+v: %g, %q", cell, style, v, rest)
			}
		}
		want, err := strconv.ParseFloat(string(cell), 64)
		if err != nil || strings.ContainsAny(string(cell), "xX_nNiIpP") {
			return
		}
		v, rest, ok := parseNumber(cell, plainStyle)
		if !ok || len(rest) > 0 || math.Abs(v-want) > 1e-12*math.Abs(want)+1e-300 {
			t.Fatalf("%q: %g %q %v, want %g", cell, v, rest, ok, want)
		}
	})
}

// FuzzUnit asserts that a unit which is read turns numbers into numbers, and is
// read again from its own name.
func FuzzUnit(f *testing.F) {
	for _, text := range []string{"kW", "[W/m²]", "x100 W", "× 0.1 kWh", "10x10x10xW", "°C", "0x W", "1e308x MW", "in kWh", "(()", "Einheit: kW"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, ok := parseUnit(text)
		if !ok {
			return
		}
		if math.IsNaN(u.scale) || math.IsInf(u.scale, 0) || u.scale == 0 {
			t.Fatalf("%q: %+v", text, u)
		}
		if u.dim == dimOther || u.name == "" {
			return
		}
		if same, ok := parseUnit(u.name); !ok || same.dim != u.dim {
			t.Fatalf("%q is %+v, whose name is %+v, %v", text, u, same, ok)
		}
	})
}
