package operations

import (
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// window is the time that a chart shows: the whole day on screen unless it is
// zoomed, and the selected column.
type window struct {
	from, to time.Time
	cursor   time.Time
	empty    string // text if there is nothing to draw
}

// zoomed reports whether it is another period than the day on screen.
func (w window) zoomed() bool { return w.to.After(w.from) }

// spans are the lengths of time that zooming goes through.
var spans = []time.Duration{
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
	48 * time.Hour, 72 * time.Hour, 5 * 24 * time.Hour, 7 * 24 * time.Hour,
}

// aheadDays is how far the forecast reaches.
const aheadDays = 7

// span returns the time on screen.
func (w window) span(day time.Time) (from, to time.Time) {
	if w.zoomed() {
		return w.from, w.to
	}
	return day, day.AddDate(0, 0, 1)
}

// zoom goes to the next length of time, shorter if by is below zero, around an
// instant that stays where it is.
func (w *window) zoom(by int, day, around, last time.Time) {
	from, to := w.span(day)
	now := to.Sub(from)
	next := now
	if by < 0 {
		for _, s := range spans {
			if s < now-time.Hour/2 {
				next = s
			}
		}
	} else {
		for i := len(spans) - 1; i >= 0; i-- {
			if spans[i] > now+2*time.Hour || spans[i] > now+time.Minute && spans[i] <= 24*time.Hour {
				next = spans[i]
			}
		}
	}
	if next == now {
		return
	}
	if around.Before(from) || !around.Before(to) {
		around = from.Add(now / 2)
	}
	share := float64(around.Sub(from)) / float64(now)
	w.set(around.Add(-time.Duration(share*float64(next))), next, last)
}

// set shows a length of time from an instant on, in steps of five minutes, and
// no later than last.
func (w *window) set(from time.Time, length time.Duration, last time.Time) {
	from = from.Round(5 * time.Minute)
	if from.Add(length).After(last) {
		from = last.Add(-length)
	}
	w.from, w.to = from, from.Add(length)
	if !w.cursor.IsZero() && (w.cursor.Before(w.from) || !w.cursor.Before(w.to)) {
		w.cursor = w.from.Add(length / 2)
	}
}

// Back ends the cursor, or goes back to the whole day; ok is false when there
// is nothing to end.
func (o *Observe) Back() (ok bool) {
	switch {
	case !o.window.cursor.IsZero():
		o.window.cursor = time.Time{}
	case o.window.zoomed():
		o.window.from, o.window.to = time.Time{}, time.Time{}
	case o.alarmsFocused:
		o.alarmsFocused = false
	default:
		return false
	}
	return true
}

// dayOf returns the midnight of the day on screen.
func dayOf(v view.Context) time.Time {
	if !v.Site.PastDate.IsZero() {
		return v.Site.PastDate
	}
	return v.Day().Start
}

// look performs an action on the period on screen; ok is false for another action.
func (o *Observe) look(a keymap.Action, v view.Context) (ok bool) {
	day := dayOf(v)
	from, to := o.window.span(day)
	last := view.MidnightOf(v.SiteNow).AddDate(0, 0, aheadDays)
	around := o.window.cursor
	if around.IsZero() {
		around = v.SiteNow
	}
	switch a {
	case keymap.ZoomIn:
		o.window.zoom(-1, day, around, last)
	case keymap.ZoomOut:
		o.window.zoom(1, day, around, last)
	case keymap.PanBack:
		o.window.set(from.Add(-to.Sub(from)/4), to.Sub(from), last)
	case keymap.PanOn:
		o.window.set(from.Add(to.Sub(from)/4), to.Sub(from), last)
	case keymap.WholeDay:
		o.window.from, o.window.to = time.Time{}, time.Time{}
		o.window.keepCursor(day)
	case keymap.Cursor:
		o.toggleCursor(from, to, v.SiteNow)
	default:
		return false
	}
	return true
}

// keepCursor puts the cursor back into the time on screen.
func (w *window) keepCursor(day time.Time) {
	if from, to := w.span(day); !w.cursor.IsZero() && (w.cursor.Before(from) || !w.cursor.Before(to)) {
		w.cursor = from.Add(to.Sub(from) / 2)
	}
}

func (o *Observe) toggleCursor(from, to, now time.Time) {
	switch {
	case !o.window.cursor.IsZero():
		o.window.cursor = time.Time{}
	case !now.Before(from) && now.Before(to):
		o.window.cursor = now.Truncate(5 * time.Minute)
	default:
		o.window.cursor = from.Add(to.Sub(from) / 2)
	}
}

// moveCursor moves the selected column, at least by a sample.
func (o *Observe) moveCursor(on bool, v view.Context) {
	o.window.keepCursor(dayOf(v)) // the day may have changed
	from, to := o.window.span(dayOf(v))
	step := 5 * time.Minute
	if w := o.chart.chart.Plot().W; w > 0 {
		step = max(step, (to.Sub(from) / time.Duration(w)).Round(time.Minute))
	}
	if !on {
		step = -step
	}
	if at := o.window.cursor.Add(step); !at.Before(from) && at.Before(to) {
		o.window.cursor = at
	}
}

// data returns what the chart and the map show: the day on screen, or the days
// that the window touches.
func (o *Observe) data(v view.Context) *view.DayTable {
	day := v.Day()
	if !o.window.zoomed() || !o.window.from.Before(day.Start) && !o.window.to.After(day.Start.AddDate(0, 0, 1)) {
		return day
	}
	return v.Span(o.window.from, o.window.to)
}

// spanNeed returns the query of the former days that the window touches.
func (o *Observe) spanNeed(v view.Context) (n state.Need, ok bool) {
	if !o.window.zoomed() || v.Site == nil {
		return n, false
	}
	today := view.MidnightOf(v.SiteNow)
	from, to := o.window.from, o.window.to
	if day := dayOf(v); !from.Before(day) && !to.After(day.AddDate(0, 0, 1)) || !from.Before(today) {
		return n, false
	}
	if to.After(today) {
		to = today
	}
	return state.Need{Query: state.QuerySpan, Of: state.SpanOf(from, to, v.Site.Zone), Period: 10 * time.Minute}, true
}

// foreseenNeed returns the query of what was forecast for the former days on
// screen.
func (o *Observe) foreseenNeed(v view.Context) (n state.Need, ok bool) {
	if v.Site == nil {
		return n, false
	}
	from, _ := o.window.span(dayOf(v))
	if !from.Before(view.MidnightOf(v.SiteNow)) {
		return n, false
	}
	return state.Need{Query: state.QueryForeseen, Of: from.In(v.Site.Zone).Format(time.DateOnly), Period: 30 * time.Minute}, true
}

// lookWords describes the period on screen and the keys that change it.
func (o *Observe) lookWords(v view.Context) string {
	to := "–"
	if v.ASCII {
		to = "-"
	}
	from, end := o.window.from.In(v.Site.Zone), o.window.to.In(v.Site.Zone)
	words := ""
	if o.window.zoomed() {
		words = display.DayClock(from) + to
		if end.Sub(from) > 24*time.Hour || from.Day() != end.Day() {
			words += display.Day(end) + " "
		}
		words += display.Clock(end) + v.Separator() + o.spanWords(v) + "+ - zoom, [ ] move, 0 whole day"
	}
	if !o.window.cursor.IsZero() {
		if words != "" {
			words += ", "
		}
		words += "← → move the cursor, c ends it"
	}
	return words
}

// spanWords returns that the former days on screen are still requested, empty if they
// are known.
func (o *Observe) spanWords(v view.Context) string {
	need, ok := o.spanNeed(v)
	switch span := v.Site.Span; {
	case !ok:
	case span.Err != nil:
		return "no answer about the days before: " + state.Reason(span.Err) + v.Separator()
	case span.At.IsZero() || v.Site.Wanted(state.QuerySpan) != need.Of:
		return "asking for the days before …" + v.Separator()
	}
	return ""
}

// events returns the marks on the time axis: alarms that came and went,
// ordered work, and the working hours.
func (o *Observe) events(v view.Context, from, to time.Time) []chart.Event {
	out := o.marks[:0]
	add := func(e chart.Event) {
		end := e.At
		if e.Until.After(end) {
			end = e.Until
		}
		if !end.Before(from) && e.At.Before(to) {
			out = append(out, e)
		}
	}
	alarm := func(a api.Alert) {
		if a.AlertSeverity == api.AlertNormal {
			return
		}
		add(chart.Event{Kind: chart.Raised, At: a.Timestamp.Time, Role: widget.PriorityRole(a.AlertSeverity)})
		if a.Resolved && !a.ResolvedAt.IsZero() {
			add(chart.Event{Kind: chart.Cleared, At: a.ResolvedAt.Time})
		}
	}
	for _, a := range v.Site.Alerts.Data.Alerts {
		alarm(a)
	}
	for _, a := range v.Site.AlertLog.Data {
		if a.State == api.AlertCleared {
			alarm(a)
		}
	}
	for _, w := range v.Site.Orders.Data {
		add(chart.Event{Kind: chart.WorkOrder, At: w.CreatedAt.Time})
		if !w.PlannedStart.IsZero() && w.EstimatedCompletion.After(w.PlannedStart.Time) && w.Status != api.OrderCancelled {
			add(chart.Event{Kind: chart.Maintenance, At: w.PlannedStart.Time, Until: w.EstimatedCompletion.Time})
		}
	}
	o.marks = out
	if out == nil {
		out = []chart.Event{}
	}
	return out
}

// eventWords name the marks on the time axis, in pairs of mark and word.
func eventWords(v view.Context) [][2]string {
	var out [][2]string
	for _, k := range []struct {
		kind chart.EventKind
		word string
	}{{chart.Raised, "alarm"}, {chart.Cleared, "cleared"}, {chart.WorkOrder, "order"}, {chart.Maintenance, "work"}} {
		out = append(out, [2]string{string(k.kind.Mark(v.Pen)), k.word})
	}
	return out
}

// putPairs draws pairs of mark and word, as many as fit, and returns the x
// after them.
func putPairs(x int, w int, put func(x int, text string, role themes.Role) int, pairs [][2]string) int {
	for _, p := range pairs {
		if x+len(p[1])+4 > w {
			break
		}
		x = put(x, p[0], themes.Text)
		x = put(x, " "+p[1], themes.Muted) + 2
	}
	return x
}
