package laws

import (
	"math"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// load uploads the files of a plant in their order, with the clock after all of them.
func (p *plant) load(h *installation) bool {
	capacity := 0.0
	for _, u := range p.units {
		capacity += u.rating
	}
	h.set(p.at(p.end))
	for i, f := range p.parts {
		if _, err := h.upload(f.kind, api.UploadRequest{SiteID: p.site, Location: p.place.location, Timezone: p.place.zone, CapacityKW: capacity}, p.csv(f)); err != nil {
			h.t.Errorf("%v: upload %d: %v", p, i, err)
			return false
		}
	}
	return true
}

// TestCounterAgainstPower holds plants whose counters differ from their power: the
// counter counts unless it cannot be true, and a difference of more than 0.5 % is
// flagged in the records of days and in the figures.
func TestCounterAgainstPower(t *testing.T) {
	v := newTally()
	factors := []float64{1.02, 0.997, 1.6, 0.9, 1.003}
	for i, seed := range seeds(t, 5) {
		p, factor := draw(seed), factors[i%len(factors)]
		for _, u := range p.units {
			u.counted, u.factor = true, factor
		}
		h := open(t, p.start.AddDate(0, 0, -1), 0)
		if p.load(h) {
			p.holdCounters(h, v, factor)
		}
		h.down()
	}
	v.report(t)
}

func (p *plant) holdCounters(h *installation, v *tally, factor float64) {
	trusted := math.Abs(factor-1) <= 0.25 // else the counter counts something else
	today, total := p.today(p.end), 0.0
	for _, u := range p.units {
		records, err := p.read(h, u, 0, p.days[today], api.ResolutionDaily)
		if err != nil {
			h.t.Errorf("%v: records of %s: %v", p, u.id, err)
			return
		}
		for _, r := range records {
			from := int(r.Timestamp.Sub(p.start) / time.Minute)
			to := p.days[p.today(from)+1]
			want := factor * u.truth(from, to)
			if !trusted {
				want = u.byPower(from, to)
			}
			v.hold("a day is what its counter shows, unless that cannot be", near(r.KWh, want), "%v: factor %g: %s has %.3f kWh on %v, want %.3f", p, factor, u.id, r.KWh, r.Timestamp, want)
			total += r.KWh
			if want == 0 {
				continue
			}
			difference := math.NaN()
			if r.EnergyDifferencePct != nil {
				difference = *r.EnergyDifferencePct
			}
			v.hold("a day says by how much its counter differs", math.Abs(difference-100*(factor-1)) < 0.15, "%v: factor %g: %s differs by %g %% on %v", p, factor, u.id, difference, r.Timestamp)
		}
	}
	if today == 0 {
		return
	}
	k, err := p.kpis(h, 0, p.days[today])
	if err != nil {
		h.t.Errorf("%v: KPIs: %v", p, err)
		return
	}
	e, _ := figure(k, "energy")
	d := e.Difference
	v.hold("figures flag a difference from 0.5 % on", d != nil && math.Abs(d.Share-(factor-1)) < 0.0015 && d.Flagged == (math.Abs(factor-1) > 0.005), "%v: factor %g: %+v", p, factor, d)
	v.hold("KPIs are the sum of days, with counters that differ", e.Value == nil || near(*e.Value, total), "%v: factor %g: KPIs have %v kWh, the days %.3f", p, factor, value(e), total)
}

// byPower is the energy of the minutes that a unit's samples cover.
func (u *unit) byPower(from, to int) (kwh float64) {
	for m := from; m < to; m++ {
		if u.covered[m] {
			kwh += u.powerKW[m] / 60
		}
	}
	return kwh
}
