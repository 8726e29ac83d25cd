package detect

import "math"

// clocks finds a logger whose stamps are late or early: the middle of the
// site's day, by power, leaves the sun's. A found shift is taken out of the
// days that follow, so that nothing else is judged by a wrong clock.
type clocks struct {
	past    ring // minutes between the middle of the power and of the clear sky, of good days
	run     []middle
	record  *record
	shift   float64 // minutes in force
	lastDay int64
}

// middle is a good day's figure.
type middle struct {
	start, end int64
	minutes    float64 // off the usual
}

// Figures of the rule.
const (
	clockDays     = 3  // good days that must agree
	clockMoreDays = 5  // where the days stray
	clockLeast    = 11 // minutes off
	clockMost     = 95
	clockStrays   = 1.5        // times the middle half of the past days' spread
	clockRegular  = 4          // minutes of it
	clockAgree    = 7          // minutes between them
	clockHistory  = 10         // days before anything is said
	clockStale    = 21 * 86400 // seconds after which good days are no measure
	clockGrid     = 15         // minutes: shifts are whole quarter hours
)

func newClocks(*session) *clocks { return &clocks{} }

func (c *clocks) look(v *view, s *session) {
	if !v.sky.complete || !v.sky.smooth || math.IsNaN(v.sky.noonOff) || v.step > 1800 {
		return
	}
	if c.record == nil && v.first-c.lastDay > clockStale { // the season has moved on since the last good days
		c.past, c.run = ring{}, c.run[:0]
	}
	c.lastDay = v.first
	off := v.sky.noonOff + c.shift // as the stamps have it
	if len(c.past.values) < clockHistory {
		c.past.remember(off, usualDays)
		return
	}
	d := middle{v.first, v.end(), off - c.past.quantile(0.5, 1, 0)}
	stray := c.past.quantile(0.75, 1, 0) - c.past.quantile(0.25, 1, 0)
	if math.Abs(d.minutes-c.shift) < max(clockLeast, clockStrays*stray) {
		if c.run = c.run[:0]; c.record != nil {
			c.record.lastSeen = d.end
		} else {
			c.past.remember(off, usualDays)
		}
		return
	}
	if n := len(c.run); n > 0 && math.Abs(c.run[n-1].minutes-d.minutes) > clockAgree {
		c.run = c.run[:0]
	}
	need := clockDays
	if stray > clockRegular {
		need = clockMoreDays
	}
	if c.run = append(c.run, d); len(c.run) >= need {
		c.set(s)
	}
}

// set takes the shift that the last good days agree on into force.
func (c *clocks) set(s *session) {
	var minutes []float64
	for _, d := range c.run {
		minutes = append(minutes, d.minutes)
	}
	found := math.Round(median(minutes)/clockGrid) * clockGrid
	first, last := c.run[0], c.run[len(c.run)-1]
	c.run = c.run[:0]
	if found == c.shift || math.Abs(found) > clockMost {
		return
	}
	if c.record != nil {
		c.record.end = max(first.start, c.record.start)
		c.record = nil
	}
	c.shift = found
	s.clock = int64(found) * 60
	if found == 0 {
		return
	}
	r := &record{family: TimeShift, start: first.start, detected: last.end, lastSeen: last.end, seen: newFacts()}
	for k := range s.in.Units {
		r.units = append(r.units, k)
	}
	r.observed = []Evidence{
		shows("noon_moved", 2.5, found, 0, "min", "On %d bright days in a row the middle of the site's day was %.0f min from where it was before, against the sun's.", len(minutes), math.Abs(median(minutes))),
		shows("all_units", 1, float64(len(r.units)), float64(len(r.units)), "units", "All units moved together."),
	}
	if math.Mod(found, 60) == 0 {
		r.observed = append(r.observed, shows("whole_hour", 0.5, found/60, 0, "h", "That is a whole hour, as a wrong zone or rule for summer time makes."))
	}
	c.record = s.open(r)
}
