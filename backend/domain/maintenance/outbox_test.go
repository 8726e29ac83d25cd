package maintenance

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/outbox"
	"app.sunloop/backend/store"
	"app.sunloop/backend/webhook"
)

const place = "https://example.org/hook"

func (d *desk) subscribe(orderID string) (api.Subscription, string) {
	d.t.Helper()
	v, secret, err := d.Subscribe(d.t.Context(), boss, api.TrackRequest{OrderID: orderID, CallbackURL: place})
	if err != nil {
		d.t.Fatal(err)
	}
	return v, secret
}

func (d *desk) claim(n int) []webhook.Delivery {
	d.t.Helper()
	list, err := d.Claim(d.t.Context(), d.clock, time.Minute, n)
	if err != nil {
		d.t.Fatal(err)
	}
	return list
}

// attempt is one attempt at what is due, which must be one delivery.
func (d *desk) attempt(out webhook.PostResult) webhook.Delivery {
	d.t.Helper()
	list := d.claim(10)
	if len(list) != 1 {
		d.t.Fatalf("due are %+v, want one", list)
	}
	out.At = d.clock
	if err := d.Delivered(d.t.Context(), list[0].ID, out); err != nil {
		d.t.Fatal(err)
	}
	return list[0]
}

func (d *desk) tracked(orderID string) (v api.Subscription, list []api.Delivery) {
	d.t.Helper()
	subs, _, err := d.Subscriptions(d.t.Context(), boss, api.ListQuery{}, orderID)
	if err != nil || len(subs) != 1 {
		d.t.Fatalf("subscriptions %+v, %v", subs, err)
	}
	list, _, err = d.Deliveries(d.t.Context(), boss, api.TrackRequest{OrderID: orderID})
	if err != nil {
		d.t.Fatal(err)
	}
	return subs[0], list
}

// Every change of the status is an event with exactly the fields of the
// contract; a change that is refused, or none, is no event.
func TestEveryChangeIsAnEvent(t *testing.T) {
	d := newDesk(t, nil)
	o := d.order()
	_, secret := d.subscribe(o.OrderID)
	for _, r := range []api.OrderRequest{{Action: api.ActionStart}, {Action: api.ActionStart}, {Action: api.ActionAssign, AssignedTechnician: "alan"},
		{Action: api.ActionHold, HoldReason: api.HoldWeather}, {Action: api.ActionResume}, {Action: api.ActionComplete, CompletionNotes: "Fuse replaced"}} {
		r.OrderID = o.OrderID
		d.clock = d.clock.Add(time.Minute)
		d.move(r)
	}
	if _, _, err := d.MoveOrder(t.Context(), boss, api.OrderRequest{Action: api.ActionHold, OrderID: o.OrderID, HoldReason: api.HoldParts}); err == nil {
		t.Error("a completed order is held")
	}
	var states []string
	last := 0.0
	for _, one := range d.claim(10) {
		var fields map[string]any
		if err := json.Unmarshal(one.Body, &fields); err != nil || len(fields) != 5 || fields["order_id"] != o.OrderID || fields["updated_at"] == "" {
			t.Errorf("the event is %s: %v", one.Body, err)
		}
		sequence, _ := fields["sequence"].(float64)
		if sequence <= last {
			t.Errorf("the sequence of %s is not above %v", one.Body, last)
		}
		last = sequence
		states = append(states, fields["status"].(string)+fields["completion_notes"].(string))
		if !slices.Equal(one.Secrets, []string{secret}) || one.URL != place || one.Attempt != 1 {
			t.Errorf("it is sent as %+v", one)
		}
	}
	if got := strings.Join(states, " "); got != "in_progress on_hold in_progress completedFuse replaced" {
		t.Errorf("received %s", got)
	}
	if list := d.claim(10); len(list) != 0 {
		t.Errorf("claimed twice: %+v", list)
	}
}

// A secret lies nowhere in the store in plain.
func TestSecretsAreSealed(t *testing.T) {
	d := newDesk(t, nil)
	_, secret := d.subscribe(d.order().OrderID)
	if err := d.store.View(t.Context(), func(tx store.Tx) error {
		for e, err := range tx.Scan(subscriptions.Bucket, nil, nil, false) {
			if err != nil {
				return err
			}
			if strings.Contains(string(e.Value), secret[len("whsec_"):]) {
				t.Errorf("in plain: %s", e.Value)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func TestSubscriptionLife(t *testing.T) {
	d := newDesk(t, nil)
	o := d.order()
	d.subscribe(o.OrderID)
	d.move(api.OrderRequest{Action: api.ActionStart, OrderID: o.OrderID})
	first := d.attempt(webhook.PostResult{Status: 500, Failure: "HTTP 500", Next: d.clock.Add(5 * time.Second)})
	if list := d.claim(1); len(list) != 0 {
		t.Errorf("tried again at once: %+v", list)
	}
	d.clock = d.clock.Add(5 * time.Second)
	if again := d.attempt(webhook.PostResult{Status: 500, Failure: "HTTP 500"}); again.ID != first.ID || again.Attempt != 2 {
		t.Errorf("tried again as %+v after %+v", again, first)
	}
	v, list := d.tracked(o.OrderID)
	if v.Status != api.SubscriptionFailing || v.FailingSince.IsZero() || list[0].Status != api.DeliveryFailed || list[0].Attempts != 2 || list[0].AnswerStatus != 500 {
		t.Errorf("given up: %+v %+v", v, list)
	}
	// Sent again by hand, it is received.
	if again, err := d.Replay(t.Context(), boss, api.TrackRequest{SubscriptionID: v.SubscriptionID}); err != nil || len(again) != 1 || again[0].DeliveryID != first.ID || again[0].Attempts != 0 {
		t.Errorf("sent again: %+v, %v", again, err)
	}
	d.attempt(webhook.PostResult{Status: 200})
	v, list = d.tracked(o.OrderID)
	if v.Status != api.SubscriptionActive || !v.FailingSince.IsZero() || v.LastSuccessAt.IsZero() || list[0].Status != api.DeliveryDelivered || list[0].Failure != "" {
		t.Errorf("received: %+v %+v", v, list)
	}
	// The order ends: when its last event is received the subscription is completed.
	d.move(api.OrderRequest{Action: api.ActionComplete, OrderID: o.OrderID, CompletionNotes: "n"})
	if v, _ = d.tracked(o.OrderID); v.Status != api.SubscriptionActive {
		t.Errorf("before the last event is received it is %s", v.Status)
	}
	d.attempt(webhook.PostResult{Status: 204})
	if v, _ = d.tracked(o.OrderID); v.Status != api.SubscriptionCompleted {
		t.Errorf("after it is %s", v.Status)
	}
	// Reopened, it continues.
	d.move(api.OrderRequest{Action: api.ActionReopen, OrderID: o.OrderID, Reason: "r"})
	if v, list = d.tracked(o.OrderID); v.Status != api.SubscriptionActive || len(list) != 3 {
		t.Errorf("opened again: %+v, %d deliveries", v, len(list))
	}
	// An endpoint that returned 410 receives nothing more, until a client subscribes again.
	d.attempt(webhook.PostResult{Status: 410, Failure: "the receiver answered 410", Gone: true})
	d.move(api.OrderRequest{Action: api.ActionHold, OrderID: o.OrderID, HoldReason: api.HoldOther})
	v, list = d.tracked(o.OrderID)
	if v.Status != api.SubscriptionDisabled || len(list) != 3 || len(d.claim(10)) != 0 {
		t.Errorf("gone: %+v, %d deliveries", v, len(list))
	}
	var refusal *api.Error
	if _, err := d.Replay(t.Context(), boss, api.TrackRequest{SubscriptionID: v.SubscriptionID}); !errors.As(err, &refusal) || refusal.Status != http.StatusConflict {
		t.Errorf("sent again to one that is gone: %v", err)
	}
	if again, secret := d.subscribe(o.OrderID); again.SubscriptionID != v.SubscriptionID || secret != "" || again.Status != api.SubscriptionActive {
		t.Errorf("subscribed again: %+v", again)
	}
}

// A place that receives nothing for five days is disabled, and what waits for
// it is dropped.
func TestUnresponsiveSubscriberIsDisabled(t *testing.T) {
	d := newDesk(t, nil)
	o := d.order()
	d.subscribe(o.OrderID)
	d.move(api.OrderRequest{Action: api.ActionStart, OrderID: o.OrderID})
	d.attempt(webhook.PostResult{Failure: "the endpoint was not reachable", Next: d.clock.Add(outbox.SilentFor - time.Second)})
	d.clock = d.clock.Add(outbox.SilentFor - time.Second)
	d.attempt(webhook.PostResult{Failure: "the endpoint was not reachable", Next: d.clock.Add(time.Second)})
	if v, _ := d.tracked(o.OrderID); v.Status != api.SubscriptionActive {
		t.Errorf("a second before it is %s", v.Status)
	}
	d.clock = d.clock.Add(time.Second)
	d.move(api.OrderRequest{Action: api.ActionHold, OrderID: o.OrderID, HoldReason: api.HoldOther})
	one := d.claim(1)
	if err := d.Delivered(t.Context(), one[0].ID, webhook.PostResult{At: d.clock, Failure: "the endpoint was not reachable", Next: d.clock.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	v, _ := d.tracked(o.OrderID)
	if v.Status != api.SubscriptionDisabled || v.StatusReason != "no event was delivered for 5 days" {
		t.Errorf("after five days it is %+v", v)
	}
	d.clock = d.clock.Add(2 * time.Hour)
	if list := d.claim(10); len(list) != 0 {
		t.Errorf("still sent: %+v", list)
	}
	_, list := d.tracked(o.OrderID)
	if slices.ContainsFunc(list, func(v api.Delivery) bool { return v.Status == api.DeliveryPending }) {
		t.Errorf("still waiting: %+v", list)
	}
}

// What a process had claimed when it died is due again after its lease.
func TestLeaseRunsOut(t *testing.T) {
	d := newDesk(t, nil)
	o := d.order()
	d.subscribe(o.OrderID)
	d.move(api.OrderRequest{Action: api.ActionStart, OrderID: o.OrderID})
	first := d.claim(1)
	d.clock = d.clock.Add(time.Minute)
	if again := d.claim(1); len(again) != 1 || again[0].ID != first[0].ID || again[0].Attempt != 1 {
		t.Errorf("after the lease: %+v", again)
	}
}

func TestOldDeliveriesAreDropped(t *testing.T) {
	d := newDesk(t, nil)
	o := d.order()
	d.subscribe(o.OrderID)
	d.move(api.OrderRequest{Action: api.ActionStart, OrderID: o.OrderID})
	d.attempt(webhook.PostResult{Status: 200})
	d.move(api.OrderRequest{Action: api.ActionHold, OrderID: o.OrderID, HoldReason: api.HoldOther}) // waits
	d.clock = d.clock.Add(keepDeliveries + time.Second)
	d.move(api.OrderRequest{Action: api.ActionResume, OrderID: o.OrderID})
	if err := d.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, list := d.tracked(o.OrderID); len(list) != 2 || list[0].Status != api.DeliveryPending || list[1].Status != api.DeliveryPending {
		t.Errorf("left are %+v", list)
	}
}

// A retry restarts its waiting time when the clock is set back, while the
// service runs or is down: it is never early, and not late by the
// difference.
func TestRetryOverClockJumps(t *testing.T) {
	for _, down := range []bool{false, true} {
		d := newDesk(t, nil)
		o := d.order()
		d.subscribe(o.OrderID)
		d.move(api.OrderRequest{Action: api.ActionStart, OrderID: o.OrderID})
		d.attempt(webhook.PostResult{Failure: "closed", Next: d.clock.Add(5 * time.Minute)})
		d.clock = d.clock.Add(time.Minute)
		if list := d.claim(9); len(list) != 0 {
			t.Fatalf("sent before its time: %+v", list)
		}
		d.clock = d.clock.Add(-time.Hour)
		if down {
			d.Queue = newQueue(d.Config)
		}
		// The elapsed minute is no longer known when it waits again.
		for _, step := range []struct {
			after time.Duration
			want  int
		}{{0, 0}, {5*time.Minute - time.Second, 0}, {time.Second, 1}, {0, 0}} {
			d.clock = d.clock.Add(step.after)
			if list := d.claim(9); len(list) != step.want {
				t.Errorf("down: %t; %s later: %+v", down, step.after, list)
			}
		}
		d.clock = d.clock.Add(-time.Hour) // in progress: its lease lasts a minute
		if list := d.claim(9); len(list) != 0 {
			t.Errorf("down: %t; claimed twice: %+v", down, list)
		}
		d.clock = d.clock.Add(time.Minute)
		if list := d.claim(9); len(list) != 1 {
			t.Errorf("down: %t; after its lease: %+v", down, list)
		}
	}
}
