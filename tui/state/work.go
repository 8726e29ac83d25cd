package state

import (
	"context"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// VisitHours is the length of work of which no bill of materials says how long
// it takes.
const VisitHours = 3

// ShowOrder names the order whose details are wanted; empty for none.
func (s *Store) ShowOrder(orderID string) {
	if s.Site != nil && s.Site.OrderID != orderID {
		s.Site.OrderID, s.Site.Order = orderID, Value[api.Order]{}
		s.Planner.Drop(QueryOrder)
	}
}

// ShowWindows names the unit for which windows of work are wanted; empty for
// none.
func (s *Store) ShowWindows(assetID string) {
	if s.Site != nil && s.Site.WindowsOf != assetID {
		s.Site.WindowsOf, s.Site.Windows = assetID, Value[api.ProposeResponse]{}
		s.Planner.Drop(QueryWindows)
	}
}

// FreeBOM is the newest bill of materials of a unit that no order has taken;
// findingID narrows it to one finding unless it is empty. Nil without one.
func (s *Site) FreeBOM(assetID, findingID string) *api.BOM {
	for i, b := range s.BOMs.Data {
		if b.AssetID == assetID && b.OrderID == "" && (findingID == "" || b.SummaryID == findingID) {
			return &s.BOMs.Data[i]
		}
	}
	return nil
}

// WorkHours is how long work at a unit takes: as its newest bill says.
func (s *Site) WorkHours(assetID string) float64 {
	if b := s.FreeBOM(assetID, ""); b != nil && b.EstimatedHours > 0 {
		return b.EstimatedHours
	}
	return VisitHours
}

// OpenOrder is the open order of a finding; nil without one.
func (s *Site) OpenOrder(findingID string) *api.Order {
	for i, o := range s.Orders.Data {
		if findingID != "" && o.SummaryID == findingID && o.Status != api.OrderCompleted && o.Status != api.OrderCancelled {
			return &s.Orders.Data[i]
		}
	}
	return nil
}

// work is what asks for a query about planned work.
func (r Request) work() (ask func(context.Context, *client.Client, api.ListQuery) (any, error), ok bool) {
	ask, ok = map[Query]func(context.Context, *client.Client, api.ListQuery) (any, error){
		QueryOrders: func(ctx context.Context, c *client.Client, list api.ListQuery) (any, error) {
			v, err := c.Orders(ctx, list, api.OrderRequest{})
			return part(v, err, func(v *api.OrderResponse) []api.Order { return v.Orders })
		},
		QueryOrder: func(ctx context.Context, c *client.Client, _ api.ListQuery) (any, error) {
			v, err := c.Order(ctx, r.id)
			return part(v, err, func(v *api.Order) api.Order { return *v })
		},
		QuerySchedules: func(ctx context.Context, c *client.Client, list api.ListQuery) (any, error) {
			v, err := c.Schedules(ctx, list, "")
			return part(v, err, func(v *api.ScheduleResponse) []api.Schedule { return v.Schedules })
		},
		QueryBOMs: func(ctx context.Context, c *client.Client, list api.ListQuery) (any, error) {
			v, err := c.BOMs(ctx, list)
			return part(v, err, func(v *api.BOMResponse) []api.BOM { return v.BOMs })
		},
		QueryWindows: func(ctx context.Context, c *client.Client, list api.ListQuery) (any, error) {
			v, err := c.Propose(ctx, api.ScheduleRequest{CustomerID: list.CustomerID, SiteID: list.SiteID, AssetID: r.id,
				MaintenanceType: api.MaintenanceCorrective, EstimatedDurationHours: r.hours})
			return part(v, err, func(v *api.ProposeResponse) api.ProposeResponse { return *v })
		},
	}[r.Query]
	return ask, ok
}

// applyWork takes an answer about planned work in and says whether anything
// on screen may change.
func (s *Store) applyWork(a Answer, now time.Time) (changed bool) {
	switch v := a.Value.(type) {
	case []api.Order:
		s.Site.Orders.Good(v, now)
	case api.Order:
		if a.Request.id != s.Site.OrderID {
			return false // of one that was left
		}
		s.Site.Order.Good(v, now)
	case []api.Schedule:
		s.Site.Schedules.Good(v, now)
	case []api.BOM:
		s.Site.BOMs.Good(v, now)
	case api.ProposeResponse:
		if a.Request.id != s.Site.WindowsOf {
			return false
		}
		s.Site.Windows.Good(v, now)
	}
	return true
}
