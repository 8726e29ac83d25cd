package detect

import (
	"math"
	"slices"

	"app.sunloop/engine/loss"
	"app.sunloop/internal/display"
)

// ownHeat finds a unit that derates in heat, relative to a model of its
// history on irradiance: its power is flat at high irradiance and normal at
// low irradiance.
type ownHeat struct {
	tops   ring
	days   []heatDay // of the last weeks
	record *record
	idle   int
	ratios ring
}

// heatDay is whether a day with enough light showed it.
type heatDay struct {
	day     int64
	flagged bool
	lost    loss.Ledger
	ratio   float64
	level   float64
}

// Figures of the rule.
const (
	ownHeatStrong = 0.7 // of the month's highest expectation
	ownHeatWeakTo = 0.5
	ownHeatWeak   = 0.2
	ownHeatHours  = 1.0
	ownHeatBelow  = 0.92
	ownHeatApart  = 0.08
	ownHeatSound  = 0.88
	ownHeatFlat   = 0.2
	ownHeatTop    = 0.93
	ownHeatDays   = 3
	ownHeatWithin = 9
	ownHeatIdle   = 12
	ownHeatRare   = 0.1 // of the days before, that may look so without an event
)

func (o *ownHeat) look(v *view, s *session, k int, b *baseline, m *moments, factor float64, day int64) {
	one, ok := o.chart(m, b, s.rating(k), factor, day)
	if !ok {
		if o.record != nil && len(o.days) > 0 && day-o.days[len(o.days)-1].day > ownHeatIdle {
			o.record.end, o.record = o.record.lastSeen, nil
		}
		return
	}
	o.days = append(o.days, one)
	o.days = slices.DeleteFunc(o.days, func(d heatDay) bool { return day-d.day > 70 })
	if o.record != nil {
		if one.flagged {
			o.idle = 0
			o.show(v, one)
		} else if o.idle++; o.idle > ownHeatIdle {
			o.record.end, o.record = o.record.lastSeen, nil
		}
		return
	}
	if !one.flagged {
		return
	}
	recent, before, flagged := []heatDay{}, 0, 0
	for _, d := range o.days {
		if day-d.day <= ownHeatWithin && d.flagged {
			recent = append(recent, d)
		}
		if day-d.day > 10 {
			before++
			if d.flagged {
				flagged++
			}
		}
	}
	if len(recent) < ownHeatDays || float64(flagged) > ownHeatRare*float64(max(before, 1)) {
		return
	}
	var lost loss.Ledger
	level := 0.0
	for _, d := range recent {
		lost.AddScaled(d.lost, 1)
		level += d.level / float64(len(recent))
	}
	if lost.Total() < matters*s.memory.units[k].usualDay()*float64(len(recent)) {
		return
	}
	f := newFacts()
	f.rating = s.rating(k)
	r := &record{family: ThermalDerating, units: []int{k}, start: v.startOf(recent[0].day), detected: v.end(), lastSeen: v.end(), losses: lost, fraction: 1 - one.ratio, seen: f, basis: referenceNames[b.ref]}
	r.observed = []Evidence{
		shows("low_plateau", 2, 100*level, 100, "%", "On %s within %d it stood at about %s of its rating while %s more was expected from the irradiance.", display.CountOf(len(recent), "day", "days"), ownHeatWithin, display.Percent(level), display.Percent(1/one.ratio-1)),
		shows("sound_below", 1, 100*ownHeatSound, 100, "%", "In weaker light of these days it made its usual part."),
	}
	o.record, o.idle = s.open(r), 0
}

func (o *ownHeat) show(v *view, d heatDay) {
	o.record.lastSeen = v.end()
	o.record.losses.AddScaled(d.lost, 1)
	o.ratios.remember(d.ratio, 7)
	o.record.fraction = max(1-o.ratios.quantile(0.5, 1, 1), 0)
}

// chart evaluates a day; ok is false without enough strong and weaker light.
func (o *ownHeat) chart(m *moments, b *baseline, rating, factor float64, day int64) (out heatDay, ok bool) {
	top := 0.0
	for j := range m.n {
		if e := b.model[j] * factor; e > top && m.elevation[j] > lowestSun {
			top = e
		}
	}
	o.tops.remember(top, usualDays)
	highest := o.tops.quantile(1, 1, top)
	var strong, weak, powers []float64
	most := 0.0
	for j := range m.n {
		e, p := b.model[j]*factor, b.power[j]
		if math.IsNaN(e) || math.IsNaN(p) || p < 0.01*rating || b.explained[j] || m.elevation[j] <= lowestSun {
			continue
		}
		most = max(most, p)
		switch {
		case e > ownHeatStrong*highest && b.rough[j] < clearWithLight:
			strong, powers = append(strong, p/e), append(powers, p)
			from, to := m.span(j)
			out.lost.Add(from, to, (e-p)*m.hours)
		case e > ownHeatWeak*highest && e < ownHeatWeakTo*highest && b.rough[j] < 0.12:
			weak = append(weak, p/e)
		}
	}
	if float64(len(strong))*m.hours < ownHeatHours || len(weak) < 2 {
		return out, false
	}
	flat := (quantile(powers, 0.9) - quantile(powers, 0.1)) / median(powers)
	out.day, out.ratio, out.level = day, median(strong), median(powers)/rating
	low := median(weak)
	out.flagged = out.ratio < ownHeatBelow && out.ratio < low-ownHeatApart && low > ownHeatSound && flat < ownHeatFlat && most < ownHeatTop*highest
	return out, true
}
