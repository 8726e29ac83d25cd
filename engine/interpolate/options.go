package interpolate

import (
	"errors"
	"fmt"

	"app.sunloop/engine/series"
)

// Options are how a model is trained. The zero value is ready.
type Options struct {
	Seed    uint64
	Workers int // goroutines at most; 0 is 1. The model does not depend on it
	// Progress, if not nil, is called with the stage and the share of the
	// work done, 0..1, from the goroutine that called [Train].
	Progress func(stage string, fraction float64)

	plain   bool // the plain kernels, for comparing
	updates int  // of the network an epoch, for tests that need no good one; 0 is the default
}

func (o Options) withDefaults() Options {
	o.Workers = max(o.Workers, 1)
	if o.Progress == nil {
		o.Progress = func(string, float64) {}
	}
	return o
}

// Weather is the weather over a history and its gaps, as means over even steps
// of at most three hours. Any field may be empty; NaN is unknown.
type Weather struct {
	// Measured or from an archive: global horizontal irradiance, W/m², and air
	// temperature, °C. A sensor in the modules' plane does as well: the learners
	// see the difference.
	GHI, TemperatureC series.Series
	// Siblings is the power of the site's other units together, of those
	// that reported, divided by their capacity. Its scale does not matter,
	// only its course. It is the best information about the sky.
	Siblings series.Series
}

// ErrUnfit is wrapped by every error that rejects data; the text states the
// reason.
var ErrUnfit = errors.New("data cannot be interpolated")

func unfit(format string, a ...any) error {
	return fmt.Errorf("%w: %s", ErrUnfit, fmt.Sprintf(format, a...))
}
