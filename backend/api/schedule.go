package api

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Types of maintenance, as the specification spells them.
const (
	MaintenancePreventive = "preventive"
	MaintenanceCorrective = "corrective"
	MaintenanceEmergency  = "emergency" // only for safety or the outage of a site; it ignores hours and windows
)

// MaintenanceTypes are all there are.
func MaintenanceTypes() []string {
	return []string{MaintenancePreventive, MaintenanceCorrective, MaintenanceEmergency}
}

// Priorities are all there are, the most urgent first.
func Priorities() []string { return []string{PriorityHigh, PriorityMedium, PriorityLow} }

// Statuses of a maintenance schedule. That one is overdue is derived from its
// date and never stored.
const (
	SchedulePending   = "pending"
	ScheduleConfirmed = "confirmed" // a user has confirmed it, or an order does it
	ScheduleCompleted = "completed"
	ScheduleCancelled = "cancelled"
)

// ScheduleStatuses are all there are.
func ScheduleStatuses() []string {
	return []string{SchedulePending, ScheduleConfirmed, ScheduleCompleted, ScheduleCancelled}
}

// ScheduleActions are the moves that a schedule of a status allows. One that an
// open order does is moved by that order.
func ScheduleActions(status string) []string {
	switch status {
	case SchedulePending:
		return []string{ActionConfirm, ActionCancel}
	case ScheduleConfirmed:
		return []string{ActionComplete, ActionCancel}
	}
	return nil
}

// Most days and months between two dates of recurring work.
const (
	MaxEveryDays   = 3650
	MaxEveryMonths = 120
)

// ErrScheduleNotFound refuses a schedule_id that is not there.
var ErrScheduleNotFound = UnknownID("Schedule not found")

// Schedule is a planned piece of maintenance of one asset. The fields after
// Status are extensions.
type Schedule struct {
	ScheduleID      string `json:"schedule_id" limit:"id"`
	AssetID         string `json:"asset_id" limit:"id"`
	MaintenanceType string `json:"maintenance_type" limit:"word"`
	ScheduledDate   Time   `json:"scheduled_date"`
	Priority        string `json:"priority" limit:"word"`
	Status          string `json:"status" limit:"word"`

	SiteID      string     `json:"site_id" limit:"id"`
	Reason      string     `json:"reason" limit:"text"`
	Overdue     bool       `json:"overdue"` // its day is past and it is not done
	OrderID     string     `json:"order_id,omitempty" limit:"id"`
	Task        string     `json:"task,omitempty" limit:"text"` // of recurring work: the name of the series of the asset
	EveryDays   int        `json:"every_days,omitempty"`        // the next is so many days after this one was completed
	EveryMonths int        `json:"every_months,omitempty"`      // the same in months
	NextID      string     `json:"next_schedule_id,omitempty" limit:"id"`
	CreatedAt   Time       `json:"created_at"`
	CreatedBy   string     `json:"created_by,omitempty" limit:"name cut"`
	UpdatedAt   Time       `json:"updated_at"`
	UpdatedAtMS int64      `json:"updated_at_ms,omitempty"` // when it was changed last, in milliseconds since 1970; absent: not known
	CompletedAt Time       `json:"completed_at,omitzero"`
	Version     int        `json:"version"`                       // 1 when it is made; each change adds one
	History     []WorkMove `json:"history,omitzero" limit:"1000"` // oldest first; not in lists
}

// WorkMove is a change of the status of a schedule or an order.
type WorkMove struct {
	From  string `json:"from,omitempty" limit:"word"` // absent: it was made
	To    string `json:"to" limit:"word"`
	At    Time   `json:"at"`
	Actor string `json:"actor" limit:"name cut"`
	Note  string `json:"note,omitempty" limit:"text cut"`
}

// Kinds of work by what they want of the sun.
const (
	WorkIsolating = "isolating" // the unit is down: least energy is lost
	WorkMeasuring = "measuring" // as curves and thermography: the strongest sun
)

// SunForMeasuring is the least plane-of-array irradiance for measurements,
// W/m²: 700 of IEC 61829 for curves, 600 of IEC TS 62446-3 for thermography;
// the lower one.
const SunForMeasuring = 600

// WindForWork is the wind in m/s above which work outdoors should not begin.
const WindForWork = 10

// RainForWork is the rain in mm an hour above which work outdoors should not
// begin; less wets nothing.
const RainForWork = 0.2

// BundleWithin is how near to each other two pieces of work at a site must lie
// for one journey to do for both.
const BundleWithin = 14 * 24 * time.Hour

// What the energies and costs of proposed windows are of.
const (
	CostOfUnit = "unit" // the unit asset_id
	CostOfSite = "site" // all units of the site together
)

// WorkWindow is a time at which work may be done. Its energy and cost are of the
// unit AssetID or, without one, of the whole site SiteID. Cost and Extra are money in
// the site's currency, 0 without a tariff; a bill of materials in the same
// currency can be compared with them.
type WorkWindow struct {
	SiteID        string  `json:"site_id,omitempty"`
	AssetID       string  `json:"asset_id,omitempty"`
	Start         Time    `json:"start"`
	End           Time    `json:"end"`
	EnergyKWh     float64 `json:"energy_kwh"`     // that the unit, or the site, is expected to make meanwhile (P50) in its present state: a unit that is down loses nothing more
	Cost          float64 `json:"cost"`           // of that energy
	ExtraKWh      float64 `json:"extra_kwh"`      // more than in the best window
	ExtraCost     float64 `json:"extra_cost"`     // as above
	IrradianceWM2 float64 `json:"irradiance_wm2"` // mean, in the plane of the modules where that is known, else horizontal
	SunSuffices   bool    `json:"sun_suffices"`   // it never falls below SunForMeasuring
	WindMS        float64 `json:"wind_ms"`        // the most
	Windy         bool    `json:"windy"`          // above WindForWork; such windows come last
	RainMM        float64 `json:"rain_mm"`        // that is forecast meanwhile, also snow as water
	Rainy         bool    `json:"rainy"`          // at some time above RainForWork; such windows come last too
	WeatherKnown  bool    `json:"weather_known"`  // a weather source spoke of wind and rain in all of it; else they are not known
}

// WorkNearby is other work at the site that one journey could do too.
type WorkNearby struct {
	OrderID    string `json:"order_id,omitempty"`
	ScheduleID string `json:"schedule_id,omitempty"`
	AssetID    string `json:"asset_id"`
	Date       Time   `json:"date"`
	Priority   string `json:"priority"`
}

// ProposeResponse answers the action propose of /terminal/schedule: windows of
// the crew's hours and of daylight within the forecast, the best first.
type ProposeResponse struct {
	Success    bool   `json:"success"`
	Message    string `json:"message"`
	SiteID     string `json:"site_id"`
	AssetID    string `json:"asset_id,omitempty"`
	Kind       string `json:"kind"`
	ForecastID string `json:"forecast_id"`
	IssuedAt   Time   `json:"issued_at"` // of the forecast
	Currency   string `json:"currency,omitempty"`
	// CostOf (extension) is what the energies and costs of the windows are of:
	// CostOfUnit or CostOfSite. ProducingShare is what the unit or the site produces
	// at present, of its production without faults, by the active StateFindings.
	CostOf         string   `json:"cost_of,omitempty"`
	ProducingShare float64  `json:"producing_share"`
	StateFindings  []string `json:"state_findings,omitempty"`

	Windows    []WorkWindow `json:"windows"`
	Bundle     []WorkNearby `json:"bundle"` // within BundleWithin of the best window
	Count      int          `json:"count"`  // of the windows
	NextCursor string       `json:"next_cursor,omitempty"`
}

// ScheduleRequest is the body of POST /terminal/schedule: action create, list,
// get, confirm, complete, cancel or propose.
type ScheduleRequest struct {
	Action                 string  `json:"action" limit:"word"`
	AssetID                string  `json:"asset_id,omitempty" limit:"id"`
	SiteID                 string  `json:"site_id,omitempty" limit:"id"`
	CustomerID             string  `json:"customer_id,omitempty" limit:"id"`
	ScheduleID             string  `json:"schedule_id,omitempty" limit:"id"` // get, confirm, complete, cancel
	MaintenanceType        string  `json:"maintenance_type,omitempty" limit:"word"`
	ScheduledDate          Time    `json:"scheduled_date,omitzero"`
	Priority               string  `json:"priority,omitempty" limit:"word"`
	Reason                 string  `json:"reason,omitempty" limit:"text"` // create, cancel; confirm and complete: a note
	Task                   string  `json:"task,omitempty" limit:"text"`   // create: of recurring work; empty: its reason
	EveryDays              int     `json:"every_days,omitempty"`
	EveryMonths            int     `json:"every_months,omitempty"`
	EndSeries              bool    `json:"end_series,omitempty"`               // cancel: no next date is made
	CompletedAt            Time    `json:"completed_at,omitzero"`              // complete: when it was done; absent: now
	Version                int     `json:"version,omitempty"`                  // a move: refused with 409 unless it is still this one
	Status                 string  `json:"status,omitempty" limit:"word"`      // list
	Kind                   string  `json:"kind,omitempty" limit:"word"`        // propose: WorkIsolating (when empty) or WorkMeasuring
	EstimatedDurationHours float64 `json:"estimated_duration_hours,omitempty"` // propose; create: checked, and decided by the order
	Indoors                bool    `json:"indoors,omitempty"`                  // propose: wind and rain do not matter
	Overdue                bool    `json:"overdue_only,omitempty"`             // list
	// Title and Description are what public clients send instead of a reason.
	Title       string `json:"title,omitempty" limit:"name"`
	Description string `json:"description,omitempty" limit:"text"`
	Page
}

// ScheduleResponse answers /terminal/schedule. A list has open ones first,
// what is due first before the others; then those that ended, the latest date
// first.
type ScheduleResponse struct {
	Success       bool   `json:"success"`
	Message       string `json:"message,omitempty"`
	ScheduleID    string `json:"schedule_id,omitempty"`
	AssetID       string `json:"asset_id,omitempty"`
	ScheduledDate Time   `json:"scheduled_date,omitzero"`
	// MaintenanceType (extension) is that of a created schedule. With a customer_id it may
	// be left out of the request: it is corrective while the unit has an active finding,
	// otherwise preventive.
	MaintenanceType string     `json:"maintenance_type,omitempty"`
	Schedule        *Schedule  `json:"schedule,omitempty"`
	Schedules       []Schedule `json:"schedules,omitzero"` // list: there even when empty
	Count           int        `json:"count"`
	NextCursor      string     `json:"next_cursor,omitempty"`
}

var schedules = Route{
	Name: "schedule", Path: PathSchedule,
	Summary: "Plan maintenance of a unit", Description: "A list has open ones first, in the order of their due dates. Overdue is derived from the date.",
	Example: ScheduleRequest{Action: ActionCreate, AssetID: exampleAsset, MaintenanceType: MaintenancePreventive, ScheduledDate: exampleDue,
		Priority: PriorityMedium, Reason: "Yearly inspection", EveryMonths: 12},
	Errors: append(assetErrors[:3:3], ErrScheduleNotFound, ErrNoForecastResult, InvalidTransition("Schedule sch_01J9Z0 is completed: it cannot become cancelled")),
}

// Schedules of maintenance.
var (
	CreateSchedule = define[ScheduleRequest, ScheduleResponse](&schedules, Operation{Action: ActionCreate, Permission: PermissionOrders, Idempotent: true, Target: Target{Asset: "asset_id"}, Fields: Fields{
		rule(func(r *ScheduleRequest) error {
			if r.CustomerID != "" && strings.TrimSpace(r.Reason) == "" {
				r.Reason = cmp.Or(r.Description, r.Title)
			}
			return nil
		}),
		required("asset_id"), required("maintenance_type").unless("customer_id").anyCase(MaintenanceTypes()...), required("scheduled_date").unless("customer_id"), required("priority").anyCase(Priorities()...), required("reason").text().unless("customer_id"),
		rule(func(r *ScheduleRequest) error {
			if strings.TrimSpace(r.Reason) == "" {
				return MissingField("reason")
			}
			return nil
		}),
		optional("every_days").between(1, MaxEveryDays), optional("every_months").between(1, MaxEveryMonths), optional("estimated_duration_hours").hours(),
		rule(func(r *ScheduleRequest) error {
			if r.EveryDays > 0 && r.EveryMonths > 0 {
				return InvalidField("every_months", "it goes with no every_days")
			}
			return nil
		})}})
	ListSchedules = define[ScheduleRequest, ScheduleResponse](&schedules, Operation{Action: ActionList, Permission: PermissionRead, Cacheable: true, Target: Target{Asset: "asset_id"},
		Fields: Fields{optional("status").anyCase(ScheduleStatuses()...), since(), pageLimit(), required("asset_id").or("site_id", "customer_id")}})
	GetSchedule     = define[ScheduleRequest, ScheduleResponse](&schedules, Operation{Action: ActionGet, Permission: PermissionRead, Cacheable: true, Fields: Fields{required("schedule_id")}})
	ProposeSchedule = define[ScheduleRequest, ProposeResponse](&schedules, Operation{Action: ActionPropose, Permission: PermissionRead, Cacheable: true, Target: Target{Asset: "asset_id"}, Fields: Fields{
		required("asset_id").or("site_id"), required("maintenance_type").anyCase(MaintenanceTypes()...), required("estimated_duration_hours").hours(),
		optional("kind").anyCase(WorkIsolating, WorkMeasuring), pageLimit()}})
	ConfirmSchedule  = scheduleMove(ActionConfirm)
	CompleteSchedule = scheduleMove(ActionComplete)
	CancelSchedule   = scheduleMove(ActionCancel, required("reason").text())
)

func scheduleMove(action string, fields ...Field) Endpoint[ScheduleRequest, ScheduleResponse] {
	return define[ScheduleRequest, ScheduleResponse](&schedules, Operation{Action: action, Permission: PermissionOrders, Fields: append(Fields{required("schedule_id")}, fields...)})
}

// hours is a duration of work.
func (f Field) hours() Field {
	return f.above0(MaxOrderHours).withReason(fmt.Sprintf("a number above 0 and up to %d", MaxOrderHours))
}
