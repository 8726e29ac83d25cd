package forecast

import (
	"app.sunloop/engine/learn/portable"
)

// The analog forecast fits nothing: it takes the clear-sky index of the days
// that followed days similar to the last two, with priority for recent days and
// the same season. The remaining difference between the last day and the day
// before a past day shifts the index that followed, as in a regression on the
// nearest neighbours, because few past days are as overcast or as clear as the
// last.
const (
	likeDay, likeEve  = 0.25, 1.0 // width of the likeness of the last day and the one before
	dayFollows        = 0.4       // how much of a difference in index is still there a day later
	recentDays        = 60        // time constant
	seasonDays        = 25        // time constant around the same day of former years
	neighbourWeight   = 0.35      // of the hours before and after
	indexBins         = 104
	binsPerIndex      = indexBins / topIndex
	negligible        = 0.004 // of the greatest weight
	priorDays         = 1     // days the prior distribution counts as
	analogHorizonDays = 4     // leads from here on are alike
)

// analogs holds the weighted past days for one issue hour and lead.
type analogs struct {
	issue  int64   // no hour from it on is looked at
	shift  []int64 // hours back
	weight []float32
	move   []float32 // of the index that followed
}

// findAnalogs weights the days before issue (an hour) for targets lead days
// ahead: the weight of day n follows from the similarity of the index before
// issue-24n to that before issue. The longer the lead, the less the similarity
// counts.
func (p *history) findAnalogs(issue int64, lead int) analogs {
	a := analogs{issue: issue}
	widen := 1 + 0.75*float32(min(lead, analogHorizonDays))
	follows := float32(dayFollows)
	for range lead {
		follows *= dayFollows
	}
	one, two := p.index(issue-24, issue), p.index(issue-48, issue-24)
	most := float32(0)
	for n := lead + 1; n-lead < len(nearness) && issue-int64(24*n) > p.start-24; n++ {
		w := nearness[n-lead]
		if w < negligible {
			continue
		}
		at := issue - int64(24*n)
		then := p.index(at-24, at)
		if w *= similarity(one, then, likeDay*widen); w < negligible*most {
			continue
		}
		if w *= similarity(two, p.index(at-48, at-24), likeEve*widen); w < negligible*most || w == 0 {
			continue
		}
		most = max(most, w)
		move := follows * (one - then)
		if move != move {
			move = 0
		}
		a.shift, a.weight, a.move = append(a.shift, int64(24*n)), append(a.weight, w), append(a.move, move)
	}
	return a
}

// nearness is the weight of a day by how many days ago it was: recent, or of
// this season in one of the last ten years.
var nearness = func() (w [3660]float32) {
	for n := 1; n < len(w); n++ {
		v := portable.Exp(-float64(n) / recentDays)
		if n > 200 {
			v += portable.Exp(-float64(apart(n%365, 0)) / seasonDays)
		}
		w[n] = float32(v)
	}
	return w
}()

// similarity is 1 for equal indices, less the further they are apart; where one
// is not known it is that of a distance of one width.
func similarity(a, b, width float32) float32 {
	if a != a || b != b {
		return 0.6
	}
	d := a - b
	if d < 0 {
		d = -d
	}
	at := d / width * bellSteps
	if at >= float32(len(bell)) {
		return 0
	}
	return bell[int(at)]
}

// bell is the Gaussian by steps of a thirty-second of its width.
const bellSteps = 32

var bell = func() (w [4 * bellSteps]float32) {
	for i := range w {
		d := (float64(i) + 0.5) / bellSteps
		w[i] = float32(portable.Exp(-0.5 * d * d))
	}
	return w
}()

// prior is the distribution of the clear-sky index used without data: three in
// ten overcast, three in ten broken, four in ten clear.
var prior = func() (h [indexBins]float32) {
	for _, part := range []struct{ from, to, share float32 }{{0.05, 0.4, 0.3}, {0.4, 0.85, 0.3}, {0.85, 1.05, 0.4}} {
		a, b := int(part.from*binsPerIndex), int(part.to*binsPerIndex)
		for i := a; i < b; i++ {
			h[i] += part.share / float32(b-a)
		}
	}
	return h
}()

// quantiles writes the quantiles of the clear-sky index at hour h to out.
func (a analogs) quantiles(p *history, h int64, quantiles []float64, out []float32) {
	bins := prior
	total := float32(priorDays)
	for i := range bins {
		bins[i] *= priorDays
	}
	for i, shift := range a.shift {
		for d, share := range [3]float32{neighbourWeight, 1, neighbourWeight} {
			at := h - shift + int64(d) - 1
			k := p.at(at)
			if k != k || at >= a.issue {
				continue
			}
			w := a.weight[i] * share
			bins[min(int(max(k+a.move[i], 0)*binsPerIndex), indexBins-1)] += w
			total += w
		}
	}
	quantilesOf(&bins, total, quantiles, out)
}

// quantilesOf reads ascending quantiles off a histogram of indices.
func quantilesOf(bins *[indexBins]float32, total float32, quantiles []float64, out []float32) {
	sum, b := float32(0), 0
	for j, q := range quantiles {
		target := float32(q) * total
		for b < indexBins-1 && sum+bins[b] < target {
			sum += bins[b]
			b++
		}
		inside := float32(0.5)
		if bins[b] > 0 {
			inside = min(max((target-sum)/bins[b], 0), 1)
		}
		out[j] = (float32(b) + inside) / binsPerIndex
	}
}
