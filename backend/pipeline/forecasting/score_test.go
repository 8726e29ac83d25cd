package forecasting

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/domain/model"
	"app.sunloop/engine/series"
)

// TestScoresByLead holds forecasts against power by hand: a site of 100 kW, a
// forecast at 09:30 and one at 11:00, actuals up to 13:00.
func TestScoresByLead(t *testing.T) {
	nine := time.Date(2026, 6, 15, 9, 0, 0, 0, time.UTC)
	power := series.Series{Start: nine, Step: time.Hour, Values: []float64{50, 60, math.NaN(), 40, 30}}
	said := func(issue time.Time, p10, p50, p90 float64) forecast.Forecast {
		f := forecast.Forecast{IssuedAt: issue, Start: nine, StepMinutes: 60}
		for range 30 {
			f.P10KW, f.P50KW, f.P90KW, f.ClearSkyKW = append(f.P10KW, p10), append(f.P50KW, p50), append(f.P90KW, p90), append(f.ClearSkyKW, 80)
		}
		f.ClearSkyKW[4] = 1 // 13:00 is dark
		return f
	}
	classes := make([]forecast.ScoreSum, len(forecast.Leads))
	until := nine.Add(4 * time.Hour)
	addForecast(classes, said(nine.Add(30*time.Minute), 45, 55, 65), power, nine, until, 100)
	addForecast(classes, said(nine.Add(2*time.Hour), 50, 60, 70), power, nine, until, 100)
	addForecast(classes, said(nine.Add(-10*time.Hour), 40, 50, 58), power, nine, until, 100)
	// 1 to 6 h. The first spoke of 10:00 (60) and 12:00 (40), 11:00 is missing,
	// 09:00 had begun; the second of 12:00 alone.
	near := forecast.ScoreSum{N: 3, Abs: 0.05 + 0.15 + 0.20, Bias: -0.05 + 0.15 + 0.20, Width: 0.20 * 3, Within: 1}
	near.Pinball = (model.Pinball(45, 55, 65, 60) + model.Pinball(45, 55, 65, 40) + model.Pinball(50, 60, 70, 40)) / 100
	// 7 to 12 h: the third of 09:00 and 10:00, eleven and twelve hours ahead;
	// 13 to 24 h: of 12:00.
	mid := forecast.ScoreSum{N: 2, Abs: 0.10, Bias: -0.10, Width: 0.18 * 2, Within: 1, Pinball: (model.Pinball(40, 50, 58, 50) + model.Pinball(40, 50, 58, 60)) / 100}
	far := forecast.ScoreSum{N: 1, Abs: 0.10, Bias: 0.10, Width: 0.18, Within: 1, Pinball: model.Pinball(40, 50, 58, 40) / 100}
	want := []forecast.ScoreSum{near, mid, far, {}, {}, {}, {}}
	if diff := cmp.Diff(want, classes, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-12 })); diff != "" {
		t.Error(diff)
	}
}
