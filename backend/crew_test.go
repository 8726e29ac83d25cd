package backend

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/feed"
	"app.sunloop/backend/store"
	"app.sunloop/engine/simulate"
)

// The demo's crew makes orders of what is found, once, and leaves the worst finding of
// the site that is named.
func TestOperatorsWorkOnFindings(t *testing.T) {
	for _, left := range []bool{false, true} {
		t.Run(fmt.Sprintf("left %v", left), func(t *testing.T) { operatorsWork(t, left) })
	}
}

func operatorsWork(t *testing.T, left bool) {
	now := time.Date(2026, 4, 15, 8, 0, 0, 0, time.UTC)
	h := open(t, Config{DataDir: t.TempDir(), Now: func() time.Time { return now }})
	fleet := simulate.Demo(1, now.AddDate(0, 0, -2), now)
	fleet.Sites = fleet.Sites[:1]
	clock := feed.NewClock(now, 1, func() time.Time { return now })
	player := feed.Player{Client: h.Client, Fleet: fleet, Clock: clock}
	if err := player.Register(t.Context()); err != nil {
		t.Fatal(err)
	}
	site, err := h.Site(t.Context(), api.SiteRef{SiteID: fleet.Sites[0].ID})
	if err != nil {
		t.Fatal(err)
	}
	run := finding.Run{Site: *site, Now: now, From: now.AddDate(0, 0, -60)}
	for i, severity := range []string{api.SeverityWarning, api.SeverityCritical, api.SeverityNormal} {
		unit := fleet.Sites[0].Units[i].AssetID
		run.Units = append(run.Units, unit)
		run.Events = append(run.Events, finding.Event{Family: "string_outage", Units: []string{unit}, Start: now.Add(-time.Hour), LastSeen: now, Severity: severity,
			EnergyAtRiskKW: float64(i), Summary: "It makes less than its peers."})
	}
	if err := h.service.opened.Load().records.Update(t.Context(), func(tx store.Tx) error {
		_, err := h.service.Domain().Detections.RecordRun(tx, run)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second finds the orders there
		ctx, cancel := context.WithCancel(t.Context())
		requests := 0
		counted := client.New(client.Options{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if requests++; requests > 100 { // of which the first look takes less than half
				cancel()
			}
			return client.InProcess(h.service.Handler()).RoundTrip(r)
		}), Credential: h.key, Now: time.Now})
		crew := feed.Operators{Client: counted, Fleet: fleet, Clock: clock, Look: time.Millisecond}
		if left {
			crew.LeaveAt = site.SiteID
		}
		if err := crew.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		counted.Close()
	}
	q := api.ListQuery{SiteID: site.SiteID}
	orders, err := h.Orders(t.Context(), q, api.OrderRequest{})
	if left {
		if err != nil || orders.Count != 1 || orders.Orders[0].AssetID != fleet.Sites[0].Units[0].AssetID {
			t.Fatalf("orders %+v, %v; want one, of the finding that is not the worst", orders, err)
		}
		return
	}
	if err != nil || orders.Count != 2 {
		t.Fatalf("orders %+v, %v", orders, err)
	}
	by := map[string]api.Order{}
	for _, o := range orders.Orders {
		by[o.Status] = o
	}
	if begun := by[api.OrderInProgress]; begun.AssetID != fleet.Sites[0].Units[1].AssetID || begun.Priority != api.PriorityHigh || begun.IssueID == "" {
		t.Errorf("begun is %+v", begun)
	}
	if waits := by[api.OrderPending]; waits.AssetID != fleet.Sites[0].Units[0].AssetID || waits.AssignedTechnician != api.TechnicianUnassigned {
		t.Errorf("what waits is %+v", waits)
	}
	plans, err := h.Schedules(t.Context(), q, api.SchedulePending)
	if err != nil || plans.Count != 3 || plans.Schedules[0].EveryMonths != 12 {
		t.Errorf("inspections %+v, %v", plans, err)
	}
}

// roundTrip is a transport by a function.
type roundTrip func(r *http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The crew completes the repair that it began when the time has ended, and no other one; a
// completed order, also one of a person, ends its fault in the fleet from then on.
func TestOperatorsEndRepairedFaults(t *testing.T) {
	begin := time.Date(2026, 4, 15, 8, 0, 0, 0, time.UTC)
	now := begin
	h := open(t, Config{DataDir: t.TempDir(), Now: func() time.Time { return now }})
	fleet := simulate.Demo(1, begin.AddDate(0, 0, -2), begin)
	fleet.Sites = fleet.Sites[:1]
	s := fleet.Sites[0]
	clock := feed.NewClock(begin, 1, func() time.Time { return now })
	if err := (&feed.Player{Client: h.Client, Fleet: fleet, Clock: clock}).Register(t.Context()); err != nil {
		t.Fatal(err)
	}
	site, err := h.Site(t.Context(), api.SiteRef{SiteID: s.ID})
	if err != nil {
		t.Fatal(err)
	}
	run := finding.Run{Site: *site, Now: now, From: now.AddDate(0, 0, -60)}
	var faults []simulate.Fault
	for i, severity := range []string{api.SeverityWarning, api.SeverityCritical, api.SeverityNormal} {
		unit := s.Units[i].AssetID
		run.Units = append(run.Units, unit)
		run.Events = append(run.Events, finding.Event{Family: simulate.StringLoss.Family(), Units: []string{unit}, Start: now.Add(-time.Hour), LastSeen: now, Severity: severity,
			EnergyAtRiskKW: float64(i), Summary: "It makes less than its peers."})
		faults = append(faults, simulate.Fault{ID: unit, Kind: simulate.StringLoss, Units: []string{unit}, From: now.Add(-25 * time.Hour), Severity: 0.3})
	}
	s.SetFaults(faults)
	if err := h.service.opened.Load().records.Update(t.Context(), func(tx store.Tx) error {
		_, err := h.service.Domain().Detections.RecordRun(tx, run)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	work := func() {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		requests := 0
		counted := client.New(client.Options{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if requests++; requests > 100 {
				cancel()
			}
			return client.InProcess(h.service.Handler()).RoundTrip(r)
		}), Credential: h.key, Now: time.Now})
		defer counted.Close()
		if err := (&feed.Operators{Client: counted, Fleet: fleet, Clock: clock, Look: time.Millisecond}).Run(ctx); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	order := func(unit int) api.Order {
		t.Helper()
		list, err := h.Orders(t.Context(), api.ListQuery{SiteID: s.ID}, api.OrderRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Orders {
			if o.AssetID == s.Units[unit].AssetID {
				return o
			}
		}
		t.Fatalf("unit %d has no order among %+v", unit, list.Orders)
		return api.Order{}
	}
	ends := func(unit int) time.Time {
		for _, f := range s.Faults {
			if f.ID == s.Units[unit].AssetID {
				return f.To
			}
		}
		t.Fatalf("the fault of unit %d is gone", unit)
		return time.Time{}
	}
	work()
	// A person begins the order that waits: the crew does not complete it.
	for _, r := range []api.OrderRequest{{Action: api.ActionAssign, AssignedTechnician: "Ana"}, {Action: api.ActionStart, Force: true, Note: "The parts are in the van"}} {
		r.OrderID = order(0).OrderID
		if _, err := h.MoveOrder(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	now = begin.Add(5 * time.Hour)
	work()
	if o := order(1); o.Status != api.OrderInProgress || !ends(1).IsZero() {
		t.Errorf("after 5 hours the crew's order is %s, its fault ends %v", o.Status, ends(1))
	}
	now = begin.Add(7 * time.Hour)
	work()
	if o := order(1); o.Status != api.OrderCompleted || o.CompletionNotes == "" || ends(1).IsZero() || ends(1).After(now) {
		t.Errorf("after 7 hours the crew's order is %+v, its fault ends %v", o, ends(1))
	}
	if o := order(0); o.Status != api.OrderInProgress || !ends(0).IsZero() {
		t.Errorf("the person's order is %s, its fault ends %v", o.Status, ends(0))
	}
	// It ends with the person's completion, also seen by a crew that starts later.
	now = begin.Add(9 * time.Hour)
	done, err := h.MoveOrder(t.Context(), api.OrderRequest{Action: api.ActionComplete, OrderID: order(0).OrderID, CompletionNotes: "New connector"})
	if err != nil {
		t.Fatal(err)
	}
	now = begin.Add(11 * time.Hour)
	was := ends(1)
	work()
	if to := ends(0); to.IsZero() || to.After(done.Order.CompletedAt.Time) || done.Order.CompletedAt.Sub(to) >= time.Hour {
		t.Errorf("completed at %v, the person's fault ends %v", done.Order.CompletedAt, to)
	}
	if !ends(1).Equal(was) || !ends(2).IsZero() {
		t.Errorf("the other faults end %v (before: %v) and %v", ends(1), was, ends(2))
	}
	full, err := h.Order(t.Context(), done.Order.OrderID)
	if err != nil || full.Costs == nil || full.Costs.Hours <= 0 || full.Costs.LostKWh == nil || len(full.Costs.Parts) == 0 {
		t.Errorf("the bill of the order is %+v, %v", full, err)
	}
}
