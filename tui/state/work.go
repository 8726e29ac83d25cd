package state

import (
	"context"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// The queries of planned work.
const (
	QueryOrders    Query = "orders"
	QueryOrder     Query = "order" // about one, with parts and history
	QuerySchedules Query = "schedules"
	QueryBOMs      Query = "boms"
	QueryWindows   Query = "windows" // for work at a unit
)

// VisitHours is the length of work of which no bill of materials says how long
// it takes.
const VisitHours = 3

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

var workSources = map[Query]source{
	QueryOrders: of(func(s *Site) *Value[[]api.Order] { return &s.Orders }, func(ctx context.Context, c *client.Client, r Request) ([]api.Order, error) {
		v, err := c.Orders(ctx, r.list(), api.OrderRequest{})
		return field(v, err, func() []api.Order { return v.Orders })
	}),
	QueryOrder: about(func(s *Site) *Value[api.Order] { return &s.Order }, func(ctx context.Context, c *client.Client, r Request) (api.Order, error) {
		v, err := c.Order(ctx, r.id)
		return field(v, err, func() api.Order { return *v })
	}),
	QuerySchedules: of(func(s *Site) *Value[[]api.Schedule] { return &s.Schedules }, func(ctx context.Context, c *client.Client, r Request) ([]api.Schedule, error) {
		v, err := c.Schedules(ctx, r.list(), "")
		return field(v, err, func() []api.Schedule { return v.Schedules })
	}),
	QueryBOMs: of(func(s *Site) *Value[[]api.BOM] { return &s.BOMs }, func(ctx context.Context, c *client.Client, r Request) ([]api.BOM, error) {
		v, err := c.BOMs(ctx, r.list())
		return field(v, err, func() []api.BOM { return v.BOMs })
	}),
	QueryWindows: windows(about(func(s *Site) *Value[api.ProposeResponse] { return &s.Windows }, func(ctx context.Context, c *client.Client, r Request) (api.ProposeResponse, error) {
		v, err := c.Propose(ctx, api.ScheduleRequest{CustomerID: r.site.CustomerID, SiteID: r.site.SiteID, AssetID: r.id,
			MaintenanceType: api.MaintenanceCorrective, EstimatedDurationHours: r.hours})
		return field(v, err, func() api.ProposeResponse { return *v })
	})),
}

// windows are asked for as long as the work takes.
func windows(src source) source {
	src.prepare = func(s *Store, r *Request, _ time.Time) bool {
		r.hours = s.Site.WorkHours(r.id)
		return true
	}
	return src
}
