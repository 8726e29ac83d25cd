package state

import (
	"context"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// The queries of planned work.
const (
	QueryOrders    Query = "orders"
	QueryOrder     Query = "order" // about one, with parts and history
	QuerySchedules Query = "schedules"
	QuerySchedule  Query = "schedule" // one, with its history
	QueryBOMs      Query = "boms"
	QueryBOM       Query = "bom"     // one, with its items
	QueryWindows   Query = "windows" // for work at a unit, or at WholeSite
	QueryParts     Query = "parts"

	QuerySubscriptions Query = "subscriptions"
	QueryDeliveries    Query = "deliveries" // of a subscription
)

// WholeSite replaces the unit in requests of windows for work on the whole
// site.
const WholeSite = "*"

// deliveriesShown bounds the deliveries of a subscription that are asked for.
const deliveriesShown = 100

// VisitHours is the length of work without a bill of materials.
const VisitHours = 3

// FreeBOM returns the newest bill of materials of a unit that no order has taken;
// findingID narrows it to one finding unless it is empty. Nil without one.
func (s *Site) FreeBOM(assetID, findingID string) *api.BOM {
	for i, b := range s.BOMs.Data {
		if b.AssetID == assetID && b.OrderID == "" && (findingID == "" || b.SummaryID == findingID) {
			return &s.BOMs.Data[i]
		}
	}
	return nil
}

// WorkHours returns how long work at a unit takes: as its newest bill says.
func (s *Site) WorkHours(assetID string) float64 {
	if b := s.FreeBOM(assetID, ""); b != nil && b.EstimatedHours > 0 {
		return b.EstimatedHours
	}
	return VisitHours
}

// OpenOrder returns the open order of a finding; nil without one.
func (s *Site) OpenOrder(findingID string) *api.Order {
	for i, o := range s.Orders.Data {
		if findingID != "" && o.SummaryID == findingID && o.Status != api.OrderCompleted && o.Status != api.OrderCancelled {
			return &s.Orders.Data[i]
		}
	}
	return nil
}

// KnowOrder stores an order that the service has just returned.
func (s *Site) KnowOrder(o api.Order) {
	s.Orders.Data = known(s.Orders.Data, cleaned(o), o.OrderID, func(o api.Order) string { return o.OrderID })
}

// KnowSchedule stores a schedule that the service has just returned.
func (s *Site) KnowSchedule(p api.Schedule) {
	s.Schedules.Data = known(s.Schedules.Data, cleaned(p), p.ScheduleID, func(p api.Schedule) string { return p.ScheduleID })
}

// KnowBOM stores a bill of materials that the service has just returned.
func (s *Site) KnowBOM(b api.BOM) {
	s.BOMs.Data = known(s.BOMs.Data, cleaned(b), b.BOMID, func(b api.BOM) string { return b.BOMID })
}

// known returns a list with one of its items replaced, or with it in front.
func known[T any](list []T, thing T, id string, idOf func(T) string) []T {
	if i := slices.IndexFunc(list, func(t T) bool { return idOf(t) == id }); i >= 0 {
		list = slices.Clone(list)
		list[i] = thing
		return list
	}
	return append([]T{thing}, list...)
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
	QuerySchedule: about(func(s *Site) *Value[api.Schedule] { return &s.Schedule }, func(ctx context.Context, c *client.Client, r Request) (api.Schedule, error) {
		v, err := c.Schedule(ctx, r.id)
		return field(v, err, func() api.Schedule { return *v })
	}),
	QueryBOM: about(func(s *Site) *Value[api.BOM] { return &s.BOM }, func(ctx context.Context, c *client.Client, r Request) (api.BOM, error) {
		v, err := c.BOM(ctx, r.id)
		return field(v, err, func() api.BOM { return *v })
	}),
	QueryParts: of(func(s *Site) *Value[[]api.Part] { return &s.Parts }, func(ctx context.Context, c *client.Client, r Request) ([]api.Part, error) {
		return everyPage(func(p api.Page) ([]api.Part, string, error) {
			v, err := c.Parts(ctx, api.PartsRequest{CustomerID: r.site.CustomerID, SiteID: r.site.SiteID, Page: p})
			if err != nil {
				return nil, "", err
			}
			return v.Parts, v.NextCursor, nil
		})
	}),
	QuerySubscriptions: of(func(s *Site) *Value[[]api.Subscription] { return &s.Subscriptions }, func(ctx context.Context, c *client.Client, r Request) ([]api.Subscription, error) {
		v, err := c.Subscriptions(ctx, r.list(), "")
		return field(v, err, func() []api.Subscription { return v.Subscriptions })
	}),
	QueryDeliveries: about(func(s *Site) *Value[[]api.Delivery] { return &s.Deliveries }, func(ctx context.Context, c *client.Client, r Request) ([]api.Delivery, error) {
		v, err := c.Deliveries(ctx, api.TrackRequest{SubscriptionID: r.id, Page: api.Page{Limit: deliveriesShown}})
		return field(v, err, func() []api.Delivery { return v.Deliveries })
	}),
	QueryBOMs: of(func(s *Site) *Value[[]api.BOM] { return &s.BOMs }, func(ctx context.Context, c *client.Client, r Request) ([]api.BOM, error) {
		v, err := c.BOMs(ctx, r.list())
		return field(v, err, func() []api.BOM { return v.BOMs })
	}),
	QueryWindows: windows(about(func(s *Site) *Value[api.ProposeResponse] { return &s.Windows }, func(ctx context.Context, c *client.Client, r Request) (api.ProposeResponse, error) {
		req := api.ScheduleRequest{CustomerID: r.site.CustomerID, SiteID: r.site.SiteID, AssetID: r.id,
			MaintenanceType: api.MaintenanceCorrective, EstimatedDurationHours: r.hours, Page: api.Page{Limit: api.MaxLimit}}
		if r.id == WholeSite {
			req.AssetID = ""
		}
		v, err := c.Propose(ctx, req)
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
