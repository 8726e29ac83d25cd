package interpolate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"app.sunloop/engine/forecast"
	"app.sunloop/engine/learn/frame"
	"app.sunloop/engine/learn/neural"
	"app.sunloop/engine/learn/tree"
	"app.sunloop/engine/series"
	"app.sunloop/internal/display"
)

// LearningDays with daylight measured are what the learners need. A shorter
// history gives a model of the simpler methods.
const LearningDays = 45

// enoughSeen is the share of the daylight for which the weather, or the
// siblings, must be known to be used.
const enoughSeen = 0.5

// choosingDays are what choosing between simpler methods needs.
const choosingDays = 4

// effort of training.
const (
	treeSamples    = 24000
	treeRounds     = 150
	treeRate       = 0.08
	treeLeaves     = 31
	treeMinLeaf    = 80
	treeFeatures   = 0.7 // share, drawn for each tree
	samplesAHole   = 6
	fadeHoles      = 500
	sequenceChecks = 160 // windows the network is validated on
	choosingGaps   = 150
	scoringGaps    = 120
)

// Train learns to fill the gaps of a site's power in kW, in even steps of a
// minute to an hour; NaN is missing. The capacity of the site bounds filled
// power; 0 is unknown. A history from which nothing can be learned gives
// [ErrUnfit] with the reason.
func Train(ctx context.Context, site forecast.Site, power series.Series, wx Weather, o Options) (*Model, Report, error) {
	o = o.withDefaults()
	m, t, err := prepare(site, power, wx, o)
	if err != nil {
		return nil, Report{}, fmt.Errorf("train gap filling of %s: %w", site.ID, err)
	}
	if err := t.learn(ctx); err != nil {
		return nil, m.report, fmt.Errorf("train gap filling of %s: %w", site.ID, err)
	}
	o.Progress("done", 1)
	return m, m.report, nil
}

// training is the state of one Train.
type training struct {
	*fillState
	o    Options
	plan *plan
}

func checkWeather(wx Weather) error {
	for _, s := range []struct {
		name   string
		series series.Series
	}{{"irradiance", wx.GHI}, {"temperature", wx.TemperatureC}, {"siblings' power", wx.Siblings}} {
		if s.series.Len() > 0 && (s.series.Step < time.Minute || s.series.Step > 3*time.Hour) {
			return unfit("%s in steps of %v", s.name, s.series.Step)
		}
	}
	return nil
}

func prepare(site forecast.Site, power series.Series, wx Weather, o Options) (*Model, *training, error) {
	if power.Step < time.Minute || power.Step > time.Hour {
		return nil, nil, unfit("power in steps of %v; they must be from a minute to an hour", power.Step)
	}
	if err := checkWeather(wx); err != nil {
		return nil, nil, err
	}
	var notes []string
	finite, high := 0, 0.0
	for _, v := range power.Values {
		if v-v == 0 {
			finite++
			high = max(high, v)
		}
	}
	switch {
	case finite == 0:
		return nil, nil, unfit("no power was measured")
	case !(high > 0):
		return nil, nil, unfit("no power above nothing was measured")
	case !(site.CapacityKW > 0) || math.IsInf(site.CapacityKW, 0):
		site.CapacityKW = high
		notes = append(notes, fmt.Sprintf("the capacity is not known: the highest power seen, %s, is used for it", display.Power(high)))
	}
	share, peak, seen, err := forecast.Plausible(site, power)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrUnfit, err)
	}
	o.Progress("preparing", 0)
	m := &Model{site: site, step: power.Step, peakKW: peak, sky: forecast.LearnClearSky(site, share, o.Workers)}
	m.fade = edgeBlend{hours: 1.5}
	s := newScene(m.sky, share, wx, o.Workers)
	m.report = Report{From: power.Start.UTC(), To: power.End().UTC(), Step: power.Step, Days: s.days(), PeakKW: peak, CapacityKW: site.CapacityKW, Notes: append(notes, seen...), Seed: o.Seed}
	all := gapSteps{0, len(s.power)}
	m.weather, m.siblings = s.covered(s.cloud, all) >= enoughSeen, s.covered(s.beside, all) >= enoughSeen
	m.report.Weather, m.report.Siblings = m.weather, m.siblings
	if !m.weather {
		s.cloud = nil
	}
	if !m.siblings {
		s.beside = nil
	}
	g := m.stage(s)
	g.plain = o.plain
	return m, &training{fillState: g, o: o}, nil
}

// days counts days with at least four hours of daylight measured.
func (s *siteSeries) days() int {
	days, hours := 0, float32(0)
	for k, i := range s.lit {
		if s.first[k] {
			hours = 0
		}
		if s.power[i] == s.power[i] {
			before := hours
			hours += 1 / s.perHour()
			if before < 4 && hours >= 4 {
				days++
			}
		}
	}
	return days
}

func (t *training) learn(ctx context.Context) error {
	m := t.m
	m.defaults()
	m.report.Learned = m.report.Days >= LearningDays
	fadeBy := toLearn
	switch roles := m.roles(); {
	case m.report.Learned:
	case roles != nil:
		m.report.Notes = append(m.report.Notes, fmt.Sprintf("only %s with measured daylight, %d are needed for training: simpler methods fill gaps", display.CountOf(m.report.Days, "day", "days"), LearningDays))
		fadeBy, m.weather = toChoose, false
	default:
		m.report.Notes = append(m.report.Notes, fmt.Sprintf("only %s with measured daylight, %d are needed to compare methods", display.CountOf(m.report.Days, "day", "days"), choosingDays))
		m.weather = false
		return ctx.Err()
	}
	t.plan = newPlan(t.fine.start, t.fine.time(len(t.fine.power)), m.site.Location.LongitudeDeg, m.roles())
	t.fitFade(fadeBy)
	if m.report.Learned {
		err := t.fitLearners(ctx)
		switch {
		case errors.Is(err, ErrUnfit):
			m.report.Notes = append(m.report.Notes, fmt.Sprintf("simpler methods fill: %v", err))
			m.report.Learned, m.weather, m.network, m.trees = false, false, nil, nil
		case err != nil:
			return err
		}
	}
	t.o.Progress("measuring", 0.8)
	return m.measure(ctx, []*fillState{t.fillState}, t.plan, t.o)
}

// defaults are the choices where nothing could be measured.
func (m *Model) defaults() {
	for sight := range m.choices {
		for class := range m.choices[sight] {
			m.choices[sight][class] = defaultChoice(sight, class)
		}
	}
}

// roles are those of the blocks of a history of as many days; nil where there
// are too few to measure by.
func (m *Model) roles() []role {
	switch {
	case m.report.Learned:
		return learning
	case m.report.Days >= choosingDays:
		return choosing
	}
	return nil
}

// measure chooses methods and scores them, by holes that are spread evenly over
// the stages.
func (m *Model) measure(ctx context.Context, stages []*fillState, p *plan, o Options) error {
	lengths := measuredLengths(m.step, p.longestHole())
	try := func(r role, most int) (all []*trial, err error) {
		for k, g := range stages {
			trials, err := g.try(ctx, p, r, lengths, (most+len(stages)-1)/len(stages), o.Seed+uint64(k), o.Workers)
			if err != nil {
				return nil, err
			}
			all = append(all, trials...)
		}
		return all, nil
	}
	trials, err := try(toChoose, choosingGaps)
	if err != nil {
		return err
	}
	for sight := range sights {
		if sight == blind || sight == byWeather && m.weather || sight == bySiblings && m.siblings {
			m.choose(trials, len(lengths), sight)
		}
	}
	if trials, err = try(toScore, scoringGaps); err != nil {
		return err
	}
	m.report.Lengths, m.report.Overall = m.scores(trials, lengths)
	return nil
}

// fadeMinutes are the candidates of the bridge's fading time.
var fadeMinutes = []float32{5, 10, 20, 40, 80, 160, 320}

// fitFade takes the fading time with the least error, a gap of any length
// counting about the same.
func (t *training) fitFade(r role) {
	s := t.fine
	rng := rand.New(rand.NewPCG(t.o.Seed, 0x66616465))
	l := newLengths(s.step, t.plan.longestHole())
	errors := make([]float64, len(fadeMinutes))
	for range fadeHoles {
		h, ok := t.plan.draw(rng, s, l.draw(rng), r)
		if !ok {
			break
		}
		v := s.look(h, t.m.fade)
		for k, minutes := range fadeMinutes {
			v.bridge(edgeBlend{minutes / 60})
			var sum float64
			for i := v.a; i < v.b; i++ {
				if y := s.power[v.step(i)]; y == y {
					sum += math.Abs(float64(v.base[i]*s.clear[v.step(i)] - y))
				}
			}
			errors[k] += sum / math.Sqrt(float64(v.b-v.a))
		}
	}
	best := 4
	for k, e := range errors {
		if e < errors[best] {
			best = k
		}
	}
	t.m.fade.hours = fadeMinutes[best] / 60
	t.m.report.FadeMinutes = float64(fadeMinutes[best])
}

// fitLearners fits trees and network side by side.
func (t *training) fitLearners(ctx context.Context) error {
	t.o.Progress("learning", 0.1)
	if t.o.Workers < 2 {
		if err := t.fitTrees(ctx); err != nil {
			return err
		}
		return t.fitNetwork(ctx)
	}
	group, inner := errgroup.WithContext(ctx)
	group.Go(func() error { return t.fitTrees(inner) })
	if err := t.fitNetwork(inner); err != nil {
		_ = group.Wait() // the first error is the one that ended the other
		return err
	}
	return group.Wait()
}

// hides is how many of a learner's samples do not see the weather: one in so
// many. The rest do, where it is known.
const hides = 4

func (t *training) fitTrees(ctx context.Context) error {
	s, m := t.fine, t.m
	rng := rand.New(rand.NewPCG(t.o.Seed, 0x74726565))
	l := newLengths(s.step, t.plan.longestHole())
	type sample struct {
		h       gapSteps
		weather bool
		pick    []uint32 // random numbers: which steps are taken
	}
	holes := make([]sample, treeSamples/samplesAHole)
	for k := range holes {
		h, ok := t.plan.draw(rng, s, l.draw(rng), toLearn)
		if !ok {
			return unfit("too little daylight was measured to learn from")
		}
		holes[k] = sample{h: h, weather: rng.IntN(hides) > 0}
		for range samplesAHole {
			holes[k].pick = append(holes[k].pick, rng.Uint32())
		}
	}
	rows, targets := make([][]float32, len(holes)), make([][]float32, len(holes))
	err := each(ctx, len(holes), t.o.Workers, func(k int) {
		x := holes[k]
		v := s.look(x.h, m.fade)
		var known, pick []int
		for i := v.a; i < v.b; i++ {
			if y := s.power[v.step(i)]; y == y {
				known = append(known, i)
			}
		}
		if len(known) <= len(x.pick) {
			pick = known
		} else {
			for _, r := range x.pick {
				pick = append(pick, known[int(r)%len(known)])
			}
		}
		rows[k] = v.rows(nil, x.h, pick, x.weather)
		for _, i := range pick {
			at := v.step(i)
			targets[k] = append(targets[k], s.power[at]-float32(v.base[i]*s.clear[at]))
		}
	})
	if err != nil {
		return err
	}
	f := &frame.Frame{Names: featureNames}
	for k := range rows {
		f.Rows, f.Target = append(f.Rows, rows[k]...), append(f.Target, targets[k]...)
	}
	binner, err := frame.FitBinner(f, 127)
	if err != nil {
		return fmt.Errorf("trees: %w", err)
	}
	binned, err := binner.Apply(f)
	if err != nil {
		return fmt.Errorf("trees: %w", err)
	}
	c := tree.Default(f.Len())
	c.Quantile, c.Rounds, c.Rate, c.Leaves, c.MinLeaf, c.FeatureFraction, c.Seed = 0.5, treeRounds, treeRate, treeLeaves, treeMinLeaf, treeFeatures, t.o.Seed
	ensemble, rep, err := tree.Fit(ctx, binned, nil, c)
	if err != nil {
		return fmt.Errorf("trees: %w", err)
	}
	m.trees = ensemble
	m.report.Trees = TreesReport{Rounds: rep.Rounds, Leaves: c.Leaves, Samples: f.Len(), LearningRate: c.Rate, TrainLoss: rep.TrainLoss}
	return nil
}

func (t *training) fitNetwork(ctx context.Context) error {
	s := t.coarse
	if len(s.lit) < 2*windowSteps {
		return unfit("only %s in daylight", display.CountOf(len(s.lit), "hour", "hours"))
	}
	c := neural.DefaultSequence(inputCount)
	c.Steps, c.Seed, c.Workers, c.Plain = windowSteps, t.o.Seed, t.o.Workers, t.o.plain
	if t.o.updates > 0 {
		c.Updates = t.o.updates
	}
	l := newLengths(s.step, t.plan.longestHole())
	var checks []*neural.Sequence
	rng := rand.New(rand.NewPCG(t.o.Seed, 0x636865636b))
	for range sequenceChecks {
		x := neural.NewSequence(inputCount, windowSteps)
		if t.sequence(rng, x, l, toChoose, true) {
			checks = append(checks, x)
		}
	}
	network, rep, err := neural.FitBiLSTM(ctx, c, func(rng *rand.Rand, x *neural.Sequence) {
		t.sequence(rng, x, l, toLearn, rng.IntN(hides) > 0)
	}, checks)
	if err != nil {
		return fmt.Errorf("network: %w", err)
	}
	t.m.network = network
	t.m.report.Neural = Neural{Layers: []int{c.Hidden, c.Hidden}, LearningRate: c.Rate, Optimizer: "adam", Epochs: rep.Epochs, BestEpoch: rep.BestEpoch,
		TrainLoss: rep.TrainLoss, ValidationLoss: rep.ValidationLoss, Curve: rep.Curve, Parameters: network.Parameters()}
	return nil
}

// sequence fills x with a random hole of a role, somewhere in a window of
// hours in daylight; false, and nothing to learn, where none is found.
func (t *training) sequence(rng *rand.Rand, x *neural.Sequence, l lengths, r role, weather bool) bool {
	s := t.coarse
	clear(x.Weight)
	const context = 4
	var h gapSteps
	var a, b int
	for try := 0; ; try++ {
		var ok bool
		if h, ok = t.plan.draw(rng, s, l.draw(rng), r); !ok || try > 20 {
			return false
		}
		a, b = int(s.place[h.from]), int(s.place[h.to])
		if b-a <= windowSteps-2*context {
			break
		}
	}
	// The window begins so that some context is on either side, not more than
	// half of it on one.
	lo, hi := max(b+context-windowSteps, a-windowSteps/2, 0), min(a-context, len(s.lit)-windowSteps)
	from := max(min(lo, len(s.lit)-windowSteps), 0)
	if hi > lo {
		from = lo + rng.IntN(hi-lo+1)
	}
	v := s.open(from, from+windowSteps, h)
	v.bridge(t.m.fade)
	v.inputs(x.X, h, 0, windowSteps, weather)
	// A gap of any length counts about the same.
	share := float32(1 / math.Sqrt(float64(b-a)))
	for k := max(v.a, 0); k < min(v.b, windowSteps); k++ {
		i := v.step(k)
		if y := s.power[i]; y == y {
			c := s.clear[i]
			x.Scale[k], x.Offset[k], x.Target[k], x.Weight[k] = c, float32(v.base[k]*c), y, share
		}
	}
	return true
}
