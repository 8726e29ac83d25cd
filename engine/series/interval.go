package series

import "math"

// Coverage by samples. A sample of mean power covers the time from its stamp to
// the next one, unless the next one is further away than the local step, which
// is a gap. The local step comes from the nearest steps on either side, never
// from a whole day, file or request, so that a change of the step changes
// nothing before and after it.

// reach is how many steps on each side of a sample determine its local step.
const reach = 4

// maxHold is how long, in seconds, an irregular sample covers at most.
const maxHold = 12 * hour

const hour = 3600

// Span describes the samples whose intervals [Intervals] determines.
type Span struct {
	Times  []int64   // Unix seconds, strictly ascending
	Stated []float64 // seconds that a sample covers by its source; NaN or nil: not stated
	Steps  []float64 // step of each sample's source in seconds; NaN or nil: not stated
	End    int64     // no sample covers time from here on; 0: no limit
	Usual  int64     // usual step of the unit in seconds, for samples without neighbours; 0: unknown
}

// Intervals appends to dst the seconds that each sample covers, by these rules:
//
//   - A stated interval holds, until the next stamp at most.
//   - A sample whose source has a step covers that step, until the next stamp at most. If the next sample is of
//     the same step and at most 1.5 steps away, it covers the time until then. Its neighbours do not count.
//   - A sample covers the time to the next stamp if that is at most 1.5 of the
//     local step before it (after it, where none is before), or if it is one of three equal steps.
//   - Otherwise the next stamp follows a gap, and the sample covers one local step.
//   - If steps are irregular, as those of loggers that write when a value
//     changes, a sample holds until the next stamp, for 12 hours at most.
//   - A sample without neighbours covers the usual step.
//
// A frame of a single even step needs no case: each sample covers that step.
//
// The local step is the one that all but one of the four nearest steps on one
// side have, or most of the four on both sides. Three successive steps that are
// equal are no gaps in any case: a stretch of a coarser step within finer data is
// taken for gaps only if it is shorter.
func Intervals(dst []int64, s Span) []int64 {
	n := len(s.Times)
	if step := s.even(); step > 0 {
		return s.fill(dst, step)
	}
	run := 0 // equal steps that end with the current one
	var last int64
	for i, t := range s.Times {
		var covered int64
		switch {
		case i+1 < n:
			next := s.Times[i+1] - t
			if next == last {
				run++
			} else {
				run, last = 1, next
			}
			switch step := stated(s.Steps, i); {
			case step > 0:
				covered = bySource(step, stated(s.Steps, i+1), next)
			case run >= reach:
				covered = next
			default:
				covered = between(s, i, next)
			}
		default:
			if covered = stated(s.Steps, i); covered == 0 {
				covered = atEnd(s, i)
			}
		}
		if v := stated(s.Stated, i); v > 0 {
			covered = v
			if i+1 < n {
				covered = min(covered, s.Times[i+1]-t)
			}
		}
		if s.End != 0 {
			covered = max(min(covered, s.End-t), 0)
		}
		dst = append(dst, covered)
	}
	return dst
}

// even is the step of samples that all follow each other after the same time and
// state nothing else; 0 for other samples, and for so few that another rule may
// apply.
func (s Span) even() int64 {
	n := len(s.Times)
	if n <= reach || s.Stated != nil {
		return 0
	}
	step := s.Times[1] - s.Times[0]
	if s.Times[n-1]-s.Times[0] != step*int64(n-1) {
		return 0
	}
	for i := 2; i < n; i++ {
		if s.Times[i]-s.Times[i-1] != step {
			return 0
		}
	}
	for _, v := range s.Steps {
		if v != float64(step) {
			return 0
		}
	}
	return step
}

// fill is Intervals of samples of one even step.
func (s Span) fill(dst []int64, step int64) []int64 {
	for range s.Times {
		dst = append(dst, step)
	}
	if s.End == 0 {
		return dst
	}
	each := dst[len(dst)-len(s.Times):]
	for i := len(each) - 1; i >= 0 && s.Times[i]+step > s.End; i-- {
		each[i] = max(s.End-s.Times[i], 0)
	}
	return dst
}

// stated is a value of whole seconds of a column; 0 if it is not known.
func stated(column []float64, i int) int64 {
	if column == nil {
		return 0
	}
	if v := column[i]; v >= 1 && v <= math.MaxInt32 {
		return int64(v)
	}
	return 0
}

// bySource is what a sample covers whose source has a step. The next sample
// follows after next seconds, and then is the step of its source, 0 if unknown.
// Loggers are late at times, but a sample of another source says nothing about
// the time before it.
func bySource(step, then, next int64) int64 {
	switch {
	case next <= step, then > 0 && near(then, step) && within(next, step), near(next, step):
		return next
	}
	return step
}

// steps are up to 2·reach+1 successive steps.
type steps struct {
	n int
	d [2*reach + 1]int64
}

// stepsBetween are the steps between samples from..to, within the samples.
func stepsBetween(times []int64, from, to int) steps {
	var s steps
	for k := max(from, 0); k < min(to, len(times)-1); k++ {
		s.d[s.n] = times[k+1] - times[k]
		s.n++
	}
	return s
}

// local is the smallest step that all but one of the steps have, and two of
// them; 0 without such a step.
func (s *steps) local() int64 {
	var best int64
	for i := range s.n {
		d := s.d[i]
		if best > 0 && d >= best {
			continue
		}
		count := 0
		for k := range s.n {
			if near(s.d[k], d) {
				count++
			}
		}
		if count >= 2 && (count >= s.n-1 || s.n > reach && 2*count > s.n) {
			best = d
		}
	}
	return best
}

// has reports whether one of the steps is d.
func (s *steps) has(d int64) bool {
	for i := range s.n {
		if near(s.d[i], d) {
			return true
		}
	}
	return false
}

// repeated is the smallest step that another one equals; 0 without such a step.
func (s *steps) repeated() int64 {
	var best int64
	for i := range s.n {
		for k := range i {
			if near(s.d[i], s.d[k]) && (best == 0 || s.d[k] < best) {
				best = s.d[k]
			}
		}
	}
	return best
}

func (s *steps) largest() int64 {
	var most int64
	for i := range s.n {
		most = max(most, s.d[i])
	}
	return most
}

// near reports whether two steps are equal except for the jitter of a logger.
func near(a, b int64) bool { d := a - b; return d == 0 || 16*d <= b && -16*d <= b }

// within reports whether the next stamp follows without a gap.
func within(next, step int64) bool { return 2*next <= 3*step }

// between is what sample i covers, whose next stamp follows after next seconds.
func between(s Span, i int, next int64) int64 {
	before, after := stepsBetween(s.Times, i-reach, i), stepsBetween(s.Times, i+1, i+1+reach)
	equal := 1
	for k := before.n - 1; k >= 0 && near(before.d[k], next); k-- {
		equal++
	}
	for k := 0; k < after.n && near(after.d[k], next); k++ {
		equal++
	}
	left, right := before.local(), after.local()
	switch {
	case equal >= 3, left > 0 && within(next, left), left == 0 && (equal > 1 || right > 0 && within(next, right)):
		return next
	case left > 0:
		return left
	case right > 0 && s.Usual > right && s.Usual <= hour:
		return min(next, s.Usual) // before anything shows another step
	case right > 0:
		return min(next, right)
	}
	around := stepsBetween(s.Times, i-reach, i+1+reach)
	step := around.local()
	if s.Usual > 0 && (around.n <= reach && step > 0 || around.has(s.Usual)) {
		step = s.Usual
	}
	if step > 0 {
		if within(next, step) {
			return next
		}
		return step
	}
	return irregular(s, &around, next)
}

// irregular is what a sample without a local step covers, of the time to the
// next stamp.
func irregular(s Span, around *steps, next int64) int64 {
	switch {
	case s.Usual > 0 && around.n <= reach && !within(next, s.Usual):
		return s.Usual // most of the day is missing
	case around.n < 2:
		return next
	}
	return min(next, maxHold)
}

// atEnd is what the last sample covers.
func atEnd(s Span, i int) int64 {
	before := stepsBetween(s.Times, i-reach, i)
	if step := before.local(); step > 0 {
		// A finer step that has just begun is not covered by the coarser one.
		return min(step, before.d[before.n-1])
	}
	switch {
	case before.n == 0:
		return s.Usual
	case before.n == 1 && s.Usual > 0 && !within(before.d[0], s.Usual):
		return s.Usual
	case before.n == 1:
		return before.d[0]
	case s.Usual > 0 && (before.n < reach || before.has(s.Usual)):
		return s.Usual
	}
	if step := before.repeated(); step > 0 {
		return step
	}
	return min(before.largest(), maxHold)
}
