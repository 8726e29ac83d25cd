package screen

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/state"
)

// liveRoute is the route of files of a live feed.
const liveRoute = "upload-nowcast"

// NewAudit lists the newest records of who changed what. What a live feed sent
// and was taken is left out: it would push all else from sight.
func NewAudit() *Sheet {
	return &Sheet{
		title: "Audit trail", query: state.QueryAudit, period: 3 * keysPeriod,
		empty: "Nothing has been changed of late. Files of a live feed that were taken are left out.",
		list:  pane.List{SortBy: -1},
		columns: []pane.Column{
			{Title: "when", Width: 12}, {Title: "who", Width: 16, Min: 10}, {Title: "what", Min: 14}, {Title: "site", Width: 10, Min: 6, Rank: 2}, {Title: "outcome", Width: 24, Min: 19, Rank: 1},
		},
		rows: auditRows, detail: auditDetail,
		status: func(v pane.View) status {
			if v.Admin == nil {
				return status{}
			}
			return statusOf(v.Admin.Audit, v.Now, len(v.Admin.Audit.Data) == 0)
		},
	}
}

// statusOf is how a value of administration stands.
func statusOf[T any](value state.Value[T], now time.Time, empty bool) status {
	return status{face: value.Face(now, keysAge, empty), err: value.Err, age: now.Sub(value.At), nextTry: value.NextTry}
}

func auditRows(v pane.View) []pane.Row {
	if v.Admin == nil {
		return nil
	}
	rows := make([]pane.Row, 0, len(v.Admin.Audit.Data))
	for _, a := range v.Admin.Audit.Data {
		if a.Route == liveRoute && a.Status < 400 {
			continue
		}
		role := themes.Text
		if a.Status >= 400 {
			role = themes.Warning
		}
		what := strings.TrimSpace(a.Route + " " + a.Action)
		rows = append(rows, pane.Row{ID: a.AuditID, Sort: []any{a.Timestamp.String(), who(a), what, a.SiteID, outcome(a)}, Cells: []pane.Cell{
			{Text: pane.When(a.Timestamp.Time, v.Now, zone(v)), Role: themes.Dim}, {Text: who(a), Role: themes.Text}, {Text: what, Role: themes.Text},
			{Text: a.SiteID, Role: themes.Text}, {Text: outcome(a), Role: role},
		}})
	}
	return rows
}

func who(a api.AuditRecord) string {
	if a.Actor == "" {
		return "unknown"
	}
	return a.Actor
}

func outcome(a api.AuditRecord) string {
	switch {
	case a.Error != "":
		return a.Error
	case a.Status >= 400:
		return fmt.Sprintf("refused, %d", a.Status)
	}
	return "done"
}

func auditDetail(v pane.View, id string) []Detail {
	if v.Admin == nil {
		return nil
	}
	i := slices.IndexFunc(v.Admin.Audit.Data, func(a api.AuditRecord) bool { return a.AuditID == id })
	if i < 0 {
		return nil
	}
	a := v.Admin.Audit.Data[i]
	lines := []Detail{{Heading: strings.TrimSpace(a.Route + " " + a.Action)}}
	add := func(label, words string) {
		if words != "" {
			lines = append(lines, Detail{Label: label, Words: words, Role: themes.Text})
		}
	}
	add("when", a.Timestamp.In(zone(v)).Format("2006-01-02 15:04:05"))
	add("who", who(a))
	add("id", a.ActorID)
	add("from", a.Address)
	add("outcome", fmt.Sprintf("%s (%d)", outcome(a), a.Status))
	if a.Omitted > 0 {
		add("omitted", fmt.Sprintf("%d refusals of the same actor before this one", a.Omitted))
	}
	if a.Replayed {
		add("replayed", "the answer of a former request with the same Idempotency-Key")
	}
	add("customers", everything(a.CustomerIDs))
	add("site", a.SiteID)
	for _, name := range sortedKeys(a.TargetIDs) {
		add(name, a.TargetIDs[name])
	}
	add("request", a.RequestID)
	if changes := changed(a.Before, a.After); len(changes) > 0 {
		lines = append(append(lines, Detail{Heading: "What changed"}), changes...)
	}
	return lines
}

// changed are the fields that differ between two objects of JSON.
func changed(before, after any) []Detail {
	was, _ := before.(map[string]any)
	is, _ := after.(map[string]any)
	fields := maps.Clone(was)
	if fields == nil {
		fields = map[string]any{}
	}
	maps.Copy(fields, is)
	var lines []Detail
	for _, name := range sortedKeys(fields) {
		old, had := was[name]
		now, has := is[name]
		if reflect.DeepEqual(old, now) {
			continue
		}
		words := fmt.Sprintf("was %v, is %v", old, now)
		switch {
		case !had:
			words = fmt.Sprint(now)
		case !has:
			words = fmt.Sprintf("was %v", old)
		}
		lines = append(lines, Detail{Label: name, Words: words, Role: themes.Text})
	}
	return lines
}
