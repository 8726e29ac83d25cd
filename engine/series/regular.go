package series

import (
	"math"
	"slices"
	"time"
)

// Series is evenly spaced: value i belongs to the interval that starts at
// Start + i·Step. The zero Series is empty.
type Series struct {
	Start  time.Time
	Step   time.Duration
	Values []float64
}

// Len is the number of intervals.
func (s Series) Len() int { return len(s.Values) }

// Time is the start of interval i.
func (s Series) Time(i int) time.Time { return s.Start.Add(time.Duration(i) * s.Step) }

// End is the end of the last interval.
func (s Series) End() time.Time { return s.Time(len(s.Values)) }

// Index is the interval that holds t; ok is false outside the series.
func (s Series) Index(t time.Time) (i int, ok bool) {
	if s.Step <= 0 || t.Before(s.Start) {
		return 0, false
	}
	i = int(t.Sub(s.Start) / s.Step)
	return i, i < len(s.Values)
}

// At is the value of the interval that holds t, NaN outside the series.
func (s Series) At(t time.Time) float64 {
	if i, ok := s.Index(t); ok {
		return s.Values[i]
	}
	return math.NaN()
}

// Slice is the whole intervals with from <= start < to. It shares memory with s.
func (s Series) Slice(from, to time.Time) Series {
	clip := func(t time.Time) int {
		d := t.Sub(s.Start)
		i := int(d / s.Step)
		if d > 0 && d%s.Step != 0 {
			i++
		}
		return min(max(i, 0), len(s.Values))
	}
	if s.Step <= 0 {
		return Series{}
	}
	i := clip(from)
	j := max(i, clip(to))
	return Series{s.Time(i), s.Step, s.Values[i:j:j]}
}

// Interval is the commonest step between successive times, the smaller on a
// tie; 0 with fewer than two times.
func Interval(times []int64) time.Duration {
	if len(times) < 2 {
		return 0
	}
	steps := make([]int64, len(times)-1)
	for i := range steps {
		steps[i] = times[i+1] - times[i]
	}
	slices.Sort(steps)
	var best, bestCount int64
	for i := 0; i < len(steps); {
		j := i
		for j < len(steps) && steps[j] == steps[i] {
			j++
		}
		if n := int64(j - i); n > bestCount {
			best, bestCount = steps[i], n
		}
		i = j
	}
	return time.Duration(best) * time.Second
}

// UsualStep is the step that [Span] takes as usual, in seconds: the commonest
// step between successive times, if at least a third of all steps are equal to
// it; 0 otherwise, and with fewer than two times.
func UsualStep(times []int64) int64 {
	if step, n := CommonStep(times); 3*n >= len(times)-1 {
		return step
	}
	return 0
}

// CommonStep is the commonest step between successive times, in seconds, and the
// number of steps that are equal to it; 0 with fewer than two times.
func CommonStep(times []int64) (step int64, n int) {
	if len(times) < 2 {
		return 0, 0
	}
	count := func(step int64) (n int) {
		for i := 1; i < len(times); i++ {
			if times[i]-times[i-1] == step {
				n++
			}
		}
		return n
	}
	step = times[1] - times[0]
	if n = count(step); n == len(times)-1 { // without sorting, as steps are mostly equal
		return step, n
	}
	step = int64(Interval(times) / time.Second)
	return step, count(step)
}

// Resample is the function of that name over s: means over even intervals of
// step, aligned to whole multiples of it since 1970 in UTC.
func (s Series) Resample(step time.Duration) Series {
	times := make([]int64, s.Len())
	for i := range times {
		times[i] = s.Time(i).Unix()
	}
	return Resample(times, s.Values, step, s.Step)
}

// Resample converts the power (or any other mean quantity) of an irregular
// series with ascending times to means over even intervals of step (whole
// seconds), labelled at their start and aligned to whole multiples of step
// since 1970 in UTC. Each sample is valid for the time that it covers by
// [Intervals] with the [UsualStep] of times, or, if hold is above 0, until the
// next time stamp, at most for hold. If more than half of an interval has no
// value the result is NaN. The result ends with the last sample's time.
func Resample(times []int64, values []float64, step, hold time.Duration) Series {
	return resample(Span{Times: times}, values, step, hold)
}

// Resample is the function of that name over one quantity of f. Samples of power
// are valid for the time that the frame states, if it does.
func (f Frame) Resample(q Quantity, step time.Duration) Series {
	values := f.Values(q)
	if values == nil {
		return Series{}
	}
	s := Span{Times: f.Times}
	if q == PowerKW {
		s.Stated, s.Steps = f.Values(CoveredS), f.Values(StepS)
	}
	return resample(s, values, step, 0)
}

func resample(s Span, values []float64, step, hold time.Duration) Series {
	times := s.Times
	stepS := int64(step / time.Second)
	if len(times) == 0 || stepS <= 0 {
		return Series{}
	}
	last := times[len(times)-1]
	first := floorTo(times[0], stepS)
	if hold <= 0 {
		all := times
		s.Usual = UsualStep(all)
		if s, values = measured(s, values); len(s.Times) < len(all) && s.Usual == 0 {
			s.Usual = int64(Interval(all) / time.Second) // a missing value shows the step, too
		}
		times = s.Times
	}
	covered := coverage(s, int64(hold/time.Second))
	end := last + 1
	if n := len(times); n > 0 {
		end = max(end, times[n-1]+covered[n-1])
	}
	n := int((floorTo(end-1, stepS)-first)/stepS) + 1
	sum, seconds := make([]float64, n), make([]int64, n)
	for i, t := range times {
		v := values[i]
		if math.IsNaN(v) {
			continue
		}
		for a, end := t, t+covered[i]; a < end; {
			k := (a - first) / stepS
			b := min(end, first+(k+1)*stepS)
			sum[k] += v * float64(b-a)
			seconds[k] += b - a
			a = b
		}
	}
	for k := range sum {
		if 2*seconds[k] < stepS {
			sum[k] = math.NaN()
			continue
		}
		sum[k] /= float64(seconds[k])
	}
	// An interval after that of the last time stamp is dropped unless it is known.
	for stamped := int((floorTo(last, stepS)-first)/stepS) + 1; len(sum) > stamped && math.IsNaN(sum[len(sum)-1]); {
		sum = sum[:len(sum)-1]
	}
	return Series{time.Unix(first, 0).UTC(), time.Duration(stepS) * time.Second, sum}
}

// coverage is the seconds that each sample is valid for.
func coverage(s Span, hold int64) []int64 {
	times, out := s.Times, make([]int64, 0, len(s.Times))
	if hold <= 0 {
		return Intervals(out, s)
	}
	for i := range times {
		valid := hold
		if i+1 < len(times) {
			valid = min(hold, times[i+1]-times[i])
		}
		out = append(out, valid)
	}
	if own := int64(Interval(times) / time.Second); own > 0 {
		out[len(out)-1] = min(own, hold)
	}
	return out
}

// measured leaves out the samples without a value.
func measured(s Span, values []float64) (Span, []float64) {
	missing := 0
	for _, v := range values {
		if v != v {
			missing++
		}
	}
	if missing == 0 {
		return s, values
	}
	n := len(values) - missing
	times, known := make([]int64, 0, n), make([]float64, 0, n)
	var covered, steps []float64
	for i, v := range values {
		if v != v {
			continue
		}
		times, known = append(times, s.Times[i]), append(known, v)
		if s.Stated != nil {
			covered = append(covered, s.Stated[i])
		}
		if s.Steps != nil {
			steps = append(steps, s.Steps[i])
		}
	}
	s.Times, s.Stated, s.Steps = times, covered, steps
	return s, known
}

func floorTo(t, step int64) int64 {
	q := t / step
	if t%step < 0 {
		q--
	}
	return q * step
}

// Gap is a span without a value: From is the first missing stamp's time, To
// the first time after it that has one.
type Gap struct{ From, To time.Time }

// Duration is how long nothing was measured.
func (g Gap) Duration() time.Duration { return g.To.Sub(g.From) }

// Gaps are the runs of NaN inside s, in time order.
func (s Series) Gaps() []Gap {
	var gaps []Gap
	for i := 0; i < len(s.Values); {
		if !math.IsNaN(s.Values[i]) {
			i++
			continue
		}
		j := i
		for j < len(s.Values) && math.IsNaN(s.Values[j]) {
			j++
		}
		gaps = append(gaps, Gap{s.Time(i), s.Time(j)})
		i = j
	}
	return gaps
}

// EnergyKWh is the energy of a series of mean power in kW: missing intervals
// count nothing.
func (s Series) EnergyKWh() float64 {
	var sum float64
	for _, v := range s.Values {
		if !math.IsNaN(v) {
			sum += v
		}
	}
	return sum * s.Step.Hours()
}
