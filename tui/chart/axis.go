package chart

import (
	"math"
	"strconv"
	"time"
)

// Points are samples in order of time. A value stands for the time from its stamp on; NaN is missing.
type Points struct {
	// At are the stamps in Unix seconds, Value the values.
	At    []int64
	Value []float64
	// Step is the time a value stands for: it is drawn in the middle of it, and a distance beyond one and a half of it is a
	// gap. Zero takes the commonest distance for gaps and draws at the stamps.
	Step time.Duration
}

// len is the number of samples that have both stamp and value.
func (p Points) len() int { return min(len(p.At), len(p.Value)) }

// finite is the value, NaN for infinities: no measurement is one.
func finite(v float64) float64 {
	if math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}

// step is the time a value stands for in seconds: what was given, or the smallest distance that is not zero.
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

// shift is how long after its stamp a value is drawn, in seconds.
func (p Points) shift() float64 { return p.Step.Seconds() / 2 }

// days is a time axis of whole site days, 23 to 25 hours each where clocks change.
type days struct {
	from, to time.Time
	loc      *time.Location
	n        int
}

// newDays makes the axis of n days from the one that holds start.
func newDays(start time.Time, n int, loc *time.Location) days {
	if loc == nil {
		loc = time.UTC
	}
	y, m, d := start.In(loc).Date()
	n = max(n, 1)
	return days{time.Date(y, m, d, 0, 0, 0, 0, loc), time.Date(y, m, d+n, 0, 0, 0, 0, loc), loc, n}
}

// place is where an instant lies, 0 at the beginning and 1 at the end of the axis.
func (d days) place(unix float64) float64 {
	from := float64(d.from.Unix())
	return (unix - from) / (float64(d.to.Unix()) - from)
}

// at is the instant at a place.
func (d days) at(place float64) float64 {
	from := float64(d.from.Unix())
	return from + place*(float64(d.to.Unix())-from)
}

// tick is a labelled instant.
type tick struct {
	at    time.Time
	label string
}

var hours = [25]string{
	"00", "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12",
	"13", "14", "15", "16", "17", "18", "19", "20", "21", "22", "23", "24",
}

// ticks labels the axis for a width in cells: hours of one day, names of several. An hour that the clocks skip has no tick;
// one that they repeat has it the first time.
func (d days) ticks(dst []tick, width int) []tick {
	y, m, day := d.from.Date()
	if d.n > 1 {
		every := 1
		for every < d.n && width/d.n*every < 8 {
			every++
		}
		for i := 0; i < d.n; i += every {
			at := time.Date(y, m, day+i, 0, 0, 0, 0, d.loc)
			dst = append(dst, tick{at, at.Format("Mon 2")})
		}
		return dst
	}
	every := 12
	for _, e := range [...]int{1, 2, 3, 6} {
		if width/(24/e) >= 5 {
			every = e
			break
		}
	}
	for h := 0; h < 24; h += every {
		at := time.Date(y, m, day, h, 0, 0, 0, d.loc)
		if at.Hour() == h {
			dst = append(dst, tick{at, hours[h]})
		}
	}
	return append(dst, tick{d.to, hours[24]})
}

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
	for low >= 0 && step > high { // an axis with nothing but zero on it says nothing
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

// roundStep is the least of 1, 2, 2.5 and 5 times a power of ten that is not below x.
func roundStep(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range [...]float64{1, 2, 2.5, 5} {
		if m*power >= x*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// steps is how many whole steps there are.
func (s scale) steps() int { return int((s.top-s.bottom)/s.step + 1e-9) }

// place is where a value lies, 0 at the bottom and 1 at the top.
func (s scale) place(v float64) float64 { return (v - s.bottom) / (s.top - s.bottom) }

// label writes a value with the decimals its step needs.
func (s scale) label(dst []byte, v float64) []byte {
	if math.Abs(v) < s.step/1e6 {
		v = 0 // never "-0"
	}
	return strconv.AppendFloat(dst, v, 'f', s.decimals, 64)
}
