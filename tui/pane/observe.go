package pane

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
)

// Observe shows the site's day: power against forecast and clear sky, the heat
// map of the units, the units and the alarms.
type Observe struct {
	units  List
	alarms List
	// where things stand in the region last drawn
	unitsAt, alarmsAt, heatAt terminal.Rect

	chart, strip siteChart
	heat         heatMap
}

// NewObserve lists the units with what is abnormal first.
func NewObserve() *Observe { return &Observe{units: List{SortBy: -1}, alarms: List{SortBy: -1}} }

// Needs are what the pane shows.
func (o *Observe) Needs(View) []state.Need {
	return []state.Need{
		{Query: state.QueryDay, Period: 5 * time.Second},
		{Query: state.QueryForecast, Period: 15 * time.Second},
		{Query: state.QueryFindings, Period: 10 * time.Second},
	}
}

// Filter is the filter of the units.
func (o *Observe) Filter() string { return o.units.Filter }

// SetFilter narrows the units.
func (o *Observe) SetFilter(s string) { o.units.Filter = s }

// staleAfter is when a day's data count as old: live samples come every few
// seconds, and the planner asks at most every 15 s for a pane out of focus.
const staleAfter = 2 * time.Minute

// Draw draws chart, heat map, units and alarms in what room there is.
func (o *Observe) Draw(r terminal.Region, v View) {
	o.unitsAt, o.alarmsAt, o.heatAt = terminal.Rect{}, terminal.Rect{}, terminal.Rect{}
	if v.Site.PastDate.IsZero() {
		o.drawToday(r, v)
		return
	}
	w, h := r.Size()
	past := v.Site.Past
	v.putIn(r, 0, 0, w, v.Site.PastDate.Format("Mon 02 Jan 2006")+v.separator()+"← → another day, esc today", themes.Accent)
	r = r.Region(terminal.Rect{Y: 1, W: w, H: h - 1})
	face := past.Face(v.Now, 24*time.Hour, len(past.Data.Units) == 0)
	if !v.face(r, face, past.Err, past.FailedSince, past.NextTry, "that day's telemetry", "Nothing was reported on that day. "+o.lastData(v)) {
		o.drawDay(r, v, 1)
	}
}

func (o *Observe) drawToday(r terminal.Region, v View) {
	day := v.Site.Day
	face := day.Face(v.Now, staleAfter, len(day.Data.Units) == 0)
	if face == state.Empty {
		o.drawExpected(r, v)
		return
	}
	if v.face(r, face, day.Err, day.FailedSince, day.NextTry, "the day's telemetry", "") {
		return
	}
	if face == state.Stale {
		r = v.aged(r, "These values are", day.At, day.Err)
	}
	o.drawDay(r, v, 0)
}

// drawExpected is today without telemetry: what the forecast expects of it, and
// the way to the newest data.
func (o *Observe) drawExpected(r terminal.Region, v View) {
	w, h := r.Size()
	words := "Nothing was reported today. " + o.lastData(v)
	if v.Site.Summary.Data.LastUpdated.IsZero() {
		words += " Press U to import a file."
	} else {
		words += " ← shows that day, U imports a file."
	}
	y := v.Paragraph(r, 0, 0, words, themes.Dim)
	y += drawOnTheWay(r.Region(terminal.Rect{Y: y, W: w, H: h - y}), v, 3)
	if len(v.Site.Forecast.Data.Today) > 0 && h-y > 6 {
		o.chart.draw(r.Region(terminal.Rect{Y: y + 1, W: w, H: min(h-y-1, max(h/2, 10))}), v, v.day(), 0)
	}
}

// drawDay draws a day with telemetry. above is how many rows of the pane stand
// above r.
func (o *Observe) drawDay(r terminal.Region, v View, above int) {
	w, h := r.Size()
	day := v.day()
	p := o.plan(w, h, v, day)
	margin := 0
	if p.heat > 0 {
		margin = o.heat.margin(w, day)
	}
	o.chart.draw(r.Region(terminal.Rect{W: w, H: p.chart}), v, day, margin)
	y := p.chart
	if p.heat > 0 {
		o.heat.draw(r.Region(terminal.Rect{Y: y, W: w, H: p.heat}), v, day, margin)
		o.heatAt = terminal.Rect{Y: y + above, W: w, H: p.heat}
		y += p.heat
	}
	units, alarms := terminal.Rect{Y: y + p.alarms, W: w, H: h - y - p.alarms}, terminal.Rect{Y: y, W: w, H: p.alarms}
	if p.beside {
		left := w * 58 / 100
		units, alarms = terminal.Rect{Y: y, W: left, H: h - y}, terminal.Rect{X: left + 2, Y: y, W: w - left - 2, H: h - y}
	}
	if !alarms.Empty() {
		o.drawAlarms(r.Region(alarms), v)
		o.alarmsAt = alarms
		o.alarmsAt.Y += above
	}
	if !units.Empty() {
		o.drawUnits(r.Region(units), v, day)
		o.unitsAt = units
		o.unitsAt.Y += above
	}
}

// observePlan shares the rows out.
type observePlan struct {
	chart, heat, alarms int
	beside              bool // units and alarms side by side
}

func (o *Observe) plan(w, h int, v View, day *dayData) observePlan {
	active, units := len(activeFindings(v)), len(day.units)
	p := observePlan{beside: w >= 110}
	var lists int
	if p.beside {
		lists = min(max(units, active)+2, max(h*45/100, 6))
	} else {
		p.alarms = min(max(active, 1), max(h/7, 2)) + 1
		lists = p.alarms + min(units+2, max(h*2/5, 4))
	}
	p.chart = max(h-lists, 4)
	if room := p.chart - 10; room >= (units+1)/2 && units > 1 && w >= 50 {
		p.heat = min(units, room)
		p.chart -= p.heat
	}
	return p
}

// Strip shows power against its expectation, the day's curve and the worst
// alarm.
func (o *Observe) Strip(r terminal.Region, v View) {
	w, h := r.Size()
	words := r
	if h >= 3 && w >= 70 {
		o.strip.draw(r.Region(terminal.Rect{W: w * 55 / 100, H: h}), v, v.day(), 0)
		words = r.Region(terminal.Rect{X: w*55/100 + 2, W: w - w*55/100 - 2, H: h})
	} else if h >= 6 {
		o.strip.draw(r.Region(terminal.Rect{Y: 3, W: w, H: h - 3}), v, v.day(), 0)
	}
	w, _ = words.Size()
	s := v.Site.Summary.Data
	line := Power(s.TotalPowerKW)
	if s.ExpectedPowerKW != nil {
		line += " of " + Power(*s.ExpectedPowerKW) + " expected"
	}
	v.putIn(words, 0, 0, w, line, themes.Text)
	v.putIn(words, 0, 1, w, fmt.Sprintf("%d of %d units feed in", s.ActiveInverters, s.TotalInverters), themes.Dim)
	active := activeFindings(v)
	if len(active) == 0 {
		v.putIn(words, 0, 2, w, "no alarms", themes.Dim)
		return
	}
	f := active[0]
	x := v.severity(words, 0, 2, f.SeverityLabel)
	more := ""
	if n := len(active) - 1; n > 0 {
		more = fmt.Sprintf(" +%d", n)
	}
	what := " " + Family(f.FaultFamily) + more
	v.putIn(words, x+1, 2, w-x-1, v.asset(unitName(f), max(w-x-1-len(what), 8))+what, themes.Text)
}

// lastData says when the site's last data came.
func (o *Observe) lastData(v View) string {
	if at := v.Site.Summary.Data.LastUpdated; !at.IsZero() {
		return "The newest data are of " + When(at.Time, v.SiteNow, v.Site.Zone) + "."
	}
	return "The site has no data yet."
}

// Do moves in the list of units, takes one in hand, or turns the days.
func (o *Observe) Do(a keymap.Action, v View) Intent {
	switch a {
	case keymap.Left, keymap.Right:
		return o.turn(a == keymap.Right, v)
	case keymap.Open:
		if id := o.units.Current(); id != "" {
			return Intent{Hand: &Hand{AssetID: id, FindingID: findingOf(v, id)}, Focus: "Orient"}
		}
		return Intent{}
	}
	if o.units.Do(a, len(unitColumns)) && a != keymap.Sort {
		return takeUnit(v, o.units.Current())
	}
	return Intent{}
}

func takeUnit(v View, id string) Intent {
	if id == "" {
		return Intent{}
	}
	return Intent{Hand: &Hand{AssetID: id, FindingID: findingOf(v, id)}}
}

// turn goes a day on or back. From a today without data it goes back to the
// newest ones.
func (o *Observe) turn(on bool, v View) Intent {
	past, today := v.Site.PastDate, v.SiteNow.In(v.Site.Zone)
	switch last := v.Site.Summary.Data.LastUpdated; {
	case on && past.IsZero():
		return Intent{Say: "This is today; Decide (3) has the days ahead."}
	case on:
		past = past.AddDate(0, 0, 1)
	case past.IsZero() && len(v.Site.Day.Data.Units) == 0 && !last.IsZero():
		past = last.In(v.Site.Zone)
	case past.IsZero():
		past = today.AddDate(0, 0, -1)
	default:
		past = past.AddDate(0, 0, -1)
	}
	if y, m, d := past.Date(); !time.Date(y, m, d, 0, 0, 0, 0, v.Site.Zone).Before(midnightOf(today)) {
		past = time.Time{}
	}
	return Intent{Day: &past}
}

func midnightOf(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, t.Location())
}

// Click takes what is clicked in hand.
func (o *Observe) Click(x, y int, v View) Intent {
	switch {
	case o.unitsAt.Contains(x, y) && o.units.Click(y-o.unitsAt.Y):
		return takeUnit(v, o.units.Current())
	case o.heatAt.Contains(x, y):
		if i := o.heat.heat.RowAt(y-o.heatAt.Y, o.heatAt.H); i >= 0 {
			return takeUnit(v, v.day().units[i].AssetID)
		}
	case o.alarmsAt.Contains(x, y) && o.alarms.Click(y-o.alarmsAt.Y-1):
		for _, f := range activeFindings(v) {
			if f.SummaryID == o.alarms.Selected {
				return Intent{Hand: &Hand{AssetID: f.AssetID, FindingID: f.SummaryID}}
			}
		}
	}
	return Intent{}
}

// Wheel moves in the list under it.
func (o *Observe) Wheel(_, _, by int, v View) Intent {
	if by > 0 {
		return o.Do(keymap.Down, v)
	}
	return o.Do(keymap.Up, v)
}

// Help are the pane's own keys.
func (o *Observe) Help() [][2]string {
	return [][2]string{
		{"↓ ↑", "take a unit in hand; the other panes turn to it"},
		{"enter", "go on to Orient: what is wrong with it"},
		{"← →", "the day before, the day after"},
	}
}

// drawAlarms lists the active findings, most energy at risk first as the
// service orders them.
func (o *Observe) drawAlarms(r terminal.Region, v View) {
	w, h := r.Size()
	active := activeFindings(v)
	if len(active) == 0 {
		v.heading(r, 0, "Alarms")
		text := "None: nothing abnormal is known of this site."
		if v.Site.Findings.At.IsZero() {
			text = "Asking for findings …"
		}
		v.putIn(r, 0, 1, w, text, themes.Dim)
		return
	}
	risk := 0.0
	for _, f := range active {
		risk += f.EnergyAtRiskKW
	}
	o.alarms.Selected = v.Hand.FindingID
	o.alarms.Draw(r.Region(terminal.Rect{Y: 1, W: w, H: h - 1}), v, alarmColumns(v, active), alarmRows(v, active))
	v.heading(r, 0, "Alarms", Power(risk)+" at risk", o.alarms.Range())
}

func alarmColumns(v View, findings []api.Finding) []Column {
	unit, what, since := 6, 8, 5
	for _, f := range findings {
		unit = max(unit, terminal.Width(unitName(f)))
		what = max(what, terminal.Width(Family(f.FaultFamily)))
		since = max(since, terminal.Width(When(f.StartedAt.Time, v.SiteNow, v.Site.Zone)))
	}
	return []Column{
		{Width: 2}, {Title: "unit", Width: min(unit, 30), Min: min(unit, 12), IDs: true}, {Title: "what", Min: what},
		{Title: "since", Width: since, Right: true, Rank: 1}, {Title: "at risk", Width: 8, Right: true, Rank: 2},
	}
}

func alarmRows(v View, findings []api.Finding) []Row {
	var rows []Row
	for _, f := range findings {
		rows = append(rows, Row{ID: f.SummaryID, Cells: []Cell{
			{Draw: func(r terminal.Region) { v.severity(r, 0, 0, f.SeverityLabel) }, Text: f.SeverityLabel},
			{Text: unitName(f), Role: themes.Text}, {Text: Family(f.FaultFamily), Role: severityRole(f.SeverityLabel)},
			{Text: When(f.StartedAt.Time, v.SiteNow, v.Site.Zone), Role: themes.Dim}, {Text: Power(f.EnergyAtRiskKW), Role: themes.Text},
		}, Sort: []any{float64(alarms[f.SeverityLabel].rank), unitName(f), f.FaultFamily, f.StartedAt.String(), f.EnergyAtRiskKW}})
	}
	return rows
}

// Export is the units' day on screen, one row a record.
func (o *Observe) Export(v View) [][]string {
	rows := [][]string{{"timestamp (UTC)", "asset_id", "power (kW)", "energy (kWh)", "inverter_state"}}
	for _, u := range shownDay(v).Units {
		for _, r := range u.Records {
			rows = append(rows, []string{r.Timestamp.String(), u.AssetID, number(r.Power), number(r.KWh), strconv.Itoa(r.InverterState)})
		}
	}
	return rows
}

func number(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
