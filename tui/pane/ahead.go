package pane

import (
	"math"
	"time"

	"app.sunloop/backend/api"
)

// Work that is planned here: a visit of three hours by a crew that works from
// six to eighteen.
const (
	visitHours = 3
	crewFrom   = 6
	crewTo     = 18
)

// dayAhead is one site day of a forecast.
type dayAhead struct {
	day           time.Time // its midnight
	p10, p50, p90 float64   // kWh; a day's P10 and P90 are sums of its intervals'
	complete      bool      // the forecast covers all of it
	window        time.Time // start of the visit that loses least
	windowKWh     float64   // what the whole site brings in it, NaN without a window
}

// daysAhead cuts a forecast into site days and finds each day's best window.
func daysAhead(f api.GeneratedForecast, now time.Time, zone *time.Location) []dayAhead {
	step := time.Duration(f.StepMinutes) * time.Minute
	if step <= 0 {
		step = time.Hour
	}
	var days []dayAhead
	from := 0
	for i, value := range f.Forecasts {
		t := value.Timestamp.In(zone)
		start := midnightOf(t)
		if n := len(days); n == 0 || !days[n-1].day.Equal(start) {
			if n > 0 {
				days[n-1].finish(f.Forecasts[from:i], step, now)
			}
			days, from = append(days, dayAhead{day: start}), i
		}
		d := &days[len(days)-1]
		d.p50 += value.PredictedPowerKW * step.Hours()
		d.p10 += value.ConfidenceInterval.Lower * step.Hours()
		d.p90 += value.ConfidenceInterval.Upper * step.Hours()
	}
	if n := len(days); n > 0 {
		days[n-1].finish(f.Forecasts[from:], step, now)
	}
	return days
}

// finish says whether values, those of the day, cover all of it, and finds the
// window. A day has 23 to 25 hours where clocks change.
func (d *dayAhead) finish(values []api.ForecastValue, step time.Duration, now time.Time) {
	end := d.day.AddDate(0, 0, 1)
	d.complete = time.Duration(len(values))*step >= end.Sub(d.day)
	d.windowKWh = math.NaN()
	y, m, day := d.day.Date()
	for hour := crewFrom; hour+visitHours <= crewTo; hour++ {
		from := time.Date(y, m, day, hour, 0, 0, 0, d.day.Location())
		to := from.Add(visitHours * time.Hour)
		if from.Before(now) {
			continue
		}
		kwh, covered := 0.0, time.Duration(0)
		for _, value := range values {
			if t := value.Timestamp.Time; !t.Before(from) && t.Before(to) {
				kwh += value.PredictedPowerKW * step.Hours()
				covered += step
			}
		}
		if covered >= visitHours*time.Hour && !(kwh >= d.windowKWh) {
			d.window, d.windowKWh = from, kwh
		}
	}
}
