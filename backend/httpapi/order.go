package httpapi

import (
	"context"
	"fmt"

	"app.sunloop/backend/api"
)

// Orders are the work that somebody is to do.
type Orders interface {
	// CreateOrder answers the order as stored; 409 when its bill, its schedule
	// or its finding is another open order's.
	CreateOrder(ctx context.Context, scope api.Scope, r api.OrderRequest) (api.Order, error)
	// Order answers api.ErrOrderNotFound for an unknown id.
	Order(ctx context.Context, scope api.Scope, orderID string) (api.Order, error)
	// Orders lists open ones first, each the newest first; r narrows further.
	Orders(ctx context.Context, scope api.Scope, q api.ListQuery, r api.OrderRequest) ([]api.Order, string, error)
	// MoveOrder does what r.Action says; changed is false for an order that is
	// there already, and a move that is not allowed is a 409 that names those
	// that are.
	MoveOrder(ctx context.Context, scope api.Scope, r api.OrderRequest) (_ api.Order, changed bool, err error)
}

// orderActions are the moves by action, in words.
var orderActions = map[string]string{
	api.ActionAssign: "Work order assigned", api.ActionStart: "Work order started", api.ActionHold: "Work order put on hold", api.ActionResume: "Work order resumed",
	api.ActionComplete: "Work order completed", api.ActionCancel: "Work order cancelled", api.ActionReopen: "Work order opened again",
}

func (s *server) order(in *input) (*call, error) {
	var b api.OrderRequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	c := &call{action: b.Action, target: target{customerID: b.CustomerID, siteID: &b.SiteID}, fingerprint: in.digest()}
	one := func(message string, o api.Order, err error) (any, error) {
		return api.OrderResponse{Success: true, Message: message, OrderID: o.OrderID, AssetID: o.AssetID, Status: o.Status,
			EstimatedCompletion: o.EstimatedCompletion, Order: &o, Count: 1}, err
	}
	switch b.Action {
	case api.ActionCreate:
		if err := checkNewOrder(&b); err != nil {
			return nil, err
		}
		if b.AssetID != "" {
			c.target.asset = &api.AssetRef{AssetID: b.AssetID, SiteID: b.SiteID, CustomerID: b.CustomerID}
		}
		c.run = func(ctx context.Context, g granted) (any, error) {
			o, err := s.Orders.CreateOrder(ctx, g.scope, b)
			return one("Work order created", o, err)
		}
		return c, nil
	case api.ActionList:
		if err := optionalWord("status", &b.Status, api.OrderStatuses()); err != nil {
			return nil, err
		}
		t, q, err := worklist(b.AssetID, b.SiteID, b.CustomerID, b.Page)
		if err != nil {
			return nil, err
		}
		c.target = t
		c.run = func(ctx context.Context, g granted) (any, error) {
			list, next, err := s.Orders.Orders(ctx, g.scope, g.about(q), b)
			return api.OrderResponse{Success: true, Orders: there(list), Count: len(list), NextCursor: next}, err
		}
		return c, nil
	}
	done, moves := orderActions[b.Action]
	if !moves && b.Action != api.ActionGet {
		return nil, api.ErrInvalidAction
	}
	if err := checkOrderMove(&b); err != nil {
		return nil, err
	}
	c.run = func(ctx context.Context, g granted) (any, error) {
		if !moves {
			o, err := s.Orders.Order(ctx, g.scope, b.OrderID)
			return one("", o, err)
		}
		o, changed, err := s.Orders.MoveOrder(ctx, g.scope, b)
		if !changed {
			return one(fmt.Sprintf("Nothing to do: the work order is %s, assigned to %s", o.Status, o.AssignedTechnician), o, err)
		}
		return one(done, o, err)
	}
	return c, nil
}

// checkNewOrder holds an order to the specification's fields. With
// customer_id the bill alone is enough.
func checkNewOrder(b *api.OrderRequest) error {
	var absent []string
	need := func(name string, there, always bool) {
		if !there && (always || b.CustomerID == "") {
			absent = append(absent, name)
		}
	}
	need("asset_id", b.AssetID != "", false)
	need("schedule_id", b.ScheduleID != "", false)
	need("bom_id", b.BOMID != "", true)
	need("assigned_technician", b.AssignedTechnician != "", false)
	need("estimated_duration_hours", b.EstimatedDurationHours != 0, false)
	need("priority", b.Priority != "", false)
	if len(absent) > 0 {
		return api.MissingField(absent[0]).With("missing", absent)
	}
	if err := optionalWord("priority", &b.Priority, api.Priorities()); err != nil {
		return err
	}
	return hours("estimated_duration_hours", b.EstimatedDurationHours)
}

// hours refuses what is no duration of work; 0 is left out.
func hours(name string, v float64) error {
	if v != 0 && !(v > 0 && v <= api.MaxOrderHours) {
		return api.InvalidField(name, fmt.Sprintf("a number above 0 and up to %d", api.MaxOrderHours))
	}
	return nil
}

// checkOrderMove checks what an action on an order needs.
func checkOrderMove(b *api.OrderRequest) error {
	switch {
	case b.OrderID == "":
		return api.MissingField("order_id")
	case b.Action == api.ActionAssign && blank(b.AssignedTechnician):
		return api.MissingField("assigned_technician")
	case b.Action == api.ActionHold:
		return word("hold_reason", &b.HoldReason, api.HoldReasons())
	case b.Action == api.ActionComplete && blank(b.CompletionNotes):
		return api.MissingField("completion_notes")
	case (b.Action == api.ActionCancel || b.Action == api.ActionReopen) && blank(b.Reason):
		return api.MissingField("reason")
	}
	for i, p := range b.PartsUsed {
		at := fmt.Sprintf("parts_used[%d].", i)
		switch {
		case p.PartNumber == "":
			return api.MissingField(at + "part_number")
		case p.Quantity < 0 || p.Quantity > api.MaxStock:
			return api.InvalidField(at+"quantity", fmt.Sprintf("a whole number from 0 to %d", api.MaxStock))
		}
	}
	return hours("actual_hours", b.ActualHours)
}
