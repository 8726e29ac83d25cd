package operations

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/alarm"
	"app.sunloop/tui/view/widget"
	"app.sunloop/tui/view/workflow"
)

// shiftBack is how far back the shift screen looks for a user who has never marked
// anything as seen; activities are kept for as long.
const shiftBack = 24 * time.Hour

// change is something that happened at the site since the user last looked.
type change struct {
	id, kind string // kind: came, went, done, note, hand-over
	at       time.Time
	what     string
	who      string
	alert    *api.Alert
	entry    *api.ShiftEntry
	act      *api.Activity
	more     int // equal steps of one person before this one
}

// shift is the screen of the shift: what happened since the user last looked, notes
// and hand-overs.
type shift struct{}

// NewShift lists what came, went and was done since the user last looked, and the
// hand-overs.
func NewShift() *widget.TableView {
	s := shift{}
	return &widget.TableView{
		Heading: "Shift", Query: state.QueryShift, Period: 10 * time.Second, Keys: keymap.ShiftLog, Enter: "open", Leaves: true,
		Empty: "Nothing happened since you last looked. Press c to add a note, H to hand the shift over.",
		List:  widget.List{SortBy: -1},
		Columns: []widget.Column{
			{Title: "when", Width: 12}, {Title: "kind", Width: 11}, {Title: "what", Min: 24}, {Title: "who", Width: 11, Min: 8, Rank: 1},
		},
		Rows: s.rows, Detail: s.detail, Head: s.head, Act: s.act, Reason: s.reason,
		More: func(view.Context, string) []state.Need {
			return []state.Need{{Query: state.QueryAlerts, Period: 10 * time.Second}, {Query: state.QueryAlertLog, Period: 30 * time.Second}, {Query: state.QueryActivities, Period: 10 * time.Second},
				{Query: state.QueryFindings, Period: time.Minute}, {Query: state.QueryOrders, Period: time.Minute}}
		},
		Status: func(v view.Context) widget.ValueStatus {
			if v.Site == nil {
				return widget.ValueStatus{}
			}
			return widget.StatusOf(v.Site.Shift, v.Now, len(s.changes(v)) == 0)
		},
	}
}

// since is until when the user has seen what happened at the site.
func (s shift) since(v view.Context) (at time.Time, marked bool) {
	if seen := v.Site.Shift.Data.SeenAt; !seen.IsZero() {
		return seen.Time, true
	}
	return v.SiteNow.Add(-shiftBack), false
}

// changes are what happened since the user last looked, the newest first; the last
// hand-over is always there, above all that is older.
func (s shift) changes(v view.Context) []change {
	if v.Site == nil {
		return nil
	}
	since, _ := s.since(v)
	var out []change
	add := func(c change) {
		if c.at.After(since) {
			out = append(out, c)
		}
	}
	known := map[string]bool{}
	for _, list := range [][]api.Alert{v.Site.Alerts.Data.Alerts, v.Site.AlertLog.Data} {
		for i := range list {
			a := &list[i]
			if known[a.AlertID] || a.AlertSeverity == api.AlertNormal {
				continue
			}
			known[a.AlertID] = true
			words := widget.AlarmPriority(a.AlertSeverity) + " " + alarm.UnitOf(*a) + " " + widget.Family(a.AlertType)
			add(change{id: "came " + a.AlertID, kind: "came", at: a.Timestamp.Time, what: words, who: a.AcknowledgedBy, alert: a})
			if a.Resolved && !a.ResolvedAt.IsZero() {
				add(change{id: "went " + a.AlertID, kind: "went", at: a.ResolvedAt.Time, what: words, alert: a})
			}
		}
	}
	ids := entryIDs(v.Site.Activities.Data)
	for i := range v.Site.Activities.Data {
		a := &v.Site.Activities.Data[i]
		if a.Actor != "" && !slices.Contains(machines, a.Actor) && a.Title != titleHandOver && a.Title != titleNote {
			add(change{id: "done " + ids[i], kind: "done", at: a.Timestamp.Time, what: strings.TrimSpace(a.AssetID + " " + a.Title), who: a.Actor, act: a})
		}
	}
	handed := false
	for i := range v.Site.Shift.Data.Entries {
		e := &v.Site.Shift.Data.Entries[i]
		c := change{id: e.EntryID, kind: e.Kind, at: e.At.Time, what: e.Text, who: e.SignedBy, entry: e}
		switch {
		case e.Kind == api.ShiftHandOver && !handed:
			handed = true
			out = append(out, c)
		default:
			add(c)
		}
	}
	slices.SortStableFunc(out, func(a, b change) int { return b.at.Compare(a.at) })
	return grouped(out)
}

// grouped puts equal steps of one person that follow each other into the newest of them.
func grouped(list []change) []change {
	out := list[:0]
	for _, c := range list {
		if n := len(out); n > 0 && c.act != nil && out[n-1].act != nil && out[n-1].act.Title == c.act.Title && out[n-1].who == c.who {
			last := &out[n-1]
			last.more++
			if last.act.AssetID != c.act.AssetID {
				last.what = c.act.Title
			}
			continue
		}
		out = append(out, c)
	}
	return out
}

// machines are the actors of activities that no person did.
var machines = []string{"pipeline", "detector"}

// Titles of the activities of entries, which the log itself shows.
const (
	titleHandOver = "Shift handed over"
	titleNote     = "Note of the shift"
)

// shiftMarks are the shapes of the kinds of changes, with their characters in ASCII.
var shiftMarks = map[string][2]string{"came": {"▲ ", "! "}, "went": {"○ ", "o "}, "done": {"✓ ", "+ "}, api.ShiftNote: {"· ", ". "}, api.ShiftHandOver: {"► ", "> "}}

func (s shift) rows(v view.Context) []widget.Row {
	var rows []widget.Row
	for _, c := range s.changes(v) {
		role := themes.Text
		switch {
		case c.kind == "came" && !c.alert.Resolved:
			role = widget.PriorityRole(c.alert.AlertSeverity)
		case c.kind == "went" || c.kind == "done":
			role = themes.Dim
		case unread(v, c.entry):
			role = themes.Accent
		}
		mark := shiftMarks[c.kind][0]
		if v.ASCII {
			mark = shiftMarks[c.kind][1]
		}
		if c.more > 0 {
			c.what += ", " + display.CountOf(c.more+1, "time", "times")
		}
		rows = append(rows, widget.Row{ID: c.id, Sort: []any{c.at.Format(time.RFC3339), c.kind, c.what, c.who}, Cells: []widget.Cell{
			{Text: display.When(c.at, v.SiteNow, v.Site.Zone), Role: themes.Dim}, {Text: mark + c.kind, Role: role}, {Text: c.what, Role: role}, {Text: c.who, Role: themes.Dim},
		}})
	}
	return rows
}

// unread reports whether an entry is of another person and was not read by the user.
func unread(v view.Context, e *api.ShiftEntry) bool {
	if e == nil || v.User == nil || e.SignedBy == v.User.Username {
		return false
	}
	return !slices.ContainsFunc(e.ReadBy, func(r api.ShiftReader) bool { return r.Name == v.User.Username })
}

// unreadHandOver is the last hand-over of the site, if it is of another person and the
// user has not read it; nil otherwise.
func unreadHandOver(v view.Context) *api.ShiftEntry {
	if v.Site == nil {
		return nil
	}
	for i := range v.Site.Shift.Data.Entries {
		if e := &v.Site.Shift.Data.Entries[i]; e.Kind == api.ShiftHandOver {
			if unread(v, e) {
				return e
			}
			return nil
		}
	}
	return nil
}

// shiftKeysFrom is the height from which the keys of the shift have a row. The last line of
// the console has no room for them if something is selected.
const shiftKeysFrom = 24

// head counts what happened since the user last looked, and names the keys.
func (s shift) head(r terminal.Region, v view.Context) int {
	w, h := r.Size()
	v.PutIn(r, 0, 0, w, s.summary(v), themes.Title)
	if e := unreadHandOver(v); e != nil {
		v.PutIn(r, 0, 1, w, fmt.Sprintf("%s handed the shift over (%s). Press m when you have read it.", e.SignedBy, display.When(e.At.Time, v.SiteNow, v.Site.Zone)), themes.Accent)
		return 3
	}
	if h < shiftKeysFrom {
		return 2
	}
	v.PutIn(r, 0, 1, w, "c adds a note, H hands the shift over, m marks what is shown as seen.", themes.Dim)
	return 3
}

// summary says how much came, went and was done, and since when.
func (s shift) summary(v view.Context) string {
	count := map[string]int{}
	since, marked := s.since(v)
	for _, c := range s.changes(v) {
		if c.at.After(since) {
			count[c.kind] += 1 + c.more
		}
	}
	words := "Last 24 hours"
	if marked {
		words = "Since you last looked, " + display.When(since, v.SiteNow, v.Site.Zone)
	}
	parts := []string{display.CountOf(count["came"], "alarm came", "alarms came"), fmt.Sprint(count["went"], " went"), display.CountOf(count["done"], "step done", "steps done")}
	if n := count[api.ShiftNote]; n > 0 {
		parts = append(parts, display.CountOf(n, "note", "notes"))
	}
	return words + ": " + strings.Join(parts, ", ")
}

// detail is a change in full; an alarm that is still there with the response to it.
func (s shift) detail(v view.Context, id string) []widget.Detail {
	c := widget.Find(s.changes(v), func(c change) bool { return c.id == id })
	if c == nil {
		return nil
	}
	at := widget.TimesOf(v)
	var lines []widget.Detail
	add := widget.FactsOf(&lines)
	switch {
	case c.entry != nil:
		heading := "Note"
		if c.entry.Kind == api.ShiftHandOver {
			heading = "Hand-over"
		}
		lines = append(lines, widget.Detail{Heading: heading})
		for _, line := range strings.Split(c.entry.Text, "; ") {
			lines = append(lines, widget.Detail{Text: line, Role: themes.Text})
		}
		add("signed", c.entry.SignedBy+", "+at(c.entry.At))
		add("covers", at(c.entry.Since))
		for _, reader := range c.entry.ReadBy {
			add("read", reader.Name+", "+at(reader.At))
		}
		if c.entry.Kind == api.ShiftHandOver && len(c.entry.ReadBy) == 0 {
			add("read", "by no other person so far")
		}
	case c.alert != nil:
		lines = append(lines, widget.Detail{Heading: alarm.UnitOf(*c.alert) + ": " + widget.Family(c.alert.AlertType)}, widget.Detail{Text: c.alert.Message, Role: themes.Text})
		add("priority", widget.AlarmPriority(c.alert.AlertSeverity))
		add("state", c.alert.State)
		add("came", at(c.alert.Timestamp))
		if c.alert.Resolved {
			add("went", at(c.alert.ResolvedAt))
		}
		if c.alert.AcknowledgedBy != "" {
			add("acknowledged", "by "+c.alert.AcknowledgedBy+", "+at(c.alert.AcknowledgedAt))
		}
		lines = append(lines, alarm.Response(v, *c.alert)...)
	case c.act != nil:
		lines = append(lines, widget.Detail{Heading: c.act.Title}, widget.Detail{Text: c.act.Description, Role: themes.Text})
		add("unit", c.act.AssetID)
		add("by", c.act.Actor)
		add("at", at(c.act.Timestamp))
	}
	return lines
}

// act adds a note, hands over, marks all as seen, or opens the unit of a change.
func (s shift) act(a keymap.Action, id string, v view.Context) view.Request {
	if v.Site == nil {
		return nil
	}
	switch a {
	case keymap.AddNote:
		return view.OpenDialog{Dialog: newShiftForm(v, "Note for the shift", "add", "what the next person must know", "", api.AddShiftNote)}
	case keymap.HandOver:
		return view.OpenDialog{Dialog: newShiftForm(v, "Hand the shift over", "sign and hand over", "what the next person must know", s.handOverText(v), api.HandOver)}
	case keymap.MarkSeen:
		return markSeen(v, s.changes(v))
	case keymap.Open:
		c := widget.Find(s.changes(v), func(c change) bool { return c.id == id })
		switch {
		case c == nil || c.entry != nil:
			return nil
		case c.alert != nil:
			return selectAlarm([]api.Alert{*c.alert}, view.Orient)
		case c.act.AssetID != "":
			return view.Select{Selection: view.Selection{AssetID: c.act.AssetID, FindingID: findingOf(v, c.act.AssetID)}, Focus: view.Act}
		}
	}
	return nil
}

func (s shift) reason(a keymap.Action, _ string, v view.Context) string {
	if a == keymap.MarkSeen && v.Site != nil && len(s.changes(v)) == 0 {
		return "nothing happened since you last looked"
	}
	return ""
}

// markSeen marks what is on screen as seen: what happens meanwhile is still new.
func markSeen(v view.Context, shown []change) view.Request {
	r := api.ShiftRequest{Action: api.ActionSeen, CustomerID: v.Site.CustomerID, SiteID: v.Site.SiteID}
	for _, c := range shown {
		if r.Until.Before(c.at) {
			r.Until = api.At(c.at)
		}
	}
	return view.Call{Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
		answer, err := client.Call(ctx, c, api.MarkSeen, r)
		if err != nil {
			return view.Result{}, err
		}
		return view.Result{Apply: func(s *state.Site) { s.Shift.Data.SeenAt = answer.SeenAt }, Refresh: []state.Query{state.QueryShift}, Notice: view.Notice("Marked as seen.")}, nil
	}}
}

// newShiftForm asks for the text of an entry and adds it.
func newShiftForm(v view.Context, title, verb, hint, text string, e api.Endpoint[api.ShiftRequest, api.ShiftResponse]) *widget.StepForm {
	d := &widget.StepForm{Heading: title, Verb: verb, ServerForm: widget.ServerForm{Zone: v.Zone()}}
	if v.User != nil {
		d.Intro = append(d.Intro, "It is signed by "+v.User.Username+" and cannot be changed. The next person reads it on the screen of the shift (g c).")
	}
	d.Add("text", widget.Paragraph(widget.NewField("Text", hint, text), 5))
	site := v.Site.Ref()
	d.Send = func(d *widget.StepForm) (view.Call, bool) {
		r := api.ShiftRequest{Action: e.Action, CustomerID: site.CustomerID, SiteID: site.SiteID, Text: d.Value("text")}
		return view.Call{From: d, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
			answer, err := client.Call(ctx, c, e, r)
			if err != nil {
				return view.Result{}, err
			}
			return view.Result{Refresh: []state.Query{state.QueryShift, state.QueryActivities}, Row: answer.Entry.EntryID, Notice: view.Notice(answer.Message + ".")}, nil
		}}, d.Need("text", "What must the next person know?")
	}
	return d
}

// handOverText proposes a text: the active alarms, the worst first, also those that are
// shelved or suppressed, and the open orders.
func (s shift) handOverText(v view.Context) string {
	const most = 4
	var parts []string
	for _, a := range v.Site.Alerts.Data.Alerts {
		if !a.Resolved && a.AlertSeverity != api.AlertNormal && len(parts) < most {
			words := alarm.UnitOf(a) + ": " + widget.Family(a.AlertType)
			switch {
			case a.State == api.AlertShelved && !a.ShelvedUntil.IsZero():
				words += ", shelved until " + display.When(a.ShelvedUntil.Time, v.SiteNow, v.Site.Zone)
			case a.State == api.AlertSuppressed:
				words += ", suppressed"
			case a.AcknowledgedBy == "":
				words += ", not acknowledged"
			}
			parts = append(parts, words)
		}
	}
	n := 0
	for _, o := range workflow.OrdersByUrgency(v) {
		if workflow.IsOpen(o) && n < most {
			n++
			parts = append(parts, "order of "+o.AssetID+" "+workflow.OrderStatus(o.Status)+", "+o.AssignedTechnician)
		}
	}
	return strings.Join(parts, "; ")
}
