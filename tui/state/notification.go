package state

import (
	"context"
	"encoding/json"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// The queries of notifications. Each is about a [NotifyQuestion].
const (
	QueryNotifyConfig     Query = "notify-config"
	QueryOnCall           Query = "on-call"           // from now on
	QueryShifts           Query = "shifts"            // of a rotation, in a period
	QueryNotifyDeliveries Query = "notify-deliveries" // newest first
	QueryExplanation      Query = "explanation"       // of an alarm
	QuerySimulation       Query = "simulation"        // of an alarm that is not raised
)

// Notify is what the console holds of notifications.
type Notify struct {
	Config      Value[api.NotificationConfig]
	OnCall      Value[[]api.NotificationShift]
	Shifts      Value[[]api.NotificationShift]
	Deliveries  Value[[]api.NotificationDelivery]
	Explanation Value[Explanation]
	Simulation  Value[Explanation]
}

// Explanation has the notifications of an alarm, or those that would be made: its messages in order, and what
// each route does with it.
type Explanation struct {
	Deliveries []api.NotificationDelivery
	Decisions  []api.NotificationDecision
}

// NotifyQuestion is what the service is asked about notifications; what is empty does not
// narrow.
type NotifyQuestion struct {
	Owner      string   `json:"owner"` // customer, or [api.Every] for the operator of the service
	Status     string   `json:"status,omitempty"`
	RotationID string   `json:"rotation_id,omitempty"`
	From       api.Time `json:"from,omitzero"`
	To         api.Time `json:"to,omitzero"`
	AlertID    string   `json:"alert_id,omitempty"`
	PersonID   string   `json:"person_id,omitempty"`
	SiteID     string   `json:"site_id,omitempty"`  // of a simulation, as all below
	Customer   string   `json:"customer,omitempty"` // of the site
	AssetID    string   `json:"asset_id,omitempty"`
	Family     string   `json:"family,omitempty"`
	Priority   string   `json:"priority,omitempty"`
	KW         *float64 `json:"kw,omitempty"` // at risk; nil: unknown
	At         api.Time `json:"at,omitzero"`  // zero: now
}

// Of names the question to the planner.
func (q NotifyQuestion) Of() string {
	b, err := json.Marshal(q)
	if err != nil {
		panic(err) // texts, times and a number
	}
	return string(b)
}

// OwnerID is the customer of an owner as requests name it: empty for the operator.
func OwnerID(owner string) string {
	if owner == api.Every {
		return ""
	}
	return owner
}

// shownDeliveries is how many messages the log of deliveries asks for.
const shownDeliveries = 200

// notified makes a query about a [NotifyQuestion].
func notified[T any](slot func(*Site) *Value[T], ask func(ctx context.Context, c *client.Client, r Request, q NotifyQuestion) (T, error)) source {
	return about(slot, func(ctx context.Context, c *client.Client, r Request) (out T, err error) {
		var q NotifyQuestion
		if err := json.Unmarshal([]byte(r.id), &q); err != nil {
			return out, err
		}
		return ask(ctx, c, r, q)
	})
}

var notifySources = map[Query]source{
	QueryNotifyConfig: notified(func(s *Site) *Value[api.NotificationConfig] { return &s.Notify.Config }, func(ctx context.Context, c *client.Client, _ Request, q NotifyQuestion) (api.NotificationConfig, error) {
		v, err := client.Call(ctx, c, api.GetNotificationConfig, api.NotificationsRequest{CustomerID: OwnerID(q.Owner)})
		return field(v, err, func() (config api.NotificationConfig) {
			if v.Configuration != nil {
				config = *v.Configuration
			}
			return config
		})
	}),
	QueryOnCall: notified(func(s *Site) *Value[[]api.NotificationShift] { return &s.Notify.OnCall }, askShifts),
	QueryShifts: notified(func(s *Site) *Value[[]api.NotificationShift] { return &s.Notify.Shifts }, askShifts),
	QueryNotifyDeliveries: notified(func(s *Site) *Value[[]api.NotificationDelivery] { return &s.Notify.Deliveries }, func(ctx context.Context, c *client.Client, _ Request, q NotifyQuestion) ([]api.NotificationDelivery, error) {
		v, err := client.Call(ctx, c, api.ListNotifications, api.NotificationsRequest{CustomerID: OwnerID(q.Owner), Status: q.Status, Page: api.Page{Limit: shownDeliveries}})
		return field(v, err, func() []api.NotificationDelivery { return v.Deliveries })
	}),
	QueryExplanation: notified(func(s *Site) *Value[Explanation] { return &s.Notify.Explanation }, func(ctx context.Context, c *client.Client, _ Request, q NotifyQuestion) (Explanation, error) {
		v, err := client.Call(ctx, c, api.ExplainNotification, api.NotificationsRequest{AlertID: q.AlertID, PersonID: q.PersonID})
		return field(v, err, func() Explanation { return Explanation{v.Deliveries, v.Decisions} })
	}),
	QuerySimulation: notified(func(s *Site) *Value[Explanation] { return &s.Notify.Simulation }, func(ctx context.Context, c *client.Client, _ Request, q NotifyQuestion) (Explanation, error) {
		v, err := client.Call(ctx, c, api.SimulateNotification, api.NotificationsRequest{SiteID: q.SiteID, CustomerID: q.Customer, AssetID: q.AssetID, Family: q.Family, Priority: q.Priority, EnergyAtRiskKW: q.KW, At: q.At})
		return field(v, err, func() Explanation { return Explanation{v.Deliveries, v.Decisions} })
	}),
}

// askShifts asks who is on call in a period.
func askShifts(ctx context.Context, c *client.Client, _ Request, q NotifyQuestion) ([]api.NotificationShift, error) {
	v, err := client.Call(ctx, c, api.ListOnCall, api.NotificationsRequest{CustomerID: OwnerID(q.Owner), RotationID: q.RotationID, From: q.From, To: q.To})
	return field(v, err, func() []api.NotificationShift { return v.Shifts })
}
