package partner

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/detection"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/record"
	"app.sunloop/engine/detect"
	"app.sunloop/engine/diagnose"
)

// taskTypes of families; all others need a repair.
var taskTypes = map[detect.Family]string{
	detect.Soiling:          api.TaskService,
	detect.CommunicationGap: api.TaskInspection,
	detect.StuckSensor:      api.TaskInspection,
	detect.DataSilence:      api.TaskInspection,
	detect.RepeatedData:     api.TaskInspection,
	detect.DataQuality:      api.TaskInspection,
	detect.TimeShift:        api.TaskInspection,
	detect.Curtailment:      api.TaskInspection,
	detect.CapacityChange:   api.TaskInspection,
	detect.PartialShading:   api.TaskInspection,
	detect.Degradation:      api.TaskInspection,
	detect.Underperformance: api.TaskInspection,
}

// Hours of planned work that no order estimates.
const (
	serviceHoursPer50KW = 1 // of a yearly service
	repairHours         = 4
)

// within is the number of days after detection within which a fault needs work,
// by its severity.
var within = map[string]int{api.PartnerCritical: 1, api.PartnerMedium: 14, api.PartnerLow: 30}

// urgentWorkingDays is the same of high severity, in working days.
const urgentWorkingDays = 2

// schedule lists planned work and the work required by persistent faults,
// within the horizon. A fault of a unit whose repair is planned needs no
// further task.
func (s *Service) schedule(ctx context.Context, site api.Site, units []api.Asset, faults []detection.Fault) (api.MaintenanceSchedule, error) {
	zone, now := record.Zone(site.Timezone), s.Now()
	out := api.MaintenanceSchedule{SiteID: site.SiteID, GeneratedAt: api.At(now), Tasks: []api.MaintenanceTask{},
		Horizon: api.ScheduleHorizon{Start: api.DateOf(now, zone), End: api.DateOf(now.In(zone).AddDate(0, 0, api.ScheduleHorizonDays), zone)}}
	add := func(t api.MaintenanceTask) {
		if t.RecommendedDate > out.Horizon.End {
			return
		}
		t.RecommendedDate = max(t.RecommendedDate, out.Horizon.Start)
		out.Tasks = append(out.Tasks, t)
	}
	planned, err := s.planned(ctx, site.SiteID)
	if err != nil {
		return out, err
	}
	repaired := map[string]bool{} // units whose repair is planned
	for _, p := range planned {
		t, err := s.plannedTask(ctx, p, zone, units)
		if err != nil {
			return out, err
		}
		repaired[p.AssetID] = repaired[p.AssetID] || t.TaskType == api.TaskCorrective
		add(t)
	}
	for _, f := range faults {
		if f.Active && !slices.ContainsFunc(f.Units(), func(u string) bool { return repaired[u] }) {
			if t, ok := faultTask(f.Finding, zone); ok {
				add(t)
			}
		}
	}
	slices.SortStableFunc(out.Tasks, func(a, b api.MaintenanceTask) int {
		return cmp.Or(cmp.Compare(a.RecommendedDate, b.RecommendedDate), cmp.Compare(urgency(a.Priority), urgency(b.Priority)), cmp.Compare(a.AssetID, b.AssetID))
	})
	return out.Counted(), nil
}

// planned are the open schedules of a site.
func (s *Service) planned(ctx context.Context, siteID string) (open []api.Schedule, err error) {
	if s.Schedules == nil {
		return nil, nil
	}
	q := api.ListQuery{SiteID: siteID, Page: api.Page{Limit: api.MaxLimit}}
	for {
		list, next, err := s.Schedules.Schedules(ctx, api.Unlimited(actor), q, "", false)
		if err != nil {
			return nil, err
		}
		for _, one := range list {
			if one.Status != api.SchedulePending && one.Status != api.ScheduleConfirmed {
				return open, nil // open ones come first
			}
			open = append(open, one)
		}
		if q.Cursor = next; next == "" {
			return open, nil
		}
	}
}

// plannedTask returns a task of a schedule; its duration is that of its order,
// if it has one.
func (s *Service) plannedTask(ctx context.Context, p api.Schedule, zone *time.Location, units []api.Asset) (api.MaintenanceTask, error) {
	t := api.MaintenanceTask{AssetID: p.AssetID, TaskType: api.TaskCorrective, Reason: p.Reason, RecommendedDate: api.DateOf(p.ScheduledDate.Time, zone),
		EstimatedDurationHours: repairHours, Priority: plannedPriority(p), ScheduleID: p.ScheduleID, Status: p.Status, Overdue: p.Overdue}
	if p.MaintenanceType == api.MaintenancePreventive {
		t.TaskType = api.TaskService
		i := slices.IndexFunc(units, func(u api.Asset) bool { return u.AssetID == p.AssetID })
		t.EstimatedDurationHours = serviceHoursPer50KW
		if i >= 0 {
			t.EstimatedDurationHours *= max(math.Ceil(units[i].CapacityKW/50), 1)
		}
	}
	if p.OrderID != "" {
		o, err := s.Schedules.Order(ctx, api.Unlimited(actor), p.OrderID)
		if err != nil && !errors.Is(err, api.ErrOrderNotFound) {
			return t, err
		}
		t.EstimatedDurationHours = cmp.Or(o.EstimatedDurationHours, t.EstimatedDurationHours)
	}
	return t, nil
}

// plannedPriority is a schedule's priority as partners spell it.
func plannedPriority(p api.Schedule) string {
	switch {
	case p.MaintenanceType == api.MaintenanceEmergency:
		return api.PartnerCritical
	case p.Priority == api.PriorityHigh:
		return api.PartnerHigh
	case p.Priority == api.PriorityMedium:
		return api.PartnerMedium
	}
	return api.PartnerLow
}

// faultTask is the task that a fault calls for; not ok where there is nothing
// to do. Its date is reckoned from when the fault was found, so that it comes
// nearer.
func faultTask(f finding.Finding, zone *time.Location) (t api.MaintenanceTask, ok bool) {
	family := detect.Family(f.FaultFamily)
	t = api.MaintenanceTask{AssetID: f.AssetID, TaskType: cmp.Or(taskTypes[family], api.TaskCorrective), Priority: f.Severity(), SummaryID: f.SummaryID}
	for _, a := range diagnose.Actions(family) {
		t.EstimatedDurationHours += a.Hours
	}
	if t.EstimatedDurationHours == 0 {
		return t, false
	}
	what := []string{cmp.Or(f.Summary, f.FaultFamily)}
	if len(f.RecommendedActions) > 0 {
		what = append(what, f.RecommendedActions[0].Action)
	}
	t.Reason = strings.Join(what, " ")
	found := f.CreatedAt.In(zone)
	t.RecommendedDate = api.DateOf(found.AddDate(0, 0, within[t.Priority]), zone)
	if t.Priority == api.PartnerHigh {
		t.RecommendedDate = api.DateOf(workingDays(found, urgentWorkingDays), zone)
	}
	return t, true
}

// workingDays is t so many days from Monday to Friday later.
func workingDays(t time.Time, n int) time.Time {
	for n > 0 {
		t = t.AddDate(0, 0, 1)
		if d := t.Weekday(); d != time.Saturday && d != time.Sunday {
			n--
		}
	}
	return t
}
