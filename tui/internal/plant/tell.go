package plant

import (
	"time"

	"app.sunloop/backend/api"
)

// Subscriptions are one that goes well, one that fails and one whose order is
// done.
func (p *Plant) Subscriptions(now time.Time) []api.Subscription {
	sub := func(id, order, url, status string, hours int) api.Subscription {
		return api.Subscription{SubscriptionID: id, OrderID: order, CallbackURL: url, Status: status, SiteID: p.SiteID, CreatedAt: api.At(now.Add(-time.Duration(hours) * time.Hour)), CreatedBy: "anna"}
	}
	good := sub("sub_good", "ord_way", "https://cmms.example.com/hooks/sunloop", api.SubscriptionActive, 30)
	good.LastSuccessAt = api.At(now.Add(-4 * time.Hour))
	bad := sub("sub_bad", "ord_held", "https://old.example.com/hook", api.SubscriptionFailing, 50)
	bad.FailingSince, bad.StatusReason = api.At(now.Add(-20*time.Hour)), "its last delivery was given up"
	return []api.Subscription{good, bad, sub("sub_done", "ord_done", "https://cmms.example.com/hooks/sunloop", api.SubscriptionCompleted, 200)}
}

// Deliveries are those of a subscription: one received, one on its way, one
// given up.
func (p *Plant) Deliveries(now time.Time, subscriptionID string) []api.Delivery {
	one := func(id, status, event string, hours, attempts, answer int) api.Delivery {
		at := now.Add(-time.Duration(hours) * time.Hour)
		return api.Delivery{DeliveryID: id, SubscriptionID: subscriptionID, OrderID: "ord_way", Status: status, CreatedAt: api.At(at), Attempts: attempts, AnswerStatus: answer, LastAttemptAt: api.At(at.Add(time.Minute)),
			Event: api.OrderEvent{OrderID: "ord_way", Status: event, UpdatedAt: api.At(at)}}
	}
	pending := one("whd_3", api.DeliveryPending, api.OrderOnHold, 1, 2, 503)
	pending.NextAttemptAt, pending.Failure = api.At(now.Add(20*time.Minute)), "503 Service Unavailable"
	good := one("whd_2", api.DeliveryDelivered, api.OrderInProgress, 4, 1, 204)
	good.DeliveredAt = good.LastAttemptAt
	failed := one("whd_1", api.DeliveryFailed, api.OrderPending, 30, 10, 500)
	failed.Failure = "500 Internal Server Error"
	return []api.Delivery{pending, good, failed}
}
