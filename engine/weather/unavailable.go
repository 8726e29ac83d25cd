package weather

import (
	"errors"
	"math"
)

// ErrUnavailable is wrapped by a provider that has no forecast for an issue for
// external reasons: its service is unreachable, or had issued no forecast then.
var ErrUnavailable = errors.New("no weather forecast")

// Complement fills unknown temperature and wind of f from another forecast over
// the same intervals. Irradiance and cloud stay unknown: a clear sky is no
// estimate of them.
func (f Forecast) Complement(other Forecast) {
	for i := range f.Conditions {
		o, ok := other.At(f.Time(i))
		if !ok {
			continue
		}
		c := &f.Conditions[i]
		if math.IsNaN(c.TemperatureC) {
			c.TemperatureC = o.TemperatureC
		}
		if math.IsNaN(c.WindSpeedMS) {
			c.WindSpeedMS = o.WindSpeedMS
		}
	}
}
