package alarm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// Screen is the screen of alarms of all states, and of the performance of the alarm
// system.
type Screen struct {
	view.Base
	list    List
	page    widget.Page
	only    int  // index into alarmStates; 0: all
	figures bool // the figures stand where the details do on narrow screens
	listAt  terminal.Rect

	key   screenKey
	shown []api.Alert
}

// screenKey identifies the data that the alarms were last built from.
type screenKey struct {
	site      *state.Site
	at, logAt time.Time
	only      int
}

// alarmStates are what the list is narrowed to, in turn.
var alarmStates = append([]string{""}, api.AlertStates()...)

// NewScreen begins with the alarms of all states.
func NewScreen() *Screen {
	s := &Screen{list: NewList()}
	s.list.Chooses = true
	return s
}

// Title names the screen.
func (s *Screen) Title() string { return "Alarms" }

// Scope is that of the list of alarms.
func (s *Screen) Scope() keymap.Scope { return keymap.AlarmList }

// Queries returns the active alarms, those of the last days, and the performance figures.
func (s *Screen) Queries(view.Context) []state.Need {
	return []state.Need{
		{Query: state.QueryAlerts, Period: 5 * time.Second, Focused: true},
		{Query: state.QueryAlertLog, Period: 30 * time.Second, Focused: true},
		{Query: state.QueryAlertHealth, Period: time.Minute, Focused: true},
		{Query: state.QueryFindings, Period: time.Minute}, // behind the advice; the panes ask more often
	}
}

// alerts returns those of the chosen states: active ones in the service's order,
// then the cleared ones, newest first.
func (s *Screen) alerts(v view.Context) []api.Alert {
	key := screenKey{v.Site, v.Site.Alerts.At, v.Site.AlertLog.At, s.only}
	if s.key == key {
		return s.shown
	}
	s.key, s.shown = key, nil
	for _, a := range v.Site.Alerts.Data.Alerts {
		if s.only == 0 || a.State == alarmStates[s.only] {
			s.shown = append(s.shown, a)
		}
	}
	for _, a := range v.Site.AlertLog.Data {
		if a.State == api.AlertCleared && (s.only == 0 || alarmStates[s.only] == api.AlertCleared) {
			s.shown = append(s.shown, a)
		}
	}
	return s.shown
}

// Draw draws the list, and next to or below it the chosen alarm and the
// figures.
func (s *Screen) Draw(r terminal.Region, v view.Context) {
	w, h := r.Size()
	s.listAt = terminal.Rect{}
	if v.Site == nil {
		v.Paragraph(r, 0, 0, "No sites yet.", themes.Dim)
		return
	}
	v.Selection = view.Selection{} // the list has its own selection
	stands := v.Site.Alerts
	if stands.At.IsZero() {
		if stands.Err != nil {
			y := v.Paragraph(r, 0, 0, state.Sentence(stands.Err), themes.Warning)
			v.Paragraph(r, 0, y, "Next try "+state.Soon(stands.NextTry.Sub(v.Now))+"; r asks now.", themes.Dim)
			return
		}
		v.Paragraph(r, 0, 0, "Asking for alarms …", themes.Dim)
		return
	}
	if stands.Err != nil && h > 4 {
		r.PutIn(0, h-1, w, view.Drawable("These are "+display.Age(v.Now.Sub(stands.At))+" old: "+state.Reason(stands.Err)+".", v.ASCII), v.Palette.Style(themes.Warning), v.ASCII)
		h--
	}
	s.list.Stale = stands.Status(v.Now, widget.ListStaleAfter, false) == state.Stale
	s.drawHead(r.Region(terminal.Rect{W: w, H: 1}), v)
	alerts := s.alerts(v)
	area := terminal.Rect{Y: 1, W: w, H: h - 1}
	list, rest := area, terminal.Rect{}
	switch {
	case w >= 150:
		list.W = w * 58 / 100
		rest = terminal.Rect{X: list.W + 2, Y: 1, W: w - list.W - 2, H: area.H}
	case area.H >= 8:
		list.H = min(max(s.list.Lines(alerts)+1, 4), area.H/2)
		rest = terminal.Rect{Y: list.H + 2, W: w, H: area.H - list.H - 1}
		r.HLine(0, list.H+1, w, terminal.LinesFor(v.ASCII), v.Palette.Style(themes.Border))
	}
	if len(alerts) == 0 {
		s.list.DrawAlarms(r.Region(terminal.Rect{}), v, nil)
		v.Paragraph(r.Region(list), 0, 0, s.none(), themes.Dim)
	} else {
		s.listAt = list
		s.list.DrawAlarms(r.Region(list), v, alerts)
	}
	if rest.Empty() {
		return
	}
	s.drawRest(r.Region(rest), v)
}

// none returns the text for an empty list.
func (s *Screen) none() string {
	if s.only == 0 {
		return fmt.Sprintf("No active alarms, and none cleared in the last %s.", display.CountOf(state.AlertLogDays, "day", "days"))
	}
	return "No alarm is " + alarmStates[s.only] + "; f selects the next state."
}

// drawHead shows the selected states and the count of each state.
func (s *Screen) drawHead(r terminal.Region, v view.Context) {
	w, _ := r.Size()
	count := map[string]int{}
	for _, a := range v.Site.Alerts.Data.Alerts {
		count[a.State]++
	}
	for _, a := range v.Site.AlertLog.Data {
		if a.State == api.AlertCleared {
			count[a.State]++
		}
	}
	x := 0
	for i, name := range alarmStates {
		words := fmt.Sprintf("%s %d", name, count[name])
		if i == 0 {
			words = "all"
		}
		style := v.Palette.Style(themes.Dim)
		if i == s.only {
			style, words = v.Palette.Style(themes.Title).With(themes.Reverse), " "+words+" "
		}
		if x+len(words) > w {
			break
		}
		x = r.Put(x, 0, words, style) + 2
	}
}

// drawRest draws the chosen alarm and the figures, one of them where there is
// no room for both.
func (s *Screen) drawRest(r terminal.Region, v view.Context) {
	w, h := r.Size()
	const rows = 13
	id := s.list.Current()
	content := func(r terminal.Region) int { return s.drawAlarm(r, v) }
	switch {
	case h >= rows+8:
		s.drawFigures(r.Region(terminal.Rect{Y: h - rows, W: w, H: rows}), v)
		s.page.Draw(r.Region(terminal.Rect{W: w, H: h - rows - 1}), v, id, content)
	case s.figures:
		s.page.Draw(r, v, "figures", func(r terminal.Region) int { return s.drawFigures(r, v) })
	default:
		s.page.Draw(r, v, id, content)
	}
}

// drawAlarm draws what is known of the chosen alarm, who did what with it and
// when.
func (s *Screen) drawAlarm(r terminal.Region, v view.Context) int {
	chosen := s.list.Chosen()
	if len(chosen) == 0 {
		return 0
	}
	y := 0
	if len(chosen) > 1 {
		y = v.Paragraph(r, 0, y, fmt.Sprintf("%s of one cause; the first came from %s. Enter opens them.", display.CountOf(len(chosen), "alarm", "alarms"), UnitOf(chosen[0])), themes.Text) + 1
	}
	a := chosen[0]
	y = v.Paragraph(r, 0, y, UnitOf(a)+": "+widget.Family(a.AlertType), themes.Title)
	y = v.Paragraph(r, 0, y, a.Message, themes.Text)
	w, _ := r.Size()
	if lines := Response(v, a); len(lines) > 0 { // before the facts: it is what an operator needs first
		y += widget.DrawDetails(r.Region(terminal.Rect{Y: y, W: w, H: len(lines) * 4}), v, lines) + 1
	}
	at := func(t api.Time) string { return display.DateTime(t.In(v.Zone())) }
	lines := []widget.Detail{{Label: "priority", Text: widget.AlarmPriority(a.AlertSeverity), Role: widget.PriorityRole(a.AlertSeverity)}, {Label: "state", Text: a.State, Role: themes.Text}}
	add := widget.FactsOf(&lines)
	add("since", at(a.Timestamp))
	if a.Resolved {
		add("gone", at(a.ResolvedAt))
	}
	if a.AcknowledgedBy != "" {
		add("acknowledged", "by "+a.AcknowledgedBy+", "+at(a.AcknowledgedAt))
	}
	if !a.ShelvedUntil.IsZero() {
		add("shelved", "to "+at(a.ShelvedUntil))
	}
	if a.State == api.AlertSuppressed {
		words := "until it is ended"
		if !a.SuppressedTo.IsZero() {
			words = "to " + at(a.SuppressedTo)
		}
		add("suppressed", words)
	}
	if m := a.Metadata; m != nil {
		add("cause", m.RootCause)
		if m.LostKWh > 0 {
			add("lost so far", display.Energy(m.LostKWh))
		}
		add("units", strings.Join(m.AssetIDs, ", "))
	}
	add("at risk", display.Power(a.EnergyAtRiskKW)+", daylight mean")
	add("times", fmt.Sprint(a.Occurrences))
	add("device", a.TerminalDeviceID)
	y += widget.DrawDetails(r.Region(terminal.Rect{Y: y, W: w, H: len(lines) * 4}), v, lines)
	y = v.Paragraph(r, 0, y+1, "What was done", themes.Title)
	return DrawHistory(v, r, 0, y, a)
}

// figure is one measure of the alarm system with its target.
type figure struct {
	name, target string
	value        func(api.AlertHealth) string
	good         func(api.AlertHealth) bool
}

// figures are those of ISA-18.2 and EEMUA 191, with the targets that these
// name.
var figures = []figure{
	{"alarms a day", "≤ 150", func(h api.AlertHealth) string { return display.Significant(h.PerDay) }, func(h api.AlertHealth) bool { return h.PerDay <= 150 }},
	{"most in 10 min", "≤ 10", func(h api.AlertHealth) string { return fmt.Sprint(h.Peak10Min) }, func(h api.AlertHealth) bool { return h.Peak10Min <= 10 }},
	{"floods", "", func(h api.AlertHealth) string { return fmt.Sprint(h.Floods) }, func(h api.AlertHealth) bool { return true }},
	{"time in flood", "< 1 %", func(h api.AlertHealth) string { return display.FinePercentage(h.FloodPercent) }, func(h api.AlertHealth) bool { return h.FloodPercent < 1 }},
	{"chattering", "0", func(h api.AlertHealth) string { return fmt.Sprint(h.Chattering) }, func(h api.AlertHealth) bool { return h.Chattering == 0 }},
	{"stale, now", "< 5", func(h api.AlertHealth) string { return fmt.Sprint(h.Stale) }, func(h api.AlertHealth) bool { return h.Stale < 5 }},
	{"share of the ten most frequent", "≤ 5 %", func(h api.AlertHealth) string { return display.Percent(h.TopTenPercent / 100) }, func(h api.AlertHealth) bool { return h.Alarms < 100 || h.TopTenPercent <= 5 }},
	{"critical", "≤ 5 %", func(h api.AlertHealth) string { return shareOf(h, api.AlertCritical) }, func(h api.AlertHealth) bool {
		return h.Alarms < 20 || float64(h.Priorities[api.AlertCritical]) <= 0.05*float64(h.Alarms)
	}},
	{"high", "about 15 %", func(h api.AlertHealth) string { return shareOf(h, api.AlertMajor) }, func(api.AlertHealth) bool { return true }},
	{"medium and below", "about 80 %", func(h api.AlertHealth) string { return shareOf(h, api.AlertModerate, api.AlertMinor) }, func(api.AlertHealth) bool { return true }},
}

// shareOf returns how many alarms were of the severities, and their share.
func shareOf(h api.AlertHealth, severities ...string) string {
	n := 0
	for _, s := range severities {
		n += h.Priorities[s]
	}
	if h.Alarms == 0 {
		return "0"
	}
	return fmt.Sprintf("%d, %s", n, display.Percent(float64(n)/float64(h.Alarms)))
}

// drawFigures draws the performance of the alarm system with its targets, and
// returns the number of rows drawn. A figure off its target has a mark in
// addition to its colour.
func (s *Screen) drawFigures(r terminal.Region, v view.Context) int {
	w, _ := r.Size()
	health := v.Site.AlertHealth
	r.PutIn(0, 0, w, view.Drawable("Performance of the alarm system", v.ASCII), v.Palette.Style(themes.Title), v.ASCII)
	if len(health.Data) == 0 {
		words := "Asking for the figures …"
		if health.Err != nil {
			words = "No figures: " + state.Reason(health.Err) + "."
		}
		v.Paragraph(r, 0, 1, words, themes.Dim)
		return 2
	}
	columns := []int{min(w-38, 31), 0, 0, 0}
	columns[1] = columns[0] + 11
	columns[2], columns[3] = columns[1]+12, columns[1]+14
	for i, h := range health.Data[:min(len(health.Data), 2)] {
		r.PutRight(columns[1+i], 1, windowWords(h.WindowHours), v.Palette.Style(themes.Dim))
	}
	r.PutIn(columns[3], 1, w-columns[3], "target", v.Palette.Style(themes.Dim), v.ASCII)
	y := 2
	for _, f := range figures {
		r.PutIn(0, y, columns[0], f.name, v.Palette.Style(themes.Dim), v.ASCII)
		for i, h := range health.Data[:min(len(health.Data), 2)] {
			words, style := f.value(h), v.Palette.Style(themes.Text)
			if !f.good(h) {
				words, style = words+" !", v.Palette.Style(themes.Warning)
			}
			r.PutRight(columns[1+i], y, words, style)
		}
		r.PutIn(columns[3], y, w-columns[3], plainTarget(f.target, v.ASCII), v.Palette.Style(themes.Muted), v.ASCII)
		y++
	}
	return y
}

func plainTarget(s string, ascii bool) string {
	if ascii {
		return strings.ReplaceAll(s, "≤", "<=")
	}
	return s
}

func windowWords(hours int) string {
	if hours > 48 {
		return display.CountOf(hours/24, "day", "days")
	}
	return fmt.Sprintf("%d h", hours)
}

// Disabled returns why no alarm that is chosen can be changed so.
func (s *Screen) Disabled(a keymap.Action, v view.Context) string {
	switch a {
	case keymap.AckAlarm, keymap.ShelveAlarm, keymap.UnshelveOne:
		if v.Site == nil || len(s.movable(a)) == 0 {
			return DisabledReason(a)
		}
	}
	return ""
}

// movable returns those of the chosen line that an action may change.
func (s *Screen) movable(a keymap.Action) []api.Alert {
	return slices.DeleteFunc(slices.Clone(s.list.Chosen()), func(alert api.Alert) bool { return !CanChange(a, alert) })
}

// Do moves in the list, opens a group, narrows the list, or changes alarms.
func (s *Screen) Do(a keymap.Action, v view.Context) view.Request {
	switch a {
	case keymap.AlarmStates:
		s.only = (s.only + 1) % len(alarmStates)
	case keymap.AlarmFigures:
		s.figures = !s.figures
	case keymap.AckAlarm, keymap.ShelveAlarm, keymap.UnshelveOne:
		return Request(a, s.movable(a))
	case keymap.Open:
		if s.list.DoAlarms(a) {
			return nil
		}
		return s.goTo(v)
	case keymap.PageDown, keymap.PageUp:
		if !s.page.Do(a) {
			s.list.DoAlarms(a)
		}
	default:
		s.list.DoAlarms(a)
	}
	return nil
}

// goTo selects the unit of the chosen alarm and opens its details.
func (s *Screen) goTo(v view.Context) view.Request {
	chosen := s.list.Chosen()
	if len(chosen) == 0 || chosen[0].Metadata == nil {
		return nil
	}
	hand := view.Selection{AssetID: cmp.Or(chosen[0].AssetID, first(chosen[0].Metadata.AssetIDs)), FindingID: chosen[0].Metadata.SummaryID}
	return view.Batch{view.Close{}, view.Select{Selection: hand, Focus: view.Orient}}
}

func first(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return ids[0]
}

// Click chooses the line under it.
func (s *Screen) Click(x, y int, _ view.Context) view.Request {
	if s.listAt.Contains(x, y) {
		s.list.Click(y - s.listAt.Y)
	}
	return nil
}

// Wheel moves in the list, or scrolls the details.
func (s *Screen) Wheel(x, y, by int, v view.Context) view.Request {
	if !s.listAt.Contains(x, y) {
		s.page.Move(3 * by)
		return nil
	}
	return s.Do(widget.WheelAction(by, keymap.Up, keymap.Down), v)
}

// Export returns the alarms on screen.
func (s *Screen) Export(v view.Context) [][]string {
	rows := [][]string{{"alert_id", "asset_id", "alert_type", "severity", "state", "since (UTC)", "gone (UTC)", "at risk (kW, daylight mean)", "acknowledged_by", "acknowledged_at (UTC)", "shelved_until (UTC)", "message"}}
	if v.Site == nil {
		return rows
	}
	at := func(t api.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.String()
	}
	for _, a := range s.alerts(v) {
		rows = append(rows, []string{a.AlertID, a.AssetID, a.AlertType, a.AlertSeverity, a.State, at(a.Timestamp), at(a.ResolvedAt), fmt.Sprint(a.EnergyAtRiskKW), a.AcknowledgedBy, at(a.AcknowledgedAt), at(a.ShelvedUntil), a.Message})
	}
	return rows
}

// Lists returns the screen's list.
func (s *Screen) Lists() view.Lists {
	return view.Lists{All: map[string]view.List{"alarms": &s.list.List}, Active: &s.list.List}
}

// Request returns the request of an action on alarms. Shelving first opens a form for
// duration and reason.
func Request(a keymap.Action, alerts []api.Alert) view.Request {
	if len(alerts) == 0 {
		return nil
	}
	switch a {
	case keymap.Shelve, keymap.ShelveAlarm:
		return view.OpenDialog{Dialog: NewShelve(alerts)}
	case keymap.Unshelve, keymap.UnshelveOne:
		return changeStatus(nil, alerts, api.AlertsRequest{Action: api.ActionUnshelve}, "unshelved")
	}
	return changeStatus(nil, alerts, api.AlertsRequest{Action: api.ActionAcknowledge}, "acknowledged")
}

// Choose asks which of the alarms an action concerns, and performs it; nil without alarms.
func Choose(a keymap.Action, alerts []api.Alert) view.Request {
	if len(alerts) == 0 {
		return nil
	}
	title := map[keymap.Action]string{keymap.Acknowledge: "Alarm: acknowledge", keymap.Shelve: "Alarm: shelve", keymap.Unshelve: "Alarm: unshelve"}[a]
	choices := make([]widget.Choice, len(alerts))
	for i, alert := range alerts {
		choices[i] = widget.Choice{Text: UnitOf(alert), Detail: widget.AlarmPriority(alert.AlertSeverity) + ", " + widget.Family(alert.AlertType), Do: Request(a, []api.Alert{alert})}
	}
	return view.OpenDialog{Dialog: widget.NewChooser(title, "type a part of its unit", choices, nil)}
}

// changeStatus sends one request for each alarm. Completed changes remain, even
// if a later one is refused.
func changeStatus(from view.Caller, alerts []api.Alert, r api.AlertsRequest, done string) view.Call {
	ids := make([]string, len(alerts))
	for i, a := range alerts {
		ids[i] = a.AlertID
	}
	what := UnitOf(alerts[0]) + ", " + widget.Family(alerts[0].AlertType)
	if len(ids) > 1 {
		what = display.CountOf(len(ids), "alarm", "alarms")
	}
	return view.Call{From: from, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
		for i, id := range ids {
			r.AlertID = id
			if _, err := c.MoveAlert(ctx, r); err != nil {
				if i > 0 {
					err = fmt.Errorf("%d of %d were %s: %w", i, len(ids), done, err)
				}
				return view.Result{}, err
			}
		}
		return view.Result{Notice: view.Notice(what + ": " + done + "."), Refresh: []state.Query{state.QueryAlerts, state.QueryAlertLog, state.QueryAlertHealth}}, nil
	}}
}

// Shelve asks for how long alarms are shelved, and why.
type Shelve struct {
	widget.ServerForm
	alerts []api.Alert
}

// shelvings are the times that may be chosen, in minutes, within those that
// the service takes. The first is the shortest, so that a shelved alarm returns soon by default.
var shelvings = []string{
	strconv.Itoa(int(api.MinShelving / time.Minute)), "30", "60", "120", "240", "480", strconv.Itoa(int(api.MaxShelving / time.Minute)),
}

// NewShelve asks about alarms of one line.
func NewShelve(alerts []api.Alert) *Shelve {
	return &Shelve{alerts: alerts, ServerForm: widget.ServerForm{
		Names: []string{"minutes", "reason"},
		Form:  widget.Form{Fields: []widget.Field{widget.NewChoice("For", shelvings, minuteWords), widget.NewField("Reason", "why it needs no attention until then", "")}},
	}}
}

// minuteWords write minutes for people.
func minuteWords(text string) string {
	n, err := strconv.Atoi(text)
	if err != nil || n < 60 {
		return text + " min"
	}
	return fmt.Sprintf("%d h", n/60)
}

// Title names the form.
func (d *Shelve) Title() string { return "Shelve" }

// Size fits the form.
func (d *Shelve) Size(w, _ int) (int, int) { return min(72, w-4), len(d.Fields) + 9 }

// Draw draws the form.
func (d *Shelve) Draw(r terminal.Region, v view.Context) {
	_, h := r.Size()
	a := d.alerts[0]
	what := UnitOf(a) + ", " + widget.Family(a.AlertType) + ", " + widget.AlarmPriority(a.AlertSeverity)
	if len(d.alerts) > 1 {
		what = fmt.Sprintf("%s, the first of them %s", display.CountOf(len(d.alerts), "alarm", "alarms"), what)
	}
	y := v.Paragraph(r, 0, 0, what+". It returns as unacknowledged when the time ends.", themes.Text)
	d.DrawForm(r, y+1, v)
	keys := []string{"enter", "shelve", "tab", "next field", "esc", "back"}
	if d.At == 0 {
		keys = append(keys, widget.KeyNames("← →", v.ASCII), "longer, shorter")
	}
	widget.KeyLine(r, h-1, v, keys...)
}

// Key edits or sends.
func (d *Shelve) Key(k tea.KeyMsg, v view.Context) view.Request { return d.EditOrSend(k, v, d.accept) }

func (d *Shelve) accept() view.Request {
	if d.Value("reason") == "" {
		d.Refuse(1, "A reason is needed: the next shift reads it.")
		return nil
	}
	minutes, err := strconv.Atoi(d.Value("minutes"))
	if err != nil {
		d.Refuse(0, "How long?")
		return nil
	}
	d.Busy, d.Wrong = true, ""
	return changeStatus(d, d.alerts, api.AlertsRequest{Action: api.ActionShelve, Minutes: minutes, Reason: d.Value("reason")}, "shelved for "+minuteWords(d.Value("minutes")))
}
