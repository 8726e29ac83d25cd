package maintenance

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"app.sunloop/backend/api"
)

// bill is a new bill of materials of the unit.
func (d *desk) bill(assetID string) api.BOM {
	d.t.Helper()
	b, err := d.GenerateBOM(d.t.Context(), boss, api.BOMRequest{AssetID: assetID})
	if err != nil {
		d.t.Fatal(err)
	}
	return b
}

// A finding has one open order, unless another is asked for or one that was
// completed is opened again.
func TestOneOpenOrderOfAFinding(t *testing.T) {
	d := newDesk(t, nil)
	d.judge(true)
	first := d.order()
	if first.SummaryID == "" {
		t.Fatal("the order is about no finding")
	}
	again := api.OrderRequest{CustomerID: acme, BOMID: d.bill(inv).BOMID}
	refused := func(status string) {
		t.Helper()
		_, err := d.CreateOrder(t.Context(), boss, again)
		var refusal *api.Error
		if !errors.As(err, &refusal) || refusal.Status != http.StatusConflict || refusal.Details["order_id"] != first.OrderID || refusal.Details["order_status"] != status ||
			refusal.Details["summary_id"] != first.SummaryID || !strings.Contains(refusal.Message, first.OrderID+", which is "+status) {
			t.Errorf("a second order while the first is %s: %v", status, err)
		}
	}
	refused(api.OrderPending)
	d.move(api.OrderRequest{Action: api.ActionHold, OrderID: first.OrderID, HoldReason: api.HoldParts})
	refused(api.OrderOnHold)
	d.move(api.OrderRequest{Action: api.ActionStart, OrderID: first.OrderID})
	refused(api.OrderInProgress)
	if b, err := d.BOM(t.Context(), boss, again.BOMID); err != nil || b.OrderID != "" {
		t.Errorf("a refused order took the bill: %+v, %v", b, err)
	}

	more := again
	more.Additional = true
	second, err := d.CreateOrder(t.Context(), boss, more)
	if err != nil || second.SummaryID != first.SummaryID {
		t.Fatalf("an additional order: %+v, %v", second, err)
	}
	d.move(api.OrderRequest{Action: api.ActionCancel, OrderID: second.OrderID, Reason: "one was enough"})
	refused(api.OrderInProgress)
	d.move(api.OrderRequest{Action: api.ActionComplete, OrderID: first.OrderID, CompletionNotes: "n"})
	third, err := d.CreateOrder(t.Context(), boss, again)
	if err != nil {
		t.Fatalf("after the first is completed: %v", err)
	}
	if o := d.move(api.OrderRequest{Action: api.ActionReopen, OrderID: first.OrderID, Reason: "it trips again"}); o.Status != api.OrderInProgress {
		t.Errorf("reopened next to %s it is %s", third.OrderID, o.Status)
	}

	// Work that is about no finding has as many orders as one likes.
	for range 2 {
		if _, err := d.CreateOrder(t.Context(), boss, api.OrderRequest{CustomerID: acme, BOMID: d.bill("INV-2").BOMID}); err != nil {
			t.Error(err)
		}
	}
}

// Of many who make an order of the same finding at once, one does.
func TestOrdersOfAFindingRace(t *testing.T) {
	d := newDesk(t, nil)
	d.judge(true)
	const clerks = 8
	results := make([]error, clerks)
	var all sync.WaitGroup
	for i := range clerks {
		r := api.OrderRequest{CustomerID: acme, BOMID: d.bill(inv).BOMID}
		all.Go(func() { _, results[i] = d.CreateOrder(t.Context(), boss, r) })
	}
	all.Wait()
	made := 0
	for _, err := range results {
		var refusal *api.Error
		switch {
		case err == nil:
			made++
		case !errors.As(err, &refusal) || refusal.Status != http.StatusConflict:
			t.Error(err)
		}
	}
	if made != 1 {
		t.Errorf("%d orders were made", made)
	}
}
