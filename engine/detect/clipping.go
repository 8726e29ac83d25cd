package detect

import (
	"math"
	"slices"
	"time"

	"app.sunloop/internal/display"
)

// clipping records that units run at their rating because the array is larger
// than the inverter. This is normal operation: one event for the site, recorded
// so that no other stage reports it as a limit of another kind. It claims no
// samples: the other stages know that the array cannot be evaluated while its
// unit is at the rating.
type clipping struct {
	record *record
	quiet  int64 // when the last clipped sample ended
}

// Figures of the rule, after the published filters: three samples within 0.2 %
// of their mean, at the top of what the unit ever gave.
const (
	clipWidth  = 0.002
	clipTop    = 0.995
	clipAt     = 0.9985 // of the top, where that is near the rating: one sample is enough
	clipAtHour = 0.985
	clipKnown  = 0.998 // of the top, on a day before
	clipRating = 0.85
	clipHours  = 1.0 / 3
	clipQuiet  = 45 * 86400
)

func newClipping(*session) *clipping { return &clipping{} }

func (c *clipping) look(v *view, s *session) {
	if c.record != nil && v.first-c.quiet > clipQuiet {
		c.record.end, c.record = c.quiet, nil
	}
	var day stretch
	var units []int
	highest := 0.0
	for k := range v.units {
		d, top := clippedDay(v, s, k)
		if d.to == 0 {
			continue
		}
		s.clipped[k] = append(s.clipped[k], d.span())
		if units = append(units, k); len(units) == 1 {
			day = d
		}
		day.from, day.to, highest = min(day.from, d.from), max(day.to, d.to), max(highest, top/s.rating(k))
	}
	if len(units) == 0 {
		return
	}
	c.quiet = day.to
	if c.record == nil {
		c.record = &record{family: Clipping, start: day.from, detected: v.end(), seen: newFacts()}
		s.records = append(s.records, c.record)
	}
	r := c.record
	for _, k := range units {
		if !slices.Contains(r.units, k) {
			r.units = append(r.units, k)
		}
	}
	slices.Sort(r.units)
	r.lastSeen = day.to
	r.spans = append(r.spans, day.span())
	r.observed = []Evidence{
		shows("flat_top", 2, 100*highest, 100, "%", "On %s units stood at their highest, up to %s of the rating, within %s from sample to sample.", display.CountOf(len(r.spans), "day", "days"), display.Percentage(100*highest), display.Percentage(100*clipWidth)),
		shows("at_rating", 1.5, float64(len(r.units)), float64(len(v.units)), "units", "That is the limit of %d of %s.", len(r.units), display.CountOf(len(v.units), "unit", "units")),
	}
}

// clippedDay returns the part of the day in which unit k runs at its maximum,
// and that maximum in kW. The span is zero if it is shorter than 20 minutes.
func clippedDay(v *view, s *session, k int) (day stretch, top float64) {
	u, rating := &v.units[k], s.rating(k)
	if rating <= 0 {
		return stretch{}, 0
	}
	top = max(s.memory.units[k].peakKW, 0)
	for i, p := range u.power[:v.cells] {
		if u.claimed[i] == "" && p > top {
			top = p
		}
	}
	if top < 0.97*rating && s.memory.units[k].peakKW < clipKnown*top {
		return stretch{}, 0 // it has never been here before: a limit below the rating is one that holds again
	}
	at := clipAt
	if v.step > 1800 && top > clipKnown*rating {
		at = clipAtHour // an hour also holds moments on the way there
	}
	hours := 0.0
	for i, flat := range Clipped(u.power[:v.cells], max(clipTop*top, clipRating*rating)) {
		if (flat || top > 0.97*rating && u.power[i] >= at*top) && u.claimed[i] == "" {
			if hours == 0 {
				day.from = v.first + int64(i)*v.step
			}
			day.to = v.first + int64(i+1)*v.step
			hours += v.hours()
		}
	}
	if hours < clipHours {
		return stretch{}, 0
	}
	return day, top
}

// Clipped reports for each sample whether the power is flat at or above a
// level: the sample and its neighbours, or the sample and two on one side, are
// within 0.2 % of their mean.
func Clipped(power []float64, level float64) []bool {
	out := make([]bool, len(power))
	for i := range power {
		if i+2 >= len(power) {
			break
		}
		w := power[i : i+3]
		low, high := slices.Min(w), slices.Max(w)
		if low >= level && high-low <= clipWidth*(low+high)/2 { // false of NaN
			out[i], out[i+1], out[i+2] = true, true, true
		}
	}
	return out
}

// stretch is a stretch of Unix time.
type stretch struct{ from, to int64 }

func (s stretch) span() Span { return Span{time.Unix(s.from, 0).UTC(), time.Unix(s.to, 0).UTC()} }

// clips reports whether a unit is so close to its limit that a loss of its
// array may be hidden.
func clips(p, rating float64) bool { return math.IsNaN(p) || p >= 0.97*rating }
