package api

import "net/http"

// Kinds of the configuration of notifications.
const (
	NotificationChannelKind  = "channel"
	NotificationPersonKind   = "person"
	NotificationRotationKind = "rotation"
	NotificationRouteKind    = "route"
)

// Actions of notifications.
const (
	ActionApply    = "apply"
	ActionTest     = "test"
	ActionOnCall   = "on-call"
	ActionSimulate = "simulate"
	ActionExplain  = "explain"
	ActionRetry    = "retry"
	ActionCalendar = "calendar"
	ActionAbsences = "absences"
)

// Errors of notifications.
var (
	ErrNotificationItemNotFound = newError(http.StatusNotFound, "Notification item not found")
	ErrAcknowledgeLink          = newError(http.StatusNotFound, "Link not found")
)

// NotificationChannel is a way to reach recipients. URL and Secret are never returned.
type NotificationChannel struct {
	ChannelID string `json:"channel_id" limit:"id"`
	Name      string `json:"name,omitempty" limit:"name"`
	Kind      string `json:"kind" limit:"word"`             // email, webhook, alertmanager, ntfy, slack, teams, telegram, matrix, pagerduty, opsgenie, gotify, pushover, sms
	Address   string `json:"address,omitempty" limit:"url"` // of messages to the channel itself
	Limit     int    `json:"limit,omitempty"`               // messages to the channel itself in ten minutes; 0: 3
	Disabled  bool   `json:"disabled,omitempty"`
	URL       string `json:"url,omitempty" limit:"url"`      // of the channel, with its credentials; absent: it stays as it is
	Secret    string `json:"secret,omitempty" limit:"token"` // whsec_…, signs webhooks; absent: it stays as it is
	HasURL    bool   `json:"has_url,omitempty"`              // of responses
	HasSecret bool   `json:"has_secret,omitempty"`           // of responses
	Version   int    `json:"version,omitempty"`              // of a change: refused unless it is still this one
	UpdatedAt Time   `json:"updated_at,omitzero"`
	UpdatedBy string `json:"updated_by,omitempty" limit:"name cut"`
}

// NotificationAddress is the address of a person in a channel.
type NotificationAddress struct {
	ChannelID string `json:"channel_id" limit:"id"`
	Address   string `json:"address,omitempty" limit:"url"`
	Priority  string `json:"priority,omitempty" limit:"word"` // the least urgent that is sent to it; absent: all
}

// NotificationHours are hours of days of the week, by the clock of a time zone. If To is
// not after From, they end on the next day.
type NotificationHours struct {
	Days []string `json:"days,omitempty" limit:"7 word"` // mon to sun; absent: every day
	From string   `json:"from" limit:"word"`             // 22:00
	To   string   `json:"to" limit:"word"`               // 06:00
}

// NotificationPerson is a recipient of messages.
type NotificationPerson struct {
	PersonID     string                `json:"person_id" limit:"id"`
	Name         string                `json:"name,omitempty" limit:"name"`
	Username     string                `json:"username,omitempty" limit:"name"` // account of the person, for the audit trail
	Timezone     string                `json:"timezone,omitempty" limit:"word"` // IANA name; absent: UTC
	Addresses    []NotificationAddress `json:"addresses" limit:"20"`
	Threshold    string                `json:"threshold,omitempty" limit:"word"` // the least urgent priority that the person receives; absent: all
	WorkingHours []NotificationHours   `json:"working_hours,omitempty" limit:"50"`
	QuietHours   []NotificationHours   `json:"quiet_hours,omitempty" limit:"50"`
	Limit        int                   `json:"limit,omitempty"`                  // messages in ten minutes; 0: 3
	Reports      []string              `json:"reports,omitempty" limit:"3 word"` // daily, weekly, monthly
	Numbers      string                `json:"numbers,omitempty" limit:"word"`   // of reports: point (1,234.5), comma (1.234,5), space (1 234,5); absent: point
	Disabled     bool                  `json:"disabled,omitempty"`
	Version      int                   `json:"version,omitempty"`
	UpdatedAt    Time                  `json:"updated_at,omitzero"`
	UpdatedBy    string                `json:"updated_by,omitempty" limit:"name cut"`
}

// NotificationOverride names a person for a span of time.
type NotificationOverride struct {
	PersonID string `json:"person_id" limit:"id"`
	From     Time   `json:"from"`
	To       Time   `json:"to"`
	Reason   string `json:"reason,omitempty" limit:"text"`
}

// NotificationRotation says who is on call.
type NotificationRotation struct {
	RotationID string                 `json:"rotation_id" limit:"id"`
	Name       string                 `json:"name,omitempty" limit:"name"`
	Timezone   string                 `json:"timezone,omitempty" limit:"word"`
	Start      string                 `json:"start" limit:"word"`               // date of the first handover, 2026-01-05
	Handovers  []string               `json:"handovers" limit:"24 word"`        // times of day, 09:00
	EveryDays  int                    `json:"every_days,omitempty"`             // days between handovers; 0: 7
	People     []string               `json:"people" limit:"100 id"`            // in turn
	Overrides  []NotificationOverride `json:"overrides,omitempty" limit:"1000"` // who is on call instead
	Absences   []NotificationOverride `json:"absences,omitempty" limit:"1000"`  // of people, who are then replaced by the next in turn
	Version    int                    `json:"version,omitempty"`
	UpdatedAt  Time                   `json:"updated_at,omitzero"`
	UpdatedBy  string                 `json:"updated_by,omitempty" limit:"name cut"`
}

// NotificationRoute selects alarms and says who is notified. Absent lists select all.
type NotificationRoute struct {
	RouteID       string              `json:"route_id" limit:"id"`
	Name          string              `json:"name,omitempty" limit:"name"`
	CustomerIDs   []string            `json:"customer_ids,omitempty" limit:"1000 id"`
	SiteIDs       []string            `json:"site_ids,omitempty" limit:"1000 id"`
	Families      []string            `json:"families,omitempty" limit:"100 word"`
	Priority      string              `json:"priority,omitempty" limit:"word"`    // the least urgent; absent: moderate
	MinKW         float64             `json:"min_kw,omitempty"`                   // power at risk
	MinKWh        float64             `json:"min_kwh,omitempty"`                  // energy that was lost
	MinMoney      float64             `json:"min_money,omitempty"`                // money at risk per day, in the site's currency
	Hours         []NotificationHours `json:"hours,omitempty" limit:"50"`         // in which alarms are raised
	Timezone      string              `json:"timezone,omitempty" limit:"word"`    // of hours; absent: UTC
	UrgentFrom    string              `json:"urgent_from,omitempty" limit:"word"` // priority that is sent in quiet hours too; absent: critical
	Steps         []NotificationStep  `json:"steps" limit:"20"`
	RepeatMinutes int                 `json:"repeat_minutes,omitempty"` // of the last step; 0: its after_minutes; -1: never
	Disabled      bool                `json:"disabled,omitempty"`
	Version       int                 `json:"version,omitempty"`
	UpdatedAt     Time                `json:"updated_at,omitzero"`
	UpdatedBy     string              `json:"updated_by,omitempty" limit:"name cut"`
}

// NotificationStep is a step of escalation, until the alarm is acknowledged.
type NotificationStep struct {
	AfterMinutes int      `json:"after_minutes,omitempty"` // after the step before it, or after the alarm was raised
	To           []string `json:"to" limit:"50 id"`        // person:ID, rotation:ID or channel:ID
}

// NotificationConfig is the whole configuration of an owner, each list by id.
type NotificationConfig struct {
	Channels  []NotificationChannel  `json:"channels,omitzero" limit:"1000"`
	People    []NotificationPerson   `json:"people,omitzero" limit:"1000"`
	Rotations []NotificationRotation `json:"rotations,omitzero" limit:"1000"`
	Routes    []NotificationRoute    `json:"routes,omitzero" limit:"1000"`
}

// NotificationChange is a difference between the stored and an applied configuration.
type NotificationChange struct {
	Kind   string `json:"kind"` // channel, person, rotation or route
	ID     string `json:"id"`
	Change string `json:"change"`           // added, changed or removed
	Before string `json:"before,omitempty"` // the item as JSON, without secrets
	After  string `json:"after,omitempty"`
}

// NotificationDelivery is a message as it was sent to an address, or why it was not sent.
type NotificationDelivery struct {
	EntryID       string   `json:"entry_id"`
	DeliveryID    string   `json:"delivery_id,omitempty"`
	IncidentID    string   `json:"incident_id,omitempty"`
	SiteID        string   `json:"site_id,omitempty"`
	AlertIDs      []string `json:"alert_ids,omitempty"`
	RouteID       string   `json:"route_id,omitempty"`
	Step          int      `json:"step,omitempty"`
	Recipient     string   `json:"recipient,omitempty"` // person:ID or channel:ID; absent: all of the route
	ChannelID     string   `json:"channel_id,omitempty"`
	Address       string   `json:"address,omitempty"`
	Kind          string   `json:"kind,omitempty"` // raised, update, escalated, all_clear, summary, report, test
	Title         string   `json:"title,omitempty"`
	Status        string   `json:"status"` // pending, delivered, dead, held, grouped, superseded, suppressed
	Reason        string   `json:"reason,omitempty"`
	Until         Time     `json:"until,omitzero"` // of held
	SummaryID     string   `json:"summary_id,omitempty"`
	PlannedAt     Time     `json:"planned_at"`
	Attempts      int      `json:"attempts,omitempty"`
	LastAttemptAt Time     `json:"last_attempt_at,omitzero"`
	NextAttemptAt Time     `json:"next_attempt_at,omitzero"`
	DeliveredAt   Time     `json:"delivered_at,omitzero"`
	Failure       string   `json:"failure,omitempty"` // of the last attempt
	Detail        string   `json:"detail,omitempty"`  // that the receiver returned
}

// NotificationDecision says what a route does with an alarm.
type NotificationDecision struct {
	RouteID    string   `json:"route_id"`
	Selects    bool     `json:"selects"`
	Reason     string   `json:"reason,omitempty"`     // why it does not select the alarm, or why no one is notified now
	Recipients []string `json:"recipients,omitempty"` // with the step and the reason: person:anna, step 1, on call
}

// NotificationShift is a span in which one person is on call.
type NotificationShift struct {
	RotationID string `json:"rotation_id"`
	PersonID   string `json:"person_id"`
	Reason     string `json:"reason,omitempty"`
	From       Time   `json:"from"`
	To         Time   `json:"to"`
}

// NotificationResult is the result of a test message to an address.
type NotificationResult struct {
	ChannelID string `json:"channel_id"`
	Kind      string `json:"kind"`
	Address   string `json:"address,omitempty"`
	Delivered bool   `json:"delivered"`
	Detail    string `json:"detail,omitempty"`
	Failure   string `json:"failure,omitempty"`
	Permanent bool   `json:"permanent,omitempty"` // a repetition changes nothing
}

// NotificationsRequest is the body of POST /terminal/notifications.
type NotificationsRequest struct {
	Action     string                `json:"action" limit:"word"`
	CustomerID string                `json:"customer_id,omitempty" limit:"id"` // the owner; absent: the only accessible customer, or the operator of the service
	Channel    *NotificationChannel  `json:"channel,omitempty"`                // set: one of the four
	Person     *NotificationPerson   `json:"person,omitempty"`
	Rotation   *NotificationRotation `json:"rotation,omitempty"`
	Route      *NotificationRoute    `json:"route,omitempty"`
	Kind       string                `json:"kind,omitempty" limit:"word"`  // remove
	ItemID     string                `json:"item_id,omitempty" limit:"id"` // remove
	Version    int                   `json:"version,omitempty"`            // remove

	Configuration *NotificationConfig `json:"configuration,omitempty"` // apply: replaces all items of the owner
	DryRun        bool                `json:"dry_run,omitempty"`       // apply

	AlertID        string   `json:"alert_id,omitempty" limit:"id"`     // explain, list
	DeliveryID     string   `json:"delivery_id,omitempty" limit:"id"`  // retry
	PersonID       string   `json:"person_id,omitempty" limit:"id"`    // explain, list, test, absences
	ChannelID      string   `json:"channel_id,omitempty" limit:"id"`   // test
	RotationID     string   `json:"rotation_id,omitempty" limit:"id"`  // on-call, calendar, absences
	From           Time     `json:"from,omitzero"`                     // on-call, calendar; absent: now
	To             Time     `json:"to,omitzero"`                       // on-call, calendar; absent: four weeks later
	Calendar       string   `json:"calendar,omitempty" limit:"128KiB"` // absences: iCalendar text
	SiteID         string   `json:"site_id,omitempty" limit:"id"`      // simulate, list
	AssetID        string   `json:"asset_id,omitempty" limit:"id"`     // simulate
	Family         string   `json:"family,omitempty" limit:"word"`     // simulate
	Priority       string   `json:"priority,omitempty" limit:"word"`   // simulate
	EnergyAtRiskKW *float64 `json:"energy_at_risk_kw,omitempty"`       // simulate
	LostKWh        *float64 `json:"lost_kwh,omitempty"`                // simulate
	At             Time     `json:"at,omitzero"`                       // simulate; absent: now
	Status         string   `json:"status,omitempty" limit:"word"`     // list
	Page
}

// NotificationsResponse answers /terminal/notifications.
type NotificationsResponse struct {
	Success       bool                   `json:"success"`
	Message       string                 `json:"message,omitempty"`
	Configuration *NotificationConfig    `json:"configuration,omitempty"` // get
	Version       int                    `json:"version,omitempty"`       // set: of the stored item
	Changes       []NotificationChange   `json:"changes,omitzero"`        // apply: there even when empty
	Deliveries    []NotificationDelivery `json:"deliveries,omitzero"`     // list, explain, simulate: there even when empty
	Decisions     []NotificationDecision `json:"decisions,omitzero"`      // explain, simulate
	Shifts        []NotificationShift    `json:"shifts,omitzero"`         // on-call
	Results       []NotificationResult   `json:"results,omitzero"`        // test
	Calendar      string                 `json:"calendar,omitempty"`      // calendar: iCalendar text
	Count         int                    `json:"count"`
	NextCursor    string                 `json:"next_cursor,omitempty"`
}

var notifications = Route{
	Name: "notifications", Path: PathNotifications,
	Summary: "Configure who is notified of alarms, and see what was sent",
	Description: "Channels, people, rotations and routes belong to a customer, or without customer_id to the operator of the service. set creates or replaces one item, apply all of them; " +
		"with dry_run it returns only the differences. list returns deliveries, the newest first, with what held or suppressed a message. explain says for an alarm, and for a person if one is named, " +
		"what was sent and why. simulate says who would be notified if an alarm were raised at a site at a time. on-call returns shifts, calendar the same as iCalendar, and absences reads the absences of a person from iCalendar. " +
		"test sends a message now, to a person or a channel, and returns the result of each address.",
	Example: NotificationsRequest{Action: ActionSimulate, SiteID: exampleSite, Family: "inverter_outage", Priority: AlertCritical},
	Errors: []*Error{ErrInvalidAction, MissingField("alert_id"), ErrNotificationItemNotFound, ErrAlertNotFound, ErrDeliveryNotFound, ErrSiteNotFound,
		Conflict("Route all is at version 3: it was changed meanwhile")},
}

// Notifications: their configuration, deliveries and explanations.
var (
	GetNotificationConfig   = notificationRead(ActionGet)
	SetNotificationItem     = notificationWrite(ActionSet)
	RemoveNotificationItem  = notificationWrite(ActionRemove, required("kind").oneOf(NotificationChannelKind, NotificationPersonKind, NotificationRotationKind, NotificationRouteKind), required("item_id"))
	ApplyNotificationConfig = notificationWrite(ActionApply, required("configuration"))
	ImportAbsences          = notificationWrite(ActionAbsences, required("rotation_id"), required("person_id"), required("calendar"))
	TestNotification        = notificationWrite(ActionTest, required("person_id").or("channel_id"))
	RetryNotification       = notificationWrite(ActionRetry, required("delivery_id"))
	ListNotifications       = notificationRead(ActionList, pageLimit(), optional("status").oneOf("pending", "delivered", "dead", "held", "grouped", "superseded", "suppressed"))
	ExplainNotification     = notificationRead(ActionExplain, required("alert_id"))
	SimulateNotification    = notificationRead(ActionSimulate, required("site_id"), required("family"), required("priority").oneOf(AlertSeverities()...))
	ListOnCall              = notificationRead(ActionOnCall)
	ExportOnCall            = notificationRead(ActionCalendar, required("rotation_id"))
)

func notificationRead(action string, fields ...Field) Endpoint[NotificationsRequest, NotificationsResponse] {
	return define[NotificationsRequest, NotificationsResponse](&notifications, Operation{Action: action, Permission: PermissionRead, ReadOnly: true, Fields: Fields(fields)})
}

func notificationWrite(action string, fields ...Field) Endpoint[NotificationsRequest, NotificationsResponse] {
	return define[NotificationsRequest, NotificationsResponse](&notifications, Operation{Action: action, Permission: PermissionSites, Fields: Fields(fields)})
}

// States of an acknowledgement link.
const (
	AcknowledgeOpen    = "open"
	AcknowledgeDone    = "done"    // by this request
	AcknowledgeUsed    = "used"    // it was used before
	AcknowledgeExpired = "expired" // it is older than three days
	AcknowledgeNothing = "nothing" // nothing requires an acknowledgement any more
)

// AcknowledgePage is what the page of an acknowledgement link shows. It is no body of the
// API: the page is HTML.
type AcknowledgePage struct {
	State      string
	Title      string
	Lines      []string
	Recipient  string
	By         string   // who acknowledged
	AlertIDs   []string // that the link acknowledges, or acknowledged
	DeliveryID string
	IncidentID string
	CustomerID string
	SiteID     string
}
