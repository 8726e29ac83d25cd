package compat

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// receiver is a client's server, which receives changes of orders.
type receiver struct {
	*httptest.Server
	got chan event
}

type event struct {
	path   string
	header http.Header
	body   []byte
}

func newReceiver() *receiver {
	r := &receiver{got: make(chan event, 100)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		b, err := io.ReadAll(q.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.got <- event{q.URL.Path, q.Header, b}
	}))
	return r
}

func TestJobTracking(t *testing.T) {
	unit := shared.fleet.Sites[0].Units[6].AssetID
	order := terminal(t, "/terminal/order", "action", "create", "customer_id", customer, "bom_id", bill(t, unit), "additional", true).is(object(fields{"order_id": text})).text("order_id")
	place := shared.events.URL + "/jobs"
	subscribed := object(fields{"success": exactly(true), "message": text, "subscription_id": text, "order_id": exactly(order), "status": exactly("active")})
	a := terminal(t, "/terminal/track", "action", "subscribe", "order_id", order, "callback_url", place).is(both(subscribed, object(fields{"secret": matches("^whsec_")})))
	verifier, err := standardwebhooks.NewWebhook(a.text("secret"))
	if err != nil {
		t.Fatal(err)
	}
	// Clients also call an order a job.
	second := terminal(t, "/terminal/track", "action", "subscribe", "job_id", order, "callback_url", shared.events.URL+"/others", "customer_id", customer).is(subscribed).text("subscription_id")
	listed := object(fields{"success": exactly(true), "count": exactly(2.0), "subscriptions": count(2, object(fields{
		"subscription_id": text, "order_id": exactly(order), "callback_url": text, "status": exactly("active"), "created_at": instant,
	}))})
	for _, form := range [][]any{{"order_id", order}, {"job_id", order, "customer_id", customer}, {"order_id", order, "customer_id", customer, "limit", 1000}} {
		if l := terminal(t, "/terminal/track", append([]any{"action", "list"}, form...)...).is(listed); strings.Contains(string(l.body), "whsec_") {
			t.Error("the secret is shown again")
		}
	}

	// Each change of status comes to both, signed for the first.
	var statuses []string
	move := func(action, status string, more ...any) {
		t.Helper()
		terminal(t, "/terminal/order", append([]any{"action", action, "customer_id", customer, "order_id", order}, more...)...).is(object(fields{"status": exactly(status)}))
		statuses = append(statuses, status)
	}
	move("start", "in_progress", "assigned_technician", "tech-7")
	move("hold", "on_hold", "hold_reason", "weather")
	move("resume", "in_progress")
	move("complete", "completed", "completion_notes", "Fan replaced")
	body := object(fields{"order_id": exactly(order), "status": orderStatus, "updated_at": instant, "completion_notes": maybe})
	seen := map[string]map[string]string{} // path → webhook-id → status
	for n := 0; n < 2*len(statuses); {
		e := <-shared.events.got
		e2 := answer{t: t, what: "the event at " + e.path, status: http.StatusOK, body: e.body}
		if err := json.Unmarshal(e.body, &e2.value); err != nil {
			t.Fatal(err)
		}
		e2.is(body)
		for _, wrong := range faultless("", e2.value, nil) {
			t.Errorf("%s: %s", e2.what, wrong)
		}
		if e.path == "/jobs" {
			if err := verifier.Verify(e.body, e.header); err != nil {
				t.Errorf("%s: %v", e.body, err)
			}
		}
		if seen[e.path] == nil {
			seen[e.path] = map[string]string{}
		}
		if id := e.header.Get("webhook-id"); seen[e.path][id] == "" { // it may come more than once
			seen[e.path][id] = e2.text("status")
			n++
		}
	}
	for path, events := range seen {
		var got []string
		for _, status := range events {
			got = append(got, status)
		}
		want := slices.Clone(statuses)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s received %v of %v", path, got, want)
		}
	}

	for _, address := range []string{"not a url", "ftp://example.org/x", "http://example.org/x", "https://10.0.0.1/x", "https://localhost/x", "https://user@example.org/x", ""} {
		terminal(t, "/terminal/track", "action", "subscribe", "order_id", order, "callback_url", address, "customer_id", customer).refused(http.StatusBadRequest, "Invalid callback URL")
	}
	terminal(t, "/terminal/track", "action", "subscribe", "order_id", "ord_0", "callback_url", place).refused(http.StatusNotFound, "Order not found")
	terminal(t, "/terminal/track", "action", "subscribe", "callback_url", place).refused(http.StatusBadRequest, "Missing required field: order_id")
	terminal(t, "/terminal/track", "action", "drop", "order_id", order).refused(http.StatusBadRequest, "Invalid action")
	terminal(t, "/terminal/track", "action", "unsubscribe", "subscription_id", "sub_0", "customer_id", customer).refused(http.StatusNotFound, "Subscription not found")
	terminal(t, "/terminal/track", "action", "deliveries", "subscription_id", second, "customer_id", customer).
		is(object(fields{"deliveries": some(object(fields{"delivery_id": text, "order_id": exactly(order), "status": text, "created_at": instant, "attempts": integer}))}))
}
