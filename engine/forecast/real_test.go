package forecast

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"app.sunloop/engine/learn/backtest"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
	"app.sunloop/engine/weather"
	"app.sunloop/internal/longtest"
)

// dayAhead scores a model on every step-th day of [from, to) by what came true:
// issued at the site's midnight, 24 hours, with all power before it.
func dayAhead(t testing.TB, j *scorer, m *Model, actual series.Series, from, to time.Time, step int) {
	k := len(m.quantiles)
	for d := from; d.Before(to); d = d.AddDate(0, 0, step) {
		w := m.world(d, actual, tickOf(d), tickOf(d)+ticksPerDay)
		issue := time.Unix(w.midnight(tickOf(d)+ticksPerDay/2)*3600, 0).UTC()
		f, err := m.prepareForecast(issue, actual, weather.Forecast{}, 24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		w = m.world(issue, actual, f.start, f.start+ticksPerDay)
		v := w.view(issue.Unix() / 3600)
		history := make([]float32, k)
		for i := range f.count {
			y := actual.At(tickTime(f.start + int64(i*f.n)))
			if !(f.clear[i] > daylight) || y != y {
				continue
			}
			at := f.start + int64(i*f.n)
			w.completeHistory(v, at, f.clear[i], m.quantiles, history)
			j.add(m.quantiles, f.said[i*k:i*k+k], float32(y/m.peakKW), w.smartPersistence(v, at, f.clear[i]), history)
		}
	}
}

func refit(t testing.TB, site Site, power series.Series, at time.Time) (*Model, Report) {
	m, rep, err := Train(context.Background(), site, History{Power: power.Slice(power.Start, at)}, Options{Workers: 2, Resolution: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return m, rep
}

// Day-ahead without weather on real sites: better than smart persistence in
// RMSE and than the complete-history ensemble in pinball, with bands that hold.
func TestRealSitesBeatTheReferences(t *testing.T) {
	longtest.Mark(t)
	date := func(y int, m time.Month) time.Time { return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC) }
	madrid, p13 := upm13(t, "2014", "2015", "2016")
	graz, energy := austria(t)
	for _, c := range []struct {
		site        Site
		power       series.Series
		refits      []time.Time
		end         time.Time
		step        int
		skill, gain float64 // floors: measured less a margin
	}{
		{madrid, p13, []time.Time{date(2016, 1)}, date(2017, 1), 3, 0.05, 0.09},
		{graz, energy, []time.Time{date(2021, 10), date(2022, 1)}, date(2022, 4), 1, 0.04, 0.09},
	} {
		hourly := resample(c.power, time.Hour)
		var j scorer
		var peak float64
		for i, at := range c.refits {
			end := c.end
			if i+1 < len(c.refits) {
				end = c.refits[i+1]
			}
			m, rep := refit(t, c.site, c.power, at)
			peak = m.peakKW
			t.Logf("%s %s: backtest %+v, weights %.2f of %v", c.site.ID, at.Format("2006-01"), rep.Score, rep.Weights, rep.Members)
			dayAhead(t, &j, m, hourly, at, end, c.step)
		}
		s, refs := j.conclude(c.site.CapacityKW, peak)
		history := refs[1]
		gain := 1 - s.Pinball/history.Pinball
		t.Logf("%s: nMAE %.2f %%, skill %.1f %%, pinball %.3f %% (%.1f %% below CH-PeEn), coverage %.0f %%, n %d; smart persistence nMAE %.2f %%",
			c.site.ID, 100*s.NMAE, 100*s.Skill, 100*s.Pinball, 100*gain, 100*s.Coverage80, s.N, 100*refs[0].NMAE)
		if s.Skill < c.skill || gain < c.gain {
			t.Errorf("%s: skill %.3f (floor %.2f), pinball gain %.3f (floor %.2f)", c.site.ID, s.Skill, c.skill, gain, c.gain)
		}
		if s.Coverage80 < 0.68 || s.Coverage80 > 0.90 {
			t.Errorf("%s: coverage %.3f", c.site.ID, s.Coverage80)
		}
	}
}

// gefcom is zone 1 of the contest with the numerical weather forecast's
// irradiance and temperature; its place is about right. Stamps end the hour,
// irradiance is accumulated from midnight UTC on in J/m².
func gefcom(t testing.TB) (Site, History) {
	site := Site{ID: "gefcom1", Location: solar.Location{LatitudeDeg: -35.275, LongitudeDeg: 149.114, AltitudeM: 600}, CapacityKW: 1}
	column := func(name string) series.Series {
		var s series.Series
		readColumn(t, "data/gefcom2014-solar/zone1_201204-201312.csv.gz", "TIMESTAMP", name, func(at string, v float64) {
			end, err := time.Parse("20060102 15:04", at)
			if err != nil {
				t.Fatal(err)
			}
			if s.Len() == 0 {
				s = series.Series{Start: end.Add(-time.Hour), Step: time.Hour}
			}
			for s.End().Before(end.Add(-time.Hour)) {
				s.Values = append(s.Values, math.NaN())
			}
			if s.End().Before(end) {
				s.Values = append(s.Values, v)
			}
		})
		return s
	}
	power, ghi, temperature := column("POWER"), column("VAR169"), column("VAR167")
	sum := slices.Clone(ghi.Values)
	for i := range sum {
		v := sum[i]
		if i > 0 && ghi.Time(i).Hour() != 0 {
			v -= sum[i-1]
		}
		ghi.Values[i] = max(v, 0) / 3600
		temperature.Values[i] -= 273.15
	}
	return site, History{Power: power, Weather: []weather.Column{{Name: "ghi", Quantity: weather.GHI, Series: ghi}, {Name: "temperature", Quantity: weather.AirTemperature, Series: temperature}}}
}

// A weather forecast reduces the pinball loss on a real site by a quarter.
func TestRealWeather(t *testing.T) {
	if testing.Short() {
		t.Skip("trains on 15 months with weather")
	}
	site, h := gefcom(t)
	split := time.Date(2013, 7, 1, 0, 0, 0, 0, time.UTC)
	known := History{Power: h.Power.Slice(h.Power.Start, split)}
	for _, c := range h.Weather {
		c.Series = c.Series.Slice(h.Power.Start, split)
		known.Weather = append(known.Weather, c)
	}
	m, rep, err := Train(context.Background(), site, known, Options{Workers: 2, Origins: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("backtest %+v, weights %.2f of %v", rep.Score, rep.Weights, rep.Members)
	var pinball, plain, mae, in, n float64
	q := []float64{0.1, 0.5, 0.9}
	for issue := split; issue.Before(h.Power.End().AddDate(0, 0, -1)); issue = issue.AddDate(0, 0, 1) {
		wx := weather.FromColumns(issue, "test", issue, time.Hour, 24, h.Weather)
		with, err := m.Forecast(issue, h.Power, wx, 24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		without, err := m.Forecast(issue, h.Power, weather.Forecast{}, 24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range with {
			y := h.Power.At(p.Time)
			if p.ClearSkyKW <= 0.02 || math.IsNaN(y) {
				continue
			}
			n++
			loss := func(p Point) float64 {
				return backtest.Loss(q, []float32{float32(y)}, []float32{float32(p.P10KW), float32(p.P50KW), float32(p.P90KW)})
			}
			pinball += loss(p)
			plain += loss(without[i])
			mae += math.Abs(p.P50KW - y)
			if y >= p.P10KW && y <= p.P90KW {
				in++
			}
		}
	}
	t.Logf("with weather nMAE %.2f %%, pinball %.3f %%, coverage %.0f %%; without pinball %.3f %%; n %.0f", 100*mae/n, 100*pinball/n, 100*in/n, 100*plain/n, n)
	if pinball > 0.82*plain || in/n < 0.68 || in/n > 0.9 {
		t.Errorf("pinball %.4f with weather, %.4f without; coverage %.2f", pinball/n, plain/n, in/n)
	}
}
