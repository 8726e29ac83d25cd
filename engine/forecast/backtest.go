package forecast

import (
	"context"
	"math"

	"golang.org/x/sync/errgroup"

	"app.sunloop/engine/learn/backtest"
	"app.sunloop/engine/learn/quantile"
)

// backtestResult is what a backtest found.
type backtestResult struct {
	table      backtest.Table
	weights    []float64
	calibrator *quantile.Calibrator
	score      Score
	references []Reference
}

// fold is the test part of one origin: everything needed to score it.
type fold struct {
	actual, top         []float32
	persistence, ensemb []float32 // the references, shares of the peak; ensemb row-major
	members             [][]float32
	day                 []int32
}

// backtest fits light members at each origin on what lies before it and tests
// them, day-ahead from each midnight, on what follows.
func (t *training) backtest(ctx context.Context, s spec, light *sky, stage func(string, float64)) (*backtestResult, error) {
	q := t.o.Quantiles
	out := &backtestResult{table: backtest.Table{Members: memberNames}}
	perDay := 12 * ticksPerHour / t.n
	out.calibrator = quantile.NewCalibrator(q, float32(0.01*t.capacity()), perDay)
	var trials []*fold
	if count := s.origins(t.o.Origins); count > 0 {
		origins := backtest.Origins(tickTime(t.from), tickTime(t.to), 0.45, count)
		var err error
		done := 0
		out.table, _, err = backtest.Run(ctx, memberNames, q, origins, func(ctx context.Context, o backtest.Origin) (backtest.Outcome, error) {
			stage("backtesting", 0.05+0.5*float64(done)/float64(len(origins)))
			done++
			x, err := t.trial(ctx, s, light, o)
			if err != nil || x == nil {
				return backtest.Outcome{}, err
			}
			trials = append(trials, x)
			return backtest.Outcome{Actual: x.actual, Forecasts: x.members}, nil
		})
		if err != nil {
			return nil, err
		}
	}
	out.weights = backtest.Weights(out.table)
	if s.Weather {
		redistribute(out.weights, memberAnalog) // days like the last know less than the forecast
		shrinkWeights(out.weights, memberAnalog)
	} else {
		upweightAnalogs(out.weights, t.days())
	}
	for r := range out.table.Rows {
		for m := range out.table.Rows[r].Losses {
			out.table.Rows[r].Losses[m] /= float64(t.capacity())
		}
	}
	t.conclude(out, trials)
	return out, nil
}

// redistribute gives a member's weight to the others.
func redistribute(weights []float64, member int) {
	rest := 1 - weights[member]
	weights[member] = 0
	for m := range weights {
		weights[m] /= rest
	}
}

// shrinkWeights draws the weights of all but one member halfway to equal ones: the
// members of a backtest are lighter than the final ones, the network most.
func shrinkWeights(weights []float64, but int) {
	for m := range weights {
		if m != but {
			weights[m] = (weights[m] + 1/float64(len(weights)-1)) / 2
		}
	}
}

// upweightAnalogs shifts weight to the analogs while there is less than a year:
// the others have not seen every season, and the backtest cannot know.
func upweightAnalogs(weights []float64, days int) {
	trust := min(1, float64(days)/365)
	sum := 0.0
	for m := range weights {
		if m != memberAnalog {
			weights[m] *= trust
		}
		sum += weights[m]
	}
	for m := range weights {
		weights[m] /= sum
	}
}

func (t *training) days() int { return int(t.to-t.from) / ticksPerDay }

// trial is nil where the origin has too little before or after it.
func (t *training) trial(ctx context.Context, s spec, light *sky, o backtest.Origin) (*fold, error) {
	origin, from, to := tickOf(o.TrainTo), tickOf(o.TestFrom), tickOf(o.TestTo)
	known := t.hourly.until(origin)
	if len(known.power) < 30*hours {
		return nil, nil
	}
	w := t.world(light, known, origin)
	a, err := t.learn(ctx, s, w, origin, s.backtestEffort().rows)
	if err != nil {
		return nil, err
	}
	if a.Len() < 300 {
		return nil, nil
	}
	l, _, err := fit(ctx, a, s, t.o.Quantiles, s.backtestEffort(), t.o, t.site.ID)
	if err != nil {
		return nil, err
	}
	var parts []*fold
	var g errgroup.Group
	g.SetLimit(t.o.Workers)
	for a := from; a < to; a += blockDays * ticksPerDay {
		out := &fold{}
		parts = append(parts, out)
		g.Go(func() error { return t.examine(ctx, out, l, light, a, min(a+blockDays*ticksPerDay, to), nil) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	all := &fold{members: make([][]float32, memberCount)}
	for _, p := range parts {
		all.join(p)
	}
	if len(all.actual) == 0 {
		return nil, nil
	}
	return all, nil
}

// testedTicks thins the test of steps below half an hour: neighbours err alike.
const testedTicks = 2

func (x *fold) join(p *fold) {
	x.actual, x.top, x.day = append(x.actual, p.actual...), append(x.top, p.top...), append(x.day, p.day...)
	x.persistence, x.ensemb = append(x.persistence, p.persistence...), append(x.ensemb, p.ensemb...)
	for m := range x.members {
		x.members[m] = append(x.members[m], p.members[m]...)
	}
}

// examine lets the learners and the references forecast the span [from, to),
// with the envelope as it would have been learned at its beginning, changed by
// temper where one is given.
func (t *training) examine(ctx context.Context, out *fold, l *learners, light *sky, from, to int64, temper func(*envelope)) error {
	q := t.o.Quantiles
	w := t.world(light, t.hourly, from)
	if temper != nil {
		temper(w.env)
		w.past.light(w.env, light)
	}
	a, err := w.gather(ctx, l.spec, q, t.share, t.n, from, to, 1, min(1, float64(t.n)/testedTicks), w.dayAhead)
	if err != nil {
		return err
	}
	keep := make([]int32, 0, a.Len())
	for i, c := range a.clear {
		if c > daylight {
			keep = append(keep, int32(i))
		}
	}
	f := a.Pick(keep)
	analog := make([]float32, 0, len(keep)*len(q))
	for _, i := range keep {
		analog = append(analog, a.analog[int(i)*len(q):(int(i)+1)*len(q)]...)
	}
	out.actual, out.day = f.Target, f.Group
	out.members = l.predict(f.Rows, f.Scale, analog)
	out.ensemb = make([]float32, len(keep)*len(q))
	var v *issueView
	for i, at := range f.Time {
		tk := at / tickSeconds
		if issue := w.midnight(tk); v == nil || v.issue != issue {
			v = w.view(issue)
		}
		clear := a.clear[keep[i]]
		top := w.top(l, clear, tk, t.n, t.capacity())
		out.top = append(out.top, top)
		out.persistence = append(out.persistence, w.smartPersistence(v, tk, clear))
		w.completeHistory(v, tk, clear, q, out.ensemb[i*len(q):(i+1)*len(q)])
		for m := range out.members {
			limit(out.members[m][i*len(q):(i+1)*len(q)], top)
		}
	}
	return nil
}

// conclude calibrates along the trials as it would have gone: each day's band
// from the days before it. The first trial only starts the calibration, where
// there are others to score.
func (t *training) conclude(out *backtestResult, trials []*fold) {
	q := t.o.Quantiles
	k := len(q)
	var all, actual []float32
	var judged scorer
	for i, x := range trials {
		said := blend(out.weights, x.members)
		if i == 0 && len(trials) > 1 {
			out.calibrator.Start(said, x.actual)
		} else {
			t.live(&judged, out.calibrator, x, said)
		}
		all, actual = append(all, said...), append(actual, x.actual...)
	}
	out.score, out.references = judged.conclude(t.site.CapacityKW, t.peakKW)
	// The model continues with the scores of all folds.
	fresh := quantile.NewCalibrator(q, out.calibrator.Floor, 12*ticksPerHour/t.n)
	fresh.Gamma = out.calibrator.Gamma
	if len(all) >= 100*k {
		fresh.Start(all, actual)
	}
	out.calibrator = fresh
}

// live scores one trial day by day.
func (t *training) live(j *scorer, c *quantile.Calibrator, x *fold, said []float32) {
	q := t.o.Quantiles
	k := len(q)
	for from := 0; from < len(x.actual); {
		to := from
		for to < len(x.actual) && x.day[to] == x.day[from] {
			to++
		}
		shifts := c.Shifts()
		issued := append([]float32(nil), said[from*k:to*k]...)
		for i := from; i < to; i++ {
			r := issued[(i-from)*k : (i-from+1)*k]
			shifts.Adjust(r)
			limit(r, x.top[i])
			j.add(q, r, x.actual[i], x.persistence[i], x.ensemb[i*k:i*k+k])
		}
		for i := from; i < to; i++ {
			c.Observe(shifts, said[i*k:i*k+k], x.actual[i])
		}
		from = to
	}
}

// scorer sums what scores need, in shares of the peak.
type scorer struct {
	n                                        float64
	abs, squared, bias, pinball, in, width   float64
	persistAbs, persistSquared               float64
	historyAbs, historySquared, historyCheck float64
	rows                                     []judged
}

type judged struct{ actual, median float32 }

func (j *scorer) add(quantiles []float64, q []float32, actual, persistence float32, history []float32) {
	y := float64(actual)
	median, mean := float64(q[len(q)/2]), float64(meanOf(quantiles, q))
	low, high := float64(q[quantileAt(quantiles, 0.1)]), float64(q[quantileAt(quantiles, 0.9)])
	j.n++
	j.abs += math.Abs(median - y)
	j.squared += (mean - y) * (mean - y)
	j.bias += mean - y
	j.pinball += backtest.Loss(quantiles, []float32{actual}, q)
	if y >= low && y <= high {
		j.in++
	}
	j.width += high - low
	p := float64(persistence)
	j.persistAbs += math.Abs(p - y)
	j.persistSquared += (p - y) * (p - y)
	h, hm := float64(history[len(history)/2]), float64(meanOf(quantiles, history))
	j.historyAbs += math.Abs(h - y)
	j.historySquared += (hm - y) * (hm - y)
	j.historyCheck += backtest.Loss(quantiles, []float32{actual}, history)
	j.rows = append(j.rows, judged{actual, q[len(q)/2]})
}

func (j *scorer) conclude(capacityKW, peakKW float64) (Score, []Reference) {
	if j.n == 0 {
		return Score{}, nil
	}
	share := peakKW / capacityKW
	root := func(v float64) float64 { return math.Sqrt(v/j.n) * share }
	mean := func(v float64) float64 { return v / j.n * share }
	s := Score{N: int(j.n), NMAE: mean(j.abs), NRMSE: root(j.squared), NMBE: mean(j.bias), Pinball: mean(j.pinball),
		Coverage80: j.in / j.n, Width80: mean(j.width)}
	s.RMSEKW = s.NRMSE * capacityKW
	if r := root(j.persistSquared); r > 0 {
		s.Skill = 1 - s.NRMSE/r
	}
	var large float64
	for _, r := range j.rows {
		y, m := float64(r.actual), float64(r.median)
		if y*share > 0.1 {
			large++
			s.MAPEPercent += 100 * math.Abs(m-y) / y
			s.SMAPEPercent += 200 * math.Abs(m-y) / (m + y)
		}
	}
	if large > 0 {
		s.MAPEPercent, s.SMAPEPercent = s.MAPEPercent/large, s.SMAPEPercent/large
	}
	return s, []Reference{
		{Name: "smart_persistence", NMAE: mean(j.persistAbs), NRMSE: root(j.persistSquared)},
		{Name: "ch_peen", NMAE: mean(j.historyAbs), NRMSE: root(j.historySquared), Pinball: mean(j.historyCheck)},
	}
}
