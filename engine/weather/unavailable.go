package weather

import (
	"errors"
	"math"
)

// ErrUnavailable is wrapped by a provider that has no forecast for an issue,
// for reasons that lie outside: its service is down, or had said nothing yet.
var ErrUnavailable = errors.New("no weather forecast")

// Complement fills temperature and wind where f knows none from another
// forecast over the same intervals. Irradiance and cloud stay unknown: a
// cloudless sky is no guess at them.
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
