package httpapi

import (
	"context"

	"app.sunloop/backend/api"
)

// Schedules are the maintenance that is planned.
type Schedules interface {
	// CreateSchedule returns the schedule, and made false for recurring work
	// that has this date already; 400 for a date in the past.
	CreateSchedule(ctx context.Context, scope api.Scope, r api.ScheduleRequest) (_ api.Schedule, made bool, err error)
	// Schedule returns api.ErrScheduleNotFound for an unknown id.
	Schedule(ctx context.Context, scope api.Scope, scheduleID string) (api.Schedule, error)
	// Schedules lists open ones first, what is due first before the others.
	Schedules(ctx context.Context, scope api.Scope, q api.ListQuery, status string, overdueOnly bool) ([]api.Schedule, string, error)
	// MoveSchedule changes the status; 409 for a move that is not allowed.
	MoveSchedule(ctx context.Context, scope api.Scope, r api.ScheduleRequest, to string) (api.Schedule, error)
	// PlansChanged lets the plans of sites show schedules that were made in another
	// transaction than their own.
	PlansChanged(ctx context.Context)
	// Propose says when work should be done; api.ErrNoForecastResult where
	// there is no forecast.
	Propose(ctx context.Context, scope api.Scope, r api.ScheduleRequest) (api.ProposeResponse, error)
}

func (s *server) scheduleHandlers() {
	one := func(message string, v api.Schedule, err error) (api.ScheduleResponse, error) {
		return api.ScheduleResponse{Success: true, Message: message, ScheduleID: v.ScheduleID, AssetID: v.AssetID, ScheduledDate: v.ScheduledDate, Schedule: &v, Count: 1}, err
	}
	handle(s, api.CreateSchedule, func(ctx context.Context, c *caller, r *api.ScheduleRequest) (api.ScheduleResponse, error) {
		v, made, err := s.Schedules.CreateSchedule(ctx, c.scope, *r)
		message := "Maintenance scheduled"
		if !made {
			message = "Maintenance is scheduled for this day already"
		} else if r.MaintenanceType == "" {
			message += " as " + v.MaintenanceType + ", which the request left open"
		}
		if made && r.ScheduledDate.IsZero() {
			message += "; for " + v.ScheduledDate.String() + ", as the request has no date"
		}
		answer, err := one(message, v, err)
		answer.MaintenanceType = v.MaintenanceType
		return answer, err
	})
	handle(s, api.ListSchedules, func(ctx context.Context, c *caller, r *api.ScheduleRequest) (api.ScheduleResponse, error) {
		q := c.ofTarget(r.CustomerID, r.SiteID, r.AssetID, r.Page)
		q.Filter = api.Filter{Priority: r.Priority, Type: r.MaintenanceType}
		list, next, err := s.Schedules.Schedules(ctx, c.scope, q, r.Status, r.Overdue)
		return api.ScheduleResponse{Success: true, Schedules: nonNil(list), Count: len(list), NextCursor: next}, err
	})
	handle(s, api.GetSchedule, func(ctx context.Context, c *caller, r *api.ScheduleRequest) (api.ScheduleResponse, error) {
		v, err := s.Schedules.Schedule(ctx, c.scope, r.ScheduleID)
		return one("", v, err)
	})
	handle(s, api.ProposeSchedule, func(ctx context.Context, c *caller, r *api.ScheduleRequest) (api.ProposeResponse, error) {
		return s.Schedules.Propose(ctx, c.scope, *r)
	})
	for e, move := range map[api.Endpoint[api.ScheduleRequest, api.ScheduleResponse]]struct{ to, message string }{
		api.ConfirmSchedule:  {api.ScheduleConfirmed, "Schedule confirmed"},
		api.CompleteSchedule: {api.ScheduleCompleted, "Schedule completed"},
		api.CancelSchedule:   {api.ScheduleCancelled, "Schedule cancelled"},
	} {
		handle(s, e, func(ctx context.Context, c *caller, r *api.ScheduleRequest) (api.ScheduleResponse, error) {
			v, err := s.Schedules.MoveSchedule(ctx, c.scope, *r, move.to)
			return one(move.message, v, err)
		})
	}
}

// ofTarget returns the query of a list of work about an asset, a site or a
// customer. A list of one asset is narrowed to the asset's site.
func (c *caller) ofTarget(customerID, siteID, assetID string, page api.Page) api.ListQuery {
	switch {
	case assetID != "":
		siteID = c.asset.SiteID
	case c.site.SiteID != "":
		siteID = c.site.SiteID
	}
	return api.ListQuery{CustomerID: customerID, SiteID: siteID, AssetID: assetID, Page: page}
}
