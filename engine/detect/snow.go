package detect

import (
	"math"
	"time"

	"app.sunloop/engine/loss"
	"app.sunloop/internal/display"
)

// snow finds days on which snow covers the modules of the whole site: it is
// cold, the sensor measures irradiance, no unit has reached its expected power
// since the night, and no unit reports that it is off or in fault. Without
// temperature and irradiance it is not evaluated, and the event is an outage of
// the site.
type snow struct {
	record  *record
	since   int64
	samples int
	lost    loss.Ledger
	woken   bool // the site has made its power since the night
	clear   int  // samples in a row as expected
	clearAt int64
}

// Figures of the rule.
const (
	snowCold    = 2.0 // °C
	snowCovered = 0.5 // of what the light gives
	snowGone    = 0.8
	snowUnits   = 0.8  // share of the units
	snowAlone   = 1.5  // hours, on a site of one or two units
	snowWorth   = 0.05 // of their usual day
	snowLight   = 100  // W/m² on such a site, below which a dark sky and snow cannot be distinguished
)

func newSnow(*session) *snow { return &snow{} }

func (o *snow) look(v *view, s *session) {
	for i := range v.cells {
		t := v.first + int64(i)*v.step
		if !v.day[i] {
			o.woken = false
			if o.record == nil {
				o.since, o.samples, o.lost = 0, 0, loss.Ledger{}
			}
			continue
		}
		covered, free, heard, missing, said := o.count(v, s, i)
		switch {
		case o.record != nil:
			o.goOn(v, i, t, covered, free, heard, missing)
		case free > covered || said:
			o.woken = o.woken || free > 0
			o.since, o.samples, o.lost = 0, 0, loss.Ledger{}
		case o.woken || covered == 0 || !(v.tempC[i] < snowCold) || v.clear[i] < lowLight || len(v.units) < 3 && v.light[i] < snowLight:
		default:
			if o.since == 0 {
				o.since = t
			}
			o.samples++
			v.addLoss(&o.lost, i, missing)
			if o.matters(v, s) {
				o.announce(v, s, i)
			}
		}
	}
}

// matters reports whether the snow has lasted long enough and cost enough to be
// announced. That takes longer if no other unit shows that the cause is common
// to all.
func (o *snow) matters(v *view, s *session) bool {
	hours := float64(o.samples) * v.hours()
	usual := 0.0
	for k := range s.in.Units {
		usual += s.memory.units[k].usualDay()
	}
	if len(s.in.Units) < 3 {
		return hours >= snowAlone && o.lost.Total() >= snowWorth*usual
	}
	return established(o.samples, hours) && o.lost.Total() >= matters*usual
}

// count returns the number of covered and of free units at cell i, the power in
// kW that the covered ones lack, and whether any unit reports that it is off or in
// fault. A unit in an outage of days before counts as neither: one cause is one event.
func (o *snow) count(v *view, s *session, i int) (covered, free, heard int, missing float64, said bool) {
	for k := range v.units {
		u, rating := &v.units[k], s.rating(k)
		p, lit := u.power[i], u.lit[i]
		if math.IsNaN(p) || !(lit > armedShare*rating) || s.stopped[k] {
			continue
		}
		heard++
		said = said || u.state[i] == stateOff || u.state[i] == stateFault || u.code[i] > 0
		switch {
		case p < snowCovered*lit:
			covered++
			missing += lit - max(p, 0)
		case p > snowGone*lit:
			free++
		}
	}
	if float64(covered) < snowUnits*float64(heard) {
		covered = 0
	}
	return covered, free, heard, missing, said
}

func (o *snow) announce(v *view, s *session, i int) {
	t := v.first + int64(i+1)*v.step
	r := &record{family: SnowCover, start: o.since, detected: t, lastSeen: t, losses: o.lost, fraction: 1, seen: newFacts()}
	for k := range s.in.Units {
		r.units = append(r.units, k)
	}
	r.observed = []Evidence{
		shows("cold", 2, v.tempC[i], snowCold, "°C", "It is %.1f °C.", v.tempC[i]),
		shows("dark_since_night", 1.5, float64(len(r.units)), 0, "units", "No unit has made its power since the night, while the sensor sees %s.", display.Irradiance(v.light[i])),
		shows("no_code", 0.7, 0, 0, "", "No unit reports the state off or fault."),
	}
	o.record = s.open(r)
	o.clear = 0
	o.claim(v, o.since, i)
}

func (o *snow) claim(v *view, from int64, i int) {
	for j := max(int((from-v.first)/v.step), 0); j <= i; j++ {
		for k := range v.units {
			v.units[k].claimed[j] = claimOr(v.units[k].claimed[j], SnowCover)
		}
	}
}

// goOn follows the snow until half of the units make what the light gives for
// an hour.
func (o *snow) goOn(v *view, i int, t int64, covered, free, heard int, missing float64) {
	if heard > 0 && covered == 0 || free > covered {
		if o.clear == 0 {
			o.clearAt = t
		}
		if o.clear++; float64(o.clear)*v.hours() >= 1 {
			o.record.end = o.clearAt
			if n := len(o.record.spans); n > 0 {
				o.record.spans[n-1].To = time.Unix(o.clearAt, 0).UTC()
			}
			*o = snow{woken: true}
		}
		return
	}
	o.clear = 0
	v.addLoss(&o.record.losses, i, missing)
	if covered > 0 {
		o.record.lastSeen = t + v.step
		if n := len(o.record.spans); n > 0 {
			o.record.spans[n-1].To = time.Unix(t+v.step, 0).UTC()
		}
	}
	o.claim(v, t, i)
}
