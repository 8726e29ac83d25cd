package notification

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// calendar is the period of the calendar that is shown.
type calendar struct {
	month bool
	shift int // weeks or months from the present one
}

// span is the shown period, whole days of a zone from a Monday on, and the first day of
// the month of a month.
func (c calendar) span(now time.Time, zone *time.Location) (from, to, month time.Time) {
	now = now.In(zone)
	day := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, zone) }
	if !c.month {
		from = day(now.Year(), now.Month(), now.Day()-mondays(now)+7*c.shift)
		return from, day(from.Year(), from.Month(), from.Day()+7), time.Time{}
	}
	month = day(now.Year(), now.Month()+time.Month(c.shift), 1)
	last := day(month.Year(), month.Month()+1, 0)
	from = day(month.Year(), month.Month(), 1-mondays(month))
	return from, day(last.Year(), last.Month(), last.Day()+7-mondays(last)), month
}

// mondays is the number of days since the last Monday.
func mondays(t time.Time) int { return (int(t.Weekday()) + 6) % 7 }

// zones are the locations of names, which never change.
var zones sync.Map

// zoneOf is the location of a time zone by name; UTC if there is none.
func zoneOf(name string) *time.Location {
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	zones.Store(name, zone)
	return zone
}

// shiftNeed asks for the shifts of a rotation in the shown period.
func (s *screen) shiftNeed(v view.Context, r api.NotificationRotation) state.Need {
	from, to, _ := s.calendar.span(v.Now, zoneOf(r.Timezone))
	return state.Need{Query: state.QueryShifts, Of: state.NotifyQuestion{Owner: s.owner(v), RotationID: r.RotationID, From: api.At(from), To: api.At(to)}.Of(), Period: shiftPeriod}
}

// onCallNeed asks who is on call from now on.
func (s *screen) onCallNeed(v view.Context) state.Need {
	return state.Need{Query: state.QueryOnCall, Of: state.NotifyQuestion{Owner: s.owner(v)}.Of(), Period: shiftPeriod}
}

func (s *screen) rotations() *widget.Tab {
	l := s.configTab(tabRotations, "No rotations. Press c to add one: people who are on call in turn.", func(c api.NotificationConfig) int { return len(c.Rotations) })
	current := func(v view.Context) *api.NotificationRotation {
		if r := s.rotation(v, l.List.Selected); r != nil {
			return r
		}
		if list := s.config(v).Rotations; len(list) > 0 {
			return &list[0]
		}
		return nil
	}
	l.Needs = func(v view.Context) []state.Need {
		needs := []state.Need{s.configNeed(v)}
		if r := current(v); r != nil && s.known(v) {
			needs = append(needs, s.onCallNeed(v), s.shiftNeed(v, *r))
		}
		return needs
	}
	l.Columns = func(view.Context) []widget.Column {
		return []widget.Column{{Title: "rotation", Width: 14, Min: 8}, {Title: "on call now", Width: 16, Min: 11}, {Title: "until", Width: 16}, {Title: "then", Width: 14, Min: 8, Rank: 1},
			{Title: "handover", Min: 18, Rank: 2}, {Title: "time zone", Width: 22, Min: 18, Rank: 3}}
	}
	l.Rows = func(v view.Context) []widget.Row {
		return s.rowsOf(v, func(c api.NotificationConfig) []widget.Row {
			rows := make([]widget.Row, 0, len(c.Rotations))
			for _, r := range c.Rotations {
				now, until, then := s.onCall(v, c, r)
				rows = append(rows, widget.Row{ID: r.RotationID, Sort: []any{r.RotationID, now.Text, until, then, handoverWords(r), r.Timezone}, Cells: []widget.Cell{
					widget.Text(cmp.Or(r.Name, r.RotationID)), now, widget.QuietText(until), widget.QuietText(then), widget.QuietText(handoverWords(r)), widget.QuietText(cmp.Or(r.Timezone, "UTC"))}})
			}
			return rows
		})
	}
	l.Head = func(r terminal.Region, v view.Context, id string) int {
		rotation := current(v)
		if rotation == nil {
			return 0
		}
		return s.drawCalendar(r, v, *rotation)
	}
	l.Export = func(v view.Context) [][]string {
		out := [][]string{{"rotation", "person", "from", "to", "reason"}}
		for _, shift := range v.Site.Notify.Shifts.Data {
			out = append(out, []string{shift.RotationID, shift.PersonID, shift.From.String(), shift.To.String(), shift.Reason})
		}
		return out
	}
	return l
}

// onCall is who is on call in a rotation now, until when, and who follows.
func (s *screen) onCall(v view.Context, c api.NotificationConfig, r api.NotificationRotation) (now widget.Cell, until, then string) {
	n := s.onCallNeed(v)
	value := v.Site.Notify.OnCall
	if v.Site.Wanted(n.Query) != n.Of || value.At.IsZero() {
		return widget.Cell{Text: "unknown", Role: themes.Dim}, "", ""
	}
	zone := zoneOf(r.Timezone)
	now = widget.Cell{Text: "no one", Role: themes.Warning}
	for _, shift := range value.Data {
		switch {
		case shift.RotationID != r.RotationID || !shift.To.After(v.Now):
		case !shift.From.After(v.Now):
			now, until = widget.Text(personName(c, shift.PersonID)), whenLocal(shift.To.Time, zone)
		case then == "":
			then = personName(c, shift.PersonID)
			if until == "" {
				until = whenLocal(shift.From.Time, zone)
			}
		}
	}
	return now, until, then
}

// whenLocal writes a time by the clock of a rotation.
func whenLocal(t time.Time, zone *time.Location) string {
	return display.DayClock(t.In(zone))
}

// handoverWords says when a rotation is handed over.
func handoverWords(r api.NotificationRotation) string {
	times := strings.Join(r.Handovers, ", ")
	if len(r.Handovers) > 1 {
		return "every day at " + times
	}
	switch days := cmp.Or(r.EveryDays, 7); days {
	case 1:
		return "every day at " + times
	case 7:
		if start, err := time.Parse(time.DateOnly, r.Start); err == nil {
			return start.Weekday().String() + "s at " + times
		}
		return "every week at " + times
	default:
		return fmt.Sprintf("every %s at %s", display.CountOf(days, "day", "days"), times)
	}
}

// shiftRoles are the looks of people in the calendar; letters tell them apart without
// colours.
var shiftRoles = []themes.Role{themes.Text, themes.Accent, themes.Notice, themes.Dim}

func shiftRole(r api.NotificationRotation, person string) themes.Role {
	return shiftRoles[max(slices.Index(r.People, person), 0)%len(shiftRoles)]
}

// mark is the sign of a shift that does not follow the turn.
func mark(reason string) string {
	switch {
	case reason == "override":
		return "*"
	case strings.HasPrefix(reason, "instead of"):
		return "+"
	}
	return ""
}

// drawCalendar draws who is on call in the shown period, by the clock of the rotation,
// and returns the rows that it took.
func (s *screen) drawCalendar(r terminal.Region, v view.Context, rotation api.NotificationRotation) int {
	w, h := r.Size()
	zone := zoneOf(rotation.Timezone)
	from, to, month := s.calendar.span(v.Now, zone)
	title := fmt.Sprintf("%s, %s to %s", cmp.Or(rotation.Name, rotation.RotationID), display.DayMonth(from), display.Date(to.Add(-time.Hour)))
	if !month.IsZero() {
		title = cmp.Or(rotation.Name, rotation.RotationID) + ", " + display.Month(month)
	}
	notes := []string{"[ ] move", "m week or month", cmp.Or(rotation.Timezone, "UTC")}
	if w < terminal.Width(title+strings.Join(notes, ", "))+4 {
		notes = notes[2:]
	}
	v.Heading(r, 0, title, notes...)
	n := s.shiftNeed(v, rotation)
	value := v.Site.Notify.Shifts
	if v.Site.Wanted(n.Query) != n.Of || value.At.IsZero() {
		text, role := "Asking for the calendar …", themes.Dim
		if k := v.Know(n); k.Err != nil {
			text, role = k.Sentence("the calendar", v.Now, zone), themes.Warning
		}
		return v.Paragraph(r, 0, 1, text, role)
	}
	c := s.config(v)
	y := 0
	if month.IsZero() {
		y = drawWeek(r, v, c, rotation, value.Data, from, zone)
	} else {
		y = drawMonth(r, v, c, rotation, value.Data, from, to, month, zone)
	}
	marked := slices.ContainsFunc(value.Data, func(shift api.NotificationShift) bool { return mark(shift.Reason) != "" })
	if marked && y < h {
		y = v.Paragraph(r, 0, y, "* by an override, + instead of a person who is absent", themes.Dim)
	}
	for _, line := range exceptions(v, c, rotation, zone) {
		if y >= h {
			break
		}
		v.PutIn(r, 0, y, w, line, themes.Dim)
		y++
	}
	return y
}

// exceptions are the overrides and absences that have not ended, in order.
func exceptions(v view.Context, c api.NotificationConfig, r api.NotificationRotation, zone *time.Location) []string {
	type exception struct {
		what string
		api.NotificationOverride
	}
	var list []exception
	for _, o := range r.Overrides {
		list = append(list, exception{"override: ", o})
	}
	for _, o := range r.Absences {
		list = append(list, exception{"absent: ", o})
	}
	list = slices.DeleteFunc(list, func(e exception) bool { return !e.To.After(v.Now) })
	slices.SortStableFunc(list, func(a, b exception) int { return a.From.Compare(b.From.Time) })
	var out []string
	for _, e := range list {
		line := e.what + personName(c, e.PersonID) + ", " + whenLocal(e.From.Time, zone) + " to " + whenLocal(e.To.Time, zone)
		if e.Reason != "" {
			line += ": " + e.Reason
		}
		out = append(out, line)
	}
	return out
}

// weekLabel is the width of the names of days.
const weekLabel = 8

// drawWeek draws a row for each of seven days, from midnight to midnight of the zone, so
// that handovers are at the hours of its clock.
func drawWeek(r terminal.Region, v view.Context, c api.NotificationConfig, rotation api.NotificationRotation, shifts []api.NotificationShift, from time.Time, zone *time.Location) int {
	w, h := r.Size()
	width := w - weekLabel
	if width < 24 || h < 3 {
		return v.Paragraph(r, 0, 1, "The terminal is too small for the calendar.", themes.Dim)
	}
	for _, hour := range []int{0, 6, 12, 18} {
		v.PutIn(r, weekLabel+hour*width/24, 1, 5, fmt.Sprintf("%02d:00", hour), themes.Muted)
	}
	lines := terminal.LinesFor(v.ASCII)
	y := 2
	for n := 0; n < 7 && y < h; n, y = n+1, y+1 {
		day := time.Date(from.Year(), from.Month(), from.Day()+n, 0, 0, 0, 0, zone)
		next := time.Date(from.Year(), from.Month(), from.Day()+n+1, 0, 0, 0, 0, zone)
		label, role := display.DayOfMonth(day), themes.Dim
		if !v.Now.Before(day) && v.Now.Before(next) {
			label, role = label+"<", themes.Title
		}
		v.PutIn(r, 0, y, weekLabel, label, role)
		at := func(t time.Time) int {
			return weekLabel + min(max(int(float64(width)*float64(t.Sub(day))/float64(next.Sub(day))), 0), width)
		}
		covered := weekLabel
		for _, shift := range shifts {
			x, end := at(shift.From.Time), at(shift.To.Time)
			if !shift.To.After(day) || !shift.From.Before(next) || end <= x {
				continue
			}
			if x > covered {
				drawGap(r, v, covered, y, x-covered)
			}
			covered = max(covered, end)
			style := v.Style(shiftRole(rotation, shift.PersonID))
			r.HLine(x, y, end-x, lines, style)
			text := personName(c, shift.PersonID) + mark(shift.Reason)
			if !shift.From.Before(day) { // a handover
				sign := "│"
				if v.ASCII {
					sign = "|"
				}
				x = v.PutIn(r, x, y, 1, sign, themes.Title)
				if local := shift.From.In(zone); local.Hour()+local.Minute() > 0 {
					text = display.Clock(local) + " " + text
				}
			}
			if end-x >= 3 {
				v.PutIn(r, x, y, end-x-1, text+" ", shiftRole(rotation, shift.PersonID))
			}
		}
		if covered < weekLabel+width {
			drawGap(r, v, covered, y, weekLabel+width-covered)
		}
	}
	return y
}

// drawGap draws a time in which no one is on call.
func drawGap(r terminal.Region, v view.Context, x, y, width int) {
	v.PutIn(r, x, y, width, "no one"+strings.Repeat(".", max(width-6, 0)), themes.Warning)
}

// drawMonth draws a cell for each day with the people who are on call on it, in order.
func drawMonth(r terminal.Region, v view.Context, c api.NotificationConfig, rotation api.NotificationRotation, shifts []api.NotificationShift, from, to, month time.Time, zone *time.Location) int {
	w, h := r.Size()
	cell := w / 7
	if cell < 6 || h < 3 {
		return v.Paragraph(r, 0, 1, "The terminal is too small for the calendar.", themes.Dim)
	}
	for n := range 7 {
		v.PutIn(r, n*cell, 1, cell-1, time.Weekday((n + 1) % 7).String()[:3], themes.Muted)
	}
	y, day := 2, from
	arrow := "›"
	for ; day.Before(to) && y < h; y++ {
		for n := range 7 {
			next := time.Date(day.Year(), day.Month(), day.Day()+1, 0, 0, 0, 0, zone)
			var names []string
			role := themes.Warning
			for _, shift := range shifts {
				if !shift.To.After(day) || !shift.From.Before(next) {
					continue
				}
				if name := personName(c, shift.PersonID) + mark(shift.Reason); len(names) == 0 || names[len(names)-1] != name {
					names = append(names, name)
				}
				role = shiftRole(rotation, shift.PersonID)
			}
			text := strings.Join(names, arrow)
			if text == "" {
				text = "no one"
			}
			number, look := fmt.Sprintf("%02d", day.Day()), themes.Dim
			switch {
			case !v.Now.Before(day) && v.Now.Before(next):
				number, look = number+"<", themes.Title
			case day.Month() != month.Month():
				role, look = themes.Muted, themes.Muted
			}
			x := v.PutIn(r, n*cell, y, cell-1, number+" ", look)
			v.PutIn(r, x, y, n*cell+cell-1-x, text, role)
			day = next
		}
	}
	return y
}
