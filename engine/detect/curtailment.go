package detect

import (
	"math"
	"slices"

	"app.sunloop/engine/loss"
	"app.sunloop/internal/display"
)

// curtailment finds times in which all units stop at the same share of their
// rating, below it, although the irradiance would give more. It is a state of
// the site and not a fault: the energy is lost by an external limit.
type curtailment struct {
	since   int64
	samples int
	level   float64     // share of the rating
	more    loss.Ledger // what the light would have given on top
	lit     int         // samples with light
	capped  int         // samples in which most units reported that they were throttled
	tight   int         // samples in which four in five units agreed as only a command makes them
	record  *record
	quiet   int   // samples since the plateau was last seen
	last    int64 // when it was, before it is announced
}

// A plateau is a ceiling: enough units are close enough to the highest ones, no
// unit is above them, and the level changes little enough from sample to
// sample. Units that a cloud keeps below the ceiling do not count against it.
const (
	plateauUnits   = 0.6
	plateauWidth   = 0.006
	plateauMoves   = 0.006
	plateauPin     = 3e-4  // of units whose power is a round set point
	curtailmentDip = 3600  // seconds for which clouds may hide a plateau
	plateauWorth   = 0.02  // of the energy made, that the light must give beyond it
	plateauTight   = 0.002 // of units that follow one command, if nothing else shows it
	roundLevel     = 0.004 // from a whole twentieth of the rating
)

func newCurtailment(*session) *curtailment { return &curtailment{} }

func (c *curtailment) look(v *view, s *session) {
	if len(s.in.Units) < 2 {
		return
	}
	shares := make([]float64, 0, len(s.in.Units))
	for i := range v.cells {
		t := v.first + int64(i)*v.step
		level, tight, ok := plateau(v, s, i, shares)
		more, lit, throttled := c.headroom(v, s, i, level)
		ok = ok && (!lit || more > 0)
		switch {
		case c.record != nil:
			if ok && math.Abs(level-c.level) <= 2*plateauMoves {
				v.addLoss(&c.record.losses, i, more)
				c.record.lastSeen = t + v.step
				c.quiet = 0
				c.claim(v, i)
			} else if c.quiet++; float64(c.quiet)*v.hours() >= persistence.Hours() {
				c.record.end = c.record.lastSeen
				*c = curtailment{}
			}
		case ok && c.samples > 0 && math.Abs(level-c.level) <= plateauMoves, ok && c.samples == 0:
			if c.samples == 0 {
				c.since, c.level = t, level
			}
			c.samples++
			v.addLoss(&c.more, i, more)
			if lit {
				c.lit++
			}
			if throttled {
				c.capped++
			}
			if tight {
				c.tight++
			}
			c.announce(v, s, i)
		case ok: // another plateau than a moment ago
			*c = curtailment{since: t, samples: 1, level: level}
			v.addLoss(&c.more, i, more)
			if lit {
				c.lit = 1
			}
			if throttled {
				c.capped = 1
			}
			if tight {
				c.tight = 1
			}
		case c.samples > 0 && t-c.last <= curtailmentDip && !exceeded(v, s, i, c.level): // a cloud below the ceiling
			continue
		default:
			*c = curtailment{}
		}
		if ok {
			c.last = t
		}
	}
}

// exceeded reports whether a unit produces more than the given share of its
// rating.
func exceeded(v *view, s *session, i int, level float64) bool {
	for k := range v.units {
		if v.units[k].power[i] > (level+plateauWidth)*s.rating(k) {
			return true
		}
	}
	return false
}

// claim explains a cell by the event, and takes what the units make in it into
// the share that is lost.
func (c *curtailment) claim(v *view, i int) {
	r := c.record
	for k := range v.units {
		u := &v.units[k]
		u.claimed[i] = claimOr(u.claimed[i], Curtailment)
		r.seen.expectedKWh += max(zeroIfMissing(u.power[i]), 0) * v.hours()
	}
	r.fraction = r.losses.Total() / max(r.losses.Total()+r.seen.expectedKWh, 1e-9)
}

// plateau returns the common share of the rating at cell i. tight reports that
// the units agree on a round set point, as only a command achieves: nearly four
// in five of them, or fewer if they agree to the last digit.
func plateau(v *view, s *session, i int, shares []float64) (level float64, tight, ok bool) {
	shares = shares[:0]
	for k := range v.units {
		u := &v.units[k]
		if p, r := u.power[i], s.rating(k); r > 0 && !math.IsNaN(p) && u.claimed[i] == "" {
			shares = append(shares, p/r)
		}
	}
	if len(shares) < 2 {
		return 0, false, false
	}
	slices.Sort(shares)
	if level, ok = pinned(shares); ok {
		return level, true, true
	}
	level = shares[len(shares)*4/5]
	near, close := 0, 0
	for _, x := range shares {
		if x > level+plateauWidth {
			return level, false, false
		}
		if x >= level-plateauWidth {
			near++
		}
		if math.Abs(x-level) <= plateauTight {
			close++
		}
	}
	tight = close >= 4 && 5*close >= 4*len(shares) && math.Abs(level-math.Round(20*level)/20) < roundLevel
	return level, tight, level > 0.05 && level < 0.97 && near >= 2 && float64(near) >= plateauUnits*float64(len(shares))
}

// pinned returns the round set point at which the highest of ascending shares
// are, if at least three units and a quarter of all are there: units that
// follow a command are at the set point to the last digit, while clouds keep
// the others below it.
func pinned(shares []float64) (level float64, ok bool) {
	n := len(shares)
	level = math.Round(20*shares[n-1]) / 20
	on := 0
	for on < n && math.Abs(shares[n-1-on]-level) <= plateauPin {
		on++
	}
	return level, on >= 3 && 4*on >= n && level > 0.05 && level < 0.97
}

// headroom returns the power in kW that the irradiance would have given above the
// plateau in the cell, whether irradiance was measured, and whether most units
// report that they are throttled. Less than 4 % above the plateau counts as no
// headroom.
func (c *curtailment) headroom(v *view, s *session, i int, level float64) (more float64, lit, throttled bool) {
	said := 0
	for k := range v.units {
		u := &v.units[k]
		if u.state[i] == stateThrottled {
			said++
		}
		if l := u.lit[i]; !math.IsNaN(l) {
			lit = true
			if r := s.rating(k); l > (level+0.04)*r {
				more += l - level*r
			}
		} else if usual := s.memory.stats[v.slot(i)].mean; usual > level {
			more += (usual - level) * s.rating(k)
		}
	}
	return more, lit, 2*said > len(v.units)
}

func (c *curtailment) announce(v *view, s *session, i int) {
	if c.samples < 3 || !established(c.samples, float64(c.samples)*v.hours()) || 2*c.lit < c.samples && 2*c.capped < c.samples && 4*c.tight < 3*c.samples {
		return
	}
	if 2*c.lit >= c.samples && c.more.Total() < plateauWorth*c.level*s.siteRating()*float64(c.samples)*v.hours() {
		return // the light gives no more
	}
	f := newFacts()
	f.level, f.samples, f.heard = c.level, c.samples, len(v.units)
	f.counterKWh = c.more.Total()
	f.together, f.running = c.capped, float64(c.lit)
	f.days = c.tight
	r := &record{family: Curtailment, start: c.since, detected: v.first + int64(i+1)*v.step, lastSeen: v.first + int64(i+1)*v.step, losses: c.more, seen: f}
	for k := range v.units {
		r.units = append(r.units, k)
	}
	c.record = s.open(r)
	for j := max(int((c.since-v.first)/v.step), 0); j <= i; j++ {
		c.claim(v, j)
	}
}

func curtailmentEvidence(r *record) []Evidence {
	f := &r.seen
	if len(r.observed) > 0 {
		return r.observed
	}
	out := []Evidence{shows("common_plateau", 2.5, 100*f.level, 100, "%", "None of %s went above %s of its rating, and most stood there within %s, in at least %d samples.",
		display.CountOf(f.heard, "unit", "units"), display.Percentage(100*f.level), display.Percentage(100*plateauWidth), f.samples)}
	if round := math.Round(20*f.level) / 20; math.Abs(f.level-round) < roundLevel {
		out = append(out, shows("round_level", 0.8, 100*f.level, 100*round, "%", "That is a round set-point: %s.", display.Percent(round)))
	}
	if f.running > 0 && f.counterKWh > 0 {
		out = append(out, shows("headroom", 1.5, f.counterKWh, 0, "kWh", "The irradiance would have given %s more by the time it was noticed.", display.Energy(f.counterKWh)))
	}
	if 4*f.days >= 3*f.samples {
		out = append(out, shows("one_command", 1, 100*plateauTight, 100*plateauWidth, "%", "Four in five units agree within %s: they follow one command.", display.Percentage(100*plateauTight)))
	}
	if f.together > 0 {
		out = append(out, shows("state_throttled", 1.5, stateThrottled, stateMPPT, "state", "Most units report that their power is limited."))
	}
	return out
}
