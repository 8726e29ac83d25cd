package backend

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"app.sunloop/backend/api"
	"app.sunloop/backend/webhook"
)

// A real receiver gets nothing while its subscription is paused, and then all
// of it in order; after a rotation the library of Standard Webhooks verifies
// with either secret for a day, then with the new one alone.
func TestPausedAndRotatedOverTheWire(t *testing.T) {
	place, calls := endpoint(t)
	var ahead atomic.Int64
	wall := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	h := open(t, Config{DataDir: t.TempDir(), Now: time.Now, Wall: wall, WebhookAllow: []string{"127.0.0.1"}})
	order := worksite(t, h)
	sub, err := h.Subscribe(t.Context(), order, place.URL)
	if err != nil {
		t.Fatal(err)
	}
	move := func(r api.OrderRequest) {
		t.Helper()
		r.OrderID = order
		if _, err := h.MoveOrder(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if paused, err := h.PauseSubscription(t.Context(), sub.SubscriptionID); err != nil || paused.Status != api.SubscriptionPaused || paused.Secret != "" {
		t.Fatalf("paused: %+v, %v", paused, err)
	}
	want := []string{}
	for range 5 {
		move(api.OrderRequest{Action: api.ActionHold, HoldReason: api.HoldOther})
		move(api.OrderRequest{Action: api.ActionResume})
		want = append(want, api.OrderOnHold, api.OrderInProgress)
	}
	// Another endpoint is notified of the end of a second order: by then the
	// deliverer has processed all that was due.
	other, others := endpoint(t)
	second := workOrder(t, h)
	if _, err := h.Subscribe(t.Context(), second, other.URL); err != nil {
		t.Fatal(err)
	}
	if _, err := h.MoveOrder(t.Context(), api.OrderRequest{Action: api.ActionComplete, OrderID: second, CompletionNotes: "n"}); err != nil {
		t.Fatal(err)
	}
	if <-others; len(calls) != 0 {
		t.Fatal("something was sent while paused")
	}
	if kept, err := h.Deliveries(t.Context(), api.TrackRequest{SubscriptionID: sub.SubscriptionID}); err != nil || kept.Count != len(want) || kept.Deliveries[0].Status != api.DeliveryHeld {
		t.Fatalf("kept are %+v, %v", kept, err)
	}
	rotated, err := h.RotateSecret(t.Context(), sub.SubscriptionID)
	if err != nil || !strings.HasPrefix(rotated.Secret, "whsec_") || rotated.Secret == sub.Secret {
		t.Fatalf("rotated: %+v, %v", rotated, err)
	}
	verifies := func(c call, secret string) error {
		t.Helper()
		verifier, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		return verifier.VerifyIgnoringTimestamp(c.body, c.header) // the clock of the test runs ahead
	}
	if resumed, err := h.ResumeSubscription(t.Context(), sub.SubscriptionID); err != nil || resumed.Status != api.SubscriptionActive {
		t.Fatalf("resumed: %+v, %v", resumed, err)
	}
	for i, status := range want {
		got := <-calls
		if e := got.event(t); e.Status != status {
			t.Errorf("event %d is %s, want %s", i, e.Status, status)
		}
		if old, fresh := verifies(got, sub.Secret), verifies(got, rotated.Secret); old != nil || fresh != nil {
			t.Errorf("event %d: the former secret %v, the new one %v", i, old, fresh)
		}
		if n := strings.Count(got.header.Get(webhook.HeaderSignature), "v1,"); n != 2 {
			t.Errorf("event %d has %d signatures", i, n)
		}
	}
	ahead.Store(int64(api.SecretOverlap + time.Minute))
	move(api.OrderRequest{Action: api.ActionComplete, CompletionNotes: "Fan replaced"})
	got := <-calls
	if old, fresh := verifies(got, sub.Secret), verifies(got, rotated.Secret); old == nil || fresh != nil {
		t.Errorf("a day later: the former secret %v, the new one %v", old, fresh)
	}
	var refusal *api.Error
	if _, err := h.PauseSubscription(t.Context(), "sub_0"); !errors.As(err, &refusal) || refusal.Status != http.StatusNotFound {
		t.Errorf("an unknown subscription: %v", err)
	}
}
