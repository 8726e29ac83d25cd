package simulate

import (
	"math"
	"math/rand/v2"
	"time"
)

// sky is the kind of weather of a day.
type sky int

const (
	clear sky = iota
	fair
	broken
	overcast
	rain
)

// transmission maps the standard normal cloud state z of a kind of sky to a
// share of the clear-sky irradiance: low + (high-low)·σ((z-edge)/width). The
// figures were chosen so that the distribution of daily clearness is like
// measured ones: near 1 on clear days, bimodal on broken ones, 0.1 to 0.4 in
// rain.
var transmission = [...]struct{ low, high, edge, width float64 }{
	clear:    {0.60, 1.00, -2.9, 0.25},
	fair:     {0.35, 1.03, -1.0, 0.30},
	broken:   {0.25, 1.05, 0.1, 0.35},
	overcast: {0.12, 0.75, 1.2, 0.80},
	rain:     {0.05, 0.50, 1.6, 0.90},
}

// persistence is the probability that a day's sky is that of the day before.
const persistence = 0.45

// skyOf returns the sky of a day. Whether a day repeats the previous one is
// drawn for each day independently, so no history beyond the last new draw is
// needed.
func (s *Site) skyOf(dayIndex int) sky {
	for ; s.chance(dayIndex, "persist") < persistence; dayIndex-- {
	}
	wet := s.wetness(dayIndex)
	var weights [5]float64
	var sum float64
	for i := range weights {
		weights[i] = (1-wet)*s.Climate.Dry[i] + wet*s.Climate.Wet[i]
		sum += weights[i]
	}
	u := s.chance(dayIndex, "sky") * sum
	for i, w := range weights {
		if u -= w; u < 0 {
			return sky(i)
		}
	}
	return clear
}

// Sunny reports whether the site's day that contains t has a clear or fair sky.
func (s *Site) Sunny(t time.Time) bool { return s.skyOf(s.dayIndex(t)) <= fair }

// wetness goes from 0 in the driest season to 1 in the wettest.
func (s *Site) wetness(dayIndex int) float64 {
	return 0.5 + 0.5*math.Cos(2*math.Pi*(dayOfYear(dayIndex)-s.Climate.WettestDay)/365.25)
}

// temperature gives the ambient temperature of a day in °C at a share of it (0
// at midnight): season, weather that wanders over days, and the sun's swing.
func (s *Site) temperature(dayIndex int) func(share float64) float64 {
	c, date := s.Climate, dayOfYear(dayIndex)
	wander := [2]float64{s.anomaly(dayIndex), s.anomaly(dayIndex + 1)}
	swing := [2]float64{s.swing(dayIndex), s.swing(dayIndex + 1)}
	return func(share float64) float64 {
		between := func(v [2]float64) float64 { return (1-share)*v[0] + share*v[1] }
		season := c.SeasonC * math.Cos(2*math.Pi*(date+share-c.WarmestDay)/365.25)
		// Coldest at 3 o'clock, warmest at 15 o'clock.
		return c.MeanC + season + 3*between(wander) + c.DayC*between(swing)*math.Cos(2*math.Pi*(share-15.0/24))
	}
}

func (s *Site) anomaly(dayIndex int) float64 {
	var a float64
	for i, w := range [...]float64{0.75, 0.55, 0.35} {
		a += w * s.normal(dayIndex-i, "temperature")
	}
	return a
}

// swing returns the share of the clear day's temperature range that remains
// under a sky.
func (s *Site) swing(dayIndex int) float64 {
	return [...]float64{clear: 1, fair: 0.95, broken: 0.75, overcast: 0.45, rain: 0.3}[s.skyOf(dayIndex)]
}

// dryDays is the number of days since it last rained, counted from the later
// of that rain and the day from.
func (s *Site) dryDays(dayIndex, from int) int {
	n := 0
	for d := dayIndex; d > from && s.skyOf(d) != rain; d-- {
		n++
	}
	return n
}

// The cloud state wanders as an AR(1) process on the simulation's cells. Units
// of one site share most of it.
const (
	cloudMemory = 0.88 // correlation of neighbouring cells: 40 min e-folding at 5 min
	cloudShare  = 0.9  // correlation of a unit's sky with the site's
	unitNoise   = 0.015
)

// clouds fills z with a standard normal AR(1) process.
func clouds(r *rand.Rand, z []float64) {
	keep, add := cloudMemory, math.Sqrt(1-cloudMemory*cloudMemory)
	v := r.NormFloat64()
	for i := range z {
		z[i] = v
		v = keep*v + add*r.NormFloat64()
	}
}

func dayOfYear(dayIndex int) float64 {
	return float64(time.Unix(int64(dayIndex)*86400, 0).UTC().YearDay())
}

// random returns a generator that depends on the site, a day and a purpose
// only.
func (s *Site) random(dayIndex int, purpose string) *rand.Rand {
	return rand.New(rand.NewPCG(mix(s.seed, hashString(purpose)), uint64(int64(dayIndex))))
}

// chance is uniform in [0, 1), a function of site, day and purpose.
func (s *Site) chance(dayIndex int, purpose string) float64 {
	return float64(mix(mix(s.seed, hashString(purpose)), uint64(int64(dayIndex)))>>11) / (1 << 53)
}

// normal is standard normal, a function of site, day and purpose (Box-Muller).
func (s *Site) normal(dayIndex int, purpose string) float64 {
	u, v := s.chance(dayIndex, purpose+" a"), s.chance(dayIndex, purpose+" b")
	return math.Sqrt(-2*math.Log(1-u)) * math.Cos(2*math.Pi*v)
}

// mix is a 64-bit hash of two numbers (the finaliser of SplitMix64).
func mix(a, b uint64) uint64 {
	z := a + 0x9e3779b97f4a7c15*(b+1)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// hashString is FNV-1a.
func hashString(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}
