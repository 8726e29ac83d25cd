package httpapi

import (
	"context"
	"fmt"

	"app.sunloop/backend/api"
)

// Orders are work for technicians.
type Orders interface {
	// CreateOrder returns the order as stored; 409 when its bill, its schedule
	// or its finding is another open order's.
	CreateOrder(ctx context.Context, scope api.Scope, r api.OrderRequest) (api.Order, error)
	// Order returns api.ErrOrderNotFound for an unknown id.
	Order(ctx context.Context, scope api.Scope, orderID string) (api.Order, error)
	// Orders lists open ones first, each the newest first; r narrows further.
	Orders(ctx context.Context, scope api.Scope, q api.ListQuery, r api.OrderRequest) ([]api.Order, string, error)
	// MoveOrder does what r.Action says; changed is false for an order that is
	// there already, and a move that is not allowed is a 409 that names those
	// that are.
	MoveOrder(ctx context.Context, scope api.Scope, r api.OrderRequest) (_ api.Order, changed bool, err error)
}

func (s *server) orderHandlers() {
	one := func(message string, o api.Order, err error) (api.OrderResponse, error) {
		return api.OrderResponse{Success: true, Message: message, OrderID: o.OrderID, AssetID: o.AssetID, Status: o.Status,
			EstimatedCompletion: o.EstimatedCompletion, Order: &o, Count: 1}, err
	}
	handle(s, api.CreateOrder, func(ctx context.Context, c *caller, r *api.OrderRequest) (api.OrderResponse, error) {
		o, err := s.Orders.CreateOrder(ctx, c.scope, *r)
		return one("Work order created", o, err)
	})
	handle(s, api.ListOrders, func(ctx context.Context, c *caller, r *api.OrderRequest) (api.OrderResponse, error) {
		list, next, err := s.Orders.Orders(ctx, c.scope, c.ofTarget(r.CustomerID, r.SiteID, r.AssetID, r.Page), *r)
		return api.OrderResponse{Success: true, Orders: nonNil(list), Count: len(list), NextCursor: next}, err
	})
	handle(s, api.GetOrder, func(ctx context.Context, c *caller, r *api.OrderRequest) (api.OrderResponse, error) {
		o, err := s.Orders.Order(ctx, c.scope, r.OrderID)
		return one("", o, err)
	})
	for e, message := range map[api.Endpoint[api.OrderRequest, api.OrderResponse]]string{
		api.AssignOrder: "Work order assigned", api.StartOrder: "Work order started", api.HoldOrder: "Work order put on hold", api.ResumeOrder: "Work order resumed",
		api.CompleteOrder: "Work order completed", api.CancelOrder: "Work order cancelled", api.ReopenOrder: "Work order reopened",
	} {
		handle(s, e, func(ctx context.Context, c *caller, r *api.OrderRequest) (api.OrderResponse, error) {
			o, changed, err := s.Orders.MoveOrder(ctx, c.scope, *r)
			if !changed {
				return one(fmt.Sprintf("Nothing to do: the work order is %s, assigned to %s", o.Status, o.AssignedTechnician), o, err)
			}
			return one(message, o, err)
		})
	}
}
