package detect

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

// Units on a round set-point to the last digit are a command, though clouds
// keep most below; the same units a little off it, or two of them, are not.
func TestPinnedUnits(t *testing.T) {
	for _, c := range []struct {
		name   string
		shares []float64
		level  float64
		ok     bool
	}{
		{"three of nine", []float64{0.2, 0.25, 0.3, 0.4, 0.41, 0.5, 0.6, 0.6, 0.6001}, 0.6, true},
		{"two of nine", []float64{0.2, 0.25, 0.3, 0.4, 0.41, 0.5, 0.55, 0.6, 0.6}, 0.6, false},
		{"off the set-point", []float64{0.3, 0.61, 0.61, 0.61}, 0.6, false},
		{"one above", []float64{0.6, 0.6, 0.6, 0.63}, 0.65, false},
		{"at the rating", []float64{1, 1, 1, 1}, 1, false},
	} {
		if level, ok := pinned(c.shares); ok != c.ok || ok && math.Abs(level-c.level) > 1e-9 {
			t.Errorf("%s: %g, %v, want %g, %v", c.name, level, ok, c.level, c.ok)
		}
	}
}

// A direction of the sun is sure of a shadow after three days of it, not after
// one however dark, nor by noise; and forgets it within a week without.
func TestShadowOfADirection(t *testing.T) {
	var d direction
	d.take(0, 0.5, 0.02, 1, [2]int64{})
	if d.sure() {
		t.Error("one dark day is enough")
	}
	d = direction{}
	for day := range int64(3) {
		d.take(day, 0.2, 0.02, 1, [2]int64{})
	}
	if !d.sure() {
		t.Errorf("three days of a fifth are not enough: %+v", d)
	}
	for day := range int64(6) {
		d.take(3+day, 0, 0.02, 0, [2]int64{})
	}
	if d.sum != 0 {
		t.Errorf("after six sound days the odds are still %g", d.sum)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for day := range int64(2000) {
		if d.take(day, 0.03*r.NormFloat64(), 0.03, 0, [2]int64{}); d.sure() {
			t.Fatalf("noise of 3 %% is taken for a shadow on day %d", day)
		}
	}
}

// A shift of half an hour is found among days that vary by eight minutes, to
// the minute and within twelve days; the variation without a shift gives no
// event.
func TestClockAmongClouds(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for trial := range 50 {
		c, s := &clocks{}, &session{in: Input{Site: Site{Zone: time.UTC}}}
		day := func(n int, shift float64) bool {
			c.last = append(c.last, middle{int64(n) * 86400, int64(n+1) * 86400, shift + 6*r.NormFloat64(), 8, shift + 6*r.NormFloat64()})
			c.history = append(c.history, c.last[len(c.last)-1])
			c.last = c.last[max(len(c.last)-clockWindow, 0):]
			return c.judge(s, 15)
		}
		for n := range 60 {
			if day(n, 0) {
				t.Fatalf("trial %d: straying days are taken for a shift of %g min", trial, c.shift)
			}
		}
		found := 0
		for n := 60; n < 80 && found == 0; n++ {
			if day(n, 30) {
				found = n
			}
		}
		if found == 0 || found >= 72 || c.shift != 30 || s.clock != 1800 {
			t.Errorf("trial %d: found on day %d, %g min", trial, found, c.shift)
		}
	}
}

// The orientation of a sensor is determined on suitable days only: until then
// the sensor is no source, then the orientation that the days support is used.
func TestSourceOfLight(t *testing.T) {
	for _, c := range []struct {
		inPlane, flat float64
		want          lightSource
	}{{3, 0, noLight}, {4, 0, sensorLight}, {9, 3, sensorLight}, {6, 4, clearLight}, {1, 5, clearLight}} {
		m := newModules(Input{Units: []Unit{{Tracker: true}}})
		m.location, m.sensed, m.inPlane, m.flat = &solar.Location{LatitudeDeg: 52.5, LongitudeDeg: 13.4}, true, c.inPlane, c.flat
		if got := m.source(); got != c.want {
			t.Errorf("%g days for the plane, %g for flat: source %d, want %d", c.inPlane, c.flat, got, c.want)
		}
	}
}

// TestVendorCodes: a vendor's event word names no fault of SunSpec, whatever its bits,
// and is reported as the vendor's; SunSpec's bits next to it keep their meaning.
func TestVendorCodes(t *testing.T) {
	frame := series.Frame{Times: []int64{0, 900, 1800}}
	frame.Set(series.PowerKW, []float64{1, 1, 1})
	frame.Set(series.VendorCode, []float64{0x81, 1<<32 + 0x81, 0x81})
	for _, codes := range [][]float64{nil, {0, math.NaN(), 0x80}} {
		if codes != nil {
			frame.Set(series.ErrorCode, codes)
		}
		src, _ := newSource(frame, 900)
		for i, c := range src.code {
			if codes != nil && i == 2 {
				if !hasBit(c, bitOverTemp) || hasBit(c, bitGroundFault) {
					t.Errorf("SunSpec's over-temperature is read as %v", c)
				}
				continue
			}
			if hasBit(c, bitGroundFault) || hasBit(c, bitOverTemp) {
				t.Errorf("row %d: a vendor's word is read as bits of SunSpec", i)
			}
			if text := codeEvidence(c).Text; !strings.Contains(text, "vendor's event code 129 in word "+[]string{"1", "2", "1"}[i]) {
				t.Errorf("row %d: %s", i, text)
			}
		}
	}
}
