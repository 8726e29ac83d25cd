package state

import (
	"testing"

	"app.sunloop/backend/api"
)

// The details of an order and the windows of a unit are those that are shown:
// an answer about another one changes nothing.
func TestAnswersOfAnotherOrderAreDropped(t *testing.T) {
	s := open(t)
	if _, ok := s.Request(QueryOrder, start); ok {
		t.Error("no order is shown, and one is asked for")
	}
	s.Want(QueryOrder, "o1")
	s.Want(QueryWindows, "A")
	order, windows := ask(t, s, QueryOrder), ask(t, s, QueryWindows)
	s.Want(QueryOrder, "o2")
	s.Want(QueryWindows, "B")
	for _, a := range []Answer{{Request: order, Value: api.Order{OrderID: "o1"}}, {Request: windows, Value: api.ProposeResponse{AssetID: "A"}}} {
		if changed, _ := s.Apply(a, start); changed {
			t.Errorf("%s of another one came in", a.Request.Query)
		}
	}
	s.Apply(Answer{Request: ask(t, s, QueryOrder), Value: api.Order{OrderID: "o2"}}, start)
	if s.Site.Order.Data.OrderID != "o2" || !s.Site.Windows.At.IsZero() {
		t.Errorf("order %+v, windows %+v", s.Site.Order.Data, s.Site.Windows)
	}
}

// Work takes as long as the unit's newest bill says that no order has taken.
func TestWorkHours(t *testing.T) {
	s := open(t)
	s.Site.BOMs.Set([]api.BOM{{AssetID: "A", OrderID: "o", EstimatedHours: 9}, {AssetID: "A", SummaryID: "f", EstimatedHours: 4}}, start)
	for unit, want := range map[string]float64{"A": 4, "B": VisitHours} {
		if got := s.Site.WorkHours(unit); got != want {
			t.Errorf("%s: %g h, want %g", unit, got, want)
		}
	}
	if s.Site.FreeBOM("A", "other") != nil {
		t.Error("a bill of another finding was taken")
	}
	s.Site.Orders.Set([]api.Order{{OrderID: "done", SummaryID: "f", Status: api.OrderCompleted}, {OrderID: "open", SummaryID: "f", Status: api.OrderOnHold}}, start)
	if o := s.Site.OpenOrder("f"); o == nil || o.OrderID != "open" || s.Site.OpenOrder("") != nil {
		t.Errorf("open order: %+v", o)
	}
}
