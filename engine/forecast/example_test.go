package forecast_test

import (
	"context"
	"fmt"
	"math"
	"time"

	"app.sunloop/engine/forecast"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
	"app.sunloop/engine/weather"
)

// A forecast for a site with a week of history. With 60 days and more, use Train
// instead of ColdStart; the model is used in the same way.
func ExampleColdStart() {
	site := forecast.Site{ID: "roof", Location: solar.Location{LatitudeDeg: 48.21, LongitudeDeg: 16.37}, CapacityKW: 10}
	issue := time.Date(2026, 6, 8, 0, 0, 0, 0, time.UTC)
	power := series.Series{Start: issue.AddDate(0, 0, -7), Step: time.Hour}
	for i := range 7 * 24 {
		sun := math.Cos(solar.At(power.Time(i).Add(30*time.Minute), site.Location).ZenithDeg * math.Pi / 180)
		power.Values = append(power.Values, max(0, 8*sun))
	}
	model, _, err := forecast.ColdStart(context.Background(), site, forecast.History{Power: power}, forecast.Options{Resolution: time.Hour})
	if err != nil {
		fmt.Println(err)
		return
	}
	points, err := model.Forecast(issue, power, weather.Forecast{}, 24*time.Hour)
	if err != nil {
		fmt.Println(err)
		return
	}
	best := points[0]
	for _, p := range points {
		if p.P50KW > best.P50KW {
			best = p
		}
	}
	fmt.Printf("%d hours; most at %s: between P10 and P90: %t\n", len(points), best.Time.Format("15:04"), best.P10KW <= best.P50KW && best.P50KW <= best.P90KW)
	fmt.Println("power at midnight:", points[23].P50KW)
	// Output:
	// 24 hours; most at 10:00: between P10 and P90: true
	// power at midnight: 0
}
