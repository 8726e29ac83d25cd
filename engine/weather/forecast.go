package weather

import (
	"context"
	"math"
	"time"

	"errors"

	"app.sunloop/engine/solar"
)

// Conditions are the weather of one interval; NaN where unknown.
type Conditions struct {
	GHI, DNI, DHI float64 // mean irradiance: global horizontal, direct normal, diffuse; W/m²
	TemperatureC  float64 // air at 2 m, middle of the interval
	WindSpeedMS   float64 // m/s, at 10 m
	CloudCover    float64 // share of the sky, 0..1
}

// Unknown are conditions of which nothing is known.
func Unknown() Conditions {
	nan := math.NaN()
	return Conditions{nan, nan, nan, nan, nan, nan}
}

// Irradiance is the irradiance part, as engine/solar takes it.
func (c Conditions) Irradiance() solar.Irradiance {
	return solar.Irradiance{GHI: c.GHI, DNI: c.DNI, DHI: c.DHI}
}

// Forecast is a weather forecast as it was issued. Conditions[i] holds for
// the interval of one Step that begins at Start + i·Step. Columns are all
// quantities by name, as issued, in their own steps; a provider that has no
// more than the conditions leaves them out.
type Forecast struct {
	IssuedAt   time.Time
	Start      time.Time
	Step       time.Duration
	Source     string // description for users
	Conditions []Conditions
	Columns    []Column
}

// Provider issues forecasts. The intervals of a forecast cover issue to
// issue+horizon in steps of step; the first contains issue. No data later than
// issue may be used, so that a backtest can request past forecasts.
type Provider interface {
	Forecast(ctx context.Context, loc solar.Location, issue time.Time, horizon, step time.Duration) (Forecast, error)
}

// Time is the start of interval i.
func (f Forecast) Time(i int) time.Time { return f.Start.Add(time.Duration(i) * f.Step) }

// End is the end of the last interval.
func (f Forecast) End() time.Time { return f.Time(len(f.Conditions)) }

// At is the conditions of the interval that holds t; ok is false, and all is
// unknown, outside the forecast.
func (f Forecast) At(t time.Time) (c Conditions, ok bool) {
	if f.Step <= 0 || t.Before(f.Start) || !t.Before(f.End()) {
		return Unknown(), false
	}
	return f.Conditions[t.Sub(f.Start)/f.Step], true
}

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
