package forecast

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// hoursOf are points of an hour each.
func hoursOf(bands ...[3]float64) (out []Point) {
	for i, b := range bands {
		out = append(out, Point{Time: time.Date(2026, 6, 1, i, 0, 0, 0, time.UTC), Step: time.Hour, P10KW: b[0], P50KW: b[1], P90KW: b[2], ClearSkyKW: 200})
	}
	return out
}

// The energy of one hour has the quantiles of its power. Of two hours of
// 100 ± 10 kW that correlate by 0.6 + 0.4·e^(−1/2.1) = 0.848 the band is
// 10·√(2 + 2·0.848) = 19.2 kWh on either side, not 20.
func TestEnergyOf(t *testing.T) {
	near := func(what string, got Energy, p10, p50, p90 float64) {
		t.Helper()
		if math.Abs(got.P10-p10) > 1 || math.Abs(got.P50-p50) > 0.5 || math.Abs(got.P90-p90) > 1 {
			t.Errorf("%s: %+v, want %v %v %v", what, got, p10, p50, p90)
		}
	}
	near("an hour", EnergyOf(hoursOf([3]float64{90, 100, 110})), 90, 100, 110)
	near("two hours", EnergyOf(hoursOf([3]float64{90, 100, 110}, [3]float64{90, 100, 110})), 180.8, 200, 219.2)
	near("night", EnergyOf(hoursOf([3]float64{}, [3]float64{})), 0, 0, 0)
	near("unknown", EnergyOf(hoursOf([3]float64{math.NaN(), 1, 2})), 0, 0, 0)
	var day [][3]float64
	for h := range 12 {
		kW := 100 * math.Sin(math.Pi*(float64(h)+0.5)/12)
		day = append(day, [3]float64{0.7 * kW, kW, 1.1 * kW})
	}
	got, p10, p90 := EnergyOf(hoursOf(day...)), 0.0, 0.0
	for _, b := range day {
		p10, p90 = p10+b[0], p90+b[2]
	}
	if !(got.P10 > p10 && got.P90 < p90) {
		t.Errorf("a day has %+v, which is as wide as the sums %.0f and %.0f of its hours", got, p10, p90)
	}
}

// Quantiles ascend, lie within the sums of the hours' own and do not depend on
// anything but the points.
func TestEnergyLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var bands [][3]float64
		low, high := 0.0, 0.0
		for range rapid.IntRange(0, 24).Draw(t, "hours") {
			p10 := rapid.Float64Range(0, 100).Draw(t, "p10")
			p50 := p10 + rapid.Float64Range(0, 50).Draw(t, "to p50")
			p90 := p50 + rapid.Float64Range(0, 50).Draw(t, "to p90")
			bands = append(bands, [3]float64{p10, p50, p90})
			low, high = low+p10, high+p90
		}
		e := EnergyOf(hoursOf(bands...))
		if !(0 <= e.P10 && e.P10 <= e.P50 && e.P50 <= e.P90) || e.P10 < 0.9*low-15 || e.P90 > 1.1*high+15 {
			t.Fatalf("%+v of hours between %v and %v", e, low, high)
		}
		if again := EnergyOf(hoursOf(bands...)); again != e {
			t.Fatalf("%+v and %+v of the same points", e, again)
		}
	})
}

// TestDayBand: bands that are half or twice as wide as they should be hold about
// 80 % of the later days, each side about 10 % beyond it.
func TestDayBand(t *testing.T) {
	for _, width := range []float64{0.5, 1, 2} {
		r := rand.New(rand.NewPCG(7, 7))
		const z90, n = 1.2815515655446004, 2000
		e := Energy{100 - width*10*z90, 100, 100 + width*20*z90}
		var b DayBand
		below, above := 0, 0
		for i := range n {
			kWh := 100 + 10*r.NormFloat64()
			if kWh > 100 {
				kWh = 100 + 2*(kWh-100)
			}
			is := b.Apply(e)
			if is.P10 > is.P50 || is.P50 != 100 || is.P90 < is.P50 {
				t.Fatalf("%+v", is)
			}
			if i >= n/4 {
				if kWh < is.P10 {
					below++
				}
				if kWh > is.P90 {
					above++
				}
			}
			b = b.Observe(e, kWh)
		}
		if m := 0.75 * n; math.Abs(float64(below)/m-0.1) > 0.02 || math.Abs(float64(above)/m-0.1) > 0.02 {
			t.Errorf("bands %g times too wide: %d below and %d above of %g", width, below, above, m)
		}
	}
	if e := (Energy{1, 2, 3}); (DayBand{}).Apply(e) != e {
		t.Error("a band that has learned nothing changes one")
	}
}
