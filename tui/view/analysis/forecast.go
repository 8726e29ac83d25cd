// Package analysis shows forecasts and their accuracy, KPIs, filled gaps,
// models, and one unit closely.
package analysis

import (
	"fmt"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// accuracyDays is the number of days over which forecasts are evaluated.
const accuracyDays = "30"

// NewForecast shows the forecast by day and hour, earlier forecasts against
// measurements, and their accuracy by lead time.
func NewForecast() *widget.TabView {
	return &widget.TabView{Heading: "Forecast", Tabs: []*widget.Tab{newDaysAhead(), newHoursAhead(), newIssued(), newAccuracy()}}
}

// forecastNeeds returns the forecast and today's measurements.
func forecastNeeds(view.Context) []state.Need {
	return []state.Need{{Query: state.QueryForecast, Period: 30 * time.Second}, {Query: state.QueryDay, Period: 15 * time.Second}}
}

func forecastStatus(v view.Context) widget.ValueStatus {
	f := v.Site.Forecast
	return widget.StatusOf(f, v.Now, len(f.Data.Forecasts) == 0)
}

// noForecast is shown without a forecast.
var noForecast = fmt.Sprintf("There is no forecast yet. It is issued automatically once %s of data are imported and the model is trained.", display.CountOf(api.TrainingDays, "day", "days"))

// forecastStep returns the length of a value.
func forecastStep(f api.GeneratedForecast) time.Duration {
	return time.Duration(max(f.StepMinutes, 1)) * time.Minute
}

// drawIssue shows when the forecast was issued, by which model and with which
// weather, and returns the number of rows drawn.
func drawIssue(r terminal.Region, v view.Context) int {
	f := v.Site.Forecast.Data
	w, _ := r.Size()
	words := fmt.Sprintf("Issued %s, %s ago%s%d h ahead in steps of %d min%smodel %s",
		display.When(f.GeneratedAt.Time, v.SiteNow, v.Site.Zone), display.Age(v.SiteNow.Sub(f.GeneratedAt.Time)), v.Separator(), f.HorizonHours, f.StepMinutes, v.Separator(), modelWords(f))
	y := v.Paragraph(r, 0, 0, words, themes.Dim)
	source := f.Metadata.WeatherSource
	if source == "" {
		source = "unknown"
	}
	v.PutIn(r, 0, y, w, "Weather at issue: "+source, themes.Dim)
	return y + 1
}

func modelWords(f api.GeneratedForecast) string {
	if f.Metadata.ModelType == "" {
		return f.Metadata.ModelVersion
	}
	return f.Metadata.ModelType + " " + f.Metadata.ModelVersion
}

// drawAhead draws the forecast over its days; at is the selected instant.
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
		actual := chart.Points{Value: widget.Settled(state.Total(d.Slots(slot)), v.Site.CapacityKW), Step: slot}
		for i := range actual.Value {
			actual.At = append(actual.At, d.Start.Add(time.Duration(i)*slot).Unix())
		}
		more = append(more, chart.Line{Name: "actual", Points: actual, Role: themes.Actual, Filled: true})
	}
	widget.DrawForecast(c, r.Region(terminal.Rect{Y: y, W: w, H: h - y}), v, wholeDays(f), forecastStep(f), from, to, more...)
	return h
}

// wholeDays returns the forecast's values after those of today that are over, each
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

// aheadEnds returns the beginning of the first and the end of the last day that a
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
	p10, p50, p90             float64 // kWh; quantiles of the day, as the service answers them
	peakKW                    float64
	peakAt                    time.Time
	hours                     float64
	weatherHours              float64 // of hours, those with weather: past hours of today have none
	temperature, wind, sunKWh float64 // mean, mean, per m²; of the hours with weather
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
		if w == (api.WeatherConditions{}) {
			continue
		}
		d.weatherHours += h
		d.temperature += w.TemperatureC * h
		d.wind += w.WindSpeedMS * h
		d.sunKWh += w.IrradianceWM2 * h / 1000
	}
	for i := range days {
		if days[i].weatherHours > 0 {
			days[i].temperature /= days[i].weatherHours
			days[i].wind /= days[i].weatherHours
		}
		for _, of := range f.Days {
			if of.Day == days[i].day.Format(time.DateOnly) {
				days[i].p10, days[i].p50, days[i].p90 = of.P10KWh, of.P50KWh, of.P90KWh
			}
		}
	}
	return days
}

func newDaysAhead() *widget.Tab {
	l := widget.NewTab("days")
	c := &chart.Day{}
	l.Needs, l.Status, l.Empty = forecastNeeds, forecastStatus, noForecast
	l.Head = func(r terminal.Region, v view.Context, id string) int {
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
	l.Columns = func(view.Context) []widget.Column {
		return []widget.Column{
			{Title: "day", Width: 11}, {Title: "P10", Width: 9, Right: true, Rank: 1}, {Title: "P50", Width: 9, Right: true}, {Title: "P90", Width: 9, Right: true, Rank: 1},
			{Title: "peak", Width: 8, Right: true, Rank: 2}, {Title: "at", Width: 5, Rank: 3}, {Title: "air", Width: 7, Right: true, Rank: 4},
			{Title: "sun", Width: 12, Right: true, Rank: 4}, {Title: "wind", Width: 8, Right: true, Rank: 5}, {Title: "P10 to P90", Min: 12, Rank: 3},
		}
	}
	l.Rows = func(v view.Context) []widget.Row {
		days := aheadDays(v)
		top := 0.0
		for _, d := range days {
			top = max(top, d.p90)
		}
		rows := make([]widget.Row, 0, len(days))
		for _, d := range days {
			name := display.DayName(d.day, v.SiteNow)
			if d.hours < 23 {
				name += "*"
			}
			air, sun, wind := "", "", ""
			if d.weatherHours > 0 {
				air, wind = display.Significant(d.temperature)+" °C", display.Significant(d.wind)+" m/s"
			}
			if d.weatherHours == d.hours { // the sum of a part of a day is not that of the day
				sun = display.Significant(d.sunKWh) + " kWh/m²"
			} else if d.weatherHours > 0 {
				sun = "–"
			}
			rows = append(rows, widget.Row{ID: d.day.Format(time.DateOnly), Sort: []any{d.day.Format(time.DateOnly), d.p10, d.p50, d.p90, d.peakKW, display.Clock(d.peakAt), d.temperature, d.sunKWh, d.wind, d.p50}, Cells: []widget.Cell{
				widget.Text(name), widget.QuietText(display.Energy(d.p10)), widget.Text(display.Energy(d.p50)), widget.QuietText(display.Energy(d.p90)), widget.Text(display.Power(d.peakKW)), widget.QuietText(display.Clock(d.peakAt)),
				widget.QuietText(air), widget.QuietText(sun), widget.QuietText(wind), {Draw: func(r terminal.Region) { widget.DrawRange(r, v, d.p10, d.p50, d.p90, top) }},
			}})
		}
		return rows
	}
	return l
}

func newHoursAhead() *widget.Tab {
	l := widget.NewTab("hours")
	c := &chart.Day{}
	l.Needs, l.Status, l.Empty = forecastNeeds, forecastStatus, noForecast
	l.Head = func(r terminal.Region, v view.Context, id string) int {
		w, _ := r.Size()
		from, to := aheadEnds(v, w)
		at, err := time.ParseInLocation(hourID, id, v.Site.Zone)
		if err != nil || !at.Before(to) {
			at = time.Time{}
		}
		return drawAhead(c, r, v, drawIssue(r, v), from, to, at)
	}
	l.Columns = func(view.Context) []widget.Column {
		return []widget.Column{
			{Title: "hour", Width: 17}, {Title: "P10", Width: 8, Right: true}, {Title: "P50", Width: 8, Right: true}, {Title: "P90", Width: 8, Right: true},
			{Title: "clear sky", Width: 9, Right: true, Rank: 1}, {Title: "air", Width: 7, Right: true, Rank: 2}, {Title: "sun", Width: 9, Right: true, Rank: 2}, {Title: "wind", Width: 8, Right: true, Rank: 3},
			{Title: "P10 to P90", Min: 24, Rank: 4},
		}
	}
	l.Rows = func(v view.Context) []widget.Row {
		values := v.Site.Forecast.Data.Forecasts
		top := 0.0
		for _, x := range values {
			top = max(top, x.ConfidenceInterval.Upper)
		}
		rows := make([]widget.Row, 0, len(values))
		for _, x := range values {
			at, w := x.Timestamp.In(v.Site.Zone), x.WeatherConditions
			air, sun, wind := "", "", ""
			if w != (api.WeatherConditions{}) {
				air, sun, wind = display.Significant(w.TemperatureC)+" °C", display.Irradiance(w.IrradianceWM2), display.Significant(w.WindSpeedMS)+" m/s"
			}
			rows = append(rows, widget.Row{ID: at.Format(hourID), Sort: []any{at.Format(hourID), x.ConfidenceInterval.Lower, x.PredictedPowerKW, x.ConfidenceInterval.Upper, x.ClearSkyKW, w.TemperatureC, w.IrradianceWM2, w.WindSpeedMS, x.PredictedPowerKW}, Cells: []widget.Cell{
				widget.Text(display.DayName(at, v.SiteNow) + " " + display.Clock(at)), widget.QuietText(display.Power(x.ConfidenceInterval.Lower)), widget.Text(display.Power(x.PredictedPowerKW)), widget.QuietText(display.Power(x.ConfidenceInterval.Upper)),
				widget.QuietText(display.Power(x.ClearSkyKW)), widget.QuietText(air), widget.QuietText(sun), widget.QuietText(wind),
				{Draw: func(r terminal.Region) {
					if x.ConfidenceInterval.Upper > 0 {
						widget.DrawRange(r, v, x.ConfidenceInterval.Lower, x.PredictedPowerKW, x.ConfidenceInterval.Upper, top)
					}
				}},
			}})
		}
		return rows
	}
	return l
}

// hourID names an hour, also the second one of its name where clocks change.
const hourID = "2006-01-02 15:04 -0700"

// newIssued lists the forecasts as they were issued; the selected one is drawn against
// measurements.
func newIssued() *widget.Tab {
	l := widget.NewTab("issued")
	c := &chart.Day{}
	l.Needs = func(v view.Context) []state.Need {
		needs := []state.Need{{Query: state.QueryIssued, Period: time.Minute}, {Query: state.QueryAssets, Period: 5 * time.Minute}}
		if f := issuedOf(v, l.List.Selected); f != nil && came(v, *f).To.After(came(v, *f).From) {
			needs = append(needs, state.Need{Query: state.QueryRecords, Of: came(v, *f).Of(), Period: 5 * time.Minute})
		}
		return needs
	}
	l.Status = func(v view.Context) widget.ValueStatus {
		return widget.StatusOf(v.Site.Issued, v.Now, len(v.Site.Issued.Data) == 0)
	}
	l.Empty = "No forecast has been issued yet."
	l.Head = func(r terminal.Region, v view.Context, id string) int {
		f := issuedOf(v, id)
		if f == nil {
			return 0
		}
		w, h := r.Size()
		y := v.Paragraph(r, 0, 0, judged(v, *f), themes.Dim)
		if h-y < 6 || w < 30 {
			return y
		}
		values := issuedValues(*f)
		span := came(v, *f)
		actual := chart.Line{Name: "actual", Points: siteHours(v, span), Role: themes.Actual, Filled: true}
		from := view.MidnightOf(f.GeneratedAt.In(v.Site.Zone))
		to := from.AddDate(0, 0, max(w/14, 1))
		if n := len(values); n > 0 && to.After(values[n-1].Timestamp.Time) {
			to = view.MidnightOf(values[n-1].Timestamp.In(v.Site.Zone)).AddDate(0, 0, 1)
		}
		c.Stale = v.Site.Issued.Err != nil
		widget.DrawForecast(c, r.Region(terminal.Rect{Y: y, W: w, H: h - y}), v, values, time.Hour, from, to, actual)
		return h
	}
	l.Columns = func(view.Context) []widget.Column {
		return []widget.Column{
			{Title: "issued", Width: 12}, {Title: "model", Min: 12, Rank: 1}, {Title: "ahead", Width: 6, Right: true}, {Title: "air", Width: 7, Right: true, Rank: 2},
			{Title: "sun", Width: 9, Right: true, Rank: 3}, {Title: "weather from", Width: 14, Rank: 1},
		}
	}
	l.Rows = func(v view.Context) []widget.Row {
		rows := make([]widget.Row, 0, len(v.Site.Issued.Data))
		for _, f := range v.Site.Issued.Data {
			w := f.WeatherContext
			rows = append(rows, widget.Row{ID: f.ForecastID, Sort: []any{f.GeneratedAt.String(), f.ModelVersion, float64(f.HorizonHours), w.AvgTemperatureC, w.AvgIrradianceWM2, w.Source}, Cells: []widget.Cell{
				widget.Text(display.When(f.GeneratedAt.Time, v.SiteNow, v.Site.Zone)), widget.Text(f.ModelName + " " + f.ModelVersion), widget.Text(fmt.Sprintf("%d h", f.HorizonHours)),
				widget.QuietText(display.Significant(w.AvgTemperatureC) + " °C"), widget.QuietText(display.Irradiance(w.AvgIrradianceWM2)), widget.QuietText(w.Source),
			}})
		}
		return rows
	}
	return l
}

func issuedOf(v view.Context, id string) *api.StoredForecast {
	for i, f := range v.Site.Issued.Data {
		if f.ForecastID == id {
			return &v.Site.Issued.Data[i]
		}
	}
	return nil
}

// issuedValues returns the points of an issued forecast.
func issuedValues(f api.StoredForecast) []api.ForecastValue {
	out := make([]api.ForecastValue, len(f.ForecastPoints))
	for i, p := range f.ForecastPoints {
		out[i] = api.ForecastValue{Timestamp: p.Timestamp, PredictedPowerKW: p.PredictedPowerKW, ClearSkyKW: p.ClearSkyKW, ConfidenceInterval: api.Interval{Lower: p.LowerConfKW, Upper: p.UpperConfKW}}
	}
	return out
}

// came returns the past part of an issued forecast, in whole hours.
func came(v view.Context, f api.StoredForecast) state.Span {
	from := view.MidnightOf(f.GeneratedAt.In(v.Site.Zone))
	to := v.SiteNow.Truncate(time.Hour)
	if n := len(f.ForecastPoints); n > 0 {
		if end := f.ForecastPoints[n-1].Timestamp.Add(time.Hour); end.Before(to) {
			to = end
		}
	}
	return state.Span{From: from, To: to, Resolution: api.ResolutionHour}
}

// siteHours returns the site's power in the hours of a span; of an hour in which not
// every unit of a known rating reported, the others stand for those by their
// rating.
func siteHours(v view.Context, span state.Span) chart.Points {
	if v.Site.Wanted(state.QueryRecords) != span.Of() {
		return chart.Points{Step: time.Hour}
	}
	rating, all := map[string]float64{}, 0.0
	for _, a := range v.Site.Assets.Data {
		if _, ok := v.Site.Records.Data[a.AssetID]; ok {
			rating[a.AssetID], all = a.CapacityKW, all+a.CapacityKW
		}
	}
	sum, reported := map[int64]float64{}, map[int64]float64{}
	for id, records := range v.Site.Records.Data {
		for _, rec := range records {
			at := rec.Timestamp.Unix()
			sum[at] += rec.Power
			reported[at] += rating[id]
		}
	}
	out := chart.Points{Step: time.Hour}
	for at := range sum {
		out.At = append(out.At, at)
	}
	slices.Sort(out.At)
	for _, at := range out.At {
		kw := sum[at]
		switch r := reported[at]; {
		case all > 0 && r < all/2:
			kw = math.NaN()
		case all > 0:
			kw *= all / r
		}
		out.Value = append(out.Value, kw)
	}
	out.Value = widget.Settled(out.Value, v.Site.CapacityKW)
	return out
}

// judged describes the accuracy of an issued forecast in the past hours of daylight.
func judged(v view.Context, f api.StoredForecast) string {
	actual := siteHours(v, came(v, f))
	byHour := map[int64]float64{}
	for i, at := range actual.At {
		byHour[at] = actual.Value[i]
	}
	n, within, miss, bias := 0, 0, 0.0, 0.0
	for _, p := range f.ForecastPoints {
		kw, ok := byHour[p.Timestamp.Unix()]
		if !ok || math.IsNaN(kw) || p.ClearSkyKW <= 0.01*v.Site.CapacityKW {
			continue
		}
		n++
		miss += math.Abs(p.PredictedPowerKW - kw)
		bias += p.PredictedPowerKW - kw
		if kw >= p.LowerConfKW && kw <= p.UpperConfKW {
			within++
		}
	}
	if n == 0 {
		return "None of its daylight hours has passed yet."
	}
	hours := float64(n)
	side := "high"
	if bias < 0 {
		side = "low"
	}
	return fmt.Sprintf("%d daylight hours have passed: error %s on average, %s too %s in total; %s of them between P10 and P90 (nominal: 80 %%).",
		n, display.Power(miss/hours), display.Power(math.Abs(bias)/hours), side, display.Percent(float64(within)/hours))
}

// newAccuracy shows the accuracy of forecasts by lead time, against that of the backtest.
func newAccuracy() *widget.Tab {
	l := widget.NewTab("accuracy")
	rest := &kpiRest{tab: l, period: &period{at: 1}} // the days that are scored
	l.Needs = rest.needs(func(view.Context) []state.Need {
		return []state.Need{{Query: state.QueryAccuracy, Of: accuracyDays, Period: 5 * time.Minute}}
	})
	l.Detail, l.Aside, l.Rest = leadDetail, true, rest.draw
	l.Status = func(v view.Context) widget.ValueStatus {
		return widget.StatusOf(v.Site.Accuracy, v.Now, len(v.Site.Accuracy.Data.Leads) == 0 && v.Site.Accuracy.Data.Backcast == nil)
	}
	l.Empty = "No forecast has been scored yet: a day is scored when it is over."
	l.Head = func(r terminal.Region, v view.Context, _ string) int {
		a := v.Site.Accuracy.Data
		y := 0
		if len(a.Leads) > 0 {
			y = v.Paragraph(r, 0, y, "The last "+accuracyDays+" days, in percent of capacity: each hour of daylight counts once for every forecast that covered it.", themes.Dim)
			y = v.Paragraph(r, 0, y, fmt.Sprintf("Issued forecasts, %s to %s: %s", a.From, a.To, scoreWords(a.Overall)), themes.Text)
		} else {
			y = v.Paragraph(r, 0, y, "No issued forecast of the last "+accuracyDays+" days has been scored yet: a day is scored when it is over. In percent of capacity.", themes.Dim)
		}
		if a.Backcast != nil {
			y = v.Paragraph(r, 0, y, "Backcast of days without an issued forecast, from their midnights: "+scoreWords(*a.Backcast), themes.Text)
		}
		if a.Promised != nil {
			y = v.Paragraph(r, 0, y, "Expected by the backtest, a day ahead: "+scoreWords(*a.Promised), themes.Dim)
		}
		if a.MeasuredWeather != nil {
			y = v.Paragraph(r, 0, y, "Backtest with measured weather, which no forecast has: "+scoreWords(*a.MeasuredWeather), themes.Dim)
		}
		return y
	}
	l.Columns = func(view.Context) []widget.Column {
		return []widget.Column{
			{Title: "lead", Width: 12}, {Title: "hours", Width: 7, Right: true, Rank: 2}, {Title: "error", Width: 8, Right: true}, {Title: "bias", Width: 8, Right: true},
			{Title: "coverage", Width: 9, Right: true}, {Title: "width", Width: 8, Right: true, Rank: 1}, {Title: "pinball", Width: 8, Right: true, Rank: 3}, {Title: "error, by lead", Min: 10, Rank: 2},
		}
	}
	l.Rows = func(v view.Context) []widget.Row {
		a := v.Site.Accuracy.Data
		top := 0.0
		for _, lead := range a.Leads {
			top = max(top, lead.NMAEPercent)
		}
		rows := make([]widget.Row, 0, len(a.Leads)+1)
		leads := a.Leads
		if a.Backcast != nil {
			top = max(top, a.Backcast.NMAEPercent)
			leads = append(slices.Clone(leads), api.LeadAccuracy{ModelScore: *a.Backcast})
		}
		for _, lead := range leads {
			name := leadName(lead)
			coverage := widget.Text(display.Percent(lead.Coverage80))
			if !chart.NormalRatio.Holds(lead.Coverage80 / 0.8) {
				coverage.Role = themes.Warning
			}
			rows = append(rows, widget.Row{ID: name, Sort: []any{float64(lead.FromHours), float64(lead.Samples), lead.NMAEPercent, lead.BiasPercent, lead.Coverage80, lead.WidthPercent, lead.PinballPercent, lead.NMAEPercent}, Cells: []widget.Cell{
				widget.Text(name), widget.QuietText(fmt.Sprint(lead.Samples)), widget.Text(display.Percentage(lead.NMAEPercent)), widget.Text(display.Change(lead.BiasPercent)), coverage,
				widget.QuietText(display.Percentage(lead.WidthPercent)), widget.QuietText(display.Percentage(lead.PinballPercent)), {Draw: func(r terminal.Region) { widget.DrawSize(r, v, lead.NMAEPercent/max(top, 1e-9)) }},
			}})
		}
		return rows
	}
	return l
}

// leadDetail explains the figures of forecasts of a lead time.
func leadDetail(v view.Context, id string) []widget.Detail {
	a := v.Site.Accuracy.Data
	score, of := a.Backcast, "Backcasts, from their midnights"
	for _, lead := range a.Leads {
		if leadName(lead) == id {
			score, of = &lead.ModelScore, "Forecasts "+id+" ahead"
		}
	}
	if score == nil {
		return nil
	}
	side := "too high"
	if score.BiasPercent < 0 {
		side = "too low"
	}
	lines := []widget.Detail{{Heading: of}}
	add := widget.FactsOf(&lines)
	add("hours", fmt.Sprintf("%d of daylight", score.Samples))
	add("error", display.Percentage(score.NMAEPercent)+" of capacity on average")
	add("bias", display.Percentage(math.Abs(score.BiasPercent))+" of capacity "+side)
	add("coverage", display.Percent(score.Coverage80)+" of the hours between P10 and P90, nominal 80 %")
	add("width", display.Percentage(score.WidthPercent)+" of capacity from P10 to P90")
	add("pinball", display.Percentage(score.PinballPercent)+" of capacity: mean loss of the quantiles, less is better")
	return lines
}

// leadName names a span of lead times, or the backcasts.
func leadName(lead api.LeadAccuracy) string {
	if lead.ToHours == 0 {
		return "backcast"
	}
	return fmt.Sprintf("%d to %d h", lead.FromHours, lead.ToHours)
}

func scoreWords(s api.ModelScore) string {
	side := "high"
	if s.BiasPercent < 0 {
		side = "low"
	}
	words := fmt.Sprintf("error %s, %s too %s, %s between P10 and P90", display.Percentage(s.NMAEPercent), display.Percentage(math.Abs(s.BiasPercent)), side, display.Percent(s.Coverage80))
	if s.Samples == 0 { // a backtest, which does not say
		return words + "."
	}
	return words + " over " + display.CountOf(s.Samples, "hour", "hours") + "."
}
