package api

import (
	"slices"
	"strings"
)

// Types of the events that are posted to subscriptions of a customer or a site.
const (
	EventOrderCreated       = "order.created"
	EventOrderAssigned      = "order.assigned"
	EventOrderStatusChanged = "order.status_changed"
	EventFindingOpened      = "finding.opened"
	EventFindingClosed      = "finding.closed"
	EventAlertRaised        = "alert.raised"
	EventAlertAcknowledged  = "alert.acknowledged"
	EventAlertReturned      = "alert.returned" // to normal, not acknowledged yet
	EventAlertShelved       = "alert.shelved"
	EventAlertSuppressed    = "alert.suppressed"
	EventAlertCleared       = "alert.cleared"
	EventUploadAccepted     = "upload.accepted"
	EventUploadCompleted    = "upload.completed" // also with warnings
	EventUploadFailed       = "upload.failed"
	EventUploadRejected     = "upload.rejected"
	EventUploadReverted     = "upload.reverted"
	EventForecastIssued     = "forecast.issued"
	EventModelPromoted      = "model.promoted"
	EventSiteSilent         = "site.silent"    // data of the site are overdue
	EventSiteReporting      = "site.reporting" // data of a silent site arrive again
)

// Objects of events.
const (
	ObjectOrder    = "order"
	ObjectFinding  = "finding"
	ObjectAlert    = "alert"
	ObjectUpload   = "upload"
	ObjectForecast = "forecast" // all forecasts of a site are one object
	ObjectModel    = "model"
	ObjectSite     = "site"
)

// EventTypes returns the types of events, in the order of documents.
func EventTypes() []string {
	return []string{
		EventOrderCreated, EventOrderAssigned, EventOrderStatusChanged, EventFindingOpened, EventFindingClosed,
		EventAlertRaised, EventAlertAcknowledged, EventAlertReturned, EventAlertShelved, EventAlertSuppressed, EventAlertCleared,
		EventUploadAccepted, EventUploadCompleted, EventUploadFailed, EventUploadRejected, EventUploadReverted,
		EventForecastIssued, EventModelPromoted, EventSiteSilent, EventSiteReporting,
	}
}

// SelectsEvent reports whether one of the patterns selects a type of event: a type, all
// types of an object such as alert.*, or * for all.
func SelectsEvent(patterns []string, eventType string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		family, ok := strings.CutSuffix(p, ".*")
		return p == eventType || p == Every || ok && strings.HasPrefix(eventType, family+".")
	})
}

// WebhookEvent is the body that is posted to a subscription of a customer or a site.
type WebhookEvent struct {
	EventID    string      `json:"event_id"` // the same in all subscriptions that get the event
	Type       string      `json:"type"`     // of [EventTypes]
	Timestamp  Time        `json:"timestamp"`
	Sequence   int         `json:"sequence"` // of the object: rises by one with each of its events of any type
	Object     string      `json:"object"`   // order, finding, alert, upload, forecast, model or site
	ObjectID   string      `json:"object_id"`
	CustomerID string      `json:"customer_id"`
	SiteID     string      `json:"site_id"`
	AssetID    string      `json:"asset_id,omitempty"`
	Test       bool        `json:"test,omitempty"` // sent on request, with made-up data
	Data       WebhookData `json:"data"`
}

// WebhookData is what an event says of its object: what is not known or of other objects
// is absent.
type WebhookData struct {
	Status             string `json:"status,omitempty"`        // of the object after the event
	FormerStatus       string `json:"former_status,omitempty"` // absent for a new object
	Severity           string `json:"severity,omitempty"`      // of a finding or an alert
	FaultFamily        string `json:"fault_family,omitempty"`  // of a finding or an alert
	Summary            string `json:"summary,omitempty"`       // of a finding or an alert, in one line
	SummaryID          string `json:"summary_id,omitempty"`    // of the finding of an alert or an order
	AssignedTechnician string `json:"assigned_technician,omitempty"`
	Priority           string `json:"priority,omitempty"`
	MaintenanceType    string `json:"maintenance_type,omitempty"`
	Filename           string `json:"filename,omitempty"`
	RowsStored         int    `json:"rows_stored,omitempty"`
	Error              string `json:"error,omitempty"` // of an upload
	ForecastID         string `json:"forecast_id,omitempty"`
	ModelName          string `json:"model_name,omitempty"`
	ModelVersion       string `json:"model_version,omitempty"`
}

// EventSubscription asks for the events of a customer or of one of its sites.
type EventSubscription struct {
	SubscriptionID    string   `json:"subscription_id"`
	CustomerID        string   `json:"customer_id"`
	SiteID            string   `json:"site_id,omitempty"` // absent: all sites of the customer
	Events            []string `json:"events"`            // types, object.* or *
	CallbackURL       string   `json:"callback_url"`
	Status            string   `json:"status"` // active, paused, failing, disabled, deleted
	StatusReason      string   `json:"status_reason,omitempty"`
	CreatedAt         Time     `json:"created_at"`
	CreatedBy         string   `json:"created_by,omitempty"`
	LastSuccessAt     Time     `json:"last_success_at,omitzero"`
	FailingSince      Time     `json:"failing_since,omitzero"`
	FormerSecretUntil Time     `json:"former_secret_until,omitzero"`
	UpdatedAtMS       int64    `json:"updated_at_ms,omitempty"` // when it was changed last, in milliseconds since 1970; absent: not known
}

// EventDelivery is an event that is delivered to a subscription, with the result of its attempts.
type EventDelivery struct {
	DeliveryID     string       `json:"delivery_id"` // the webhook-id: the same in each attempt
	SubscriptionID string       `json:"subscription_id"`
	Status         string       `json:"status"` // pending, held, delivered, failed, dropped
	Event          WebhookEvent `json:"event"`
	CreatedAt      Time         `json:"created_at"`
	Attempts       int          `json:"attempts"`
	LastAttemptAt  Time         `json:"last_attempt_at,omitzero"`
	NextAttemptAt  Time         `json:"next_attempt_at,omitzero"`
	DeliveredAt    Time         `json:"delivered_at,omitzero"`
	AnswerStatus   int          `json:"answer_status,omitempty"` // the HTTP status of the last answer
	Failure        string       `json:"failure,omitempty"`       // error of the last attempt
}

// MaxEventPatterns is the number of patterns of events of a subscription.
const MaxEventPatterns = 50

// SubscriptionsRequest is the body of POST /terminal/subscriptions.
type SubscriptionsRequest struct {
	Action         string   `json:"action" limit:"word"`
	CustomerID     string   `json:"customer_id,omitempty" limit:"id"` // subscribe: absent with a site_id, or if only one customer is accessible
	SiteID         string   `json:"site_id,omitempty" limit:"id"`     // subscribe: absent for all sites of the customer
	CallbackURL    string   `json:"callback_url,omitempty" limit:"url"`
	Events         []string `json:"events,omitempty" limit:"50 word"` // subscribe: types, object.* or *
	Event          string   `json:"event,omitempty" limit:"word"`     // preview, test; absent: order.created
	SubscriptionID string   `json:"subscription_id,omitempty" limit:"id"`
	DeliveryID     string   `json:"delivery_id,omitempty" limit:"id"` // replay
	Since          Time     `json:"since,omitzero"`                   // replay: all events from then on; absent: those that were not delivered
	Status         string   `json:"status,omitempty" limit:"word"`    // list, deliveries
	Page
}

// SubscriptionsResponse answers /terminal/subscriptions. Deliveries are listed the newest
// first.
type SubscriptionsResponse struct {
	Success        bool                `json:"success"`
	Message        string              `json:"message,omitempty"`
	SubscriptionID string              `json:"subscription_id,omitempty"`
	Status         string              `json:"status,omitempty"`
	Secret         string              `json:"secret,omitempty"` // whsec_…, shown once, by subscribe and rotate
	Subscription   *EventSubscription  `json:"subscription,omitempty"`
	Subscriptions  []EventSubscription `json:"subscriptions,omitzero"` // list: there even when empty
	Deliveries     []EventDelivery     `json:"deliveries,omitzero"`    // deliveries, replay, test: there even when empty
	Event          *WebhookEvent       `json:"event,omitempty"`        // preview: the body that is posted
	Count          int                 `json:"count"`
	NextCursor     string              `json:"next_cursor,omitempty"`
}

var subscriptions = Route{
	Name: "subscriptions", Path: PathSubscriptions,
	Summary: "Subscribe to events of a customer or a site",
	Description: "The events of work orders, findings, alerts, uploads, forecasts, models and the data of sites are posted to the callback URL as JSON, signed as in Standard Webhooks with the secret that is shown once. " +
		"events selects their types: a type such as order.created, all of an object such as alert.*, or *. An event is written together with the change that it reports and posted at least once; those of one object come in order, " +
		"and sequence numbers them: the next one is posted when the one before was delivered or given up after 10 attempts over three days. While a subscription is paused its events are stored for 30 days. " +
		"preview returns the body of a type of event, test posts it now and returns what the receiver answered, deliveries is the log of 30 days, and replay posts one delivery again, those that were not delivered, or all since a time.",
	Example: SubscriptionsRequest{Action: ActionPreview, SiteID: exampleSite, Event: EventOrderCreated},
	Errors: []*Error{ErrInvalidAction, MissingField("events"), ErrInvalidCallback, ErrSiteNotFound, ErrSubscriptionNotFound, ErrDeliveryNotFound, ErrForbidden,
		InvalidTransition("Subscription evs_01J9Z0 is disabled: it cannot become paused")},
}

// Subscriptions to events of a customer or a site.
var (
	SubscribeEvents = subscriptionWrite(ActionSubscribe,
		required("callback_url").withMissing(ErrInvalidCallback.With("field", "callback_url").With("reason", "it is missing")),
		required("events"), rule((*SubscriptionsRequest).checkEvents))
	ListEventSubscriptions  = subscriptionRead(ActionList, since(), optional("status").oneOf(SubscriptionActive, SubscriptionPaused, SubscriptionFailing, SubscriptionDisabled))
	UnsubscribeEvents       = subscriptionWrite(ActionUnsubscribe, required("subscription_id"))
	PauseEventSubscription  = subscriptionWrite(ActionPause, required("subscription_id"))
	ResumeEventSubscription = subscriptionWrite(ActionResume, required("subscription_id"))
	RotateEventSubscription = subscriptionWrite(ActionRotate, required("subscription_id"))
	TestEventSubscription   = subscriptionWrite(ActionTest, required("subscription_id"), optional("event").oneOf(EventTypes()...))
	PreviewEvent            = subscriptionRead(ActionPreview, required("event").oneOf(EventTypes()...))
	ListEventDeliveries     = subscriptionRead(ActionDeliveries, required("subscription_id"),
		optional("status").oneOf(DeliveryPending, DeliveryHeld, DeliveryDelivered, DeliveryFailed, DeliveryDropped))
	ReplayEventDeliveries = subscriptionWrite(ActionReplay, required("subscription_id").or("delivery_id").withMissing(MissingField("delivery_id")))
)

func subscriptionRead(action string, fields ...Field) Endpoint[SubscriptionsRequest, SubscriptionsResponse] {
	return define[SubscriptionsRequest, SubscriptionsResponse](&subscriptions, Operation{Action: action, Permission: PermissionRead, ReadOnly: true, Fields: append(Fields{pageLimit()}, fields...)})
}

// The secret is shown once and stored nowhere else: no response is stored for an
// Idempotency-Key.
func subscriptionWrite(action string, fields ...Field) Endpoint[SubscriptionsRequest, SubscriptionsResponse] {
	return define[SubscriptionsRequest, SubscriptionsResponse](&subscriptions, Operation{Action: action, Permission: PermissionSites, Fields: append(Fields{pageLimit()}, fields...)})
}

func (r *SubscriptionsRequest) checkEvents() error {
	if len(r.Events) == 0 {
		return MissingField("events")
	}
	if len(r.Events) > MaxEventPatterns {
		return InvalidField("events", "at most 50")
	}
	for _, p := range r.Events {
		if !slices.ContainsFunc(EventTypes(), func(t string) bool { return SelectsEvent([]string{p}, t) }) {
			return InvalidField("events", "each is *, an object such as alert.*, or one of "+strings.Join(EventTypes(), ", "))
		}
	}
	return nil
}
