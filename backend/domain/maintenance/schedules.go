package maintenance

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
)

// schedule is the record of a maintenance schedule.
type schedule struct {
	ScheduleID      string   `json:"schedule_id" limit:"id"`
	AssetID         string   `json:"asset_id" limit:"id"`
	MaintenanceType string   `json:"maintenance_type" limit:"word"`
	ScheduledDate   api.Time `json:"scheduled_date"`
	Priority        string   `json:"priority" limit:"word"`
	Status          string   `json:"status" limit:"word"`

	SiteID      string         `json:"site_id" limit:"id"`
	Reason      string         `json:"reason" limit:"text"`
	Overdue     bool           `json:"overdue"` // its day is past and it is not done
	OrderID     string         `json:"order_id,omitempty" limit:"id"`
	Task        string         `json:"task,omitempty" limit:"text"` // of recurring work: the name of the series of the asset
	EveryDays   int            `json:"every_days,omitempty"`        // the next is so many days after this one was completed
	EveryMonths int            `json:"every_months,omitempty"`      // the same in months
	NextID      string         `json:"next_schedule_id,omitempty" limit:"id"`
	CreatedAt   api.Time       `json:"created_at"`
	CreatedBy   string         `json:"created_by,omitempty" limit:"name cut"`
	UpdatedAt   api.Time       `json:"updated_at"`
	UpdatedMS   int64          `json:"updated_ms,omitempty"`
	CompletedAt api.Time       `json:"completed_at,omitzero"`
	Version     int            `json:"version"`                       // 1 when it is made; each change adds one
	History     []statusChange `json:"history,omitzero" limit:"1000"` // oldest first; not in lists

	CustomerID string `json:"customer_id" limit:"id"`
	Zone       string `json:"zone" limit:"name"`  // of the site, whose days the dates of recurring work are
	OfOrder    bool   `json:"of_order,omitempty"` // its order made it, and takes it along when it is cancelled
}

// statusChange is a change of the status of a schedule.
type statusChange struct {
	From  string   `json:"from,omitempty" limit:"word"` // absent: it was made
	To    string   `json:"to" limit:"word"`
	At    api.Time `json:"at"`
	Actor string   `json:"actor" limit:"name cut"`
	Note  string   `json:"note,omitempty" limit:"text cut"`
}

func (r schedule) toAPI() api.Schedule {
	return api.Schedule{
		ScheduleID: r.ScheduleID, AssetID: r.AssetID, MaintenanceType: r.MaintenanceType, ScheduledDate: r.ScheduledDate, Priority: r.Priority,
		Status: r.Status, SiteID: r.SiteID, Reason: r.Reason, Overdue: r.Overdue, OrderID: r.OrderID, Task: r.Task, EveryDays: r.EveryDays,
		EveryMonths: r.EveryMonths, NextID: r.NextID, CreatedAt: r.CreatedAt, CreatedBy: r.CreatedBy, UpdatedAt: r.UpdatedAt, UpdatedAtMS: r.UpdatedMS, CompletedAt: r.CompletedAt,
		Version: r.Version, History: record.Convert(r.History, func(c statusChange) api.WorkMove { return api.WorkMove(c) }),
	}
}

func (r schedule) owner() (customer, site string) { return r.CustomerID, r.SiteID }

func (r schedule) open() bool {
	return r.Status == api.SchedulePending || r.Status == api.ScheduleConfirmed
}

var schedules = store.Table[schedule]{
	Bucket: "schedules",
	Key:    func(r schedule) []byte { return store.Key(r.SiteID, r.ScheduleID) },
	Indexes: append(listed(
		func(r schedule) (customer, site, asset string) { return r.CustomerID, r.SiteID, r.AssetID },
		func(r schedule) []string {
			if r.open() {
				return []string{rankOpen, earlier(r.ScheduledDate.Time), r.ScheduleID}
			}
			return []string{rankOver, later(r.ScheduledDate.Time), r.ScheduleID}
		}),
		store.Index[schedule]{Name: "id", Key: func(r schedule) []byte { return store.Key(r.ScheduleID) }},
		store.Index[schedule]{Name: "due", Key: func(r schedule) []byte {
			if r.Task == "" {
				return nil
			}
			return store.Key(r.SiteID, r.AssetID, r.Task, r.day())
		}}),
}

func (r schedule) recurs() bool { return r.EveryDays > 0 || r.EveryMonths > 0 }

// day is the site's date of the schedule.
func (r schedule) day() string {
	return r.ScheduledDate.In(record.Zone(r.Zone)).Format(time.DateOnly)
}

// scheduleMoves are the moves of a schedule: from, to. What an open order does
// is confirmed and completed by that order, and goes back to pending when the
// order is cancelled.
var scheduleMoves = map[string][]string{
	api.SchedulePending:   {api.ScheduleConfirmed, api.ScheduleCancelled},
	api.ScheduleConfirmed: {api.ScheduleCompleted, api.ScheduleCancelled},
	api.ScheduleCompleted: {},
	api.ScheduleCancelled: {},
}

// move changes the status; the caller has looked whether it may.
func (r *schedule) move(to string, at time.Time, actor, note string) {
	r.UpdatedAt, r.UpdatedMS = api.At(at), at.UnixMilli()
	r.History = append(r.History, statusChange{From: r.Status, To: to, At: r.UpdatedAt, Actor: actor, Note: note})
	r.Status = to
	r.Version++
}

// deadline is the last moment of a date: of one that is given as a day alone,
// which is midnight in UTC, the end of that day.
func deadline(t api.Time) time.Time {
	if t.Truncate(24 * time.Hour).Equal(t.Time) {
		return t.Add(24 * time.Hour)
	}
	return t.Time
}

// scheduleResponse is the schedule as it is answered.
func (s *Service) scheduleResponse(r schedule) api.Schedule {
	r.Overdue = r.open() && s.Now().After(deadline(r.ScheduledDate))
	return r.toAPI()
}

// maxYearsAhead bounds the time of planned work: what is computed from it must
// have a year of four digits.
const maxYearsAhead = 100

// checkAhead returns a 400 that names the field if the time is too late.
func checkAhead(field string, at api.Time, now time.Time) error {
	if last := api.At(now.AddDate(maxYearsAhead, 0, 0)); at.After(last.Time) {
		return api.InvalidField(field, fmt.Sprintf("must be %s or earlier, not %s", last, at))
	}
	return nil
}

// CreateSchedule plans maintenance of an asset. Work without a type is corrective
// while the asset has an active finding, unless it recurs, otherwise preventive. A date in the past is a 400
// unless the work is an emergency. Recurring work of the same task and date is
// made once: what is there already is answered with made false.
func (s *Service) CreateSchedule(ctx context.Context, scope api.Scope, r api.ScheduleRequest) (_ api.Schedule, made bool, err error) {
	asset, err := s.Domain.Sites.Asset(ctx, scope, api.AssetRef{AssetID: r.AssetID, SiteID: r.SiteID, CustomerID: r.CustomerID})
	if err != nil {
		return api.Schedule{}, false, err
	}
	site, err := s.Domain.Sites.Site(ctx, scope, asset.SiteID)
	if err != nil {
		return api.Schedule{}, false, err
	}
	if r.MaintenanceType == "" {
		if r.MaintenanceType, err = s.defaultType(ctx, asset, r); err != nil {
			return api.Schedule{}, false, err
		}
	}
	now := s.Now()
	if r.ScheduledDate.IsZero() {
		r.ScheduledDate = api.At(nextMorning(now, record.Zone(site.Timezone)))
	}
	if r.MaintenanceType != api.MaintenanceEmergency && now.After(deadline(r.ScheduledDate)) {
		return api.Schedule{}, false, api.InvalidField("scheduled_date", fmt.Sprintf("%s is in the past; only emergency work may have begun", r.ScheduledDate))
	}
	if err := checkAhead("scheduled_date", r.ScheduledDate, now); err != nil {
		return api.Schedule{}, false, err
	}
	want := schedule{CustomerID: site.CustomerID, Zone: site.Timezone}
	want.EveryDays, want.EveryMonths = r.EveryDays, r.EveryMonths
	if want.recurs() && r.MaintenanceType != api.MaintenancePreventive {
		return api.Schedule{}, false, api.InvalidField("every_days", "only preventive work recurs")
	}
	want.AssetID, want.SiteID, want.MaintenanceType, want.ScheduledDate = asset.AssetID, site.SiteID, r.MaintenanceType, r.ScheduledDate
	want.Priority, want.Reason = r.Priority, r.Reason
	if want.recurs() {
		want.Task = cmp.Or(r.Task, r.Reason)
	}
	var kept schedule
	err = s.Records.Update(ctx, func(tx store.Tx) error {
		if err := room(tx, schedules, want.SiteID, want.AssetID, api.MaxOpenSchedules, "open schedules", rankOpen); err != nil {
			return err
		}
		kept, made, err = s.plan(tx, want, scope.Actor, r.Reason)
		return err
	})
	if err == nil && made {
		s.refreshPlans(ctx)
	}
	return s.scheduleResponse(kept), made, err
}

// nextMorning is the date of work that a request does not date: 8 o'clock of the site's next day.
func nextMorning(now time.Time, zone *time.Location) time.Time {
	y, m, d := now.In(zone).Date()
	return time.Date(y, m, d+1, 8, 0, 0, 0, zone)
}

// defaultType returns the type of work that a request does not name.
func (s *Service) defaultType(ctx context.Context, asset api.Asset, r api.ScheduleRequest) (string, error) {
	is := api.MaintenancePreventive
	if r.EveryDays > 0 || r.EveryMonths > 0 {
		return is, nil
	}
	err := s.Records.View(ctx, func(tx store.Tx) error {
		active, err := finding.Active(tx, asset.SiteID)
		if slices.ContainsFunc(active, func(f finding.Finding) bool {
			return !f.Informational() && f.Affects(asset.AssetID)
		}) {
			is = api.MaintenanceCorrective
		}
		return err
	})
	return is, record.Wrap(err, "list the findings of site "+asset.SiteID)
}

// plan stores a new pending schedule, unless it is recurring work that has
// this date already.
func (s *Service) plan(tx store.Tx, r schedule, actor, note string) (_ schedule, made bool, err error) {
	if r.Task != "" {
		same, _, err := schedules.List(tx, store.Query{Index: "due", Prefix: store.Key(r.SiteID, r.AssetID, r.Task, r.day()), Limit: 1})
		if err != nil {
			return r, false, fmt.Errorf("look up the dates of %s: %w", r.Task, err)
		}
		if len(same) > 0 {
			return same[0], false, nil
		}
	}
	r.ScheduleID = s.id("sch")
	r.CreatedAt, r.CreatedBy = api.At(s.Now()), actor
	r.move(api.SchedulePending, s.Now(), actor, note)
	if err := s.storeSchedule(tx, r); err != nil {
		return r, false, err
	}
	return r, true, s.note(tx, r.CustomerID, r.SiteID, r.AssetID, api.PhaseDecide, "Maintenance scheduled",
		fmt.Sprintf("%s for %s: %s", r.MaintenanceType, r.day(), cmp.Or(r.Task, r.Reason)), actor)
}

// next is the schedule that follows on recurring work which ended on a day:
// the same hour so many days or months later, by the site's calendar.
func (r schedule) next(ended time.Time) schedule {
	zone := record.Zone(r.Zone)
	hour := r.ScheduledDate.In(zone)
	y, m, d := ended.In(zone).Date()
	date := time.Date(y, m+time.Month(r.EveryMonths), d+r.EveryDays, hour.Hour(), hour.Minute(), hour.Second(), 0, zone)
	if r.EveryDays == 0 && date.Day() != d { // a month without that day
		date = time.Date(y, m+time.Month(r.EveryMonths)+1, 0, hour.Hour(), hour.Minute(), hour.Second(), 0, zone)
	}
	n := schedule{CustomerID: r.CustomerID, Zone: r.Zone}
	n.AssetID, n.SiteID, n.MaintenanceType, n.Priority, n.Reason = r.AssetID, r.SiteID, r.MaintenanceType, r.Priority, r.Reason
	n.Task, n.EveryDays, n.EveryMonths, n.ScheduledDate = r.Task, r.EveryDays, r.EveryMonths, api.At(date)
	return n
}

// recur plans what follows on recurring work that ended, and writes its id
// into r.
func (s *Service) recur(tx store.Tx, r *schedule, ended time.Time, actor string) error {
	if !r.recurs() {
		return nil
	}
	n, _, err := s.plan(tx, r.next(ended), actor, "follows on "+r.ScheduleID)
	r.NextID = n.ScheduleID
	return err
}

// Schedule is a schedule with its history; [api.ErrScheduleNotFound] for an
// unknown id.
func (s *Service) Schedule(ctx context.Context, scope api.Scope, scheduleID string) (api.Schedule, error) {
	r, err := get(ctx, s, schedules, scope, scheduleID, api.ErrScheduleNotFound, schedule.owner)
	return s.scheduleResponse(r), err
}

// Schedules lists open ones first, what is due first before the others, then
// those that ended, the latest first. They come without their history.
func (s *Service) Schedules(ctx context.Context, scope api.Scope, q api.ListQuery, status string, overdueOnly bool) ([]api.Schedule, string, error) {
	rank := rankOf(overdueOnly, status, schedule{Status: status}.open())
	list, next, err := record.List(ctx, s.Records, schedules, ranked(listing(q), rank), q.Page, func(r schedule) bool {
		return within(scope, q, r.CustomerID, r.SiteID, r.AssetID) && (status == "" || status == r.Status) && (!overdueOnly || s.scheduleResponse(r).Overdue) &&
			q.SinceUnix(r.UpdatedMS, r.UpdatedAt) && record.Is(q.Filter.Priority, r.Priority) && record.Is(q.Filter.Type, r.MaintenanceType)
	})
	out := make([]api.Schedule, len(list))
	for i, r := range list {
		out[i] = s.scheduleResponse(r)
		out[i].History = nil
	}
	return out, next, err
}

// MoveSchedule confirms, completes or cancels a schedule. What an open order
// does is moved by that order alone. Completed recurring work plans its next
// date; cancelled recurring work does too, unless the series is ended.
func (s *Service) MoveSchedule(ctx context.Context, scope api.Scope, r api.ScheduleRequest, to string) (api.Schedule, error) {
	var rec schedule
	err := s.Records.Update(ctx, func(tx store.Tx) (err error) {
		if rec, err = byID(tx, schedules, scope, r.ScheduleID, api.ErrScheduleNotFound, schedule.owner); err != nil {
			return err
		}
		switch {
		case rec.Status == to:
			return nil
		case !slices.Contains(scheduleMoves[rec.Status], to):
			return invalidTransition("Schedule", rec.ScheduleID, rec.Status, to, scheduleMoves[rec.Status])
		case rec.OrderID != "":
			return api.Conflict("Schedule %s is done by order %s: move that one", rec.ScheduleID, rec.OrderID).With("order_id", rec.OrderID)
		}
		if err := versionConflict("Schedule", rec.ScheduleID, rec.Version, r.Version); err != nil {
			return err
		}
		at := cmp.Or(r.CompletedAt.Time, s.Now())
		switch {
		case to == api.ScheduleCompleted && at.After(s.Now()):
			return api.InvalidField("completed_at", "it is in the future")
		case to == api.ScheduleCompleted && at.Before(rec.CreatedAt.Time) && at.Before(rec.ScheduledDate.Time):
			return api.InvalidField("completed_at", "it is before the schedule was made and before its date")
		}
		return s.moveSchedule(tx, &rec, to, at, scope.Actor, r.Reason, r.EndSeries)
	})
	if err == nil {
		s.refreshPlans(ctx)
	}
	return s.scheduleResponse(rec), err
}

// moveSchedule makes a move that is allowed, with what follows from it.
func (s *Service) moveSchedule(tx store.Tx, r *schedule, to string, ended time.Time, actor, note string, endSeries bool) error {
	r.move(to, s.Now(), actor, note)
	var err error
	switch {
	case to == api.ScheduleCompleted:
		r.CompletedAt = api.At(ended)
		err = s.recur(tx, r, ended, actor)
	case to == api.ScheduleCancelled && !endSeries:
		// The next date of what was left out is reckoned from its own, past
		// those that went by meanwhile.
		from := r.ScheduledDate
		for n := r.next(from.Time); r.recurs() && deadline(n.ScheduledDate).Before(s.Now()); n = r.next(from.Time) {
			from = n.ScheduledDate
		}
		err = s.recur(tx, r, from.Time, actor)
	}
	if err != nil {
		return err
	}
	return s.putSchedule(tx, *r, actor)
}

// storeSchedule is the one place that writes schedules.
func (s *Service) storeSchedule(tx store.Tx, r schedule) error {
	if err := schedules.Put(tx, r); err != nil {
		return fmt.Errorf("store schedule %s: %w", r.ScheduleID, err)
	}
	if s.Plans == nil {
		return nil
	}
	return s.Plans.Changed(tx, r.SiteID)
}

func (s *Service) putSchedule(tx store.Tx, r schedule, actor string) error {
	if err := s.storeSchedule(tx, r); err != nil {
		return err
	}
	return s.note(tx, r.CustomerID, r.SiteID, r.AssetID, api.PhaseDecide, "Schedule "+r.Status, cmp.Or(r.Task, r.Reason), actor)
}
