package screen

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/themes"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// sendOrder asks the service to make or to move a work order.
func sendOrder(from view.Caller, r api.OrderRequest) view.Call {
	return view.Call{From: from, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
		answer, err := c.MoveOrder(ctx, r)
		if err != nil {
			return view.Result{}, err
		}
		done := view.Result{Selection: &view.Selection{AssetID: answer.AssetID, OrderID: answer.OrderID}, Refresh: workQueries()}
		if o := answer.Order; o != nil {
			done.Selection.FindingID = o.SummaryID
			done.Apply = func(s *state.Site) { s.KnowOrder(*o) }
		}
		if r.Action == api.ActionCreate {
			done.Focus = view.Act
		}
		done.Notice = func(v view.Context) view.Notify {
			return view.Notify{Text: orderWords(r, answer, v), Role: themes.Accent}
		}
		return done, nil
	}}
}

// orderWords say what came of a step.
func orderWords(r api.OrderRequest, answer *api.OrderResponse, v view.Context) string {
	words := answer.Message + ": " + answer.AssetID
	if o := answer.Order; o != nil && r.Action == api.ActionCreate {
		words += ", planned " + pane.When(o.PlannedStart.Time, v.SiteNow, v.Zone()) + ", " + o.Priority + " priority, " + o.AssignedTechnician
	}
	return words + "."
}

// MoveOrder changes an order's status, after a dialog where the change needs
// one.
func MoveOrder(o api.Order, action string, v view.Context) view.Request {
	base := api.OrderRequest{Action: action, OrderID: o.OrderID, Version: o.Version}
	form := func(title, verb string, take func(d *WorkForm, r *api.OrderRequest) (ok bool)) *WorkForm {
		return &WorkForm{title: title + " " + o.AssetID, verb: verb, asking: asking{zone: v.Zone()}, send: func(d *WorkForm) (view.Call, bool) {
			r := base
			if !take(d, &r) {
				return view.Call{}, false
			}
			return sendOrder(d, r), true
		}}
	}
	nobody := o.AssignedTechnician == api.TechnicianUnassigned
	who := o.AssignedTechnician
	if nobody {
		who = me(v)
	}
	technician := func(d *WorkForm, r *api.OrderRequest) bool {
		r.AssignedTechnician = d.value("assigned_technician")
		return d.need("assigned_technician", "Who is to do it?")
	}
	switch action {
	case api.ActionAssign:
		f := form("Assign", "assign", technician)
		f.add("assigned_technician", NewField("Technician", "a name, or unassigned", who))
		return view.OpenDialog{Dialog: f}
	case api.ActionStart:
		short := missing(o)
		if short == "" && !nobody {
			break
		}
		f := form("Begin", "begin", technician)
		f.add("assigned_technician", NewField("Technician", "a name", who))
		if short != "" {
			f = form("Begin", "begin all the same", func(d *WorkForm, r *api.OrderRequest) bool {
				r.Note, r.Force = d.value("note"), true
				return technician(d, r) && d.need("note", "Why without these parts?")
			})
			f.words = []string{"Short of " + short + "."}
			f.add("assigned_technician", NewField("Technician", "a name", who))
			f.add("note", NewField("Note", "why it begins without them", ""))
		}
		return view.OpenDialog{Dialog: f}
	case api.ActionHold:
		f := form("Hold", "hold", func(d *WorkForm, r *api.OrderRequest) bool {
			r.HoldReason, r.Note = d.value("hold_reason"), d.value("note")
			if r.Note != "" { // the history keeps one of the two
				r.Note = r.HoldReason + ": " + r.Note
			}
			return true
		})
		f.words = []string{"The clocks stand still for weather, utility and access; for other reasons they run on."}
		f.add("hold_reason", NewChoice("Reason", api.HoldReasons(), asWritten))
		f.add("note", NewField("Note", "until when, who is waited for", ""))
		return view.OpenDialog{Dialog: f}
	case api.ActionComplete:
		return view.OpenDialog{Dialog: newCompletion(o, form)}
	case api.ActionCancel, api.ActionReopen:
		title, verb := "Cancel", "cancel the order"
		if action == api.ActionReopen {
			title, verb = "Reopen", "open it again"
		}
		f := form(title, verb, func(d *WorkForm, r *api.OrderRequest) bool {
			r.Reason = d.value("reason")
			return d.need("reason", "Why?")
		})
		f.add("reason", NewField("Reason", "", ""))
		if action == api.ActionReopen {
			for _, p := range o.Proposals {
				f.words = append(f.words, p.Text)
			}
		}
		return view.OpenDialog{Dialog: f}
	}
	return sendOrder(nil, base)
}

// newCompletion asks what was done, in how many hours, and how many of each
// part it really took.
func newCompletion(o api.Order, form func(title, verb string, take func(*WorkForm, *api.OrderRequest) bool) *WorkForm) *WorkForm {
	f := form("Finish", "finish", func(d *WorkForm, r *api.OrderRequest) bool {
		r.CompletionNotes = d.value("completion_notes")
		if !d.need("completion_notes", "What was done?") {
			return false
		}
		var ok bool
		if r.ActualHours, ok = d.hours("actual_hours"); !ok {
			return false
		}
		for _, p := range o.Parts {
			n, ok := d.count(p.PartNumber, "How many were used", 0)
			if !ok {
				return false
			}
			r.PartsUsed = append(r.PartsUsed, api.PartCount{PartNumber: p.PartNumber, Quantity: n})
		}
		further, ok := partCounts(d, "parts_used")
		r.PartsUsed = append(r.PartsUsed, further...)
		return ok
	})
	f.add("completion_notes", NewField("Notes", "what was done", ""))
	f.add("actual_hours", NewField("Hours", "empty: since it was begun, without holds", ""))
	for _, p := range o.Parts {
		f.add(p.PartNumber, NewField(terminal.Truncate(p.Description, 26, false), p.PartNumber, fmt.Sprint(p.Reserved)))
	}
	f.add("parts_used", NewField("Others", "beyond the plan, as 2 FUSE-GPV-15A, 1 MC4-PAIR", ""))
	if len(o.Parts) > 0 {
		f.words = []string{"Of each part what was really used; the rest goes back to stock."}
	}
	return f
}

// partCounts reads numbers with part numbers between commas.
func partCounts(d *WorkForm, name string) (parts []api.PartCount, ok bool) {
	for _, text := range listOf(d.value(name)) {
		p := api.PartCount{}
		if n, err := fmt.Sscanf(text, "%d %s", &p.Quantity, &p.PartNumber); n != 2 || err != nil || p.Quantity < 1 {
			d.refuse(slices.Index(d.names, name), "Parts are written as a number and a part number, with commas between: 2 FUSE-GPV-15A, 1 MC4-PAIR.")
			return nil, false
		}
		parts = append(parts, p)
	}
	return parts, true
}

// missing are the essential parts that an order is short of, as it is known
// here.
func missing(o api.Order) string {
	var out []string
	for _, p := range o.Parts {
		if p.Essential && p.Short > 0 {
			out = append(out, fmt.Sprintf("%d × %s", p.Short, p.Description))
		}
	}
	return strings.Join(out, ", ")
}

// NewResolve asks why the issue of a repaired unit is resolved.
func NewResolve(o api.Order) *WorkForm {
	d := &WorkForm{title: "Resolve the issue of " + o.AssetID, verb: "resolve"}
	reason := "repaired: " + o.CompletionNotes
	for _, p := range o.Proposals {
		d.words = append(d.words, p.Text)
	}
	d.add("reason", NewField("Reason", "", reason))
	d.send = func(d *WorkForm) (view.Call, bool) {
		why := d.value("reason")
		if !d.need("reason", "Why?") {
			return view.Call{}, false
		}
		return view.Call{From: d, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
			_, err := c.ResolveIssue(ctx, o.IssueID, why)
			return view.Result{Notice: view.Notice("Issue resolved: " + o.AssetID + "."), Refresh: append(workQueries(), state.QueryFindings)}, err
		}}, true
	}
	return d
}
