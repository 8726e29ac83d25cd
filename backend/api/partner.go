package api

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kinds of partner snapshots, for GET /snapshot. SnapshotForecast may also be
// called by the name of its path, forecast-snapshot.
const (
	SnapshotKPIs     = "kpi-rollup"
	SnapshotSignals  = "maintenance-signals"
	SnapshotSchedule = "maintenance-schedule"
	SnapshotForecast = "forecast"
)

// SnapshotKinds are all there are.
func SnapshotKinds() []string {
	return []string{SnapshotKPIs, SnapshotSignals, SnapshotSchedule, SnapshotForecast}
}

// Severities of signals and priorities of tasks on the partner host, the worst
// first.
const (
	PartnerCritical = "Critical"
	PartnerHigh     = "High"
	PartnerMedium   = "Medium"
	PartnerLow      = "Low"
)

// PartnerSeverities are all there are, the worst first.
func PartnerSeverities() []string {
	return []string{PartnerCritical, PartnerHigh, PartnerMedium, PartnerLow}
}

// Date is a day of a site, written 2006-01-02.
type Date string

// DateOf is the day of t in a zone.
func DateOf(t time.Time, zone *time.Location) Date { return Date(t.In(zone).Format(time.DateOnly)) }

// CurrencyZAR is the currency that partners' clients read.
const CurrencyZAR = "ZAR"

// Targets with which the rollup is compared, as shares.
const (
	PRTarget           = 0.8
	AvailabilityTarget = 0.98
)

// Statuses of the performance ratio.
const (
	PROnTarget    = "On Target"
	PRBelowTarget = "Below Target"
	PRUnknown     = "Unknown"
)

// RollupDays is how many whole days of the site a rollup is of, where the site
// has as many.
const RollupDays = 30

// KPIRollup is the response of GET /kpi-rollup: the KPIs of a site's last
// whole days. Clients read its numbers without a look whether they are there,
// so those that the site's data do not determine are 0 and named in NotKnown. What
// is money in the site's currency is left out where the site has no tariff;
// the fields in ZAR are also left out where its currency has no exchange
// rate.
type KPIRollup struct {
	SiteID        string            `json:"site_id"`
	Period        RollupPeriod      `json:"period"`
	GeneratedAt   Time              `json:"generated_at"`
	System        RollupSystem      `json:"system"`
	EnergyBalance RollupBalance     `json:"energy_balance"`
	Performance   RollupPerformance `json:"performance"`
	EAR           RollupEAR         `json:"ear"`
	Financial     RollupFinancial   `json:"financial"`
	Battery       *RollupBattery    `json:"battery,omitempty"` // of sites whose units report a state of charge
	// Figures (extension) are what the numbers are made of, each with its formula
	// and what it rests on; AsOf and Revision (extensions) are theirs, as in [KPIs].
	Figures  []RollupFigure `json:"figures,omitempty"`
	AsOf     Time           `json:"as_of,omitzero"`
	Revision int            `json:"revision,omitempty"`
	// NotKnown (extension) are the paths of the numbers whose 0 means that the
	// site's data do not determine, as in energy_balance.consumption_kwh.
	NotKnown []string `json:"not_known"`
}

// RollupFigure is a [KPI] of a roll-up. What is not known is left out, because a
// roll-up has no null.
type RollupFigure struct {
	Value            *float64 `json:"value,omitempty"` // left out if it is not reportable
	DataAvailability *float64 `json:"data_availability,omitempty"`
	KPI
}

// RollupPeriod is what a rollup is of: whole days of the site, both ends
// included.
type RollupPeriod struct {
	Start    Date   `json:"start"`
	End      Date   `json:"end"`
	Days     int    `json:"days"`     // extension
	Timezone string `json:"timezone"` // extension: of the days
}

// RollupSystem is the plant.
type RollupSystem struct {
	RatedCapacityKW float64 `json:"rated_capacity_kw"`
	DeviceCount     int     `json:"device_count"`
}

// RollupBalance is where energy came from. Nothing measures what the site
// consumes and buys: these are 0 and not known.
type RollupBalance struct {
	ConsumptionKWh     float64 `json:"consumption_kwh"`
	SolarProductionKWh float64 `json:"solar_production_kwh"` // as it was measured
	GridPurchasesKWh   float64 `json:"grid_purchases_kwh"`
	SolarOffsetPct     float64 `json:"solar_offset_pct"`
}

// RollupPerformance is how well the plant ran.
type RollupPerformance struct {
	SystemPR           float64 `json:"system_pr"`           // IEC 61724-1, above 0 and at most 1.05, by the DC rating; an implausible one is 0 and in not_known
	PRTarget           float64 `json:"pr_target"`           // a share, as system_pr
	PRStatus           string  `json:"pr_status"`           // On Target, Below Target, Unknown
	TrueUptimePct      float64 `json:"true_uptime_pct"`     // of the useful time, weighted by rating: units that made power; every reason counts
	StateUptimePct     float64 `json:"state_uptime_pct"`    // of the useful time: units that said they were running
	AvailabilityPct    float64 `json:"availability_pct"`    // as true_uptime_pct, without grid, weather, limits from outside and planned work
	AvailabilityTarget float64 `json:"availability_target"` // a share: 0.98 is 98 % of availability_pct
}

// RollupEAR is energy at risk: what faults cost that detection found.
type RollupEAR struct {
	EnergyLostKWh          float64            `json:"energy_lost_kwh"`
	EnergyLostPct          float64            `json:"energy_lost_pct"`          // of what was made and lost together
	CapacityUtilizationPct float64            `json:"capacity_utilization_pct"` // energy over rated power times all hours
	RecoveryPotentialKWh   map[string]float64 `json:"recovery_potential_kwh"`   // 50pct, 75pct, 95pct, 100pct of the loss
	ValueLostZAR           *float64           `json:"value_lost_zar,omitempty"`
	RealizedSavingsZAR     *float64           `json:"realized_savings_zar,omitempty"`
	AnnualProjectionZAR    *float64           `json:"annual_projection_zar,omitempty"`
	ValueLost              *float64           `json:"value_lost,omitempty"`        // extension: the loss by the tariff
	RealizedSavings        *float64           `json:"realized_savings,omitempty"`  // extension: the production by the tariff
	AnnualProjection       *float64           `json:"annual_projection,omitempty"` // extension: value_lost in a year at the rate of the period
}

// RollupFinancial is money. Those without zar are in TariffCurrency
// (extensions).
type RollupFinancial struct {
	TariffCurrency         string               `json:"tariff_currency"` // empty: the site has no tariff
	ShortfallCostZAR       *float64             `json:"shortfall_cost_zar,omitempty"`
	RealizedSavingsZAR     *float64             `json:"realized_savings_zar,omitempty"`
	TotalPotentialValueZAR *float64             `json:"total_potential_value_zar,omitempty"`
	ShortfallCost          *float64             `json:"shortfall_cost,omitempty"`        // the lost energy by the tariff
	RealizedSavings        *float64             `json:"realized_savings,omitempty"`      // the production by the tariff
	TotalPotentialValue    *float64             `json:"total_potential_value,omitempty"` // both
	ZARRate                *float64             `json:"zar_rate,omitempty"`              // what one unit of the currency was reckoned at
	TOUBreakdown           map[string]TOUPeriod `json:"tou_breakdown"`                   // by period of the tariff; a tariff without periods is "all"
}

// TOUPeriod is a period of a tariff.
type TOUPeriod struct {
	TariffPerKWh float64  `json:"tariff_per_kwh"`
	EnergyKWh    float64  `json:"energy_kwh"`
	Value        float64  `json:"value"`
	ValueZAR     *float64 `json:"value_zar,omitempty"`
}

// RollupBattery is what units with a state of charge report last.
type RollupBattery struct {
	AvgSoC     float64  `json:"avg_soc"` // percent
	AvgSoH     *float64 `json:"avg_soh,omitempty"`
	AssetCount int      `json:"asset_count"`
}

// Types of signals.
const (
	SignalCritical    = "Critical State"
	SignalWarning     = "Warning State"
	SignalTemperature = "Temperature"
	SignalCapacity    = "Capacity Underperformance"
	SignalZero        = "Zero Production"
)

// SignalTypes are all there are.
func SignalTypes() []string {
	return []string{SignalCritical, SignalWarning, SignalTemperature, SignalCapacity, SignalZero}
}

// MaintenanceSignals answers GET /maintenance-signals: the faults of a site
// that last or ended within 30 days, newest signal first.
type MaintenanceSignals struct {
	SiteID      string `json:"site_id"`
	GeneratedAt Time   `json:"generated_at"`
	// Cursor is an ISO time. Sent as since, it answers every signal that was
	// not there yet, or has become worse since, once.
	Cursor  string            `json:"cursor"`
	Signals []Signal          `json:"signals"`
	Summary MaintenanceCounts `json:"summary"`
}

// Signal is one fault. The fields after IrradianceWM2 are extensions. What the
// unit measured is of the run that saw the fault last, and absent for a fault
// of several units.
type Signal struct {
	ID            string   `json:"id"`
	Timestamp     Time     `json:"timestamp"` // when it began or became worse, and after every cursor that was handed out before that was known
	AssetID       string   `json:"asset_id"`
	Type          string   `json:"type"`
	Severity      string   `json:"severity"`
	Description   string   `json:"description"`
	StateCode     string   `json:"state_code,omitempty"`     // operating state as the unit reports it, SunSpec's
	RatedKW       *float64 `json:"rated_kw,omitempty"`       // of all its units
	ExpectedKW    *float64 `json:"expected_kw,omitempty"`    // of a sound unit
	ActualKW      *float64 `json:"actual_kw,omitempty"`      // measured
	CapacityPct   *float64 `json:"capacity_pct,omitempty"`   // actual_kw over rated_kw
	IrradianceWM2 *float64 `json:"irradiance_wm2,omitempty"` // measured

	FaultFamily string   `json:"fault_family"`
	AssetIDs    []string `json:"asset_ids,omitempty"` // all units of a fault of several
	StartedAt   Time     `json:"started_at"`
	EndedAt     Time     `json:"ended_at,omitzero"` // absent: it lasts
	Active      bool     `json:"active"`
	LostKWh     float64  `json:"lost_kwh"`
	AlertID     string   `json:"alert_id,omitempty"`
	AlertState  string   `json:"alert_state,omitempty"`
}

// MaintenanceCounts are of the signals that are answered.
type MaintenanceCounts struct {
	ByType     map[string]int `json:"by_type"`
	BySeverity map[string]int `json:"by_severity"`
	ByAsset    map[string]int `json:"by_asset"`
}

// Counted are the signals with their counts.
func (m MaintenanceSignals) Counted() MaintenanceSignals {
	m.Summary = MaintenanceCounts{ByType: map[string]int{}, BySeverity: map[string]int{}, ByAsset: map[string]int{}}
	for _, s := range m.Signals {
		m.Summary.ByType[s.Type]++
		m.Summary.BySeverity[s.Severity]++
		m.Summary.ByAsset[s.AssetID]++
	}
	return m
}

// SignalsQuery asks for GET /maintenance-signals.
type SignalsQuery struct {
	SiteID     string
	CustomerID string // of the site; empty: the only accessible one that has it
	Since      Time   // signals with a later timestamp; zero: all
	Severity   string // one of PartnerSeverities; empty: all
}

// Filtered reports whether q asks for less than all.
func (q SignalsQuery) Filtered() bool { return !q.Since.IsZero() || q.Severity != "" }

// PartnerSeverity is the contract's spelling of a severity, whatever its case;
// a 400 for another word.
func PartnerSeverity(text string) (string, error) {
	for _, s := range PartnerSeverities() {
		if strings.EqualFold(s, text) {
			return s, nil
		}
	}
	return "", InvalidParameter("severity", fmt.Sprintf("it is one of %s", strings.Join(PartnerSeverities(), ", ")))
}

// Types of tasks.
const (
	TaskInspection = "inspection"
	TaskCorrective = "corrective_maintenance"
	TaskService    = "scheduled_service"
)

// TaskTypes are all there are.
func TaskTypes() []string { return []string{TaskInspection, TaskCorrective, TaskService} }

// ScheduleHorizonDays is how far a maintenance schedule looks ahead.
const ScheduleHorizonDays = 90

// MaintenanceSchedule answers GET /maintenance-schedule: what is planned for
// the next 90 days, and what the faults that last call for. The earliest task
// is first, of a day the most urgent.
type MaintenanceSchedule struct {
	SiteID      string            `json:"site_id"`
	GeneratedAt Time              `json:"generated_at"`
	Horizon     ScheduleHorizon   `json:"horizon"`
	Tasks       []MaintenanceTask `json:"tasks"`
	Summary     TaskCounts        `json:"summary"`
}

// ScheduleHorizon is a span of the site's days, both ends included.
type ScheduleHorizon struct {
	Start Date `json:"start"`
	End   Date `json:"end"`
}

// MaintenanceTask is one piece of work. The fields after Priority are
// extensions.
type MaintenanceTask struct {
	AssetID                string  `json:"asset_id"`
	TaskType               string  `json:"task_type"`
	Reason                 string  `json:"reason"`
	RecommendedDate        Date    `json:"recommended_date"` // today for what is overdue
	EstimatedDurationHours float64 `json:"estimated_duration_hours"`
	Priority               string  `json:"priority"` // Critical, High, Medium, Low

	ScheduleID string `json:"schedule_id,omitempty"` // of planned work
	SummaryID  string `json:"summary_id,omitempty"`  // of the fault that calls for it
	Status     string `json:"status,omitempty"`      // of planned work: pending, confirmed
	Overdue    bool   `json:"overdue,omitempty"`
}

// TaskCounts are of all tasks.
type TaskCounts struct {
	TotalTasks int            `json:"total_tasks"`
	ByPriority map[string]int `json:"by_priority"`
	ByTaskType map[string]int `json:"by_task_type"`
	ByAsset    map[string]int `json:"by_asset"`
}

// Counted is the schedule with its counts.
func (m MaintenanceSchedule) Counted() MaintenanceSchedule {
	m.Summary = TaskCounts{TotalTasks: len(m.Tasks), ByPriority: map[string]int{}, ByTaskType: map[string]int{}, ByAsset: map[string]int{}}
	for _, t := range m.Tasks {
		m.Summary.ByPriority[t.Priority]++
		m.Summary.ByTaskType[t.TaskType]++
		m.Summary.ByAsset[t.AssetID]++
	}
	return m
}

// ForecastSnapshot answers GET /forecast-snapshot: the newest forecast of a
// site by the hour, with what it is worth.
type ForecastSnapshot struct {
	SiteID       string             `json:"site_id"`
	ModelID      string             `json:"model_id"` // name and version
	GeneratedAt  Time               `json:"generated_at"`
	HorizonHours int                `json:"horizon_hours"`
	Resolution   string             `json:"resolution"`         // hourly
	Currency     string             `json:"currency,omitempty"` // extension: of revenue, where the site has a tariff
	Intervals    []SnapshotInterval `json:"intervals"`
	Totals       SnapshotTotals     `json:"totals"`
}

// SnapshotInterval is one hour. Revenue is that of the median, in the site's
// currency (extension); RevenueZAR is there for sites whose currency is ZAR or
// has an exchange rate.
type SnapshotInterval struct {
	TS         Time     `json:"ts"` // start
	P10KW      float64  `json:"p10_kw"`
	P50KW      float64  `json:"p50_kw"`
	P90KW      float64  `json:"p90_kw"`
	Revenue    *float64 `json:"revenue,omitempty"`
	RevenueZAR *float64 `json:"revenue_zar,omitempty"`
}

// SnapshotTotals are sums of the medians over the horizon.
type SnapshotTotals struct {
	TotalKWh        float64  `json:"total_kwh"`
	TotalRevenue    *float64 `json:"total_revenue,omitempty"`
	TotalRevenueZAR *float64 `json:"total_revenue_zar,omitempty"`
}

// DefaultSnapshotHours is the horizon of a snapshot that names none.
const DefaultSnapshotHours = 24

// SnapshotQuery asks for a snapshot of a site.
type SnapshotQuery struct {
	SiteID     string `query:"site_id"`
	CustomerID string `query:"customer_id"` // of the site; empty: the only accessible one that has it
	Kind       string `query:"kind"`        // one of SnapshotKinds, or SnapshotForecast
	Since      string `query:"since"`       // of signals
	Severity   string `query:"severity"`    // of signals
	Horizon    string `query:"horizon"`     // of the forecast
}

// Hours returns the horizon in hours.
func (q *SnapshotQuery) Hours() (int, error) {
	if q.Horizon == "" {
		return DefaultSnapshotHours, nil
	}
	n, err := strconv.Atoi(strings.TrimSuffix(q.Horizon, "h"))
	if err != nil || n < 1 || n > MaxHorizonHours {
		return 0, InvalidParameter("horizon", fmt.Sprintf("hours from 1h to %dh", MaxHorizonHours))
	}
	return n, nil
}

// Signals returns the query of signals.
func (q *SnapshotQuery) Signals() (SignalsQuery, error) {
	s := SignalsQuery{SiteID: q.SiteID}
	var err error
	if q.Since != "" {
		if s.Since, err = ParseTime(q.Since, time.UTC); err != nil {
			return s, InvalidParameter("since", "not an ISO 8601 time")
		}
	}
	if q.Severity != "" {
		s.Severity, err = PartnerSeverity(q.Severity)
	}
	return s, err
}

// IsForecast reports whether the kind is that of the forecast, by either name.
func (q *SnapshotQuery) IsForecast() bool {
	return q.Kind == SnapshotForecast || q.Kind == strings.TrimPrefix(PathForecastSnapshot, "/")
}

var (
	signalRule   = rule(func(q *SnapshotQuery) error { _, err := q.Signals(); return err })
	horizonRule  = rule(func(q *SnapshotQuery) error { _, err := q.Hours(); return err })
	querySince   = optional("since").about("A time or a cursor: signals with a later timestamp.", exampleStart)
	querySeveral = optional("severity").about("Critical, High, Medium or Low, in any case.", PartnerHigh)
)

// snapshotOperation is the operation of a document that was made beforehand.
func snapshotOperation(fields ...Field) Operation {
	return Operation{Permission: PermissionRead, Cacheable: true, MaxAge: 60, Target: Target{Cached: true}, Fields: append(Fields{querySite, queryCustomer}, fields...)}
}

// tolerating is an operation with names that public clients send without effect.
func tolerating(o Operation, names ...string) Operation { o.Tolerated = names; return o }

func snapshotRoute(name, path, summary, description string, errs []*Error) Route {
	return Route{Name: name, Method: http.MethodGet, Path: path, Host: HostPartner, Summary: summary, Description: description, Errors: errs}
}

var (
	kpiRollup = snapshotRoute("kpi-rollup", PathKPIRollup, "Read the KPIs of the last 30 whole days of a site",
		"Made beforehand; may be kept for 60 seconds. Fewer days where the data began later, none for a site without a whole day. Numbers that the data do not determine are 0 and named in not_known.", snapshotErrors)
	maintenanceSignals = snapshotRoute("maintenance-signals", PathMaintenanceSignals, "Read the faults of a site",
		"Made beforehand; may be kept for 60 seconds. Those that last or ended within 30 days, newest signal first. Ask again with the cursor as since for what is new or has become worse.",
		append(snapshotErrors[:3:3], InvalidParameter("severity", "it is one of Critical, High, Medium, Low")))
	maintenanceSchedule = snapshotRoute("maintenance-schedule", PathMaintenanceSchedule, "Read what is to be done at a site in the next 90 days",
		"Made beforehand; may be kept for 60 seconds. Planned maintenance, and what lasting faults call for; the earliest first.", snapshotErrors)
	snapshot = snapshotRoute("snapshot", PathSnapshot, "Read any of these snapshots by its kind", "Answers what the path of the kind answers, and takes its parameters.",
		append(snapshotErrors[:3:3], MissingParameter("kind"), InvalidParameter("kind", "it is one of kpi-rollup, maintenance-signals, maintenance-schedule, forecast")))
	forecastSnapshot = snapshotRoute("forecast-snapshot", PathForecastSnapshot, "Read the newest forecast of a site by the hour, with what it is worth",
		"Made beforehand; may be kept for 60 seconds.", snapshotErrors)
)

// Snapshots for partner systems.
var (
	GetKPIRollup           = define[SnapshotQuery, KPIRollup](&kpiRollup, snapshotOperation())
	GetMaintenanceSignals  = define[SnapshotQuery, MaintenanceSignals](&maintenanceSignals, snapshotOperation(querySince, querySeveral, signalRule))
	GetMaintenanceSchedule = define[SnapshotQuery, MaintenanceSchedule](&maintenanceSchedule, tolerating(snapshotOperation(), "since"))
	GetForecastSnapshot    = define[SnapshotQuery, ForecastSnapshot](&forecastSnapshot, snapshotOperation(
		optional("horizon").about("Hours, with or without an h: 1h to 720h. Without it 24h.", "24h"), horizonRule))
	GetSnapshot = define[SnapshotQuery, map[string]any](&snapshot, snapshotOperation(
		required("kind").about("kpi-rollup, maintenance-signals, maintenance-schedule or forecast.", SnapshotKPIs),
		optional("since").about("Of maintenance-signals.", exampleStart), optional("severity").about("Of maintenance-signals.", PartnerHigh), optional("horizon").about("Of forecast.", "24h"),
		rule(checkSnapshot)))
)

// checkSnapshot checks the parameters that snapshots of the kind have.
func checkSnapshot(q *SnapshotQuery) error {
	switch {
	case q.Kind == SnapshotSignals:
		_, err := q.Signals()
		return err
	case q.IsForecast():
		_, err := q.Hours()
		return err
	case !slices.Contains(SnapshotKinds(), q.Kind):
		return InvalidParameter("kind", fmt.Sprintf("there is no snapshot %q; it is one of %s", q.Kind, strings.Join(SnapshotKinds(), ", ")))
	}
	return nil
}
