package quantile

import (
	"errors"
	"fmt"
	"slices"
)

// Calibrator shifts the outer quantiles of forecasts so that they are missed
// as often as they should be: conformal prediction, one-sided for each
// quantile and normalised by the interval's width, with a level that follows
// the misses as actuals arrive (Romano, Patterson and Candès 2019; Gibbs and
// Candès 2021). The median is never touched.
//
// It is plain data: its exported fields are its whole state. A Calibrator must
// not be used by several goroutines while one of them observes.
type Calibrator struct {
	Quantiles []float64   // ascending
	Low, High int         // the quantiles whose distance is the width
	Floor     float32     // added to the width, in units of the forecast
	Gamma     float64     // how far one observation moves a level
	Levels    []float64   // one a quantile
	Pools     [][]float32 // scores in order of arrival, oldest first; one a quantile
}

const (
	poolLimit          = 2048       // scores of a quantile, the newest
	poolMinimum        = 50         // below it nothing is shifted
	levelLow, levelTop = 0.01, 0.99 // levels stay inside
	// levelADay is how far a day of misses moves a level: a tenth. A third of
	// that left bands too narrow for weeks in a new season.
	levelADay = 0.1
)

// NewCalibrator starts empty: [Calibrator.Adjust] changes nothing until scores
// are there. perDay is how many observations a day brings, floor 1 % of the
// capacity in units of the forecast.
func NewCalibrator(quantiles []float64, floor float32, perDay int) *Calibrator {
	c := &Calibrator{Quantiles: slices.Clone(quantiles), High: len(quantiles) - 1, Floor: floor,
		Gamma: levelADay / float64(max(perDay, 1)), Levels: slices.Clone(quantiles), Pools: make([][]float32, len(quantiles))}
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

// Start takes out-of-sample forecasts in time order, row-major, with what came
// true, as the first scores, and lets the levels learn from the same. They
// begin at their mean over that time: where the last days left them says more
// of those days than of the next.
func (c *Calibrator) Start(forecasts, actual []float32) {
	k := len(c.Quantiles)
	for i, y := range actual {
		c.score(forecasts[i*k:i*k+k], y)
	}
	for j := range c.Pools {
		c.Pools[j] = thin(c.Pools[j], poolLimit/2)
	}
	adjusted := make([]float32, k)
	sorted, sum := c.sorted(), make([]float64, k)
	for i, y := range actual {
		copy(adjusted, forecasts[i*k:i*k+k])
		c.shift(adjusted, sorted)
		c.learn(adjusted, y)
		for j, level := range c.Levels {
			sum[j] += level
		}
	}
	for j := range c.Levels {
		if len(actual) > 0 {
			c.Levels[j] = sum[j] / float64(len(actual))
		}
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

// Observe learns from what came true: forecast as the learners said it,
// adjusted as it was issued.
func (c *Calibrator) Observe(forecast, adjusted []float32, actual float32) {
	c.score(forecast, actual)
	c.learn(adjusted, actual)
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

func (c *Calibrator) learn(adjusted []float32, actual float32) {
	for j, q := range c.Quantiles {
		hit := 0.0
		if actual <= adjusted[j] {
			hit = 1
		}
		c.Levels[j] = min(max(c.Levels[j]+float64(c.Gamma*(q-hit)), levelLow), levelTop)
	}
}

func isMedian(q float64) bool { return q > 0.5-1e-9 && q < 0.5+1e-9 }

// Shifts is the state of a calibrator made ready to adjust many forecasts.
type Shifts struct {
	low, high int
	floor     float32
	by        []float32 // of the width, one a quantile
}

// Shifts are how far each quantile is to be moved, in widths.
func (c *Calibrator) Shifts() Shifts {
	by := make([]float32, len(c.Quantiles))
	var pool []float32
	for j, p := range c.Pools {
		if at := c.rank(j); at >= 0 {
			pool = append(pool[:0], p...)
			nth(pool, at)
			by[j] = pool[at]
		}
	}
	return Shifts{c.Low, c.High, c.Floor, by}
}

// rank is which of a quantile's scores in order is its shift; -1 is none.
func (c *Calibrator) rank(j int) int {
	n := len(c.Pools[j])
	if n < poolMinimum || isMedian(c.Quantiles[j]) {
		return -1
	}
	return int(c.Levels[j] * float64(n-1))
}

func (c *Calibrator) sorted() [][]float32 {
	out := make([][]float32, len(c.Pools))
	for j, p := range c.Pools {
		out[j] = slices.Sorted(slices.Values(p))
	}
	return out
}

func (c *Calibrator) shift(q []float32, sorted [][]float32) {
	by := make([]float32, len(c.Quantiles))
	for j, p := range sorted {
		if at := c.rank(j); at >= 0 {
			by[j] = p[at]
		}
	}
	Shifts{c.Low, c.High, c.Floor, by}.Adjust(q)
}

// Adjust moves one forecast's quantiles and sorts them.
func (s Shifts) Adjust(q []float32) {
	width := q[s.high] - q[s.low] + s.floor
	for j := range q {
		q[j] += float32(s.by[j] * width)
	}
	Rearrange(q)
}

// Check says why the state cannot be used: it makes a calibrator from outside
// bytes safe.
func (c *Calibrator) Check() error {
	n := len(c.Quantiles)
	if n == 0 || len(c.Levels) != n || len(c.Pools) != n || c.Low < 0 || c.Low > c.High || c.High >= n {
		return errors.New("calibrator: its parts do not agree")
	}
	if !(c.Floor > 0) || !(c.Gamma >= 0 && c.Gamma <= 1) {
		return fmt.Errorf("calibrator: floor %g, gamma %g", c.Floor, c.Gamma)
	}
	for j, q := range c.Quantiles {
		if !(q > 0 && q < 1) || j > 0 && q <= c.Quantiles[j-1] || !(c.Levels[j] >= 0 && c.Levels[j] <= 1) || len(c.Pools[j]) > poolLimit {
			return fmt.Errorf("calibrator: quantile %g at level %g with %d scores", q, c.Levels[j], len(c.Pools[j]))
		}
		for _, v := range c.Pools[j] {
			if v-v != 0 {
				return fmt.Errorf("calibrator: a score of quantile %g is %g", q, v)
			}
		}
	}
	return nil
}
