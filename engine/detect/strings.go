package detect

import (
	"math"

	"app.sunloop/engine/loss"
	"app.sunloop/internal/display"
)

// stringOutages finds units whose yield against their peers steps down and
// stays down, all day and at every power: strings that no longer feed. The
// figure of a day is the median of power over expectation; a CUSUM chart over
// days finds small steps, three low days in a row find large ones.
type stringOutages struct{ units []chart }

// chart is the control chart of one unit.
type chart struct {
	normal ring    // daily ratios of quiet days
	scores ring    // how far they strayed from the middle, in their own standard errors
	sum    float64 // CUSUM, in usual deviations
	since  int64   // start of the first day of the present excursion
	low    []float64
	lost   loss.Ledger
	lowRow int // days in a row that are low by more than half a string
	record *record
	back   int // good days in a row during an event
	backAt int64
	days   int // days charted
	code   float64

	shifted []float64 // scratch
}

// Parameters of the chart: slack and limit in typical deviations of a day, the
// smallest deviation assumed, and the smallest loss that gives an event.
const (
	chartSlack    = 0.5
	chartLimit    = 6
	leastSpread   = 0.007
	leastStep     = 0.025
	chartDays     = 15
	enoughHistory = 10
	steadyWithin  = 0.04
	sharpness     = 0.6 // share of the step that the first days must show
	patience      = 14  // days of an excursion
)

func newStringOutages(s *session) *stringOutages {
	c := &stringOutages{make([]chart, len(s.in.Units))}
	for k := range c.units {
		c.units[k].code = math.NaN()
	}
	return c
}

func (c *stringOutages) look(v *view, s *session) {
	for k := range c.units {
		u := &v.units[k]
		if !s.memory.units[k].alike {
			continue
		}
		c.units[k].miss(v, k)
		if !u.charted {
			continue
		}
		c.units[k].take(v, s, k, u.relative)
		s.memory.units[k].hold(StringOutage, c.units[k].record != nil || c.units[k].sum > 2 || s.inputs.open(k))
	}
}

// miss adds what the day lacks of the expectation while a loss is in question
// or certain. Single samples stray both ways, their sum does not.
func (c *chart) miss(v *view, k int) {
	if c.record == nil && c.since == 0 {
		return
	}
	lost := &c.lost
	if c.record != nil {
		lost = &c.record.losses
	}
	u := &v.units[k]
	v.addDayLoss(lost, k, func(i int) float64 { return u.expected[i] })
}

func (c *chart) take(v *view, s *session, k int, day relative) {
	end := v.end()
	c.days++
	if c.record != nil {
		c.goOn(v, end, day)
		return
	}
	if c.days <= enoughHistory {
		c.learn(day)
		return
	}
	middle := c.normal.quantile(0.5, 3, 1)
	down := middle - day.ratio
	// A day's own scatter predicts its deviation; the observed deviations
	// of such days correct the prediction.
	own := math.Hypot(leastSpread, day.error)
	spread := own * max(c.scores.quantile(0.7, 5, 1), 1)
	c.sum = max(0, c.sum+min(down/spread, 5)-chartSlack)
	if c.sum == 0 {
		c.low, c.lost, c.lowRow, c.since = c.low[:0], loss.Ledger{}, 0, 0
		c.learn(day)
		return
	}
	if c.since == 0 {
		c.since = v.first
		c.miss(v, k)
	}
	c.low = append(c.low, down)
	if day.code > 0 {
		c.code = day.code
	}
	if n := s.in.Units[k].Strings; n > 0 && down > 0.6/float64(n) {
		c.lowRow++
	} else {
		c.lowRow = 0
	}
	if c.sum < 2 {
		c.learn(day)
	}
	step := medianOf(c.low[max(len(c.low)-7, 0):])
	switch {
	case len(c.low) > patience:
		c.absorb() // weeks without a result: the present state is the normal
		return
	case (c.sum < chartLimit || len(c.low) < 2) && c.lowRow < 3, step < leastStep, down < 0.6*step:
		return
	case medianOf(c.low[:min(len(c.low), 4)]) < sharpness*step, c.isDrifting(step, spread):
		// It came on slowly: the season, which tilts of another kind feel
		// otherwise, or dirt. Strings break at once.
		if len(c.low) >= 8 {
			c.absorb()
		}
		return
	case !day.everywhere(step):
		return
	}
	f := newFacts()
	f.days, f.spread, f.code, f.rating = len(c.low), spread, c.code, s.rating(k)
	r := &record{family: StringOutage, units: []int{k}, start: c.since, detected: end, lastSeen: end, losses: c.lost, fraction: step, seen: f}
	if c.record = r; !s.inputs.open(k) { // else the record of the input says it
		c.record = s.open(r)
	}
}

// isDrifting reports whether the excursion still grows: its second half is
// lower than its first by a substantial part of the step, and by more than
// chance.
func (c *chart) isDrifting(step, spread float64) bool {
	low := c.low[max(len(c.low)-8, 0):]
	if len(low) == len(c.low) {
		low = low[1:] // the first day may have begun whole
	}
	if len(low) < 3 {
		return false
	}
	half := len(low) / 2
	return medianOf(low[len(low)-half:])-medianOf(low[:half]) > max(0.4*step, spread)
}

// absorb takes the present excursion as the new normal.
func (c *chart) absorb() {
	for _, down := range c.low[max(len(c.low)-7, 0):] {
		c.shifted = append(c.shifted, c.normal.quantile(0.5, 3, 1)-down)
	}
	c.normal = ring{values: append([]float64(nil), c.shifted...)}
	c.shifted = c.shifted[:0]
	c.sum, c.low, c.lost, c.lowRow, c.since = 0, c.low[:0], loss.Ledger{}, 0, 0
}

func medianOf(values []float64) float64 { return median(append([]float64(nil), values...)) }

// learn adds a day without a finding to the normal state.
func (c *chart) learn(day relative) {
	off := math.Abs(day.ratio - c.normal.quantile(0.5, 3, 1))
	c.scores.remember(off/math.Hypot(leastSpread, day.error), chartDays)
	c.normal.remember(day.ratio, chartDays)
}

// goOn follows an event until the unit is back with its peers for two days.
func (c *chart) goOn(v *view, end int64, day relative) {
	r := c.record
	down := c.normal.quantile(0.5, 3, 1) - day.ratio
	if down < 0.4*r.fraction {
		if c.back == 0 {
			c.backAt = v.first
		}
		if c.back++; c.back >= 2 {
			r.end = max(c.backAt, r.lastSeen)
			*c = chart{normal: c.normal, scores: c.scores, days: c.days, code: math.NaN()}
		}
		return
	}
	c.back = 0
	c.low = append(c.low, down)
	r.lastSeen = end
	r.seen.days = len(c.low)
	if day.code > 0 && math.IsNaN(r.seen.code) {
		r.seen.code = day.code
	}
	r.fraction = medianOf(c.low[max(len(c.low)-30, 0):])
}

// wholeStrings is the loss in whole strings; ok is false where it is none.
func (s *session) wholeStrings(r *record) (k, n int, ok bool) {
	n = s.in.Units[r.units[0]].Strings
	if n == 0 || len(r.units) > 1 {
		return 0, 0, false
	}
	exact := r.fraction * float64(n)
	k = int(math.Round(exact))
	return k, n, k > 0 && math.Abs(exact-float64(k)) < 0.3
}

func (s *session) stringEvidence(r *record) []Evidence {
	f := &r.seen
	if len(r.observed) > 0 {
		if k, n, ok := s.wholeStrings(r); ok {
			return append(r.observed, shows("whole_strings", 0.7, float64(k), float64(n), "strings", "That is %d of %s.", k, display.CountOf(n, "string", "strings")))
		}
		return r.observed
	}
	out := []Evidence{
		shows("relative_yield", 2, 100*(1-r.fraction), 100, "%", "On %s the unit made %s of what was expected from its peers; a day usually strays by %s.",
			display.CountOf(f.days, "day", "days"), display.Percentage(100*(1-r.fraction)), display.Percentage(100*f.spread)),
		shows("all_day", 0.8, 100*r.fraction, 0, "%", "The loss shows in the morning, at noon and in the afternoon, in weak light as in strong."),
	}
	if k, n, ok := s.wholeStrings(r); ok {
		out = append(out, shows("whole_strings", 0.7, float64(k), float64(n), "strings", "That is %d of %s.", k, display.CountOf(n, "string", "strings")))
	}
	if f.code > 0 {
		out = append(out, codeEvidence(f.code))
	}
	return append(out, r.observed...)
}
