package alarm

import (
	"slices"
	"strconv"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// List is a list of alarms in which those of one cause share a line that opens. The zero AlarmList is ready to use.
type List struct {
	widget.List
	Chooses bool // a line is chosen whenever there is one
	Stale   bool // what is known is old: all but the priorities is grey

	open  map[string]bool        // groups that show their members
	lines map[string][]api.Alert // the row of each line last drawn

	of     *api.Alert // first of the alerts that groups are of
	n      int
	groups []Group
}

// NewList keeps the order given.
func NewList() List { return List{List: widget.List{SortBy: -1}} }

// DrawAlarms draws alarms in groups.
func (l *List) DrawAlarms(r terminal.Region, v view.Context, alerts []api.Alert) {
	rows := l.rows(v, alerts)
	if l.Stale {
		for _, row := range rows {
			for i := range row.Cells {
				row.Cells[i].Role = themes.Muted
			}
		}
	}
	l.choose(v.Selection.FindingID, rows)
	if l.Chooses && len(rows) > 0 && !slices.ContainsFunc(rows, func(row widget.Row) bool { return row.ID == l.Selected }) {
		l.Selected = rows[0].ID
	}
	l.Draw(r, v, l.columns(rows), rows)
}

// Group keeps the groups of a list while it is the same: a flood is long, and drawn often.
func (l *List) Group(alerts []api.Alert) []Group {
	var first *api.Alert
	if len(alerts) > 0 {
		first = &alerts[0]
	}
	if l.of != first || l.n != len(alerts) {
		l.of, l.n, l.groups = first, len(alerts), GroupAlerts(alerts)
	}
	return l.groups
}

// Lines returns how many lines a list of alarms takes.
func (l *List) Lines(alerts []api.Alert) int {
	n := 0
	for _, g := range l.Group(alerts) {
		n++
		if l.open[g.ID] {
			n += len(g.Alerts)
		}
	}
	return n
}

// columns gives names the width that they need.
func (l *List) columns(rows []widget.Row) []widget.Column {
	unit, what, since, note := 7, 8, 5, 4
	for _, row := range rows {
		unit = max(unit, terminal.Width(row.Cells[2].Text))
		what = max(what, terminal.Width(row.Cells[3].Text))
		since = max(since, terminal.Width(row.Cells[4].Text))
		note = max(note, terminal.Width(row.Cells[6].Text))
	}
	return []widget.Column{
		{Title: "priority", Width: 11}, {Title: "state", Width: 11, Min: 10}, {Title: "unit", Width: min(unit, 30), Min: min(unit, 11), IDs: true},
		{Title: "what", Min: min(what, 24)}, {Title: "since", Width: since, Right: true, Rank: 1}, {Title: widget.RiskTitle, Width: len(widget.RiskTitle), Right: true, Rank: 2},
		{Title: "who, when, why", Width: min(note, 40), Min: min(note, 14), Rank: 3},
	}
}

func (l *List) rows(v view.Context, alerts []api.Alert) []widget.Row {
	var rows []widget.Row
	if l.lines == nil {
		l.lines = map[string][]api.Alert{}
	}
	clear(l.lines)
	for _, g := range l.Group(alerts) {
		if len(g.Alerts) == 1 {
			rows = append(rows, l.row(v, g.Alerts[0], ""))
			continue
		}
		l.lines[g.ID] = g.Alerts
		rows = append(rows, l.groupRow(v, g))
		if !l.open[g.ID] {
			continue
		}
		for i, a := range g.Alerts {
			mark := "  "
			if i == 0 {
				mark = "1 " // first out
			}
			rows = append(rows, l.row(v, a, mark))
		}
	}
	return rows
}

// row returns one alarm; mark precedes its unit.
func (l *List) row(v view.Context, a api.Alert, mark string) widget.Row {
	l.lines[a.AlertID] = []api.Alert{a}
	what := widget.Family(a.AlertType)
	if mark == "1 " {
		what = "first out: " + what
	}
	return alarmRow(v, a.AlertID, a.AlertSeverity, a.State, a.State, mark+UnitOf(a), what, a, a.EnergyAtRiskKW, Note(v, a))
}

// groupRow returns the line of all alarms of one cause.
func (l *List) groupRow(v view.Context, g Group) widget.Row {
	mark := "+"
	if l.open[g.ID] {
		mark = "-"
	}
	first, worst := g.Alerts[0], g.Worst()
	looks := first.State
	if g.unseen() > 0 {
		looks = api.AlertUnacknowledged
	}
	note := "first " + UnitOf(first) + " " + display.When(first.Timestamp.Time, v.SiteNow, v.Site.Zone)
	return alarmRow(v, g.ID, worst.AlertSeverity, g.state(), looks, mark+" "+display.CountOf(g.units(), "unit", "units"),
		widget.Family(first.AlertType)+", "+strconv.Itoa(len(g.Alerts))+" alarms", first, g.Risk(), note)
}

// alarmRow returns a line; looks is the state whose look it has, state the words.
func alarmRow(v view.Context, id, severity, state, looks, unit, what string, a api.Alert, risk float64, note string) widget.Row {
	role := themes.Text
	if looks != api.AlertUnacknowledged && looks != api.AlertReturned {
		role = themes.Dim
	}
	return widget.Row{ID: id, Cells: []widget.Cell{
		{Text: widget.AlarmPriority(severity), Draw: func(r terminal.Region) { DrawPriority(v, r, severity, looks) }},
		{Text: state, Role: role}, {Text: unit, Role: role}, {Text: what, Role: role},
		{Text: display.When(a.Timestamp.Time, v.SiteNow, v.Site.Zone), Role: themes.Dim}, {Text: widget.FamilyPower(a.AlertType, risk), Role: role}, {Text: note, Role: themes.Dim},
	}, Sort: []any{float64(widget.PriorityRank(severity)), state, unit, what, a.Timestamp.String(), risk, note}}
}

// DoAlarms moves in the list, and opens or closes a group; ok is false when the action is not the list's.
func (l *List) DoAlarms(a keymap.Action) (ok bool) {
	if a == keymap.Open {
		id := l.Current()
		if len(l.lines[id]) < 2 {
			return false
		}
		if l.open == nil {
			l.open = map[string]bool{}
		}
		l.open[id] = !l.open[id]
		l.Selected = id
		return true
	}
	return l.Do(a, 7)
}

// Chosen returns the alarms behind the chosen line: all of a group's.
func (l *List) Chosen() []api.Alert { return l.lines[l.Current()] }

// choose takes the line of a finding, unless the chosen one is about it.
func (l *List) choose(findingID string, rows []widget.Row) {
	about := func(id string) bool {
		return slices.ContainsFunc(l.lines[id], func(a api.Alert) bool { return FindingOf(a) == findingID })
	}
	if findingID == "" || about(l.Selected) {
		return
	}
	for _, row := range rows {
		if about(row.ID) {
			l.Selected = row.ID
			return
		}
	}
}
