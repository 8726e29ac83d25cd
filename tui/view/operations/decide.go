package operations

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/alarm"
	"app.sunloop/tui/view/plant"
	"app.sunloop/tui/view/widget"
	"app.sunloop/tui/view/workflow"
)

// Decide shows the next 90 days: the expected energy of each, when work that
// takes units off the grid would cost least, and planned work; for the
// selected finding, the cost of delay against that of the repair, and the
// parts of the repair.
type Decide struct {
	view.Base
	time   timeline
	timeAt terminal.Rect
	chosen int // days from the day on which it was chosen, -1 for none
	since  time.Time
	of     string // selected unit when it was chosen
	page   widget.Page
	pageAt terminal.Rect
	chart  aheadChart
}

// NewDecide shows the best window's day.
func NewDecide() *Decide { return &Decide{chosen: -1} }

// Title names the pane.
func (d *Decide) Title() string { return view.Decide }

// Scope is that of the pane's own keys.
func (d *Decide) Scope() keymap.Scope { return keymap.InDecide }

// Queries returns what the pane shows.
func (d *Decide) Queries(v view.Context) []state.Need {
	needs := []state.Need{
		{Query: state.QueryForecast, Period: 15 * time.Second}, {Query: state.QueryFindings, Period: 30 * time.Second},
		{Query: state.QuerySchedules, Period: 30 * time.Second}, {Query: state.QueryBOMs, Period: time.Minute},
		{Query: state.QueryWindows, Of: workflow.WindowsQuery(v.Selection), Period: 2 * time.Minute}, {Query: state.QueryParts, Period: 5 * time.Minute},
	}
	bill := ""
	if way := workflow.WorkflowFor(v); way.Bill != nil {
		bill = way.Bill.BOMID
	}
	return append(needs, state.Need{Query: state.QueryBOM, Of: bill, Period: 10 * time.Minute}, workflow.SeasonNeed(v))
}

// ChosenDay returns the day that the user has selected, the zero time without one.
// It is forgotten when another unit is selected.
func (d *Decide) ChosenDay(v view.Context) time.Time {
	if v.Site == nil || d.index(v) < 0 {
		return time.Time{}
	}
	return view.MidnightOf(v.SiteNow.In(v.Site.Zone)).AddDate(0, 0, d.index(v))
}

// index returns the chosen day among those ahead, -1 without one.
func (d *Decide) index(v view.Context) int {
	if d.chosen < 0 || d.of != v.Selection.AssetID {
		return -1
	}
	today := view.MidnightOf(v.SiteNow.In(v.Site.Zone))
	i := d.chosen - int(today.Sub(d.since).Round(24*time.Hour).Hours()/24)
	if i < 0 || i >= workflow.HorizonDays {
		return -1
	}
	return i
}

// choose chooses a day among those ahead; -1 releases it.
func (d *Decide) choose(v view.Context, i int) {
	d.of, d.since = v.Selection.AssetID, view.MidnightOf(v.SiteNow.In(v.Site.Zone))
	d.chosen = min(max(i, -1), workflow.HorizonDays-1)
}

// shown returns the day whose facts are shown: the chosen one, else the best
// window's.
func (d *Decide) shown(v view.Context, days []workflow.ForecastDay) int {
	if i := d.index(v); i >= 0 {
		return i
	}
	return workflow.BestDay(days)
}

// forecastStale is the age at which a forecast is stale.
const forecastStale = 30 * time.Minute

// Draw draws the selection, the days ahead, and the cost of the work.
func (d *Decide) Draw(r terminal.Region, v view.Context) {
	d.timeAt, d.pageAt = terminal.Rect{}, terminal.Rect{}
	forecast := v.Site.Forecast
	face := forecast.Status(v.Now, forecastStale, len(forecast.Data.Forecasts) == 0)
	y := d.drawSelected(r, v)
	w, h := r.Size()
	below := r.Region(terminal.Rect{Y: y, W: w, H: h - y})
	switch face {
	case state.Empty:
		y += d.drawNone(below, v)
	case state.Stale:
		r = widget.DrawAge(v, r, "This forecast is", forecast.At, forecast.Err)
		h--
	default:
		if widget.DrawPlaceholder(v, below, face, forecast.Err, forecast.FailedSince, forecast.NextTry, "the forecast", "") {
			return
		}
	}
	days := workflow.ForecastDays(v)
	bars := min(max((h-y-10)/3, 3), 8)
	if h-y < bars+timelineRows+4 {
		bars = max(h-y-timelineRows-4, 1)
	}
	d.timeAt = terminal.Rect{Y: y + 1, W: w, H: bars + timelineRows}
	d.time.draw(r.Region(d.timeAt), v, days, d.index(v))
	v.Heading(r, y, "Days ahead", workflow.PlanNotes(v), d.timeNote(v, w, days))
	y += 1 + d.timeAt.H
	y = d.drawDay(r, v, y, days)
	if h-y >= 34 && face != state.Empty {
		d.chart.draw(r.Region(terminal.Rect{Y: h - 12, W: w, H: 12}), v, forecast.Data, 7)
		h -= 13
	}
	d.drawWork(r.Region(terminal.Rect{W: w, H: h}), v, y, days)
}

// timeNote returns the days that are shown, and what the marks mean where there is
// room.
func (d *Decide) timeNote(v view.Context, w int, days []workflow.ForecastDay) string {
	first, last := d.time.span(days)
	note := display.DayMonth(first) + " to " + display.DayMonth(last)
	if w >= 110 {
		note += "; " + timelineKey
	}
	return note
}

// drawNone shows why there is no forecast and what is missing for one, and returns the
// number of rows drawn.
func (d *Decide) drawNone(r terminal.Region, v view.Context) int {
	w, h := r.Size()
	words := fmt.Sprintf("There is no forecast yet. It is issued automatically once %s of data are imported and the model is trained.", display.CountOf(api.TrainingDays, "day", "days"))
	y := v.Paragraph(r, 0, 0, words, themes.Dim)
	if n := plant.DrawImporting(r.Region(terminal.Rect{Y: y, W: w, H: h - y}), v, 2); n > 0 {
		return y + n
	}
	return v.Paragraph(r, 0, y, "U imports a file, g u shows earlier imports.", themes.Dim)
}

// drawSelected draws the selection and its cost of delay, and returns the
// number of rows drawn.
func (d *Decide) drawSelected(r terminal.Region, v view.Context) int {
	w, h := r.Size()
	f := workflow.SelectedFinding(v)
	if f == nil {
		return 0
	}
	x := alarm.DrawFinding(v, r, 0, 0, *f) + 1
	what := "  " + findingWords(*f)
	x = v.PutIn(r, x, 0, w-x, v.ShortID(UnitName(*f), max(w-x-terminal.Width(what), 10)), themes.Title)
	v.PutIn(r, x, 0, w-x, what, themes.Title)
	return min(v.Paragraph(r, 0, 1, waitingWords(*f), themes.Text), h)
}

// waitingWords describes the cost of delay of a finding.
func waitingWords(f api.Finding) string {
	switch {
	case !f.Active:
		return "It has ended: " + widget.LostWords(f) + "."
	case f.RevenueAtRisk > 0 && f.Currency != "":
		return fmt.Sprintf("Waiting costs %s a day (%s).", display.Money(f.RevenueAtRisk, f.Currency), widget.Risk(f.EnergyAtRiskKW))
	case f.EnergyAtRiskKW > 0:
		return "Waiting costs " + widget.Risk(f.EnergyAtRiskKW) + "."
	}
	return "No measurable cost of delay."
}

// drawDay draws the facts of the chosen day, and returns the y after them.
func (d *Decide) drawDay(r terminal.Region, v view.Context, y int, days []workflow.ForecastDay) int {
	i := d.shown(v, days)
	day := days[i]
	name, note := "Best day: ", "left right: another day"
	if d.index(v) >= 0 {
		name, note = "Chosen day: ", "home: the best window"
	} else if day.Window == nil {
		name = "Today: "
	}
	v.Heading(r, y, name+display.Day(day.Day), note)
	y = v.Paragraph(r, 0, y+1, energyWords(day)+" "+windowWords(v, day, days), themes.Text)
	if f := workflow.SelectedFinding(v); f != nil && f.Active {
		y = v.Paragraph(r, 0, y, d.costWords(v, days, i), themes.Text)
	}
	return workflow.DrawPlans(r, v, y, day.Plans[:min(len(day.Plans), 4)])
}

// energyWords returns what the forecast says of a day.
func energyWords(d workflow.ForecastDay) string {
	switch {
	case !d.Known && math.IsNaN(d.Seasonal):
		return "The forecast does not cover this day."
	case !d.Known:
		return "The forecast does not cover this day; the mean of the days around it a year ago is " + display.Energy(d.Seasonal) + "."
	}
	words := fmt.Sprintf("P50 %s, P10 %s, P90 %s", display.Energy(d.P50), display.Energy(d.P10), display.Energy(d.P90))
	if !d.Complete {
		words += " in the part that is forecast"
	}
	return words + "."
}

// windowWords returns the day's best window, and what it costs against the best.
func windowWords(v view.Context, d workflow.ForecastDay, days []workflow.ForecastDay) string {
	if d.Window == nil {
		return "No window for the work is known."
	}
	w, currency := d.Window, v.Site.Windows.Data.Currency
	words := "Window " + display.Clock(w.Start.In(v.Site.Zone)) + view.Drawable("–", v.ASCII) + display.Clock(w.End.In(v.Site.Zone)) + " loses " + display.Energy(w.EnergyKWh) + workflow.WindowLoser(v)
	if w.Cost > 0 && currency != "" {
		words += ", " + display.Money(w.Cost, currency)
	}
	best := days[workflow.BestDay(days)]
	switch {
	case d.Rank == 1:
		words += "; the best of all"
	case w.ExtraKWh > 0:
		words += "; " + workflow.CostText(w.ExtraCost, w.ExtraKWh, currency) + " more than the best, " + display.Day(best.Day)
	}
	if w.Windy {
		words += "; wind of " + display.Wind(w.WindMS)
	}
	return words + "."
}

// costWords returns what waiting until a day costs, and doing it then.
func (d *Decide) costWords(v view.Context, days []workflow.ForecastDay, i int) string {
	for _, c := range workflow.Choices(v, days[i].Day) {
		if c.Name != "chosen day" {
			continue
		}
		words := "Waiting until then costs " + workflow.CostText(c.Wait, c.WaitKWh, c.Currency)
		if c.Parts > 0 {
			words += ", the parts " + display.Money(c.Parts, c.PartsMoney)
		}
		if total, ok := c.Total(); ok && c.Parts > 0 {
			words += ": " + display.Money(total, c.Currency) + " in total"
		}
		return words + "."
	}
	return ""
}

// drawWork draws costs, windows, parts and constraints: in two columns where
// there is room, else one below the other, to be scrolled.
func (d *Decide) drawWork(r terminal.Region, v view.Context, y int, days []workflow.ForecastDay) {
	w, h := r.Size()
	y++
	if h-y < 2 {
		return
	}
	f := workflow.SelectedFinding(v)
	left := func(r terminal.Region) int {
		y := 0
		if f != nil && f.Active {
			y = workflow.DrawCosts(r, v, y, *f, days, d.ChosenDay(v))
		}
		y = workflow.DrawWindows(r, v, y, days)
		return workflow.DrawConstraints(r, v, y, days[d.shown(v, days)])
	}
	right := func(r terminal.Region, y int) int {
		y = workflow.DrawBill(r, v, y)
		if f != nil && len(f.RecommendedActions) > 0 {
			v.Heading(r, y, "Recommended")
			y = drawActions(r, v, y+1, f.RecommendedActions)
		}
		return y
	}
	d.pageAt = terminal.Rect{Y: y, W: w, H: h - y}
	of := v.Selection.AssetID + v.Selection.FindingID
	if w >= 110 && f != nil {
		d.pageAt.W = w * 56 / 100
		right(r.Region(terminal.Rect{X: d.pageAt.W + 2, Y: y, W: w - d.pageAt.W - 2, H: h - y}), 0)
		d.page.Draw(r.Region(d.pageAt), v, of, left)
		return
	}
	d.page.Draw(r.Region(d.pageAt), v, of, func(r terminal.Region) int { return right(r, left(r)) })
}

// Strip shows the next days, one a line.
func (d *Decide) Strip(r terminal.Region, v view.Context) {
	w, h := r.Size()
	days := slices.DeleteFunc(workflow.ForecastDays(v), func(d workflow.ForecastDay) bool { return !d.Known })
	if len(days) == 0 {
		if n := plant.DrawImporting(r, v, h); n == 0 {
			words, role := widget.NoneKnown(v, state.Need{Query: state.QueryForecast, Period: 15 * time.Second}, "forecast", "no forecast yet")
			v.PutIn(r, 0, 0, w, words, role)
		}
		return
	}
	top := 0.0
	for _, day := range days {
		top = max(top, day.P90)
	}
	for y := 0; y < h && y < len(days); y++ {
		day := days[y]
		x := v.PutIn(r, 0, y, w, display.DayOfMonth(day.Day)+"  ", themes.Text)
		x = v.PutIn(r, x, y, w-x, fmt.Sprintf("%8s", display.Energy(day.P50)), themes.Text)
		visit := ""
		if day.Window != nil {
			visit = "  window " + display.Clock(day.Window.Start.In(v.Site.Zone)) + ", loses " + display.Energy(day.Window.EnergyKWh) + workflow.WindowLoser(v)
		}
		if len(day.Plans) > 0 {
			visit += "  " + v.ShortID(day.Plans[0].AssetID, 12)
		}
		if bar := w - x - 2 - terminal.Width(visit); bar >= 10 {
			widget.DrawRange(r.Region(terminal.Rect{X: x + 2, Y: y, W: bar, H: 1}), v, day.P10, day.P50, day.P90, top)
			x += 2 + bar
		}
		v.PutIn(r, x, y, w-x, visit, themes.Dim)
	}
}

// Do chooses a day, or scrolls what is below it.
func (d *Decide) Do(a keymap.Action, v view.Context) view.Request {
	move := func(by int) { d.choose(v, max(d.shown(v, workflow.ForecastDays(v))+by, 0)) }
	switch a {
	case keymap.Open:
		return view.Run{Action: keymap.PlanChoices}
	case keymap.Left:
		move(-1)
	case keymap.Right:
		move(1)
	case keymap.Up:
		move(-7)
	case keymap.Down:
		move(7)
	case keymap.Top:
		d.choose(v, -1)
	case keymap.Bottom:
		d.choose(v, workflow.HorizonDays-1)
	default:
		d.page.Do(a)
	}
	return nil
}

// SelectedPlan returns the schedule that the keys of plans change: one of the day
// that is shown, that of the selected unit first; otherwise the next one of the
// selected unit. Nil without one.
func (d *Decide) SelectedPlan(v view.Context) *api.Schedule {
	if v.Site == nil {
		return nil
	}
	days := workflow.ForecastDays(v)
	var found *api.Schedule
	for _, p := range days[d.shown(v, days)].Plans {
		s := workflow.ScheduleByID(v, p.ScheduleID)
		if s != nil && !p.Again && (found == nil || found.AssetID != v.Selection.AssetID && s.AssetID == v.Selection.AssetID) {
			found = s
		}
	}
	if d.index(v) >= 0 {
		return found
	}
	for i, s := range v.Site.Schedules.Data {
		if workflow.OpenPlan(s) && s.AssetID == v.Selection.AssetID {
			return &v.Site.Schedules.Data[i]
		}
	}
	return found
}

// Disabled returns why a key of plans does nothing now.
func (d *Decide) Disabled(a keymap.Action, v view.Context) string {
	move, ok := workflow.PlanActions[a]
	if !ok {
		return ""
	}
	p := d.SelectedPlan(v)
	if p == nil {
		return "no plan is on this day; left and right choose another, g d lists all"
	}
	return workflow.PlanDisabledReason(*p, move)
}

// Click chooses a day.
func (d *Decide) Click(x, y int, v view.Context) view.Request {
	if d.timeAt.Contains(x, y) {
		if i, ok := d.time.dayAt(x-d.timeAt.X, y-d.timeAt.Y); ok {
			d.choose(v, i)
		}
	}
	return nil
}

// Wheel goes through the days, or scrolls what is below them.
func (d *Decide) Wheel(x, y, by int, v view.Context) view.Request {
	if d.pageAt.Contains(x, y) {
		d.page.Move(2 * by)
		return nil
	}
	return d.Do(widget.WheelAction(by, keymap.Left, keymap.Right), v)
}

// Help returns the pane's own keys.
func (d *Decide) Help() [][2]string {
	return [][2]string{
		{"← →", "choose a day; n, o and p then take its window"},
		{"↑ ↓", "a week before, a week after"},
		{"home", "back to the best window"},
		{"pgdn pgup", "scroll costs, windows, parts and constraints"},
		{"enter", "compare the options for the work"},
		{"bars", "energy of a day: solid to P10, lighter to P50, lightest to P90"},
		{"work", timelineKey},
	}
}

// Export returns a row a day: energy, its window, and what is planned.
func (d *Decide) Export(v view.Context) [][]string {
	rows := [][]string{{"day (site)", "p10 (kWh)", "p50 (kWh)", "p90 (kWh)", "window_start (UTC)", "window_end (UTC)", "window_energy (kWh)", "window_extra (kWh)", "planned"}}
	for _, day := range workflow.ForecastDays(v) {
		row := []string{day.Day.Format(time.DateOnly), "", "", "", "", "", "", "", ""}
		if day.Known {
			row[1], row[2], row[3] = display.Number(day.P10), display.Number(day.P50), display.Number(day.P90)
		}
		if w := day.Window; w != nil {
			row[4], row[5], row[6], row[7] = w.Start.String(), w.End.String(), display.Number(w.EnergyKWh), display.Number(w.ExtraKWh)
		}
		var plans []string
		for _, p := range day.Plans {
			plans = append(plans, p.AssetID+" "+p.What)
		}
		row[8] = strings.Join(plans, "; ")
		rows = append(rows, row)
	}
	return rows
}

// timeline draws the days ahead, a column or two each: the energy that the
// forecast expects, above it what is likely at most, below it what is planned
// and where the best windows lie.
type timeline struct {
	at    terminal.Rect // the columns of days, as last drawn
	first int           // day in the first column
	cells int           // of a day
	shown int           // days
}

// timelineMargin is the room for the names of the rows.
const timelineMargin = 9

// timelineRows are the rows of a timeline in addition to those of its bars.
const timelineRows = 3

// draw draws the days into r; chosen is the day under the cursor, -1 for none.
func (t *timeline) draw(r terminal.Region, v view.Context, days []workflow.ForecastDay, chosen int) {
	w, h := r.Size()
	bars := h - timelineRows
	room := w - timelineMargin
	if bars < 1 || room < 10 {
		t.at = terminal.Rect{}
		return
	}
	t.cells = min(max(room/len(days), 1), 2)
	t.shown = min(room/t.cells, len(days))
	t.first = min(max(t.first, chosen-t.shown+1), max(chosen, 0), len(days)-t.shown)
	t.at = terminal.Rect{X: timelineMargin, W: t.shown * t.cells, H: h}
	top := 0.0
	for _, d := range days {
		if top = max(top, d.P90, d.P50); !d.Known && d.Seasonal > top {
			top = d.Seasonal
		}
	}
	if top > 0 {
		r.PutRight(timelineMargin-1, 0, display.Energy(top), v.Style(themes.Dim))
	}
	v.Put(r, 0, bars, "work", themes.Dim)
	v.Put(r, 0, bars+1, "window", themes.Dim)
	past := -1 // the first day of which the forecast does not cover
	for i := range t.shown {
		d := days[t.first+i]
		x := timelineMargin + i*t.cells
		for c := range t.cells {
			t.column(r, v, x+c, bars, d, top)
		}
		if !d.Known && past < 0 {
			past = x
		}
		if mark, role := dayMark(d); mark != "" {
			v.Put(r, x, bars, mark, role)
		}
		if mark, role := windowMark(d, v); mark != "" {
			v.Put(r, x, bars+1, mark, role)
		}
	}
	words := " no forecast"
	if i := (past-timelineMargin)/max(t.cells, 1) + t.first; past >= 0 && i < len(days) && !math.IsNaN(days[i].Seasonal) {
		words = " as a year ago"
	}
	if past >= 0 && timelineMargin+t.at.W-past > len(words) {
		v.Put(r, past, bars-1, words, themes.Muted)
	}
	t.axis(r, v, days, bars+2)
	if i := chosen - t.first; chosen >= 0 && i >= 0 && i < t.shown {
		r.Shade(terminal.Rect{X: timelineMargin + i*t.cells, W: t.cells, H: h}, v.SelectionStyle())
	}
}

// eighths are the heights of a cell.
var eighths = []rune(" ▁▂▃▄▅▆▇█")

// column draws one day's energy from the bottom up: full up to P10, which is
// nearly certain, lighter up to the median, and a shade up to P90.
func (t *timeline) column(r terminal.Region, v view.Context, x, bars int, d workflow.ForecastDay, top float64) {
	if top <= 0 {
		return
	}
	if !d.Known {
		t.seasonal(r, v, x, bars, d.Seasonal/top)
		return
	}
	sure, likely, most := '█', '▓', '░'
	if v.Pen == chart.ASCII || v.ASCII {
		sure, likely, most = '#', '=', '.'
	}
	height := func(kwh float64) float64 { return kwh / top * float64(bars) }
	for y := range bars {
		low := float64(bars - 1 - y) // of this cell, counted from the bottom
		switch {
		case height(d.P10) >= low+0.75:
			r.PutRune(x, y, sure, v.Style(themes.P50))
		case height(d.P50) >= low+0.875:
			r.PutRune(x, y, likely, v.Style(themes.P50))
		case height(d.P50) > low+0.06 && sure == '█':
			r.PutRune(x, y, eighths[min(max(int(math.Round((height(d.P50)-low)*8)), 1), 7)], v.Style(themes.P50))
		case height(d.P50) >= low+0.5:
			r.PutRune(x, y, likely, v.Style(themes.P50))
		case height(d.P90) >= low+0.5:
			r.PutRune(x, y, most, v.Style(themes.Muted))
		}
	}
}

// seasonal draws the seasonal expectation of a day without a forecast as a quiet outline:
// it is no forecast.
func (t *timeline) seasonal(r terminal.Region, v view.Context, x, bars int, share float64) {
	if math.IsNaN(share) {
		return
	}
	mark := '┈'
	if v.Pen == chart.ASCII || v.ASCII {
		mark = '.'
	}
	y := bars - 1 - min(max(int(share*float64(bars)), 0), bars-1)
	r.PutRune(x, y, mark, v.Style(themes.Muted))
}

// axis draws the dates below the days.
func (t *timeline) axis(r terminal.Region, v view.Context, days []workflow.ForecastDay, y int) {
	every := 14
	if t.cells > 1 {
		every = 7
	}
	for i := 0; i < t.shown; i += every {
		if room := (t.shown - i) * t.cells; room >= 6 {
			v.PutIn(r, timelineMargin+i*t.cells, y, room, display.DayMonth(days[t.first+i].Day), themes.Dim)
		}
	}
}

// dayMark returns the mark of the most urgent work of a day, or its number.
func dayMark(d workflow.ForecastDay) (string, themes.Role) {
	made, late := 0, false
	for _, p := range d.Plans {
		if !p.Again {
			made++
		}
		late = late || p.Late
	}
	switch {
	case late:
		return "!", themes.Warning
	case made > 1:
		return fmt.Sprint(min(made, 9)), themes.Text
	case len(d.Plans) == 0:
		return "", themes.Text
	case made == 0:
		return workflow.PlanMark(d.Plans[0]), themes.Dim
	}
	for _, p := range d.Plans {
		if !p.Again {
			return workflow.PlanMark(p), themes.Text
		}
	}
	return "", themes.Text
}

// windowMark returns how good a day's window is.
func windowMark(d workflow.ForecastDay, v view.Context) (string, themes.Role) {
	switch {
	case d.Window == nil:
		return "", themes.Text
	case d.Rank == 1:
		return "*", themes.Accent
	case d.Rank <= 3:
		return fmt.Sprint(d.Rank), themes.Text
	case d.Window.Windy:
		return "w", themes.Dim
	}
	return view.Drawable("·", v.ASCII), themes.Muted
}

// timelineKey explains the marks.
const timelineKey = "o order, p plan, r recurring, ! late; * best window, w wind"

// dayAt returns the day at a cell of the region last drawn; ok is false outside
// of them.
func (t *timeline) dayAt(x, y int) (i int, ok bool) {
	if !t.at.Contains(x, y) || t.cells == 0 {
		return 0, false
	}
	return t.first + (x-t.at.X)/t.cells, true
}

// span returns the first and the last day that are shown.
func (t *timeline) span(days []workflow.ForecastDay) (first, last time.Time) {
	return days[t.first].Day, days[t.first+max(t.shown, 1)-1].Day
}
