package detect

import (
	"math"
	"slices"
)

// indexDay is a unit's production in the clear moments of a day relative to its
// model; 1 is healthy.
type indexDay struct {
	day   int64
	value float64
	parts [dayParts]float64  // bright, weak, before and after solar noon; NaN where too few moments
	hours float64            // of clear moments, by their weight
	reach float64            // leverage of the model on them: above one it extrapolates
	haze  [hazeSigns]float64 // what haze does to the day besides the level
	top   float64            // highest irradiance of the clear moments, W/m²
}

// The parts of a day's index.
const (
	brightPart = iota
	weakPart
	morningPart
	afternoonPart
	dayParts
)

// Figures of the index.
const (
	indexModel  = 0.03 // of the rating, least that the model must expect
	indexHours  = 0.75 // of clear moments in a usable day
	indexWeight = 0.5  // the same by their weight
	indexBright = 0.6  // of the day's highest model: bright above, weak below
	indexLow    = 0.2  // an index beyond these is no measure of the unit
	indexHigh   = 2.5
	indexReach  = 6  // leverage from which the model extrapolates too far
	skyReach    = 12 // the same by a clear sky's light, of which there are fewer days
	indexKept   = 60 // usable days
)

// measure computes the day's index. ok is false on days with too few clear
// moments.
func (b *baseline) measure(m *moments, rating float64, day int64) (d indexDay, ok bool) {
	var at []int
	top := 0.0
	for j := range m.n {
		if b.weight[j] > 0 && b.model[j] > indexModel*rating {
			at = append(at, j)
			top = max(top, b.model[j])
		}
	}
	if float64(len(at))*m.hours < indexHours {
		return d, false
	}
	of := func(want func(j int) bool) float64 {
		some := make([]weighted, 0, len(at))
		for _, j := range at {
			if want(j) {
				some = append(some, weighted{b.power[j] / b.model[j], b.weight[j] * b.model[j]})
			}
		}
		if len(some) < 2 {
			return math.NaN()
		}
		return weightedMedian(some)
	}
	d = indexDay{day: day, value: of(func(int) bool { return true })}
	d.parts[brightPart] = of(func(j int) bool { return b.model[j] > indexBright*top })
	d.parts[weakPart] = of(func(j int) bool { return b.model[j] <= indexBright*top })
	d.parts[morningPart] = of(func(j int) bool { return m.turn[j] < 0 })
	d.parts[afternoonPart] = of(func(j int) bool { return m.turn[j] >= 0 })
	weights := 0.0
	for _, j := range at {
		d.hours += b.weight[j] * m.hours
		d.top = max(d.top, b.light[j])
		d.reach += b.weight[j] * b.leverage(&b.terms[j], max(b.light[j], 100))
		weights += b.weight[j]
	}
	d.reach /= weights
	d.haze = b.haze(m, at)
	return d, d.hours > indexWeight && d.value > indexLow && d.value < indexHigh && d.reach < b.farthest()
}

func (b *baseline) farthest() float64 {
	if b.ref == bySky {
		return skyReach
	}
	return indexReach
}

// haze returns what haze does to a day besides the level: the slope of the
// logarithm of measured over model power over air mass, as low sun loses more, and
// the logarithm of the roughness, as haze is never even.
func (b *baseline) haze(m *moments, at []int) (h [hazeSigns]float64) {
	var sw, sx, sy, sxx, sxy, rough float64
	for _, j := range at {
		if b.power[j] > 0 {
			w, x, y := b.weight[j]*b.model[j], 1/max(m.z[j], 0.1), math.Log(b.power[j]/b.model[j])
			sw, sx, sy, sxx, sxy, rough = sw+w, sx+w*x, sy+w*y, sxx+w*x*x, sxy+w*x*y, rough+w*b.rough[j]
		}
	}
	if sw <= 0 {
		return h
	}
	h[0] = min(max((sxy-sx*sy/sw)/(sxx-sx*sx/sw+hazeSpan*sw), -hazeSteep), hazeSteep)
	h[1] = math.Log(max(rough/sw, 1e-3))
	return h
}

// Figures of the correction for haze.
const (
	hazeSigns = 2
	hazeSpan  = 0.02 // variance of the air mass within a day by which the slope is shrunk
	hazeSteep = 0.3  // steepest slope
	hazeApart = 8    // days between days that are compared
	hazeNext  = 3    // usable days after a day that are compared with it
	hazeLeast = 8    // pairs of days
	hazeTurns = 5
	hazePairs = 15 // pairs of days as usual, which pull the coefficients towards zero
)

// hazeUsual is the usual change of the signs between days.
var hazeUsual = [hazeSigns]float64{0.03, 0.25}

// learnHaze fits how the index changes with the signs of haze between days close
// to each other. The level of the plant has no part in it: a loss of a share of
// the power changes neither sign.
func (b *baseline) learnHaze() {
	b.clarity, b.usual = [hazeSigns]float64{}, [hazeSigns]float64{}
	if b.ref != bySky {
		return // the irradiance has seen the haze
	}
	var xs [][hazeSigns]float64
	var ys []float64
	n := len(b.index)
	for i := range n {
		for j := i + 1; j < min(i+1+hazeNext, n) && b.index[j].day-b.index[i].day <= hazeApart; j++ {
			xs = append(xs, [hazeSigns]float64{b.index[j].haze[0] - b.index[i].haze[0], b.index[j].haze[1] - b.index[i].haze[1]})
			ys = append(ys, math.Log(b.index[j].value/b.index[i].value))
		}
	}
	if len(xs) < hazeLeast {
		return
	}
	var fitted [hazeSigns]float64
	off := make([]float64, len(xs))
	for range hazeTurns {
		for i, x := range xs {
			off[i] = math.Abs(ys[i] - fitted[0]*x[0] - fitted[1]*x[1])
		}
		reach := 1.5*1.4826*median(append([]float64(nil), off...)) + 1e-6
		aa, bb := hazePairs*hazeUsual[0]*hazeUsual[0], hazePairs*hazeUsual[1]*hazeUsual[1]
		ab, ay, by := 0.0, 0.0, 0.0
		for i, x := range xs {
			w := min(1, reach/max(off[i], 1e-9))
			aa, ab, bb = aa+w*x[0]*x[0], ab+w*x[0]*x[1], bb+w*x[1]*x[1]
			ay, by = ay+w*x[0]*ys[i], by+w*x[1]*ys[i]
		}
		det := aa*bb - ab*ab
		fitted = [hazeSigns]float64{(ay*bb - by*ab) / det, (by*aa - ay*ab) / det}
	}
	b.clarity = fitted
	for sign := range hazeSigns {
		some := make([]float64, n)
		for i := range some {
			some[i] = b.index[i].haze[sign]
		}
		b.usual[sign] = median(some)
	}
}

// log returns the logarithm of a day's index without the part that haze explains.
func (b *baseline) log(d *indexDay) float64 {
	y := math.Log(d.value)
	for sign, c := range b.clarity {
		y -= c * (d.haze[sign] - b.usual[sign])
	}
	return y
}

// weighted is a value with a weight.
type weighted struct{ value, weight float64 }

// weightedMedian reorders the values, of which there is one at least.
func weightedMedian(values []weighted) float64 {
	slices.SortFunc(values, func(a, b weighted) int {
		switch {
		case a.value < b.value:
			return -1
		case a.value > b.value:
			return 1
		}
		return 0
	})
	total, sum := 0.0, 0.0
	for _, v := range values {
		total += v.weight
	}
	for _, v := range values {
		if sum += v.weight; 2*sum >= total {
			return v.value
		}
	}
	return values[len(values)-1].value
}

// noise is how the logarithm of a healthy unit's index strays: a part of each
// day's own and a wander that is forgotten over days (an Ornstein-Uhlenbeck
// process): haze, dust and rain, the season, the sensor.
type noise struct {
	day    float64 // standard deviation of a day's own part
	wander float64
	days   float64 // after which the wander is forgotten
}

// The grid on which noise is fitted: lags in days, and the prior used until
// there are enough days (weighted as eight pairs a lag).
var (
	noiseLags  = [...][2]float64{{0, 2.5}, {2.5, 6.5}, {6.5, 14.5}, {14.5, 30.5}}
	noiseAt    = [...]float64{1.3, 4.5, 10, 22}
	noiseTimes = [...]float64{2, 5, 12, 30, 80}
	noiseTable = makeNoiseTable()
)

const (
	noiseSteps    = 22
	noisePrior    = 8
	noiseMost     = 60
	noiseLeastDay = 0.004
	noiseMostDay  = 0.15
	noiseMostRoam = 0.2
)

type noiseRow struct {
	noise
	logs [len(noiseAt)]float64 // logarithm of the expected squared difference at each lag
}

func makeNoiseTable() []noiseRow {
	var out []noiseRow
	step := func(i int, least, most float64) float64 {
		return least * math.Pow(most/least, float64(i)/(noiseSteps-1))
	}
	for i := range noiseSteps {
		for j := range noiseSteps {
			for _, tau := range noiseTimes {
				r := noiseRow{noise: noise{step(i, noiseLeastDay, noiseMostDay), step(j, noiseLeastDay, noiseMostRoam), tau}}
				for l, lag := range noiseAt {
					r.logs[l] = math.Log(r.squared(lag))
				}
				out = append(out, r)
			}
		}
	}
	return out
}

// squared is the expected squared difference of two days so many days apart.
func (n noise) squared(lag float64) float64 {
	return 2*n.day*n.day + 2*n.wander*n.wander*(1-math.Exp(-lag/n.days))
}

// usualNoise returns the prior noise of a unit, used until its own days
// determine it.
func usualNoise(ref reference) noise {
	switch ref {
	case byPeers:
		return noise{0.006, 0.006, 15}
	case bySky:
		return noise{0.02, 0.05, 5} // haze, on most plants
	}
	return noise{0.015, 0.015, 15}
}

// learnNoise fits the noise to a robust variogram of the logarithms x of the
// index at the days t. Above 0, at is the first day after a step: days on both sides
// of it are not compared with each other.
func learnNoise(t, x []float64, before noise, scratch []float64, at int) noise {
	var logs [2 * len(noiseAt)]float64
	var weights [2 * len(noiseAt)]float64
	for l, lag := range noiseAt {
		logs[len(noiseAt)+l], weights[len(noiseAt)+l] = math.Log(before.squared(lag)), noisePrior
		scratch = scratch[:0]
		for i := range x {
			for j := i + 1; j < len(x); j++ {
				if d := t[j] - t[i]; d > noiseLags[l][1] {
					break
				} else if d > noiseLags[l][0] && (at == 0 || i >= at || j < at) {
					scratch = append(scratch, math.Abs(x[j]-x[i]))
				}
			}
		}
		if len(scratch) >= 4 {
			n := len(scratch)
			spread := 1.4826 * median(scratch)
			logs[l], weights[l] = math.Log(max(spread*spread, 1e-9)), float64(min(n, noiseMost))
		}
	}
	best, least := before, math.Inf(1)
	for i := range noiseTable {
		row := &noiseTable[i]
		sum := 0.0
		for l := range noiseAt {
			a, b := row.logs[l]-logs[l], row.logs[l]-logs[len(noiseAt)+l]
			sum += weights[l]*a*a + weights[len(noiseAt)+l]*b*b
		}
		if sum < least {
			least, best = sum, row.noise
		}
	}
	return best
}

// shift is a step that the last days of an index indicate.
type shift struct {
	at    int     // first day after it, of the days that were examined
	size  float64 // in the logarithm
	sigma float64 // standard error of the size
	level float64 // median of the logarithms before
	ramp  float64 // significance of a decline instead of the step, as z of it; 0 of none
	slope float64 // of that decline, in the logarithm for each day
	begun int     // first day of the decline
}

// z is how many standard errors the step is away from none.
func (s shift) z() float64 { return s.size / s.sigma }

// sinks reports whether a decline over weeks explains the days better than a
// step.
func (s shift) sinks() bool {
	return s.ramp < s.z()-rampClearer && -s.slope > rampFlat && -s.slope < rampSteep
}

// Figures of the search for a step.
const (
	shiftDays    = 45  // usable days that are examined
	shiftWithin  = 14  // of the last of them in which a step may lie
	shiftSpan    = 35  // days in which these must lie
	shiftBefore  = 5   // usable days before a step at the least
	shiftAfter   = 3   // and after it
	rampShortest = 12  // days of a decline
	rampClearer  = 0.2 // standard errors by which a decline must explain it better than a step
	rampFlat     = 5e-4
	rampSteep    = 6e-3
)

// covariance is that of the figures of so many usable days, then its lower Cholesky factor.
type covariance [shiftDays][shiftDays]float64

// factor replaces the lower half of the first size rows by their Cholesky factor.
func (c *covariance) factor(size int) {
	for i := range size {
		for j := 0; j <= i; j++ {
			sum := c[i][j]
			for k := range j {
				sum -= c[i][k] * c[j][k]
			}
			if i == j {
				c[i][i] = math.Sqrt(max(sum, 1e-12))
			} else {
				c[i][j] = sum / c[j][j]
			}
		}
	}
}

// whiten returns a column of size figures divided by a Cholesky factor.
func (c *covariance) whiten(size int, of func(i int) float64) (y [shiftDays]float64) {
	for i := range size {
		sum := of(i)
		for k := range i {
			sum -= c[i][k] * y[k]
		}
		y[i] = sum / c[i][i]
	}
	return y
}

// slowWander is a standard error that no number of days takes away: seasons and
// sensors wander over months, which the last weeks do not show.
func slowWander(ref reference) float64 {
	if ref == byPeers {
		return 0.002
	}
	return 0.006
}

// findShift is the most significant step down, by generalised least squares
// under the noise: level and step for every day on which it may have come. A day
// that strays far from its neighbours counts less. ok is false without any.
func findShift(t, x, hours []float64, n noise, slow float64) (s shift, ok bool) {
	off := max(len(x)-shiftDays, 0)
	t, x, hours = t[off:], x[off:], hours[off:]
	size := len(x)
	first := max(shiftBefore, size-shiftWithin)
	for first <= size-shiftAfter && t[size-1]-t[first] > shiftSpan {
		first++
	}
	if first > size-shiftAfter {
		return s, false
	}
	var c covariance
	for i := range size {
		for j := range i {
			c[i][j] = n.wander * n.wander * math.Exp(-(t[i]-t[j])/n.days)
		}
		own := n.day * n.day * math.Sqrt(max(1, 1/max(hours[i], 0.2)))
		var near [5]float64
		m := median(append(near[:0], x[max(i-2, 0):min(i+3, size)]...))
		e := (x[i] - m) / math.Sqrt(3*own) / 1.7
		c[i][i] = n.wander*n.wander + own*max(1, e*e*e*e)
	}
	// The columns x, 1 and the candidate steps, whitened.
	c.factor(size)
	white := func(of func(i int) float64) [shiftDays]float64 { return c.whiten(size, of) }
	dot := func(a, b *[shiftDays]float64) (sum float64) {
		for i := range size {
			sum += a[i] * b[i]
		}
		return sum
	}
	one := white(func(int) float64 { return 1 })
	norm := math.Sqrt(dot(&one, &one))
	for i := range size {
		one[i] /= norm
	}
	value := white(func(i int) float64 { return x[i] })
	level := dot(&value, &one)
	for i := range size {
		value[i] -= level * one[i]
	}
	best := 0.0
	for at := first; at <= size-shiftAfter; at++ {
		step := white(func(i int) float64 {
			if i >= at {
				return 1
			}
			return 0
		})
		part := dot(&step, &one)
		for i := range size {
			step[i] -= part * one[i]
		}
		power := dot(&step, &step)
		a, sigma := dot(&step, &value)/max(power, 1e-12), 1/math.Sqrt(max(power, 1e-12))
		if z := a / sigma; z < best {
			best = z
			s = shift{at: at + off, size: a, sigma: math.Hypot(sigma, slow)}
		}
	}
	if best >= 0 {
		return s, false
	}
	for at := shiftBefore; at < size-shiftBefore; at++ {
		if t[size-1]-t[at] < rampShortest {
			break
		}
		line := white(func(i int) float64 { return max(0, t[i]-t[at]) })
		part := dot(&line, &one)
		for i := range size {
			line[i] -= part * one[i]
		}
		power := dot(&line, &line)
		a := dot(&line, &value) / max(power, 1e-12)
		if z := a * math.Sqrt(power); z < s.ramp {
			s.ramp, s.slope, s.begun = z, a, at+off
		}
	}
	before := x[max(s.at-off-12, 0) : s.at-off]
	s.level = median(append([]float64(nil), before...))
	return s, true
}
