package maintenance

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/issue"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/internal/display"
)

// order is a work order: the fields of the contract, of which the clocks and the
// shortages are derived when it is answered, and those that its state machine needs.
type order struct {
	api.Order
	CustomerID     string
	AcknowledgedAt api.Time
	StartedAt      api.Time
	ExpiredAt      api.Time // when its reservation ended; zero once parts are reserved again
	HeldFrom       string   // the status before a hold
	Holds          []span
	Pauses         []span // the holds during which the clocks do not run
}

func (o order) owner() (customer, site string) { return o.CustomerID, o.SiteID }

func (o order) open() bool { return o.Status != api.OrderCompleted && o.Status != api.OrderCancelled }

var orders = store.Table[order]{
	Bucket: "orders",
	Key:    func(o order) []byte { return store.Key(o.SiteID, o.OrderID) },
	Indexes: append(listed(
		func(o order) (customer, site, asset string) { return o.CustomerID, o.SiteID, o.AssetID },
		func(o order) []string {
			if o.open() {
				return []string{rankOpen, later(o.CreatedAt.Time), o.OrderID}
			}
			return []string{rankOver, later(o.CreatedAt.Time), o.OrderID}
		}),
		store.Index[order]{Name: "id", Key: func(o order) []byte { return store.Key(o.OrderID) }},
		store.Index[order]{Name: "finding", Key: func(o order) []byte {
			if o.SummaryID == "" || !o.open() {
				return nil
			}
			return store.Key(o.SummaryID, o.OrderID)
		}},
		store.Index[order]{Name: "waiting", Key: func(o order) []byte {
			if o.Verification == nil || o.Verification.State != api.VerificationWaiting {
				return nil
			}
			return store.Key(o.SiteID)
		}}),
	Form: store.As(newOrderRecord, orderRecord.order),
}

// moved writes a change into the record; from and to are the same for a change
// that is not of the status.
func (o *order) moved(to string, at time.Time, actor, note string) {
	o.UpdatedAt, o.UpdatedAtMS = api.At(at), at.UnixMilli()
	o.History = append(o.History, api.WorkMove{From: o.Status, To: to, At: o.UpdatedAt, Actor: actor, Note: note})
	o.Status = to
	o.Version++
}

// acknowledged records the first response to an order.
func (o *order) acknowledged(at time.Time) {
	if o.AcknowledgedAt.IsZero() {
		o.AcknowledgedAt = api.At(at)
	}
}

// orderResponse returns the order for a response.
func (s *Service) orderResponse(o order) api.Order {
	out := o.Order
	out.Clocks = o.clocks(s.limits(o), s.Now())
	if !o.ExpiredAt.IsZero() && o.open() {
		out.Warnings = append(out.Warnings, fmt.Sprintf("The parts were released on %s: the order should have begun %s before. They are reserved again when it starts.", o.ExpiredAt, display.CountOf(int(api.ReservationLasts/day), "day", "days")))
	}
	out.Parts = slices.Clone(o.Parts)
	for i, p := range out.Parts {
		if o.open() {
			out.Parts[i].Short = max(p.Quantity-p.Reserved-p.Used, 0)
			out.PartsShort += out.Parts[i].Short
		}
	}
	return out
}

// CreateOrder makes a pending order and reserves the parts of its bill. With a
// customer, what is not given comes from the bill and its schedule. The
// schedule is confirmed, and the open issue of the fault is taken on. One open
// order is made of a finding, unless more are asked for. One that is planned
// for a time and has no schedule makes its own.
func (s *Service) CreateOrder(ctx context.Context, scope api.Scope, r api.OrderRequest) (api.Order, error) {
	ref := api.AssetRef{AssetID: r.AssetID, SiteID: r.SiteID, CustomerID: r.CustomerID}
	if ref.AssetID == "" {
		bill, err := s.BOM(ctx, scope, r.BOMID)
		if err != nil {
			return api.Order{}, err
		}
		ref.AssetID, ref.SiteID = bill.AssetID, bill.SiteID
	}
	asset, err := s.Domain.Sites.Asset(ctx, scope, ref)
	if err != nil {
		return api.Order{}, err
	}
	site, err := s.Domain.Sites.Site(ctx, scope, asset.SiteID)
	if err != nil {
		return api.Order{}, err
	}
	var o order
	err = s.Records.Update(ctx, func(tx store.Tx) error {
		o = order{CustomerID: asset.CustomerID}
		o.SiteID, o.AssetID = asset.SiteID, asset.AssetID
		if err := room(tx, orders, o.SiteID, o.AssetID, api.MaxOpenOrders, "open orders", rankOpen); err != nil {
			return err
		}
		bill, err := s.billFor(tx, scope, r.BOMID, o)
		if err != nil {
			return err
		}
		if !r.Additional {
			if err := s.checkNoOpenOrder(tx, bill.SummaryID, o); err != nil {
				return err
			}
		}
		plan, err := s.planFor(tx, scope, cmp.Or(r.ScheduleID, bill.ScheduleID), o)
		if err != nil {
			return err
		}
		s.draft(&o, r, bill, plan, site)
		if err := s.begun(r, o, site); err != nil {
			return err
		}
		o.CreatedBy = scope.Actor
		if err := s.acknowledgeIssue(tx, scope, &o, r.IssueID); err != nil {
			return err
		}
		if plan.ScheduleID == "" && !r.PlannedStart.IsZero() {
			if plan, err = s.createPlan(tx, &o, site, r.Note); err != nil {
				return err
			}
		}
		if err := s.reserveAll(tx, &o, bill); err != nil {
			return err
		}
		bill.OrderID = o.OrderID
		if err := boms.Put(tx, bill); err != nil {
			return fmt.Errorf("store bill of materials %s: %w", bill.BOMID, err)
		}
		if plan.ScheduleID != "" {
			plan.OrderID = o.OrderID
			if plan.Status != api.ScheduleConfirmed {
				plan.move(api.ScheduleConfirmed, s.Now(), scope.Actor, "order "+o.OrderID)
			}
			if err := s.putSchedule(tx, plan, scope.Actor); err != nil {
				return err
			}
		}
		o.moved(api.OrderPending, s.Now(), scope.Actor, r.Note)
		return s.putOrder(tx, o, "Work order created", scope.Actor)
	})
	if err == nil && o.ScheduleID != "" {
		s.refreshPlans(ctx)
	}
	return s.orderResponse(o), err
}

// billFor is the bill of an order to be made, which no other open order takes.
func (s *Service) billFor(tx store.Tx, scope api.Scope, bomID string, o order) (bom, error) {
	b, err := byID(tx, boms, scope, bomID, api.ErrBOMNotFound, bom.owner)
	switch {
	case err != nil:
		return b, err
	case b.AssetID != o.AssetID || b.SiteID != o.SiteID:
		return b, api.InvalidField("bom_id", fmt.Sprintf("bill of materials %s is of asset %s", b.BOMID, b.AssetID))
	case b.OrderID != "":
		return b, api.AlreadyExists("Bill of materials %s is taken by order %s", b.BOMID, b.OrderID).With("order_id", b.OrderID)
	}
	return b, nil
}

// checkNoOpenOrder refuses a finding that an open order is about; none is never
// refused. Each unit of a finding that groups several may have its own order.
func (s *Service) checkNoOpenOrder(tx store.Tx, summaryID string, o order) error {
	if summaryID == "" {
		return nil
	}
	same, _, err := orders.List(tx, store.Query{Index: "finding", Prefix: store.Key(summaryID)})
	if err != nil {
		return fmt.Errorf("look up the orders of finding %s: %w", summaryID, err)
	}
	if len(same) == 0 {
		return nil
	}
	f, _, err := s.Domain.Findings.Find(tx, o.SiteID, summaryID)
	if err != nil {
		return err
	}
	if len(f.Members) > 0 {
		same = slices.DeleteFunc(same, func(other order) bool { return other.AssetID != o.AssetID })
	}
	if len(same) > 0 {
		return api.Conflict("Finding %s is dealt with by order %s, which is %s: move that one, or ask for an additional one", summaryID, same[0].OrderID, same[0].Status).
			With("order_id", same[0].OrderID).With("order_status", same[0].Status).With("summary_id", summaryID)
	}
	return nil
}

// planFor is the schedule of an order to be created, which no other open
// order does; without an id it is none.
func (s *Service) planFor(tx store.Tx, scope api.Scope, scheduleID string, o order) (schedule, error) {
	if scheduleID == "" {
		return schedule{}, nil
	}
	p, err := byID(tx, schedules, scope, scheduleID, api.ErrScheduleNotFound, schedule.owner)
	switch {
	case err != nil:
		return p, err
	case p.AssetID != o.AssetID || p.SiteID != o.SiteID:
		return p, api.InvalidField("schedule_id", fmt.Sprintf("schedule %s is of asset %s", p.ScheduleID, p.AssetID))
	case !p.open():
		return p, invalidTransition("Schedule", p.ScheduleID, p.Status, api.ScheduleConfirmed, scheduleMoves[p.Status])
	case p.OrderID != "":
		return p, api.Conflict("Schedule %s is done by order %s", p.ScheduleID, p.OrderID).With("order_id", p.OrderID)
	}
	return p, nil
}

// createPlan creates the schedule of an order that is planned for a time and has
// none, so that it appears in the plan of its site.
func (s *Service) createPlan(tx store.Tx, o *order, site api.Site, note string) (schedule, error) {
	p := schedule{CustomerID: o.CustomerID, Zone: site.Timezone, OfOrder: true}
	p.AssetID, p.SiteID, p.MaintenanceType, p.ScheduledDate, p.Priority = o.AssetID, o.SiteID, o.MaintenanceType, o.PlannedStart, o.Priority
	if p.Reason = note; p.Reason == "" && o.IssueID != "" {
		i, err := s.Domain.Issues.FindInTx(tx, api.Unlimited("work"), o.SiteID, o.IssueID)
		if err != nil {
			return p, err
		}
		p.Reason = i.Description
	}
	p.Reason = cmp.Or(p.Reason, "Work order "+o.OrderID)
	p, _, err := s.plan(tx, p, o.CreatedBy, "order "+o.OrderID)
	o.ScheduleID = p.ScheduleID
	return p, err
}

// draft writes what the request says, or else the bill and the schedule.
func (s *Service) draft(o *order, r api.OrderRequest, bill bom, plan schedule, site api.Site) {
	now := s.Now()
	o.OrderID, o.CreatedAt = s.id("ord"), api.At(now)
	o.BOMID, o.ScheduleID = bill.BOMID, plan.ScheduleID
	o.MaintenanceType = cmp.Or(plan.MaintenanceType, bill.MaintenanceType)
	o.FaultFamily, o.SummaryID, o.Isolating = bill.FaultFamily, bill.SummaryID, bill.Isolating
	o.Priority = cmp.Or(r.Priority, plan.Priority, bill.Priority, api.PriorityMedium)
	o.EstimatedDurationHours = cmp.Or(r.EstimatedDurationHours, bill.Hours)
	o.AssignedTechnician = cmp.Or(r.AssignedTechnician, api.TechnicianUnassigned)
	if o.AssignedTechnician != api.TechnicianUnassigned {
		o.acknowledged(now)
	}
	start := cmp.Or(r.PlannedStart.Time, plan.ScheduledDate.Time)
	if start.Before(now) {
		start = now
	}
	begin, end := s.Crew.working(site, start, o.EstimatedDurationHours, o.MaintenanceType == api.MaintenanceEmergency)
	o.PlannedStart, o.EstimatedCompletion = api.At(begin), api.At(end)
}

// begun refuses an order that is planned for a day that is over, or too far
// ahead; earlier today means now. Only emergency work may have begun.
func (s *Service) begun(r api.OrderRequest, o order, site api.Site) error {
	if err := checkAhead("planned_start", r.PlannedStart, s.Now()); err != nil {
		return err
	}
	zone := record.Zone(site.Timezone)
	y, m, d := s.Now().In(zone).Date()
	if r.PlannedStart.IsZero() || o.MaintenanceType == api.MaintenanceEmergency || !r.PlannedStart.Before(time.Date(y, m, d, 0, 0, 0, 0, zone)) {
		return nil
	}
	return api.InvalidField("planned_start", fmt.Sprintf("%s is in the past; only emergency work may have begun", r.PlannedStart))
}

// acknowledgeIssue links the issue that the order fixes and acknowledges it, if it is
// unacknowledged.
func (s *Service) acknowledgeIssue(tx store.Tx, scope api.Scope, o *order, issueID string) error {
	var i issue.Issue
	var err error
	there := issueID != ""
	if there {
		i, err = s.Domain.Issues.FindInTx(tx, scope, o.SiteID, issueID)
	} else if o.FaultFamily != "" {
		i, there, err = s.Domain.Issues.LatestOpen(tx, o.SiteID, o.AssetID, o.FaultFamily)
	}
	if err != nil || !there {
		return err
	}
	switch {
	case i.Status == api.IssueResolved:
		return api.InvalidTransition("Issue %s is resolved", i.IssueID).With("issue_id", i.IssueID)
	case i.AssetID != "" && !i.Of(o.AssetID):
		return api.InvalidField("issue_id", fmt.Sprintf("issue %s is of asset %s", i.IssueID, i.AssetID))
	}
	o.IssueID = i.IssueID
	_, err = s.Domain.Issues.SetStatus(tx, i, api.IssueInProgress, scope.Actor, "order "+o.OrderID)
	return err
}

// Orders lists open ones first, then those that ended, each the newest first.
// They come without parts, downtime and history.
func (s *Service) Orders(ctx context.Context, scope api.Scope, q api.ListQuery, r api.OrderRequest) ([]api.Order, string, error) {
	rank := rankOf(r.OpenOnly, r.Status, order{Order: api.Order{Status: r.Status}}.open())
	list, next, err := record.List(ctx, s.Records, orders, ranked(listing(q), rank), q.Page, func(o order) bool {
		return within(scope, q, o.CustomerID, o.SiteID, o.AssetID) && (r.Status == "" || r.Status == o.Status) &&
			(!r.OpenOnly || o.open()) && (r.Technician == "" || r.Technician == o.AssignedTechnician) &&
			q.SinceUnix(o.UpdatedAtMS, o.UpdatedAt) && record.Is(r.Priority, o.Priority)
	})
	out := make([]api.Order, len(list))
	for i, o := range list {
		out[i] = s.orderResponse(o)
		out[i].Parts, out[i].Downtime, out[i].History = nil, nil, nil
	}
	return out, next, err
}

// putOrder stores the order with an activity; title is empty for none.
func (s *Service) putOrder(tx store.Tx, o order, title, actor string) error {
	if err := orders.Put(tx, o); err != nil {
		return fmt.Errorf("store order %s: %w", o.OrderID, err)
	}
	return s.note(tx, o.CustomerID, o.SiteID, o.AssetID, api.PhaseAct, title, cmp.Or(o.History[len(o.History)-1].Note, o.MaintenanceType+" work "+o.OrderID), actor)
}
