package forecast

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"app.sunloop/engine/learn/backtest"
	"app.sunloop/engine/learn/frame"
	"app.sunloop/engine/weather"
	"app.sunloop/internal/display"
)

// A pool holds learners trained on the histories of a fleet. Their targets are
// in shares of each site's own clear sky, so that sites of any size, location
// and orientation can be combined.

const (
	// MinimumSiblings with enough history are needed to learn from.
	MinimumSiblings = 2
	// joinDays is the number of days that a site must have: its level is
	// estimated from them.
	joinDays = 7
	// trustDays of the site's own have the same weight in the blend as the
	// weights found on the fleet.
	trustDays = 60
	// fleetDays of the site's own have the same weight as the pooled
	// learners.
	fleetDays = 240
)

// pool holds the training data of the peer sites.
type pool struct {
	sites  []*training
	lights []sky
}

// TrainPooled trains the model of a site with short history on its peer sites:
// the site's own level and plane as found by [ColdStart], with learners trained
// on the peers' histories and the few days of the site. With fewer than
// [MinimumSiblings] peers, or less than a week of the site's own data, it
// returns [ErrUnfit]. It takes about as long as Train.
func TrainPooled(ctx context.Context, site Site, h History, o Options) (*Model, Report, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, Report{}, err
	}
	o.Progress("preparing", 0)
	m, rep, err := join(ctx, site, h, o)
	if err != nil {
		return nil, rep, fmt.Errorf("model of site %s in its fleet: %w", site.ID, err)
	}
	o.Progress("done", 1)
	return m, rep, nil
}

func join(ctx context.Context, site Site, h History, o Options) (*Model, Report, error) {
	y, err := prepareColdStart(site, h, o)
	if err != nil {
		return nil, Report{}, err
	}
	rep := y.report
	if rep.Days < joinDays {
		return nil, rep, unfit("%s with power; to learn from its fleet a site needs %d", display.CountOf(rep.Days, "day", "days"), joinDays)
	}
	p, err := gatherPool(ctx, y.training, h.Siblings)
	if err != nil {
		return nil, rep, err
	}
	if len(p.sites) < MinimumSiblings {
		return nil, rep, unfit("%s of the fleet with %s of power and weather as this site has; %d are needed", display.CountOf(len(p.sites), "other site", "other sites"), display.CountOf(MinimumDays, "day", "days"), MinimumSiblings)
	}
	rep.Siblings, rep.FleetShare = p.names(), 1
	m := y.model(nil)
	specs := []spec{{Season: p.season()}}
	if len(y.weather) > 0 {
		y.look(&y.light, y.geometry)
		y.world.wx = y.outlook
		specs[0].Spare = !y.perfect
		specs = append(specs, y.weatherSpec(p.season()))
	}
	for k, s := range specs {
		o.Progress("fitting", float64(k)/float64(len(specs)))
		l, fitted, err := p.fit(ctx, y.training, s, y.world, y.to, s.effort())
		if err != nil {
			return nil, rep, err
		}
		l.weights, l.calibrator = fleetWeights(s), y.calibrator()
		if rep.Days >= 2*coldStartTestDays {
			if err := y.evaluate(ctx, p, l, &rep); err != nil {
				return nil, rep, err
			}
		}
		if s.Weather {
			m.withWeather = l
		} else {
			m.plain = l
		}
		rep.learned(s, l, fitted)
	}
	m.report = rep
	return m, rep, nil
}

// evaluate forecasts the second half of the site's days with learners trained on
// earlier data, and derives the weights, the calibration and the score.
func (y *coldStart) evaluate(ctx context.Context, p *pool, l *learners, rep *Report) error {
	days := rep.Days / 2
	light, _, err := p.fit(ctx, y.training, l.spec, y.before(y.half(), days), y.half(), l.spec.backtestEffort())
	if err != nil {
		return err
	}
	x, err := y.try(ctx, light)
	if err != nil || len(x.actual) == 0 {
		return err
	}
	l.weights = shrink(backtest.Weights(y.table(x, memberCount)), l.spec, days)
	y.conclude(rep, l, x, memberCount)
	return nil
}

// siblings are the pool of a site that trains on its own; nil where there are
// too few, or it has seen each season twice: then they have nothing to add.
func (t *training) siblings(ctx context.Context, h History, rep *Report) (*pool, error) {
	if len(h.Siblings) < MinimumSiblings || rep.Days >= SeasonDays {
		return nil, nil
	}
	p, err := gatherPool(ctx, t, h.Siblings)
	if err != nil || len(p.sites) < MinimumSiblings {
		return nil, err
	}
	rep.Siblings = p.names()
	return p, nil
}

// addPooledLearners adds the pooled learners to those of a site.
func (p *pool) addPooledLearners(ctx context.Context, t *training, w *siteContext, l *learners, days int) error {
	var err error
	if l.fleet, _, err = p.fit(ctx, t, l.spec, w, t.to, l.spec.effort()); err != nil {
		return err
	}
	l.fleet.weights = fleetWeights(l.spec)
	l.fleetShare = float32(fleetDays) / float32(fleetDays+days)
	return nil
}

// gatherPool prepares the siblings that there is enough of.
func gatherPool(ctx context.Context, of *training, siblings []Sibling) (*pool, error) {
	p := &pool{}
	o := of.o
	o.Resolution = time.Duration(of.n) * tick
	for _, s := range siblings {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t, rep, err := prepare(s.Site, s.History, o)
		if err != nil || rep.Days < MinimumDays || t.n != of.n || !sameWeather(t, of) {
			continue
		}
		g := fitGeometry(s.Site, t.hourly, t.fine)
		light := lookUp(s.Site.Location, g, t.from-ticksPerDay, t.to+ticksPerDay, o.Workers)
		if len(t.weather) > 0 {
			t.look(&light, g)
		}
		p.sites, p.lights = append(p.sites, t), append(p.lights, light)
	}
	return p, nil
}

// sameWeather reports whether two sites have weather of the same kind, so that
// learners of one can use that of the other.
func sameWeather(a, b *training) bool {
	return a.perfect == b.perfect && slices.EqualFunc(a.weather, b.weather, func(x, y weather.Column) bool {
		return x.Name == y.Name && x.Quantity == y.Quantity
	})
}

func (p *pool) names() []string {
	var out []string
	for _, t := range p.sites {
		out = append(out, t.site.ID)
	}
	return out
}

// season reports whether every peer has data of its seasons often enough.
func (p *pool) season() bool {
	return !slices.ContainsFunc(p.sites, func(t *training) bool { return daysWithPower(t.hourly) < SeasonDays })
}

// fit trains all members on what lies before tick end, on as many samples of
// each sibling and of the site itself, in the order of time: a day is one day
// for all of them.
func (p *pool) fit(ctx context.Context, t *training, s spec, own *siteContext, end int64, e effort) (*learners, fitReport, error) {
	var all frame.Frame
	rows := e.rows / len(p.sites)
	add := func(t *training, w *siteContext) error {
		a, err := t.learn(ctx, s, w, min(end, t.to), rows)
		if err == nil {
			all.Names = a.Names
			all.Append(&a.Frame)
		}
		return err
	}
	for i, t := range p.sites {
		if err := add(t, t.world(&p.lights[i], t.hourly.until(end), end)); err != nil {
			return nil, fitReport{}, err
		}
	}
	if err := add(t, own); err != nil {
		return nil, fitReport{}, err
	}
	if all.Len() < 500 {
		return nil, fitReport{}, unfit("only %s power in daylight", display.CountOf(all.Len(), "interval has", "intervals have"))
	}
	at := make([]int32, all.Len())
	for i := range at {
		at[i] = int32(i)
	}
	slices.SortStableFunc(at, func(a, b int32) int { return cmp.Compare(all.Time[a], all.Time[b]) })
	return fit(ctx, &samples{Frame: *all.Pick(at)}, s, t.o.Quantiles, e, t.o, t.site.ID+" fleet")
}

// fleetWeights are the blend's before the site's own days have been forecast.
func fleetWeights(s spec) []float64 {
	w := make([]float64, memberCount)
	for m := range w {
		w[m] = 1 / float64(memberCount)
	}
	if s.Weather {
		redistribute(w, memberAnalog)
	}
	return w
}

// shrink shrinks weights found on a few days towards those found on fleets.
func shrink(own []float64, s spec, days int) []float64 {
	w := fleetWeights(s)
	if s.Weather {
		redistribute(own, memberAnalog)
	}
	trust := float64(days) / float64(days+trustDays)
	for m := range w {
		w[m] = trust*own[m] + (1-trust)*w[m]
	}
	return w
}
