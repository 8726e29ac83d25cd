package maintenance

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// An order that should have begun two weeks ago gives its parts back, with a
// warning, and reserves them again when it starts.
func TestReservationExpires(t *testing.T) {
	const fuse = "FUSE-GPV-15A"
	d := newDesk(t, nil)
	n := 2
	if _, err := d.AdjustStock(t.Context(), boss, api.PartsRequest{CustomerID: acme, PartNumber: fuse, OnHand: &n, Reason: "r"}); err != nil {
		t.Fatal(err)
	}
	o, begun := d.order(), d.order()
	d.move(api.OrderRequest{Action: api.ActionStart, OrderID: begun.OrderID, Force: true, Note: "n"})
	reserved := func() (v stock) {
		t.Helper()
		if err := d.store.View(t.Context(), func(tx store.Tx) (err error) { v, err = d.stockOf(tx, acme, fuse); return err }); err != nil {
			t.Fatal(err)
		}
		return v
	}
	d.clock = o.PlannedStart.Add(api.ReservationLasts)
	if err := d.Sweep(t.Context()); err != nil || reserved().Reserved != 2 {
		t.Errorf("on the last day %+v, %v", reserved(), err)
	}
	d.clock = d.clock.Add(time.Second)
	for range 2 { // the second finds nothing to do
		if err := d.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	late, err := d.Order(t.Context(), boss, o.OrderID)
	if err != nil || reserved().Reserved != 0 || len(late.Warnings) != 1 || !strings.Contains(late.Warnings[0], "released") || late.Version != o.Version+1 {
		t.Errorf("after it %+v, %d reserved, %v", late, reserved().Reserved, err)
	}
	if started := d.move(api.OrderRequest{Action: api.ActionStart, OrderID: o.OrderID}); reserved().Reserved != 2 || len(started.Warnings) != 0 {
		t.Errorf("started it is %+v, %d reserved", started, reserved().Reserved)
	}
}

// Of many who move an order at once one does it, and it is written once.
func TestConcurrentTransitionsSucceedOnce(t *testing.T) {
	d := newDesk(t, nil)
	o := d.order()
	d.subscribe(o.OrderID)
	var did atomic.Int64
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			_, changed, err := d.MoveOrder(t.Context(), boss, api.OrderRequest{Action: api.ActionStart, OrderID: o.OrderID})
			if err != nil {
				t.Error(err)
			}
			if changed {
				did.Add(1)
			}
		})
	}
	all.Wait()
	now, err := d.Order(t.Context(), boss, o.OrderID)
	if _, events := d.tracked(o.OrderID); err != nil || did.Load() != 1 || len(now.History) != 2 || len(events) != 1 {
		t.Errorf("%d did it, the history is %+v, events %+v, %v", did.Load(), now.History, events, err)
	}
}
