package backend

import (
	"encoding/json"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// The creation of an order, and what follows, is posted to a subscriber of the customer, who
// can verify it; the log says what was delivered.
func TestEventsOverTheWire(t *testing.T) {
	place, calls := endpoint(t)
	h := open(t, Config{DataDir: t.TempDir(), Now: time.Now, WebhookAllow: []string{place.Listener.Addr().String()}})
	ask := func(e api.Endpoint[api.SubscriptionsRequest, api.SubscriptionsResponse], r api.SubscriptionsRequest) *api.SubscriptionsResponse {
		t.Helper()
		v, err := client.Call(t.Context(), h.Client, e, r)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	sub := ask(api.SubscribeEvents, api.SubscriptionsRequest{CustomerID: "acme", CallbackURL: place.URL, Events: []string{"order.*"}})
	verifier, err := standardwebhooks.NewWebhook(sub.Secret)
	if err != nil {
		t.Fatal(err)
	}
	receive := func() (e api.WebhookEvent) {
		t.Helper()
		got := <-calls
		if err := verifier.Verify(got.body, got.header); err != nil {
			t.Errorf("it does not verify: %v", err)
		}
		if err := json.Unmarshal(got.body, &e); err != nil {
			t.Fatalf("%s: %v", got.body, err)
		}
		return e
	}
	test := ask(api.TestEventSubscription, api.SubscriptionsRequest{SubscriptionID: sub.SubscriptionID})
	if e := receive(); !e.Test || test.Deliveries[0].AnswerStatus != 204 || test.Deliveries[0].Status != api.DeliveryDelivered {
		t.Errorf("a test: %+v, %+v", e, test)
	}
	order := worksite(t, h) // creates an order, assigns and starts it
	for i, kind := range []string{api.EventOrderCreated, api.EventOrderAssigned, api.EventOrderStatusChanged} {
		if e := receive(); e.Type != kind || e.Sequence != i+1 || e.ObjectID != order || e.SiteID != "South" || e.Test {
			t.Errorf("event %d is %+v, want %s", i+1, e, kind)
		}
	}
	// What the service notes of the last one may come a moment later.
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		log := ask(api.ListEventDeliveries, api.SubscriptionsRequest{SubscriptionID: sub.SubscriptionID, Status: api.DeliveryDelivered})
		if log.Count == 4 && log.Deliveries[0].Event.Sequence == 3 {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("the log is %+v", log.Deliveries)
		}
	}
}
