package weather

import (
	"context"
	"fmt"
	"time"

	"app.sunloop/engine/solar"
	"app.sunloop/internal/display"
)

// Descriptions of [Offline].
const (
	SourceClimatology    = "built-in climatology (not measured weather)"
	sourceOwnTemperature = SourceClimatology + ", temperature from the site's own history"
)

// Offline is the weather without a network: the clear sky, the temperature of
// the latitude or of the site's own history, and a light wind. Cloud is
// unknown: CloudCover is NaN and the irradiance is that of a clear sky, of
// which a learner takes a share. The zero value is ready to use.
type Offline struct {
	// Temperature, if there is one, replaces the table of the latitude.
	Temperature *Temperature
}

var _ Provider = Offline{}

// maximumIntervals bounds one call: a year of five-minute intervals.
const maximumIntervals = 110_000

// Forecast implements [Provider]. The intervals are aligned to whole multiples
// of step since midnight UTC.
func (o Offline) Forecast(ctx context.Context, loc solar.Location, issue time.Time, horizon, step time.Duration) (Forecast, error) {
	if step < time.Second || horizon <= 0 {
		return Forecast{}, fmt.Errorf("weather for %v in steps of %v: both must be positive, a step at least 1 s", horizon, step)
	}
	start := issue.UTC().Truncate(step)
	n := int((issue.Add(horizon).Sub(start) + step - 1) / step)
	if n > maximumIntervals {
		return Forecast{}, fmt.Errorf("weather for %v in steps of %v: %s, more than %d", horizon, step, display.CountOf(n, "interval", "intervals"), maximumIntervals)
	}
	f := Forecast{IssuedAt: issue, Start: start, Step: step, Source: SourceClimatology, Conditions: make([]Conditions, n)}
	anomaly := 0.0
	if o.Temperature != nil {
		f.Source = sourceOwnTemperature
		anomaly = o.Temperature.AnomalyC(issue)
	}
	for i := range f.Conditions {
		if i%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return Forecast{}, fmt.Errorf("weather: %w", err)
			}
		}
		mid := f.Time(i).Add(step / 2)
		c := Unknown()
		irr := meanClearSky(f.Time(i), step, loc)
		c.GHI, c.DNI, c.DHI = irr.GHI, irr.DNI, irr.DHI
		c.WindSpeedMS = DefaultWindMS
		if o.Temperature != nil {
			c.TemperatureC = o.Temperature.At(mid) + anomaly*fade(mid.Sub(issue))
		} else {
			c.TemperatureC = TypicalTemperatureC(loc, mid)
		}
		f.Conditions[i] = c
	}
	return f, nil
}

// clearSkySample is the step at which the clear sky of an interval is averaged.
const clearSkySample = 15 * time.Minute

func meanClearSky(from time.Time, step time.Duration, loc solar.Location) solar.Irradiance {
	n := max(1, int((step+clearSkySample-1)/clearSkySample))
	part := step / time.Duration(n)
	var sum solar.Irradiance
	for k := range n {
		t := from.Add(time.Duration(k)*part + part/2)
		irr := solar.ClearSky(t, solar.At(t, loc), loc, 0)
		sum.GHI, sum.DNI, sum.DHI = sum.GHI+irr.GHI, sum.DNI+irr.DNI, sum.DHI+irr.DHI
	}
	d := float64(n)
	return solar.Irradiance{GHI: sum.GHI / d, DNI: sum.DNI / d, DHI: sum.DHI / d}
}
