// Package workflow computes the progress from a finding to a verified repair: the next step, the transitions of orders and schedules, the cost of
// delay, parts, and the best days for work.
package workflow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// Step is a step from an alarm to a verified repair.
type Step string

// The steps, in their order. The moves of an order are named by its own
// actions.
const (
	StepNone     Step = ""
	StepTake     Step = "select the worst"
	StepDetect   Step = "detect"
	StepDiagnose Step = "diagnose"
	StepPlan     Step = "plan"
	StepParts    Step = "parts"
	StepOrder    Step = "order"
	StepResolve  Step = "resolve"
)

// Workflow is the progress of the selection. Parts that do not exist yet are nil.
type Workflow struct {
	Finding *api.Finding
	Plan    *api.Schedule
	Bill    *api.BOM
	Order   *api.Order
	Next    Step
	Move    string // the order's move that is next; Next is then its word
	Why     string // why there is no next step
}

// WorkflowFor returns the workflow of the selection.
func WorkflowFor(v view.Context) Workflow {
	switch {
	case v.Site == nil:
		return Workflow{Why: "no site is open"}
	case v.Selection.AssetID == "":
		if worst(v, "") == nil {
			return Workflow{Why: "no finding is active; select a unit to look at it"}
		}
		return Workflow{Next: StepTake}
	}
	w := Workflow{Finding: SelectedFinding(v)}
	if w.Finding == nil {
		w.Finding = worst(v, v.Selection.AssetID)
	}
	w.Order = orderOnTheWay(v, w.Finding)
	if w.Order != nil {
		w.Plan, w.Bill = ScheduleByID(v, w.Order.ScheduleID), billOf(v, w.Order.BOMID)
		w.afterOrder(v)
		return w
	}
	w.beforeOrder(v)
	return w
}

// beforeOrder returns the present and next step until there is an order.
func (w *Workflow) beforeOrder(v view.Context) {
	f := w.Finding
	if f == nil {
		w.Next = StepDetect
		return
	}
	w.Plan = freePlan(v, f.AssetID)
	w.Bill = v.Site.FreeBOM(f.AssetID, f.SummaryID)
	switch {
	case !f.Active:
		w.Why = "it has ended; " + widget.LostWords(*f)
	case f.RootCause == "" && len(f.Causes) == 0 && !v.Site.Diagnosed[f.SummaryID]:
		w.Next = StepDiagnose
	case v.Site.Orders.At.IsZero():
		// A technician may already be travelling: do not plan the work twice.
		w.Why = "the orders are not known yet"
	case w.Plan == nil:
		w.Next = StepPlan
	case w.Bill == nil:
		w.Next = StepParts
	default:
		w.Next = StepOrder
	}
}

// afterOrder returns the next step of the order.
func (w *Workflow) afterOrder(v view.Context) {
	o := w.Order
	move := func(action, word string) { w.Move, w.Next = action, Step(word) }
	switch {
	case o.Status == api.OrderPending && o.AssignedTechnician == api.TechnicianUnassigned:
		move(api.ActionAssign, "assign")
	case o.Status == api.OrderPending:
		move(api.ActionStart, "begin")
	case o.Status == api.OrderOnHold:
		move(api.ActionResume, "continue")
	case o.Status == api.OrderInProgress:
		move(api.ActionComplete, "finish")
	case o.Status == api.OrderCancelled:
		w.Why = "the order is cancelled"
	case proposes(*o, api.ProposeReopen) && v.SiteNow.Before(o.CompletedAt.Add(api.ReopenWithin)):
		move(api.ActionReopen, "reopen")
	case proposes(*o, api.ProposeResolve) && (o.Verification == nil || o.Verification.State != api.VerificationWaiting):
		w.Next = StepResolve
	default:
		w.Why = "the order is completed"
		if o.Verification != nil {
			w.Why = "the repair is " + VerificationText[o.Verification.State]
		}
	}
}

func proposes(o api.Order, kind string) bool {
	return slices.ContainsFunc(o.Proposals, func(p api.Proposal) bool { return p.Kind == kind })
}

// worst returns the first active finding, of a unit unless assetID is empty; nil
// without one.
func worst(v view.Context, assetID string) *api.Finding {
	for i, f := range v.Site.Findings.Data {
		if f.Active && (assetID == "" || f.AssetID == assetID) {
			return &v.Site.Findings.Data[i]
		}
	}
	return nil
}

// Worst returns the first candidate for selection: empty without a finding.
func Worst(v view.Context) (h view.Selection, ok bool) {
	f := worst(v, "")
	if f == nil {
		return h, false
	}
	return view.Selection{AssetID: f.AssetID, FindingID: f.SummaryID}, true
}

// orderOnTheWay returns the selected order, else an order about the finding that
// is not cancelled, else an open one of the unit when there is no finding.
func orderOnTheWay(v view.Context, f *api.Finding) *api.Order {
	find := func(is func(api.Order) bool) *api.Order {
		if i := slices.IndexFunc(v.Site.Orders.Data, is); i >= 0 {
			return &v.Site.Orders.Data[i]
		}
		return nil
	}
	if v.Selection.OrderID != "" {
		o := find(func(o api.Order) bool { return o.OrderID == v.Selection.OrderID })
		if o != nil && (o.Status != api.OrderCancelled || f == nil || !f.Active) {
			return o
		}
	}
	if f != nil {
		return find(func(o api.Order) bool { return o.SummaryID == f.SummaryID && o.Status != api.OrderCancelled })
	}
	return find(func(o api.Order) bool { return o.AssetID == v.Selection.AssetID && IsOpen(o) })
}

// ScheduleByID returns a schedule by its id; nil when it is not known.
func ScheduleByID(v view.Context, id string) *api.Schedule {
	for i, s := range v.Site.Schedules.Data {
		if id != "" && s.ScheduleID == id {
			return &v.Site.Schedules.Data[i]
		}
	}
	return nil
}

func billOf(v view.Context, id string) *api.BOM {
	for i, b := range v.Site.BOMs.Data {
		if id != "" && b.BOMID == id {
			return &v.Site.BOMs.Data[i]
		}
	}
	return nil
}

// freePlan returns the first open schedule of a repair of the unit without an
// order; preventive work repairs nothing.
func freePlan(v view.Context, assetID string) *api.Schedule {
	for i, s := range v.Site.Schedules.Data {
		if s.AssetID == assetID && OpenPlan(s) && s.OrderID == "" && s.MaintenanceType != api.MaintenancePreventive {
			return &v.Site.Schedules.Data[i]
		}
	}
	return nil
}

// Done returns the steps that are done, as the breadcrumb writes them.
func (w Workflow) Done(zone *time.Location) []string {
	var out []string
	if w.Plan != nil {
		out = append(out, "plan "+display.DayMonth(w.Plan.ScheduledDate.In(zone)))
	}
	if w.Bill != nil {
		out = append(out, "parts")
	}
	if w.Order != nil {
		out = append(out, "order "+OrderStatus(w.Order.Status))
	}
	return out
}

// milestone is a completed step between an alarm and a verified repair.
type milestone struct {
	name string
	at   time.Time
	what string
	role themes.Role
}

// wayOfOrder returns the milestones of an order: alarm, finding, plan, order, its
// end and its verification, as far as each is known.
func wayOfOrder(v view.Context, o api.Order) []milestone {
	var way []milestone
	add := func(name string, at api.Time, role themes.Role, format string, args ...any) {
		way = append(way, milestone{name, at.Time, fmt.Sprintf(format, args...), role})
	}
	if a := alarmOf(v, o.SummaryID); a != nil {
		words := widget.AlarmPriority(a.AlertSeverity) + " " + widget.Family(a.AlertType)
		if a.AcknowledgedBy != "" {
			words += ", acknowledged by " + a.AcknowledgedBy
		}
		add("alarm", a.Timestamp, themes.Text, "%s", words)
	}
	if f := findingByID(v, o.SummaryID); f != nil {
		add("finding", f.StartedAt, themes.Text, "%s, %s sure, %s", widget.Family(f.FaultFamily), display.Percent(f.Confidence), widget.LostWords(*f))
	}
	if s := ScheduleByID(v, o.ScheduleID); s != nil {
		add("plan", s.CreatedAt, themes.Text, "%s for %s, %s", s.MaintenanceType, display.When(s.ScheduledDate.Time, v.SiteNow, v.Site.Zone), s.Status)
	}
	add("order", o.CreatedAt, themes.Text, "%s priority, created by %s, for %s", o.Priority, cmp.Or(o.CreatedBy, "an unknown user"), o.AssignedTechnician)
	if !o.Clocks.StartedAt.IsZero() {
		add("begun", o.Clocks.StartedAt, themes.Text, "by %s", o.AssignedTechnician)
	}
	if !o.CompletedAt.IsZero() {
		add("done", o.CompletedAt, themes.Text, "in %s: %s", display.Hours(o.ActualHours), o.CompletionNotes)
	}
	if ver := o.Verification; ver != nil {
		role := themes.Text
		if ver.State == api.VerificationFailed {
			role = themes.Warning
		}
		add("proof", ver.At, role, "%s", verifiedWords(*ver))
	}
	return way
}

// verifiedWords describes the verification of a repair.
func verifiedWords(ver api.Verification) string {
	words := VerificationText[ver.State]
	if ver.State == api.VerificationFailed && ver.Ratio >= 0.97 { // as the service requires of a repaired unit
		words = "not verified: the fault is still detected"
	}
	if ver.Ratio > 0 {
		words += "; on " + ver.Day + " it made " + display.Percent(ver.Ratio) + " of what was expected"
	}
	return words
}

// drawWayOf draws the milestones, a line each.
func drawWayOf(r terminal.Region, v view.Context, y int, o api.Order) int {
	v.Heading(r, y, "From alarm to verification")
	y++
	for _, p := range wayOfOrder(v, o) {
		v.Put(r, 0, y, p.name, themes.Dim)
		v.Put(r, 9, y, display.When(p.at, v.SiteNow, v.Site.Zone), themes.Dim)
		y = max(v.Paragraph(r, 23, y, p.what, p.role), y+1)
	}
	return y
}

// drawOutcome draws whether the loss stopped after the work, and the proposed next
// step; before completion it draws nothing.
func drawOutcome(r terminal.Region, v view.Context, y int, o api.Order) int {
	if o.Status == api.OrderCompleted && o.SummaryID != "" {
		words, role := "The finding has cleared; no further loss.", themes.Text
		switch f := findingByID(v, o.SummaryID); {
		case f == nil:
		case f.Active && f.LastDetectionAt.After(o.CompletedAt.Time):
			words, role = "The loss continues: "+widget.Risk(f.EnergyAtRiskKW)+" when it was last seen, "+display.When(f.LastDetectionAt.Time, v.SiteNow, v.Site.Zone)+".", themes.Warning
		case f.Active:
			words, role = "Nothing was measured since then: whether the loss stopped shows on the next clear day.", themes.Dim
		default:
			words = "The loss stopped " + display.When(f.EndedAt.Time, v.SiteNow, v.Site.Zone) + "; " + widget.LostWords(*f) + "."
		}
		y = v.Paragraph(r, 0, y, words, role)
	}
	for _, p := range o.Proposals {
		y = v.Paragraph(r, 0, y, p.Text, themes.Accent)
	}
	return y
}

// drawCosts draws the bill of a completed order: parts, hours, energy and money lost, and
// whether the repair worked. It draws nothing while they are not known.
func drawCosts(r terminal.Region, v view.Context, y int, o api.Order) int {
	c := o.Costs
	if c == nil {
		return y
	}
	note := ""
	if c.Total != nil {
		note = display.Money(*c.Total, c.Currency) + " in total"
	}
	v.Heading(r, y, "Bill", note)
	y++
	line := func(label, text string, role themes.Role) {
		v.Put(r, 0, y, label, themes.Dim)
		y = max(v.Paragraph(r, 9, y, text, role), y+1)
	}
	var parts []string
	for _, p := range c.Parts {
		parts = append(parts, fmt.Sprintf("%d × %s", p.Used, p.Description))
	}
	switch {
	case len(parts) == 0:
		line("parts", "none", themes.Text)
	case c.PartsCost == nil:
		line("parts", "price unknown: "+strings.Join(parts, ", "), themes.Text)
	default:
		line("parts", display.Money(*c.PartsCost, c.Currency)+": "+strings.Join(parts, ", "), themes.Text)
	}
	line("hours", display.Hours(c.Hours)+", "+o.AssignedTechnician, themes.Text)
	if c.LostKWh != nil {
		words := display.Energy(*c.LostKWh)
		if c.LostMoney != nil {
			words += ", " + display.Money(*c.LostMoney, c.LostCurrency)
		}
		words += ", " + display.When(c.LostFrom.Time, v.SiteNow, v.Site.Zone)
		if c.LostTo.IsZero() {
			words += " until now"
		} else {
			words += " to " + display.When(c.LostTo.Time, v.SiteNow, v.Site.Zone)
		}
		line("lost", words, themes.Text)
	}
	if ver := o.Verification; ver != nil {
		role := themes.Text
		if ver.State == api.VerificationFailed {
			role = themes.Warning
		}
		line("repair", verifiedWords(*ver), role)
	}
	return y
}

// pause is a hold of an order.
type pause struct {
	from, to time.Time // to is zero while it lasts
	why      string
	stops    bool // the time limits are suspended meanwhile
}

// pausesOf returns the holds of an order, from its history.
func pausesOf(o api.Order) []pause {
	var out []pause
	for i, m := range o.History {
		if m.To != api.OrderOnHold {
			continue
		}
		p := pause{from: m.At.Time, why: m.Note}
		if i+1 < len(o.History) {
			p.to = o.History[i+1].At.Time
		} else if o.HoldReason != "" && p.why == "" {
			p.why = o.HoldReason
		}
		reason, _, _ := strings.Cut(p.why, ":")
		p.stops = slices.Contains([]string{api.HoldWeather, api.HoldUtility, api.HoldAccess}, reason)
		out = append(out, p)
	}
	return out
}

// drawPauses draws the holds below the clocks.
func drawPauses(r terminal.Region, v view.Context, y int, o api.Order) int {
	for _, p := range pausesOf(o) {
		words := display.When(p.from, v.SiteNow, v.Site.Zone)
		switch {
		case p.to.IsZero():
			words += " until now"
		default:
			words += " to " + display.When(p.to, v.SiteNow, v.Site.Zone)
		}
		words += ": " + p.why
		if p.stops {
			words += "; the time limits are paused"
		} else {
			words += "; the time limits continue"
		}
		v.Put(r, 0, y, "held", themes.Dim)
		y = max(v.Paragraph(r, 9, y, words, themes.Dim), y+1)
	}
	return y
}

// webhookText describes the subscriptions of an order, and whether their events are delivered.
func webhookText(v view.Context, o api.Order) string {
	n, bad := 0, 0
	for _, s := range v.Site.Subscriptions.Data {
		if s.OrderID != o.OrderID {
			continue
		}
		n++
		if s.Status == api.SubscriptionFailing || s.Status == api.SubscriptionDisabled {
			bad++
		}
	}
	switch {
	case n == 0:
		return ""
	case bad > 0:
		return fmt.Sprintf("%s notified; %d of the deliveries fail; g h shows each delivery.", display.CountOf(n, "subscriber is", "subscribers are"), bad)
	}
	return display.CountOf(n, "subscriber is", "subscribers are") + " notified; g h shows each delivery."
}

// alarmOf returns the alarm of a finding; nil when it is not known.
func alarmOf(v view.Context, summaryID string) *api.Alert {
	for i, a := range v.Site.Alerts.Data.Alerts {
		if summaryID != "" && a.Metadata != nil && a.Metadata.SummaryID == summaryID {
			return &v.Site.Alerts.Data.Alerts[i]
		}
	}
	return nil
}

func findingByID(v view.Context, summaryID string) *api.Finding {
	for i, f := range v.Site.Findings.Data {
		if summaryID != "" && f.SummaryID == summaryID {
			return &v.Site.Findings.Data[i]
		}
	}
	return nil
}

// SelectedFinding returns the selected finding, nil without one.
func SelectedFinding(v view.Context) *api.Finding {
	if v.Site == nil {
		return nil
	}
	for i, f := range v.Site.Findings.Data {
		if f.SummaryID == v.Selection.FindingID {
			return &v.Site.Findings.Data[i]
		}
	}
	return nil
}
