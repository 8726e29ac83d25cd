package httpapi_test

import (
	"strings"
	"testing"

	"app.sunloop/backend/api"
)

func TestJobTracking(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	body, _, _ := w.planned()
	id := mustPost[api.OrderResponse](w, api.PathOrder, body).OrderID
	w.key("foreign", authKey(foreignSite))
	subscribe := `{"action":"subscribe","order_id":"` + id + `","callback_url":"https://example.org/hook"}`
	at := func(place string) string { return strings.Replace(subscribe, "https://example.org/hook", place, 1) }
	const invalid = `"error":"Invalid callback URL"`
	posted(t, w, api.PathTrack, []scenario{
		{name: "no action", body: `{}`, status: 400, contains: []string{`"error":"Invalid action"`}},
		{name: "no order", body: `{"action":"subscribe","callback_url":"https://example.org/hook"}`, status: 400, contains: []string{`"error":"Missing required field: order_id"`}},
		{name: "unknown order", body: strings.Replace(subscribe, id, "ord_0", 1), status: 403, contains: []string{"Access denied"}},
		{name: "another's order", key: "foreign", body: subscribe, status: 403, contains: []string{"Access denied"}},
		{name: "no URL", body: `{"action":"subscribe","order_id":"` + id + `"}`, status: 400, contains: []string{invalid}},
		{name: "no encryption", body: at("http://example.org/hook"), status: 400, contains: []string{invalid, "its scheme is not https"}},
		{name: "loopback", body: at("https://127.0.0.1/"), status: 400, contains: []string{invalid}},
		{name: "metadata", body: at("https://169.254.169.254/latest"), status: 400, contains: []string{invalid}},
		{name: "a user", body: at("https://a:b@example.org/"), status: 400, contains: []string{invalid}, without: []string{"a:b"}},
		{name: "a name of the inside", body: at("https://inside.example.org/"), status: 400, contains: []string{invalid, "10.0.0.7"}},
		{name: "a lab on the allow-list", body: at("http://lab.example:9000/hook"), status: 200, contains: []string{`"status":"active"`}},
		{name: "list of nothing", body: `{"action":"list"}`, status: 400, contains: []string{"Missing required field: order_id"}},
		{name: "list of an unknown order", body: `{"action":"list","order_id":"ord_0"}`, status: 403, contains: []string{"Access denied"}},
		{name: "no subscription", body: `{"action":"unsubscribe"}`, status: 400, contains: []string{"Missing required field: subscription_id"}},
		{name: "unknown subscription", body: `{"action":"unsubscribe","subscription_id":"sub_0"}`, status: 403, contains: []string{"Access denied"}},
		{name: "deliveries of nothing", body: `{"action":"deliveries"}`, status: 400, contains: []string{"Missing required field: subscription_id"}},
		{name: "nothing to send again", body: `{"action":"replay"}`, status: 400, contains: []string{"Missing required field: delivery_id"}},
		{name: "unknown delivery", body: `{"action":"replay","delivery_id":"whd_0"}`, status: 403, contains: []string{"Access denied"}},
	})
	first := mustPost[api.TrackResponse](w, api.PathTrack, subscribe)
	again := mustPost[api.TrackResponse](w, api.PathTrack, strings.Replace(subscribe, "order_id", "job_id", 1))
	if !strings.HasPrefix(first.Secret, "whsec_") || first.OrderID != id || first.Status != api.SubscriptionActive || again.SubscriptionID != first.SubscriptionID || again.Secret != "" {
		t.Errorf("first %+v, again %+v", first, again)
	}
	sub := `"subscription_id":"` + first.SubscriptionID + `"`
	w.move("start", id, "")
	posted(t, w, api.PathTrack, []scenario{
		{name: "list", body: `{"action":"list","order_id":"` + id + `"}`, status: 200, contains: []string{`"count":2`, `"callback_url":"https://example.org/hook","status":"active","created_at":"2025-10-02T10:00:00Z"`}, without: []string{"whsec_", "sealed"}},
		{name: "list of a customer", body: `{"action":"list","customer_id":"customer123","limit":1}`, status: 200, contains: []string{`"count":1`, `"next_cursor"`}},
		{name: "another's list", key: "foreign", body: `{"action":"list","order_id":"` + id + `"}`, status: 403, contains: []string{"Access denied"}},
		{name: "another's deliveries", key: "foreign", body: `{"action":"deliveries",` + sub + `}`, status: 403, contains: []string{"Access denied"}},
		{name: "another's end", key: "foreign", body: `{"action":"unsubscribe",` + sub + `}`, status: 403, contains: []string{"Access denied"}},
		{name: "deliveries", body: `{"action":"deliveries",` + sub + `}`, status: 200, contains: []string{`"count":1`, `"delivery_id":"whd_`, `"status":"pending"`,
			`"event":{"order_id":"` + id + `","status":"in_progress","updated_at":"2025-10-02T10:00:00Z","completion_notes":"","sequence":2}`, `"attempts":0`}},
		{name: "deliveries of the order", body: `{"action":"deliveries","job_id":"` + id + `"}`, status: 200, contains: []string{`"count":2`}},
		{name: "another's pause", key: "foreign", body: `{"action":"pause",` + sub + `}`, status: 403, contains: []string{"Access denied"}},
		{name: "another's secret", key: "foreign", body: `{"action":"rotate",` + sub + `}`, status: 403, contains: []string{"Access denied"}, without: []string{"whsec_"}},
		{name: "paused", body: `{"action":"pause",` + sub + `}`, status: 200, contains: []string{`"status":"paused"`}, without: []string{"whsec_"}},
		{name: "held", body: `{"action":"deliveries",` + sub + `}`, status: 200, contains: []string{`"count":1`, `"status":"held"`}, without: []string{"next_attempt_at"}},
		{name: "replay of a paused one", body: `{"action":"replay",` + sub + `}`, status: 200, contains: []string{`"count":0`}},
		{name: "resumed", body: `{"action":"resume",` + sub + `}`, status: 200, contains: []string{`"status":"active"`}},
		{name: "rotated", body: `{"action":"rotate",` + sub + `}`, status: 200, contains: []string{`"secret":"whsec_`, `"former_secret_until":"2025-10-03T10:00:00Z"`}},
		{name: "ended", body: `{"action":"unsubscribe",` + sub + `}`, status: 200, contains: []string{`"status":"deleted"`}},
		{name: "ended again", body: `{"action":"unsubscribe",` + sub + `}`, status: 200, contains: []string{`"status":"deleted"`}},
		{name: "paused after its end", body: `{"action":"pause",` + sub + `}`, status: 409, contains: []string{"is deleted: it cannot become paused", `"allowed":[]`}},
		{name: "not listed any more", body: `{"action":"list","order_id":"` + id + `"}`, status: 200, contains: []string{`"count":1`}},
	})
	if again := mustPost[api.TrackResponse](w, api.PathTrack, subscribe); again.SubscriptionID == first.SubscriptionID || again.Secret == "" || again.Secret == first.Secret {
		t.Errorf("subscribed again it is %+v", again)
	}
}
