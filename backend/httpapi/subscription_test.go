package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/alert"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/domain/subscription"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/backend/store"
	"app.sunloop/backend/webhook"
)

// hooks receives test events.
type hooks struct {
	posted  []webhook.Delivery
	failure string
}

func (h *hooks) Post(_ context.Context, d webhook.Delivery) webhook.PostResult {
	h.posted = append(h.posted, d)
	if h.failure != "" {
		return webhook.PostResult{At: time.Unix(1, 0), Status: 500, Failure: h.failure}
	}
	return webhook.PostResult{At: time.Unix(1, 0), Status: 204}
}

const hookURL = "https://example.org/hook"

// subscribe makes a subscription to events.
func (w *world) subscribe(key, of string, events ...string) api.SubscriptionsResponse {
	w.t.Helper()
	list, _ := json.Marshal(events)
	return w.subscriptions(key, fmt.Sprintf(`{"action":"subscribe",%s,"callback_url":%q,"events":%s}`, of, hookURL, list))
}

// subscriptions posts a request that must succeed.
func (w *world) subscriptions(key, body string) (v api.SubscriptionsResponse) {
	w.t.Helper()
	r := w.as(key, http.MethodPost, api.PathSubscriptions, body)
	if err := json.Unmarshal(r.Body.Bytes(), &v); err != nil || r.Code != http.StatusOK {
		w.t.Fatalf("%s: HTTP %d %s", body, r.Code, r.Body)
	}
	return v
}

// claim claims one delivery and reads its event; nil if none is due.
func (w *world) claim() (*webhook.Delivery, api.WebhookEvent) {
	w.t.Helper()
	list, err := w.events.Claim(context.Background(), w.clock.now(), time.Minute, 1)
	if err != nil {
		w.t.Fatal(err)
	}
	var e api.WebhookEvent
	if len(list) == 0 {
		return nil, e
	}
	if err := json.Unmarshal(list[0].Body, &e); err != nil {
		w.t.Fatalf("%s: %v", list[0].Body, err)
	}
	return &list[0], e
}

// answer stores what the receiver answered.
func (w *world) answer(id string, out webhook.PostResult) {
	w.t.Helper()
	out.At = w.clock.now()
	if err := w.events.Delivered(context.Background(), id, out); err != nil {
		w.t.Fatal(err)
	}
}

// deliver posts all that is due to a receiver that accepts it.
func (w *world) deliver() (list []api.WebhookEvent) {
	w.t.Helper()
	for {
		d, e := w.claim()
		if d == nil {
			return list
		}
		list = append(list, e)
		w.answer(d.ID, webhook.PostResult{Status: 204})
	}
}

// named are the types of events with their sequence numbers.
func named(list []api.WebhookEvent) (names []string) {
	for _, e := range list {
		names = append(names, fmt.Sprintf("%s %d", e.Type, e.Sequence))
	}
	slices.Sort(names)
	return names
}

func (w *world) change(fn func(tx store.Tx) error) {
	w.t.Helper()
	if err := w.changes.Update(context.Background(), fn); err != nil {
		w.t.Fatal(err)
	}
}

// record records a run of the detector with an event of a family, or with none.
func (w *world) record(family string, units ...string) {
	w.t.Helper()
	now := w.clock.now()
	run := finding.Run{Site: api.Site{SiteID: ownSite, CustomerID: ownCustomer}, ModelVersion: "rules", From: now.Add(-24 * time.Hour), Now: now, Units: []string{ownAsset}, Requested: []string{ownAsset}}
	if family != "" {
		run.Events = []finding.Event{{Family: family, Units: units, Start: now.Add(-time.Hour), LastSeen: now, Confidence: 0.9, Severity: api.SeverityCritical, Summary: "Something is wrong."}}
	}
	w.change(func(tx store.Tx) error {
		_, err := w.domain.Detections.RecordRun(tx, run)
		return err
	})
}

// Each change of what a subscription selects is an event in the outbox of the transaction
// that makes the change, numbered by object.
func TestEvents(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	sub := w.subscribe("customer", `"customer_id":"`+ownCustomer+`"`, "*")
	if sub.Secret == "" || sub.Subscription.Status != api.SubscriptionActive {
		t.Fatalf("%+v", sub)
	}
	expect := func(what string, want ...string) []api.WebhookEvent {
		t.Helper()
		list := w.deliver()
		if got := named(list); !slices.Equal(got, want) {
			t.Errorf("%s: events %q, want %q", what, got, want)
		}
		for _, e := range list {
			if e.CustomerID != ownCustomer || e.SiteID != ownSite || e.ObjectID == "" || !strings.HasPrefix(e.EventID, "evt_") || e.Timestamp.IsZero() {
				t.Errorf("%s: event %+v", what, e)
			}
		}
		return list
	}
	body, _, _ := w.planned()
	order := mustPost[api.OrderResponse](w, api.PathOrder, body).Order
	for _, e := range expect("an order", "order.assigned 2", "order.created 1") {
		if e.Object != api.ObjectOrder || e.ObjectID != order.OrderID || e.AssetID != ownAsset || e.Data.AssignedTechnician != "grace" || e.Data.Status != api.OrderPending {
			t.Errorf("%+v", e)
		}
	}
	w.move("start", order.OrderID, `,"assigned_technician":"ada"`)
	expect("an order that is started", "order.assigned 3", "order.status_changed 4")

	w.record("inverter_outage", ownAsset)
	expect("a finding", "alert.raised 1", "finding.opened 1")
	alerts, _, _, err := w.domain.Alerts.Alerts(t.Context(), api.Unlimited("test"), api.ListQuery{SiteID: ownSite}, "")
	if err != nil || len(alerts) != 1 {
		t.Fatal(alerts, err)
	}
	mustPost[any](w, api.PathAlerts, `{"action":"acknowledge","alert_id":"`+alerts[0].AlertID+`"}`)
	expect("an alert that is acknowledged", "alert.acknowledged 2")
	w.record("inverter_outage", ownAsset)
	expect("a finding that lasts")
	w.clock.add(48 * time.Hour)
	w.record("")
	for _, e := range expect("a finding that ended", "alert.cleared 3", "finding.closed 2") {
		if e.Data.FaultFamily != "inverter_outage" || e.Data.FormerStatus == "" {
			t.Errorf("%+v", e)
		}
	}
	w.record("data_silence", ownAsset)
	expect("a silent site", "alert.raised 1", "finding.opened 1", "site.silent 1")

	u := upload.Upload{Upload: api.Upload{UploadID: "upl_1", CustomerID: ownCustomer, SiteID: ownSite, Kind: api.UploadNowcast, Filename: "a.csv"}, Hash: "h"}
	w.change(func(tx store.Tx) error {
		_, _, err := w.domain.Uploads.Add(tx, u, store.Job{Kind: "none", ID: "none"})
		return err
	})
	expect("an upload", "upload.accepted 1")
	for _, status := range []string{api.UploadValidating, api.UploadProcessing, api.UploadWithWarnings} {
		w.change(func(tx store.Tx) error {
			_, err := w.domain.Uploads.SetStatus(tx, "upl_1", status, func(u *upload.Upload) { u.RowsStored = 12 })
			return err
		})
	}
	if list := expect("an upload that is imported", "upload.completed 2"); len(list) == 1 && (list[0].Data.RowsStored != 12 || list[0].Data.Filename != "a.csv") {
		t.Errorf("%+v", list)
	}
	w.change(func(tx store.Tx) error {
		u.UploadID, u.Hash = "upl_2", "g"
		_, _, err := w.domain.Uploads.AddRejected(tx, u)
		return err
	})
	expect("an upload that is rejected", "upload.rejected 1")

	for i := range 2 {
		w.change(func(tx store.Tx) error {
			return w.domain.Forecasts.Add(tx, forecast.Forecast{ForecastID: fmt.Sprint("fc_", i), CustomerID: ownCustomer, SiteID: ownSite, IssuedAt: w.clock.now()}, time.UTC)
		})
	}
	expect("forecasts", "forecast.issued 1", "forecast.issued 2")
	w.change(func(tx store.Tx) error {
		m := model.Model{Sequence: 1, Trained: w.clock.now()}
		m.ModelName, m.ModelVersion, m.ModelType, m.SiteID, m.CustomerID = "solar", "v1", api.ModelForecasting, ownSite, ownCustomer
		_, err := w.domain.Models.Register(tx, m, nil)
		return err
	})
	expect("a model", "model.promoted 1")

	// What is undone is not announced, and a unit that is replaced is no new order.
	failed := errors.New("undone")
	if err := w.changes.Update(t.Context(), func(tx store.Tx) error {
		_, err := w.domain.Uploads.SetStatus(tx, "upl_1", api.UploadReverted, nil)
		return errors.Join(err, failed)
	}); !errors.Is(err, failed) {
		t.Error(err)
	}
	w.change(func(tx store.Tx) error { return alert.RenameAsset(tx, ownSite, ownAsset, secondAsset) })
	expect("nothing")
	status, err := w.events.OutboxStatus(t.Context())
	if err != nil || status.Waiting != 0 {
		t.Error(status, err)
	}
}

// The silence of one of several units is a finding, and no silence of the site.
func TestEventsOfSilentUnit(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	w.subscribe("customer", `"customer_id":"`+ownCustomer+`"`, "finding.*", "site.*")
	r := w.as("customer", http.MethodPost, api.PathAssets, `{"action":"add","asset_id":"INV-3","site_id":"Sibaya","customer_id":"`+ownCustomer+`","name":"n","type":"inverter","capacity_kw":1,"location":"l"}`)
	if r.Code != http.StatusOK {
		t.Fatal(r.Body)
	}
	w.record("data_silence", ownAsset)
	if got := named(w.deliver()); !slices.Equal(got, []string{"finding.opened 1"}) {
		t.Errorf("a silent unit: %q", got)
	}
	w.record("data_silence", ownAsset, "INV-3")
	if got := named(w.deliver()); !slices.Contains(got, "site.silent 1") {
		t.Errorf("a silent site: %q", got)
	}
}

// The events of an object come in order: one waits until the one before was delivered or
// given up. Other objects do not wait.
func TestEventsInOrder(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	sub := w.subscribe("own", `"site_id":"Sibaya"`, "order.created", "order.status_changed", "forecast.*")
	body, _, _ := w.planned()
	order := mustPost[api.OrderResponse](w, api.PathOrder, body).Order
	w.move("start", order.OrderID, "")
	w.move("hold", order.OrderID, `,"hold_reason":"weather"`)
	first, e := w.claim()
	if first == nil || e.Type != api.EventOrderCreated {
		t.Fatalf("%+v", e)
	}
	if err := verify(sub.Secret, first, w.clock.now()); err != nil {
		t.Error(err)
	}
	w.answer(first.ID, webhook.PostResult{Status: 500, Failure: "HTTP 500", Next: w.clock.now().Add(time.Hour)})
	w.change(func(tx store.Tx) error {
		return w.domain.Forecasts.Add(tx, forecast.Forecast{ForecastID: "fc_1", CustomerID: ownCustomer, SiteID: ownSite, IssuedAt: w.clock.now()}, time.UTC)
	})
	if got := named(w.deliver()); !slices.Equal(got, []string{"forecast.issued 1"}) {
		t.Errorf("before the first event of the order: %q", got)
	}
	log := w.subscriptions("own", `{"action":"deliveries","subscription_id":"`+sub.SubscriptionID+`"}`)
	statuses := map[string]string{}
	for _, d := range log.Deliveries {
		statuses[fmt.Sprint(d.Event.Type, d.Event.Sequence)] = d.Status
	}
	if log.Count != 4 || statuses["order.created1"] != api.DeliveryPending || statuses["order.status_changed3"] != api.DeliveryHeld || statuses["order.status_changed4"] != api.DeliveryHeld || statuses["forecast.issued1"] != api.DeliveryDelivered {
		t.Errorf("the log has %v", statuses)
	}
	// A process that dies with a delivery claimed: another one posts it after the lease, under
	// the same id.
	w.clock.add(time.Hour)
	second, _ := w.claim()
	if again, _ := w.claim(); second == nil || second.ID != first.ID || second.Attempt != 2 || again != nil {
		t.Fatalf("%+v, then %+v", second, again)
	}
	w.clock.add(2 * time.Minute)
	other, err := subscription.New(w.events.Config)
	if err != nil {
		t.Fatal(err)
	}
	w.events = other
	list := w.deliver()
	var order3 []string
	for _, e := range list {
		order3 = append(order3, fmt.Sprint(e.Type, e.Sequence, e.Data.Status))
	}
	if want := []string{"order.created1pending", "order.status_changed3in_progress", "order.status_changed4on_hold"}; !slices.Equal(order3, want) {
		t.Errorf("in order: %q, want %q", order3, want)
	}

	// Given up: the next one goes.
	w.move("resume", order.OrderID, "")
	w.move("complete", order.OrderID, `,"completion_notes":"done"`)
	d, _ := w.claim()
	w.answer(d.ID, webhook.PostResult{Status: 500, Failure: "HTTP 500"})
	if got := named(w.deliver()); !slices.Equal(got, []string{"order.status_changed 6"}) {
		t.Errorf("after one was given up: %q", got)
	}
	failed := w.subscriptions("own", `{"action":"deliveries","status":"failed","subscription_id":"`+sub.SubscriptionID+`"}`)
	if failed.Count != 1 || failed.Deliveries[0].Failure != "HTTP 500" || failed.Deliveries[0].AnswerStatus != 500 {
		t.Errorf("%+v", failed)
	}
	// Replay: what was not delivered, one delivery, all since a time.
	if v := w.subscriptions("own", `{"action":"replay","subscription_id":"`+sub.SubscriptionID+`"}`); v.Count != 1 {
		t.Errorf("%+v", v)
	}
	if got := named(w.deliver()); !slices.Equal(got, []string{"order.status_changed 5"}) {
		t.Errorf("replayed: %q", got)
	}
	w.subscriptions("own", `{"action":"replay","delivery_id":"`+first.ID+`"}`)
	if d, e := w.claim(); d == nil || d.ID != first.ID || e.Sequence != 1 {
		t.Errorf("%+v %+v", d, e)
	} else {
		w.answer(d.ID, webhook.PostResult{Status: 204})
	}
	w.subscriptions("own", `{"action":"replay","subscription_id":"`+sub.SubscriptionID+`","since":"2025-10-01T00:00:00Z"}`)
	if got := named(w.deliver()); len(got) != 6 {
		t.Errorf("all again: %q", got)
	}
}

// verify checks a delivery as a subscriber does.
func verify(secret string, d *webhook.Delivery, now time.Time) error {
	v, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return err
	}
	signature, err := webhook.Sign(d.Secrets, d.ID, now, d.Body)
	if err != nil {
		return err
	}
	h := http.Header{}
	h.Set(webhook.HeaderID, d.ID)
	h.Set(webhook.HeaderTimestamp, fmt.Sprint(now.Unix()))
	h.Set(webhook.HeaderSignature, signature)
	return v.VerifyIgnoringTimestamp(d.Body, h)
}

// A paused subscription keeps its events, one that has ended drops them, and one whose
// receiver is gone or silent for days is disabled.
func TestEventSubscriptionStates(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	sub := w.subscribe("own", `"site_id":"Sibaya"`, "*")
	id := sub.SubscriptionID
	of := `"subscription_id":"` + id + `"}`
	issue := 0
	forecasts := func(n int) {
		for range n {
			issue++
			w.change(func(tx store.Tx) error {
				return w.domain.Forecasts.Add(tx, forecast.Forecast{ForecastID: fmt.Sprint("fc_", issue), CustomerID: ownCustomer, SiteID: ownSite, IssuedAt: w.clock.now()}, time.UTC)
			})
		}
	}
	forecasts(1)
	if v := w.subscriptions("own", `{"action":"pause",`+of); v.Status != api.SubscriptionPaused {
		t.Errorf("%+v", v)
	}
	forecasts(2)
	if got := w.deliver(); len(got) != 0 {
		t.Errorf("while paused: %q", named(got))
	}
	posted(t, w, api.PathSubscriptions, []scenario{
		{name: "replay while paused", body: `{"action":"replay",` + of, status: 409, contains: []string{"is paused: resume it first"}},
		{name: "pause again", body: `{"action":"pause",` + of, status: 200},
	})
	w.subscriptions("own", `{"action":"resume",`+of)
	if got := named(w.deliver()); !slices.Equal(got, []string{"forecast.issued 1", "forecast.issued 2", "forecast.issued 3"}) {
		t.Errorf("resumed: %q", got)
	}
	// The former secret signs too, for a day.
	rotated := w.subscriptions("own", `{"action":"rotate",`+of)
	forecasts(1)
	d, _ := w.claim()
	for _, secret := range []string{sub.Secret, rotated.Secret} {
		if err := verify(secret, d, w.clock.now()); err != nil {
			t.Errorf("%s: %v", secret, err)
		}
	}
	w.answer(d.ID, webhook.PostResult{Status: 410, Failure: "the receiver answered 410", Gone: true})
	list := w.subscriptions("own", `{"action":"list","site_id":"Sibaya"}`)
	if list.Count != 1 || list.Subscriptions[0].Status != api.SubscriptionDisabled || list.Subscriptions[0].StatusReason != "the receiver answered 410" {
		t.Errorf("%+v", list)
	}
	posted(t, w, api.PathSubscriptions, []scenario{
		{name: "pause when disabled", body: `{"action":"pause",` + of, status: 409, contains: []string{"is disabled: it cannot become paused", `"allowed":[]`}},
		{name: "replay when disabled", body: `{"action":"replay",` + of, status: 409, contains: []string{"subscribe again first"}},
	})
	// To subscribe again takes it up, with its secret.
	if v := w.subscribe("own", `"site_id":"Sibaya"`, "*"); v.SubscriptionID != id || v.Secret != "" || v.Status != api.SubscriptionActive {
		t.Errorf("%+v", v)
	}
	forecasts(1)
	for day := range 6 {
		d, _ := w.claim()
		if day == 5 && d == nil {
			break
		}
		w.answer(d.ID, webhook.PostResult{Failure: "the endpoint was not reachable", Next: w.clock.now().Add(24 * time.Hour)})
		w.clock.add(24 * time.Hour)
	}
	if v := w.subscriptions("own", `{"action":"list"}`); v.Subscriptions[0].Status != api.SubscriptionDisabled {
		t.Errorf("silent for days: %+v", v.Subscriptions[0])
	}
	w.subscribe("own", `"site_id":"Sibaya"`, "*")
	w.subscriptions("own", `{"action":"pause",`+of)
	forecasts(2)
	if v := w.subscriptions("own", `{"action":"unsubscribe",`+of); v.Status != api.SubscriptionDeleted {
		t.Errorf("%+v", v)
	}
	if v := w.subscriptions("own", `{"action":"deliveries","status":"dropped",`+of); v.Count != 2 {
		t.Errorf("dropped: %+v", v)
	}
	forecasts(1)
	if got := w.deliver(); len(got) != 0 {
		t.Errorf("after the end: %q", named(got))
	}
	// Old deliveries and sequences are deleted.
	w.clock.add(3 * 365 * 24 * time.Hour)
	if err := w.events.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, table := range subscription.Tables()[1:] {
		n := 0
		_ = w.store.View(t.Context(), func(tx store.Tx) error {
			n = table.Check(tx, func(err error) { t.Error(err) })
			return nil
		})
		if n != 0 {
			t.Errorf("%d records of %s are left", n, table.Buckets()[0])
		}
	}
}

// A preview and a test show what is posted, for each type of event.
func TestEventPreview(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	sub := w.subscribe("own", `"site_id":"Sibaya"`, "alert.*")
	for _, kind := range api.EventTypes() {
		v := w.subscriptions("own", fmt.Sprintf(`{"action":"preview","site_id":"Sibaya","event":%q}`, kind))
		object, _, _ := strings.Cut(kind, ".")
		if v.Event == nil || v.Event.Type != kind || v.Event.Object != object || v.Event.ObjectID == "" || v.Event.SiteID != ownSite || v.Event.CustomerID != ownCustomer || !v.Event.Test {
			t.Errorf("%s: %+v", kind, v.Event)
		}
	}
	v := w.subscriptions("own", `{"action":"test","subscription_id":"`+sub.SubscriptionID+`","event":"alert.raised"}`)
	if len(w.hooks.posted) != 1 || v.Deliveries[0].Status != api.DeliveryDelivered || v.Deliveries[0].AnswerStatus != 204 || v.Deliveries[0].DeliveryID != w.hooks.posted[0].ID || !v.Deliveries[0].Event.Test {
		t.Errorf("%+v, posted %+v", v, w.hooks.posted)
	}
	if err := verify(sub.Secret, &w.hooks.posted[0], w.clock.now()); err != nil {
		t.Error(err)
	}
	w.hooks.failure = "HTTP 500"
	if v := w.subscriptions("own", `{"action":"test","subscription_id":"`+sub.SubscriptionID+`"}`); v.Message != "Not delivered: HTTP 500" || v.Deliveries[0].Status != api.DeliveryFailed {
		t.Errorf("%+v", v)
	}
	if v := w.subscriptions("own", `{"action":"deliveries","subscription_id":"`+sub.SubscriptionID+`"}`); v.Count != 2 {
		t.Errorf("the log has %d", v.Count)
	}
}

// A caller sees, makes and changes subscriptions of what it may see: one of a whole customer
// needs a credential for all of its sites. Events of other customers are never posted.
func TestEventSubscriptionScope(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	whole := w.subscribe("customer", `"customer_id":"`+ownCustomer+`"`, "*").SubscriptionID
	site := w.subscribe("own", `"site_id":"Sibaya"`, "*").SubscriptionID
	foreign := w.subscribe("admin", `"customer_id":"`+foreignCustomer+`"`, "*").SubscriptionID
	body := func(action, id string) string {
		return `{"action":"` + action + `","subscription_id":"` + id + `"}`
	}
	list := []scenario{
		{name: "a customer with a key for a site", body: `{"action":"subscribe","customer_id":"` + ownCustomer + `","callback_url":"` + hookURL + `","events":["*"]}`, status: 403},
		{name: "no customer", body: `{"action":"subscribe","callback_url":"` + hookURL + `","events":["*"]}`, key: "admin", status: 400, contains: []string{"Missing required field: customer_id"}},
		{name: "another's site", body: `{"action":"subscribe","site_id":"` + foreignSite + `","callback_url":"` + hookURL + `","events":["*"]}`, key: "customer", status: 403},
		{name: "an inner address", body: `{"action":"subscribe","site_id":"Sibaya","callback_url":"https://inside.example.org/","events":["*"]}`, status: 400, contains: []string{"Invalid callback URL"}},
		{name: "no encryption", body: `{"action":"subscribe","site_id":"Sibaya","callback_url":"http://example.org/","events":["*"]}`, status: 400, contains: []string{"Invalid callback URL"}},
		{name: "an unknown event", body: `{"action":"subscribe","site_id":"Sibaya","callback_url":"` + hookURL + `","events":["order.eaten"]}`, status: 400, contains: []string{"Invalid field: events"}},
		{name: "no events", body: `{"action":"subscribe","site_id":"Sibaya","callback_url":"` + hookURL + `","events":[]}`, status: 400, contains: []string{"Missing required field: events"}},
		{name: "list with a key for a site", body: `{"action":"list"}`, status: 200, contains: []string{`"count":1`, site}},
		{name: "list of a customer", body: `{"action":"list","customer_id":"` + ownCustomer + `"}`, key: "customer", status: 200, contains: []string{`"count":2`, site, whole}},
		{name: "preview of another's subscription", body: `{"action":"preview","event":"order.created","subscription_id":"` + foreign + `"}`, key: "customer", status: 403},
		{name: "an unknown subscription", body: body("pause", "evs_0"), key: "admin", status: 404, contains: []string{"Subscription not found"}},
	}
	for _, action := range []string{"unsubscribe", "pause", "resume", "rotate", "test", "deliveries", "replay"} {
		list = append(list,
			scenario{name: action + " of another customer's", body: body(action, foreign), key: "customer", status: 403},
			scenario{name: action + " of a customer's with a key for a site", body: body(action, whole), status: 403})
	}
	posted(t, w, api.PathSubscriptions, list)
	w.judgeOf(ids{foreignCustomer, foreignSite, foreignAsset}, true)
	w.judge(true)
	for {
		d, e := w.claim()
		if d == nil {
			break
		}
		v := w.subscriptions("admin", `{"action":"list","customer_id":"`+e.CustomerID+`"}`)
		if v.Count == 0 || e.CustomerID == foreignCustomer != (e.SiteID == foreignSite) {
			t.Errorf("%+v", e)
		}
		w.answer(d.ID, webhook.PostResult{Status: 204})
	}
	for id, n := range map[string]int{whole: 2, site: 2, foreign: 2} {
		v := w.subscriptions("admin", body("deliveries", id))
		for _, d := range v.Deliveries {
			if d.Event.CustomerID == foreignCustomer != (id == foreign) {
				t.Errorf("subscription %s got %+v", id, d.Event)
			}
		}
		if v.Count != n {
			t.Errorf("subscription %s got %d events, want %d", id, v.Count, n)
		}
	}
}
