package forecast

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"app.sunloop/engine/learn/neural"
	"app.sunloop/engine/learn/quantile"
	"app.sunloop/engine/learn/tree"
	"app.sunloop/engine/series"
	"app.sunloop/engine/weather"
	"app.sunloop/internal/display"
)

// MinimumDays is the number of days with power that [Train] requires;
// [ColdStart] is used before.
const MinimumDays = 60

// training is the prepared data of one Train.
type training struct {
	site    Site
	o       Options
	share   series.Series // power in shares of the peak, on the model's step
	fine    series.Series // the same on its own step, 15 minutes at the finest
	n       int           // ticks a step
	peakKW  float64
	hourly  *history // without clear-sky power: that depends on the envelope
	weather []weather.Column
	perfect bool     // it was measured, not forecast
	outlook *outlook // of the whole span
	from    int64    // tick of the first value
	to      int64    // tick after the last
}

// Train learns a site's model and measures it. It needs [MinimumDays] days
// with power; a history it cannot learn from is refused with [ErrUnfit] and
// the reason as a sentence.
func Train(ctx context.Context, site Site, h History, o Options) (*Model, Report, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, Report{}, err
	}
	t, rep, err := prepare(site, h, o)
	if err != nil {
		return nil, Report{}, fmt.Errorf("train site %s: %w", site.ID, err)
	}
	if rep.Days < MinimumDays {
		words := strings.Join(append([]string{fmt.Sprintf("%s with power; training needs %d", display.CountOf(rep.Days, "day", "days"), MinimumDays)}, rep.Notes...), "; ")
		return nil, rep, fmt.Errorf("train site %s: %w", site.ID, unfit("%s", words))
	}
	if err := ctx.Err(); err != nil {
		return nil, rep, fmt.Errorf("train site %s: %w", site.ID, err)
	}
	o.Progress("preparing", 0)
	g := fitGeometry(site, t.hourly, t.fine)
	if g.late != 0 {
		rep.Notes = append(rep.Notes, fmt.Sprintf("production comes %s later than the sun at the given place; its clock, its labels or the place may be off", display.CountOf(g.late*15, "minute", "minutes")))
	}
	light := lookUp(site.Location, g, t.from-ticksPerDay, t.to+ticksPerDay, o.Workers)
	m := &Model{site: site, geometry: g, step: rep.Step, peakKW: t.peakKW, quantiles: o.Quantiles}
	if len(t.weather) > 0 {
		t.look(&light, g)
	}
	w := t.world(&light, t.hourly, t.to)
	m.env, m.memory = w.env, w.past
	specs := []spec{{Season: rep.Days >= SeasonDays}}
	if len(t.weather) > 0 {
		specs[0].Spare = !t.perfect
		specs = append(specs, t.weatherSpec(specs[0].Season))
	}
	p, err := t.siblings(ctx, h, &rep)
	if err != nil {
		return nil, rep, fmt.Errorf("train site %s: %w", site.ID, err)
	}
	for k, s := range specs {
		base, part := float64(k)/float64(len(specs)), 1/float64(len(specs))
		stage := func(name string, f float64) { o.Progress(name, base+part*f) }
		b, err := t.backtest(ctx, s, &light, stage)
		if err != nil {
			return nil, rep, fmt.Errorf("train site %s: %w", site.ID, err)
		}
		stage("fitting", 0.55)
		l, fitted, train, err := t.final(ctx, s, w)
		if err != nil {
			return nil, rep, fmt.Errorf("train site %s: %w", site.ID, err)
		}
		l.weights, l.calibrator = b.weights, b.calibrator
		if p != nil && !s.Spare {
			stage("learning from the fleet", 0.8)
			if err := p.addPooledLearners(ctx, t, w, l, rep.Days); err != nil {
				return nil, rep, fmt.Errorf("train site %s: %w", site.ID, err)
			}
			rep.FleetShare = float64(l.fleetShare)
		}
		if s.Weather {
			m.withWeather = l
		} else {
			m.plain = l
		}
		if k == len(specs)-1 {
			rep.MeasuredWeather = s.Perfect
			t.fill(&rep, s, l, fitted, train, b)
		}
	}
	o.Progress("done", 1)
	m.report = rep
	return m, rep, nil
}

// SeasonDays is two years: before each season was seen twice, the day of the
// year is memorised, and other sites of the fleet have something to add.
const SeasonDays = 730

func prepare(site Site, h History, o Options) (*training, Report, error) {
	share, peak, notes, err := plausible(site, h.Power)
	if err != nil {
		return nil, Report{}, err
	}
	step := stepFor(share.Step, o.Resolution)
	fine := resample(share, stepFor(share.Step, 0))
	sunless := withoutNight(fine)
	share = resample(fine, step)
	t := &training{site: site, o: o, share: share, fine: fine, n: int(step / tick), peakKW: peak, hourly: newHistory(share)}
	t.from = tickOf(share.Start)
	t.to = t.from + int64(share.Len()*t.n)
	t.weather, t.perfect = choose(h.Weather, share.Start, share.End())
	rep := Report{From: share.Start.UTC(), To: share.End().UTC(), Step: step, PeakKW: peak, Notes: notes, Seed: o.Seed}
	rep.Days = daysWithPower(t.hourly)
	if sunless > 0 {
		rep.Notes = append(rep.Notes, display.CountOf(sunless, "day is", "days are")+" left out, with power as high by night as by day")
	}
	return t, rep, nil
}

// daysWithPower counts UTC days with at least four measured hours above 2 %
// of the peak, or eight of any: a dull winter's day counts, a dead logger's
// does not.
func daysWithPower(p *history) int {
	days := 0
	for from := int64(0); from < int64(len(p.power)); {
		to := min(from+hours-floorMod(p.start+from, hours), int64(len(p.power)))
		bright, any := 0, 0
		for _, v := range p.power[from:to] {
			if v > daylight {
				bright++
			}
			if v == v && v > 0 {
				any++
			}
		}
		if bright >= 4 || any >= 8 {
			days++
		}
		from = to
	}
	return days
}

// withoutNight removes and counts the UTC days of which at least 20 hours are
// known and the lowest power is more than half of the highest. No solar plant
// produces that, whatever the clock of the history, and stuck readings of
// several weeks would be taken for a plant at another location.
func withoutNight(s series.Series) int {
	aDay := int(24 * time.Hour / s.Step)
	out := 0
	for from := 0; from < s.Len(); {
		inDay := int(s.Time(from).Sub(s.Time(from).Truncate(24*time.Hour)) / s.Step)
		day := s.Values[from:min(from+aDay-inDay, s.Len())]
		from += len(day)
		known, least, most := 0, math.Inf(1), 0.0
		for _, v := range day {
			if !math.IsNaN(v) {
				known, least, most = known+1, min(least, v), max(most, v)
			}
		}
		if known*24 < 20*aDay || least <= 0.5*most {
			continue
		}
		// Constant values before or after such a day are removed as
		// well.
		still := func(i int, edge float64) bool { return math.Abs(s.Values[i]-edge) <= 1e-9*edge }
		a, b := from-len(day), from
		for first := day[0]; a > 0 && still(a-1, first); a-- {
		}
		for last := day[len(day)-1]; b < s.Len() && still(b, last); b++ {
		}
		for i := a; i < b; i++ {
			s.Values[i] = math.NaN()
		}
		out += b - a
	}
	return (out + aDay/2) / aDay
}

func (t *training) weatherSpec(season bool) spec {
	s := spec{Weather: true, Perfect: t.perfect, Season: season}
	for _, c := range t.weather {
		s.Columns = append(s.Columns, columnSpec{c.Name, c.Quantity})
	}
	return s
}

// look resamples the weather to the model's grid.
func (t *training) look(light *sky, g geometry) {
	t.outlook = look(t.site.Location, g, light, t.weather, t.from, t.n, t.share.Len())
}

// world returns what is known with the envelope learned before tick end. The
// geometry is fitted to the whole history even in a backtest: it is information
// that a site's owner could have given.
func (t *training) world(light *sky, hourly *history, end int64) *siteContext {
	p := &history{start: hourly.start, power: hourly.power}
	w := &siteContext{longitudeDeg: t.site.Location.LongitudeDeg, sky: *light, past: p}
	w.env = learnEnvelope(light, p, floorDiv(end, ticksPerHour))
	p.light(w.env, light)
	w.wx = t.outlook
	return w
}

// learn gathers what learners learn from out of the ticks before end, about as
// many samples as a fit will take: two of an interval where intervals are few.
func (t *training) learn(ctx context.Context, s spec, w *siteContext, end int64, rows int) (*samples, error) {
	from := t.from + warmUpDays*ticksPerDay
	perTarget, targets := 1, max(t.targets(from, end), 1)
	// With weather a target seen twice differs by little.
	if t.n == ticksPerHour && 2*targets <= rows && !(s.Weather && targets > 3000) {
		perTarget = 2
	}
	keep := min(1, float64(rows)/float64(perTarget*targets))
	seen := *w
	seen.blindfold = s.Weather
	return seen.gather(ctx, s, t.o.Quantiles, t.share, t.n, from, end, t.o.Workers, keep, w.mixed(t.n, perTarget))
}

// targets counts the intervals with power above nothing in [from, to): about
// those in daylight.
func (t *training) targets(from, to int64) int {
	n := 0
	for i := max(0, int(from-t.from)/t.n); i < min(t.share.Len(), int(to-t.from)/t.n); i++ {
		if t.share.Values[i] > 0.002 {
			n++
		}
	}
	return n
}

func (t *training) final(ctx context.Context, s spec, w *siteContext) (*learners, fitReport, *samples, error) {
	a, err := t.learn(ctx, s, w, t.to, s.effort().rows)
	if err != nil {
		return nil, fitReport{}, nil, err
	}
	if a.Len() < 500 {
		return nil, fitReport{}, nil, unfit("only %s power in daylight", display.CountOf(a.Len(), "interval has", "intervals have"))
	}
	l, rep, err := fit(ctx, a, s, t.o.Quantiles, s.effort(), t.o, t.site.ID)
	return l, rep, a, err
}

// fill completes the report. With weather it is the learners with weather that
// are reported: they are the ones that are used.
func (t *training) fill(rep *Report, s spec, l *learners, fitted fitReport, a *samples, b *backtestResult) {
	rep.learned(s, l, fitted)
	rep.Backtest, rep.Score, rep.References = b.table, b.score, b.references
	rep.TrainRMSEKW = t.trainRMSE(l, a)
}

// learned records how the members were fitted.
func (r *Report) learned(s spec, l *learners, fitted fitReport) {
	r.Features, r.Members, r.Weights = s.names(), memberNames, l.weights
	r.TrainingPoints = fitted.rows
	c, e := neural.Default(l.quantiles), s.effort()
	r.Neural = Neural{Layers: e.hidden, LearningRate: c.Rate, Dropout: c.Dropout, Optimizer: "adam",
		Epochs: fitted.neural.Epochs, BestEpoch: fitted.neural.BestEpoch, TrainLoss: fitted.neural.TrainLoss, ValidationLoss: fitted.neural.ValidationLoss, Curve: fitted.neural.Curve}
	r.Trees = Trees{Rounds: fitted.trees.Rounds, Leaves: tree.Default(1).Leaves, LearningRate: e.rate, TrainLoss: fitted.trees.TrainLoss}
}

// trainRMSE is of the blend's mean, on about a thousand samples.
func (t *training) trainRMSE(l *learners, a *samples) float64 {
	const most = 1000
	step := max(1, a.Len()/most)
	q := len(l.quantiles)
	var rows, scale, analog, actual []float32
	for i := 0; i < a.Len(); i += step {
		rows, scale = append(rows, a.Row(i)...), append(scale, a.Scale[i])
		analog, actual = append(analog, a.analog[i*q:i*q+q]...), append(actual, a.Target[i])
	}
	said := l.forecast(rows, scale, analog)
	var sum float64
	for i, y := range actual {
		e := float64(meanOf(l.quantiles, said[i*q:i*q+q]) - y)
		sum += e * e
	}
	return math.Sqrt(sum/float64(len(actual))) * t.peakKW
}

// meanOf is the mean of a distribution by Swanson's rule.
func meanOf(quantiles []float64, q []float32) float32 {
	low, high := q[quantileAt(quantiles, 0.1)], q[quantileAt(quantiles, 0.9)]
	return 0.3*low + 0.4*q[len(q)/2] + 0.3*high
}

// limit clips one forecast in shares of the peak: sorted, within 0 and top.
func limit(q []float32, top float32) {
	quantile.Rearrange(q)
	for i := range q {
		q[i] = min(max(q[i], 0), top)
	}
}

// top returns the highest possible power of n ticks from t: the capacity and,
// for learners without weather, the clear sky with cloud edges. In a season
// without data the learned envelope is that of another season, so the power
// from the sun's position is used there. Learners with weather know the
// irradiance better than the envelope: limiting their quantiles reduced
// coverage in spring.
func (w *siteContext) top(by *learners, clear float32, t int64, n int, capacity float32) float32 {
	if by != nil && by.spec.Weather {
		return capacity
	}
	clear = max(clear, w.env.plain(w.sky.mean(w.sky.base, t, n)))
	return min(capacity, float32(cloudEdge*clear)+0.02)
}

// cloudEdge is the ratio to which power rises above the clear sky at the edge
// of clouds.
const cloudEdge = 1.2

func (t *training) capacity() float32 { return float32(t.site.CapacityKW / t.peakKW) }

// blockDays is how long an envelope serves in a backtest before it is learned
// again, as it would be by retraining each month.
const blockDays = 30
