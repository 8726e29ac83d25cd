package forecast

import (
	"fmt"
	"slices"
	"time"
)

// Options are how a model is trained. The zero value is ready.
type Options struct {
	Seed       uint64
	Workers    int           // goroutines at most; 0 is 1. The model does not depend on it
	Resolution time.Duration // the finest step to learn and forecast in; 0 is 15 minutes
	Quantiles  []float64     // ascending, with 0.1, 0.5 and 0.9; nil is those three. An odd number with 0.5 in the middle
	Origins    int           // of the rolling-origin backtest; 0 is 3, negative is none (then members weigh the same)
	// Progress, if not nil, is called with the stage and the share of the
	// work done, 0..1, from the goroutine that called Train.
	Progress func(stage string, fraction float64)

	plain bool // the plain kernels, for comparing
}

var defaultQuantiles = []float64{0.1, 0.5, 0.9}

func (o Options) withDefaults() (Options, error) {
	if o.Workers <= 0 {
		o.Workers = 1
	}
	if o.Origins == 0 {
		o.Origins = 3
	}
	if o.Quantiles == nil {
		o.Quantiles = defaultQuantiles
	}
	if o.Progress == nil {
		o.Progress = func(string, float64) {}
	}
	n := len(o.Quantiles)
	if n%2 == 0 || n > 199 || !slices.IsSorted(o.Quantiles) || o.Quantiles[n/2] != 0.5 || quantileAt(o.Quantiles, 0.1) < 0 || quantileAt(o.Quantiles, 0.9) < 0 {
		return o, fmt.Errorf("forecast: quantiles %v are not an odd number, ascending, with 0.1, 0.5 in the middle and 0.9", o.Quantiles)
	}
	for i, q := range o.Quantiles {
		if !(q > 0 && q < 1) || i > 0 && q == o.Quantiles[i-1] {
			return o, fmt.Errorf("forecast: quantile %g", q)
		}
	}
	return o, nil
}

// quantileAt is the position of q among the quantiles, -1 where it is not.
func quantileAt(quantiles []float64, q float64) int {
	return slices.IndexFunc(quantiles, func(x float64) bool { return x > q-1e-9 && x < q+1e-9 })
}

// Effort, measured: without weather the days, not the intervals, are what there
// is to learn from, so that more samples a day, more rounds or a wider network
// bring nothing; with weather they do.
var (
	fullEffort            = effort{rows: 10000, rounds: 100, rate: 0.08, forest: forestConfig{60, 100, 400}, hidden: []int{32, 32}, batch: 64, epochs: 20, perEpoch: 4000, networks: 1}
	weatherEffort         = effort{rows: 36000, rounds: 150, rate: 0.08, forest: forestConfig{50, 500, 1600}, hidden: []int{64, 64}, batch: 64, epochs: 30, perEpoch: 8000, networks: 2}
	backtestEffort        = effort{rows: 5000, rounds: 60, rate: 0.13, forest: forestConfig{20, 100, 400}, hidden: []int{32, 32}, batch: 64, epochs: 12, perEpoch: 3000, networks: 1}
	weatherBacktestEffort = effort{rows: 8000, rounds: 80, rate: 0.12, forest: forestConfig{15, 400, 1600}, hidden: []int{64, 64}, batch: 64, epochs: 14, perEpoch: 5000, networks: 1}
)

func (s spec) effort() effort {
	switch {
	case s.Weather:
		return weatherEffort
	case s.Spare:
		return backtestEffort
	}
	return fullEffort
}

// origins are of the backtest: a spare set's weights need no more than one.
func (s spec) origins(wanted int) int {
	if s.Spare {
		return min(wanted, 1)
	}
	return wanted
}

func (s spec) backtestEffort() effort {
	if s.Weather {
		return weatherBacktestEffort
	}
	return backtestEffort
}
