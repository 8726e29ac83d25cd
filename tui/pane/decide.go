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

// ChosenDay is the day that was chosen, the zero time without one.
func (d *Decide) ChosenDay(View) time.Time { return time.Time{} }

// Needs are what the pane shows.
func (d *Decide) Needs(v View) []state.Need {
	return []state.Need{{Query: state.QueryForecast, Period: 15 * time.Second}, {Query: state.QueryFindings, Period: 30 * time.Second},
		{Query: state.QuerySchedules, Period: 30 * time.Second}, {Query: state.QueryBOMs, Period: time.Minute}, {Query: state.QueryWindows, Of: v.Hand.AssetID, Period: 2 * time.Minute}}
}

// forecastStale is when a forecast counts as old.
const forecastStale = 30 * time.Minute

// Draw draws the thing in hand and the days ahead.
func (d *Decide) Draw(r terminal.Region, v View) {
	d.listAt = terminal.Rect{}
	forecast := v.Site.Forecast
	w, h := r.Size()
	y := d.drawInHand(r, v)
	below := r.Region(terminal.Rect{Y: y, W: w, H: h - y})
	face := forecast.Face(v.Now, forecastStale, len(forecast.Data.Forecasts) == 0)
	if face == state.Empty {
		d.drawNone(below, v)
		return
	}
	if v.face(below, face, forecast.Err, forecast.FailedSince, forecast.NextTry, "the forecast", "") {
		return
	}
	if face == state.Stale {
		h--
		v.aged(r, "This forecast is", forecast.At, forecast.Err)
	}
	days := daysAhead(forecast.Data, v.SiteNow, v.Site.Zone)
	rows := dayRows(v, days, handFinding(v))
	d.listAt = terminal.Rect{Y: y + 1, W: w, H: h - y - 1}
	if h-y >= len(days)+11 && w >= 40 {
		d.listAt.H = len(days) + 1
		top := y + 1 + d.listAt.H + 1
		d.chart.draw(r.Region(terminal.Rect{Y: top, W: w, H: h - top}), v, forecast.Data, len(days))
	}
	d.list.Draw(r.Region(d.listAt), v, dayColumns(v), rows)
	v.heading(r, y, "Days ahead", planNotes(v), fmt.Sprintf("best %d-hour visit", visitHours), d.list.Range())
}

// drawNone says why there is no forecast, and how far the way to one is.
func (d *Decide) drawNone(r terminal.Region, v View) {
	w, h := r.Size()
	words := fmt.Sprintf("There is no forecast yet. It comes by itself when %d days of data are imported and the model is trained.", api.TrainingDays)
	y := v.Paragraph(r, 0, 0, words, themes.Dim) + 1
	if n := drawOnTheWay(r.Region(terminal.Rect{Y: y, W: w, H: h - y}), v, max(h-y, 0)); n == 0 {
		v.Paragraph(r, 0, y, "U imports a file, g u shows what became of those that were.", themes.Dim)
	}
}

// handFinding is the finding in hand; nil without one.
func handFinding(v View) *api.Finding {
	for i, f := range v.Site.Findings.Data {
		if f.SummaryID == v.Hand.FindingID {
			return &v.Site.Findings.Data[i]
		}
	}
	return nil
}

// drawInHand draws what waiting costs and what is recommended, and answers the
// rows it took.
func (d *Decide) drawInHand(r terminal.Region, v View) int {
	w, h := r.Size()
	f := handFinding(v)
	if f == nil {
		return 0
	}
	x := v.severity(r, 0, 0, f.SeverityLabel) + 1
	what := "  " + findingWords(*f)
	x = v.putIn(r, x, 0, w-x, v.asset(unitName(*f), max(w-x-terminal.Width(what), 10)), themes.Title)
	v.putIn(r, x, 0, w-x, what, themes.Title)
	y := v.Paragraph(r, 0, 1, waitingWords(*f), themes.Text)
	if f.Active {
		y = drawProposals(r, v, y, min(max(h-y-9, 0), 4))
	}
	if room := min(h-y-9, len(f.RecommendedActions)+1); room > 0 {
		y = drawActions(r.Region(terminal.Rect{W: w, H: y + room}), v, y, f.RecommendedActions)
	}
	return min(y+1, h)
}

// waitingWords are what it costs to leave a finding as it is.
func waitingWords(f api.Finding) string {
	switch {
	case !f.Active:
		return "It is over: " + Energy(f.LostKWh) + " were lost."
	case f.RevenueAtRisk > 0 && f.Currency != "":
		return fmt.Sprintf("Waiting costs %s a day (%s while the sun is up).", Money(f.RevenueAtRisk, f.Currency), Power(f.EnergyAtRiskKW))
	case f.EnergyAtRiskKW > 0:
		return "Waiting costs " + Power(f.EnergyAtRiskKW) + " while the sun is up."
	}
	return "Waiting costs nothing that can be measured."
}

// The columns of the days; the eighth is there with a finding in hand.
func dayColumns(v View) []Column {
	columns := []Column{
		{Title: "day", Width: 11}, {Title: "P50", Width: 8, Right: true}, {Title: "P10 to P90", Width: 19, Right: true, Rank: 4},
		{Title: "energy", Min: 10, Rank: 2}, {Title: "visit", Width: 11, Right: true}, {Title: "it loses", Width: 9, Right: true, Rank: 3},
		{Title: "planned", Width: 12, Rank: 3},
	}
	if f := handFinding(v); f != nil && f.Active && f.RevenueAtRisk > 0 && f.Currency != "" {
		columns = append(columns, Column{Title: "by then", Width: 9, Right: true, Rank: 1})
	}
	return columns
}

func dayRows(v View, days []dayAhead, f *api.Finding) []Row {
	top := 0.0
	for _, d := range days {
		top = max(top, d.p90)
	}
	none, to := "–", "–"
	if v.ASCII {
		none, to = "-", "-"
	}
	var rows []Row
	for _, d := range days {
		name, role := d.day.Format("Mon 02 Jan"), themes.Text
		if !d.complete { // only a part of the day is forecast
			name, role = name+"*", themes.Dim
		}
		visit, loses, wait := none, none, none
		if !math.IsNaN(d.windowKWh) {
			visit = d.window.Format("15:04") + to + d.window.Add(visitHours*time.Hour).Format("15:04")
			loses = Energy(d.windowKWh)
			if f != nil {
				wait = Money(f.RevenueAtRisk*d.window.Sub(v.SiteNow).Hours()/24, f.Currency)
			}
		}
		rows = append(rows, Row{ID: d.day.Format(time.DateOnly), Cells: []Cell{
			{Text: name, Role: role}, {Text: Energy(d.p50), Role: themes.Text}, {Text: Energy(d.p10) + " " + to + " " + Energy(d.p90), Role: themes.Dim},
			{Draw: func(r terminal.Region) { drawRange(r, v, d.p10, d.p50, d.p90, top) }},
			{Text: visit, Role: themes.Text}, {Text: loses, Role: themes.Dim}, {Text: plannedOn(v, d.day), Role: themes.Text}, {Text: wait, Role: themes.Text},
		}, Sort: []any{d.day.Format(time.DateOnly), d.p50, d.p50, d.p50, d.window.Format("15:04"), d.windowKWh, plannedOn(v, d.day), d.day.Format(time.DateOnly)}})
	}
	return rows
}

// Strip shows the next days, one a line.
func (d *Decide) Strip(r terminal.Region, v View) {
	w, h := r.Size()
	days := daysAhead(v.Site.Forecast.Data, v.SiteNow, v.Site.Zone)
	if len(days) == 0 {
		if n := drawOnTheWay(r, v, h); n == 0 {
			v.putIn(r, 0, 0, w, "no forecast yet", themes.Dim)
		}
		return
	}
	top := 0.0
	for _, day := range days {
		top = max(top, day.p90)
	}
	for y := 0; y < h && y < len(days); y++ {
		day := days[y]
		x := v.putIn(r, 0, y, w, day.day.Format("Mon 02")+"  ", themes.Text)
		x = v.putIn(r, x, y, w-x, fmt.Sprintf("%8s", Energy(day.p50)), themes.Text)
		visit := ""
		if !math.IsNaN(day.windowKWh) {
			visit = "  visit " + day.window.Format("15:04") + ", loses " + Energy(day.windowKWh)
		}
		if bar := w - x - 2 - terminal.Width(visit); bar >= 10 {
			drawRange(r.Region(terminal.Rect{X: x + 2, Y: y, W: bar, H: 1}), v, day.p10, day.p50, day.p90, top)
			x += 2 + bar
		}
		v.putIn(r, x, y, w-x, visit, themes.Dim)
	}
}

// Do moves through the days.
func (d *Decide) Do(a keymap.Action, v View) Intent {
	if a == keymap.Open {
		return Intent{Focus: "Act"}
	}
	d.list.Do(a, len(dayColumns(v)))
	return Intent{}
}

// Click marks a day.
func (d *Decide) Click(x, y int, _ View) Intent {
	if d.listAt.Contains(x, y) {
		d.list.Click(y - d.listAt.Y)
	}
	return Intent{}
}

// Wheel moves through the days.
func (d *Decide) Wheel(_, _, by int, v View) Intent {
	if by > 0 {
		return d.Do(keymap.Down, v)
	}
	return d.Do(keymap.Up, v)
}

// Help are the pane's own keys.
func (d *Decide) Help() [][2]string {
	return [][2]string{
		{"↓ ↑", "choose a day"},
		{"enter", "go on to Act: what is under way"},
		{"*", "only a part of that day is forecast"},
	}
}

// Export is the forecast, one row an interval.
func (d *Decide) Export(v View) [][]string {
	rows := [][]string{{"timestamp (UTC)", "p10 (kW)", "p50 (kW)", "p90 (kW)", "clear_sky (kW)"}}
	for _, f := range v.Site.Forecast.Data.Forecasts {
		rows = append(rows, []string{f.Timestamp.String(), number(f.ConfidenceInterval.Lower), number(f.PredictedPowerKW), number(f.ConfidenceInterval.Upper), number(f.ClearSkyKW)})
	}
	return rows
}
