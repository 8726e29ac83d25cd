package detect

import (
	"math"
	"slices"

	"app.sunloop/engine/loss"
	"app.sunloop/internal/display"
)

// derating finds units that derate in heat: a plateau below their rating,
// round and after noon, while their peers go higher, and as much as the peers
// in weaker irradiance.
type derating struct{ units []heat }

// heat is the state of one unit.
type heat struct {
	days   []hotDay // with a plateau, not yet announced
	record *record
	levels []float64 // share of the rating at which it held, with the temperature
	temps  []float64
	ratios []float64
	code   float64
	hot    float64 // hottest cabinet
	peers  float64 // cabinet of the others then
	idle   int     // days in good light without a plateau
}

// hotDay is a day with a plateau.
type hotDay struct {
	from, to    int64
	level, temp float64
	ratio       float64
	lost        loss.Ledger
	throttled   bool
}

// Figures of the rule.
const (
	heatArmed  = 0.35 // of the rating
	heatOver   = 1.05 // expectation over the plateau
	heatHours  = 0.9
	heatSound  = 0.955 // ratio in weaker light
	heatMoves  = 0.025 // of the rating, from sample to sample
	heatRough  = 0.003 // of the level: mean turn from sample to sample
	heatMemory = 9 * 86400
	heatDays   = 3
	heatIdle   = 12
)

func newDerating(s *session) *derating { return &derating{make([]heat, len(s.in.Units))} }

func (d *derating) look(v *view, s *session) {
	hot := make([]*hotDay, len(d.units))
	heard, affected := 0, 0
	for k := range d.units {
		day, judged := plateauDay(v, s, k)
		if judged {
			heard++
		}
		if day != nil {
			affected++
		}
		hot[k] = day
	}
	for k := range d.units {
		if 2*affected > heard && heard > 2 {
			hot[k] = nil // all units are limited: a limit of the site
		}
		d.units[k].take(v, s, k, hot[k])
		s.memory.units[k].hold(ThermalDerating, hot[k] != nil || d.units[k].record != nil)
	}
}

// plateauDay looks for a plateau of unit k on the day, or for an hour in which
// the unit reports that it is limited. judged reports whether there was enough
// irradiance to see one.
func plateauDay(v *view, s *session, k int) (day *hotDay, judged bool) {
	u, rating := &v.units[k], s.rating(k)
	usable := func(i int) bool {
		return u.claimed[i] == "" && u.tier[i] == tierPeers && u.peers[i] >= 2 && u.expected[i] > heatArmed*rating && !math.IsNaN(u.power[i])
	}
	var top []float64
	for i := range v.cells {
		if usable(i) {
			top = append(top, u.power[i])
		}
	}
	if float64(len(top))*v.hours() < 2*heatHours {
		return nil, false
	}
	level := quantile(top, 0.93)
	if level >= 0.95*rating {
		return nil, true
	}
	hot := func(i int) bool { return u.state[i] == stateThrottled || hasBit(u.code[i], bitOverTemp) }
	var over, said []int
	var weak, ratios, powers []float64
	for i := range v.cells {
		if usable(i) && hot(i) && u.expected[i] > heatOver*u.power[i] {
			said = append(said, i)
		}
		switch {
		case !usable(i):
		case u.expected[i] < 0.9*level:
			weak = append(weak, u.power[i]/u.expected[i])
		case u.expected[i] > heatOver*u.power[i] && u.power[i] > 0.8*level:
			over = append(over, i)
			ratios, powers = append(ratios, u.power[i]/u.expected[i]), append(powers, u.power[i])
		}
	}
	if float64(len(said))*v.hours() >= heatHours {
		over, ratios, powers = said, ratios[:0], powers[:0]
		for _, i := range said {
			ratios, powers = append(ratios, u.power[i]/u.expected[i]), append(powers, u.power[i])
		}
	} else if level < 0.25*rating || float64(len(over))*v.hours() < heatHours || len(over) < 4 || len(weak) < 3 || median(weak) < heatSound || !u.flows(over, usable, level, rating) {
		return nil, true
	}
	day = &hotDay{from: v.first + int64(over[0])*v.step, to: v.first + int64(over[len(over)-1]+1)*v.step, level: level / rating, temp: math.NaN(), ratio: median(ratios)}
	var temps []float64
	for _, i := range over {
		if !math.IsNaN(v.tempC[i]) {
			temps = append(temps, v.tempC[i])
		}
		v.addLoss(&day.lost, i, u.expected[i]-u.power[i])
		day.throttled = day.throttled || hot(i)
	}
	day.temp, day.level = median(temps), median(powers)/rating
	return day, true
}

// flows reports whether power continues smoothly from sample to sample while it
// is limited.
func (u *unitView) flows(cells []int, usable func(int) bool, level, rating float64) bool {
	rough, n := 0.0, 0
	for _, i := range cells {
		if i > 0 && i+1 < len(u.power) && usable(i-1) && usable(i+1) && math.Abs(u.power[i]-u.power[i-1]) < heatMoves*rating && math.Abs(u.power[i]-u.power[i+1]) < heatMoves*rating {
			rough += math.Abs(u.power[i] - (u.power[i-1]+u.power[i+1])/2)
			n++
		}
	}
	return 2*n >= len(cells) && rough/float64(n) <= heatRough*level
}

func (h *heat) take(v *view, s *session, k int, day *hotDay) {
	if day == nil {
		if h.record != nil {
			if h.idle++; h.idle > heatIdle {
				h.record.end = h.record.lastSeen
				*h = heat{}
			}
		}
		return
	}
	u := &v.units[k]
	for i := int((day.from - v.first) / v.step); i < int((day.to-v.first)/v.step); i++ {
		u.claimed[i] = claimOr(u.claimed[i], ThermalDerating)
		if hasBit(u.code[i], bitOverTemp) {
			h.code = u.code[i]
		}
		if c := u.cabinet[i]; c > h.hot {
			h.hot, h.peers = c, othersCabinet(v, k, i)
		}
	}
	h.idle = 0
	h.levels, h.temps, h.ratios = append(h.levels, day.level), append(h.temps, day.temp), append(h.ratios, day.ratio)
	if h.record == nil {
		h.days = slices.DeleteFunc(h.days, func(d hotDay) bool { return day.from-d.from > heatMemory })
		h.days = append(h.days, *day)
		if len(h.days) < heatDays && !day.throttled {
			return
		}
		r := &record{family: ThermalDerating, units: []int{k}, start: h.days[0].from, detected: v.end(), seen: newFacts()}
		for _, d := range h.days {
			r.losses.AddScaled(d.lost, 1)
			r.spans = append(r.spans, stretch{d.from, d.to}.span())
		}
		r.lastSeen = day.to
		h.record, h.days = s.open(r), nil
	} else {
		h.record.losses.AddScaled(day.lost, 1)
		h.record.lastSeen = day.to
		h.record.spans = append(h.record.spans, stretch{day.from, day.to}.span())
	}
	h.record.fraction = 1 - medianOf(h.ratios[max(len(h.ratios)-7, 0):])
	h.word(s, k, day)
}

func (h *heat) word(s *session, k int, day *hotDay) {
	r := h.record
	level := 100 * medianOf(h.levels)
	r.observed = []Evidence{
		shows("low_plateau", 2, level, 100, "%", "On %s it stood at about %s of its rating while its peers went %s higher.", display.CountOf(len(h.levels), "day", "days"), display.Percent(level/100), display.Percent(1/day.ratio-1)),
		shows("sound_below", 1, 100*heatSound, 100, "%", "In weaker light it makes as much as its peers."),
	}
	if slope, ok := fall(h.temps, h.levels); ok && slope < -0.002 {
		r.observed = append(r.observed, shows("falls_with_heat", 1.2, 100*slope, 0, "%/K", "The plateau falls by %s of the rating for each kelvin of air temperature.", display.Percentage(-100*slope)))
	}
	if h.hot > 0 && h.hot > h.peers+5 {
		r.observed = append(r.observed, shows("cabinet_hot", 1.2, h.hot, h.peers, "°C", "Its cabinet reached %.0f °C when the others had %.0f °C.", h.hot, h.peers))
	}
	if h.code > 0 {
		r.observed = append(r.observed, codeEvidence(h.code))
	}
	if day.throttled {
		r.observed = append(r.observed, shows("state_throttled", 0.8, stateThrottled, stateMPPT, "state", "The unit reports that its power is limited."))
	}
}

// othersCabinet is the median cabinet temperature of the other units.
func othersCabinet(v *view, k, i int) float64 {
	var all []float64
	for j := range v.units {
		if c := v.units[j].cabinet[i]; j != k && !math.IsNaN(c) {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return math.Inf(1)
	}
	return median(all)
}

// fall is the least-squares slope of y over x, from four days on.
func fall(x, y []float64) (slope float64, ok bool) {
	var n, sx, sy, sxx, sxy float64
	for i := range x {
		if !math.IsNaN(x[i]) {
			n, sx, sy, sxx, sxy = n+1, sx+x[i], sy+y[i], sxx+x[i]*x[i], sxy+x[i]*y[i]
		}
	}
	d := n*sxx - sx*sx
	if n < 4 || d < 1 {
		return 0, false
	}
	return (n*sxy - sx*sy) / d, true
}
