package interpolate

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"
)

// The gap lengths that are measured.
var measuredMinutes = []int{5, 10, 15, 30, 45, 60, 120, 180, 360, 720, 1440, 2880, 4320}

func measuredLengths(step, longest time.Duration) []time.Duration {
	var out []time.Duration
	for _, m := range measuredMinutes {
		if d := time.Duration(m) * time.Minute; d >= step && d%step == 0 && d <= longest {
			out = append(out, d)
		}
	}
	return out
}

// gapsFor is how many holes of a length are drawn: long ones hold many steps.
func gapsFor(d time.Duration, most int) int {
	switch {
	case d <= 3*time.Hour:
		return most
	case d <= 12*time.Hour:
		return most * 2 / 3
	default:
		return most * 2 / 5
	}
}

// trial is one hidden gap with the predictions of every method and the measured
// power.
type trial struct {
	length int // position among the measured lengths
	class  int
	sight  int  // what the methods know of the sky
	best   bool // and no more is known
	*candidates
	clear []float32
	truth []float32 // NaN where it was not measured
}

// try hides gaps of every length in the blocks of a role and runs all methods,
// once for each kind of information about the sky.
func (g *fillState) try(ctx context.Context, p *plan, r role, lengths []time.Duration, most int, seed uint64, workers int) ([]*trial, error) {
	rng := rand.New(rand.NewPCG(seed, 0x747279<<8|uint64(r)))
	var trials []*trial
	for k, d := range lengths {
		for range gapsFor(d, most) {
			h, ok := p.draw(rng, g.fine, int(d/g.fine.step), r)
			if !ok {
				break
			}
			best := g.sight(h)
			for sight := range best + 1 {
				if sight == blind || sight == best || g.m.weather && g.cloudKnown(h) {
					trials = append(trials, &trial{length: k, sight: sight, best: sight == best, candidates: &candidates{h: h}})
				}
			}
		}
	}
	err := each(ctx, len(trials), workers, func(k int) {
		t := trials[k]
		t.candidates = g.ask(t.h, t.sight, methodCount)
		t.class = classOf(g.span(t.h))
		n := t.v.b - t.v.a
		t.clear, t.truth = make([]float32, n), make([]float32, n)
		for i := range n {
			t.clear[i] = g.clear(t.candidates, i)
			t.truth[i] = g.fine.power[t.v.step(t.v.a+i)]
		}
	})
	return trials, err
}

// span is the time between the hole's first and last daylight.
func (g *fillState) span(h gapSteps) time.Duration {
	a, b := g.fine.place[h.from], g.fine.place[h.to]
	if a == b {
		return 0
	}
	return time.Duration(g.fine.lit[b-1]-g.fine.lit[a]+1) * g.fine.step
}

// cloudKnown reports whether the weather covers most of the gap's daylight.
func (g *fillState) cloudKnown(h gapSteps) bool {
	return g.m.weather && g.fine.covered(g.fine.cloud, h) >= 0.75
}

// sight returns the best information about the sky that is available in the
// gap.
func (g *fillState) sight(h gapSteps) int {
	switch {
	case g.m.siblings && g.fine.covered(g.fine.beside, h) >= 0.5:
		return bySiblings
	case g.cloudKnown(h):
		return byWeather
	}
	return blind
}

// covered is the share of the hole's daylight at which values are known.
func (s *siteSeries) covered(values []float32, h gapSteps) float64 {
	lit := s.lit[s.place[h.from]:s.place[h.to]]
	if values == nil || len(lit) == 0 {
		return 0
	}
	known := 0
	for _, i := range lit {
		if v := values[i]; v == v {
			known++
		}
	}
	return float64(known) / float64(len(lit))
}

// each runs f(0) .. f(n-1) on workers goroutines; what f writes must be its
// own.
func each(ctx context.Context, n, workers int, f func(k int)) error {
	group, ctx := errgroup.WithContext(ctx)
	const part = 8
	group.SetLimit(max(workers, 1))
	for from := 0; from < n; from += part {
		group.Go(func() error {
			for k := from; k < min(from+part, n); k++ {
				if err := ctx.Err(); err != nil {
					return err
				}
				f(k)
			}
			return nil
		})
	}
	return group.Wait()
}

// errorSum sums errors, shares of the peak.
type errorSum struct {
	n, in               int
	sum, squares        float64
	truth, truthSquares float64
}

func (t *errorSum) add(filled, truth, low, high float32) {
	e := float64(filled - truth)
	t.n++
	t.sum += math.Abs(e)
	t.squares += e * e
	t.truth += float64(truth)
	t.truthSquares += float64(truth) * float64(truth)
	if truth >= low && truth <= high {
		t.in++
	}
}

func (t *errorSum) join(o errorSum) {
	t.n, t.in = t.n+o.n, t.in+o.in
	t.sum, t.squares = t.sum+o.sum, t.squares+o.squares
	t.truth, t.truthSquares = t.truth+o.truth, t.truthSquares+o.truthSquares
}

func (t *errorSum) mae() float64 { return t.sum / float64(max(t.n, 1)) }

// score is t in kW; coverage is wanted where there were bands.
func (t *errorSum) score(peakKW, capacityKW float64, banded bool) Score {
	if t.n == 0 {
		return Score{}
	}
	n := float64(t.n)
	s := Score{Samples: t.n, MAEKW: t.sum / n * peakKW, RMSEKW: math.Sqrt(t.squares/n) * peakKW}
	s.NRMSEPercent = 100 * s.RMSEKW / capacityKW
	if spread := t.truthSquares - t.truth*t.truth/n; spread > 1e-9*n {
		s.R2 = 1 - t.squares/spread
	}
	if banded {
		s.Coverage80 = float64(t.in) / n
	}
	return s
}

// lstmShares are the network's parts that are tried. The even mean, the first,
// stays unless another is clearly better.
var lstmShares = [...]float32{0.5, 0.25, 0.75, 1}

// safelyBetter is what a method must bring at every length of a class of short
// gaps to be chosen over the spline: there is little to be won there.
const safelyBetter = 0.96

// clearlyBetter is what a less simple method must bring to be chosen.
const clearlyBetter = 0.99

// choose selects for each class, by the information about the sky, the method
// with the lowest error, or the simplest of those that are about equal, and
// measures its bands.
func (m *Model) choose(trials []*trial, lengths, sight int) {
	for class := range classCount {
		c := defaultChoice(sight, class)
		var mine []*trial
		for _, t := range trials {
			if t.class == class && t.sight == sight && len(t.truth) > 0 {
				mine = append(mine, t)
			}
		}
		said := Choice{Class: classes[class].name, Sky: sights[sight], Gaps: len(mine)}
		contest := m.compare(mine, lengths)
		if class < firstLearned {
			contest.methods = isTrees
		}
		if contest.all[isBridge].n >= bandEnough {
			c = contest.winner(class < firstLearned)
			for k := range contest.methods {
				if k == isSiblings && sight != bySiblings {
					continue
				}
				said.Scores = append(said.Scores, MethodScore{methods[k], contest.all[k].score(m.peakKW, m.site.CapacityKW, false)})
			}
		}
		c.bands = measureBands(m.slips(mine, c))
		said.Method = methods[c.method]
		if c.method == isLSTM {
			said.LSTMShare = float64(c.share)
		}
		m.choices[sight][class] = c
		m.report.Choices = append(m.report.Choices, said)
	}
}

// contest is how the methods compare in one class.
type contest struct {
	methods int                   // that take part
	all     [methodCount]errorSum // over all lengths
	error   [methodCount]float64
	share   float32           // of the network in the best mean with the trees
	behind  [methodCount]bool // not better than the spline at every length
}

// compare takes for each method its error over the bridge's, the mean over
// the lengths that occur, by how many gaps there were: long gaps hold more
// samples and would drown the short, and of some lengths only a few come into
// the class, around the night.
func (m *Model) compare(trials []*trial, lengths int) contest {
	c := contest{methods: methodCount}
	if m.network == nil {
		c.methods = isTrees
	}
	var blended [len(lstmShares)]float64
	var blends [len(lstmShares)]errorSum
	for length := range lengths {
		var by [methodCount]errorSum
		var of [len(lstmShares)]errorSum
		gaps := 0.0
		for _, t := range trials {
			if t.length == length {
				t.compare(&by, &of)
				gaps++
			}
		}
		if by[isBridge].n == 0 || by[isBridge].sum == 0 {
			continue
		}
		for k := range by {
			c.error[k] += gaps * by[k].mae() / by[isBridge].mae()
			c.all[k].join(by[k])
			if gaps >= bandEnough && by[k].mae() > safelyBetter*by[isSpline].mae() {
				c.behind[k] = true
			}
		}
		for k := range of {
			blended[k] += gaps * of[k].mae() / by[isBridge].mae()
			blends[k].join(of[k])
		}
	}
	best := 0
	for k := range blended {
		if blended[k] < min(blended[best], clearlyBetter*blended[0]) {
			best = k
		}
	}
	c.share, c.error[isLSTM], c.all[isLSTM] = lstmShares[best], blended[best], blends[best]
	return c
}

// winner returns the method to use, and the best one where the network has no
// prediction.
func (c *contest) winner(short bool) choice {
	out := choice{share: c.share}
	for k := range c.methods {
		if short && k > isSpline && c.behind[k] {
			continue
		}
		if c.error[k] < clearlyBetter*c.error[out.method] {
			out.method = k
		}
		if k < isLSTM && c.error[k] < clearlyBetter*c.error[out.plain] {
			out.plain = k
		}
	}
	return out
}

// compare adds a trial to the tallies of methods and of means.
func (t *trial) compare(by *[methodCount]errorSum, of *[len(lstmShares)]errorSum) {
	for k, y := range t.truth {
		if y != y {
			continue
		}
		for method := range isLSTM {
			by[method].add(t.said[method][k], y, 0, 0)
		}
		for i, share := range lstmShares {
			of[i].add(t.mixed(share, k), y, 0, 0)
		}
	}
}

// defaultChoice is where nothing could be measured.
func defaultChoice(sight, class int) choice {
	c := choice{method: isBridge, plain: isBridge, share: 0.5}
	switch {
	case class < firstLearned:
		c.method, c.plain = isSpline, isSpline
	case sight == bySiblings:
		c.method, c.plain = isSiblings, isSiblings
	}
	c.bands = measureBands(nil)
	return c
}

// slips are the errors of what fills by choice c.
func (m *Model) slips(trials []*trial, c choice) []fillError {
	var out []fillError
	for _, t := range trials {
		filled := make([]float32, len(t.truth))
		t.decide(c, filled)
		for k, y := range t.truth {
			if y == y {
				s := fillError{error: (y - filled[k]) / (t.clear[k] + bandFloor)}
				s.near, s.level = bandOf(filled[k], t.clear[k], t.v.left[t.v.a+k], t.v.right[t.v.a+k])
				out = append(out, s)
			}
		}
	}
	return out
}

// scores measures every length, with what was chosen.
func (m *Model) scores(trials []*trial, lengths []time.Duration) (out []LengthScore, overall Score) {
	var all errorSum
	for sight := range sights {
		for k, d := range lengths {
			var filled errorSum
			var by [methodCount]errorSum
			gaps := 0
			for _, t := range trials {
				if t.length != k || t.sight != sight || len(t.truth) == 0 {
					continue
				}
				gaps++
				m.score(t, &filled, &by)
				if t.best {
					m.score(t, &all, nil)
				}
			}
			if gaps == 0 {
				continue
			}
			s := LengthScore{Length: d, Sky: sights[sight], Gaps: gaps, Filled: filled.score(m.peakKW, m.site.CapacityKW, true)}
			for method := range by {
				if method >= isTrees && m.network == nil || method == isSiblings && sight != bySiblings {
					continue
				}
				s.Methods = append(s.Methods, MethodScore{methods[method], by[method].score(m.peakKW, m.site.CapacityKW, false)})
			}
			out = append(out, s)
		}
	}
	return out, all.score(m.peakKW, m.site.CapacityKW, true)
}

// score adds one trial to what fills and, if wanted, to all methods.
func (m *Model) score(t *trial, filled *errorSum, by *[methodCount]errorSum) {
	c := &m.choices[t.sight][t.class]
	out := make([]float32, len(t.truth))
	t.decide(*c, out)
	for k, y := range t.truth {
		if y != y {
			continue
		}
		low, high := m.around(c, out[k], t.clear[k], t.v.left[t.v.a+k], t.v.right[t.v.a+k])
		filled.add(out[k], y, low, high)
		if by == nil {
			continue
		}
		for method := range isLSTM {
			by[method].add(t.said[method][k], y, 0, 0)
		}
		by[isLSTM].add(t.mixed(c.share, k), y, 0, 0)
	}
}

// around is the band of a filled value within what can be.
func (m *Model) around(c *choice, filled, clear, left, right float32) (low, high float32) {
	low, high = c.bands.around(filled, clear, left, right)
	return min(m.limit(low, clear), filled), max(m.limit(high, clear), filled)
}
