package forecast

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/engine/weather"
)

func TestChooseColumns(t *testing.T) {
	from, to := testStart, testStart.AddDate(0, 0, 10)
	column := func(name string, q weather.Quantity, measured bool, days int) weather.Column {
		s := series.Series{Start: from, Step: time.Hour, Values: make([]float64, 240)}
		for i := days * 24; i < len(s.Values); i++ {
			s.Values[i] = math.NaN()
		}
		return weather.Column{Name: name, Quantity: q, Measured: measured, Series: s}
	}
	for _, c := range []struct {
		name    string
		columns []weather.Column
		want    []string
		perfect bool
	}{
		{"none", nil, nil, false},
		{"all that was forecast", []weather.Column{column("ice", weather.Other, false, 10), column("sun", weather.GHI, false, 10), column("sensor", weather.GHI, true, 10)}, []string{"ice", "sun"}, false},
		{"no light", []weather.Column{column("air", weather.AirTemperature, false, 10)}, nil, false},
		{"half is too little", []weather.Column{column("sun", weather.GHI, false, 5)}, nil, false},
		{"measured, of what providers have", []weather.Column{column("air", weather.AirTemperature, true, 10), column("sun", weather.GHI, true, 10), column("second", weather.GHI, true, 10), column("damp", weather.Humidity, true, 10)}, []string{"air", "sun"}, true},
		{"a forecast without light does not hide a sensor", []weather.Column{column("air", weather.AirTemperature, false, 10), column("plane", weather.POA, true, 10)}, []string{"plane"}, true},
	} {
		chosen, perfect := choose(c.columns, from, to)
		var names []string
		for _, x := range chosen {
			names = append(names, x.Name)
		}
		if !slices.Equal(names, c.want) || perfect != c.perfect {
			t.Errorf("%s: %v, measured %v", c.name, names, perfect)
		}
	}
}

// A model of several columns forecasts when some of them are not there: worse,
// but still from the weather it has.
func TestAbsentColumns(t *testing.T) {
	h := synthetic(testSite, testStart, 110, time.Hour, 23)
	power := h.Power
	h.Power = power.Slice(power.Start, power.Start.AddDate(0, 0, 90))
	noise := series.Series{Start: power.Start, Step: time.Hour, Values: make([]float64, power.Len())}
	for i := range noise.Values {
		noise.Values[i] = float64(splitmix(uint64(i)) % 100)
	}
	h.Weather = append(h.Weather,
		weather.Column{Name: "humidity", Quantity: weather.Humidity, Series: noise},
		weather.Column{Name: "dust", Quantity: weather.Other, Series: noise})
	m, rep, err := Train(context.Background(), testSite, h, Options{Workers: 2, Origins: -1})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"wx:dust", "wx:ghi", "wx:humidity", "wx_plane"} {
		if !slices.Contains(rep.Features, want) {
			t.Errorf("no feature %s in %v", want, rep.Features)
		}
	}
	mae := func(columns []weather.Column) float64 {
		var sum, n float64
		for d := 90; d < 108; d++ {
			issue := testStart.AddDate(0, 0, d)
			wx := weather.Forecast{}
			if columns != nil {
				wx = weather.FromColumns(issue, "test", issue, time.Hour, 24, columns)
			}
			points, err := m.Forecast(issue, power, wx, 24*time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			checkPoints(t, testSite, points)
			for _, p := range points {
				sum += math.Abs(p.P50KW - power.At(p.Time))
				n++
			}
		}
		return sum / n
	}
	all, some, none := mae(h.Weather), mae(h.Weather[:1]), mae(nil)
	t.Logf("MAE %.2f kW with all, %.2f with irradiance alone, %.2f without", all, some, none)
	if some > 1.15*all || some > 0.9*none {
		t.Errorf("MAE %.2f kW with irradiance alone, %.2f with all, %.2f without", some, all, none)
	}
}

// A model of measured irradiance takes a forecast of it with doubt, which
// fades as forecasts come true.
func TestMeasuredWeatherIsNotAForecast(t *testing.T) {
	h := synthetic(testSite, testStart, 100, time.Hour, 29)
	power := h.Power
	h.Power = power.Slice(power.Start, power.Start.AddDate(0, 0, 80))
	forecast := slices.Clone(h.Weather)
	h.Weather[0].Measured = true
	m, _, err := Train(context.Background(), testSite, h, Options{Workers: 2, Origins: 1})
	if err != nil {
		t.Fatal(err)
	}
	issue := testStart.AddDate(0, 0, 82)
	wx := weather.FromColumns(issue, "test", issue, time.Hour, 24, forecast)
	width := func() (sum float64) {
		points, err := m.Forecast(issue, power, wx, 24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		checkPoints(t, testSite, points)
		for _, p := range points {
			sum += p.P90KW - p.P10KW
		}
		return sum
	}
	doubtful := width()
	m.withWeather.seen = doubtIntervals
	sure := width()
	t.Logf("bands of %.0f kWh at first, %.0f later", doubtful, sure)
	if doubtful < 1.2*sure {
		t.Errorf("bands of %.0f kWh at first, %.0f later", doubtful, sure)
	}
	// Measured values after the issue time are not used.
	wx = weather.FromColumns(issue, "test", issue, time.Hour, 24, h.Weather)
	with, err := m.Forecast(issue, power, wx, 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	without, err := m.Forecast(issue, power, weather.Forecast{}, 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for i := range with {
		if with[i].P50KW != without[i].P50KW {
			t.Fatalf("point %d saw what was measured after the issue", i)
		}
	}
}
