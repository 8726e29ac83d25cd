package pane

import (
	"fmt"
	"math"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
)

// Decide shows the days ahead: how much energy each is expected to bring, and
// when work that takes units off the grid would cost least; for the finding in
// hand, what waiting costs and what is recommended.
type Decide struct {
	list   List
	listAt terminal.Rect
	chart  aheadChart
}

// NewDecide lists the days in order.
func NewDecide() *Decide { return &Decide{list: List{SortBy: -1}} }

// Needs are what the pane shows.
func (d *Decide) Needs() []state.Need {
	return []state.Need{{Query: state.QueryForecast, Period: 15 * time.Second}, {Query: state.QueryFindings, Period: 30 * time.Second}}
}

// Work that is planned here: a visit of three hours by a crew that works from
// six to eighteen.
const (
	visitHours = 3
	crewFrom   = 6
	crewTo     = 18
)

// dayAhead is one site day of the forecast.
type dayAhead struct {
	day       time.Time
	p10, p50  float64 // kWh; a day's P10 and P90 are sums of its hours'
	p90       float64
	hours     int
	window    time.Time // start of the visit that loses least
	windowKWh float64   // what the whole site brings in it
	complete  bool
}

// daysAhead cuts a forecast into site days and finds each day's best window.
func daysAhead(f api.GeneratedForecast, now time.Time, zone *time.Location) []dayAhead {
	var days []dayAhead
	step := time.Duration(f.StepMinutes) * time.Minute
	if step <= 0 {
		step = time.Hour
	}
	values := f.Forecasts
	for _, value := range values {
		t := value.Timestamp.In(zone)
		start := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, zone)
		if n := len(days); n == 0 || !days[n-1].day.Equal(start) {
			days = append(days, dayAhead{day: start, windowKWh: math.NaN()})
		}
		d := &days[len(days)-1]
		h := step.Hours()
		d.p50 += value.PredictedPowerKW * h
		d.p10 += value.ConfidenceInterval.Lower * h
		d.p90 += value.ConfidenceInterval.Upper * h
		d.hours++
	}
	for i := range days {
		d := &days[i]
		end := d.day.AddDate(0, 0, 1)
		d.complete = float64(d.hours)*step.Hours() >= end.Sub(d.day).Hours()-0.01
		for hour := crewFrom; hour+visitHours <= crewTo; hour++ {
			from := time.Date(d.day.Year(), d.day.Month(), d.day.Day(), hour, 0, 0, 0, zone)
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
			if covered < visitHours*time.Hour {
				continue
			}
			if math.IsNaN(d.windowKWh) || kwh < d.windowKWh {
				d.window, d.windowKWh = from, kwh
			}
		}
	}
	return days
}

// Draw draws the thing in hand and the days ahead.
func (d *Decide) Draw(r terminal.Region, v View) {
	w, h := r.Size()
	y := d.drawInHand(r, v)
	forecast := v.Site.Forecast
	below := r.Region(terminal.Rect{Y: y, W: w, H: h - y})
	if v.face(below, forecast.Face(v.Now, 30*time.Minute, len(forecast.Data.Forecasts) == 0), forecast.Err, forecast.FailedSince, forecast.NextTry, "the forecast",
		fmt.Sprintf("There is no forecast yet: training starts with %d days of data. Press U to import more history.", api.TrainingDays)) {
		return
	}
	days := daysAhead(forecast.Data, v.SiteNow, v.Site.Zone)
	v.heading(r, y, "Days ahead", fmt.Sprintf("best time for a %d-hour visit", visitHours))
	d.listAt = terminal.Rect{Y: y + 1, W: w, H: h - y - 1}
	if h-y > len(days)+12 && w >= 40 {
		rows := len(days) + 2
		d.listAt.H = rows
		d.chart.draw(r.Region(terminal.Rect{Y: y + 1 + rows, W: w, H: h - y - 1 - rows}), v, forecast.Data, len(days))
	}
	d.list.Draw(r.Region(d.listAt), v, dayColumns, dayRows(v, days))
}

// drawInHand draws what waiting costs and what is recommended.
func (d *Decide) drawInHand(r terminal.Region, v View) int {
	_, h := r.Size()
	for _, f := range v.Site.Findings.Data {
		if f.SummaryID != v.Hand.FindingID {
			continue
		}
		x := v.severity(r, 0, 0, f.SeverityLabel)
		w, _ := r.Size()
		v.putIn(r, x+1, 0, w-x-1, unitName(f)+"  "+Family(f.FaultFamily), themes.Title)
		cost := "Waiting costs " + Power(f.EnergyAtRiskKW) + " while the sun is up"
		if f.RevenueAtRisk > 0 && f.Currency != "" {
			cost = fmt.Sprintf("Waiting costs %s a day (%s while the sun is up)", Money(f.RevenueAtRisk, f.Currency), Power(f.EnergyAtRiskKW))
		}
		y := v.Paragraph(r, 0, 1, cost+".", themes.Text)
		if h-y > 8 {
			y = drawActions(r.Region(terminal.Rect{W: w, H: y + min(len(f.RecommendedActions), 4)}), v, y, f.RecommendedActions)
		}
		return min(y+1, h)
	}
	return 0
}

var dayColumns = []Column{
	{Title: "day", Width: 10}, {Title: "P50", Width: 9, Right: true}, {Title: "P10 to P90", Width: 20, Right: true, Rank: 2},
	{Title: "energy"}, {Title: "visit", Width: 11, Right: true}, {Title: "loses", Width: 9, Right: true, Rank: 1},
}

func dayRows(v View, days []dayAhead) []Row {
	top := 0.0
	for _, d := range days {
		top = max(top, d.p90)
	}
	var rows []Row
	for _, d := range days {
		name := d.day.Format("Mon 02 Jan")
		role := themes.Text
		if !d.complete {
			name, role = name+"*", themes.Dim
		}
		visit, loses := "–", "–"
		if !math.IsNaN(d.windowKWh) {
			visit, loses = d.window.Format("15:04")+"–"+d.window.Add(visitHours*time.Hour).Format("15:04"), Energy(d.windowKWh)
		}
		rows = append(rows, Row{ID: d.day.Format(time.DateOnly), Cells: []Cell{
			{Text: name, Role: role}, {Text: Energy(d.p50), Role: themes.Text}, {Text: Energy(d.p10) + " – " + Energy(d.p90), Role: themes.Dim},
			{Draw: func(r terminal.Region) { drawRange(r, v, d.p10, d.p50, d.p90, top) }},
			{Text: visit, Role: themes.Text}, {Text: loses, Role: themes.Dim},
		}, Sort: []any{d.day.Format(time.DateOnly), d.p50, d.p50, d.p50, d.window.Format("15:04"), d.windowKWh}})
	}
	return rows
}

// Strip shows today and tomorrow.
func (d *Decide) Strip(r terminal.Region, v View) {
	w, h := r.Size()
	days := daysAhead(v.Site.Forecast.Data, v.SiteNow, v.Site.Zone)
	if len(days) == 0 {
		v.putIn(r, 0, 0, w, "no forecast yet", themes.Dim)
		return
	}
	for y := 0; y < h && y < len(days); y++ {
		line := fmt.Sprintf("%s  P50 %s", days[y].day.Format("Mon 02"), Energy(days[y].p50))
		if !math.IsNaN(days[y].windowKWh) {
			line += "  visit " + days[y].window.Format("15:04")
		}
		v.putIn(r, 0, y, w, line, themes.Text)
	}
}

// Do moves through the days.
func (d *Decide) Do(a keymap.Action, _ View) Intent {
	d.list.Do(a, len(dayColumns))
	if a == keymap.Open {
		return Intent{Focus: "Act"}
	}
	return Intent{}
}

// Click marks a day.
func (d *Decide) Click(x, y int, _ View) Intent {
	if d.listAt.Contains(x, y) {
		d.list.Click(y - d.listAt.Y)
	}
	return Intent{}
}

// Export is the forecast, one row an interval.
func (d *Decide) Export(v View) [][]string {
	rows := [][]string{{"timestamp (UTC)", "p10 (kW)", "p50 (kW)", "p90 (kW)", "clear_sky (kW)"}}
	for _, f := range v.Site.Forecast.Data.Forecasts {
		rows = append(rows, []string{f.Timestamp.String(), number(f.ConfidenceInterval.Lower), number(f.PredictedPowerKW), number(f.ConfidenceInterval.Upper), number(f.ClearSkyKW)})
	}
	return rows
}
