package screen

import (
	"fmt"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// accuracyDays is how far back forecasts are judged.
const accuracyDays = "90"

// NewForecast shows the forecast by day and hour, those that were issued before
// it against what came, and how good they have been by lead.
func NewForecast() *Book {
	return &Book{title: "Forecast", leaves: []*leaf{newDaysAhead(), newHoursAhead(), newIssued(), newAccuracy()}}
}

// forecastNeeds are the forecast itself, and what came of today.
func forecastNeeds(view.Context) []state.Need {
	return []state.Need{{Query: state.QueryForecast, Period: 30 * time.Second}, {Query: state.QueryDay, Period: 15 * time.Second}}
}

func forecastStatus(v view.Context) status {
	f := v.Site.Forecast
	return statusOf(f, v.Now, len(f.Data.Forecasts) == 0)
}

// noForecast is said where there is none.
var noForecast = fmt.Sprintf("There is no forecast yet. It comes by itself when %d days of data are imported and the model is trained.", api.TrainingDays)

// forecastStep is the length of a value.
func forecastStep(f api.GeneratedForecast) time.Duration {
	return time.Duration(max(f.StepMinutes, 1)) * time.Minute
}

// drawIssue says which forecast it is, what made it and what it knew, and
// answers the rows it took.
func drawIssue(r terminal.Region, v view.Context) int {
	f := v.Site.Forecast.Data
	w, _ := r.Size()
	words := fmt.Sprintf("Issued %s, %s ago%s%d h ahead in steps of %d min%smodel %s, %s accurate in its backtest",
		pane.When(f.GeneratedAt.Time, v.SiteNow, v.Site.Zone), state.Age(v.SiteNow.Sub(f.GeneratedAt.Time)), v.Separator(), f.HorizonHours, f.StepMinutes, v.Separator(), modelWords(f), pane.Percent(f.Metadata.ModelAccuracy))
	y := v.Paragraph(r, 0, 0, words, themes.Dim)
	source := f.Metadata.WeatherSource
	if source == "" {
		source = "not told"
	}
	v.PutIn(r, 0, y, w, "Weather it knew: "+source, themes.Dim)
	return y + 1
}

func modelWords(f api.GeneratedForecast) string {
	if f.Metadata.ModelType == "" {
		return f.Metadata.ModelVersion
	}
	return f.Metadata.ModelType + " " + f.Metadata.ModelVersion
}

// drawAhead draws the forecast over its days; at is an instant in hand.
func drawAhead(c *chart.Day, r terminal.Region, v view.Context, y int, from, to, at time.Time) int {
	w, h := r.Size()
	if h-y < 6 || w < 30 {
		return y
	}
	f := v.Site.Forecast.Data
	c.Cursor, c.Stale = at, v.Site.Forecast.Err != nil
	var more []chart.Line
	if d := v.Site.Day.Data; !d.Start.IsZero() {
		const slot = 15 * time.Minute
		actual := chart.Points{Value: pane.Settled(state.Total(d.Slots(slot)), v.Site.CapacityKW), Step: slot}
		for i := range actual.Value {
			actual.At = append(actual.At, d.Start.Add(time.Duration(i)*slot).Unix())
		}
		more = append(more, chart.Line{Name: "actual", Points: actual, Role: themes.Actual})
	}
	pane.DrawForecast(c, r.Region(terminal.Rect{Y: y, W: w, H: h - y}), v, wholeDays(f), forecastStep(f), from, to, more...)
	return h
}

// wholeDays are the forecast's values after those of today that are over, each
// as it was issued before its hour.
func wholeDays(f api.GeneratedForecast) []api.ForecastValue {
	var out []api.ForecastValue
	for _, value := range f.Today {
		if len(f.Forecasts) > 0 && value.Timestamp.Before(f.Forecasts[0].Timestamp.Time) {
			out = append(out, value)
		}
	}
	return append(out, f.Forecasts...)
}

// aheadEnds are the beginning of the first and the end of the last day that a
// place of that width has room for.
func aheadEnds(v view.Context, w int) (from, to time.Time) {
	values := v.Site.Forecast.Data.Forecasts
	from = view.MidnightOf(v.SiteNow)
	if len(values) == 0 {
		return from, from.AddDate(0, 0, 1)
	}
	last := view.MidnightOf(values[len(values)-1].Timestamp.In(v.Site.Zone)).AddDate(0, 0, 1)
	to = from.AddDate(0, 0, max(w/14, 1))
	if to.After(last) {
		to = last
	}
	return from, to
}

// aheadDay is one day of the forecast.
type aheadDay struct {
	day                       time.Time
	p10, p50, p90             float64 // kWh; sums of the hours' own
	peakKW                    float64
	peakAt                    time.Time
	hours                     float64
	temperature, wind, sunKWh float64 // mean, mean, per m²
	known                     bool    // the weather is
}

// aheadDays cuts the forecast into the site's days.
func aheadDays(v view.Context) []aheadDay {
	f := v.Site.Forecast.Data
	h := forecastStep(f).Hours()
	var days []aheadDay
	for _, value := range wholeDays(f) {
		day := view.MidnightOf(value.Timestamp.In(v.Site.Zone))
		if n := len(days); n == 0 || !days[n-1].day.Equal(day) {
			days = append(days, aheadDay{day: day, peakKW: -1})
		}
		d := &days[len(days)-1]
		d.hours += h
		d.p10 += value.ConfidenceInterval.Lower * h
		d.p50 += value.PredictedPowerKW * h
		d.p90 += value.ConfidenceInterval.Upper * h
		if value.PredictedPowerKW > d.peakKW {
			d.peakKW, d.peakAt = value.PredictedPowerKW, value.Timestamp.In(v.Site.Zone)
		}
		w := value.WeatherConditions
		d.known = d.known || w != (api.WeatherConditions{})
		d.temperature += w.TemperatureC * h
		d.wind += w.WindSpeedMS * h
		d.sunKWh += w.IrradianceWM2 * h / 1000
	}
	for i := range days {
		days[i].temperature /= days[i].hours
		days[i].wind /= days[i].hours
	}
	return days
}

func newDaysAhead() *leaf {
	l := newLeaf("days")
	c := &chart.Day{}
	l.needs, l.status, l.empty = forecastNeeds, forecastStatus, noForecast
	l.head = func(r terminal.Region, v view.Context, id string) int {
		w, _ := r.Size()
		from, to := aheadEnds(v, w)
		var at time.Time
		for _, d := range aheadDays(v) {
			if d.day.Format(time.DateOnly) == id && d.peakAt.Before(to) {
				at = d.peakAt
			}
		}
		return drawAhead(c, r, v, drawIssue(r, v), from, to, at)
	}
	l.columns = func(view.Context) []pane.Column {
		return []pane.Column{
			{Title: "day", Width: 11}, {Title: "P10", Width: 9, Right: true, Rank: 1}, {Title: "P50", Width: 9, Right: true}, {Title: "P90", Width: 9, Right: true, Rank: 1},
			{Title: "peak", Width: 8, Right: true, Rank: 2}, {Title: "at", Width: 5, Rank: 3}, {Title: "air", Width: 7, Right: true, Rank: 4},
			{Title: "sun", Width: 12, Right: true, Rank: 4}, {Title: "wind", Width: 8, Right: true, Rank: 5}, {Title: "P10 to P90", Min: 12, Rank: 3},
		}
	}
	l.rows = func(v view.Context) []pane.Row {
		days := aheadDays(v)
		top := 0.0
		for _, d := range days {
			top = max(top, d.p90)
		}
		rows := make([]pane.Row, 0, len(days))
		for _, d := range days {
			name := dayName(d.day, v.SiteNow)
			if d.hours < 23 {
				name += "*"
			}
			air, sun, wind := "", "", ""
			if d.known {
				air, sun, wind = pane.Significant(d.temperature)+" °C", pane.Significant(d.sunKWh)+" kWh/m²", pane.Significant(d.wind)+" m/s"
			}
			rows = append(rows, pane.Row{ID: d.day.Format(time.DateOnly), Sort: []any{d.day.Format(time.DateOnly), d.p10, d.p50, d.p90, d.peakKW, d.peakAt.Format("15:04"), d.temperature, d.sunKWh, d.wind, d.p50}, Cells: []pane.Cell{
				text(name), quiet(pane.Energy(d.p10)), text(pane.Energy(d.p50)), quiet(pane.Energy(d.p90)), text(pane.Power(d.peakKW)), quiet(d.peakAt.Format("15:04")),
				quiet(air), quiet(sun), quiet(wind), {Draw: func(r terminal.Region) { pane.DrawRange(r, v, d.p10, d.p50, d.p90, top) }},
			}})
		}
		return rows
	}
	return l
}

func newHoursAhead() *leaf {
	l := newLeaf("hours")
	c := &chart.Day{}
	l.needs, l.status, l.empty = forecastNeeds, forecastStatus, noForecast
	l.head = func(r terminal.Region, v view.Context, id string) int {
		w, _ := r.Size()
		from, to := aheadEnds(v, w)
		at, err := time.ParseInLocation(hourID, id, v.Site.Zone)
		if err != nil || !at.Before(to) {
			at = time.Time{}
		}
		return drawAhead(c, r, v, drawIssue(r, v), from, to, at)
	}
	l.columns = func(view.Context) []pane.Column {
		return []pane.Column{
			{Title: "hour", Width: 17}, {Title: "P10", Width: 8, Right: true}, {Title: "P50", Width: 8, Right: true}, {Title: "P90", Width: 8, Right: true},
			{Title: "clear sky", Width: 9, Right: true, Rank: 1}, {Title: "air", Width: 7, Right: true, Rank: 2}, {Title: "sun", Width: 9, Right: true, Rank: 2}, {Title: "wind", Width: 8, Right: true, Rank: 3},
		}
	}
	l.rows = func(v view.Context) []pane.Row {
		values := v.Site.Forecast.Data.Forecasts
		rows := make([]pane.Row, 0, len(values))
		for _, x := range values {
			at, w := x.Timestamp.In(v.Site.Zone), x.WeatherConditions
			air, sun, wind := "", "", ""
			if w != (api.WeatherConditions{}) {
				air, sun, wind = pane.Significant(w.TemperatureC)+" °C", fmt.Sprintf("%.0f W/m²", w.IrradianceWM2), pane.Significant(w.WindSpeedMS)+" m/s"
			}
			rows = append(rows, pane.Row{ID: at.Format(hourID), Sort: []any{at.Format(hourID), x.ConfidenceInterval.Lower, x.PredictedPowerKW, x.ConfidenceInterval.Upper, x.ClearSkyKW, w.TemperatureC, w.IrradianceWM2, w.WindSpeedMS}, Cells: []pane.Cell{
				text(dayName(at, v.SiteNow) + " " + at.Format("15:04")), quiet(pane.Power(x.ConfidenceInterval.Lower)), text(pane.Power(x.PredictedPowerKW)), quiet(pane.Power(x.ConfidenceInterval.Upper)),
				quiet(pane.Power(x.ClearSkyKW)), quiet(air), quiet(sun), quiet(wind),
			}})
		}
		return rows
	}
	return l
}

// hourID names an hour, also the second one of its name where clocks change.
const hourID = "2006-01-02 15:04 -0700"
