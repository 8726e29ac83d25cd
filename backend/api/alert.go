package api

import (
	"fmt"
	"net/http"
	"time"
)

// Severities of an alert, worst first.
const (
	AlertCritical = "critical"
	AlertMajor    = "major"
	AlertModerate = "moderate"
	AlertMinor    = "minor"
	AlertNormal   = "normal"
)

// AlertSeverities are all there are, worst first.
func AlertSeverities() []string {
	return []string{AlertCritical, AlertMajor, AlertModerate, AlertMinor, AlertNormal}
}

// States of an alert, after ISA-18.2. A shelved or suppressed alert stays
// active; it is only not shown as something to do.
const (
	AlertUnacknowledged = "unack"      // active and unacknowledged
	AlertAcknowledged   = "ack"        // active and acknowledged
	AlertReturned       = "rtn-unack"  // returned to normal and unacknowledged
	AlertShelved        = "shelved"    // by a person, for a time
	AlertSuppressed     = "suppressed" // by a plan, as of maintenance
	AlertCleared        = "cleared"    // it is over
)

// AlertStates are all there are.
func AlertStates() []string {
	return []string{AlertUnacknowledged, AlertAcknowledged, AlertReturned, AlertShelved, AlertSuppressed, AlertCleared}
}

// How long an alert may be shelved.
const (
	MinShelving = 15 * time.Minute
	MaxShelving = 12 * time.Hour
)

// AlertSource is the source_system of the alerts that the service makes.
const AlertSource = "sunloop"

// Refusals of alerts.
var (
	ErrAlertNotFound    = UnknownID("Alert not found")
	ErrTerminalNotFound = UnknownID("Terminal device not found")
)

// Alert reports one fault at a terminal device, which monitors units of a
// site. The fields after Cursor are extensions.
type Alert struct {
	TerminalDeviceID string         `json:"terminal_device_id" limit:"id"`
	SiteID           string         `json:"site_id" limit:"id"`
	Timestamp        Time           `json:"timestamp"`                   // when the fault began
	AlertType        string         `json:"alert_type" limit:"word cut"` // the fault's family
	AlertSeverity    string         `json:"alert_severity" limit:"word"`
	Message          string         `json:"message" limit:"line cut"`
	SourceSystem     string         `json:"source_system" limit:"name"`
	Resolved         bool           `json:"resolved"` // the fault is gone
	Metadata         *AlertMetadata `json:"metadata,omitempty"`
	Cursor           string         `json:"cursor,omitempty" limit:"token"`

	AlertID        string      `json:"alert_id" limit:"id"`
	AssetID        string      `json:"asset_id,omitempty" limit:"id"`
	State          string      `json:"state" limit:"word"`
	AcknowledgedBy string      `json:"acknowledged_by,omitempty" limit:"name cut"`
	AcknowledgedAt Time        `json:"acknowledged_at,omitzero"`
	ShelvedUntil   Time        `json:"shelved_until,omitzero"`
	SuppressedTo   Time        `json:"suppressed_until,omitzero"` // absent: until it is ended
	EnergyAtRiskKW float64     `json:"energy_at_risk_kw"`         // a power: the mean that is lost in the daylight of the next 24 h
	ResolvedAt     Time        `json:"resolved_at,omitzero"`
	UpdatedAtMS    int64       `json:"updated_at_ms,omitempty"`   // when it was changed last, in milliseconds since 1970; absent: not known
	Occurrences    int         `json:"occurrences"`               // times that it fired
	History        []AlertMove `json:"history" limit:"1000 last"` // oldest first
}

// AlertMetadata is what is known of the fault.
type AlertMetadata struct {
	SummaryID    string   `json:"summary_id" limit:"id"`                    // of the OODA summary
	AssetIDs     []string `json:"asset_ids,omitempty" limit:"10000 id cut"` // all units, where there are several
	RootCause    string   `json:"root_cause,omitempty" limit:"line cut"`
	Confidence   float64  `json:"confidence"`
	LossFraction float64  `json:"loss_fraction"`
	LostKWh      float64  `json:"lost_kwh"`
}

// AlertMove is a change of an alert's state.
type AlertMove struct {
	From   string `json:"from,omitempty" limit:"word"` // absent: it was raised
	To     string `json:"to" limit:"word"`
	At     Time   `json:"at"`
	Actor  string `json:"actor" limit:"name cut"`
	Reason string `json:"reason,omitempty" limit:"text cut"`
	Until  Time   `json:"until,omitzero"` // of shelving and suppression
}

// AlertsQuery asks for GET /ooda/terminal, and without TerminalDeviceID for
// GET /ooda/site: alerts with Start <= timestamp <= End.
type AlertsQuery struct {
	TerminalDeviceID string `query:"terminal_device_id"`
	SiteID           string `query:"site_id"`
	CustomerID       string `query:"customer_id"` // of the site; empty: the only accessible one that has it
	Start            Time   `query:"start"`
	End              Time   `query:"end"`
	Limit            int    `query:"limit"`  // 0: all
	Cursor           string `query:"cursor"` // of the last record of a former part; of one device
}

// AlertRecordsResponse answers /ooda/terminal, ascending in time.
type AlertRecordsResponse struct {
	Alerts []Alert `json:"alerts"`
}

// SiteAlertsResponse answers /ooda/site: terminal device → its alerts. A device
// without alerts in the span is left out.
type SiteAlertsResponse struct {
	Alerts map[string][]Alert `json:"alerts"`
}

// AlertPeriod is the response of /ooda/data-period; both records are null
// without alerts.
type AlertPeriod struct {
	SiteID           string `json:"site_id"`
	TerminalDeviceID string `json:"terminal_device_id,omitempty"`
	FirstRecord      *Time  `json:"first_record"`
	LastRecord       *Time  `json:"last_record"`
}

// AlertsRequest is the body of POST /terminal/alerts (extension): action list,
// get, acknowledge, shelve, unshelve, suppress, unsuppress or health.
type AlertsRequest struct {
	Action     string `json:"action" limit:"word"`
	CustomerID string `json:"customer_id,omitempty" limit:"id"`
	SiteID     string `json:"site_id,omitempty" limit:"id"`
	AssetID    string `json:"asset_id,omitempty" limit:"id"`         // list
	State      string `json:"state,omitempty" limit:"word"`          // list: one of AlertStates; empty: all but cleared ones
	AlertID    string `json:"alert_id,omitempty" limit:"id"`         // all but list and health
	Reason     string `json:"reason,omitempty" limit:"text"`         // shelve, suppress; elsewhere a note
	Minutes    int    `json:"minutes,omitempty"`                     // shelve: 15 to 720
	Until      Time   `json:"until,omitzero"`                        // suppress: when it ends by itself
	Severity   string `json:"alert_severity,omitempty" limit:"word"` // list
	Type       string `json:"alert_type,omitempty" limit:"word"`     // list
	Page
}

// AlertsResponse answers /terminal/alerts. A list has what is to be done
// first: unacknowledged, acknowledged, suppressed, shelved, cleared; each the
// worst and then the newest first.
type AlertsResponse struct {
	Success bool         `json:"success"`
	Message string       `json:"message,omitempty"`
	Alert   *Alert       `json:"alert,omitempty"`
	Alerts  []Alert      `json:"alerts,omitzero"` // list: there even when empty
	Counts  *AlertCounts `json:"counts,omitempty"`
	// Health answers health: of the last 24 hours and of the last 30 days.
	Health     []AlertHealth `json:"health,omitempty"`
	Count      int           `json:"count"`
	NextCursor string        `json:"next_cursor,omitempty"`
}

// Limits of an alarm system's figures, after ISA-18.2 and EEMUA 191.
const (
	FloodBegins   = 10               // alarms in FloodInterval, more of which are a flood
	FloodEnds     = 5                // fewer of which end it
	FloodInterval = 10 * time.Minute // counted from the beginning of the window
	StaleAfter    = 24 * time.Hour   // an alert that is active for so long is stale
	Chattering    = 3                // changes in a minute that make an alert chatter
	MostFrequent  = 10               // how many kinds of alarms TopTenPercent is of
)

// AlertHealth are the figures of an alarm system over a window, after
// ISA-18.2 and EEMUA 191. An alarm is each time that an alert asked for a
// person: what needs no action is none.
type AlertHealth struct {
	WindowHours   int            `json:"window_hours"`
	Alarms        int            `json:"alarms"`
	PerDay        float64        `json:"per_day"`
	Peak10Min     int            `json:"peak_10_min"` // the most in any ten minutes of the window
	Floods        int            `json:"floods"`
	FloodPercent  float64        `json:"flood_percent"`   // of the window's time
	Chattering    int            `json:"chattering"`      // alerts that changed three times or more in a minute
	Stale         int            `json:"stale"`           // alerts that stand now, for more than 24 hours
	TopTenPercent float64        `json:"top_ten_percent"` // share of the ten most frequent kinds of alarm (family and unit)
	Priorities    map[string]int `json:"priorities"`      // alarms by severity
}

// AlertCounts are of all alerts that a list was asked for, whatever its page
// and state.
type AlertCounts struct {
	Unacknowledged map[string]int `json:"unacknowledged"` // by severity; returned ones are among them
	Acknowledged   int            `json:"acknowledged"`
	Shelved        int            `json:"shelved"`
	Suppressed     int            `json:"suppressed"`
}

// AlertPeriodQuery asks for GET /ooda/data-period.
type AlertPeriodQuery struct {
	SiteID           string `query:"site_id"`
	CustomerID       string `query:"customer_id"` // of the site; empty: the only accessible one that has it
	TerminalDeviceID string `query:"terminal_device_id"`
}

var alertPeriod = Route{
	Name: "alert-period", Method: http.MethodGet, Path: PathAlertPeriod, Host: HostAlerts,
	Summary: "Get the first and last alert of a site, a unit or a terminal device", Description: "Both records are null if there are none.", Errors: append(readErrors[:4:4], ErrTerminalNotFound),
}

// GetAlertPeriod returns the span of the alerts of a site or a terminal device.
var GetAlertPeriod = define[AlertPeriodQuery, AlertPeriod](&alertPeriod, Operation{Permission: PermissionRead, Cacheable: true, Target: Target{Cached: true},
	Fields: Fields{querySite, queryCustomer, optional("terminal_device_id").about("The terminal device.", exampleDevice)}})

var alertSpan = rule(func(q *AlertsQuery) error { return endAfter(q.Start, q.End) })

// chartResolution is sent by public clients with each request for alerts, as for telemetry.
var chartResolution = []string{"resolution"}

var terminalAlerts = Route{
	Name: "terminal-alerts", Method: http.MethodGet, Path: PathTerminalAlerts, Host: HostAlerts,
	Summary: "Get the alerts of a terminal device", Description: "Ascending in time. A page has 100 alerts unless limit says otherwise; its last alert has the cursor of the next page if it is full.", Errors: append(readErrors[:4:4], ErrTerminalNotFound),
}

// ListTerminalAlerts returns the alerts of a terminal device.
var ListTerminalAlerts = define[AlertsQuery, AlertRecordsResponse](&terminalAlerts, Operation{Permission: PermissionRead, Cacheable: true, Target: Target{Cached: true}, Tolerated: chartResolution,
	Fields: Fields{required("terminal_device_id").about("The terminal device.", exampleDevice), querySite, queryCustomer, queryStart, queryEnd, alertSpan,
		pageLimit().about("The most alerts of the page.", nil), recordCursor}})

var siteAlerts = Route{
	Name: "site-alerts", Method: http.MethodGet, Path: PathSiteAlerts, Host: HostAlerts,
	Summary: "Get the alerts of all terminal devices of a site", Description: "By device, ascending in time. A device without alerts in the span is left out. A page has 100 alerts of all devices together unless limit says otherwise; its last alert has the cursor of the next page if it is full.", Errors: readErrors,
}

// ListSiteAlerts returns the alerts of all terminal devices of a site.
var ListSiteAlerts = define[AlertsQuery, SiteAlertsResponse](&siteAlerts, Operation{Permission: PermissionRead, Cacheable: true, Target: Target{Cached: true}, Tolerated: chartResolution,
	Fields: Fields{querySite, queryCustomer, queryStart, queryEnd, alertSpan, pageLimit().about("The most alerts of the page, of all devices together.", nil), recordCursor}})

var alerts = Route{
	Name: "alerts", Path: PathAlerts,
	Summary: "List alerts and change their state", Description: "A list has the most urgent first.",
	Example: AlertsRequest{Action: ActionList, SiteID: exampleSite},
	Errors:  []*Error{MissingField("alert_id"), ErrInvalidAction, ErrAlertNotFound, InvalidTransition("Alert alt_01J9Z0 is cleared; it cannot be changed by shelve")},
}

// Alerts and the states of their life.
var (
	ListAlerts = define[AlertsRequest, AlertsResponse](&alerts, Operation{Action: ActionList, DefaultAction: true, Permission: PermissionRead, Cacheable: true,
		Fields: Fields{since(), pageLimit(), optional("state").oneOf(AlertStates()...).withReason(fmt.Sprintf("it is one of %q", AlertStates())), optional("alert_severity").anyCase(AlertSeverities()...)}})
	GetAlert         = define[AlertsRequest, AlertsResponse](&alerts, Operation{Action: ActionGet, Permission: PermissionRead, Cacheable: true, Fields: Fields{required("alert_id")}})
	AcknowledgeAlert = alertMove(ActionAcknowledge)
	ShelveAlert      = alertMove(ActionShelve, required("reason").text(), required("minutes").between(MinShelving.Minutes(), MaxShelving.Minutes()))
	UnshelveAlert    = alertMove(ActionUnshelve)
	SuppressAlert    = alertMove(ActionSuppress, required("reason").text())
	UnsuppressAlert  = alertMove(ActionUnsuppress)
	GetAlertHealth   = define[AlertsRequest, AlertsResponse](&alerts, Operation{Action: ActionHealth, Permission: PermissionRead, Cacheable: true})
)

func alertMove(action string, fields ...Field) Endpoint[AlertsRequest, AlertsResponse] {
	return define[AlertsRequest, AlertsResponse](&alerts, Operation{Action: action, Permission: PermissionDetect, Fields: append(Fields{required("alert_id")}, fields...)})
}
