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
	// coldStartTestDays are the test days of a cold-start model, once it has
	// twice as many.
	coldStartTestDays = 5
)

// coldStart is the prepared data of a site with a short history.
type coldStart struct {
	*training
	geometry geometry
	light    sky
	world    *siteContext
	report   Report
}

// ColdStart is the model of a site whose history is too short to train on, down to
// none: the sun, the modules' plane (typical where unknown) and, from the first
// days on, the site's own level and days like the last. It takes milliseconds.
// Its report's score is 0 with fewer than ten days.
func ColdStart(ctx context.Context, site Site, h History, o Options) (*Model, Report, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, Report{}, err
	}
	if h.Power.Len() == 0 {
		// Nothing was measured: a day without values keeps the rest the same.
		h.Power = series.Series{Start: tickTime(0), Step: stepFor(0, o.Resolution), Values: []float64{math.NaN()}}
	}
	y, err := prepareColdStart(site, h, o)
	if err != nil {
		return nil, Report{}, fmt.Errorf("prepare model of site %s: %w", site.ID, err)
	}
	l := &learners{quantiles: o.Quantiles, weights: make([]float64, memberCount), calibrator: y.calibrator()}
	l.weights[memberAnalog] = 1
	rep := y.report
	rep.Features, rep.Members, rep.Weights = l.spec.names(), memberNames[:1], []float64{1}
	rep.TrainingPoints = points(y.share)
	if rep.Days >= 2*coldStartTestDays {
		x, err := y.try(ctx, l)
		if err != nil {
			return nil, rep, err
		}
		y.conclude(&rep, l, x, 1)
	}
	m := y.model(l)
	m.report = rep
	return m, rep, nil
}

func prepareColdStart(site Site, h History, o Options) (*coldStart, error) {
	t, rep, err := prepare(site, h, o)
	if err != nil {
		return nil, err
	}
	t.ofCapacity() // a few days' peak says little
	y := &coldStart{training: t, geometry: fitGeometry(site, t.hourly, t.fine), report: rep}
	y.light = lookUp(site.Location, y.geometry, t.from-ticksPerDay, t.to+ticksPerDay, o.Workers)
	y.world = y.before(t.to, rep.Days)
	return y, nil
}

// ofCapacity converts shares of the peak to shares of the capacity.
func (t *training) ofCapacity() {
	for i := range t.hourly.power {
		t.hourly.power[i] *= float32(t.peakKW / t.site.CapacityKW)
	}
	for i := range t.share.Values {
		t.share.Values[i] *= t.peakKW / t.site.CapacityKW
	}
	t.peakKW = t.site.CapacityKW
}

// before returns what is known at tick end, after the given number of days with
// power.
func (y *coldStart) before(end int64, days int) *siteContext {
	w := y.training.world(&y.light, y.hourly.until(end), end)
	w.env.shrinkRatio(days)
	w.past.light(w.env, &y.light)
	return w
}

func (y *coldStart) model(plain *learners) *Model {
	return &Model{site: y.site, geometry: y.geometry, step: y.report.Step, peakKW: y.peakKW, quantiles: y.o.Quantiles, env: y.world.env, memory: y.world.past, plain: plain}
}

// calibrator returns a calibrator that adapts slowly, since a few days carry
// little information about the tails.
func (y *coldStart) calibrator() *quantile.Calibrator {
	c := quantile.NewCalibrator(y.o.Quantiles, 0.01, 12*ticksPerHour/y.n)
	c.Gamma /= 3
	return c
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

// shrinkRatio shrinks the ratios of a few days towards typical ones.
func (e *envelope) shrinkRatio(days int) {
	own := float32(days) / float32(days+ratioDays)
	for i, r := range e.ratios {
		e.ratios[i] = own*r + (1-own)*typicalRatio
	}
}

// half returns the start of the second half of the days, on which tests are
// made.
func (y *coldStart) half() int64 { return y.from + (y.to-y.from)/2 }

// try lets learners forecast the second half of the days.
func (y *coldStart) try(ctx context.Context, l *learners) (*fold, error) {
	all := &fold{members: make([][]float32, memberCount)}
	for from := y.half(); from < y.to; from += coldStartTestDays * ticksPerDay {
		end := min(from+coldStartTestDays*ticksPerDay, y.to)
		x := &fold{}
		if err := y.examine(ctx, x, l, &y.light, from, end, func(e *envelope) { e.shrinkRatio(y.report.Days / 2) }); err != nil {
			return nil, err
		}
		all.join(x)
	}
	return all, nil
}

// table is what the first so many members lost in the trial.
func (y *coldStart) table(x *fold, members int) backtest.Table {
	row := backtest.Row{N: len(x.actual), Origin: backtest.Origin{TrainTo: tickTime(y.half()), TestFrom: tickTime(y.half()), TestTo: tickTime(y.to)}}
	for _, said := range x.members[:members] {
		row.Losses = append(row.Losses, backtest.Loss(y.o.Quantiles, x.actual, said))
	}
	return backtest.Table{Members: memberNames[:members], Rows: []backtest.Row{row}}
}

// conclude scores the learners on the trial, from which their calibration
// learns, and reports it.
func (y *coldStart) conclude(rep *Report, l *learners, x *fold, members int) {
	if len(x.actual) == 0 {
		return
	}
	var j scorer
	y.live(&j, l.calibrator, x, blend(l.weights, x.members))
	rep.Score, rep.References = j.conclude(y.site.CapacityKW, y.peakKW)
	rep.Backtest = y.table(x, members)
}
