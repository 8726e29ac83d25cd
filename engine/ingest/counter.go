package ingest

import (
	"math"
	"time"

	"app.sunloop/engine/series"
)

// counterNotes counts the corrections of a counter.
type counterNotes struct{ glitches, rollovers, resets, outside int }

// moduli are the values at which counters start again from zero: 16 and 32 bit, whole, in
// tenths, hundredths and thousandths, and decimal displays.
var moduli = []float64{65536, 6553.6, 655.36, 4294967296, 429496729.6, 42949672.96, 4294967.296, 65.536, 100, 1000, 10000, 100000, 1000000, 10000000}

// counterPower turns readings of a lifetime counter in kWh into mean power
// since the reading before, stamped at the later one. hold is the largest
// possible power, 0 if unknown. Readings that are glitches are removed in place.
func counterPower(times []int64, kWh []float64, hold float64) (powerKW []float64, n counterNotes) {
	n.glitches = dropGlitches(kWh)
	powerKW = make([]float64, len(kWh))
	prev := -1
	for i, v := range kWh {
		powerKW[i] = math.NaN()
		if math.IsNaN(v) {
			continue
		}
		if prev >= 0 {
			hours := float64(times[i]-times[prev]) / hour
			gain := v - kWh[prev]
			if gain < 0 {
				if m := rollover(kWh[prev], v, hours*hold); m > 0 {
					gain += m
					n.rollovers++
				}
			}
			switch p := gain / hours; {
			case gain < -fallTolerance*kWh[prev]:
				n.resets++ // a new counter: the energy before its first reading is unknown
			case hold > 0 && p > hold:
				n.outside++
			default:
				powerKW[i] = p
			}
		}
		prev = i
	}
	return powerKW, n
}

// rollover returns the modulus that the fall from a to b passed, 0 for none.
func rollover(a, b, mostKWh float64) float64 {
	for _, m := range moduli {
		if a >= 0.97*m && a <= m && b >= 0 && b <= 0.03*m {
			if gain := b - a + m; mostKWh <= 0 || gain <= mostKWh {
				return m
			}
		}
	}
	return 0
}

// dropGlitches removes readings that are impossible for a lifetime counter: a
// run near zero after which the old level returns, and a single reading above
// the next ones, which continue from the level before it.
func dropGlitches(kWh []float64) (dropped int) {
	const nearZero, sameLevel = 0.01, 0.999
	var at []int // readings in use
	for i, v := range kWh {
		if !math.IsNaN(v) {
			at = append(at, i)
		}
	}
	blankOut := func(i int) {
		kWh[i] = math.NaN()
		dropped++
	}
	for k := 1; k+1 < len(at); k++ {
		before := kWh[at[k-1]]
		v, next := kWh[at[k]], kWh[at[k+1]]
		if math.IsNaN(before) || math.IsNaN(v) {
			continue
		}
		if before > 0 && v >= 0 && v < nearZero*before {
			end := k + 1
			for end < len(at) && kWh[at[end]] < nearZero*before {
				end++
			}
			if end < len(at) && kWh[at[end]] >= sameLevel*before && kWh[at[end]] <= 1.2*before {
				for _, i := range at[k:end] {
					blankOut(i)
				}
				at = append(at[:k], at[end:]...)
				k--
			}
			continue
		}
		if v > before && next < v && next >= before && next-before < 0.5*(v-before) {
			blankOut(at[k])
			at = append(at[:k], at[k+1:]...)
			k--
		}
	}
	return dropped
}

// dayCounterPower returns the same for a counter of the day so far: a fall is a
// restart from zero, so that the new reading is the difference.
func dayCounterPower(times []int64, kWh []float64, hold float64) (powerKW []float64, n counterNotes) {
	const surelyNewDay = 20 * hour
	powerKW = make([]float64, len(kWh))
	prev := -1
	for i, v := range kWh {
		powerKW[i] = math.NaN()
		if math.IsNaN(v) {
			continue
		}
		if prev >= 0 {
			elapsed := times[i] - times[prev]
			gain := v - kWh[prev]
			if gain < 0 || elapsed > surelyNewDay {
				gain = v
				n.resets++
			}
			p := gain / (float64(elapsed) / hour)
			if hold > 0 && p > hold {
				n.outside++
			} else {
				powerKW[i] = p
			}
		}
		prev = i
	}
	return powerKW, n
}

// intervalPower spreads the energy of each interval over its length. The
// length is the commonest step, the real one where the file changes its step,
// and the site's own day or month where it is that long.
func intervalPower(times []int64, kWh []float64, interval time.Duration, site *time.Location) []float64 {
	lengths := intervalLengths(times, int64(interval/time.Second), site)
	powerKW := make([]float64, len(kWh))
	for i, v := range kWh {
		powerKW[i] = v / (float64(lengths(i)) / hour)
	}
	return powerKW
}

// intervalLengths gives the seconds that the value at a stamp covers.
func intervalLengths(times []int64, common int64, site *time.Location) func(i int) int64 {
	if common <= 0 {
		common = hour
		if len(times) == 1 && site != nil && series.Midnight(time.Unix(times[0], 0), site).Unix() == times[0] {
			common = day
		}
	}
	gap := func(i int) int64 {
		g := int64(math.MaxInt64)
		if i > 0 {
			g = times[i] - times[i-1]
		}
		if i+1 < len(times) {
			g = min(g, times[i+1]-times[i])
		}
		return g
	}
	switch {
	case common >= 27*day:
		return func(i int) int64 {
			start := time.Unix(times[i], 0).In(site)
			return int64(start.AddDate(0, 1, 0).Sub(start) / time.Second)
		}
	case common == day:
		return func(i int) int64 {
			at := time.Unix(times[i], 0)
			if start := series.Midnight(at, site); start.Unix() == times[i] {
				return int64(series.NextMidnight(at, site).Sub(start) / time.Second)
			}
			return day
		}
	}
	usual := usualSteps(times)
	return func(i int) int64 {
		if g := gap(i); usual[g] {
			return g
		}
		return common
	}
}

// usualSteps returns the steps that a large part of the series has: a file whose
// logger was set from 30 to 60 minutes has two.
func usualSteps(times []int64) map[int64]bool {
	var steps tally
	for i := 1; i < len(times); i++ {
		steps.add(times[i] - times[i-1])
	}
	usual := map[int64]bool{}
	for step, n := range steps.counted() {
		if n >= 3 && n*20 >= len(times) {
			usual[step] = true
		}
	}
	return usual
}

// withoutSign turns the readings of a signed register of 16 or 32 bit, which continue at the lowest number after the highest, into those of
// an unsigned one. It returns false if the readings are not those of such a register.
func (c *column) withoutSign() bool {
	const near = 0.9 // of both ends of the register
	low, high := 0.0, 0.0
	for _, v := range c.values {
		if v < low {
			low = v
		}
		if v > high {
			high = v
		}
	}
	if low == 0 {
		return false
	}
	scale := 1.0
	if c.unit.dim == dimEnergy {
		scale = c.unit.scale
	}
	for _, bits := range []float64{1 << 16, 1 << 32} {
		for _, part := range []float64{1, 0.1, 0.01, 0.001} {
			half := bits / 2 * part * scale
			if low < -half*(1+fallTolerance) || high > half*(1+fallTolerance) || low > -near*half || high < near*half {
				continue
			}
			for i, v := range c.values {
				if v < 0 {
					c.values[i] = v + 2*half
				}
			}
			return true
		}
	}
	return false
}
