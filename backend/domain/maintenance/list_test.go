package maintenance

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"app.sunloop/backend/api"
)

// Narrowed by status or not, in pages of any size: the lists have the same
// orders in the same order, open ones first.
func TestOrderListsAgree(t *testing.T) {
	d := newDesk(t, nil)
	for i := range 12 {
		o := d.order()
		if i%3 > 0 {
			d.move(api.OrderRequest{Action: api.ActionStart, OrderID: o.OrderID})
		}
		if i%3 == 2 {
			d.move(api.OrderRequest{Action: api.ActionComplete, OrderID: o.OrderID, CompletionNotes: "n"})
		}
		if i%4 == 3 && i%3 < 2 {
			d.move(api.OrderRequest{Action: api.ActionCancel, OrderID: o.OrderID, Reason: "r"})
		}
	}
	all := func(rt *rapid.T, q api.ListQuery, r api.OrderRequest, limit int) (out []api.Order) {
		q.Limit = limit
		for first := true; first || q.Cursor != ""; first = false {
			list, next, err := d.Orders(t.Context(), boss, q, r)
			if err != nil {
				rt.Fatal(err)
			}
			if len(list) > limit {
				rt.Fatalf("%d of at most %d", len(list), limit)
			}
			out, q.Cursor = append(out, list...), next
		}
		return out
	}
	open := func(o api.Order) bool { return o.Status != api.OrderCompleted && o.Status != api.OrderCancelled }
	ids := func(list []api.Order) (out []string) {
		for _, o := range list {
			out = append(out, o.OrderID)
		}
		return out
	}
	rapid.Check(t, func(rt *rapid.T) {
		q := rapid.SampledFrom([]api.ListQuery{{CustomerID: acme}, {SiteID: south}, {SiteID: south, AssetID: inv}, {}}).Draw(rt, "of")
		limit := rapid.IntRange(1, 13).Draw(rt, "limit")
		whole := all(rt, q, api.OrderRequest{}, limit)
		if len(whole) != 12 || !slices.IsSortedFunc(whole, func(a, b api.Order) int { return boolToInt(!open(a)) - boolToInt(!open(b)) }) {
			rt.Fatalf("%d orders: %v", len(whole), ids(whole))
		}
		status := rapid.SampledFrom(api.OrderStatuses()).Draw(rt, "status")
		want := ids(slices.DeleteFunc(slices.Clone(whole), func(o api.Order) bool { return o.Status != status }))
		if got := ids(all(rt, q, api.OrderRequest{Status: status}, limit)); !slices.Equal(got, want) {
			rt.Fatalf("%s: %v, want %v", status, got, want)
		}
		want = ids(slices.DeleteFunc(slices.Clone(whole), func(o api.Order) bool { return !open(o) }))
		if got := ids(all(rt, q, api.OrderRequest{OpenOnly: true}, limit)); !slices.Equal(got, want) {
			rt.Fatalf("open: %v, want %v", got, want)
		}
	})
}
