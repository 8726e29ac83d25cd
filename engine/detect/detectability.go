package detect

import (
	"fmt"
	"math"
	"slices"

	"app.sunloop/internal/display"
)

// Detectability states the smallest lasting loss of a unit that is detected.
type Detectability struct {
	Basis      string  // peers, irradiance or clear sky
	Noise      float64 // standard deviation of a day's figure, as a share
	Detectable float64 // loss that is found five times in six, as a share; NaN while too few days are known
	ClearDays  int     // usable days that it takes
	Usable     float64 // share of the days of the last two months that were usable
}

// detectionDays is the number of usable days after which a detectable loss is
// found. Few are found later, because the drift over weeks outweighs the
// information of more days.
const detectionDays = 6

// detectionPower is the factor by which a loss must exceed the limit of a finding to be
// found five times in six. The limit is in standard errors of the mean loss.
const detectionPower = 1.22

// detectability returns the detectable loss of each unit with a model of its
// history, by asset id.
func (s *session) detectability() map[string]Detectability {
	out := map[string]Detectability{}
	for k := range s.losses.units {
		u := &s.losses.units[k]
		b := u.watching(s.losses.day)
		if b == nil {
			continue
		}
		first := b.index[0].day
		days := s.losses.day - max(first, s.losses.day-60) + 1
		usable := 0
		for _, seen := range b.index {
			if seen.day > s.losses.day-60 {
				usable++
			}
		}
		rate := min(max(float64(usable)/float64(max(days, 1)), 0.05), 1)
		limit := stepLimit
		switch b.ref {
		case bySky:
			limit = stepLimitSky
		case byPeers:
			limit = stepLimitPeers
		}
		d := Detectability{Basis: referenceNames[b.ref], Noise: math.Hypot(b.noise.day, b.noise.wander), Detectable: math.NaN(), ClearDays: detectionDays, Usable: rate}
		if len(b.index) >= leastNoiseDays {
			sigma := math.Hypot(stepError(b.noise, 1/rate, 24, detectionDays), slowWander(b.ref))
			d.Detectable = 1 - math.Exp(-detectionPower*limit*sigma)
		}
		out[s.in.Units[k].AssetID] = d
	}
	return out
}

// leastNoiseDays is the number of usable days required to estimate the noise.
const leastNoiseDays = 10

// watching is the model that a loss of the unit would be announced by, or nil.
func (u *unitLosses) watching(day int64) *baseline {
	i := slices.IndexFunc(u.models, func(b *baseline) bool {
		n := len(b.index)
		return n > 0 && day-b.index[n-1].day < 4*staleDays
	})
	if i < 0 {
		return nil
	}
	return u.models[i]
}

// Text describes the detectable loss for people.
func (d Detectability) Text() string {
	against := map[string]string{"peers": "its peers", "irradiance": "the irradiance", "clear sky": "the light of a clear sky"}[d.Basis]
	if math.IsNaN(d.Detectable) {
		return fmt.Sprintf("it is compared with %s; too few clear days are known yet to state the detectable losses", against)
	}
	return fmt.Sprintf("it is compared with %s, from which a day deviates by %s: a lasting loss of %s is detected within %s",
		against, display.Percentage(100*d.Noise), display.Percent(math.Ceil(100*d.Detectable)/100), display.CountOf(d.ClearDays, "clear day", "clear days"))
}

// stepError is the standard error of a step after so many usable days, with so
// many before, a number of days apart.
func stepError(n noise, apart float64, before, after int) float64 {
	size := min(before+after, shiftDays)
	var c covariance
	for i := range size {
		for j := 0; j <= i; j++ {
			c[i][j] = n.wander * n.wander * math.Exp(-float64(i-j)*apart/n.days)
		}
		c[i][i] += n.day * n.day
	}
	c.factor(size)
	one := c.whiten(size, func(int) float64 { return 1 })
	step := c.whiten(size, func(i int) float64 {
		if i >= before {
			return 1
		}
		return 0
	})
	var oo, os, ss float64
	for i := range size {
		oo, os, ss = oo+one[i]*one[i], os+one[i]*step[i], ss+step[i]*step[i]
	}
	return 1 / math.Sqrt(ss-os*os/oo)
}
