package detect

import (
	"math"
	"slices"
)

// reference is what a unit's power is modelled on.
type reference uint8

const (
	byPeers reference = iota // the median of the other units of the site
	byLight                  // a measured or satellite irradiance, in whatever plane
	bySky                    // a clear sky's light alone: only its clear moments count
)

var referenceNames = [...]string{byPeers: "peers", byLight: "irradiance", bySky: "clear sky"}

var referenceWords = [...]string{byPeers: "its peers", byLight: "the irradiance", bySky: "the light of a clear sky"}

// Parameters of the model. A moment counts as clear if the power, and the
// irradiance where it is measured, vary smoothly: a cloud over the sensor is
// not yet a cloud over the modules.
const (
	lowestSun      = 8.0  // degrees of elevation, below which no moment is used
	clearWithLight = 0.05 // highest roughness of a clear moment
	clearAlone     = 0.02 // the same where power is all there is
	hourlyLight    = 0.15 // the same of hourly data
	hourlyAlone    = 0.06
	roughTimes     = 1.5  // a clear moment may be this much rougher than the unit's smoothest tenth
	jittery        = 0.02 // roughness of the smoothest tenth from which hourly means are used
	roughDays      = 60   // days from which that is learned
	windowDays     = 60   // days that the model is fitted to
	windowLong     = 90   // the same on irradiance, which shows the seasons, unless the shorter one strays less
	windowErrors   = 30   // days from which that is known
	windowLeast    = 12   // of these at the least
	windowQuieter  = 0.8  // of the median error of the window in use, below which the other one is chosen
	keptDays       = 150  // days of moments that are kept
	fitEvery       = 2    // days between fits
	fitEveryPeers  = 4    // the same on peers, whose light hardly changes with the season
	leastFitDays   = 8
	leastFit       = 60   // moments
	fairlyClear    = 0.08 // roughness of moments that are kept for what sinks over weeks
	mostTerms      = 8
)

// moment is a clear moment, as the model is fitted to it: terms and power for
// each W/m² of the reference's light.
type moment struct {
	x [mostTerms]float32
	y float32 // kW for each W/m²
	w float32 // 0 of one that is not clear enough to fit the model to
	v float32 // for what sinks over weeks, which can use rougher ones
}

// baseDay holds what the model learns from one day.
type baseDay struct {
	day     int64
	moments []moment
}

// baseline is the model of one unit's power from its own past on one
// reference: which plane, which shape, which loss by heat is learned, nothing
// has to be known.
type baseline struct {
	ref     reference
	inPlane bool // the light is that in the modules' plane, not on the ground
	fits    int
	scale   float64 // robust standard deviation of the residuals of the last fit

	days  []baseDay
	spare [][]moment

	windows [2]window // the longer and the shorter one
	shorter bool      // the shorter one is in use
	coef    [mostTerms]float64
	root    [mostTerms][mostTerms]float64 // Cholesky factor of the fit's normal matrix, of terms over rms
	rms     [mostTerms]float64
	ready   bool
	since   int // days since the last fit

	begun   int64 // first day with usable moments
	roughs  []float64
	smooth  float64 // roughness of the smoothest tenth
	jittery bool

	index          []indexDay // of usable days, oldest first
	noise          noise
	clarity, usual [hazeSigns]float64 // change of the logarithm of the index for each unit of the signs of haze; their median
	hold           int64              // the fit uses days before this one; 0 for no bound

	// The current day, by moment.
	power, light, temp []float64
	usable, explained  []bool
	lightRough         []float64 // roughness of the reference's light
	rough              []float64
	terms              [][mostTerms]float64
	model              []float64 // kW expected by the healthy unit; NaN without a model
	weight             []float64 // of clear moments, 0 of others

	scratch, ratio, shine []float64
	work                  []workRow
}

// window is a number of days that the model may be fitted to, and how far days that it
// had not seen deviated from it.
type window struct {
	coef   [mostTerms]float64
	ready  bool
	errors ring // of the logarithm of each day
}

func newBaseline(ref reference) *baseline { return &baseline{ref: ref} }

// terms of the model.
func (b *baseline) size() int {
	switch {
	case b.ref == bySky:
		return 6
	case b.ref == byPeers:
		return 6
	case b.inPlane:
		return 7
	}
	return 8
}

// limits of roughness of a clear moment.
func (b *baseline) clearBelow(hours float64) float64 {
	limit := clearWithLight
	switch {
	case b.ref == bySky && hours >= 0.75:
		limit = hourlyAlone
	case b.ref == bySky:
		limit = clearAlone
	case hours >= 0.75:
		limit = hourlyLight
	}
	return max(limit, roughTimes*b.smooth)
}

// prepare reads the day's reference and, with a fitted model, fills what the
// healthy unit would make. It uses no power but its peers'.
func (b *baseline) prepare(m *moments, v *view, light func(i int) float64, tempC []float64) {
	for _, c := range []*[]float64{&b.light, &b.temp, &b.model, &b.power, &b.rough, &b.weight} {
		fit(c, m.n)
	}
	fit(&b.usable, m.n)
	fit(&b.explained, m.n)
	fit(&b.lightRough, m.n)
	fit(&b.terms, m.n)
	k := b.size()
	for j := range m.n {
		b.light[j] = m.clear[j]
		b.temp[j] = 20
		if b.ref != bySky {
			b.light[j] = meanOver(j*m.per, min((j+1)*m.per, v.cells), light)
		}
		if b.ref == byLight {
			if t := meanOver(j*m.per, min((j+1)*m.per, v.cells), func(i int) float64 { return tempC[i] }); !math.IsNaN(t) {
				b.temp[j] = t
			}
		}
		b.model[j] = math.NaN()
		if m.elevation[j] <= 0 || !(b.light[j] >= 0) {
			continue
		}
		b.terms[j] = b.at(m, j)
		if b.ready {
			e := 0.0
			for i := range k {
				e += b.coef[i] * b.terms[j][i]
			}
			b.model[j] = max(e, 0)
		}
	}
}

// at is the terms of the model at moment j.
func (b *baseline) at(m *moments, j int) (x [mostTerms]float64) {
	g, t := b.light[j], b.temp[j]
	kt := min(max(g/m.extra[j], 0), 1.2)
	heat := g * (t - 25 + 0.03*g) / 50
	switch {
	case b.ref == byPeers:
		return [mostTerms]float64{g, g * m.x[j], g * m.y[j], g * m.z[j], g * kt, g * g / 1000}
	case b.inPlane:
		return [mostTerms]float64{g, g * m.x[j], g * m.y[j], g * m.z[j], g * kt, heat, g * g / 1000}
	}
	kd := diffuseShare(kt)
	dni, diffuse := min(g*(1-kd)/max(m.z[j], 0.087), 1100), g*kd
	return [mostTerms]float64{
		dni * m.x[j], dni * m.y[j], dni * m.z[j], diffuse,
		dni * max(0, 0.7*m.x[j]+0.7*m.z[j]), dni * max(0, -0.7*m.x[j]+0.7*m.z[j]), heat, g * g / 1000,
	}
}

func meanOver(from, to int, of func(int) float64) float64 {
	sum, n := 0.0, 0
	for i := from; i < to; i++ {
		if x := of(i); !math.IsNaN(x) {
			sum += x
			n++
		}
	}
	return sum / float64(n) // 0/0 is NaN
}

// observe reads the unit's power of the day and finds its clear moments.
// Cells that a stage has explained are left out, and so are those in limits (nil for
// none), in which the reference says too little.
func (b *baseline) observe(m *moments, v *view, u *unitView, rating float64, limits []bool, day int64) {
	for j := range m.n {
		p, n, explained, limited := 0.0, 0, false, false
		for i := j * m.per; i < min((j+1)*m.per, v.cells); i++ {
			if u.claimed[i] != "" {
				explained = true
			} else if !math.IsNaN(u.power[i]) {
				p += u.power[i]
				n++
				limited = limited || limits != nil && limits[i]
			}
		}
		b.power[j], b.explained[j] = p/float64(n), explained
		b.usable[j] = !explained && !limited && n > 0 && m.elevation[j] > lowestSun && b.light[j] > 100 && b.power[j] > 0.015*rating && b.power[j] < 1.3*rating
	}
	fit(&b.shine, m.n)
	for j := range m.n {
		b.shine[j] = math.NaN()
		if b.usable[j] {
			b.shine[j] = b.power[j] / max(m.clear[j], 50)
		}
	}
	fit(&b.ratio, m.n)
	roughness(b.shine, b.ratio, m.hours, b.rough)
	b.learnRough(m, day)
	if b.jittery && m.hours < 0.75 {
		b.hourly(m)
	}
	if b.ref != bySky {
		for j := range m.n {
			b.shine[j] = math.NaN()
			if m.elevation[j] > lowestSun && b.light[j] > 100 {
				b.shine[j] = b.light[j] / max(m.clear[j], 50)
			}
		}
		roughness(b.shine, b.ratio, m.hours, b.lightRough)
		for j := range m.n {
			b.rough[j] = larger(b.rough[j], b.lightRough[j])
		}
	}
	limit := b.clearBelow(m.hours)
	for j := range m.n {
		b.weight[j] = 0
		if b.usable[j] && b.rough[j] < limit {
			r := b.rough[j] / (0.4 * limit)
			b.weight[j] = m.clear[j] / 700 / (1 + r*r)
		}
	}
}

// roughWild is the roughness of a moment whose neighbours are not known.
const roughWild = 9

// roughness of y at each moment: the largest relative turn within a moment
// about it, of hourly data its own.
func roughness(y, turn []float64, hours float64, out []float64) {
	n := len(out)
	for j := range n {
		turn[j] = math.NaN()
		if j > 0 && j+1 < n {
			turn[j] = math.Abs(y[j]-(y[j-1]+y[j+1])/2) / max(math.Abs(y[j]), 1e-9)
		}
	}
	for j := range n {
		out[j] = turn[j]
		if math.IsNaN(out[j]) {
			out[j] = roughWild
			continue
		}
		if hours >= 0.75 {
			continue
		}
		if j > 0 {
			out[j] = larger(out[j], turn[j-1])
		}
		if j+1 < n {
			out[j] = larger(out[j], turn[j+1])
		}
	}
}

// larger of two of which either may be missing.
func larger(a, b float64) float64 {
	if math.IsNaN(a) || b > a {
		return b
	}
	return a
}

// learnRough learns how rough the unit's smoothest moments are.
func (b *baseline) learnRough(m *moments, day int64) {
	if b.begun == 0 {
		for j := range m.n {
			if b.usable[j] {
				b.begun = day
				break
			}
		}
	}
	if b.begun == 0 || day > b.begun+roughDays {
		return
	}
	for j := range m.n {
		if b.usable[j] {
			b.roughs = append(b.roughs, b.rough[j])
		}
	}
	if len(b.roughs) > 0 {
		b.smooth = quantile(append(b.scratch[:0], b.roughs...), 0.1)
		b.jittery = b.smooth > jittery
	}
}

// hourly measures the roughness of running means over an hour, for counters
// that jitter.
func (b *baseline) hourly(m *moments) {
	k := max(int(math.Round(1/m.hours)), 1)
	mean := make([]float64, m.n)
	for j := range mean {
		sum, n := 0.0, 0
		for i := j - k/2; i < j-k/2+k; i++ {
			if i >= 0 && i < m.n && !math.IsNaN(b.shine[i]) {
				sum += b.shine[i]
				n++
			}
		}
		mean[j] = math.NaN()
		if n >= k-1 {
			mean[j] = sum / float64(n)
		}
	}
	turn := make([]float64, m.n)
	for j := range turn {
		turn[j] = math.NaN()
		if j >= k && j+k < m.n {
			turn[j] = math.Abs(mean[j]-(mean[j-k]+mean[j+k])/2) / max(mean[j], 1e-9)
		}
	}
	for j := range turn {
		r := turn[j]
		if j >= k/2 {
			r = larger(r, turn[j-k/2])
		}
		if j+k/2 < m.n {
			r = larger(r, turn[j+k/2])
		}
		if math.IsNaN(r) {
			r = roughWild
		}
		b.rough[j] = r
	}
}

// keep takes the day's clear moments into what the model is fitted to.
func (b *baseline) keep(m *moments, day int64) {
	b.learnErrors(m)
	var some []moment
	if n := len(b.spare); n > 0 {
		some, b.spare = b.spare[n-1][:0], b.spare[:n-1]
	}
	k := b.size()
	for j := range m.n {
		if !b.usable[j] || b.weight[j] <= 0 && b.rough[j] > fairlyClear {
			continue
		}
		g, r := max(b.light[j], 100), b.rough[j]/0.03
		one := moment{y: float32(b.power[j] / g), w: float32(b.weight[j]), v: float32(m.clear[j] / 700 / (1 + r*r))}
		for i := range k {
			one.x[i] = float32(b.terms[j][i] / g)
		}
		some = append(some, one)
	}
	b.days = append(b.days, baseDay{day, some})
	if len(b.days) > keptDays {
		b.spare = append(b.spare, b.days[0].moments)
		b.days = slices.Delete(b.days, 0, 1)
	}
}

// workRow is a moment in a fit.
type workRow struct {
	x [mostTerms]float64
	y float64
	w float64 // by its day
	r float64 // residual
}

// refit fits the model to the days before day, those in which the unit had
// lost a part divided by what was left.
func (b *baseline) refit(day int64, factor func(day int64) float64) {
	every := fitEvery
	if b.ref == byPeers {
		every = fitEveryPeers
	}
	if b.since++; b.ready && b.since < every {
		return
	}
	end := len(b.days)
	if b.hold != 0 && day-b.hold <= longestHold {
		end, _ = slices.BinarySearchFunc(b.days, b.hold, func(d baseDay, day int64) int { return int(d.day - day) })
	}
	spans := []int64{windowDays}
	used := 0
	if b.ref == byLight {
		spans = []int64{windowLong, windowDays}
		b.compareWindows()
		if b.shorter {
			used = 1
		}
	}
	for i := range spans { // the one in use last: its fit is what regress leaves
		i = (used + 1 + i) % len(spans)
		root, rms := b.root, b.rms
		rows, days := b.rows(end, day, spans[i], factor)
		if days < leastFitDays || len(rows) < leastFit {
			continue
		}
		coef, scale, ok := b.regress(rows, b.size(), b.ref == bySky)
		if ok {
			b.windows[i].coef, b.windows[i].ready = coef, true
		}
		if !ok || i != used {
			b.root, b.rms = root, rms
			continue
		}
		b.coef, b.scale, b.ready, b.since = coef, scale, true, 0
		b.fits++
	}
}

// rows returns the moments of so many days before the day with the index end, those in
// which the unit had lost a part divided by what was left, and the number of their days.
func (b *baseline) rows(end int, day, span int64, factor func(day int64) float64) (rows []workRow, days int) {
	from := day - span
	if end > 0 {
		from = min(from, b.days[end-1].day-span*6/10)
	}
	rows = b.work[:0]
	for _, d := range b.days[:end] {
		if d.day < from || len(d.moments) == 0 {
			continue
		}
		f, some := factor(d.day), false
		for _, one := range d.moments {
			if one.w == 0 {
				continue
			}
			some = true
			row := workRow{y: float64(one.y) / f, w: float64(one.w)}
			for i, x := range one.x {
				row.x[i] = float64(x)
			}
			rows = append(rows, row)
		}
		if some {
			days++
		}
	}
	b.work = rows
	return rows, days
}

// compareWindows decides which window is used: the longer one, unless days that neither
// had seen deviated clearly less from the shorter one.
func (b *baseline) compareWindows() {
	long, short := b.windows[0].errors.quantile(0.5, windowLeast, math.NaN()), b.windows[1].errors.quantile(0.5, windowLeast, math.NaN())
	switch {
	case b.shorter && long < windowQuieter*short:
		b.shorter = false
	case !b.shorter && short < windowQuieter*long:
		b.shorter = true
	}
}

// learnErrors stores how far the day deviates from the fit of each window.
func (b *baseline) learnErrors(m *moments) {
	if b.ref != byLight {
		return
	}
	k := b.size()
	for i := range b.windows {
		w := &b.windows[i]
		if !w.ready {
			continue
		}
		off := b.scratch[:0]
		for j := range m.n {
			if b.weight[j] <= 0 {
				continue
			}
			e := 0.0
			for a := range k {
				e += w.coef[a] * b.terms[j][a]
			}
			if e > 0 {
				off = append(off, math.Log(b.power[j]/e))
			}
		}
		if len(off) >= leastErrors {
			w.errors.remember(math.Abs(median(off)), windowErrors)
		}
		b.scratch = off
	}
}

// leastErrors is the number of clear moments of a day whose deviation counts.
const leastErrors = 4

// longestHold is for how many days a loss in question keeps the model from
// learning.
const longestHold = 35

// Parameters of the regression: number of iterations, ridge penalty on terms of
// unit rms, residuals above which a moment gets no weight, and the weight of a
// moment below the clear-sky envelope.
const (
	fitTurns   = 6
	fitRidge   = 1e-4
	fitReach   = 4
	fitBeneath = 0.15
)

// regress is a weighted robust regression of y on the first k terms; scale is
// the residuals' robust standard deviation. An envelope is drawn to the upper
// side: clouds and haze only take.
func (b *baseline) regress(rows []workRow, k int, envelope bool) (coef [mostTerms]float64, scale float64, ok bool) {
	var rms [mostTerms]float64
	total := 0.0
	for i := range rows {
		r := &rows[i]
		total += r.w
		for a := range k {
			rms[a] += r.w * r.x[a] * r.x[a]
		}
	}
	if total <= 0 {
		return coef, 0, false
	}
	for a := range k {
		rms[a] = math.Sqrt(rms[a]/total) + 1e-12
	}
	off := make([]float64, len(rows))
	for turn := range fitTurns {
		var normal [mostTerms][mostTerms]float64
		var right [mostTerms]float64
		for i := range rows {
			r := &rows[i]
			w := r.w
			if turn > 0 {
				switch q := r.r / (fitReach * scale); {
				case envelope:
					w *= min(1, 3*scale/max(math.Abs(r.r), 1e-12))
					if r.r <= 0 {
						w *= fitBeneath
					}
				case q > -1 && q < 1:
					w *= (1 - q*q) * (1 - q*q)
				default:
					continue
				}
			}
			for a := range k {
				wx := w * r.x[a]
				right[a] += wx * r.y
				for c := 0; c <= a; c++ {
					normal[a][c] += wx * r.x[c]
				}
			}
		}
		for a := range k {
			for c := 0; c <= a; c++ {
				normal[a][c] /= rms[a] * rms[c] * total
			}
			normal[a][a] += fitRidge
			right[a] /= rms[a] * total
		}
		if !solve(&normal, &right, k) {
			return coef, 0, false
		}
		for a := range k {
			coef[a] = right[a] / rms[a]
		}
		for i := range rows {
			r := &rows[i]
			e := r.y
			for a := range k {
				e -= coef[a] * r.x[a]
			}
			r.r = e
			off[i] = math.Abs(e)
		}
		scale = 1.4826*median(off) + 1e-12
		if turn == fitTurns-1 {
			b.root, b.rms = normal, rms
		}
	}
	return coef, scale, true
}

// leverage is how far terms lie from those that the model was fitted to: one on
// average within them, more where the model reaches beyond what it has seen.
func (b *baseline) leverage(x *[mostTerms]float64, light float64) float64 {
	k := b.size()
	var y [mostTerms]float64
	sum := 0.0
	for i := range k {
		y[i] = x[i] / light / b.rms[i]
		for c := range i {
			y[i] -= b.root[i][c] * y[c]
		}
		y[i] /= b.root[i][i]
		sum += y[i] * y[i]
	}
	return sum / float64(k)
}

// solve solves the first k rows of a symmetric positive system, whose lower
// half is given, in place.
func solve(a *[mostTerms][mostTerms]float64, b *[mostTerms]float64, k int) bool {
	for i := range k {
		for j := 0; j <= i; j++ {
			sum := a[i][j]
			for c := range j {
				sum -= a[i][c] * a[j][c]
			}
			if i == j {
				if sum <= 0 {
					return false
				}
				a[i][i] = math.Sqrt(sum)
			} else {
				a[i][j] = sum / a[j][j]
			}
		}
	}
	forward(a, b, k)
	return true
}

// forward solves the first k rows of a system by its Cholesky factor, in place.
func forward(a *[mostTerms][mostTerms]float64, b *[mostTerms]float64, k int) {
	for i := range k {
		for c := range i {
			b[i] -= a[i][c] * b[c]
		}
		b[i] /= a[i][i]
	}
	for i := k - 1; i >= 0; i-- {
		for c := i + 1; c < k; c++ {
			b[i] -= a[c][i] * b[c]
		}
		b[i] /= a[i][i]
	}
}

// normalOf is the Cholesky factor of the weighted normal matrix of the rows'
// first k terms over their rms, and the sum of the weights.
func normalOf(rows []workRow, k int) (root [mostTerms][mostTerms]float64, rms [mostTerms]float64, total float64) {
	for i := range rows {
		r := &rows[i]
		total += r.w
		for a := range k {
			rms[a] += r.w * r.x[a] * r.x[a]
		}
	}
	for a := range k {
		rms[a] = math.Sqrt(rms[a]/total) + 1e-12
	}
	for i := range rows {
		r := &rows[i]
		for a := range k {
			wx := r.w * r.x[a]
			for c := 0; c <= a; c++ {
				root[a][c] += wx * r.x[c]
			}
		}
	}
	for a := range k {
		for c := 0; c <= a; c++ {
			root[a][c] /= rms[a] * rms[c] * total
		}
		root[a][a] += fitRidge
	}
	var none [mostTerms]float64
	if !solve(&root, &none, k) {
		return root, rms, 0
	}
	return root, rms, total
}
