package detect

import "math"

// daySky holds the sky condition of the day as derived from the site's power.
type daySky struct {
	smooth   bool // the power goes over the day without breaks: few clouds, or an even cover
	bright   bool // smooth, and a good part of the best that was made at these hours
	complete bool // no gap by day
}

// Figures of the judgement.
const (
	skyRough  = 0.05 // mean turn from sample to sample over the mean power, in quarter hours
	skyBright = 0.6
)

// judgeSky fills v.sky and v.share from the median of the units' power over
// their ratings.
func judgeSky(v *view, s *session) {
	var sumP, rough, best float64
	shares := make([]float64, 0, len(v.units))
	last, before := math.NaN(), math.NaN()
	v.sky = daySky{complete: true}
	for i := range v.cells {
		shares = shares[:0]
		for k := range v.units {
			if r := s.rating(k); r > 0 && !math.IsNaN(v.units[k].power[i]) {
				shares = append(shares, max(v.units[k].power[i], 0)/r)
			}
		}
		p := median(shares)
		v.share[i] = p
		if math.IsNaN(p) {
			v.sky.complete = v.sky.complete && !v.day[i]
			continue
		}
		sumP += p
		best += max(zeroIfMissing(s.memory.stats[v.slot(i)].high), 0)
		if turn := math.Abs(last - (p+before)/2); !math.IsNaN(turn) {
			rough += turn
		}
		before, last = last, p
	}
	if sumP <= 0 {
		return
	}
	v.sky.smooth = rough/sumP <= skyRough*math.Sqrt(max(float64(v.step)/900, 0.5))
	v.sky.bright = v.sky.smooth && best > 0 && sumP > skyBright*best
}
