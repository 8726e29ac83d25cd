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
	"app.sunloop/backend/store"
	"app.sunloop/backend/webhook"
)

func (d *desk) change(how func(d *desk, id string) (api.Subscription, error), id, want string) api.Subscription {
	d.t.Helper()
	v, err := how(d, id)
	if err != nil || v.Status != want {
		d.t.Fatalf("the subscription is %+v, %v, want %s", v, err, want)
	}
	return v
}

func pause(d *desk, id string) (api.Subscription, error) {
	return d.PauseSubscription(d.t.Context(), boss, id)
}

func resume(d *desk, id string) (api.Subscription, error) {
	return d.ResumeSubscription(d.t.Context(), boss, id)
}

// events holds and resumes the order so many times.
func (d *desk) events(orderID string, pairs int) {
	d.t.Helper()
	for range pairs {
		d.move(api.OrderRequest{Action: api.ActionHold, OrderID: orderID, HoldReason: api.HoldOther})
		d.move(api.OrderRequest{Action: api.ActionResume, OrderID: orderID})
	}
}

// statuses of the deliveries, in the order of the alphabet.
func (d *desk) statuses(orderID string) string {
	d.t.Helper()
	_, list := d.tracked(orderID)
	var out []string
	for _, one := range list {
		out = append(out, one.Status)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// While a subscription is paused nothing is sent; resumed, all is, one after
// the other in the order of the events, also those that come meanwhile.
func TestPauseKeepsAndResumeReleasesInOrder(t *testing.T) {
	d := newDesk(t, nil)
	o := d.order()
	v, _ := d.subscribe(o.OrderID)
	d.move(api.OrderRequest{Action: api.ActionStart, OrderID: o.OrderID})
	d.attempt(webhook.PostResult{Status: 500, Failure: "HTTP 500", Next: d.clock.Add(time.Hour)}) // to be tried again
	d.move(api.OrderRequest{Action: api.ActionHold, OrderID: o.OrderID, HoldReason: api.HoldOther})
	flying := d.claim(1) // being sent
	d.change(pause, v.SubscriptionID, api.SubscriptionPaused)
	d.change(pause, v.SubscriptionID, api.SubscriptionPaused)
	d.move(api.OrderRequest{Action: api.ActionResume, OrderID: o.OrderID})
	if err := d.Delivered(t.Context(), flying[0].ID, webhook.PostResult{At: d.clock, Status: 200}); err != nil {
		t.Fatal(err)
	}
	d.clock = d.clock.Add(2 * time.Hour)
	if list := d.claim(10); len(list) != 0 {
		t.Errorf("sent while paused: %+v", list)
	}
	if got := d.statuses(o.OrderID); got != "delivered held held" {
		t.Errorf("paused, the deliveries are %s", got)
	}
	if v, _ := d.tracked(o.OrderID); v.Status != api.SubscriptionPaused || v.LastSuccessAt.IsZero() {
		t.Errorf("the pending delivery was sent, and the subscription is %+v", v)
	}
	if again, secret := d.subscribe(o.OrderID); again.Status != api.SubscriptionPaused || secret != "" {
		t.Errorf("subscribed again it is %+v", again)
	}
	var refusal *api.Error
	if _, err := d.Replay(t.Context(), boss, api.TrackRequest{SubscriptionID: v.SubscriptionID, DeliveryID: flying[0].ID}); !errors.As(err, &refusal) || refusal.Status != http.StatusConflict || !strings.Contains(refusal.Message, "resume it first") {
		t.Errorf("replay of a paused one: %v", err)
	}

	d.change(resume, v.SubscriptionID, api.SubscriptionActive)
	d.change(resume, v.SubscriptionID, api.SubscriptionActive)
	d.move(api.OrderRequest{Action: api.ActionComplete, OrderID: o.OrderID, CompletionNotes: "n"}) // behind the others
	var statuses []string
	for range 3 {
		one := d.claim(10)
		if len(one) != 1 {
			t.Fatalf("at a time go %+v", one)
		}
		var e api.OrderEvent
		if err := json.Unmarshal(one[0].Body, &e); err != nil {
			t.Fatal(err)
		}
		statuses = append(statuses, e.Status)
		if v, _ := d.tracked(o.OrderID); v.Status != api.SubscriptionActive {
			t.Errorf("with events to come it is %s", v.Status)
		}
		// The second fails: those after it do not wait for its next attempt.
		out := webhook.PostResult{At: d.clock, Status: 200}
		if len(statuses) == 2 {
			out = webhook.PostResult{At: d.clock, Status: 500, Failure: "HTTP 500", Next: d.clock.Add(5 * time.Second)}
		}
		if err := d.Delivered(t.Context(), one[0].ID, out); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(statuses, " "); got != "in_progress in_progress completed" {
		t.Errorf("received %s", got)
	}
	d.clock = d.clock.Add(5 * time.Second)
	d.attempt(webhook.PostResult{Status: 200})
	if v, _ := d.tracked(o.OrderID); v.Status != api.SubscriptionCompleted {
		t.Errorf("with everything received it is %s", v.Status)
	}
}

// A failing endpoint that is paused starts fresh; one without waiting events
// whose order has ended is completed when it is resumed.
func TestResumeResetsFailures(t *testing.T) {
	d := newDesk(t, nil)
	o := d.order()
	v, _ := d.subscribe(o.OrderID)
	d.move(api.OrderRequest{Action: api.ActionStart, OrderID: o.OrderID})
	d.attempt(webhook.PostResult{Status: 500, Failure: "HTTP 500"})
	d.change(pause, v.SubscriptionID, api.SubscriptionPaused)
	d.clock = d.clock.Add(10 * day)
	v = d.change(resume, v.SubscriptionID, api.SubscriptionActive)
	if !v.FailingSince.IsZero() || v.StatusReason != "" {
		t.Errorf("resumed it is %+v", v)
	}
	d.move(api.OrderRequest{Action: api.ActionHold, OrderID: o.OrderID, HoldReason: api.HoldOther})
	d.attempt(webhook.PostResult{Status: 500, Failure: "HTTP 500", Next: d.clock.Add(time.Hour)})
	if v, _ := d.tracked(o.OrderID); v.Status != api.SubscriptionActive {
		t.Errorf("the time of the pause counts: %+v", v)
	}
	d.change(pause, v.SubscriptionID, api.SubscriptionPaused)
	d.move(api.OrderRequest{Action: api.ActionCancel, OrderID: o.OrderID, Reason: "r"})
	d.change(resume, v.SubscriptionID, api.SubscriptionActive)
	for range 2 {
		d.attempt(webhook.PostResult{Status: 200})
	}
	if v, _ := d.tracked(o.OrderID); v.Status != api.SubscriptionCompleted {
		t.Errorf("at the end it is %+v", v)
	}
	for _, how := range []func(*desk, string) (api.Subscription, error){pause, resume} {
		var refusal *api.Error
		if _, err := how(d, v.SubscriptionID); !errors.As(err, &refusal) || refusal.Status != http.StatusConflict || refusal.Details["allowed"] == nil {
			t.Errorf("one that is completed: %v", err)
		}
	}
}

// Held events of an endpoint that is disabled or unsubscribed are dropped;
// however old, they are kept until then.
func TestHeldDeliveriesEnd(t *testing.T) {
	d := newDesk(t, nil)
	o := d.order()
	v, _ := d.subscribe(o.OrderID)
	d.move(api.OrderRequest{Action: api.ActionStart, OrderID: o.OrderID})
	d.change(pause, v.SubscriptionID, api.SubscriptionPaused)
	d.events(o.OrderID, 1)
	d.clock = d.clock.Add(keepDeliveries + day)
	if err := d.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := d.statuses(o.OrderID); got != "held held held" {
		t.Errorf("swept, the deliveries are %s", got)
	}
	d.change(resume, v.SubscriptionID, api.SubscriptionActive)
	d.attempt(webhook.PostResult{Status: 410, Failure: "the receiver answered 410", Gone: true})
	if got := d.statuses(o.OrderID); got != "dropped dropped failed" {
		t.Errorf("the place is gone, the deliveries are %s", got)
	}
	if _, err := pause(d, v.SubscriptionID); err == nil {
		t.Error("a disabled subscription is paused")
	}
	d.subscribe(o.OrderID)
	d.change(pause, v.SubscriptionID, api.SubscriptionPaused)
	d.events(o.OrderID, 1)
	if _, err := d.Unsubscribe(t.Context(), boss, v.SubscriptionID); err != nil {
		t.Fatal(err)
	}
	_, err := resume(d, v.SubscriptionID)
	var refusal *api.Error
	if !errors.As(err, &refusal) || refusal.Status != http.StatusConflict {
		t.Errorf("one that was ended is resumed: %v", err)
	}
	list, _, err := d.Deliveries(t.Context(), boss, api.TrackRequest{SubscriptionID: v.SubscriptionID})
	if err != nil || len(list) != 5 || slices.ContainsFunc(list, func(one api.Delivery) bool { return one.Status == api.DeliveryHeld }) {
		t.Errorf("kept back are %+v, %v", list, err)
	}
}

// After a rotation both secrets sign for a day, then the new one alone.
func TestRotatedSecretsOverlap(t *testing.T) {
	d := newDesk(t, nil)
	o := d.order()
	v, first := d.subscribe(o.OrderID)
	rotate := func() string {
		t.Helper()
		got, secret, err := d.RotateSecret(t.Context(), boss, v.SubscriptionID)
		if err != nil || !strings.HasPrefix(secret, "whsec_") || !got.FormerSecretUntil.Equal(d.clock.Add(api.SecretOverlap)) {
			t.Fatalf("rotated: %+v %q %v", got, secret, err)
		}
		return secret
	}
	next := func() []string {
		t.Helper()
		d.events(o.OrderID, 1)
		one := d.attempt2()
		return one
	}
	second := rotate()
	if got := next(); !slices.Equal(got, []string{second, first}) {
		t.Errorf("signed by %v, want the second and the first", got)
	}
	d.clock = d.clock.Add(api.SecretOverlap - time.Second)
	if got := next(); !slices.Equal(got, []string{second, first}) {
		t.Errorf("after almost a day signed by %v", got)
	}
	d.clock = d.clock.Add(time.Second)
	if got := next(); !slices.Equal(got, []string{second}) {
		t.Errorf("after a day signed by %v", got)
	}
	if v, _ := d.tracked(o.OrderID); !v.FormerSecretUntil.IsZero() {
		t.Errorf("the former secret is not forgotten: %+v", v)
	}
	third := rotate()
	fourth := rotate()
	if got := next(); !slices.Equal(got, []string{fourth, third}) {
		t.Errorf("rotated twice it is signed by %v", got)
	}
	if err := d.store.View(t.Context(), func(tx store.Tx) error {
		for e, err := range tx.Scan(subscriptions.Bucket, nil, nil, false) {
			if err != nil {
				return err
			}
			for _, secret := range []string{first, second, third, fourth} {
				if strings.Contains(string(e.Value), secret[len("whsec_"):]) {
					t.Errorf("in plain: %s", e.Value)
				}
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Unsubscribe(t.Context(), boss, v.SubscriptionID); err != nil {
		t.Fatal(err)
	}
	var refusal *api.Error
	if _, secret, err := d.RotateSecret(t.Context(), boss, v.SubscriptionID); !errors.As(err, &refusal) || refusal.Status != http.StatusConflict || secret != "" {
		t.Errorf("rotated after its end: %q, %v", secret, err)
	}
}

// attempt2 delivers the two events that are due and answers what signed the
// last.
func (d *desk) attempt2() []string {
	d.t.Helper()
	list := d.claim(10)
	if len(list) != 2 {
		d.t.Fatalf("due are %+v", list)
	}
	for _, one := range list {
		if err := d.Delivered(d.t.Context(), one.ID, webhook.PostResult{At: d.clock, Status: 200}); err != nil {
			d.t.Fatal(err)
		}
	}
	return list[1].Secrets
}
