// Package notification keeps who is notified of alarms, how, and with which result:
// channels, people, rotations and routes; incidents and planned messages; deliveries
// with their attempts; links by which a message acknowledges its alarms.
//
// backend/notify decides what is sent to whom and when. This package gives it events,
// configuration and history in one transaction, and stores the plan in the same. Each
// item of the configuration belongs to an owner: a customer, or "*" for the operator of
// the service, whose routes may select alarms of all customers.
package notification

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain"
	"app.sunloop/backend/domain/alert"
	"app.sunloop/backend/domain/maintenance"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/notify"
	"app.sunloop/backend/store"
)

// Sealer encrypts the secrets of channels, bound to their place.
type Sealer interface {
	Seal(secret []byte, place string) ([]byte, error)
	Open(sealed []byte, place string) ([]byte, error)
}

// Checker validates channels and addresses before they are stored. Its errors contain
// nothing of URLs and secrets.
type Checker interface {
	// Check returns a [notify.Invalid]. It may look up names, so that it is not called
	// within a transaction.
	Check(ctx context.Context, to notify.Target) error
	CheckAddress(kind, address string) error
}

// Observer counts what happens to messages, after it is stored.
type Observer interface {
	// Notified is called after an attempt to send by a kind of channel; the result is
	// delivered, failed (to be retried) or dead.
	Notified(channel, result string, took time.Duration)
	// NotificationSuppressed is called for a message that is not sent; reason is one of a
	// few words.
	NotificationSuppressed(reason string)
}

// Config is what a [Service] is made from. All but Checker, Observer, PublicURL, Cluster and Log
// are required.
type Config struct {
	Records  store.Records
	Cluster  store.Cluster // optional: nil is one process
	Domain   *domain.Services
	Wall     func() time.Time // the real clock
	Sender   notify.Sender
	Sealer   Sealer
	Checker  Checker  // nil: channels are not checked
	Observer Observer // nil: nothing is counted
	Key      []byte   // signs acknowledgement links

	// PublicURL is the address of the service for people, such as
	// https://sunloop.example.com. Without one, messages have no links.
	PublicURL string
	// Shared says that other processes raise alarms too.
	Shared bool
	Log    *slog.Logger
}

// Service plans and sends notifications. It is safe for concurrent use. Its state is in
// the store, except for hints that work was added.
type Service struct {
	Config
	planning chan struct{} // a hint that an event was added
	sending  chan struct{} // a hint that a delivery was added
	turn     sync.Mutex    // one plan at a time

	ids *record.IDs
}

// New makes a Service, and lets the alarms of the domain be announced.
func New(c Config) (*Service, error) {
	if c.Records == nil || c.Domain == nil || c.Wall == nil || c.Sender == nil || c.Sealer == nil || len(c.Key) == 0 {
		return nil, errors.New("notification: records, domain, clock, sender, sealer and key are required")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Service{Config: c, planning: make(chan struct{}, 1), sending: make(chan struct{}, 1), ids: record.NewIDs()}
	c.Domain.Alerts.OnChange = s.alarmChanged
	return s, nil
}

// Tables returns the tables of the package, for a check of the data.
func Tables() []store.Checked {
	return []store.Checked{items, events, incidents, entries, deliveries, links}
}

// SiteRecords returns the records that are deleted with a site.
func SiteRecords() []record.OfSite {
	return record.OfSites(events, incidents, entries, deliveries, links)
}

// everyOwner is the owner of what belongs to the operator of the service.
const everyOwner = api.Every

// ownerOf returns the owner that a request names, if the scope covers it.
func ownerOf(scope api.Scope, customerID string) (string, error) {
	switch {
	case customerID == "" && len(scope.Customers) == 1 && scope.Customers[0] != api.Every:
		customerID = scope.Customers[0]
	case customerID == "":
		if !scope.Unlimited() {
			return "", api.MissingField("customer_id")
		}
		return everyOwner, nil
	}
	if !scope.CanWholeCustomer(customerID) {
		return "", api.ErrForbidden
	}
	return customerID, nil
}

// customerOf is the customer of an owner on the wire.
func customerOf(owner string) string {
	if owner == everyOwner {
		return ""
	}
	return owner
}

// event is a change of an alarm that was not planned yet. It is written in the
// transaction of the change.
type event struct {
	EventID string       `json:"event_id" limit:"id"`
	SiteID  string       `json:"site_id" limit:"id"`
	Alarm   notify.Alarm `json:"alarm"`
}

var events = store.Table[event]{
	Bucket:  "notify-events",
	Key:     func(e event) []byte { return store.Key(e.SiteID, e.EventID) },
	Indexes: []store.Index[event]{{Name: "id", Key: func(e event) []byte { return store.Key(e.EventID) }}},
}

// millis is a time as part of a key.
func millis(t time.Time) string { return fmt.Sprintf("%015d", max(t.UnixMilli(), 0)) }

var incidents = store.Table[notify.Incident]{
	Bucket: "notify-incidents",
	Key:    func(i notify.Incident) []byte { return store.Key(i.SiteID, i.ID) },
	Indexes: []store.Index[notify.Incident]{
		{Name: "id", Key: func(i notify.Incident) []byte { return store.Key(i.ID) }},
		{Name: "open", Key: func(i notify.Incident) []byte {
			if i.Closed {
				return nil
			}
			return store.Key(i.CustomerID)
		}},
		{Name: "due", Key: func(i notify.Incident) []byte {
			if i.Closed || i.NextAt.IsZero() {
				return nil
			}
			return store.Key(millis(i.NextAt))
		}},
	},
}

var entries = store.Table[notify.Entry]{
	Bucket: "notify-entries",
	Key:    func(e notify.Entry) []byte { return store.Key(e.SiteID, e.ID) },
	Indexes: []store.Index[notify.Entry]{
		{Name: "id", Key: func(e notify.Entry) []byte { return store.Key(e.ID) }},
		{Name: "incident", Key: func(e notify.Entry) []byte { return store.Key(e.IncidentID, e.ID) }},
		{Name: "held", Key: func(e notify.Entry) []byte {
			if e.Status != notify.StatusHeld {
				return nil
			}
			return store.Key(millis(e.Until))
		}},
		{Name: "sent", Key: func(e notify.Entry) []byte {
			if e.Status != notify.StatusDue {
				return nil
			}
			return store.Key(millis(e.At))
		}},
	},
}

// Statuses of a delivery.
const (
	deliveryPending   = "pending"
	deliveryDelivered = "delivered"
	deliveryDead      = "dead" // permanent error, or the last attempt failed
)

// delivery is a message that is sent to an address.
type delivery struct {
	DeliveryID    string         `json:"delivery_id" limit:"id"`
	EntryID       string         `json:"entry_id" limit:"id"`
	SiteID        string         `json:"site_id" limit:"id"`
	Owner         string         `json:"owner" limit:"id"`
	Recipient     string         `json:"recipient" limit:"id"`
	ChannelID     string         `json:"channel_id" limit:"id"`
	Address       string         `json:"address,omitempty" limit:"url"`
	Status        string         `json:"status" limit:"word"`
	Message       notify.Message `json:"message"`
	CreatedAt     time.Time      `json:"created_at"`
	Due           time.Time      `json:"due,omitzero"`
	Since         time.Time      `json:"since,omitzero"` // when Due was set
	Attempts      int            `json:"attempts,omitempty"`
	LastAttemptAt time.Time      `json:"last_attempt_at,omitzero"`
	DeliveredAt   time.Time      `json:"delivered_at,omitzero"`
	Failure       string         `json:"failure,omitempty" limit:"line cut"`
	Detail        string         `json:"detail,omitempty" limit:"line cut"`
	Reference     string         `json:"reference,omitempty" limit:"token cut"`
}

// queue is the key of the deliveries that are sent in order: those of an incident to an
// address. A message without an incident waits for no other.
func (d delivery) queue() []byte {
	thread := d.Message.Thread
	if thread == "" {
		thread = d.DeliveryID
	}
	return store.Key(d.Owner, d.Recipient, d.ChannelID, d.Address, thread)
}

var deliveries = store.Table[delivery]{
	Bucket: "notify-deliveries",
	Key:    func(d delivery) []byte { return store.Key(d.SiteID, d.DeliveryID) },
	Indexes: []store.Index[delivery]{
		{Name: "id", Key: func(d delivery) []byte { return store.Key(d.DeliveryID) }},
		{Name: "entry", Key: func(d delivery) []byte { return store.Key(d.EntryID, d.DeliveryID) }},
		{Name: "queue", Key: func(d delivery) []byte { return append(d.queue(), store.Key(d.DeliveryID)...) }},
		{Name: "due", Key: func(d delivery) []byte {
			if d.Status != deliveryPending {
				return nil
			}
			return store.Key(millis(d.Due))
		}},
	},
}

// alarmChanged writes an event, within the transaction that changes the alarm. Without
// any route there is no one to notify, and it writes nothing.
func (s *Service) alarmChanged(tx store.Tx, before *alert.Alert, a alert.Alert) error {
	if !announces(before, a) {
		return nil
	}
	if some, err := items.Full(tx, store.Query{Index: "kind", Prefix: store.Key(kindRoute)}, 1); err != nil || !some {
		return err
	}
	now := s.Wall()
	e := event{EventID: s.ids.New("nev", now), SiteID: a.SiteID}
	of, err := s.Domain.Sites.SiteIn(tx, api.Unlimited("notifications"), a.SiteID)
	if err != nil {
		return fmt.Errorf("read site %s: %w", a.SiteID, err)
	}
	e.Alarm = alarmOf(a, of, now)
	if err := events.Put(tx, e); err != nil {
		return fmt.Errorf("store event of alert %s: %w", a.AlertID, err)
	}
	hint(s.planning)
	return nil
}

// announces reports whether a change of an alert may notify a person.
func announces(before *alert.Alert, a alert.Alert) bool {
	if before == nil {
		return a.State != api.AlertCleared && a.State != api.AlertAcknowledged
	}
	return before.State != a.State || before.AlertSeverity != a.AlertSeverity || before.Occurrences != a.Occurrences || before.Resolved != a.Resolved ||
		!before.ShelvedUntil.Equal(a.ShelvedUntil.Time) || !before.SuppressedTo.Equal(a.SuppressedTo.Time) ||
		grew(before.EnergyAtRiskKW, a.EnergyAtRiskKW) || before.Metadata != nil && a.Metadata != nil && grew(before.Metadata.LostKWh, a.Metadata.LostKWh)
}

// grew reports whether a figure grew so much that a route may select the alarm now.
func grew(before, now float64) bool { return now > 1.1*before && now > 0 }

// daylight is how long the power at risk lasts in a day, for an estimate of money.
const daylight = 12.0

// alarmOf is an alert as the planner sees it.
func alarmOf(a alert.Alert, of api.Site, now time.Time) notify.Alarm {
	kw := a.EnergyAtRiskKW
	out := notify.Alarm{AlertID: a.AlertID, CustomerID: a.CustomerID, SiteID: a.SiteID, SiteName: of.Name, AssetID: a.AssetID, Family: a.AlertType, Priority: a.AlertSeverity,
		State: a.State, Text: a.Message, Onset: a.Timestamp.Time, At: now.UTC(), LostKW: &kw, AcknowledgedBy: a.AcknowledgedBy}
	if a.Metadata != nil {
		out.AssetIDs = a.Metadata.AssetIDs
		if kwh := a.Metadata.LostKWh; kwh > 0 || kw == 0 || a.Resolved { // otherwise it has just begun, and its losses are not known yet
			out.LostKWh = &kwh
		}
	}
	if of.TariffPerKWh > 0 && of.Currency != "" {
		out.MoneyAtRisk = &notify.Money{Amount: kw * daylight * of.TariffPerKWh, Currency: of.Currency}
	}
	switch a.State {
	case api.AlertShelved:
		out.Until = a.ShelvedUntil.Time
	case api.AlertSuppressed:
		out.Until = a.SuppressedTo.Time
	}
	return out
}

func hint(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// windowsOf are the maintenance windows of the sites of some incidents.
func windowsOf(tx store.Tx, now time.Time, sites map[string]bool) (list []notify.Window, err error) {
	for id := range sites {
		of, err := maintenance.Windows(tx, id, now)
		if err != nil {
			return nil, err
		}
		for _, w := range of {
			list = append(list, notify.Window(w))
		}
	}
	return list, nil
}

// Enqueue plans a message that no alarm caused, such as a report, for a person. Its ID
// must be the same for the same message: a second one is not sent. It is for messages
// whose time has come: quiet hours do not hold them.
func (s *Service) Enqueue(ctx context.Context, owner, personID string, m notify.Message) error {
	now := s.Wall()
	err := s.Records.Update(ctx, func(tx store.Tx) error {
		config, err := configOf(tx, owner)
		if err != nil {
			return err
		}
		if _, ok := config.Person(personID); !ok {
			return fmt.Errorf("send %s: person %q does not exist", m.ID, personID)
		}
		if m.SiteID == "" {
			m.SiteID = noSite
		}
		e := notify.Entry{ID: m.ID, Owner: owner, Recipient: "person:" + personID, SiteID: m.SiteID, At: now, Status: notify.StatusDue, Message: m}
		switch err := entries.Insert(tx, e); {
		case errors.Is(err, store.ErrExists):
			return nil
		case err != nil:
			return fmt.Errorf("store message %s: %w", m.ID, err)
		}
		_, err = s.fan(tx, config, e)
		return err
	})
	hint(s.sending)
	return err
}

// People returns the people of all owners who are not disabled, for reports.
func (s *Service) People(ctx context.Context) (list []OwnedPerson, err error) {
	err = s.Records.View(ctx, func(tx store.Tx) error {
		list = nil
		return items.Each(tx, store.Query{Index: "kind", Prefix: store.Key(kindPerson)}, func(v item) error {
			if v.Person != nil && !v.Person.Disabled {
				list = append(list, OwnedPerson{v.Owner, *v.Person})
			}
			return nil
		})
	})
	return list, record.Wrap(err, "list the people of notifications")
}

// OwnedPerson is a person with the owner of its record: a customer, or "*".
type OwnedPerson struct {
	Owner string
	notify.Person
}
