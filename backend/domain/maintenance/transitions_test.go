package maintenance

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// What a console offers is what the table allows.
func TestOrderActionsMatchTheTable(t *testing.T) {
	for _, status := range api.OrderStatuses() {
		if _, want := nextOf(status); !slices.Equal(api.OrderActions(status), want) {
			t.Errorf("%s: %v, want %v", status, api.OrderActions(status), want)
		}
	}
}

// Whatever is asked of orders in whatever order: they move as the table says
// and not otherwise, refusals change nothing and name the ways out, and the
// stock always knows exactly what the orders hold.
func TestOrdersMoveByTheTableAndStockAddsUp(t *testing.T) {
	const fuse = "FUSE-GPV-15A"
	d := newDesk(t, nil)
	actions := []string{api.ActionStart, api.ActionHold, api.ActionResume, api.ActionComplete, api.ActionCancel, api.ActionReopen, api.ActionAssign}
	rapid.Check(t, func(rt *rapid.T) {
		count := rapid.IntRange(0, 6).Draw(rt, "fuses")
		if _, err := d.AdjustStock(rt.Context(), boss, api.PartsRequest{CustomerID: acme, PartNumber: fuse, OnHand: &count, Reason: "r"}); err != nil {
			rt.Fatal(err)
		}
		ids := []string{d.order().OrderID, d.order().OrderID}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			id := rapid.SampledFrom(ids).Draw(rt, "order")
			before, err := d.Order(rt.Context(), boss, id)
			if err != nil {
				rt.Fatal(err)
			}
			r := api.OrderRequest{Action: rapid.SampledFrom(actions).Draw(rt, "action"), OrderID: id, Reason: "r", CompletionNotes: "n",
				HoldReason: rapid.SampledFrom(api.HoldReasons()).Draw(rt, "hold"), Force: rapid.Bool().Draw(rt, "force"), Note: "by hand", AssignedTechnician: "grace"}
			d.clock = d.clock.Add(time.Duration(rapid.IntRange(0, 200).Draw(rt, "hours")) * time.Hour)
			after, changed, err := d.MoveOrder(rt.Context(), boss, r)
			var refusal *api.Error
			switch {
			case errors.As(err, &refusal):
				if refusal.Status != http.StatusConflict || refusal.Details == nil {
					rt.Fatalf("%s of %s: %v %v", r.Action, before.Status, err, refusal.Details)
				}
				if now, _ := d.Order(rt.Context(), boss, id); now.Version != before.Version || now.Status != before.Status {
					rt.Fatalf("a refused %s changed %+v to %+v", r.Action, before, now)
				}
			case err != nil:
				rt.Fatal(err)
			case changed && r.Action != api.ActionAssign && !slices.ContainsFunc(transitions, func(m transition) bool {
				return m.action == r.Action && m.from == before.Status && m.to == after.Status
			}):
				rt.Fatalf("%s moved %s to %s", r.Action, before.Status, after.Status)
			case changed && after.Version <= before.Version, !changed && after.Version != before.Version:
				rt.Fatalf("changed %v, version %d after %d", changed, after.Version, before.Version)
			}
			held := 0
			all, _, err := d.Orders(rt.Context(), boss, api.ListQuery{CustomerID: acme, Page: api.Page{Limit: api.MaxLimit}}, api.OrderRequest{OpenOnly: true})
			if err != nil {
				rt.Fatal(err)
			}
			for _, o := range all {
				whole, err := d.Order(rt.Context(), boss, o.OrderID)
				if err != nil {
					rt.Fatal(err)
				}
				for _, p := range whole.Parts {
					if p.PartNumber == fuse {
						held += p.Reserved
					}
				}
			}
			var v stock
			if err := d.store.View(rt.Context(), func(tx store.Tx) (err error) { v, err = d.stockOf(tx, acme, fuse); return err }); err != nil {
				rt.Fatal(err)
			}
			if v.Reserved != held || v.OnHand < 0 {
				rt.Fatalf("the stock has %d reserved of %d, the orders hold %d", v.Reserved, v.OnHand, held)
			}
		}
		for _, id := range ids { // leave nothing reserved to the next run
			o, err := d.Order(rt.Context(), boss, id)
			if err != nil {
				rt.Fatal(err)
			}
			if o.Status == api.OrderPending || o.Status == api.OrderInProgress || o.Status == api.OrderOnHold {
				if _, _, err := d.MoveOrder(rt.Context(), boss, api.OrderRequest{Action: api.ActionCancel, OrderID: id, Reason: "r"}); err != nil {
					_, _, err = d.MoveOrder(rt.Context(), boss, api.OrderRequest{Action: api.ActionResume, OrderID: id})
					if err == nil {
						_, _, err = d.MoveOrder(rt.Context(), boss, api.OrderRequest{Action: api.ActionComplete, OrderID: id, CompletionNotes: "n"})
					}
					if err != nil {
						rt.Fatal(err)
					}
				}
			}
		}
	})
}

// Due times move on by the holds that pause the limits, up to the moment
// at which they were met.
func TestClocksPause(t *testing.T) {
	d := newDesk(t, nil)
	o := d.order() // made at 08:00 with a technician; medium: a day, 7 days, 14 days
	begun := d.clock
	want := func(step string, o api.Order, start, restore time.Duration, breached ...string) {
		t.Helper()
		if got := o.Clocks.StartDue.Sub(begun); got != start {
			t.Errorf("%s: to start after %s, want %s", step, got, start)
		}
		if got := o.Clocks.RestoreDue.Sub(begun); got != restore {
			t.Errorf("%s: to restore after %s, want %s", step, got, restore)
		}
		if !slices.Equal(o.Clocks.Breached, breached) {
			t.Errorf("%s: breached %v, want %v", step, o.Clocks.Breached, breached)
		}
	}
	want("made", o, 7*day, 14*day)
	d.clock = d.clock.Add(time.Hour)
	d.move(api.OrderRequest{Action: api.ActionHold, OrderID: o.OrderID, HoldReason: api.HoldUtility})
	d.clock = d.clock.Add(2 * day)
	d.move(api.OrderRequest{Action: api.ActionResume, OrderID: o.OrderID})
	d.clock = d.clock.Add(time.Hour)
	o = d.move(api.OrderRequest{Action: api.ActionStart, OrderID: o.OrderID, Note: "n", Force: true})
	want("started after two days without the grid", o, 9*day, 16*day)
	d.move(api.OrderRequest{Action: api.ActionHold, OrderID: o.OrderID, HoldReason: api.HoldWeather})
	d.clock = d.clock.Add(3 * day)
	o = d.move(api.OrderRequest{Action: api.ActionResume, OrderID: o.OrderID})
	want("three days of storm later", o, 9*day, 19*day)
	d.clock = begun.Add(19*day + time.Second)
	o, err := d.Order(t.Context(), boss, o.OrderID)
	if err != nil {
		t.Fatal(err)
	}
	want("too late", o, 9*day, 19*day, "restore")
}
