package httpapi

import (
	"context"
	"fmt"

	"app.sunloop/backend/api"
)

// Schedules are the maintenance that is planned.
type Schedules interface {
	// CreateSchedule answers the schedule, and made false for recurring work
	// that has this date already; 400 for a date in the past.
	CreateSchedule(ctx context.Context, scope api.Scope, r api.ScheduleRequest) (_ api.Schedule, made bool, err error)
	// Schedule answers api.ErrScheduleNotFound for an unknown id.
	Schedule(ctx context.Context, scope api.Scope, scheduleID string) (api.Schedule, error)
	// Schedules lists open ones first, what is due first before the others.
	Schedules(ctx context.Context, scope api.Scope, q api.ListQuery, status string, overdueOnly bool) ([]api.Schedule, string, error)
	// MoveSchedule changes the status; 409 for a move that is not allowed.
	MoveSchedule(ctx context.Context, scope api.Scope, r api.ScheduleRequest, to string) (api.Schedule, error)
	// Propose says when work should be done; api.ErrNoForecastResult where
	// there is no forecast.
	Propose(ctx context.Context, scope api.Scope, r api.ScheduleRequest) (api.ProposeResponse, error)
}

// scheduleActions are the moves by action: the status after it, and in words.
var scheduleActions = map[string]struct{ to, done string }{
	api.ActionConfirm:  {api.ScheduleConfirmed, "Schedule confirmed"},
	api.ActionComplete: {api.ScheduleCompleted, "Schedule completed"},
	api.ActionCancel:   {api.ScheduleCancelled, "Schedule cancelled"},
}

func (s *server) schedule(in *input) (*call, error) {
	var b api.ScheduleRequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	c := &call{action: b.Action, target: target{customerID: b.CustomerID, siteID: &b.SiteID}, fingerprint: in.digest()}
	one := func(message string, v api.Schedule, err error) (any, error) {
		return api.ScheduleResponse{Success: true, Message: message, ScheduleID: v.ScheduleID, AssetID: v.AssetID, ScheduledDate: v.ScheduledDate, Schedule: &v, Count: 1}, err
	}
	switch b.Action {
	case api.ActionCreate:
		if err := checkNewSchedule(&b); err != nil {
			return nil, err
		}
		c.target.asset = &api.AssetRef{AssetID: b.AssetID, SiteID: b.SiteID, CustomerID: b.CustomerID}
		c.run = func(ctx context.Context, g granted) (any, error) {
			v, made, err := s.Schedules.CreateSchedule(ctx, g.scope, b)
			message := "Maintenance scheduled"
			if !made {
				message = "Maintenance is scheduled for this day already"
			}
			return one(message, v, err)
		}
		return c, nil
	case api.ActionList:
		if err := optionalWord("status", &b.Status, api.ScheduleStatuses()); err != nil {
			return nil, err
		}
		t, q, err := worklist(b.AssetID, b.SiteID, b.CustomerID, b.Page)
		if err != nil {
			return nil, err
		}
		c.target = t
		c.run = func(ctx context.Context, g granted) (any, error) {
			list, next, err := s.Schedules.Schedules(ctx, g.scope, g.about(q), b.Status, b.Overdue)
			return api.ScheduleResponse{Success: true, Schedules: there(list), Count: len(list), NextCursor: next}, err
		}
		return c, nil
	case api.ActionPropose:
		return s.propose(c, b)
	}
	move, moves := scheduleActions[b.Action]
	switch {
	case !moves && b.Action != api.ActionGet:
		return nil, api.ErrInvalidAction
	case b.ScheduleID == "":
		return nil, api.MissingField("schedule_id")
	case b.Action == api.ActionCancel && blank(b.Reason):
		return nil, api.MissingField("reason")
	}
	c.run = func(ctx context.Context, g granted) (any, error) {
		if !moves {
			v, err := s.Schedules.Schedule(ctx, g.scope, b.ScheduleID)
			return one("", v, err)
		}
		v, err := s.Schedules.MoveSchedule(ctx, g.scope, b, move.to)
		return one(move.done, v, err)
	}
	return c, nil
}

func (s *server) propose(c *call, b api.ScheduleRequest) (*call, error) {
	c.target.siteID = &b.SiteID
	switch {
	case b.AssetID != "":
		c.target.asset = &api.AssetRef{AssetID: b.AssetID, SiteID: b.SiteID, CustomerID: b.CustomerID}
	case b.SiteID == "":
		return nil, api.MissingField("asset_id")
	}
	if err := word("maintenance_type", &b.MaintenanceType, api.MaintenanceTypes()); err != nil {
		return nil, err
	}
	if b.EstimatedDurationHours == 0 {
		return nil, api.MissingField("estimated_duration_hours")
	}
	if err := hours("estimated_duration_hours", b.EstimatedDurationHours); err != nil {
		return nil, err
	}
	if err := optionalWord("kind", &b.Kind, []string{api.WorkIsolating, api.WorkMeasuring}); err != nil {
		return nil, err
	}
	page, err := pageOf(b.Page)
	if err != nil {
		return nil, err
	}
	b.Page = page
	c.run = func(ctx context.Context, g granted) (any, error) { return s.Schedules.Propose(ctx, g.scope, b) }
	return c, nil
}

func checkNewSchedule(b *api.ScheduleRequest) error {
	if b.AssetID == "" {
		return api.MissingField("asset_id")
	}
	if err := word("maintenance_type", &b.MaintenanceType, api.MaintenanceTypes()); err != nil {
		return err
	}
	if b.ScheduledDate.IsZero() {
		return api.MissingField("scheduled_date")
	}
	if err := word("priority", &b.Priority, api.Priorities()); err != nil {
		return err
	}
	switch {
	case blank(b.Reason):
		return api.MissingField("reason")
	case b.EveryDays < 0 || b.EveryDays > api.MaxEveryDays:
		return api.InvalidField("every_days", fmt.Sprintf("a whole number from 1 to %d", api.MaxEveryDays))
	case b.EveryMonths < 0 || b.EveryMonths > api.MaxEveryMonths:
		return api.InvalidField("every_months", fmt.Sprintf("a whole number from 1 to %d", api.MaxEveryMonths))
	case b.EveryDays > 0 && b.EveryMonths > 0:
		return api.InvalidField("every_months", "it goes with no every_days")
	}
	return nil
}
