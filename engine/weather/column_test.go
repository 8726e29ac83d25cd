package weather_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"app.sunloop/engine/series"
	"app.sunloop/engine/weather"
)

func TestFromColumns(t *testing.T) {
	issue := time.Date(2024, 6, 3, 6, 0, 0, 0, time.UTC)
	from := issue.Add(-48 * time.Hour)
	column := func(name string, q weather.Quantity, measured bool, step time.Duration, of func(i int) float64) weather.Column {
		s := series.Series{Start: from, Step: step, Values: make([]float64, int(96*time.Hour/step))}
		for i := range s.Values {
			s.Values[i] = of(i)
		}
		return weather.Column{Name: name, Quantity: q, Measured: measured, Series: s}
	}
	nan := math.NaN()
	columns := []weather.Column{
		column("sensor", weather.GHI, true, time.Hour, func(i int) float64 { return 900 }),
		column("model a", weather.GHI, false, 15*time.Minute, func(i int) float64 { return float64(i % 4) }), // hourly mean 1.5
		column("model b", weather.GHI, false, time.Hour, func(i int) float64 { return 300 }),
		column("air", weather.AirTemperature, false, time.Hour, func(i int) float64 {
			if i == 49 {
				return nan // the second hour
			}
			return float64(i)
		}),
		column("second air", weather.AirTemperature, false, time.Hour, func(i int) float64 { return -1 }),
		column("damp", weather.Humidity, false, time.Hour, func(i int) float64 { return 70 }),
	}
	f := weather.FromColumns(issue, "test", issue, time.Hour, 3, columns)
	var want []weather.Conditions
	for _, v := range []struct{ ghi, temperature float64 }{{1.5, 48}, {1.5, -1}, {1.5, 50}} {
		c := weather.Unknown()
		c.GHI, c.TemperatureC = v.ghi, v.temperature
		want = append(want, c)
	}
	if d := cmp.Diff(want, f.Conditions, cmpopts.EquateNaNs()); d != "" {
		t.Errorf("conditions (-want +got):\n%s", d)
	}
	if len(f.Columns) != len(columns) || f.IssuedAt != issue || f.Source != "test" {
		t.Fatalf("%d columns, issued %v, of %q", len(f.Columns), f.IssuedAt, f.Source)
	}
	for i, c := range f.Columns {
		end := f.End()
		if c.Measured {
			end = issue
		}
		if c.Name != columns[i].Name || !c.Series.Start.Equal(issue.Add(-24*time.Hour)) || !c.Series.End().Equal(end) {
			t.Errorf("column %s from %v to %v", c.Name, c.Series.Start, c.Series.End())
		}
	}
	if got := f.Conditions[0].Value(weather.AirTemperature); got != 48 {
		t.Errorf("temperature %g", got)
	}
	if got := f.Conditions[0].Value(weather.Pressure); !math.IsNaN(got) {
		t.Errorf("pressure %g of conditions that have none", got)
	}
}
