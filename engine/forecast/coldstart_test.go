package forecast

import (
	"testing"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/engine/weather"
)

func TestColdStartSites(t *testing.T) {
	longer := synthetic(testSite, testStart, 60, time.Hour, 17).Power
	for _, days := range []int{0, 1, 3, 10, 30} {
		issue := testStart.AddDate(0, 0, days)
		m, rep, err := ColdStart(t.Context(), testSite, History{Power: longer.Slice(testStart, issue)}, Options{})
		if err != nil {
			t.Fatalf("%d days: %v", days, err)
		}
		points, err := m.Forecast(issue, series.Series{}, weather.Forecast{}, 48*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		checkPoints(t, testSite, points)
		top := 0.0
		for _, p := range points {
			top = max(top, p.P50KW)
		}
		if top < 2 || top > 45 {
			t.Errorf("%d days: noon of %.1f kW", days, top)
		}
		if (rep.Score.N > 0) != (days >= 10) {
			t.Errorf("%d days: score of %d intervals", days, rep.Score.N)
		}
		if days == 30 && (rep.Score.NMAE > 0.15 || rep.Score.Coverage80 < 0.5) {
			t.Errorf("30 days: %+v", rep.Score)
		}
		a, err := Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(a)
		if err != nil {
			t.Fatalf("%d days: %v", days, err)
		}
		again, err := back.Forecast(issue, series.Series{}, weather.Forecast{}, 48*time.Hour)
		if err != nil || again[12].P50KW != points[12].P50KW {
			t.Errorf("%d days: %v, %v after decoding", days, err, again[12])
		}
	}
}

// Production stamped two hours late is recognised, and night stays where the
// sun's position puts it.
func TestLateClock(t *testing.T) {
	h := synthetic(testSite, testStart, 100, 15*time.Minute, 19).Power
	for _, ticks := range []int{-5, 0, 6} {
		late := series.Series{Start: h.Start.Add(time.Duration(ticks) * tick), Step: h.Step, Values: h.Values}
		got := clockShift(testSite.Location, resample(late, tick))
		if d := got - ticks; d < -2 || d > 2 {
			t.Errorf("late by %d quarters, found %d", ticks, got)
		}
		if ticks == 0 && got != 0 {
			t.Errorf("a right clock is late by %d", got)
		}
	}
}
