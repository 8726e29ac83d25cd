package forecast

import (
	"context"
	"fmt"
	"math"

	"app.sunloop/engine/learn/backtest"
	"app.sunloop/engine/learn/quantile"
	"app.sunloop/engine/series"
)

const (
	// typicalRatio is what plants give of their AC capacity per 1000 W/m² that
	// reach the cells: more modules than inverter, less losses and heat.
	typicalRatio = 0.9
	// ratioDays of the site's own data weigh as much as the typical ratio.
	ratioDays = 4
	// youngTestDays are tested by a young model once it has twice as many.
	youngTestDays = 5
)

// Young is the model of a site whose history is too short to train on, down to
// none: the sun, the modules' plane (typical where unknown) and, from the first
// days on, the site's own level and days like the last. It takes milliseconds.
// Its report's score is 0 with fewer than ten days.
func Young(site Site, h History, o Options) (*Model, Report, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, Report{}, err
	}
	if h.Power.Len() == 0 {
		// Nothing was measured: a day without values keeps the rest the same.
		h.Power = series.Series{Start: tickTime(0), Step: stepFor(0, o.Resolution), Values: []float64{math.NaN()}}
	}
	t, rep, err := prepare(site, h, o)
	if err != nil {
		return nil, rep, fmt.Errorf("young model of site %s: %w", site.ID, err)
	}
	// A few days' peak says little: shares are of the capacity.
	for i := range t.hourly.power {
		t.hourly.power[i] *= float32(t.peakKW / site.CapacityKW)
	}
	for i := range t.share.Values {
		t.share.Values[i] *= t.peakKW / site.CapacityKW
	}
	t.peakKW = site.CapacityKW
	g := fitGeometry(site, t.hourly, t.fine)
	light := lookUp(site.Location, g, t.from-ticksPerDay, t.to+ticksPerDay, o.Workers)
	w := t.world(&light, t.hourly, t.to)
	w.env.temper(rep.Days)
	w.past.light(w.env, &light)
	l := &learners{quantiles: o.Quantiles, weights: make([]float64, memberCount)}
	l.weights[memberAnalog] = 1
	l.calibrator = quantile.NewCalibrator(o.Quantiles, 0.01, 12*ticksPerHour/t.n)
	l.calibrator.Gamma /= 3 // a few days tell little of the tails
	m := &Model{site: site, geometry: g, step: rep.Step, peakKW: t.peakKW, quantiles: o.Quantiles, env: w.env, memory: w.past, plain: l}
	rep.Features, rep.Members, rep.Weights = l.spec.names(), memberNames[:1], []float64{1}
	rep.TrainingPoints = points(t.share)
	if rep.Days >= 2*youngTestDays {
		if err := t.tryYoung(context.Background(), &rep, l, &light); err != nil {
			return nil, rep, err
		}
	}
	m.report = rep
	return m, rep, nil
}

func points(s series.Series) int {
	n := 0
	for _, v := range s.Values {
		if !math.IsNaN(v) {
			n++
		}
	}
	return n
}

// temper draws the ratios of a few days to what is typical.
func (e *envelope) temper(days int) {
	own := float32(days) / float32(days+ratioDays)
	for i, r := range e.ratios {
		e.ratios[i] = own*r + (1-own)*typicalRatio
	}
}

// tryYoung tests the analogs on the second half of the days.
func (t *training) tryYoung(ctx context.Context, rep *Report, l *learners, light *sky) error {
	half := t.from + (t.to-t.from)/2
	all := &trial{members: make([][]float32, memberCount)}
	for from := half; from < t.to; from += youngTestDays * ticksPerDay {
		end := min(from+youngTestDays*ticksPerDay, t.to)
		x := &trial{}
		if err := t.examine(ctx, x, l, light, from, end, func(e *envelope) { e.temper(rep.Days / 2) }); err != nil {
			return err
		}
		all.join(x)
	}
	if len(all.actual) == 0 {
		return nil
	}
	var j judge
	t.live(&j, l.calibrator, all, blend(l.weights, all.members))
	rep.Score, rep.References = j.conclude(t.site.CapacityKW, t.peakKW)
	rep.Backtest = backtest.Table{Members: memberNames[:1], Rows: []backtest.Row{{
		Origin: backtest.Origin{TrainTo: tickTime(half), TestFrom: tickTime(half), TestTo: tickTime(t.to)},
		N:      len(all.actual), Losses: []float64{backtest.Loss(t.o.Quantiles, all.actual, all.members[memberAnalog])},
	}}}
	return nil
}
