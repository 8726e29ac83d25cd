package forecast

import (
	"testing"
	"time"

	"app.sunloop/engine/series"
)

// TestEachSetLearnsFromItsOwn: if the weather forecast is shorter than the
// power forecast, the learners with weather are updated with the intervals that
// they predicted, and the others with theirs.
func TestEachSetLearnsFromItsOwn(t *testing.T) {
	_, a := encoded(t)
	m, err := Decode(a)
	if err != nil {
		t.Fatal(err)
	}
	h := trainedOnce(t).history
	issue := testStart.AddDate(0, 0, testDays-10) // the history has the weather of the forecast
	wx := cloudy(h, issue, 24*time.Hour)
	plain, withWeather := m.plain.seen, m.withWeather.seen
	both := series.Series{Start: issue, Step: time.Hour, Values: make([]float64, 48)}
	for i := range both.Values {
		both.Values[i] = 3
	}
	for _, c := range []struct {
		name               string
		actual             series.Series
		plain, withWeather bool
	}{
		{"under the weather forecast", series.Series{Start: issue, Step: time.Hour, Values: both.Values[:24]}, false, true},
		{"beyond it", series.Series{Start: issue.Add(24 * time.Hour), Step: time.Hour, Values: both.Values[24:]}, true, false},
		{"both", both, true, true},
	} {
		n, err := m.Observe(issue, series.Series{}, wx, 48*time.Hour, c.actual)
		if err != nil {
			t.Fatal(err)
		}
		byPlain, byWeather := m.plain.seen-plain, m.withWeather.seen-withWeather
		if n == 0 || byPlain+byWeather != n || (byPlain > 0) != c.plain || (byWeather > 0) != c.withWeather {
			t.Errorf("%s: of %d intervals %d were taught the plain learners, %d those of weather", c.name, n, byPlain, byWeather)
		}
		plain, withWeather = m.plain.seen, m.withWeather.seen
	}
	back, err := Decode(a)
	if err != nil {
		t.Fatal(err)
	}
	if err := back.Calibrate(m.Calibration()); err != nil {
		t.Fatal(err)
	}
	if back.plain.seen != plain || back.withWeather.seen != withWeather {
		t.Errorf("a model that is read again has seen %d and %d intervals, want %d and %d", back.plain.seen, back.withWeather.seen, plain, withWeather)
	}
}
