package maintenance

import (
	"fmt"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// full is a desk with n open orders, each with a history and parts, of one
// unit in turn.
func full(b *testing.B, n int) *desk {
	b.Helper()
	d := newDesk(b, nil)
	o := d.order()
	var model order
	if err := d.store.Update(b.Context(), func(tx store.Tx) (err error) {
		if model, err = byID(tx, orders, boss, o.OrderID, api.ErrOrderNotFound, order.owner); err != nil {
			return err
		}
		for i := range n - 1 {
			one := model
			at := d.clock.Add(time.Duration(i) * time.Second)
			one.OrderID, one.CreatedAt, one.ScheduleID = fmt.Sprintf("ord_%08d", i), api.At(at), ""
			if err := orders.Insert(tx, one); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	return d
}

// BenchmarkOpenOrders has 10,000 open orders: a page of the newest hundred, one
// order, and a move of it, durable.
func BenchmarkOpenOrders(b *testing.B) {
	d := full(b, 10_000)
	q := api.ListQuery{CustomerID: acme, Page: api.Page{Limit: 100}}
	b.Run("page", func(b *testing.B) {
		for b.Loop() {
			list, next, err := d.Orders(b.Context(), boss, q, api.OrderRequest{})
			if err != nil || len(list) != 100 || next == "" {
				b.Fatal(len(list), err)
			}
		}
	})
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			if _, err := d.Order(b.Context(), boss, "ord_00005000"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("move", func(b *testing.B) {
		n := 0
		for b.Loop() {
			// Another order each time, as a history that grows is no measure.
			id := fmt.Sprintf("ord_%08d", n/2%9_000)
			r := api.OrderRequest{Action: api.ActionHold, OrderID: id, HoldReason: api.HoldWeather}
			if n%2 == 1 {
				r = api.OrderRequest{Action: api.ActionResume, OrderID: id}
			}
			if _, _, err := d.MoveOrder(b.Context(), boss, r); err != nil {
				b.Fatal(err)
			}
			n++
		}
	})
}
