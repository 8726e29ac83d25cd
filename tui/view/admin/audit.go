package admin

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// liveRoute is the route of files of a live feed.
const liveRoute = "upload-nowcast"

// Audit is the screen of the audit trail. Accepted files of a live feed are left out:
// they would displace all other records.
type Audit struct {
	*widget.TableView
	question state.AuditQuestion
	known    []api.AuditRecord // the last answer, while older ones are asked for
	where    *time.Location    // of the dates in the title
}

// NewAudit lists the newest records of all.
func NewAudit() *Audit {
	a := &Audit{where: time.UTC, TableView: &widget.TableView{
		Query: state.QueryAudit,
		Empty: "No records match. Accepted files of a live feed are not listed.",
		List:  widget.List{SortBy: -1},
		Columns: []widget.Column{
			{Title: "when", Width: 12}, {Title: "who", Width: 16, Min: 10}, {Title: "what", Min: 14}, {Title: "site", Width: 10, Min: 6, Rank: 2}, {Title: "outcome", Width: 24, Min: 19, Rank: 1},
		},
		Keys: keymap.AuditList,
		Status: func(v view.Context) widget.ValueStatus {
			if v.Admin == nil {
				return widget.ValueStatus{}
			}
			return widget.StatusOf(v.Admin.Audit, v.Now, len(v.Admin.Audit.Data.Records) == 0)
		},
	}}
	a.Rows = func(v view.Context) []widget.Row { return auditRows(v, a.records(v)) }
	a.Detail = func(v view.Context, id string) []widget.Detail { return auditDetail(v, a.records(v), id) }
	a.Act, a.Reason, a.ExportRows = a.do, a.whyNot, func(v view.Context) [][]string {
		return a.List.Export(append(slices.Clone(a.Columns), exported...), a.Rows(v))
	}
	a.ask(state.AuditQuestion{})
	return a
}

// ask shows the result of another query from now on.
func (s *Audit) ask(q state.AuditQuestion) {
	if q.Parts = max(q.Parts, 1); q.Parts == 1 {
		s.known = nil
	}
	s.question, s.Of = q, q.Of()
	s.Period = 3 * widget.ListPeriod
	if q.Parts > 2 { // each time that it is asked, it is asked part by part
		s.Period = 30 * widget.ListPeriod
	}
	s.Heading = "Audit trail"
	for _, part := range []struct{ words, value string }{{" of ", q.Actor}, {" at ", siteText(q)}, {": ", q.Route}, {" of ", q.TargetID}} {
		if part.value != "" {
			s.Heading += part.words + part.value
		}
	}
	if !q.From.IsZero() {
		s.Heading += " from " + display.Date(q.From.In(s.where))
	}
	if !q.To.IsZero() {
		s.Heading += " to " + display.Date(q.To.In(s.where))
	}
}

// records returns those of the answer, or of the one before while it is awaited.
func (s *Audit) records(v view.Context) []api.AuditRecord {
	if v.Admin == nil {
		return nil
	}
	if !v.Admin.Audit.At.IsZero() {
		s.known = v.Admin.Audit.Data.Records
	}
	return s.known
}

func (s *Audit) whyNot(a keymap.Action, id string, v view.Context) string {
	switch {
	case a == keymap.FurtherBack && v.Admin != nil && !v.Admin.Audit.At.IsZero() && !v.Admin.Audit.Data.More:
		return "there are no older records of this"
	case a == keymap.TrailOf && s.targetOf(id, v) == "":
		return "the record names no object"
	case a == keymap.WholeTrail && s.question.Of() == state.AuditQuestion{}.Of():
		return "all records are shown"
	}
	return ""
}

// targetOf returns the id of what the record was about: its own, rather than that of
// what it belongs to.
func (s *Audit) targetOf(id string, v view.Context) string {
	i := slices.IndexFunc(s.records(v), func(a api.AuditRecord) bool { return a.AuditID == id })
	if i < 0 {
		return ""
	}
	targets := s.known[i].TargetIDs
	for _, name := range []string{"order_id", "schedule_id", "bom_id", "subscription_id", "alert_id", "issue_id", "upload_id", "api_key_id", "user_id", "model_version", "asset_id"} {
		if targets[name] != "" {
			return targets[name]
		}
	}
	for _, name := range widget.SortedKeys(targets) {
		return targets[name]
	}
	return ""
}

func (s *Audit) do(a keymap.Action, id string, v view.Context) view.Request {
	switch a {
	case keymap.AskTrail:
		s.where = v.Zone()
		return view.OpenDialog{Dialog: NewAuditForm(s.question, v.Sites, v.Zone(), s.ask)}
	case keymap.FurtherBack:
		q := s.question
		q.Parts++
		s.ask(q)
	case keymap.TrailOf:
		over := NewAudit()
		over.ask(state.AuditQuestion{TargetID: s.targetOf(id, v)})
		return view.OpenScreen{Screen: over, Over: true}
	case keymap.WholeTrail:
		s.ask(state.AuditQuestion{})
	}
	return nil
}

// siteText returns the site of a question as the form of a question takes it.
func siteText(q state.AuditQuestion) string {
	if q.Customer != "" {
		return q.Customer + "/" + q.SiteID
	}
	return q.SiteID
}

// NewAuditForm asks for a question to the trail; ask is given it. A site whose
// id other sites have is named by [state.SiteLabel].
func NewAuditForm(q state.AuditQuestion, sites []api.Site, zone *time.Location, ask func(state.AuditQuestion)) *widget.FieldsForm {
	day := func(t api.Time) string {
		if t.IsZero() {
			return ""
		}
		return display.DateTime(t.In(zone))
	}
	d := &widget.FieldsForm{Heading: "Search the audit trail", Verb: "search", Rows: 7, Intro: "Empty fields match everything. The service searches the whole trail.", ServerForm: widget.ServerForm{Zone: zone,
		Names: []string{"actor", "site_id", "route", "target_id", "from", "to"},
		Form: widget.Form{Fields: []widget.Field{
			widget.NewField("Who", "a user, the name of an API key, or the id of either", q.Actor), widget.NewField("Site", "its id", siteText(q)), widget.NewField("What", "as keys, or keys revoke", q.Route),
			widget.NewField("Of", "the id of an order, unit, key or user", q.TargetID), widget.NewField("From", "a date or time, as 2026-11-01", day(q.From)), widget.NewField("To", "the end, exclusive", day(q.To)),
		}},
	}}
	d.Accept = func() view.Request {
		q := state.AuditQuestion{Actor: d.Value("actor"), SiteID: d.Value("site_id"), Route: d.Value("route"), TargetID: d.Value("target_id")}
		for _, s := range sites {
			if label := state.SiteLabel(sites, s.Ref()); label == q.SiteID && label != s.SiteID {
				q.SiteID, q.Customer = s.SiteID, s.CustomerID
				break
			}
		}
		for _, f := range []struct {
			name string
			to   *api.Time
		}{{"from", &q.From}, {"to", &q.To}} {
			text := d.Value(f.name)
			if text == "" {
				continue
			}
			t, err := api.ParseTime(strings.Replace(text, " ", "T", 1), d.Zone)
			if err != nil {
				d.Refuse(slices.Index(d.Names, f.name), err.Error()+": give a date or time, as 2026-11-01 or 2026-11-01 08:00.")
				return nil
			}
			*f.to = t
		}
		if !q.To.IsZero() && !q.To.After(q.From.Time) {
			d.Refuse(slices.Index(d.Names, "to"), "The end must be after the start.")
			return nil
		}
		ask(q)
		return view.Close{}
	}
	return d
}

// exported are the columns that a file has in addition to those on the screen;
// filters search them too.
var exported = []widget.Column{{Title: "time"}, {Title: "actor_id"}, {Title: "address"}, {Title: "customers"}, {Title: "targets"}, {Title: "status"}, {Title: "request_id"}}

func auditRows(v view.Context, records []api.AuditRecord) []widget.Row {
	rows := make([]widget.Row, 0, len(records))
	for _, a := range records {
		if a.Route == liveRoute && a.Status < 400 {
			continue
		}
		role := themes.Text
		if a.Status >= 400 {
			role = themes.Warning
		}
		what := strings.TrimSpace(a.Route + " " + a.Action)
		row := widget.Row{ID: a.AuditID, Sort: []any{a.Timestamp.String(), Actor(a), what, a.SiteID, Outcome(a)}, Cells: []widget.Cell{
			{Text: display.When(a.Timestamp.Time, v.Now, v.Zone()), Role: themes.Dim}, {Text: Actor(a), Role: themes.Text}, {Text: what, Role: themes.Text},
			{Text: a.SiteID, Role: themes.Text}, {Text: Outcome(a), Role: role},
		}}
		var targets []string
		for _, name := range widget.SortedKeys(a.TargetIDs) {
			targets = append(targets, name+"="+a.TargetIDs[name])
		}
		for _, text := range []string{a.Timestamp.String(), a.ActorID, a.Address, everything(a.CustomerIDs), strings.Join(targets, " "), fmt.Sprint(a.Status), a.RequestID} {
			row.Cells = append(row.Cells, widget.Cell{Text: text})
		}
		rows = append(rows, row)
	}
	return rows
}

// Actor names who did what a record says.
func Actor(a api.AuditRecord) string {
	if a.Actor == "" {
		return "unknown"
	}
	return a.Actor
}

// Outcome says how the request of a record ended.
func Outcome(a api.AuditRecord) string {
	switch {
	case a.Error != "":
		return a.Error
	case a.Status >= 400:
		return fmt.Sprintf("refused, %d", a.Status)
	}
	return "done"
}

func auditDetail(v view.Context, records []api.AuditRecord, id string) []widget.Detail {
	i := slices.IndexFunc(records, func(a api.AuditRecord) bool { return a.AuditID == id })
	if i < 0 {
		return nil
	}
	a := records[i]
	lines := []widget.Detail{{Heading: strings.TrimSpace(a.Route + " " + a.Action)}}
	add := widget.FactsOf(&lines)
	add("when", display.DateTimeSeconds(a.Timestamp.In(v.Zone())))
	add("who", Actor(a))
	add("id", a.ActorID)
	add("from", a.Address)
	add("outcome", fmt.Sprintf("%s (%d)", Outcome(a), a.Status))
	if a.Omitted > 0 {
		add("omitted", display.CountOf(a.Omitted, "refusal", "refusals")+" of the same actor before this one")
	}
	if a.Replayed {
		add("replayed", "the answer of a former request with the same Idempotency-Key")
	}
	add("customers", everything(a.CustomerIDs))
	add("site", a.SiteID)
	lines = append(lines, targets(a)...)
	add("request", a.RequestID)
	if changes := changed(a.Before, a.After, v.Zone()); len(changes) > 0 {
		lines = append(append(lines, widget.Detail{Heading: "What changed"}), changes...)
	}
	return lines
}
