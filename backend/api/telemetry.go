package api

import (
	"net/http"
	"time"
)

// Resolutions of /telemetry/inverter.
const (
	Resolution5Min  = "5min"
	Resolution15Min = "15min"
	ResolutionHour  = "hourly"
	ResolutionDaily = "daily"
)

// ArcDetected is the bit of an event code that says that a unit has detected an arc in its
// DC circuit. The lowest 16 bits may be set with it: they are those of SunSpec's Evt1.
const ArcDetected = 1 << 32

// Record is one sample of one asset. The first seven fields are always there;
// the optional ones are left out where they were not measured.
type Record struct {
	AssetID          string   `json:"asset_id"`
	SiteID           string   `json:"site_id"`
	Timestamp        Time     `json:"timestamp"`
	Power            float64  `json:"power"` // kW
	KWh              float64  `json:"kWh"`   // energy of the record's interval
	InverterState    int      `json:"inverter_state"`
	RunState         int      `json:"run_state"`
	KVArh            *float64 `json:"kVArh,omitempty"`
	KVA              *float64 `json:"kVA,omitempty"`
	PF               *float64 `json:"PF,omitempty"`
	Temperature      *float64 `json:"temperature,omitempty"`
	Irradiance       *float64 `json:"irradiance,omitempty"`
	SoC              *float64 `json:"soc,omitempty"`
	SoH              *float64 `json:"soh,omitempty"`
	Voltage          *float64 `json:"voltage,omitempty"`
	EnergyCounterKWh *float64 `json:"energy_counter_kwh,omitempty"`
	ErrorCode        *int64   `json:"error_code,omitempty"` // see [ArcDetected]
	ErrorType        string   `json:"error_type,omitempty"`
	// Where the energy comes from, if not from power alone: "counter" or
	// "interval_energy".
	EnergySource string `json:"energy_source,omitempty"`
	// Of the record of a day: kWh is the production; its parts by source, the
	// consumption, and by how much the counter or the interval energy exceeds the
	// energy by power over the same time.
	ConsumptionKWh      float64  `json:"consumption_kwh,omitempty"`
	CounterKWh          float64  `json:"counter_kwh,omitempty"`
	IntervalKWh         float64  `json:"interval_kwh,omitempty"`
	ExtrapolatedKWh     float64  `json:"extrapolated_kwh,omitempty"`
	EnergyDifferencePct *float64 `json:"energy_difference_pct,omitempty"`
	Cursor              string   `json:"cursor,omitempty"`
}

// RecordsResponse answers /telemetry/inverter, ascending in time. The last record of a
// full page has the cursor of the next page.
type RecordsResponse struct {
	Records []Record `json:"records"`
}

// SiteRecordsResponse answers /telemetry/site: asset id → records, a page of all units in
// the order of their ids. A unit without records in the page is left out. The last record of a
// full page has the cursor of the next page.
type SiteRecordsResponse struct {
	Records map[string][]Record `json:"records"`
}

// LatestResponse answers /telemetry/latest (extension): the newest record of
// each unit of a site, by asset id.
type LatestResponse struct {
	SiteID  string   `json:"site_id"`
	Records []Record `json:"records"`
}

// DataPeriod is the response of /telemetry/data-period; both records are null
// without data.
type DataPeriod struct {
	SiteID      string `json:"site_id"`
	AssetID     string `json:"asset_id,omitempty"`
	FirstRecord *Time  `json:"first_record"`
	LastRecord  *Time  `json:"last_record"`
}

// SiteSummaryRequest is the body of POST /terminal/telemetry: action
// site-summary of a site, or fleet of all accessible sites.
type SiteSummaryRequest struct {
	Action     string `json:"action" limit:"word"`
	SiteID     string `json:"site_id,omitempty" limit:"id"`     // site-summary
	CustomerID string `json:"customer_id,omitempty" limit:"id"` // fleet
	Page              // fleet
}

// SiteSummary is a site's day so far. What the data do not show is null: at night,
// for example, the ratios of the day that has just begun.
type SiteSummary struct {
	TotalKWhToday        float64  `json:"total_kWh_today"` // 0 if energy_state is none
	FleetAvailabilityPct *float64 `json:"fleet_availability_pct"`
	FleetPRPct           *float64 `json:"fleet_pr_pct"`
	ActiveInverters      int      `json:"active_inverters"`
	TotalInverters       int      `json:"total_inverters"`
	LastUpdated          NullTime `json:"last_updated"`
	ServiceTime          Time     `json:"service_time"`           // extension: the clock of the service, which a simulated plant may run fast
	TotalPowerKW         float64  `json:"total_power_kw"`         // extension; 0 if power_state is not measured
	PowerState           string   `json:"power_state"`            // extension: PowerMeasured, PowerStale or PowerNone
	EnergyState          string   `json:"energy_state"`           // extension: EnergyMeasured, EnergyStale or EnergyNone
	ExpectedPowerKW      *float64 `json:"expected_power_kw"`      // extension: P50 of the newest forecast, now
	ExpectedKWhToday     *float64 `json:"expected_kWh_today"`     // extension: P50 of the whole site day, each hour as issued last before it began
	ExpectedKWhSoFar     *float64 `json:"expected_kWh_so_far"`    // extension: the part of it until now
	SpecificYieldKWhKWp  *float64 `json:"specific_yield_kWh_kWp"` // extension: today
	Figures              []KPI    `json:"figures,omitempty"`      // extension: what the energy, yield, ratio and availability of today rest on
}

// PowerStaleAfter is the age from which the newest sample of a unit is no
// measurement of its present power: two intervals of the slowest exports.
const PowerStaleAfter = 2 * time.Hour

// Values of power_state.
const (
	PowerMeasured = "measured" // by at least one unit
	PowerStale    = "stale"    // the newest samples are older than [PowerStaleAfter]
	PowerNone     = "none"     // there are no samples
)

// HasPower reports whether TotalPowerKW is measured. If it is not, the power of
// the site is unknown, not zero.
func (s SiteSummary) HasPower() bool {
	if s.PowerState != "" {
		return s.PowerState == PowerMeasured
	}
	return !s.LastUpdated.IsZero() && s.ServiceTime.Sub(s.LastUpdated.Time) <= PowerStaleAfter
}

// Values of energy_state.
const (
	EnergyMeasured = "measured" // total_kWh_today is the energy so far
	EnergyStale    = "stale"    // it is the energy until last_updated, which is older than [PowerStaleAfter]
	EnergyNone     = "none"     // there are no samples of today: the energy is unknown
)

// HasEnergy reports whether TotalKWhToday is known, at least until LastUpdated. If it
// is not, the energy of today is unknown, not zero.
func (s SiteSummary) HasEnergy() bool {
	if s.EnergyState != "" {
		return s.EnergyState != EnergyNone
	}
	return s.TotalKWhToday > 0 || s.HasPower() // of a service that does not state it
}

// SiteSummaryResponse answers with the fields twice: under summary and at the
// top level, as clients read either.
type SiteSummaryResponse struct {
	Success bool        `json:"success"`
	Summary SiteSummary `json:"summary"`
	SiteSummary
}

// PeriodQuery asks for GET /telemetry/data-period and GET /telemetry/latest.
type PeriodQuery struct {
	SiteID     string `query:"site_id"`
	CustomerID string `query:"customer_id"` // of the site; empty: the only accessible one that has it
	AssetID    string `query:"asset_id"`    // empty: all units of the site
}

var dataPeriod = Route{
	Name: "data-period", Method: http.MethodGet, Path: PathDataPeriod, Host: HostTelemetry,
	Summary: "Get the first and last record of a site or a unit", Description: "Both records are null if there are none.", Errors: readErrors,
}

// GetDataPeriod returns the span of the telemetry of a site or a unit.
var GetDataPeriod = define[PeriodQuery, DataPeriod](&dataPeriod, Operation{Permission: PermissionRead, Cacheable: true, Target: Target{Asset: "asset_id", Cached: true},
	Fields: Fields{querySite, queryCustomer, optional("asset_id").about("The unit.", exampleAsset)}})

var (
	queryResolution = optional("resolution").about("The step of the records; without it they are as they were measured.", nil).
			oneOf(Resolution5Min, Resolution15Min, ResolutionHour, ResolutionDaily).withReason("5min, 15min, hourly or daily")
	recordLimit = pageLimit().about("The most records of the page. The default is of the form records; the compact forms have the whole span without it. CSV and Arrow take no limit.", nil)
	recordSpan  = rule(func(q *RecordsQuery) error { return endAfter(q.Start, q.End) })
	recordForm  = optional("format").about("The form of the response; without it by the header Accept. All but records are compact: they take fields and step, and have the whole span unless limit says otherwise.", nil).
			oneOf(FormatRecords, FormatColumns, FormatCSV, FormatNDJSON, FormatArrow)
	recordFields = optional("fields").about("Of a compact form: the fields of the records, separated by commas; without it all that were measured.", nil)
	recordStep   = optional("step").about("Of a compact form: the step of the records, from 1 s to 1 d, such as 900, 15m, 1h or 1d. Steps are counted from the site's midnights. A record has the whole energy of its step. What is measured less often stays as it is.", nil)
	recordBy     = optional("aggregate").about("What a record of a step says of power and other measured values; energy is always their sum. Default mean.", nil).
			oneOf(AggregateMean, AggregateMin, AggregateMax, AggregateSum, AggregateLast)
	recordCompact = rule((*RecordsQuery).checkCompact)
)

var inverter = Route{
	Name: "inverter", Method: http.MethodGet, Path: PathInverter, Host: HostTelemetry,
	Summary: "Get the records of a unit", Description: "Ascending in time. A period without records is an empty list. A page has 100 records unless limit says otherwise; its last record has the cursor of the next page if it is full." + aboutForms,
	Media: RecordForms, Reply: RecordsResponse{Records: []Record{
		{AssetID: exampleAsset, SiteID: exampleSite, Timestamp: exampleNoon, Power: 41.5, KWh: 3.458, InverterState: 4, RunState: 1},
	}},
	Errors: append(readErrors[:4:4], ErrAssetNotFound),
}

// ListRecords returns the records of a unit.
var ListRecords = define[RecordsQuery, RecordsResponse](&inverter, Operation{Permission: PermissionRead, Cacheable: true, Target: Target{Asset: "asset_id", Cached: true},
	Fields: Fields{required("asset_id").about("The unit.", exampleAsset), querySite, queryCustomer, queryStart, queryEnd, recordSpan, queryResolution, recordLimit, recordCursor,
		recordForm, recordFields, recordStep, recordBy, recordCompact}})

var siteData = Route{
	Name: "site-data", Method: http.MethodGet, Path: PathSiteData, Host: HostTelemetry,
	Summary: "Get the records of all units of a site", Description: "By unit, ascending in time. A unit without records in the span is left out. A page has 100 records of all units together unless limit says otherwise; its last record has the cursor of the next page if it is full." + aboutForms,
	Media: RecordForms, Errors: readErrors,
}

// ListSiteRecords returns the records of all units of a site.
var ListSiteRecords = define[RecordsQuery, SiteRecordsResponse](&siteData, Operation{Permission: PermissionRead, Cacheable: true, Target: Target{Cached: true},
	Fields: Fields{querySite, queryCustomer, queryStart, queryEnd, recordSpan, queryResolution, recordLimit, recordCursor,
		recordForm, recordFields, recordStep, recordBy, recordCompact}})

var latest = Route{
	Name: "latest", Method: http.MethodGet, Path: PathLatest, Host: HostTelemetry,
	Summary: "Get the newest record of each unit", Description: "Of one site, by unit.", Errors: readErrors,
}

// GetLatest returns the newest record of each unit of a site.
var GetLatest = define[PeriodQuery, LatestResponse](&latest, Operation{Permission: PermissionRead, Cacheable: true, Target: Target{Cached: true}, Fields: Fields{querySite, queryCustomer}})

var siteSummary = Route{
	Name: "site-summary", Path: PathTerminalTelemetry,
	Summary: "Get the summary of the current day of a site, or of all sites", Description: "The fields of a site are under summary and at the top level. The fleet is all sites to which the caller has access, by name.",
	Example: SiteSummaryRequest{Action: ActionSiteSummary, SiteID: exampleSite},
	Errors:  []*Error{ErrInvalidAction, MissingField("site_id"), ErrSiteNotFound},
}

// The day so far of a site, and of all sites.
var (
	GetSiteSummary = define[SiteSummaryRequest, SiteSummaryResponse](&siteSummary, Operation{Action: ActionSiteSummary, Permission: PermissionRead, Cacheable: true,
		Fields: Fields{required("site_id")}})
	ListFleet = define[SiteSummaryRequest, FleetResponse](&siteSummary, Operation{Action: ActionFleet, Permission: PermissionRead, Cacheable: true, Target: Target{NoSite: true},
		Fields: Fields{pageLimit()}})
)

// FleetResponse is the response of POST /terminal/telemetry with action fleet
// (extension): the accessible sites by name.
type FleetResponse struct {
	Success    bool        `json:"success"`
	Sites      []FleetSite `json:"sites"`
	Count      int         `json:"count"`
	NextCursor string      `json:"next_cursor,omitempty"`
}

// FleetSite is a site's day so far, with what is wrong there.
type FleetSite struct {
	SiteID     string      `json:"site_id"`
	CustomerID string      `json:"customer_id"`
	Name       string      `json:"name"`
	Timezone   string      `json:"timezone"`
	CapacityKW float64     `json:"capacity_kw,omitempty"`
	Summary    SiteSummary `json:"summary"`
	// Findings are those that last, by severity, and EnergyAtRiskKW is theirs
	// together: a power in kW, the mean that is lost in the daylight of the next
	// 24 h.
	Findings map[string]int `json:"findings"`
	// AlertSeverities are the same findings by the severity of their alerts, which is finer.
	AlertSeverities map[string]int `json:"alert_severities,omitempty"`
	EnergyAtRiskKW  float64        `json:"energy_at_risk_kw"`
	// Unacknowledged are the alerts that ask for a person.
	Unacknowledged int `json:"unacknowledged"`
	// Hours are measured over expected power of each hour of the site's day, P50
	// of the forecasts; null where there is nothing to compare, as by night.
	Hours []*float64 `json:"hours"`
}
