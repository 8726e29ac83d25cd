package forecasting

import (
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// A day of 24 hours, of which the first twelve were issued in the morning and are
// not counted twice, has its own quantiles: the band is narrower than the sum of
// the hours', the P50 is theirs within 1 %, and a part of the next day is not complete.
func TestForecastDays(t *testing.T) {
	zone := time.FixedZone("", 2*3600)
	midnight := time.Date(2026, 6, 1, 0, 0, 0, 0, zone)
	hours := func(from, to int, kW float64) (out []api.ForecastValue) {
		for h := from; h < to; h++ {
			out = append(out, api.ForecastValue{Timestamp: api.At(midnight.Add(time.Duration(h) * time.Hour)), PredictedPowerKW: kW,
				ConfidenceInterval: api.Interval{Lower: 0.8 * kW, Upper: 1.2 * kW}, ClearSkyKW: 2 * kW})
		}
		return out
	}
	days := forecastDays(zone, nil, hours(0, 24, 10), hours(12, 30, 50))
	if len(days) != 2 || days[0].Day != "2026-06-01" || !days[0].Complete || days[0].Hours != 24 || days[1].Complete || days[1].Hours != 6 {
		t.Fatalf("%+v", days)
	}
	d := days[0]
	if !(d.P10KWh > 1.02*192 && d.P10KWh < d.P50KWh && d.P50KWh < d.P90KWh && d.P90KWh < 288/1.02) || d.P50KWh < 237.6 || d.P50KWh > 242.4 {
		t.Errorf("a day of 240 kWh, hours from 192 to 288: %+v", d)
	}
	sum := sumOfDays([]api.GeneratedForecast{{Days: days}, {Days: days[:1]}})
	if len(sum) != 1 || sum[0].P50KWh != 2*d.P50KWh || !sum[0].Complete {
		t.Errorf("of two sites: %+v", sum)
	}
}
