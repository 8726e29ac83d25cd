package ingest

import (
	"math"
	"time"

	"app.sunloop/internal/display"
)

// civilClock converts wall times of a zone to UTC. It keeps the last span without a
// clock change.
type civilClock struct {
	zone     *time.Location
	from, to int64 // wall times in between have one offset
	offset   int64
}

// maxShift is more than any zone moves its clocks by.
const maxShift = 26 * hour

// utc returns the instant of a wall time. If it occurs twice, late is the second
// instant and differs from early; if it does not exist, ok is false.
func (c *civilClock) utc(wall int64) (early, late int64, ok bool) {
	if wall >= c.from && wall < c.to {
		return wall - c.offset, wall - c.offset, true
	}
	before, after := c.offsetAt(wall-maxShift), c.offsetAt(wall+maxShift)
	if before == after {
		c.remember(wall)
		return wall - before, wall - before, true
	}
	a, b := wall-before, wall-after
	okA, okB := c.offsetAt(a) == before, c.offsetAt(b) == after
	switch {
	case okA && okB:
		return min(a, b), max(a, b), true
	case okA:
		return a, a, true
	case okB:
		return b, b, true
	}
	return 0, 0, false
}

func (c *civilClock) offsetAt(instant int64) int64 {
	_, off := time.Unix(instant, 0).In(c.zone).Zone()
	return int64(off)
}

// remember keeps the span around wall in which the zone has one offset,
// without the hours next to its ends.
func (c *civilClock) remember(wall int64) {
	off := c.offsetAt(wall - maxShift)
	start, end := time.Unix(wall-off, 0).In(c.zone).ZoneBounds()
	c.offset, c.from, c.to = off, math.MinInt64/2, math.MaxInt64/2
	if !start.IsZero() {
		c.from = start.Unix() + off + maxShift
	}
	if !end.IsZero() {
		c.to = end.Unix() + off - maxShift
	}
}

// standard returns the zone's offset without summer time at an instant.
func (c *civilClock) standard(instant int64) int64 {
	return min(c.offsetAt(instant), c.offsetAt(instant+182*day))
}

// newestFirst reports whether most steps of the file go back in time.
func newestFirst(walls []int64) bool {
	back, on := 0, 0
	for i := 1; i < len(walls); i++ {
		switch {
		case walls[i] == noWall || walls[i-1] == noWall:
		case walls[i] < walls[i-1]:
			back++
		case walls[i] > walls[i-1]:
			on++
		}
	}
	return back > on
}

// foldState follows one asset through an hour that occurs twice.
type foldState struct {
	wall  int64 // of the row before
	late  bool  // the second of the two hours has begun
	begun bool  // there was a row outside of it
	first []int // rows of the hour with which the asset begins
}

// resolution is the result of the conversion of the wall times.
type resolution struct {
	utc      []int64        // noWall where a row has no time
	doubled  int            // rows that were distinguished by their order
	leading  int            // rows with which a file begins in the second of the two hours
	inGap    int            // rows whose wall time does not exist
	gapSteps map[int64]int  // days with values in such rows
	folds    map[int64]bool // days with rows in a doubled hour
}

// resolve converts every row's wall time to UTC: by its own offset first, then
// by the zone. Times that occur twice are distinguished by the order of the
// rows; if an asset begins with such times and they occur once, they are in the
// second hour, which the next rows follow.
func (t *table) resolve(zone *time.Location, reversed bool) resolution {
	clock := civilClock{zone: zone}
	n := len(t.walls)
	out := resolution{utc: make([]int64, n), gapSteps: map[int64]int{}, folds: map[int64]bool{}}
	states := make([]foldState, max(1, len(t.names)))
	for k := range n {
		i := k
		if reversed {
			i = n - 1 - k
		}
		wall := t.walls[i]
		if wall == noWall {
			out.utc[i] = noWall
			continue
		}
		if t.offsets != nil && t.offsets[i] != noOffset {
			out.utc[i] = wall - int64(t.offsets[i])
			continue
		}
		early, late, ok := clock.utc(wall)
		if !ok {
			out.utc[i] = noWall
			out.inGap++
			if t.usable(i) {
				out.gapSteps[wall/day]++
			}
			continue
		}
		out.utc[i] = early
		st := &states[0]
		if t.assets != nil {
			st = &states[t.assets[i]]
		}
		if early != late {
			out.folds[wall/day] = true
			st.late = st.late || wall <= st.wall && st.wall-wall < 3*hour
			if st.late {
				out.utc[i] = late
				out.doubled++
				st.begun, st.first = true, nil
			}
			if !st.begun {
				st.first = append(st.first, i)
			}
		} else {
			for _, j := range st.first {
				_, out.utc[j], _ = clock.utc(t.walls[j])
				out.leading++
			}
			st.late, st.begun, st.first = false, true, nil
		}
		st.wall = wall
	}
	return out
}

// usable reports whether a row has a value of power or energy.
func (t *table) usable(row int) bool {
	for _, col := range t.columns {
		if col.means.role >= rolePower && col.means.role <= roleFeedIn && !math.IsNaN(col.values[row]) {
			return true
		}
	}
	return false
}

// times converts the rows' times to UTC and counts impossible ones.
func (t *table) times(zone *time.Location, now time.Time, rep *report) ([]int64, bool) {
	reversed := newestFirst(t.walls)
	if reversed {
		rep.decide("order", "newest rows first; the order was reversed")
	}
	res := t.resolve(zone, reversed)
	if len(res.gapSteps) > 0 {
		res = t.settleSummerTime(res, zone, reversed, rep)
	}
	if res.doubled > 0 {
		rep.decide("zone", "%s twice when %s sets the clock back; distinguished by their order", display.CountOf(res.doubled, "time occurs", "times occur"), zone)
	}
	if res.leading > 0 {
		rep.decide("zone", "%s the file in the hour that comes twice when %s sets the clock back; taken as the second hour, as the next rows follow it", display.CountOf(res.leading, "time begins", "times begin"), zone)
	}
	if res.inGap > 0 && len(t.plan.hours) == 0 {
		t.skipped[SkipNoSuchTime] += res.inGap
	}
	t.dropImpossible(res.utc, now, rep)
	return res.utc, reversed
}

// settleSummerTime handles files with values in the hour that is skipped in
// spring. Either the logger's clock has no summer time, or the portal fills the
// hour so that a day has 24 hours. The time of production decides: with a clock that
// is put forward, production is an hour later.
func (t *table) settleSummerTime(res resolution, zone *time.Location, reversed bool, rep *report) resolution {
	moved, known := t.clockMoves(zone)
	switch {
	case known && moved > 0.5:
		rep.decide("zone", "%s in the hour that %s skips in spring and left out: the other times follow the change of the clock", display.CountOf(res.inGap, "row is", "rows are"), zone)
	case known && len(res.folds) > 0 && res.doubled > 0, !known:
		rep.addRunnerUp("zone", "another zone than %s, or times without summer time", zone)
		rep.warn("zone", "there are values in the hour that %s skips in spring; they are left out. Perhaps the file has another zone", zone)
	default:
		clock := civilClock{zone: zone}
		off := clock.standard(t.someWall())
		rep.decide("zone", "there are values in the hour that %s skips in spring and production does not move with the clock; read as UTC%+g all year", zone, float64(off)/hour)
		rep.warn("zone", "times are read without summer time")
		return t.resolve(time.FixedZone("", int(off)), reversed)
	}
	return res
}

func (t *table) someWall() int64 {
	for _, w := range t.walls {
		if w != noWall {
			return w
		}
	}
	return 0
}

// earliest is the first date that a portal can have data of.
const earliest = 946684800 // 2000-01-01

// fewFuture is the share of a file's rows in the future up to which single wrong
// dates explain them.
const fewFuture = 0.01

// dropImpossible leaves out the rows with a time that no measurement can have, and reports
// those of the future: a wrong zone, year or order of day and month explains many of them.
func (t *table) dropImpossible(utc []int64, now time.Time, rep *report) {
	latest := int64(math.MaxInt64)
	if !now.IsZero() {
		latest = now.Unix() + day
	}
	future, last := 0, int64(0)
	for i, u := range utc {
		switch {
		case t.walls[i] == noWall:
			t.skipRow(SkipImpossibleDate)
		case u == noWall:
		case u < earliest:
			utc[i] = noWall
			t.skipRow(SkipEarly)
		case u > latest:
			utc[i] = noWall
			t.skipRow(SkipFuture)
			future, last = future+1, max(last, u)
		}
	}
	if future == 0 {
		return
	}
	add, text := rep.decide, "%d of %s left out: times in the future, up to %s"
	if float64(future) > fewFuture*float64(len(utc)) {
		add, text = rep.warn, text+"; check the year, the order of day and month, and whether these are measurements"
	}
	add("time", text, future, display.CountOf(len(utc), "row", "rows"), time.Unix(last, 0).UTC().Format(time.RFC3339))
}
