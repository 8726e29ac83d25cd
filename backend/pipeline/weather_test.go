package pipeline

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
	"app.sunloop/engine/weather"
)

// constantWeather is a provider that returns the same for every hour, or nothing.
type constantWeather struct {
	hour  weather.Conditions
	hours int     // known; the rest is unknown
	rain  float64 // mm an hour
	err   error
}

func (p constantWeather) Forecast(_ context.Context, _ solar.Location, issue time.Time, horizon, step time.Duration) (weather.Forecast, error) {
	f := weather.Forecast{IssuedAt: issue, Start: issue.Truncate(step), Step: step, Source: "a provider"}
	for i := range int(horizon / step) {
		c := weather.Unknown()
		if i < p.hours {
			c = p.hour
		}
		f.Conditions = append(f.Conditions, c)
	}
	if p.rain == 0 {
		return f, p.err
	}
	rain := series.Series{Start: f.Start, Step: time.Hour, Values: make([]float64, p.hours)}
	for i := range rain.Values {
		rain.Values[i] = p.rain
	}
	f.Columns = []weather.Column{{Name: "precipitation", Quantity: weather.Precipitation, Series: rain}}
	return f, p.err
}

func TestWeatherFor(t *testing.T) {
	issue := time.Date(2026, 6, 1, 10, 0, 0, 0, time.UTC)
	loc := solar.Location{LatitudeDeg: 40, LongitudeDeg: -4}
	cloudy := weather.Conditions{GHI: 200, DNI: 0, DHI: 200, TemperatureC: 9, WindSpeedMS: 5, CloudCover: 1}
	own := sitedata.History{Weather: []weather.Column{
		{Name: series.PredictedGHIWM2.String(), Quantity: weather.GHI, Series: series.Series{Start: issue, Step: time.Hour, Values: []float64{math.NaN(), 333}}},
		{Name: series.IrradianceWM2.String(), Quantity: weather.POA, Measured: true, Series: series.Series{Start: issue.Add(-time.Hour), Step: time.Hour, Values: []float64{500, 600}}},
	}}
	for _, tt := range []struct {
		name     string
		provider weather.Provider
		h        sitedata.History
		source   string
		check    func(f weather.Forecast) bool
	}{
		{"no provider", nil, sitedata.History{}, weather.SourceClimatology,
			func(f weather.Forecast) bool {
				return f.Conditions[2].GHI > 700 && math.IsNaN(f.Conditions[2].CloudCover)
			}},
		{"a provider", constantWeather{hour: cloudy, hours: 99}, sitedata.History{}, "a provider",
			func(f weather.Forecast) bool { return f.Conditions[2] == cloudy }},
		{"the customer's own forecast goes before", constantWeather{hour: cloudy, hours: 99}, own, "the customer's own forecast for 1 of",
			func(f weather.Forecast) bool {
				measured := f.Columns[1].Series // before the issue alone
				return f.Conditions[0] == cloudy && f.Conditions[1].GHI == 333 && len(f.Columns) == 2 && measured.Len() == 1 && measured.Values[0] == 500
			}},
		{"beyond the provider's last hour the temperature is the climate's and the sky unknown", constantWeather{hour: cloudy, hours: 3}, sitedata.History{}, "a provider",
			func(f weather.Forecast) bool {
				c := f.Conditions[5]
				return math.IsNaN(c.GHI) && math.IsNaN(c.CloudCover) && c.TemperatureC > 10
			}},
		{"a provider that has none", constantWeather{err: fmt.Errorf("%w: it is down", weather.ErrUnavailable)}, sitedata.History{}, weather.SourceClimatology,
			func(f weather.Forecast) bool {
				return f.Conditions[2].GHI > 700 && strings.HasSuffix(f.Source, "it is down")
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlant(t, issue, func(c *Config) { c.Weather = tt.provider })
			f, issued, err := p.WeatherFor(t.Context(), loc, tt.h, issue, 24*time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(f.Source, tt.source) || !tt.check(f) {
				t.Errorf("%s: %+v", f.Source, f.Conditions)
			}
			// What is kept is what was said, without what was put in or over it.
			said, asked := tt.provider.(constantWeather)
			if (issued != nil) != (asked && said.err == nil) {
				t.Errorf("issued %v", issued)
			}
			if issued != nil && (issued.Source != "a provider" || issued.Conditions[1] != cloudy || said.hours < 5 && !math.IsNaN(issued.Conditions[5].TemperatureC)) {
				t.Errorf("issued %+v", issued)
			}
		})
	}
}

// TestWeatherIsKept asserts that what the provider said for a production
// forecast is there under its time of issue.
func TestWeatherIsKept(t *testing.T) {
	if testing.Short() {
		t.Skip("trains a model")
	}
	cloudy := weather.Conditions{GHI: 200, DNI: 0, DHI: 200, TemperatureC: 9, WindSpeedMS: 5, CloudCover: 1}
	p := newPlant(t, day0, func(c *Config) { c.Weather, c.TrainingDays = constantWeather{hour: cloudy, hours: 99, rain: 0.7}, 60 })
	p.start()
	s := fleet(70, 1)
	u := p.ended1(p.upload(request(api.UploadTrain), csvOf(t, s, day0.AddDate(0, 0, -70), day0, time.Hour)))
	f, err := p.Domain.Forecasts.Latest(t.Context(), "South")
	if err != nil || f.WeatherID == "" {
		t.Fatalf("%+v, %v; %v", f, err, u.Decisions)
	}
	w, err := p.Domain.Forecasts.IssuedWeather(t.Context(), "South", day0)
	if err != nil || w.WeatherID != f.WeatherID || !w.IssuedAt.Equal(day0) || w.Source != "a provider" || w.Forecast().Conditions[3] != cloudy {
		t.Errorf("%+v, %v", w, err)
	}
	if wind, rain, _, known := w.WindAndRain(day0.Add(2*time.Hour), day0.Add(5*time.Hour)); !known || wind != 5 || rain != 0.7 {
		t.Errorf("wind %g, rain %g, known %v", wind, rain, known)
	}
}

// keeper has an archive of clear days.
type keeper struct {
	constantWeather
	asked *int
}

func (k keeper) Archive(_ context.Context, _ solar.Location, from, to time.Time) ([]weather.Column, error) {
	*k.asked++
	if k.err != nil {
		return nil, k.err
	}
	n := int(to.Sub(from) / time.Hour)
	return []weather.Column{{Name: "ghi", Quantity: weather.GHI, Measured: true, Series: series.Series{Start: from, Step: time.Hour, Values: make([]float64, n)}}}, nil
}

func TestArchive(t *testing.T) {
	from := time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC)
	power := series.Series{Start: from, Step: time.Hour, Values: []float64{math.NaN(), 1, 2, 3}}
	loc := solar.Location{LatitudeDeg: 40, LongitudeDeg: -4}
	lit := []weather.Column{{Name: "poa", Quantity: weather.POA, Measured: true}}
	asked := 0
	for _, tt := range []struct {
		name     string
		provider weather.Provider
		loc      solar.Location
		h        sitedata.History
		asked    int
		words    string
		columns  int
	}{
		{"asked for the span of the power", keeper{asked: &asked}, loc, sitedata.History{Power: power}, 1, "from the provider's archive", 1},
		{"down", keeper{constantWeather{err: weather.ErrUnavailable}, &asked}, loc, sitedata.History{Power: power}, 1, "goes without", 0},
		{"the files have irradiance", keeper{asked: &asked}, loc, sitedata.History{Power: power, Weather: lit}, 0, "", 0},
		{"no place", keeper{asked: &asked}, solar.Location{}, sitedata.History{Power: power}, 0, "", 0},
		{"a provider without archive", constantWeather{}, loc, sitedata.History{Power: power}, 0, "", 0},
		{"no provider", nil, loc, sitedata.History{Power: power}, 0, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked = 0
			p := newPlant(t, from, func(c *Config) { c.Weather = tt.provider })
			words, columns := p.ArchivedWeather(t.Context(), tt.loc, tt.h)
			if asked != tt.asked || !strings.Contains(words, tt.words) || (words == "") != (tt.words == "") || len(columns) != tt.columns {
				t.Fatalf("asked %d times: %q, %d columns", asked, words, len(columns))
			}
			if tt.columns > 0 && (!columns[0].Series.Start.Equal(from.Add(time.Hour)) || columns[0].Series.Len() != 3) {
				t.Errorf("asked for %d hours from %v", columns[0].Series.Len(), columns[0].Series.Start)
			}
		})
	}
}
