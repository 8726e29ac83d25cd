package chart

import (
	"math"
	"sort"
	"strconv"
	"time"
)

// Points are samples in time order. A value covers the time from its time
// stamp; NaN is missing.
type Points struct {
	// At are the stamps in Unix seconds, Value the values.
	At    []int64
	Value []float64
	// Step is the time that a value covers: it is drawn in the middle of
	// it, and a distance of more than one and a half steps is a gap. If it
	// is zero, the most common distance is used for gaps, and values are
	// drawn at their time stamps.
	Step time.Duration
}

// len returns the number of samples that have both stamp and value.
func (p Points) len() int { return min(len(p.At), len(p.Value)) }

// finite returns the value, NaN for infinities: no measurement is one.
func finite(v float64) float64 {
	if math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}

// step returns the time that a value covers, in seconds: the given one, or the
// smallest distance that is not zero.
func (p Points) step() int64 {
	if p.Step > 0 {
		return int64(p.Step / time.Second)
	}
	var least int64
	for i := 1; i < p.len(); i++ {
		if d := p.At[i] - p.At[i-1]; d > 0 && (least == 0 || d < least) {
			least = d
		}
	}
	return least
}

// Standing returns the value that applies at an instant: that of the last sample
// before it, within its step. It returns NaN if there is none.
func (p Points) Standing(unix int64) float64 {
	n := p.len()
	i := sort.Search(n, func(i int) bool { return p.At[i] > unix }) - 1
	if i < 0 || unix-p.At[i] >= max(p.step(), 1) {
		return math.NaN()
	}
	return finite(p.Value[i])
}

// shift returns the delay in seconds between a value's time stamp and its position.
func (p Points) shift() float64 { return p.Step.Seconds() / 2 }

// timeAxis is a span of time: whole site days, 23 to 25 hours each where clocks change, or a window of any length.
type timeAxis struct {
	from, to time.Time
	loc      *time.Location
	n        int // whole days; 0 for a window
}

// newDays returns the axis of n days from the one that contains start.
func newDays(start time.Time, n int, loc *time.Location) timeAxis {
	if loc == nil {
		loc = time.UTC
	}
	y, m, d := start.In(loc).Date()
	n = max(n, 1)
	return timeAxis{time.Date(y, m, d, 0, 0, 0, 0, loc), time.Date(y, m, d+n, 0, 0, 0, 0, loc), loc, n}
}

// newWindow returns the axis from an instant to a later one.
func newWindow(from, to time.Time, loc *time.Location) timeAxis {
	if loc == nil {
		loc = time.UTC
	}
	return timeAxis{from: from.In(loc), to: to.In(loc), loc: loc}
}

// place returns where an instant lies, 0 at the beginning and 1 at the end of the axis.
func (a timeAxis) place(unix float64) float64 {
	from := float64(a.from.Unix())
	return (unix - from) / (float64(a.to.Unix()) - from)
}

// at returns the instant at a place.
func (a timeAxis) at(place float64) float64 {
	from := float64(a.from.Unix())
	return from + place*(float64(a.to.Unix())-from)
}

// holds reports whether an instant is on the axis.
func (a timeAxis) holds(t time.Time) bool { return !t.IsZero() && !t.Before(a.from) && t.Before(a.to) }

// column returns the cell of an instant on an axis of w cells.
func (a timeAxis) column(t time.Time, w int) int { return int(a.place(float64(t.Unix())) * float64(w)) }

// scale is a value axis from bottom to top in even steps.
type scale struct {
	bottom, top, step float64
	decimals          int
}

// newScale finds even steps of round size, at most n and a part of one. It begins on a step and ends on a quarter of one, so
// that little of the height is lost.
func newScale(low, high float64, n int) scale {
	if !(high-low > 1e-9) { // nothing, or noise: the axis must have a readable step
		high = low + 1
	}
	step := roundStep((high - low) / float64(max(n, 1)))
	for low >= 0 && step > high { // an axis needs a value other than zero
		step = roundStep(step * 0.45)
	}
	s := scale{bottom: math.Floor(low/step) * step, step: step}
	// A value on a quarter must not open another one, whatever the division's rounding.
	s.top = math.Ceil(4*high/step-1e-9) * step / 4
	s.decimals = max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	if step < 10 && math.Abs(step*math.Pow10(s.decimals)-math.Round(step*math.Pow10(s.decimals))) > 1e-6 {
		s.decimals++ // steps of 2.5
	}
	return s
}

// roundStep returns the least of 1, 2, 2.5 and 5 times a power of ten that is not below x.
func roundStep(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range [...]float64{1, 2, 2.5, 5} {
		if m*power >= x*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// steps returns how many whole steps there are.
func (s scale) steps() int { return int((s.top-s.bottom)/s.step + 1e-9) }

// place returns where a value lies, 0 at the bottom and 1 at the top.
func (s scale) place(v float64) float64 { return (v - s.bottom) / (s.top - s.bottom) }

// label writes a value with the decimals its step needs.
func (s scale) label(dst []byte, v float64) []byte {
	if math.Abs(v) < s.step/1e6 {
		v = 0 // never "-0"
	}
	return strconv.AppendFloat(dst, v, 'f', s.decimals, 64)
}
