package screen

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
)

// sendOrder asks the service to make or to move a work order.
func sendOrder(from Waiting, r api.OrderRequest) Send {
	return Send{From: from, Do: func(ctx context.Context, c *client.Client) (Done, error) {
		answer, err := c.MoveOrder(ctx, r)
		if err != nil {
			return Done{}, err
		}
		done := Done{Hand: &pane.Hand{AssetID: answer.AssetID, OrderID: answer.OrderID}, Forget: workQueries()}
		if answer.Order != nil {
			done.Hand.FindingID = answer.Order.SummaryID
		}
		if r.Action == api.ActionCreate {
			done.Focus = "Act"
		}
		done.Say = func(v pane.View) string { return orderWords(r, answer, v) }
		return done, nil
	}}
}

// workQueries are what a step of work changes.
func workQueries() []state.Query {
	return []state.Query{state.QueryOrders, state.QueryOrder, state.QuerySchedules, state.QueryBOMs, state.QueryActivities}
}

// orderWords say what came of a step.
func orderWords(r api.OrderRequest, answer *api.OrderResponse, v pane.View) string {
	words := answer.Message + ": " + answer.AssetID
	if o := answer.Order; o != nil && r.Action == api.ActionCreate {
		words += ", planned " + pane.When(o.PlannedStart.Time, v.SiteNow, zone(v)) + ", " + o.Priority + " priority, " + o.AssignedTechnician
	}
	return words + "."
}

// WorkForm asks for what a step of work needs. It stays until the service has
// taken the step, and shows its words when it refuses.
type WorkForm struct {
	title, verb string
	words       []string // above the fields
	form        form
	wrong       string
	busy        string // what is waited for
	// send is the step from the fields' values; why refuses one of them.
	send func(values []string) (r api.OrderRequest, field int, why string)
}

// Title names the step.
func (d *WorkForm) Title() string { return d.title }

// Size fits the form.
func (d *WorkForm) Size(w, h int) (int, int) {
	return min(76, w-4), min(len(d.form.fields)+2*len(d.words)+7, h-2)
}

// Draw draws the words and the fields.
func (d *WorkForm) Draw(r terminal.Region, v pane.View) {
	_, h := r.Size()
	y := 0
	for _, line := range d.words {
		y = v.Paragraph(r, 0, y, line, themes.Dim)
	}
	y = d.form.draw(r, y+1, v)
	switch {
	case d.busy != "":
		v.Paragraph(r, 0, y+1, d.busy, themes.Dim)
	case d.wrong != "":
		v.Paragraph(r, 0, y+1, d.wrong, themes.Warning)
	}
	keys := []string{"enter", d.verb, "esc", "back"}
	if len(d.form.fields) > 1 {
		keys = append(keys, "tab", "next field")
	}
	keyLine(r, h-1, v, keys...)
}

// Answer takes the service's answer in; everything typed is kept.
func (d *WorkForm) Answer(err error) (done bool) {
	d.busy, d.wrong = "", ""
	if err != nil {
		d.wrong = terminal.Printable(state.Refusal(err))
	}
	return err == nil
}

// Key edits or sends.
func (d *WorkForm) Key(k tea.KeyMsg, keys keymap.Map) Result {
	action, _, _ := keys.Match(k.String(), keymap.Dialog)
	if action == keymap.Dismiss {
		return Result{Close: true}
	}
	switch {
	case d.busy != "" || len(d.form.fields) == 0:
	case action == keymap.Accept:
		return d.accept()
	case d.form.edit(action, k):
		d.wrong = ""
	}
	return Result{}
}

func (d *WorkForm) accept() Result {
	values := make([]string, len(d.form.fields))
	for i := range values {
		values[i] = d.form.fields[i].Value()
	}
	r, field, why := d.send(values)
	if why != "" {
		d.form.at, d.wrong = field, why
		return Result{}
	}
	d.busy = "Sending …"
	return Result{Do: sendOrder(d, r)}
}

// NewOrderMove is the dialog that a move of an order needs: me is who is
// signed in. Nil when the move needs none: then it is done as it stands.
func NewOrderMove(o api.Order, action, me string) (d Dialog, asIs Send) {
	base := api.OrderRequest{Action: action, OrderID: o.OrderID, Version: o.Version}
	form := func(title, verb string, send func(r *api.OrderRequest, values []string) (field int, why string), fields ...Field) Dialog {
		f := &WorkForm{title: title + " " + o.AssetID, verb: verb, form: form{fields: fields}}
		f.send = func(values []string) (api.OrderRequest, int, string) {
			r := base
			field, why := send(&r, values)
			return r, field, why
		}
		return f
	}
	nobody := o.AssignedTechnician == api.TechnicianUnassigned
	who := o.AssignedTechnician
	if nobody {
		who = me
	}
	technician := func(r *api.OrderRequest, values []string) (int, string) {
		r.AssignedTechnician = values[0]
		return 0, needed(values[0], "Who is to do it?")
	}
	switch action {
	case api.ActionAssign:
		return form("Assign", "assign", technician, NewField("Technician", "a name, or unassigned", who)), Send{}
	case api.ActionStart:
		switch short := missing(o); {
		case short != "":
			f := form("Begin", "begin all the same", func(r *api.OrderRequest, values []string) (int, string) {
				r.Note, r.Force = values[1], true
				if field, why := technician(r, values); why != "" {
					return field, why
				}
				return 1, needed(values[1], "Why without these parts?")
			}, NewField("Technician", "a name", who), NewField("Note", "why it begins without them", ""))
			f.(*WorkForm).words = []string{"Short of " + short + "."}
			return f, Send{}
		case nobody:
			return form("Begin", "begin", technician, NewField("Technician", "a name", who)), Send{}
		}
	case api.ActionHold:
		var reasons []Choice
		for _, reason := range api.HoldReasons() {
			r := base
			r.HoldReason = reason
			reasons = append(reasons, Choice{Text: reason, Do: sendOrder(nil, r)})
		}
		return NewChooser("Hold "+o.AssetID+" for", "", reasons, nil), Send{}
	case api.ActionComplete:
		return form("Finish", "finish", func(r *api.OrderRequest, values []string) (field int, why string) {
			r.CompletionNotes = values[0]
			if why := needed(values[0], "What was done?"); why != "" {
				return 0, why
			}
			r.ActualHours, why = hoursOf(values[1])
			return 1, why
		}, NewField("Notes", "what was done", ""), NewField("Hours", "empty: since it was begun", "")), Send{}
	case api.ActionCancel, api.ActionReopen:
		title, verb := "Cancel", "cancel the order"
		if action == api.ActionReopen {
			title, verb = "Reopen", "open it again"
		}
		return form(title, verb, func(r *api.OrderRequest, values []string) (int, string) {
			r.Reason = values[0]
			return 0, needed(values[0], "Why?")
		}, NewField("Reason", "", "")), Send{}
	}
	return nil, sendOrder(nil, base)
}

func needed(value, question string) (why string) {
	if value == "" {
		return question
	}
	return ""
}

// hoursOf reads a duration; empty is 0.
func hoursOf(text string) (hours float64, why string) {
	if text == "" {
		return 0, ""
	}
	hours, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", "."), 64)
	if err != nil || hours <= 0 {
		return 0, "Hours are a number above zero, or nothing."
	}
	return hours, ""
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

// NewOrderForm is the form of a new order. It waits for [WorkForm.Plan].
func NewOrderForm(assetID string) *WorkForm {
	return &WorkForm{title: "Work order for " + assetID, verb: "make the order", busy: "Asking for parts and for the best time …"}
}

// Plan fills the form with defaults: the bill's parts and hours, and a begin.
// Times are the site's. me is who is signed in, empty for nobody.
func (d *WorkForm) Plan(site api.Site, zone *time.Location, bill api.BOM, begin time.Time, why, me string) {
	const layout = "2006-01-02 15:04"
	d.busy = ""
	parts := fmt.Sprintf("%d items, %s", bill.ItemCount, pane.Money(bill.TotalCost, bill.Currency))
	if bill.FaultFamily != "" {
		parts = pane.Family(bill.FaultFamily) + ": " + parts
	}
	if bill.Isolating {
		parts += "; the unit stands still meanwhile"
	}
	d.words = []string{terminal.Printable(parts) + ".", terminal.Printable(why)}
	d.form = form{fields: []Field{
		NewField("Begin", layout+", by the site's clock", begin.In(zone).Format(layout)),
		NewField("Hours", "of work at the unit", strconv.FormatFloat(bill.EstimatedHours, 'f', -1, 64)),
		NewField("Priority", "empty: as the finding deserves; high, medium or low", ""),
		NewField("Technician", "empty: nobody yet", me),
		NewField("Note", "", ""),
	}}
	d.send = func(f []string) (api.OrderRequest, int, string) {
		r := api.OrderRequest{Action: api.ActionCreate, CustomerID: site.CustomerID, SiteID: site.SiteID, AssetID: bill.AssetID, BOMID: bill.BOMID,
			Priority: strings.ToLower(f[2]), AssignedTechnician: f[3], Note: f[4]}
		at, err := time.ParseInLocation(layout, f[0], zone)
		if err != nil {
			return r, 0, "The begin is a date and a time as in " + begin.In(zone).Format(layout) + "."
		}
		r.PlannedStart = api.At(at)
		var why string
		r.EstimatedDurationHours, why = hoursOf(f[1])
		return r, 1, why
	}
}
