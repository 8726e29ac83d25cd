// Package subscription posts events of customers and sites to the URLs of subscribers.
//
// The log of changes (backend/stream) passes the records that a transaction writes to
// [Service.Written], which writes the events that follow from them into the outbox within
// the same transaction: an event exists exactly if its change was committed. A
// [webhook.Deliverer] claims the deliveries with a lease and posts them at least once.
// Each object numbers its events. The deliveries of one object to one subscription are
// posted in order: one waits until the one before was delivered or given up.
package subscription

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/outbox"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/backend/webhook"
)

// Sealer encrypts the secrets of subscriptions, bound to their place.
type Sealer interface {
	Seal(secret []byte, place string) ([]byte, error)
	Open(sealed []byte, place string) ([]byte, error)
}

// Config is what a [Service] is made from; all fields are required.
type Config struct {
	Records store.Records
	// Owner returns the customer of a site within a scope, by the key of the site.
	Owner func(tx store.Tx, scope api.Scope, siteID string) (customerID string, err error)
	// Single reports whether a site has one unit only.
	Single func(tx store.Tx, siteID string) (bool, error)
	Wall   func() time.Time // the real clock
	Guard  *webhook.Guard   // which URLs may be called
	Poster Poster           // of test events
	Sealer Sealer
}

// Poster posts a test event.
type Poster interface {
	Post(ctx context.Context, d webhook.Delivery) webhook.PostResult
}

// Service keeps subscriptions and their deliveries. It is safe for concurrent use. Its
// state is in the store, except for the hint that a delivery was added.
type Service struct {
	Config
	*outbox.Queue[delivery] // of those that wait
	ids                     *record.IDs
}

// New makes a Service.
func New(c Config) (*Service, error) {
	if c.Records == nil || c.Owner == nil || c.Single == nil || c.Wall == nil || c.Guard == nil || c.Poster == nil || c.Sealer == nil {
		return nil, errors.New("subscription: records, owners and units of sites, clock, guard, poster and sealer are required")
	}
	return &Service{Config: c, Queue: newQueue(c), ids: record.NewIDs()}, nil
}

// Tables returns the tables of the package, for a check of the data.
func Tables() []store.Checked { return []store.Checked{subscriptions, deliveries, sequences} }

// SiteRecords returns the records that are deleted with a site.
func SiteRecords() []record.OfSite { return record.OfSites(subscriptions, deliveries, sequences) }

// subscription is a stored subscription.
type subscription struct {
	SubscriptionID    string   `json:"subscription_id" limit:"id"`
	CustomerID        string   `json:"customer_id" limit:"id"`
	SiteID            string   `json:"site_id,omitempty" limit:"id"` // empty: all sites of the customer
	Events            []string `json:"events" limit:"50 word"`
	CallbackURL       string   `json:"callback_url" limit:"url"`
	Status            string   `json:"status" limit:"word"`
	StatusReason      string   `json:"status_reason,omitempty" limit:"line cut"`
	CreatedAt         api.Time `json:"created_at"`
	CreatedBy         string   `json:"created_by,omitempty" limit:"name cut"`
	LastSuccessAt     api.Time `json:"last_success_at,omitzero"`
	FailingSince      api.Time `json:"failing_since,omitzero"`
	Sealed            []byte   `json:"sealed" limit:"4096"`           // the secret
	Former            []byte   `json:"former,omitempty" limit:"4096"` // the one before, which signs until FormerSecretUntil
	FormerSecretUntil api.Time `json:"former_secret_until,omitzero"`
	UpdatedMS         int64    `json:"updated_ms,omitempty"`
}

var subscriptions = store.Table[subscription]{
	Bucket: "event-subscriptions",
	Key:    func(v subscription) []byte { return store.Key(v.SiteID, v.SubscriptionID) },
	Indexes: []store.Index[subscription]{
		{Name: "id", Key: func(v subscription) []byte { return store.Key(v.SubscriptionID) }},
		{Name: "customer", Key: func(v subscription) []byte {
			if v.Status == api.SubscriptionDeleted {
				return nil
			}
			return store.Key(v.CustomerID, v.SubscriptionID)
		}},
	},
}

func (v subscription) toAPI() api.EventSubscription {
	return api.EventSubscription{SubscriptionID: v.SubscriptionID, CustomerID: v.CustomerID, SiteID: v.SiteID, Events: v.Events, CallbackURL: v.CallbackURL,
		Status: v.Status, StatusReason: v.StatusReason, CreatedAt: v.CreatedAt, CreatedBy: v.CreatedBy, LastSuccessAt: v.LastSuccessAt,
		FailingSince: v.FailingSince, FormerSecretUntil: v.FormerSecretUntil, UpdatedAtMS: v.UpdatedMS}
}

// live reports whether events are posted to it.
func (v subscription) live() bool {
	return v.Status == api.SubscriptionActive || v.Status == api.SubscriptionFailing
}

func (v subscription) place() string { return "event-subscription/" + v.SubscriptionID }

// visible reports whether a caller may see and change it: one of a whole customer only by
// those who may see all of it.
func (v subscription) visible(scope api.Scope) bool {
	if v.SiteID == "" {
		return scope.CanWholeCustomer(v.CustomerID)
	}
	return scope.Allows(v.CustomerID, v.SiteID)
}

// sequence numbers the events of an object.
type sequence struct {
	SiteID   string   `json:"site_id" limit:"id"`
	Object   string   `json:"object" limit:"word"`
	ObjectID string   `json:"object_id" limit:"id"`
	Last     int      `json:"last"`
	At       api.Time `json:"at"` // of the last event
}

var sequences = store.Table[sequence]{
	Bucket:  "event-sequences",
	Key:     func(v sequence) []byte { return store.Key(v.SiteID, v.Object, v.ObjectID) },
	Indexes: []store.Index[sequence]{{Name: "time", Key: func(v sequence) []byte { return store.Key(millis(v.At.Time)) }}},
}

// millis is a time as part of a key.
func millis(t time.Time) string { return fmt.Sprintf("%015d", max(t.UnixMilli(), 0)) }

// delivery is an event in the outbox of a subscription.
type delivery struct {
	DeliveryID     string       `json:"delivery_id" limit:"id"` // the webhook-id: the same in each attempt
	SubscriptionID string       `json:"subscription_id" limit:"id"`
	CustomerID     string       `json:"customer_id" limit:"id"`
	SiteID         string       `json:"site_id" limit:"id"`
	Object         string       `json:"object" limit:"word"`
	ObjectID       string       `json:"object_id" limit:"id"`
	Sequence       int          `json:"sequence"`
	Body           []byte       `json:"body" limit:"64KiB"` // JSON
	Status         string       `json:"status" limit:"word"`
	CreatedAt      api.Time     `json:"created_at"`
	Attempts       int          `json:"attempts,omitempty"`
	LastAttemptAt  api.Time     `json:"last_attempt_at,omitzero"`
	DeliveredAt    api.Time     `json:"delivered_at,omitzero"`
	AnswerStatus   int          `json:"answer_status,omitempty"`
	Failure        string       `json:"failure,omitempty" limit:"line cut"`
	Due            time.Time    `json:"due,omitzero"`   // while it is pending
	Since          time.Time    `json:"since,omitzero"` // when Due was set
	Origin         store.Origin `json:"origin,omitzero"`
}

// queue is the key of the deliveries that are posted in order.
func (d delivery) queue() []byte { return store.Key(d.SubscriptionID, d.SiteID, d.Object, d.ObjectID) }

func (d delivery) open() bool {
	return d.Status == api.DeliveryPending || d.Status == api.DeliveryHeld
}

var deliveries = store.Table[delivery]{
	Bucket: "event-deliveries",
	Key:    func(d delivery) []byte { return store.Key(d.SiteID, d.DeliveryID) },
	Indexes: []store.Index[delivery]{
		{Name: "id", Key: func(d delivery) []byte { return store.Key(d.DeliveryID) }},
		{Name: "subscription", Key: func(d delivery) []byte { return store.Key(d.SubscriptionID, d.DeliveryID) }},
		{Name: "open", Key: func(d delivery) []byte {
			if !d.open() {
				return nil
			}
			return append(d.queue(), store.Key(fmt.Sprintf("%012d", d.Sequence))...)
		}},
		{Name: "due", Key: func(d delivery) []byte {
			if d.Status != api.DeliveryPending {
				return nil
			}
			return store.Key(millis(d.Due))
		}},
	},
}

func (d delivery) toAPI() api.EventDelivery {
	out := api.EventDelivery{DeliveryID: d.DeliveryID, SubscriptionID: d.SubscriptionID, Status: d.Status, CreatedAt: d.CreatedAt, Attempts: d.Attempts,
		LastAttemptAt: d.LastAttemptAt, DeliveredAt: d.DeliveredAt, AnswerStatus: d.AnswerStatus, Failure: d.Failure}
	if d.Status == api.DeliveryPending {
		out.NextAttemptAt = api.At(d.Due)
	}
	_ = json.Unmarshal(d.Body, &out.Event) // it was written by this package
	return out
}

// due makes it pending.
func (d *delivery) due(now, at time.Time) {
	d.Status, d.Since, d.Due = api.DeliveryPending, now.UTC(), at.UTC()
}

// setStatus ends it, or holds it.
func (d *delivery) setStatus(status string) {
	d.Status, d.Since, d.Due = status, time.Time{}, time.Time{}
}

func putDelivery(tx store.Tx, d delivery) error {
	return record.Wrap(deliveries.Put(tx, d), "store delivery "+d.DeliveryID)
}

// putSubscription stores a subscription as changed now.
func (s *Service) putSubscription(tx store.Tx, v *subscription) error {
	v.UpdatedMS = s.Wall().UnixMilli()
	return record.Wrap(subscriptions.Put(tx, *v), "store subscription "+v.SubscriptionID)
}

// byID returns the subscription of an id, if the scope covers it.
func byID(tx store.Tx, scope api.Scope, id string) (subscription, error) {
	list, _, err := subscriptions.List(tx, store.Query{Index: "id", Prefix: store.Key(id), Limit: 1})
	switch {
	case err != nil:
		return subscription{}, fmt.Errorf("read subscription %s: %w", id, err)
	case len(list) == 0:
		return subscription{}, api.ErrSubscriptionNotFound
	case !list[0].visible(scope):
		return subscription{}, api.ErrForbidden
	}
	return list[0], nil
}

// deliveryByID returns the delivery of an id and its subscription, if the scope covers it.
func deliveryByID(tx store.Tx, scope api.Scope, id string) (delivery, subscription, error) {
	list, _, err := deliveries.List(tx, store.Query{Index: "id", Prefix: store.Key(id), Limit: 1})
	switch {
	case err != nil:
		return delivery{}, subscription{}, fmt.Errorf("read delivery %s: %w", id, err)
	case len(list) == 0:
		return delivery{}, subscription{}, api.ErrDeliveryNotFound
	}
	v, err := byID(tx, scope, list[0].SubscriptionID)
	return list[0], v, err
}

// ofCustomer returns the subscriptions of a customer that have not ended.
func ofCustomer(tx store.Tx, customerID string) ([]subscription, error) {
	list, _, err := subscriptions.List(tx, store.Query{Index: "customer", Prefix: store.Key(customerID)})
	if err != nil {
		return nil, fmt.Errorf("list the subscriptions of customer %s: %w", customerID, err)
	}
	return slices.DeleteFunc(list, func(v subscription) bool { return !v.live() && v.Status != api.SubscriptionPaused }), nil
}
