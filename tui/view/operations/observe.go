// Package operations holds the four panes: Observe, Orient, Decide and Act.
package operations

import (
	"fmt"
	"math"
	"slices"
	"strconv"
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
)

// Observe shows the site's day: power against forecast and clear sky, the heat
// map of the units, the units and the alarms.
type Observe struct {
	view.Base
	units         widget.List
	alarms        alarm.List
	alarmsFocused bool // the alarms have the keys of lists, not the units
	window        window
	site          *state.Site // to which this state belongs
	shown         []api.Alert // its active alerts
	shownAt       time.Time

	// positions in the region last drawn
	unitsAt, alarmsAt, heatAt, chartAt terminal.Rect

	chart, strip siteChart
	heat         heatMap
	marks        []chart.Event
}

// NewObserve lists the units with what is abnormal first.
func NewObserve() *Observe {
	return &Observe{units: widget.List{SortBy: -1}, alarms: alarm.NewList()}
}

// Title names the pane.
func (o *Observe) Title() string { return view.Observe }

// Scope is that of the pane's own keys.
func (o *Observe) Scope() keymap.Scope { return keymap.InObserve }

// Queries returns what the pane shows.
func (o *Observe) Queries(v view.Context) []state.Need {
	needs := []state.Need{
		{Query: state.QueryDay, Period: 5 * time.Second},
		{Query: state.QueryForecast, Period: 15 * time.Second},
		{Query: state.QueryFindings, Period: 10 * time.Second},
		{Query: state.QueryAlerts, Period: 10 * time.Second},
		{Query: state.QueryAlertLog, Period: 2 * time.Minute},
		{Query: state.QueryOrders, Period: time.Minute},
	}
	if n, ok := o.spanNeed(v); ok {
		needs = append(needs, n)
	}
	if n, ok := o.foreseenNeed(v); ok {
		needs = append(needs, n)
	}
	return needs
}

// follow drops the state of another site, and collects the active alerts.
func (o *Observe) follow(v view.Context) {
	if o.site != v.Site {
		o.site, o.window, o.alarmsFocused, o.shownAt, o.shown = v.Site, window{}, false, time.Time{}, nil
	}
	if at := v.Site.Alerts.At; !o.shownAt.Equal(at) {
		o.shownAt, o.shown = at, nil
		for _, a := range v.Site.Alerts.Data.Alerts {
			if alarm.IsAnnunciated(a) {
				o.shown = append(o.shown, a)
			}
		}
	}
}

// StaleAfter is the age at which a day's data are stale: live samples come every few
// seconds, and the planner asks at most every 15 s for a pane out of focus.
const StaleAfter = 2 * time.Minute

// Draw draws chart, heat map, units and alarms in what room there is.
func (o *Observe) Draw(r terminal.Region, v view.Context) {
	o.unitsAt, o.alarmsAt, o.heatAt, o.chartAt = terminal.Rect{}, terminal.Rect{}, terminal.Rect{}, terminal.Rect{}
	o.follow(v)
	if v.Site.PastDate.IsZero() {
		o.drawToday(r, v)
		return
	}
	w, h := r.Size()
	past := v.Site.Past
	words := display.DayYear(v.Site.PastDate)
	if sum := pastEnergy(v); sum != "" {
		words += v.Separator() + sum
	}
	v.PutIn(r, 0, 0, w, words+v.Separator()+widget.KeyNames("← →", v.ASCII)+" day, esc today", themes.Accent)
	r = r.Region(terminal.Rect{Y: 1, W: w, H: h - 1})
	face := past.Status(v.Now, 24*time.Hour, len(past.Data.Units) == 0)
	if !widget.DrawPlaceholder(v, r, face, past.Err, past.FailedSince, past.NextTry, "that day's telemetry", "Nothing was reported on that day. "+o.lastData(v)) {
		o.drawDay(r, v, 1)
	}
}

// pastEnergy returns the energy of the former day on screen, against the P50 that was
// forecast for it if all of its hours were.
func pastEnergy(v view.Context) string {
	if v.Site.Past.At.IsZero() {
		return ""
	}
	energy, known := 0.0, false
	for _, kWh := range v.Day().Energy {
		if !math.IsNaN(kWh) {
			energy, known = energy+kWh, true
		}
	}
	if !known {
		return ""
	}
	words := display.Energy(energy)
	from, to := v.Site.PastDate, v.Site.PastDate.AddDate(0, 0, 1)
	p50, hours := 0.0, within(v.Site.Foreseen.Data.Past, from, to)
	for _, f := range hours {
		p50 += f.PredictedPowerKW
	}
	if float64(len(hours)) < to.Sub(from).Hours() || p50 <= 0 {
		return words
	}
	return words + ", " + display.Percent(energy/p50) + " of P50 " + display.Energy(p50)
}

func (o *Observe) drawToday(r terminal.Region, v view.Context) {
	day := v.Site.Day
	face := day.Status(v.Now, StaleAfter, len(day.Data.Units) == 0)
	if face == state.Empty {
		o.drawExpected(r, v)
		return
	}
	if widget.DrawPlaceholder(v, r, face, day.Err, day.FailedSince, day.NextTry, "the day's telemetry", "") {
		o.drawAlarmsBelow(r, v, 4)
		return
	}
	if face == state.Stale {
		r = widget.DrawAge(v, r, "These values are", day.At, day.Err)
	}
	o.drawDay(r, v, 0)
}

// drawExpected draws today without telemetry: its forecast, and how to show the
// newest data.
func (o *Observe) drawExpected(r terminal.Region, v view.Context) {
	w, h := r.Size()
	words := "Nothing was reported today. " + o.lastData(v)
	switch {
	case v.Site.Summary.At.IsZero(): // the newest data are not known
	case plant.IsLoading(v):
		words = "Nothing was reported today so far. The history of the site is being imported."
	case !v.Site.Summary.Data.LastUpdated.IsZero():
		words += " ← shows that day, U imports a file."
	default:
		words += " Press U to import a file."
	}
	y := v.Paragraph(r, 0, 0, words, themes.Dim)
	y += plant.DrawImporting(r.Region(terminal.Rect{Y: y, W: w, H: h - y}), v, 3)
	if o.drawAlarmsBelow(r, v, y) {
		h = o.alarmsAt.Y
	}
	if len(v.Site.Forecast.Data.Today) > 0 && h-y > 6 {
		o.chart.chart.Events = nil
		o.chart.draw(r.Region(terminal.Rect{Y: y + 1, W: w, H: min(h-y-1, max(h/2, 10))}), v, v.Day(), 0, window{})
	}
}

// drawDay draws a day with telemetry. above is the number of rows of the pane above r.
func (o *Observe) drawDay(r terminal.Region, v view.Context, above int) {
	w, h := r.Size()
	if words := o.lookWords(v); words != "" && h > 8 {
		v.PutIn(r, 0, 0, w, words, themes.Accent)
		r = r.Region(terminal.Rect{Y: 1, W: w, H: h - 1})
		h, above = h-1, above+1
	}
	day, data := v.Day(), o.data(v)
	p := o.plan(w, h, v, day)
	margin := 0
	if p.heat > 0 {
		margin = o.heat.margin(w, data)
	}
	at := func(area terminal.Rect) terminal.Rect {
		area.Y += above
		return area
	}
	area := terminal.Rect{W: w, H: p.chart}
	o.chartAt = at(area)
	look := o.lookAt(v, data)
	from, to := look.span(day.Start)
	o.chart.chart.Events = o.events(v, from, to)
	o.chart.draw(r.Region(area), v, data, margin, look)
	y := p.chart
	if p.heat > 0 {
		area = terminal.Rect{Y: y, W: w, H: p.heat}
		o.heatAt = at(area)
		o.heat.draw(r.Region(area), v, data, margin, look)
		y += p.heat
	}
	if p.legend > 0 {
		o.drawLegend(r.Region(terminal.Rect{Y: y, W: w, H: 1}), v, margin, p.heat)
		y += p.legend
	}
	units, alarms := terminal.Rect{Y: y + p.alarms, W: w, H: h - y - p.alarms}, terminal.Rect{Y: y, W: w, H: p.alarms}
	if p.beside {
		left := w * 50 / 100
		units, alarms = terminal.Rect{Y: y, W: left, H: h - y}, terminal.Rect{X: left + 2, Y: y, W: w - left - 2, H: h - y}
	}
	if !alarms.Empty() {
		o.alarmsAt = at(alarms)
		o.drawAlarms(r.Region(alarms), v)
	}
	if !units.Empty() {
		o.unitsAt = at(units)
		quiet := v
		quiet.Focused = v.Focused && !o.alarmsFocused
		o.drawUnits(r.Region(units), quiet, day)
	}
}

// lookAt returns the period on screen, with the text for missing data.
func (o *Observe) lookAt(v view.Context, data *view.DayTable) window {
	look := o.window
	if data == v.Day() || len(data.Total) > 0 {
		return look
	}
	switch span := v.Site.Span; {
	case span.Err != nil:
		look.empty = "no answer about these days: " + view.Drawable(state.Reason(span.Err), v.ASCII)
	case span.At.IsZero():
		look.empty = view.Drawable("asking for these days …", v.ASCII)
	default:
		look.empty = "no data for these days"
	}
	return look
}

// drawLegend explains the colours of the map and the marks on the time axis.
func (o *Observe) drawLegend(r terminal.Region, v view.Context, margin, heat int) {
	w, _ := r.Size()
	x := margin
	if heat > 0 {
		m := &o.heat.heat
		if seen := m.Visible(heat); seen < len(m.Rows) {
			v.PutIn(r, 0, 0, max(margin-1, 0), fmt.Sprintf("%d of %d", seen, len(m.Rows)), themes.Muted)
		}
		x = chart.HeatLegend(r, x, 0, chart.LowRatio, v.Pen, v.Palette) + 2
	}
	putPairs(x, w, func(x int, text string, role themes.Role) int { return v.Put(r, x, 0, text, role) }, eventWords(v))
}

// observePlan shares the rows out.
type observePlan struct {
	chart, heat, legend, alarms int
	beside                      bool // units and alarms side by side
}

// adviceRows is the height of the response to an alarm, with its heading.
const adviceRows = 7

func (o *Observe) plan(w, h int, v view.Context, day *view.DayTable) observePlan {
	active, units := o.alarms.Lines(o.shown), len(day.Units)
	p := observePlan{beside: w >= 150}
	var lists int
	if p.beside {
		lists = min(max(units+1, active+2), max(h*45/100, 6))
		if h >= 45 && len(o.shown) > 0 { // room for the response to an alarm
			lists = max(lists, active+2+adviceRows)
		}
	} else {
		p.alarms = min(max(active, 1)+1, max(h/6, 3))
		if p.alarms > 2 {
			p.alarms = min(p.alarms+1, max(h/6, 4)) // the header of the list
		}
		lists = p.alarms + min(units+1, max(h*2/5, 4))
		if o.alarmsFocused { // the focused list gets the space
			p.alarms = min(max(active, 1)+2, max(h*2/5, 4))
			lists = p.alarms + min(units+1, max(h/5, 3))
		}
	}
	p.chart = max(h-lists, 4)
	if room := p.chart - 11; room >= (units+1)/2 && units > 1 && w >= 50 {
		p.heat = min(units, room)
		if room < units && v.Pen != chart.ASCII && !v.Palette.Colorless() {
			p.heat = (units + 1) / 2 // two units share a line
		}
		p.chart -= p.heat
	}
	if p.chart > 10 {
		p.legend = 1
		p.chart--
	}
	return p
}

// Strip shows power against its expectation, the day's curve and the worst
// alarm.
func (o *Observe) Strip(r terminal.Region, v view.Context) {
	o.follow(v)
	w, h := r.Size()
	words := r
	if h >= 3 && w >= 70 {
		o.strip.draw(r.Region(terminal.Rect{W: w * 55 / 100, H: h}), v, v.Day(), 0, window{})
		words = r.Region(terminal.Rect{X: w*55/100 + 2, W: w - w*55/100 - 2, H: h})
	} else if h >= 6 {
		o.strip.draw(r.Region(terminal.Rect{Y: 3, W: w, H: h - 3}), v, v.Day(), 0, window{})
	}
	w, _ = words.Size()
	s := v.Site.Summary.Data
	if known := v.Know(state.Need{Query: state.QuerySummary, Period: 5 * time.Second}); known.Missing() {
		v.PutIn(words, 0, 0, w, known.Text("power", v.Now, v.Site.Zone), widget.KnowledgeRole(known))
	} else {
		line := widget.SitePower(s)
		if s.ExpectedPowerKW != nil {
			line += " of " + display.Power(*s.ExpectedPowerKW) + " expected"
		}
		v.PutIn(words, 0, 0, w, line, themes.Text)
		if s.HasPower() {
			v.PutIn(words, 0, 1, w, fmt.Sprintf("%d of %s active", s.ActiveInverters, display.CountOf(s.TotalInverters, "unit", "units")), themes.Dim)
		}
	}
	if len(o.shown) == 0 {
		text, role := noneAbnormal(v, alertsNeed, "alarms", "no alarms")
		v.PutIn(words, 0, 2, w, text, role)
		return
	}
	groups := o.alarms.Group(o.shown)
	worst := groups[0].Worst()
	alarm.DrawPriority(v, words.Region(terminal.Rect{Y: 2, W: min(w, 11), H: 1}), worst.AlertSeverity, worst.State)
	more := ""
	if n := len(groups) - 1; n > 0 {
		more = fmt.Sprintf(" +%d", n)
	}
	what := " " + widget.Family(worst.AlertType) + more
	v.PutIn(words, 12, 2, w-12, v.ShortID(alarm.UnitOf(worst), max(w-12-terminal.Width(what), 8))+what, themes.Text)
}

// alertsNeed is the need of the lists of alarms.
var alertsNeed = state.Need{Query: state.QueryAlerts, Period: 10 * time.Second}

// lastData returns the time of the site's newest data as a sentence.
func (o *Observe) lastData(v view.Context) string {
	if known := v.Know(state.Need{Query: state.QuerySummary, Period: 5 * time.Second}); known.Missing() {
		return known.Sentence("the newest data", v.Now, v.Site.Zone)
	}
	if at := v.Site.Summary.Data.LastUpdated; !at.IsZero() {
		return "The newest data are of " + display.When(at.Time, v.SiteNow, v.Site.Zone) + "."
	}
	return "The site has no data yet."
}

// Do moves in the list, selects what it names, acts on alarms, or
// changes the time on screen.
func (o *Observe) Do(a keymap.Action, v view.Context) view.Request {
	o.follow(v)
	if o.look(a, v) {
		return nil
	}
	switch a {
	case keymap.Left, keymap.Right:
		if !o.window.cursor.IsZero() {
			o.moveCursor(a == keymap.Right, v)
			return nil
		}
		return o.turn(a == keymap.Right, v)
	case keymap.OtherList:
		o.alarmsFocused = !o.alarmsFocused
		if o.alarmsFocused {
			return selectAlarm(o.alarms.Chosen(), "")
		}
		return nil
	case keymap.Acknowledge, keymap.Shelve, keymap.Unshelve:
		chosen := o.chosen(a, v)
		if len(chosen) == 0 {
			return alarm.Choose(a, o.candidates(a, v))
		}
		return alarm.Request(a, chosen)
	case keymap.Open:
		return o.enter(v)
	}
	if o.alarmsFocused {
		if o.alarms.DoAlarms(a) && a != keymap.Sort {
			return selectAlarm(o.alarms.Chosen(), "")
		}
		return nil
	}
	if o.units.Do(a, len(unitColumns)) && widget.MovesSelection(a) {
		return selectUnit(v, o.units.Current())
	}
	return nil
}

// enter opens a group of alarms, opens Orient with one, or shows a unit in
// detail.
func (o *Observe) enter(v view.Context) view.Request {
	if o.alarmsFocused {
		if o.alarms.DoAlarms(keymap.Open) {
			return nil
		}
		return selectAlarm(o.alarms.Chosen(), view.Orient)
	}
	if unit := selectUnit(v, o.units.Current()); unit != nil {
		return view.Batch{unit, view.Run{Action: keymap.OpenUnit}}
	}
	return nil
}

func selectUnit(v view.Context, id string) view.Request {
	if id == "" {
		return nil
	}
	return view.Select{Selection: view.Selection{AssetID: id, FindingID: findingOf(v, id)}}
}

// turn goes a day on or back. From a today without data it goes back to the
// newest ones.
func (o *Observe) turn(on bool, v view.Context) view.Request {
	o.window.from, o.window.to = time.Time{}, time.Time{}
	past, today := v.Site.PastDate, v.SiteNow.In(v.Site.Zone)
	switch last := v.Site.Summary.Data.LastUpdated; {
	case on && past.IsZero():
		return view.Notify{Text: "This is today; Decide (3) has the days ahead.", Role: themes.Dim}
	case on:
		past = past.AddDate(0, 0, 1)
	case past.IsZero() && len(v.Site.Day.Data.Units) == 0 && !last.IsZero():
		past = last.In(v.Site.Zone)
	case past.IsZero():
		past = today.AddDate(0, 0, -1)
	default:
		past = past.AddDate(0, 0, -1)
	}
	if y, m, d := past.Date(); !time.Date(y, m, d, 0, 0, 0, 0, v.Site.Zone).Before(view.MidnightOf(today)) {
		past = time.Time{}
	}
	return view.ShowDay{Day: past}
}

// Click selects what is clicked: a unit, an alarm, or a time.
func (o *Observe) Click(x, y int, v view.Context) view.Request {
	switch {
	case o.unitsAt.Contains(x, y) && o.units.Click(y-o.unitsAt.Y):
		o.alarmsFocused = false
		return selectUnit(v, o.units.Current())
	case o.heatAt.Contains(x, y):
		if i := o.heat.heat.RowAt(y-o.heatAt.Y, o.heatAt.H); i >= 0 {
			return selectUnit(v, v.Day().Units[i].AssetID)
		}
	case o.chartAt.Contains(x, y):
		if at, ok := o.chart.chart.TimeAt(x - o.chartAt.X); ok {
			o.window.cursor = at
		}
	case o.alarmsAt.Contains(x, y) && o.alarms.Click(y-o.alarmsAt.Y-1):
		o.alarmsFocused = true
		return selectAlarm(o.alarms.Chosen(), "")
	}
	return nil
}

// Wheel moves in the list under it, or changes the time on screen around it.
func (o *Observe) Wheel(x, y, by int, v view.Context) view.Request {
	if o.chartAt.Contains(x, y) || o.heatAt.Contains(x, y) {
		if at, ok := o.chart.chart.TimeAt(x - o.chartAt.X); ok {
			o.window.zoom(by, dayOf(v), at, view.MidnightOf(v.SiteNow).AddDate(0, 0, aheadDays))
		}
		return nil
	}
	o.alarmsFocused = o.alarmsAt.Contains(x, y)
	return o.Do(widget.WheelAction(by, keymap.Up, keymap.Down), v)
}

// Help returns the pane's own keys.
func (o *Observe) Help() [][2]string {
	return [][2]string{
		{"↓ ↑", "select a unit or an alarm; the other panes follow it"},
		{"enter", "show the unit in detail, and pressed again open Orient; open a group of alarms"},
		{"← →", "the day before, the day after; with the cursor, along the time"},
	}
}

// Export returns the units' day on screen, one row a record.
func (o *Observe) Export(v view.Context) [][]string {
	rows := [][]string{{"timestamp (UTC)", "asset_id", "power (kW)", "energy (kWh)", "inverter_state"}}
	for _, u := range view.ShownDay(v).Units {
		for _, r := range u.Records {
			rows = append(rows, []string{r.Timestamp.String(), u.AssetID, display.Number(r.Power), display.Number(r.KWh), strconv.Itoa(r.InverterState)})
		}
	}
	return rows
}

// Lists returns the units and the alarms.
func (o *Observe) Lists() view.Lists {
	active := &o.units
	if o.alarmsFocused {
		active = &o.alarms.List
	}
	return view.Lists{All: map[string]view.List{"units": &o.units, "alarms": &o.alarms.List}, Active: active}
}

// chosen returns the alarms that an action concerns: those of the chosen line, or
// of the selected unit, which the action may change.
func (o *Observe) chosen(a keymap.Action, v view.Context) []api.Alert {
	var out []api.Alert
	of := v.Site.Alerts.Data.Alerts
	if o.alarmsFocused && a != keymap.Unshelve {
		of = o.alarms.Chosen()
	}
	for _, alert := range of {
		about := o.alarmsFocused && a != keymap.Unshelve || v.Selection.AssetID != "" && slices.Contains(alarm.Units(alert), v.Selection.AssetID)
		if about && alarm.CanChange(a, alert) {
			out = append(out, alert)
		}
	}
	return out
}

// candidates returns the alarms that an action may change, if no alarm and no unit is
// selected.
func (o *Observe) candidates(a keymap.Action, v view.Context) []api.Alert {
	if o.alarmsFocused || v.Selection != (view.Selection{}) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(v.Site.Alerts.Data.Alerts), func(alert api.Alert) bool { return !alarm.CanChange(a, alert) })
}

// Disabled returns why an action on alarms is not possible.
func (o *Observe) Disabled(a keymap.Action, v view.Context) string {
	o.follow(v)
	switch a {
	case keymap.Acknowledge, keymap.Shelve, keymap.Unshelve:
		if len(o.chosen(a, v)) > 0 || len(o.candidates(a, v)) > 0 {
			return ""
		}
	default:
		return ""
	}
	return alarm.DisabledReason(a)
}

// selectAlarm selects the first of the alarms of a line, and goes to a pane
// unless focus is empty.
func selectAlarm(alerts []api.Alert, focus string) view.Request {
	if len(alerts) == 0 {
		return nil
	}
	a := alerts[0]
	hand := view.Selection{AssetID: a.AssetID, FindingID: alarm.FindingOf(a)}
	if units := alarm.Units(a); hand.AssetID == "" && len(units) > 0 {
		hand.AssetID = units[0]
	}
	return view.Select{Selection: hand, Focus: focus}
}

// advice is the response to the alarm of the selected line, else to that of the selected
// unit, else to the first: a heading and its lines. Empty without any.
func (o *Observe) advice(v view.Context) []widget.Detail {
	if len(o.shown) == 0 {
		return nil
	}
	a := o.shown[0]
	if i := slices.IndexFunc(o.shown, func(a api.Alert) bool {
		return v.Selection.AssetID != "" && slices.Contains(alarm.Units(a), v.Selection.AssetID)
	}); i >= 0 {
		a = o.shown[i]
	}
	if chosen := o.alarms.Chosen(); o.alarmsFocused && len(chosen) > 0 {
		a = chosen[0]
	}
	lines := alarm.Response(v, a)
	if len(lines) == 0 {
		return nil
	}
	return append([]widget.Detail{{Heading: "Response to " + alarm.UnitOf(a) + " " + widget.Family(a.AlertType)}}, lines...)
}

// drawAlarmsBelow lists the alarms at the bottom of a pane that has no day to
// show, below y: they are known whether or not telemetry comes.
func (o *Observe) drawAlarmsBelow(r terminal.Region, v view.Context, y int) bool {
	w, h := r.Size()
	rows := min(o.alarms.Lines(o.shown)+2, h/2)
	if len(o.shown) == 0 || rows < 3 || h-rows < y+1 {
		return false
	}
	o.alarmsAt = terminal.Rect{Y: h - rows, W: w, H: rows}
	o.drawAlarms(r.Region(o.alarmsAt), v)
	return true
}

// drawAlarms lists the alarms that need action, those of one cause in one line, and
// shows how many are shelved or suppressed.
func (o *Observe) drawAlarms(r terminal.Region, v view.Context) {
	w, h := r.Size()
	alerts := v.Site.Alerts
	counts := alerts.Data.Counts
	hidden := make([]string, 0, 3)
	for _, k := range []struct {
		n    int
		word string
	}{{counts.Shelved, "shelved"}, {counts.Suppressed, "suppressed"}} {
		if k.n > 0 {
			hidden = append(hidden, fmt.Sprintf("%d %s", k.n, k.word))
		}
	}
	if len(o.shown) == 0 {
		v.Heading(r, 0, "Alarms", hidden...)
		text, role := noneAbnormal(v, alertsNeed, "alarms", "None: nothing abnormal is known of this site.")
		v.PutIn(r, 0, 1, w, text, role)
		return
	}
	risk := 0.0
	for _, g := range o.alarms.Group(o.shown) {
		risk += g.Risk()
	}
	quiet := v
	quiet.Focused = v.Focused && o.alarmsFocused
	o.alarms.Stale = alerts.Status(v.Now, StaleAfter, false) == state.Stale
	list := h - 1
	advice := o.advice(v)
	if rows := len(advice) + 2; len(advice) > 0 && w >= 60 && list-o.alarms.Lines(o.shown)-1 >= rows+1 {
		list -= rows
		below := r.Region(terminal.Rect{Y: 1 + list, W: w, H: rows})
		v.Heading(below, 0, advice[0].Heading)
		widget.DrawDetails(below.Region(terminal.Rect{Y: 1, W: w, H: rows - 1}), v, advice[1:])
	}
	o.alarms.DrawAlarms(r.Region(terminal.Rect{Y: 1, W: w, H: list}), quiet, o.shown)
	notes := append([]string{widget.Risk(risk)}, hidden...)
	if alerts.Err != nil && !alerts.At.IsZero() {
		notes = append(notes, display.Age(v.Now.Sub(alerts.At))+" old")
	}
	v.Heading(r, 0, "Alarms", append(notes, o.alarms.Range())...)
}
