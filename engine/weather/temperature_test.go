package weather

import (
	"errors"
	"math"
	"testing"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
	"pgregory.net/rapid"
)

var berlin = solar.Location{LatitudeDeg: 52.52, LongitudeDeg: 13.4, AltitudeM: 40}

// score is RMS error and bias of a temperature model over a series, K.
func score(measured series.Series, from int, model func(time.Time) float64) (rmse, bias float64) {
	var n float64
	for i := from; i < measured.Len(); i++ {
		if v := measured.Values[i]; !math.IsNaN(v) {
			e := model(measured.Time(i).Add(measured.Step/2)) - v
			rmse, bias, n = rmse+e*e, bias+e, n+1
		}
	}
	return math.Sqrt(rmse / n), bias / n
}

func TestTypicalTemperatureOfTypicalYears(t *testing.T) {
	for _, y := range typicalYears(t) {
		rmse, bias := score(y.temperature, 0, func(at time.Time) float64 { return TypicalTemperatureC(y.loc, at) })
		t.Logf("%s: table of the latitude: RMSE %.2f K, bias %+.2f K", y.name, rmse, bias)
		if rmse > 6 || math.Abs(bias) > 2.5 {
			t.Errorf("%s: RMSE %.2f K, bias %+.2f K", y.name, rmse, bias)
		}
	}
}

// TestFitBeatsTable: the fit on a site's past does better on what follows, and
// better still a day ahead with the anomaly of the day before.
func TestFitBeatsTable(t *testing.T) {
	for _, y := range typicalYears(t) {
		const split = 330 * 24
		past := series.Series{Start: y.temperature.Start, Step: time.Hour, Values: y.temperature.Values[:split]}
		fit, err := FitTemperature(y.loc, past)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := FitTemperature(y.loc, y.temperature)
		if err != nil {
			t.Fatal(err)
		}
		table, _ := score(past, 0, func(at time.Time) float64 { return TypicalTemperatureC(y.loc, at) })
		fitted, bias := score(past, 0, fit.At)
		dayAhead, _ := score(y.temperature, 48, func(at time.Time) float64 {
			return whole.Expected(at.UTC().Truncate(24*time.Hour), at)
		})
		climate, _ := score(y.temperature, 48, whole.At)
		t.Logf("%s: table %.2f K, fit %.2f K (bias %+.2f); a year's fit %.2f K, with the day's anomaly %.2f K", y.name, table, fitted, bias, climate, dayAhead)
		if fitted >= table || dayAhead >= climate || math.Abs(bias) > 0.1 {
			t.Errorf("%s: table %v, fit %v, bias %v, climate %v, day ahead %v", y.name, table, fitted, bias, climate, dayAhead)
		}
	}
}

func TestTypicalTemperatureIsPlausible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		loc := solar.Location{
			LatitudeDeg:  rapid.Float64Range(-90, 90).Draw(t, "latitude"),
			LongitudeDeg: rapid.Float64Range(-180, 180).Draw(t, "longitude"),
			AltitudeM:    rapid.Float64Range(0, 5000).Draw(t, "altitude"),
		}
		at := time.Unix(rapid.Int64Range(-631152000, 2556143999).Draw(t, "unix"), 0)
		c := TypicalTemperatureC(loc, at)
		if !(c > -75 && c < 40) {
			t.Fatalf("%v °C", c)
		}
		near(t, "an hour later", TypicalTemperatureC(loc, at.Add(time.Hour)), c, 3)
		near(t, "the other side of the new year", TypicalTemperatureC(loc, time.Date(2023, 12, 31, 23, 59, 0, 0, time.UTC)),
			TypicalTemperatureC(loc, time.Date(2024, 1, 1, 0, 1, 0, 0, time.UTC)), 0.6)
	})
	for _, c := range []struct {
		name       string
		loc        solar.Location
		month      time.Month
		hour       int
		from, upTo float64
	}{
		{"Berlin, July afternoon", berlin, time.July, 14, 20, 28},
		{"Berlin, January night", berlin, time.January, 3, -6, 2},
		{"Sydney, January afternoon", solar.Location{LatitudeDeg: -33.9, LongitudeDeg: 151.2}, time.January, 4, 24, 32},
		{"Singapore, any day", solar.Location{LatitudeDeg: 1.3, LongitudeDeg: 103.8}, time.May, 7, 28, 34},
	} {
		got := TypicalTemperatureC(c.loc, time.Date(2024, c.month, 20, c.hour, 0, 0, 0, time.UTC))
		if got < c.from || got > c.upTo {
			t.Errorf("%s: %.1f °C, want %v..%v", c.name, got, c.from, c.upTo)
		}
	}
	if v := TypicalTemperatureC(solar.Location{LatitudeDeg: math.NaN()}, time.Unix(0, 0)); !math.IsNaN(v) {
		t.Errorf("nowhere: %v", v)
	}
}

// made returns a history that the fit's own terms describe exactly.
func made(days int, step time.Duration) series.Series {
	s := series.Series{Start: time.Date(2022, 3, 1, 0, 0, 0, 0, time.UTC), Step: step}
	for i := range int(time.Duration(days) * 24 * time.Hour / step) {
		at := s.Time(i).Add(step / 2)
		s.Values = append(s.Values, TypicalTemperatureC(berlin, at)+3+2*math.Cos(2*math.Pi*(solarHour(berlin, at)-16)/24))
	}
	return s
}

func TestFitFindsWhatIsThere(t *testing.T) {
	for _, c := range []struct {
		days   int
		step   time.Duration
		within float64
	}{{10, time.Hour, 0.6}, {60, 5 * time.Minute, 0.15}, {400, time.Hour, 0.03}} {
		s := made(c.days, c.step)
		for i := range s.Values { // holes do no harm
			if i%7 == 3 {
				s.Values[i] = math.NaN()
			}
		}
		fit, err := FitTemperature(berlin, s)
		if err != nil {
			t.Fatal(err)
		}
		future := s.End().Add(40 * 24 * time.Hour)
		for h := range 24 {
			at := future.Add(time.Duration(h) * time.Hour)
			want := TypicalTemperatureC(berlin, at) + 3 + 2*math.Cos(2*math.Pi*(solarHour(berlin, at)-16)/24)
			near(t, "fit", fit.At(at), want, c.within)
		}
	}
}

func TestFitRefusesTooLittle(t *testing.T) {
	for _, s := range []series.Series{{}, made(2, time.Hour)} {
		if _, err := FitTemperature(berlin, s); !errors.Is(err, ErrTooLittleHistory) {
			t.Errorf("%d values: %v", s.Len(), err)
		}
	}
	s := made(5, time.Hour)
	s.Values[7] = math.Inf(1)
	if _, err := FitTemperature(berlin, s); err == nil {
		t.Error("an infinite temperature is fitted")
	}
	daily := made(30, 24*time.Hour)
	fit, err := FitTemperature(berlin, daily)
	if err != nil {
		t.Fatal(err)
	}
	if len(fit.coefficients) != 1 {
		t.Errorf("daily values fit %d terms", len(fit.coefficients))
	}
}

func TestAnomalyKnowsNothingLater(t *testing.T) {
	s := made(30, time.Hour)
	issue := s.Start.Add(20 * 24 * time.Hour)
	i, _ := s.Index(issue)
	for k := i - 24; k < i; k++ {
		s.Values[k] += 4
	}
	before, err := FitTemperature(berlin, s)
	if err != nil {
		t.Fatal(err)
	}
	warm := before.AnomalyC(issue)
	if warm < 3 || warm > 4 {
		t.Errorf("anomaly of a day 4 K warmer: %v", warm)
	}
	for k := i; k < s.Len(); k++ {
		before.recent.Values[k] = 99
	}
	near(t, "anomaly with another future", before.AnomalyC(issue), warm, 0)
	near(t, "anomaly without a past", before.AnomalyC(s.Start), 0, 0)
	near(t, "fading", before.Expected(issue, issue.Add(anomalyMemory))-before.At(issue.Add(anomalyMemory)), warm/math.E, 1e-9)
}

func BenchmarkFitTemperature(b *testing.B) {
	s := made(730, time.Hour)
	for b.Loop() {
		if _, err := FitTemperature(berlin, s); err != nil {
			b.Fatal(err)
		}
	}
}

// Expected is the temperature to be expected at t as seen at issue: the fit,
// and the day's anomaly fading over two days.
func (m *Temperature) Expected(issue, t time.Time) float64 {
	return m.At(t) + m.AnomalyC(issue)*fade(t.Sub(issue))
}
