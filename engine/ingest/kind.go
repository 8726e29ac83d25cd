package ingest

import (
	"math"
	"slices"

	"app.sunloop/engine/series"
)

// energyShape describes the values of an energy column in time order.
type energyShape struct {
	steps     int     // between successive readings
	falls     int     // to a lower value
	toZero    int     // of them: to under a tenth
	level     int     // steps without change at a level above zero
	first     float64 // first reading
	rise, max float64 // largest rise, largest reading
	days      int     // begun
}

// fallTolerance is the share of its level by which a counter may fall without a
// reset: some counters subtract the inverter's own consumption.
const fallTolerance = 1e-4

// returns reports whether a fall is a glitch: the next few readings bring the level back.
func returns(next []float64, level float64) bool {
	const few = 3
	n := 0
	for _, v := range next {
		switch {
		case math.IsNaN(v):
		case v >= level && v <= 1.5*level:
			return true
		default:
			if n++; n == few {
				return false
			}
		}
	}
	return false
}

func shapeOf(times []int64, values []float64) energyShape {
	var s energyShape
	s.first = math.NaN()
	last, lastDay := math.NaN(), int64(math.MinInt64)
	for i, v := range values {
		if math.IsNaN(v) || v < last/10 && returns(values[i+1:], last) {
			continue
		}
		if d := times[i] / day; d != lastDay {
			lastDay = d
			s.days++
		}
		s.max = math.Max(s.max, v)
		switch {
		case math.IsNaN(last):
			s.first = v
			s.steps--
		case v < last && last-v <= fallTolerance*last:
		case v < last:
			s.falls++
			if v < last/10 {
				s.toZero++
			}
		case v == last && v > 0:
			s.level++
		case last < s.max/10 && v > 0.9*s.max: // back from a glitch
		default:
			s.rise = math.Max(s.rise, v-last)
		}
		s.steps++
		last = v
	}
	return s
}

// fewDays is the number of days below which values do not determine the kind of
// energy: values that rise all morning may be those of a counter or of
// intervals.
const fewDays = 2

// kindHint returns the kind found in other files of the source, for a short file
// whose names and values do not decide.
func kindHint(former string, promise role, s energyShape) bool {
	switch {
	case former == "" || promise != roleEnergy || s.days > fewDays:
		return false
	case former == KindCounter:
		return s.falls == 0
	case former == KindDailyCounter:
		return s.falls == s.toZero
	}
	return former == KindIntervalEnergy
}

// kindByValues distinguishes interval energy, lifetime counter and daily
// counter. The kind that the name suggests is used unless the values contradict
// it.
func kindByValues(promise role, s energyShape, interval int64) (kind, why string) {
	daily := interval >= 20*hour
	neverFalls := s.falls-s.toZero <= s.steps/200 && s.toZero <= 2+s.steps/500
	// A lifetime counter starts far above one step, or is constant at night; interval
	// energy does neither.
	counting := s.steps > 0 && (s.level > 0 || s.first > 3*s.rise)
	switch {
	case promise == roleDaily && !daily && s.days > fewDays && s.falls == 0 && s.first > 3*s.rise:
		return KindCounter, "the values never start from zero, though the name speaks of a day"
	case promise == roleDaily && daily:
		return KindIntervalEnergy, "one total for each day"
	case promise == roleDaily && (s.steps < 2 || s.toZero == s.falls || s.falls <= 2*s.days):
		return KindDailyCounter, "the name says so"
	case promise == roleCounter && (neverFalls || s.steps < 3):
		return KindCounter, "the name says so"
	case neverFalls && s.falls == 0 && counting:
		return KindCounter, "the values never fall and rest above zero"
	case neverFalls && counting && s.first > 3*s.rise:
		return KindCounter, "the values rarely fall and are far above one step"
	case !daily && s.falls > 0 && s.falls == s.toZero && s.falls <= s.days+1 && 2*s.falls+1 >= s.days && s.level > 0:
		return KindDailyCounter, "the values only fall once a day, to zero"
	}
	return KindIntervalEnergy, "the values rise and fall"
}

// mayBeDaily reports whether the values taken for a lifetime counter may be
// daily energies in spring: few values, one a day, and none far above one step.
func (s energyShape) mayBeDaily(interval int64) bool {
	const season, far = 90, 100
	return interval >= 20*hour && s.level == 0 && s.steps < season && s.first < far*s.rise
}

// registerLimits are readings of registers that are not set, in order: the limits
// of 16 and 32 bits, whole, in tenths and in hundredths, and the values that loggers
// write if a device does not respond.
var registerLimits = sorted(
	65535, 65534, 32767, 32768, -32768, -32767, 4294967295, 4294967294, 2147483647, 2147483648, -2147483648, -2147483647,
	6553.5, 6553.4, 3276.7, -3276.8, 655.35, 327.67, -327.68, 65.535, 32.767, -32.768,
	-999, -9999, -99999, -999999, 99999, 999999, 9999999, 999.9, 9999.9, -999.9,
)

func sorted(values ...float64) []float64 {
	slices.Sort(values)
	return values
}

// limitFinder distinguishes register limits from other values of a unit. Most
// values are between the same two limits as the one before, so it keeps them.
type limitFinder struct {
	unit     *unit
	from, to float64 // values in between are no limits
}

// isLimit reports whether a value in base units was written as a register
// limit.
func (f *limitFinder) isLimit(v float64) bool {
	if v > f.from && v < f.to {
		return false
	}
	const same, clear = 1e-6, 1e-5 // part of a limit
	scale := f.unit.scale
	if f.unit.dim == dimNone {
		scale = 1
	}
	raw := (v - f.unit.offset) / scale
	i, _ := slices.BinarySearch(registerLimits, raw)
	from, to := math.Inf(-1), math.Inf(1)
	if i > 0 {
		limit := registerLimits[i-1]
		if raw-limit < same*math.Abs(limit) {
			return true
		}
		from = f.unit.base(limit + clear*math.Abs(limit))
	}
	if i < len(registerLimits) {
		limit := registerLimits[i]
		if limit-raw < same*math.Abs(limit) {
			return true
		}
		to = f.unit.base(limit - clear*math.Abs(limit))
	}
	f.from, f.to = from, to
	return false
}

// dropSentinels removes register limits that are far outside of all other
// values of the column, or of the capacity if it is known, and power that is a
// hundred times the column's other values.
func (c *column) dropSentinels(capacityKW float64) {
	if c.means.role == roleQuantity && (c.means.quantity == series.ErrorCode || c.means.quantity == series.VendorCode) {
		c.dropUnsetCodes()
		return
	}
	const absurd = 100
	mean, largest, low, limits := c.survey()
	far := c.means.role == rolePower && largest > absurd*mean/4 && c.count > 20
	if limits == 0 && !far {
		return
	}
	finder := limitFinder{unit: &c.unit}
	rest := make([]float64, 0, len(c.values))
	for _, v := range c.values {
		if !math.IsNaN(v) && !finder.isLimit(v) {
			rest = append(rest, math.Abs(v))
		}
	}
	typical := quantile(rest, 0.99)
	counter := c.means.role == roleCounter || c.means.role == roleEnergy && typical > 1000
	for i, v := range c.values {
		if math.IsNaN(v) {
			continue
		}
		outside := false
		switch size := math.Abs(v); {
		case !finder.isLimit(v):
			outside = far && typical > 0 && size > absurd*typical
		case capacityKW > 0 && c.means.role == rolePower && c.unit.dim == dimPower:
			outside = size > 1.5*capacityKW
		case v < 0:
			outside = v < 2*low && size > typical/20
		default:
			outside = size > 5*typical && !counter
		}
		if outside {
			c.values[i] = math.NaN()
			c.count--
			c.sentinels++
		}
	}
}

// dropUnsetCodes removes the codes of registers that a device does not have: all bits are
// set. Other limits of registers are codes, as 0x8000, which is bit 15 of SunSpec's events.
func (c *column) dropUnsetCodes() {
	for i, v := range c.values {
		if v == math.MaxUint16 || v == math.MaxUint32 {
			c.values[i] = math.NaN()
			c.count--
			c.sentinels++
		}
	}
}

// survey computes the mean and the largest magnitude of a column's values, the
// lowest value that is not a register limit (0 at most), and the number of limits.
func (c *column) survey() (mean, largest, low float64, limits int) {
	finder := limitFinder{unit: &c.unit}
	n := 0
	for _, v := range c.values {
		if math.IsNaN(v) {
			continue
		}
		n++
		size := math.Abs(v)
		mean += size
		largest = max(largest, size)
		if finder.isLimit(v) {
			limits++
		} else {
			low = min(low, v)
		}
	}
	return mean / math.Max(1, float64(n)), largest, low, limits
}

// quantile of values, which it sorts; 0 of none.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[int(q*float64(len(values)-1)+0.5)]
}
