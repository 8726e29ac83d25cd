package replay

import (
	"fmt"
	"math"
	"strings"
	"time"

	"app.sunloop/engine/forecast"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
	"app.sunloop/engine/weather"
	"app.sunloop/internal/display"
)

// Data are a site's measured power and its weather, as the files have them.
type Data struct {
	// Power is the mean power, kW, in steps of 15, 30 or 60 minutes, whichever
	// the files allow. Missing is NaN; where the sun is well down it is zero.
	Power   series.Series
	Weather []weather.Column
	Notes   []string // sentences on what was left out
}

// Load reads the data of a plan. Errors name the file and the line or column.
func Load(open Opener, p *Plan) (*Data, error) {
	sources := []source{p.power}
	for _, w := range p.weather {
		sources = append(sources, w.source)
	}
	columns := make([]column, len(sources))
	for i, s := range sources {
		if columns[i].times != nil {
			continue
		}
		// All columns of a sheet are read in one go.
		var at []int
		var names []string
		for k := i; k < len(sources); k++ {
			if sources[k].same(s.sheet) {
				at, names = append(at, k), append(names, sources[k].column)
			}
		}
		t, err := s.read(open, names)
		if err != nil {
			return nil, err
		}
		for n, k := range at {
			columns[k] = sources[k].take(t, n)
		}
	}
	d := &Data{}
	if err := d.setPower(p, columns[0]); err != nil {
		return nil, err
	}
	for i, w := range p.weather {
		c := columns[i+1]
		d.Weather = append(d.Weather, weather.Column{Name: w.column, Quantity: w.quantity, Measured: w.measured, Series: series.Resample(c.times, c.values, c.step, 0)})
	}
	return d, nil
}

// column is one converted column of a table.
type column struct {
	times  []int64
	step   time.Duration
	values []float64
}

// take converts column n of a table.
func (s source) take(t table, n int) column {
	c := column{t.times, t.step, make([]float64, len(t.times))}
	before, day := math.NaN(), ""
	for i, v := range t.values[n] {
		if s.accumulated {
			at := time.Unix(t.times[i], 0).In(s.zone).Format(time.DateOnly)
			total := v
			switch {
			case at != day: // the first interval of a day counts from nothing
			case i > 0 && t.times[i]-t.times[i-1] == int64(t.step/time.Second):
				v -= before
			default:
				v = math.NaN()
			}
			before, day = total, at
		}
		c.values[i] = s.of(v, t.step)
	}
	return c
}

const (
	// overCapacity is where power is no measurement any more: cold moments at
	// the edge of clouds reach 1.1 to 1.2 of the capacity.
	overCapacity = 1.3
	// tooMany of the values above zero beyond that are a wrong capacity or unit.
	tooMany = 0.01
	// downSine is the sine of an elevation of -3°: there is no light.
	downSine = -0.0523
)

func (d *Data) setPower(p *Plan, c column) error {
	top, over, shining := 0.0, 0, 0
	for i, v := range c.values {
		if v > 0 {
			shining++
		}
		if v > overCapacity*p.Site.CapacityKW {
			top = max(top, v)
			c.values[i] = math.NaN()
			over++
		}
		if v < 0 {
			c.values[i] = 0
		}
	}
	names := strings.Join(p.power.files, ", ")
	switch {
	case shining == 0:
		return fmt.Errorf("%s: %s is never above 0", names, p.power.column)
	case float64(over) > tooMany*float64(shining):
		return fmt.Errorf("%s: %s reaches %s, and %d of %s lie above 1.3 times site.capacity_kw, %.4g; that or data.unit is wrong",
			names, p.power.column, display.Power(top), over, display.CountOf(shining, "value", "values"), p.Site.CapacityKW)
	case over > 0:
		d.Notes = append(d.Notes, fmt.Sprintf("%s above 1.3 times the capacity, up to %s, taken as missing", display.CountOf(over, "value", "values"), display.Power(top)))
	}
	step := time.Hour
	for _, s := range []time.Duration{15 * time.Minute, 30 * time.Minute} {
		if c.step <= s {
			step = s
			break
		}
	}
	switch {
	case c.step > time.Hour:
		return fmt.Errorf("%s: %s comes every %v; steps of at most an hour are needed", names, p.power.column, c.step)
	case step > p.Protocol.Resolution:
		return fmt.Errorf("backtest.resolution_minutes is %g, finer than the %g minutes of %s", p.Protocol.Resolution.Minutes(), c.step.Minutes(), names)
	}
	d.Power = series.Resample(c.times, c.values, step, 0)
	dark(d.Power, p.Site)
	if end := d.Power.End(); !p.Protocol.First.Before(end) {
		return fmt.Errorf("backtest.first_test is %s; the data of %s end on %s", p.Protocol.First.Format(time.DateOnly), names, end.In(p.Site.Zone).Format(time.DateOnly))
	}
	if !p.Protocol.First.After(d.Power.Start) {
		return fmt.Errorf("backtest.first_test is %s; the data of %s begin on %s, and there must be some to learn from", p.Protocol.First.Format(time.DateOnly), names, d.Power.Start.In(p.Site.Zone).Format(time.DateOnly))
	}
	return nil
}

// dark sets power to zero where it is missing and the sun is well below the
// horizon.
func dark(power series.Series, site forecast.Site) {
	for i, v := range power.Values {
		if math.IsNaN(v) && elevationSine(power.Time(i).Add(power.Step/2), site.Location) < downSine {
			power.Values[i] = 0
		}
	}
}

func elevationSine(t time.Time, loc solar.Location) float64 {
	return math.Cos(solar.At(t, loc).ZenithDeg * math.Pi / 180)
}

// means is s in means over longer steps; s itself where it is so already.
func means(s series.Series, step time.Duration) series.Series {
	if s.Step == step {
		return s
	}
	return s.Resample(step)
}
