package maintenance

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/availability"
	"app.sunloop/backend/store"
	"app.sunloop/engine/kpi"
)

// transition is a move of an order: the action that asks for it, the statuses
// before and after, and what must hold. A guard may change the order.
type transition struct {
	action, from, to string
	guards           []orderGuard
}

// orderGuard refuses a move, or lets it pass.
type orderGuard func(s *Service, tx store.Tx, o *order, scope api.Scope, r api.OrderRequest) error

// transitions are all moves of an order.
var transitions = []transition{
	{api.ActionStart, api.OrderPending, api.OrderInProgress, []orderGuard{requireAssignee, requireParts}},
	{api.ActionStart, api.OrderOnHold, api.OrderInProgress, []orderGuard{requireAssignee, requireParts}},
	{api.ActionHold, api.OrderPending, api.OrderOnHold, nil},
	{api.ActionHold, api.OrderInProgress, api.OrderOnHold, nil},
	{api.ActionResume, api.OrderOnHold, api.OrderPending, nil},    // where it was held
	{api.ActionResume, api.OrderOnHold, api.OrderInProgress, nil}, // as above
	{api.ActionComplete, api.OrderInProgress, api.OrderCompleted, []orderGuard{workDone}},
	{api.ActionCancel, api.OrderPending, api.OrderCancelled, []orderGuard{unused}},
	{api.ActionCancel, api.OrderOnHold, api.OrderCancelled, []orderGuard{unused, requireSupervisor}},
	{api.ActionCancel, api.OrderInProgress, api.OrderCancelled, []orderGuard{requireSupervisor, unused}},
	{api.ActionReopen, api.OrderCompleted, api.OrderInProgress, []orderGuard{recent}},
}

// orderTargets are the statuses that actions ask for; resume goes back to
// where the order was held.
var orderTargets = map[string]string{
	api.ActionStart: api.OrderInProgress, api.ActionHold: api.OrderOnHold, api.ActionComplete: api.OrderCompleted,
	api.ActionCancel: api.OrderCancelled, api.ActionReopen: api.OrderInProgress,
}

// nextOf are the statuses that an order may move to, and the actions for that.
func nextOf(status string) (to, actions []string) {
	to, actions = []string{}, []string{}
	for _, m := range transitions {
		if m.from == status && !slices.Contains(to, m.to) {
			to = append(to, m.to)
		}
		if m.from == status && !slices.Contains(actions, m.action) {
			actions = append(actions, m.action)
		}
	}
	return to, actions
}

// MoveOrder does what the action of the request says: one of the moves, or
// assign. changed is false for an order that is there already. A move that is
// not allowed is a 409 that names those that are.
func (s *Service) MoveOrder(ctx context.Context, scope api.Scope, r api.OrderRequest) (_ api.Order, changed bool, err error) {
	var o order
	err = s.Records.Update(ctx, func(tx store.Tx) (err error) {
		changed = false
		if o, err = byID(tx, orders, scope, r.OrderID, api.ErrOrderNotFound, order.owner); err != nil {
			return err
		}
		if r.Action == api.ActionAssign {
			changed, err = s.assign(tx, &o, scope, r)
			return err
		}
		to := orderTargets[r.Action]
		if r.Action == api.ActionResume {
			if to = o.HeldFrom; o.Status == api.OrderPending || o.Status == api.OrderInProgress {
				to = o.Status // nothing to resume
			}
		}
		if o.Status == to {
			return nil
		}
		at := slices.IndexFunc(transitions, func(m transition) bool { return m.action == r.Action && m.from == o.Status && m.to == to })
		if at < 0 {
			states, actions := nextOf(o.Status)
			return api.InvalidTransition("Order %s is %s: %s is not possible", o.OrderID, o.Status, r.Action).With("allowed", states).With("actions", actions)
		}
		if err := versionConflict("Order", o.OrderID, o.Version, r.Version); err != nil {
			return err
		}
		for _, guard := range transitions[at].guards {
			if err := guard(s, tx, &o, scope, r); err != nil {
				return err
			}
		}
		changed = true
		from := o.Status
		o.moved(to, s.Now(), scope.Actor, cmp.Or(r.Reason, r.CompletionNotes, r.Note, r.HoldReason))
		if err := s.follow(tx, &o, from, scope, r); err != nil {
			return err
		}
		if err := s.announce(tx, o, store.OriginOf(ctx)); err != nil {
			return err
		}
		return s.putOrder(tx, o, "Work order "+strings.ReplaceAll(o.Status, "_", " "), scope.Actor)
	})
	if err == nil && changed {
		s.Notify()
		if o.ScheduleID != "" {
			s.refreshPlans(ctx)
		}
	}
	return s.orderResponse(o), changed, err
}

// assign gives an open order to a technician.
func (s *Service) assign(tx store.Tx, o *order, scope api.Scope, r api.OrderRequest) (changed bool, err error) {
	switch {
	case o.AssignedTechnician == r.AssignedTechnician:
		return false, nil
	case !o.open():
		states, actions := nextOf(o.Status)
		return false, api.InvalidTransition("Order %s is %s: a technician cannot be assigned", o.OrderID, o.Status).With("allowed", states).With("actions", actions)
	}
	if err := versionConflict("Order", o.OrderID, o.Version, r.Version); err != nil {
		return false, err
	}
	s.give(o, r.AssignedTechnician, scope.Actor)
	return true, s.putOrder(tx, *o, "Work order assigned", scope.Actor)
}

func (s *Service) give(o *order, technician, actor string) {
	o.AssignedTechnician = technician
	if technician != api.TechnicianUnassigned {
		o.acknowledged(s.Now())
	}
	o.moved(o.Status, s.Now(), actor, "assigned to "+technician)
}

// requireAssignee checks that a technician is assigned; a start may name one.
func requireAssignee(s *Service, _ store.Tx, o *order, scope api.Scope, r api.OrderRequest) error {
	if r.AssignedTechnician != "" && r.AssignedTechnician != o.AssignedTechnician {
		s.give(o, r.AssignedTechnician, scope.Actor)
	}
	if o.AssignedTechnician == api.TechnicianUnassigned {
		return api.Conflict("Order %s is not assigned: assign it first", o.OrderID)
	}
	return nil
}

// requireParts: the essential parts are reserved, or it is forced with a note. What
// came into stock since is reserved now.
func requireParts(s *Service, tx store.Tx, o *order, _ api.Scope, r api.OrderRequest) error {
	short, err := s.topUp(tx, o)
	switch {
	case err != nil || len(short) == 0:
		return err
	case !r.Force:
		return api.Conflict("Order %s is short of %s: start it by force with a note, or wait for stock", o.OrderID, shortages(short)).With("shortages", short)
	case r.Note == "":
		return api.MissingField("note")
	}
	return nil
}

// requireSupervisor checks that work in progress is cancelled by an operator
// or an administrator only.
func requireSupervisor(_ *Service, _ store.Tx, o *order, scope api.Scope, _ api.OrderRequest) error {
	begun := o.Status == api.OrderInProgress || o.HeldFrom == api.OrderInProgress
	if begun && scope.Role != api.RoleAdmin && scope.Role != api.RoleOperator {
		return api.ErrForbidden.With("reason", "work that has begun is cancelled by an operator")
	}
	return nil
}

// unused: no parts went into it, which a cancelled order would hide.
func unused(_ *Service, _ store.Tx, o *order, _ api.Scope, _ api.OrderRequest) error {
	for _, p := range o.Parts {
		if p.Used > 0 {
			return api.InvalidTransition("Order %s has used parts: it can be completed, not cancelled", o.OrderID).With("allowed", []string{api.OrderCompleted})
		}
	}
	return nil
}

// recent: it was completed so short a time ago that it may be opened again.
func recent(s *Service, _ store.Tx, o *order, _ api.Scope, _ api.OrderRequest) error {
	if s.Now().After(o.CompletedAt.Add(api.ReopenWithin)) {
		return api.Conflict("Order %s was completed more than %d days ago: make a new one", o.OrderID, int(api.ReopenWithin/day)).With("allowed", []string{})
	}
	return nil
}

// workDone books what was used.
func workDone(s *Service, tx store.Tx, o *order, scope api.Scope, r api.OrderRequest) error {
	return s.consume(tx, scope, o, r.PartsUsed)
}

// follow does what follows on a move that was made.
func (s *Service) follow(tx store.Tx, o *order, from string, scope api.Scope, r api.OrderRequest) error {
	now := s.Now()
	if from == api.OrderOnHold {
		endLast(o.Holds, now)
		endLast(o.Pauses, now)
		o.HeldFrom, o.HoldReason = "", ""
	}
	if o.Status != api.OrderOnHold {
		o.acknowledged(now)
	}
	switch o.Status {
	case api.OrderInProgress:
		if o.StartedAt.IsZero() {
			o.StartedAt = api.At(now)
		}
		if from == api.OrderCompleted {
			return s.reopened(tx, o, scope)
		}
		o.startDowntime(api.At(now))
	case api.OrderOnHold:
		o.HeldFrom, o.HoldReason = from, r.HoldReason
		o.Holds = append(o.Holds, span{From: now})
		if slices.Contains([]string{api.HoldWeather, api.HoldUtility, api.HoldAccess}, r.HoldReason) {
			o.Pauses = append(o.Pauses, span{From: now})
		}
	case api.OrderCompleted:
		return s.completed(tx, o, scope, r)
	case api.OrderCancelled:
		o.endDowntime(api.At(now))
		return s.cancelled(tx, o, scope, r.Reason)
	}
	return nil
}

// completed ends the downtime and the schedule, and proposes to resolve the
// issue; a repair is to be verified.
func (s *Service) completed(tx store.Tx, o *order, scope api.Scope, r api.OrderRequest) error {
	now := s.Now()
	o.CompletedAt, o.CompletionNotes, o.ActualHours = api.At(now), r.CompletionNotes, r.ActualHours
	if o.ActualHours == 0 {
		o.ActualHours = tenth((now.Sub(o.StartedAt.Time) - paused(o.heldSince(o.StartedAt), now)).Hours())
	}
	o.endDowntime(o.CompletedAt)
	o.Proposals = nil
	if o.IssueID != "" {
		o.Proposals = append(o.Proposals, api.Proposal{Kind: api.ProposeResolve, IssueID: o.IssueID, At: o.CompletedAt,
			Text: "The repair is done: resolve its issue when the unit produces as expected again."})
	}
	if o.MaintenanceType != api.MaintenancePreventive {
		o.Verification = &api.Verification{State: api.VerificationWaiting, At: o.CompletedAt}
	}
	return s.planOf(tx, o, func(p *schedule) error {
		return s.moveSchedule(tx, p, api.ScheduleCompleted, now, scope.Actor, "order "+o.OrderID, false)
	})
}

// cancelled releases the parts, bill and schedule of the order.
func (s *Service) cancelled(tx store.Tx, o *order, scope api.Scope, reason string) error {
	if err := s.release(tx, o); err != nil {
		return err
	}
	o.Proposals = nil
	b, err := byID(tx, boms, api.Unlimited("work"), o.BOMID, api.ErrBOMNotFound, bom.owner)
	if err != nil {
		return err
	}
	b.OrderID = ""
	if err := boms.Put(tx, b); err != nil {
		return fmt.Errorf("store bill of materials %s: %w", b.BOMID, err)
	}
	return s.planOf(tx, o, func(p *schedule) error {
		if p.OfOrder {
			return s.moveSchedule(tx, p, api.ScheduleCancelled, s.Now(), scope.Actor, "order "+o.OrderID+" was cancelled: "+reason, true)
		}
		p.OrderID = ""
		p.move(api.SchedulePending, s.Now(), scope.Actor, "order "+o.OrderID+" was cancelled: "+reason)
		return s.putSchedule(tx, *p, scope.Actor)
	})
}

// reopened begins a new downtime and takes the issue on again. The notes of the completion stay in the
// history only, so that events from now on do not repeat them.
func (s *Service) reopened(tx store.Tx, o *order, scope api.Scope) error {
	o.CompletedAt, o.CompletionNotes, o.Verification, o.Proposals = api.Time{}, "", nil, nil
	o.startDowntime(o.UpdatedAt)
	for i := range o.Parts {
		o.Parts[i].Quantity = o.Parts[i].Used // what is done is done: nothing of the plan is short
	}
	if o.IssueID == "" {
		return nil
	}
	i, err := s.Domain.Issues.FindInTx(tx, api.Unlimited("work"), o.SiteID, o.IssueID)
	if err != nil {
		return err
	}
	_, err = s.Domain.Issues.SetStatus(tx, i, api.IssueInProgress, scope.Actor, "order "+o.OrderID+" was reopened")
	return err
}

// planOf changes the schedule that the order does and that is still open.
func (s *Service) planOf(tx store.Tx, o *order, change func(*schedule) error) error {
	if o.ScheduleID == "" {
		return nil
	}
	p, err := byID(tx, schedules, api.Unlimited("work"), o.ScheduleID, api.ErrScheduleNotFound, schedule.owner)
	if err != nil || !p.open() || p.OrderID != o.OrderID {
		return err
	}
	return change(&p)
}

// startDowntime begins a downtime of the unit, if the work isolates it.
func (o *order) startDowntime(at api.Time) {
	n := len(o.Downtime)
	if o.Isolating && (n == 0 || !o.Downtime[n-1].To.IsZero()) {
		o.Downtime = append(o.Downtime, api.Downtime{From: at})
	}
}

// endDowntime ends the open downtime of the unit.
func (o *order) endDowntime(at api.Time) {
	if n := len(o.Downtime); n > 0 && o.Downtime[n-1].To.IsZero() {
		o.Downtime[n-1].To = at
	}
}

// span is a time for which an order was held.
type span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"` // zero: until now
}

// paused is how much of the spans lies before a time.
func paused(spans []span, before time.Time) (sum time.Duration) {
	for _, s := range spans {
		to := s.To
		if to.IsZero() || to.After(before) {
			to = before
		}
		sum += max(to.Sub(s.From), 0)
	}
	return sum
}

// clocks of an order as of now, within limits.
func (o order) clocks(l Limits, now time.Time) api.OrderClocks {
	// Planned work is not late before its day.
	begin := o.CreatedAt.Time
	if o.MaintenanceType == api.MaintenancePreventive && o.PlannedStart.After(begin) {
		begin = o.PlannedStart.Time
	}
	c := api.OrderClocks{AcknowledgedAt: o.AcknowledgedAt, StartedAt: o.StartedAt, RestoredAt: o.CompletedAt,
		PausedMinutes: int(paused(o.Pauses, now).Minutes()), Paused: len(o.Pauses) > 0 && o.Pauses[len(o.Pauses)-1].To.IsZero()}
	due := func(name string, from time.Time, limit time.Duration, met api.Time) api.Time {
		until := now
		if !met.IsZero() {
			until = met.Time
		} else if !o.open() {
			until = o.UpdatedAt.Time // cancelled
		}
		at := from.Add(limit + paused(o.Pauses, until))
		if until.After(at) {
			c.Breached = append(c.Breached, name)
		}
		return api.At(at)
	}
	c.AcknowledgeDue = due("acknowledge", o.CreatedAt.Time, l.Acknowledge, o.AcknowledgedAt)
	c.StartDue = due("start", begin, l.Start, o.StartedAt)
	c.RestoreDue = due("restore", begin, l.Restore, o.CompletedAt)
	return c
}

// endLast ends the last span, if it is open.
func endLast(spans []span, at time.Time) {
	if n := len(spans); n > 0 && spans[n-1].To.IsZero() {
		spans[n-1].To = at
	}
}

// heldSince are the holds that began at or after a time.
func (o order) heldSince(t api.Time) (since []span) {
	for _, h := range o.Holds {
		if !h.From.Before(t.Time) {
			since = append(since, h)
		}
	}
	return since
}

// tenth rounds hours to a tenth.
func tenth(hours float64) float64 { return math.Round(hours*10) / 10 }

// categories are the categories of availability of a unit that is stopped for work,
// by its type. Emergency work follows a failure.
var categories = map[string]kpi.Category{
	api.MaintenancePreventive: kpi.ScheduledMaintenance,
	api.MaintenanceCorrective: kpi.PlannedCorrective,
	api.MaintenanceEmergency:  kpi.ForcedOutage,
}

// stoppedFor returns the times in which work kept units of a site stopped, with the
// holds of its orders in which the work was interrupted.
func stoppedFor(tx store.Tx, siteID string) (list []availability.Work, err error) {
	err = orders.Each(tx, store.Query{Prefix: store.Key(siteID)}, func(o order) error {
		for _, d := range o.Downtime {
			w := availability.Work{OrderID: o.OrderID, AssetID: o.AssetID, Category: categories[o.MaintenanceType], From: d.From.Time, To: d.To.Time}
			for _, h := range o.Holds {
				if (d.To.IsZero() || h.From.Before(d.To.Time)) && (h.To.IsZero() || h.To.After(d.From.Time)) {
					w.Interruptions = append(w.Interruptions, availability.Interruption(h))
				}
			}
			list = append(list, w)
		}
		return nil
	})
	return list, err
}
