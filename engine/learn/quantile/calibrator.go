// Package quantile computes quantiles of samples and calibrates those of forecasts.
package quantile

import (
	"errors"
	"fmt"
	"slices"
)

// Calibrator shifts the outer quantiles of forecasts so that they are exceeded
// as often as they should be: conformal prediction, one-sided for each quantile
// and normalised by the interval's width, with levels that follow the misses as
// actuals arrive (Romano, Patterson and Candès 2019; Gibbs and Candès 2021).
// The best adaptation rate is not known beforehand: levels of several rates run
// in parallel, each by its own misses, and a quantile moves by their mean. The
// median is never changed.
//
// It is plain data: its exported fields are its whole state. A Calibrator must
// not be used concurrently with Observe.
type Calibrator struct {
	Quantiles []float64   // ascending
	Low, High int         // the quantiles whose distance is the width
	Floor     float32     // added to the width, in units of the forecast
	Gamma     float64     // how far one observation moves a level of the middle rate
	Levels    []float64   // one a quantile for each rate, rate by rate
	Observed  int         // observations, up to as many as Start keeps scores
	Pools     [][]float32 // scores in order of arrival, oldest first; one a quantile
}

const (
	poolLimit          = 2048       // scores of a quantile, the newest
	poolStart          = 512        // of them from before the first observation
	startTrust         = 0.25       // share of a shift that counts before the first observation
	poolMinimum        = 50         // below it nothing is shifted
	levelLow, levelTop = 0.01, 0.99 // levels stay inside
	// levelADay is how far a day of misses moves a level of the middle rate.
	levelADay = 0.1
)

// rates are how fast levels follow, in shares of [Calibrator.Gamma].
var rates = [...]float64{0.3, 1, 3}

// NewCalibrator starts empty: [Calibrator.Adjust] changes nothing until scores
// are there. perDay is how many observations a day brings, floor 1 % of the
// capacity in units of the forecast.
func NewCalibrator(quantiles []float64, floor float32, perDay int) *Calibrator {
	c := &Calibrator{Quantiles: slices.Clone(quantiles), High: len(quantiles) - 1, Floor: floor,
		Gamma: levelADay / float64(max(perDay, 1)), Levels: slices.Repeat(quantiles, len(rates)), Pools: make([][]float32, len(quantiles))}
	for i, q := range quantiles {
		if q <= 0.1+1e-9 {
			c.Low = i
		}
		if q >= 0.9-1e-9 {
			c.High = min(c.High, i)
		}
	}
	return c
}

// Start takes out-of-sample forecasts in time order, row-major, with the actual
// values, as the first scores. They come from smaller learners and from another
// time, so shifts count in part until observations arrive. The levels are kept:
// what they would learn describes that time more than the future.
func (c *Calibrator) Start(forecasts, actual []float32) {
	k := len(c.Quantiles)
	for i, y := range actual {
		c.score(forecasts[i*k:i*k+k], y)
	}
	for j := range c.Pools {
		c.Pools[j] = thin(c.Pools[j], poolStart)
	}
}

// thin keeps at most limit values, evenly spread.
func thin(v []float32, limit int) []float32 {
	if len(v) <= limit {
		return v
	}
	out := make([]float32, limit)
	for i := range out {
		out[i] = v[i*len(v)/limit]
	}
	return out
}

// Observe learns from an actual value and its forecast, as the learners gave
// it, under the shifts with which it was issued.
func (c *Calibrator) Observe(s Shifts, forecast []float32, actual float32) {
	width, n := s.width(forecast), len(c.Quantiles)
	for i, by := range s.each {
		j := i % n
		hit := 0.0
		if actual <= forecast[j]+float32(by*width) {
			hit = 1
		}
		c.Levels[i] = min(max(c.Levels[i]+float64(rates[i/n]*c.Gamma*(c.Quantiles[j]-hit)), levelLow), levelTop)
	}
	c.Observed = min(c.Observed+1, poolStart)
	c.score(forecast, actual)
	for j, p := range c.Pools {
		if len(p) > poolLimit {
			c.Pools[j] = append(p[:0], p[len(p)-poolLimit:]...)
		}
	}
}

func (c *Calibrator) score(forecast []float32, actual float32) {
	width := forecast[c.High] - forecast[c.Low] + c.Floor
	for j, q := range c.Quantiles {
		if !isMedian(q) {
			c.Pools[j] = append(c.Pools[j], (actual-forecast[j])/width)
		}
	}
}

func isMedian(q float64) bool { return q > 0.5-1e-9 && q < 0.5+1e-9 }

// Shifts is the state of a calibrator prepared to adjust many forecasts.
type Shifts struct {
	low, high int
	floor     float32
	each      []float32 // of the width, one a level
	by        []float32 // of the width, one a quantile
}

// Shifts are how far each quantile is to be moved, in widths.
func (c *Calibrator) Shifts() Shifts {
	n := len(c.Quantiles)
	s := Shifts{c.Low, c.High, c.Floor, make([]float32, len(c.Levels)), make([]float32, n)}
	trust := startTrust + (1-startTrust)*float32(c.Observed)/poolStart
	var pool []float32
	for j, p := range c.Pools {
		if len(p) < poolMinimum || isMedian(c.Quantiles[j]) {
			continue
		}
		pool = append(pool[:0], p...)
		for i := j; i < len(c.Levels); i += n {
			at := int(c.Levels[i] * float64(len(p)-1))
			nth(pool, at)
			s.each[i] = trust * pool[at]
			s.by[j] += s.each[i] / float32(len(rates))
		}
	}
	return s
}

func (s *Shifts) width(q []float32) float32 { return q[s.high] - q[s.low] + s.floor }

// Adjust moves one forecast's quantiles and sorts them.
func (s *Shifts) Adjust(q []float32) {
	width := s.width(q)
	for j := range q {
		q[j] += float32(s.by[j] * width)
	}
	Rearrange(q)
}

// Check returns an error if the state cannot be used. It makes a calibrator
// decoded from untrusted bytes safe.
func (c *Calibrator) Check() error {
	n := len(c.Quantiles)
	if n == 0 || len(c.Levels) != n*len(rates) || len(c.Pools) != n || c.Low < 0 || c.Low > c.High || c.High >= n {
		return errors.New("calibrator: its parts do not agree")
	}
	if !(c.Floor > 0) || !(c.Gamma >= 0 && c.Gamma <= 1) || c.Observed < 0 || c.Observed > poolStart {
		return fmt.Errorf("calibrator: floor %g, gamma %g, %d observations", c.Floor, c.Gamma, c.Observed)
	}
	for i, level := range c.Levels {
		if !(level >= 0 && level <= 1) {
			return fmt.Errorf("calibrator: level %d is %g", i, level)
		}
	}
	for j, q := range c.Quantiles {
		if !(q > 0 && q < 1) || j > 0 && q <= c.Quantiles[j-1] || len(c.Pools[j]) > poolLimit {
			return fmt.Errorf("calibrator: quantile %g with %d scores", q, len(c.Pools[j]))
		}
		for _, v := range c.Pools[j] {
			if v-v != 0 {
				return fmt.Errorf("calibrator: a score of quantile %g is %g", q, v)
			}
		}
	}
	return nil
}

// Pinball is the mean pinball (check) loss of the forecasts of quantile q:
// q·e where the actual lies e above the forecast, (1-q)·|e| below. Koenker and
// Bassett 1978.
func Pinball(q float64, actual, forecast []float32) float64 {
	if len(actual) == 0 {
		return 0
	}
	var sum float64
	for i, y := range actual {
		e := float64(y) - float64(forecast[i])
		sum += max(float64(q*e), float64((q-1)*e))
	}
	return sum / float64(len(actual))
}

// Rearrange sorts one forecast's quantiles, which never worsens their pinball
// loss (Chernozhukov, Fernández-Val and Galichon 2010).
func Rearrange(quantiles []float32) { slices.Sort(quantiles) }
