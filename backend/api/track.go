package api

import (
	"cmp"
	"net/http"
	"time"
)

// Statuses of a subscription.
const (
	SubscriptionActive    = "active"
	SubscriptionPaused    = "paused"    // by its owner: events are kept until it is resumed
	SubscriptionFailing   = "failing"   // its last delivery was given up
	SubscriptionDisabled  = "disabled"  // its place is gone, or has received nothing for days
	SubscriptionCompleted = "completed" // the order has ended and its last event is delivered
	SubscriptionDeleted   = "deleted"
)

// Statuses of a delivery.
const (
	DeliveryPending   = "pending"
	DeliveryHeld      = "held" // its subscription is paused, or those before it go first
	DeliveryDelivered = "delivered"
	DeliveryFailed    = "failed"  // given up
	DeliveryDropped   = "dropped" // its subscription ended before it was delivered
)

// SecretOverlap is how long the former secret of a subscription also signs
// after a rotation.
const SecretOverlap = 24 * time.Hour

// Refusals of job tracking.
var (
	ErrInvalidCallback      = newError(http.StatusBadRequest, "Invalid callback URL")
	ErrSubscriptionNotFound = UnknownID("Subscription not found")
	ErrDeliveryNotFound     = UnknownID("Delivery not found")
)

// Subscription asks for the changes of an order's status to be posted to a
// URL. The fields after CreatedAt are extensions.
type Subscription struct {
	SubscriptionID string `json:"subscription_id" limit:"id"`
	OrderID        string `json:"order_id" limit:"id"`
	CallbackURL    string `json:"callback_url" limit:"url"`
	Status         string `json:"status" limit:"word"`
	CreatedAt      Time   `json:"created_at"`

	SiteID        string `json:"site_id" limit:"id"`
	CreatedBy     string `json:"created_by,omitempty" limit:"name cut"`
	LastSuccessAt Time   `json:"last_success_at,omitzero"`
	FailingSince  Time   `json:"failing_since,omitzero"`
	StatusReason  string `json:"status_reason,omitempty" limit:"line cut"`

	FormerSecretUntil Time  `json:"former_secret_until,omitzero"` // after a rotation: until then the former secret signs too
	UpdatedAtMS       int64 `json:"updated_at_ms,omitempty"`      // when it was changed last, in milliseconds since 1970; absent: not known
}

// OrderEvent is what is posted when the status of an order changes: the fields of the
// specification, and the version of the order as a sequence number.
type OrderEvent struct {
	OrderID         string `json:"order_id" limit:"id"`
	Status          string `json:"status" limit:"word"`
	UpdatedAt       Time   `json:"updated_at"`
	CompletionNotes string `json:"completion_notes" limit:"text"`
	Sequence        int    `json:"sequence"` // version of the order: rises with each of its changes
}

// Delivery is an event to be sent to a subscription.
type Delivery struct {
	DeliveryID     string     `json:"delivery_id" limit:"id"` // the webhook-id: the same in each attempt
	SubscriptionID string     `json:"subscription_id" limit:"id"`
	OrderID        string     `json:"order_id" limit:"id"`
	Status         string     `json:"status" limit:"word"`
	Event          OrderEvent `json:"event"`
	CreatedAt      Time       `json:"created_at"`
	Attempts       int        `json:"attempts"`
	LastAttemptAt  Time       `json:"last_attempt_at,omitzero"`
	NextAttemptAt  Time       `json:"next_attempt_at,omitzero"`
	DeliveredAt    Time       `json:"delivered_at,omitzero"`
	AnswerStatus   int        `json:"answer_status,omitempty"`            // the HTTP status of the last answer
	Failure        string     `json:"failure,omitempty" limit:"line cut"` // error of the last attempt
}

// TrackRequest is the body of POST /terminal/track: action subscribe, list,
// unsubscribe, pause, resume, rotate, deliveries or replay.
type TrackRequest struct {
	Action         string `json:"action" limit:"word"`
	OrderID        string `json:"order_id,omitempty" limit:"id"`
	JobID          string `json:"job_id,omitempty" limit:"id"` // the same as order_id
	CallbackURL    string `json:"callback_url,omitempty" limit:"url"`
	CustomerID     string `json:"customer_id,omitempty" limit:"id"`
	SiteID         string `json:"site_id,omitempty" limit:"id"`
	SubscriptionID string `json:"subscription_id,omitempty" limit:"id"` // all but subscribe and list
	DeliveryID     string `json:"delivery_id,omitempty" limit:"id"`     // replay; empty: all of the subscription's that were not delivered
	Page
}

// TrackResponse answers /terminal/track. Subscriptions are listed in the order
// in which they were made, deliveries the newest first.
type TrackResponse struct {
	Success        bool           `json:"success"`
	Message        string         `json:"message,omitempty"`
	SubscriptionID string         `json:"subscription_id,omitempty"`
	OrderID        string         `json:"order_id,omitempty"`
	Status         string         `json:"status,omitempty"`
	Secret         string         `json:"secret,omitempty"` // whsec_…, returned only by subscribe and rotate; it signs the webhooks
	Subscription   *Subscription  `json:"subscription,omitempty"`
	Subscriptions  []Subscription `json:"subscriptions,omitzero"` // list: there even when empty
	Deliveries     []Delivery     `json:"deliveries,omitzero"`    // deliveries, replay: there even when empty
	Count          int            `json:"count"`
	NextCursor     string         `json:"next_cursor,omitempty"`
}

var track = Route{
	Name: "track", Path: PathTrack,
	Summary: "Subscribe to status changes of a work order", Description: "Each change of its status is posted to the callback URL with the fields order_id, status, updated_at, completion_notes and sequence (it rises with each change of the order: an event with a lower one is older), signed as in Standard Webhooks with the secret that is shown once. Only a 2xx response counts as delivered; a delivery is attempted 10 times over three days. While a subscription is paused its events are stored; when it is resumed they are sent, oldest first. rotate returns a new secret; for 24 hours events are signed with the old one as well. job_id is an alias of order_id.",
	Example: TrackRequest{Action: ActionDeliveries, OrderID: "ord_01J9Z0"},
	Errors: []*Error{ErrInvalidAction, MissingField("order_id"), ErrInvalidCallback, ErrOrderNotFound, ErrSubscriptionNotFound, ErrDeliveryNotFound,
		InvalidTransition("Subscription sub_01J9Z0 is disabled: it cannot become paused")},
}

// Subscriptions to the status of a work order. To subscribe twice returns the same
// subscription, whose secret is shown once and stored nowhere else: no response is
// stored for an Idempotency-Key.
var (
	Subscribe = trackMove(ActionSubscribe, required("order_id").or("job_id"),
		required("callback_url").withMissing(ErrInvalidCallback.With("field", "callback_url").With("reason", "it is missing")))
	ListSubscriptions  = trackList(ActionList, required("order_id").or("job_id", "customer_id", "site_id"))
	Unsubscribe        = trackMove(ActionUnsubscribe, required("subscription_id"))
	PauseSubscription  = trackMove(ActionPause, required("subscription_id"))
	ResumeSubscription = trackMove(ActionResume, required("subscription_id"))
	RotateSubscription = trackMove(ActionRotate, required("subscription_id"))
	ListDeliveries     = trackList(ActionDeliveries, required("subscription_id").or("order_id", "job_id"))
	ReplayDeliveries   = trackMove(ActionReplay, required("subscription_id").or("delivery_id").withMissing(MissingField("delivery_id")))
)

// orderOrJob is the rule that job_id is another name of order_id.
func orderOrJob() Field {
	return rule(func(r *TrackRequest) error { r.OrderID = cmp.Or(r.OrderID, r.JobID); return nil })
}

func trackMove(action string, fields ...Field) Endpoint[TrackRequest, TrackResponse] {
	return define[TrackRequest, TrackResponse](&track, Operation{Action: action, Permission: PermissionOrders, Fields: append(Fields{pageLimit(), orderOrJob()}, fields...)})
}

func trackList(action string, fields ...Field) Endpoint[TrackRequest, TrackResponse] {
	return define[TrackRequest, TrackResponse](&track, Operation{Action: action, Permission: PermissionRead, Cacheable: true, Fields: append(Fields{since(), pageLimit(), orderOrJob()}, fields...)})
}
