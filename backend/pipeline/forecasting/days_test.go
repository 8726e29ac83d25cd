package forecasting

import (
	"math"
	"testing"
	"time"

	"app.sunloop/backend/api"
	domain "app.sunloop/backend/domain/forecast"
	engine "app.sunloop/engine/forecast"
	"app.sunloop/engine/series"
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
	days := forecastDays(zone, nil, domain.Band{}, nil, hours(0, 24, 10), hours(12, 30, 50))
	if len(days) != 2 || days[0].Day != "2026-06-01" || !days[0].Complete || days[0].Hours != 24 || days[1].Complete || days[1].Hours != 6 {
		t.Fatalf("%+v", days)
	}
	d := days[0]
	if !(d.P10KWh > 1.02*192 && d.P10KWh < d.P50KWh && d.P50KWh < d.P90KWh && d.P90KWh < 288/1.02) || d.P50KWh < 237.6 || d.P50KWh > 242.4 {
		t.Errorf("a day of 240 kWh, hours from 192 to 288: %+v", d)
	}
	sum := sumOf([]api.GeneratedForecast{{Days: days}, {Days: days[:1]}}, make([]api.Site, 2)).Days
	if len(sum) != 1 || sum[0].P50KWh != 2*d.P50KWh || !sum[0].Complete {
		t.Errorf("of two sites: %+v", sum)
	}
}

// sumOf adds the forecasts of sites.
func sumOf(parts []api.GeneratedForecast, sites []api.Site) api.GeneratedForecast {
	t := (&Customer{now: time.Unix(0, 0)}).newTotal(len(parts))
	for i := range parts {
		t.add(sites[i], partOf(&parts[i]))
	}
	return t.sum()
}

// TestObserveBand: a day above the band widens it upwards and narrows it downwards,
// a day of too few hours changes nothing, and a past day keeps the band that it was
// issued with.
func TestObserveBand(t *testing.T) {
	start := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	var points []engine.Point
	power := series.Series{Start: start, Step: time.Hour}
	for h := range 24 {
		p := engine.Point{Time: start.Add(time.Duration(h) * time.Hour), Step: time.Hour}
		kW := 0.0
		if h >= 8 && h < 18 {
			p.P10KW, p.P50KW, p.P90KW, p.ClearSkyKW, kW = 80, 100, 120, 200, 190
		}
		points, power.Values = append(points, p), append(power.Values, kW)
	}
	var s subject
	s.observeBand(points, power, start, start.AddDate(0, 0, 1))
	if s.band.High <= 1 || s.band.Low >= 1 || !s.band.To.Equal(start.AddDate(0, 0, 1)) {
		t.Errorf("after a day above the band: %+v", s.band)
	}
	was := s.band
	s.observeBand(points[:11], power, start, start.AddDate(0, 0, 2)) // three hours of sun
	if s.band.High != was.High || s.band.Low != was.Low || !s.band.To.Equal(start.AddDate(0, 0, 2)) {
		t.Errorf("after a day of three hours: %+v, was %+v", s.band, was)
	}
	values := []api.ForecastValue{{Timestamp: api.At(start), PredictedPowerKW: 100, ConfidenceInterval: api.Interval{Lower: 80, Upper: 120}, ClearSkyKW: 200},
		{Timestamp: api.At(start.AddDate(0, 0, 1)), PredictedPowerKW: 100, ConfidenceInterval: api.Interval{Lower: 80, Upper: 120}, ClearSkyKW: 200}}
	days := forecastDays(time.UTC, map[string]domain.Band{"2026-06-01": {}}, domain.Band{Low: 2, High: 0.5}, values)
	if len(days) != 2 || days[0].P90KWh-days[0].P50KWh < 19 || days[1].P90KWh-days[1].P50KWh > 11 || days[1].P50KWh-days[1].P10KWh < 38 || days[0].P50KWh != days[1].P50KWh {
		t.Errorf("a day without a band and one with: %+v", days)
	}
}

// TestSumOfDays: the band of two sites is that of their sum if they are at one
// place or a place is not known, and narrower if they are far apart.
func TestSumOfDays(t *testing.T) {
	at := func(lat, lon float64) api.Site { return api.Site{Latitude: &lat, Longitude: &lon} }
	part := api.GeneratedForecast{Days: []api.ForecastDay{{Day: "2026-06-01", Hours: 24, P10KWh: 90, P50KWh: 100, P90KWh: 110}}}
	width := func(a, b api.Site) float64 {
		sum := sumOf([]api.GeneratedForecast{part, part}, []api.Site{a, b}).Days
		if len(sum) != 1 || sum[0].P50KWh != 200 {
			t.Fatalf("%+v", sum)
		}
		return sum[0].P90KWh - sum[0].P10KWh
	}
	same, unknown, far := width(at(48, 11), at(48, 11)), width(at(48, 11), api.Site{}), width(at(48, 11), at(54, 10))
	if same != 40 || unknown != 40 || far > 31 || far < 28 {
		t.Errorf("widths: at one place %v, unknown %v, far apart %v", same, unknown, far)
	}
}

// TestSumOfHours: the bands of the hours of sites are joined as those of their days,
// and the hours of three sites far apart have a narrower band than the sum of theirs.
func TestSumOfHours(t *testing.T) {
	at := func(lat, lon float64) api.Site { return api.Site{Latitude: &lat, Longitude: &lon} }
	hour := api.At(time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC))
	part := api.GeneratedForecast{Forecasts: []api.ForecastValue{{Timestamp: hour, PredictedPowerKW: 100, ConfidenceInterval: api.Interval{Lower: 70, Upper: 120}}}}
	sum := func(sites ...api.Site) api.ForecastValue {
		parts := make([]api.GeneratedForecast, len(sites))
		for i := range parts {
			parts[i] = part
		}
		got := sumOf(parts, sites)
		if len(got.Forecasts) != 1 {
			t.Fatalf("%+v", got)
		}
		return got.Forecasts[0]
	}
	for name, of := range map[string]struct {
		sites     []api.Site
		low, high float64
	}{
		"at one place":  {[]api.Site{at(48, 11), at(48, 11), at(48, 11)}, 210, 360},
		"unknown place": {[]api.Site{at(48, 11), {}, at(48, 11)}, 210, 360},
		"far apart":     {[]api.Site{at(48, 11), at(-30, 20), at(35, 139)}, 300 - 30*math.Sqrt(3), 300 + 20*math.Sqrt(3)},
	} {
		v := sum(of.sites...)
		if v.PredictedPowerKW != 300 || math.Abs(v.ConfidenceInterval.Lower-of.low) > 0.01 || math.Abs(v.ConfidenceInterval.Upper-of.high) > 0.01 {
			t.Errorf("%s: %+v, want a band from %.2f to %.2f", name, v, of.low, of.high)
		}
	}
}
