package detect

import (
	"math"
	"time"

	"app.sunloop/internal/display"
)

// clocks finds a logger whose time stamps are late or early: the site's day,
// from the first power to the last, has moved relative to solar noon. Clouds
// move the ends of a day by minutes, so several days must agree, fewer if they
// are clear. A shift that was found is removed from the following days, so that
// no other stage evaluates data with a wrong clock.
type clocks struct {
	centres ring    // minutes between the middles of the day's energy and of a clear sky's, by a right clock
	past    ring    // minutes between the middles of the site's day and of the sun's, of days by a right clock
	strays  [2]ring // how far days strayed from the middle of those: clear ones, others
	last    []middle
	history []middle // of the last weeks
	record  *record
	shift   float64 // minutes in force
	zoned   bool    // it is that of a change of the zone's clock
	lastDay int64
}

// middle is a day's figure.
type middle struct {
	start, end int64
	minutes    float64 // off the usual, as the stamps have it
	stray      float64 // how far such a day strays, minutes
	centre     float64 // how far the middle of the day's energy is off the usual, minutes; NaN unknown
}

// Figures of the rule.
const (
	clockFloor   = 0.01 // share of the rating at which the site's day begins
	clockHistory = 10   // days before a shift is reported
	clockWindow  = 12   // days that are evaluated together
	clockLeast   = 3    // days that must agree
	clockGain    = 24   // by so much better a shift must explain them, in squared deviations
	clockRival   = 8    // and than any other shift
	clockWild    = 6    // that a single day counts at most
	clockAgree   = 0.4  // of a shift, by which the middle of the energy must have moved too
	clockClear   = 1.5  // minutes that a clear day strays at the least
	clockDull    = 6.0  // and any other
	clockMost    = 90
	clockStale   = 21 * 86400 // seconds after which good days are no measure
	clockGrid    = 15         // minutes: shifts are whole quarter hours
	clockKept    = 40         // days of history
	clockBefore  = 6          // of them that are looked at before a shift
	clockDrifted = 0.5        // of the shift, which these days must not have moved before it: a clock jumps, season and horizon drift
	clockNear    = 14 * 86400 // seconds before it, within which they must lie
	clockChange  = 2          // days between a shift and a change of the zone's clock that it comes from
)

func newClocks(*session) *clocks { return &clocks{} }

func (c *clocks) look(v *view, s *session) {
	off, ok := offNoon(v)
	if !ok || !v.sky.complete || v.step > 1800 || math.Abs(off) > clockMost+2*clockGrid {
		return
	}
	if c.record == nil && v.first-c.lastDay > clockStale { // the season has moved on since the last days
		c.past, c.strays, c.last, c.history = ring{}, [2]ring{}, c.last[:0], nil
	}
	c.lastDay = v.first
	off += c.shift // as the stamps have it
	centre := offCentre(v) + c.shift
	if len(c.past.values) < clockHistory {
		c.past.remember(off, usualDays)
		c.centres.remember(centre, usualDays)
		return
	}
	sky, least := 1, clockDull
	if v.sky.bright {
		sky, least = 0, clockClear
	}
	minutes := off - c.past.quantile(0.5, 1, 0)
	wrong := minutes - c.shift
	c.last = append(c.last, middle{v.first, v.end(), minutes, max(1.48*c.strays[sky].quantile(0.5, 5, clockDull), least), centre - c.centres.quantile(0.5, 1, math.NaN())})
	c.history = append(c.history, c.last[len(c.last)-1])
	c.history = c.history[max(len(c.history)-clockKept, 0):]
	c.last = c.last[max(len(c.last)-clockWindow, 0):]
	if c.judge(s, float64(v.step)/60) {
		return
	}
	if math.Abs(wrong) < clockGrid {
		c.strays[sky].remember(math.Abs(wrong), usualDays)
	}
	if c.record != nil {
		c.record.lastSeen = v.end()
	} else if math.Abs(wrong) < clockGrid {
		c.past.remember(off, usualDays)
		c.centres.remember(centre, usualDays)
	}
}

// judge looks for a shift that explains the last days better than the current
// one. It reports whether it found one.
func (c *clocks) judge(s *session, step float64) bool {
	for n := clockLeast; n <= len(c.last); n++ {
		days := c.last[len(c.last)-n:]
		best, least, next := c.shift, math.Inf(1), math.Inf(1)
		for t := -clockMost; t <= clockMost; t += clockGrid {
			switch sum := strayed(days, float64(t)); {
			case sum < least:
				best, least, next = float64(t), sum, least
			case sum < next:
				next = sum
			}
		}
		if c.zoned && c.shift != 0 && math.Abs(best-c.shift) <= clockGrid {
			continue // the season: what the zone's clock does is known to the minute
		}
		if best != c.shift && strayed(days, c.shift)-least >= clockGain && next-least >= clockRival && nearer(days, best, c.shift) >= clockLeast && math.Abs(best-c.shift) > step/2 && c.agrees(days, best) && !c.drifted(best) {
			by, zoned := c.byZone(s, best)
			c.set(s, by, c.begins(best))
			c.zoned = zoned
			return true
		}
	}
	return false
}

// agrees reports whether the centre of the days' energy has moved as well.
// Snow, the horizon or a late start also move the ends of a day, and time
// stamps are not corrected on one indication only.
func (c *clocks) agrees(days []middle, shift float64) bool {
	var moved []float64
	for _, d := range days {
		if !math.IsNaN(d.centre) {
			moved = append(moved, d.centre-c.shift)
		}
	}
	return len(moved) >= clockLeast && median(moved)/(shift-c.shift) > clockAgree
}

// offCentre returns by how many minutes the centre of the day's energy is later
// than that of a clear sky, NaN if the day is not known.
func offCentre(v *view) float64 {
	var made, at, clear, noon float64
	for i := range v.cells {
		if p := v.share[i]; p > 0 {
			made, at = made+p, at+p*float64(i)
		}
		if c := v.clear[i]; c > 0 {
			clear, noon = clear+c, noon+c*float64(i)
		}
	}
	return (at/made - noon/clear) * float64(v.step) / 60 // 0/0 is NaN
}

// strayed is the sum of the squared deviations of days from a shift, each in
// the days' own strays, none counting beyond what a wild day may.
func strayed(days []middle, shift float64) (sum float64) {
	for _, d := range days {
		z := (d.minutes - shift) / d.stray
		sum += min(z*z, clockWild)
	}
	return sum
}

// nearer counts the days that lie nearer to one shift than to another.
func nearer(days []middle, one, other float64) (n int) {
	for _, d := range days {
		if math.Abs(d.minutes-one) < math.Abs(d.minutes-other) {
			n++
		}
	}
	return n
}

// begins is the index of the day from which a shift explains the last days best.
func (c *clocks) begins(found float64) int {
	first, most := len(c.last)-1, 0.0
	for i := len(c.last) - 1; i >= 0; i-- {
		if gain := strayed(c.last[i:], c.shift) - strayed(c.last[i:], found); gain > most {
			first, most = i, gain
		}
	}
	return first
}

// drifted reports whether the days before a shift had moved towards it. If these are not
// known, a quarter of an hour may be the season of the weeks without them.
func (c *clocks) drifted(found float64) bool {
	if c.shift != 0 { // meanwhile the usual is not learned, and the season has moved on
		return false
	}
	start := c.last[c.begins(found)].start
	var before []float64
	for i := len(c.history) - 1; i >= 0 && len(before) < clockBefore; i-- {
		if d := start - c.history[i].start; d > 0 && d <= clockNear {
			before = append(before, c.history[i].minutes)
		}
	}
	if len(before) < clockLeast {
		return math.Abs(found) <= clockGrid
	}
	return median(before)/found > clockDrifted
}

// byZone returns the shift that a change of the zone's clock at its beginning makes or ends, if
// that is within a quarter of an hour of the one found: stamps that do not follow summer time.
func (c *clocks) byZone(s *session, found float64) (shift float64, zoned bool) {
	start := time.Unix(c.last[c.begins(found)].start, 0).In(s.in.Site.Zone)
	_, before := start.AddDate(0, 0, -clockChange).Zone()
	_, after := start.AddDate(0, 0, clockChange).Zone()
	change := math.Abs(float64(after-before) / 60)
	if change == 0 {
		return found, false
	}
	for _, by := range []float64{0, change, -change} {
		if (by == 0) != (c.shift == 0) && math.Abs(by-found) <= clockGrid {
			return by, true
		}
	}
	return found, false
}

// set takes a shift into force from the day with an index on.
func (c *clocks) set(s *session, found float64, first int) {
	last := c.last[len(c.last)-1]
	days := c.last[first:]
	c.last = nil
	if c.record != nil {
		c.record.end = max(days[0].start, c.record.start)
		c.record = nil
	}
	c.shift, s.clock = found, int64(found)*60
	if found == 0 {
		return
	}
	var minutes []float64
	for _, d := range days {
		minutes = append(minutes, d.minutes)
	}
	r := &record{family: TimeShift, start: days[0].start, detected: last.end, lastSeen: last.end, seen: newFacts()}
	for k := range s.in.Units {
		r.units = append(r.units, k)
	}
	r.observed = []Evidence{
		shows("noon_moved", 2.5, found, 0, "min", "On %s solar noon in the data was %s from where it was before.", display.CountOf(len(minutes), "day", "days"), formatMinutes(math.Abs(median(minutes)))),
		shows("all_units", 1, float64(len(r.units)), float64(len(r.units)), "units", "All units moved together."),
	}
	if math.Mod(found, 60) == 0 {
		r.observed = append(r.observed, shows("whole_hour", 0.5, found/60, 0, "h", "That is a whole hour, as a wrong zone or rule for summer time makes."))
	}
	c.record = s.open(r)
}

// offNoon is how many minutes the middle between the site's first and last power
// of the day comes after the middle of the sun's day; ok is false where one of
// the four is not in the data.
func offNoon(v *view) (minutes float64, ok bool) {
	site := func(i int) float64 { return max(zeroIfMissing(v.share[i]), 0) }
	sun := func(i int) float64 { return v.clear[i] }
	up, down := crossings(v, site, clockFloor)
	rise, set := crossings(v, sun, clockFloor/2)
	cells := (up+down)/2 - (rise+set)/2 // NaN if any is
	return cells * float64(v.step) / 60, !math.IsNaN(cells)
}

// crossings are where a figure of the cells first rises through a level and
// last falls through it, in cells.
func crossings(v *view, of func(int) float64, level float64) (up, down float64) {
	up, down = math.NaN(), math.NaN()
	for i := 1; i < v.cells; i++ {
		a, b := of(i-1), of(i)
		at := float64(i-1) + (level-a)/(b-a)
		if a < level && b >= level && math.IsNaN(up) {
			up = at
		}
		if a >= level && b < level {
			down = at
		}
	}
	return up, down
}
