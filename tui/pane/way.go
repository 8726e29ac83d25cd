package pane

import (
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/tui/view"
)

// Step is what comes next on the way from a sign of trouble to a repair that
// holds.
type Step string

// The steps, in their order. The moves of an order are named by its own
// actions.
const (
	StepNone     Step = ""
	StepTake     Step = "take the worst"
	StepDetect   Step = "detect"
	StepDiagnose Step = "diagnose"
	StepPlan     Step = "plan"
	StepParts    Step = "parts"
	StepOrder    Step = "order"
	StepResolve  Step = "resolve"
)

// Way is how far the thing in hand has come. What is nil is not there yet.
type Way struct {
	Finding *api.Finding
	Plan    *api.Schedule
	Bill    *api.BOM
	Order   *api.Order
	Next    Step
	Move    string // the order's move that is next; Next is then its word
	Why     string // why there is no next step
}

// WayOf is the way of the thing in hand.
func WayOf(v view.Context) Way {
	switch {
	case v.Site == nil:
		return Way{Why: "no site is open"}
	case v.Selection.AssetID == "":
		if worst(v, "") == nil {
			return Way{Why: "no finding is active; take a unit in hand to look at it"}
		}
		return Way{Next: StepTake}
	}
	w := Way{Finding: SelectedFinding(v)}
	if w.Finding == nil {
		w.Finding = worst(v, v.Selection.AssetID)
	}
	w.Order = orderOnTheWay(v, w.Finding)
	if w.Order != nil {
		w.Plan, w.Bill = scheduleOf(v, w.Order.ScheduleID), billOf(v, w.Order.BOMID)
		w.afterOrder(v)
		return w
	}
	w.beforeOrder(v)
	return w
}

// beforeOrder is what is there and what is next as long as nobody is to do it.
func (w *Way) beforeOrder(v view.Context) {
	f := w.Finding
	if f == nil {
		w.Next = StepDetect
		return
	}
	w.Plan = freePlan(v, f.AssetID)
	w.Bill = v.Site.FreeBOM(f.AssetID, f.SummaryID)
	switch {
	case !f.Active:
		w.Why = "it is over; " + Energy(f.LostKWh) + " were lost"
	case f.RootCause == "" && len(f.Causes) == 0 && !v.Site.Diagnosed[f.SummaryID]:
		w.Next = StepDiagnose
	case v.Site.Orders.At.IsZero():
		// Somebody may be on the way already: nothing is planned twice.
		w.Why = "the orders are not known yet"
	case w.Plan == nil:
		w.Next = StepPlan
	case w.Bill == nil:
		w.Next = StepParts
	default:
		w.Next = StepOrder
	}
}

// afterOrder is what the order wants.
func (w *Way) afterOrder(v view.Context) {
	o := w.Order
	move := func(action, word string) { w.Move, w.Next = action, Step(word) }
	switch {
	case o.Status == api.OrderPending && o.AssignedTechnician == api.TechnicianUnassigned:
		move(api.ActionAssign, "assign")
	case o.Status == api.OrderPending:
		move(api.ActionStart, "begin")
	case o.Status == api.OrderOnHold:
		move(api.ActionResume, "go on")
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
			w.Why = "the repair is " + verification[o.Verification.State]
		}
	}
}

func proposes(o api.Order, kind string) bool {
	return slices.ContainsFunc(o.Proposals, func(p api.Proposal) bool { return p.Kind == kind })
}

// worst is the first active finding, of a unit unless assetID is empty; nil
// without one.
func worst(v view.Context, assetID string) *api.Finding {
	for i, f := range v.Site.Findings.Data {
		if f.Active && (assetID == "" || f.AssetID == assetID) {
			return &v.Site.Findings.Data[i]
		}
	}
	return nil
}

// Worst is what there is to take in hand first: nothing without a finding.
func Worst(v view.Context) (h view.Selection, ok bool) {
	f := worst(v, "")
	if f == nil {
		return h, false
	}
	return view.Selection{AssetID: f.AssetID, FindingID: f.SummaryID}, true
}

// orderOnTheWay is the order in hand, else an order about the finding that is
// not cancelled, else an open one of the unit when there is no finding.
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
	return find(func(o api.Order) bool { return o.AssetID == v.Selection.AssetID && openOrder(o) })
}

// scheduleOf is a schedule by its id; nil when it is not known.
func scheduleOf(v view.Context, id string) *api.Schedule {
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

// freePlan is the first open schedule of a repair of the unit that no order
// does; preventive work mends nothing.
func freePlan(v view.Context, assetID string) *api.Schedule {
	for i, s := range v.Site.Schedules.Data {
		if s.AssetID == assetID && OpenPlan(s) && s.OrderID == "" && s.MaintenanceType != api.MaintenancePreventive {
			return &v.Site.Schedules.Data[i]
		}
	}
	return nil
}

// Done are the steps that are done, as the breadcrumb writes them.
func (w Way) Done(zone *time.Location) []string {
	var out []string
	if w.Plan != nil {
		out = append(out, "plan "+w.Plan.ScheduledDate.In(zone).Format("02 Jan"))
	}
	if w.Bill != nil {
		out = append(out, "parts")
	}
	if w.Order != nil {
		out = append(out, "order "+OrderStatus(w.Order.Status))
	}
	return out
}
