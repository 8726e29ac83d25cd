package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/domain/maintenance"
	"app.sunloop/backend/domain/notification"
	"app.sunloop/backend/domain/subscription"
	"app.sunloop/backend/store"
	"app.sunloop/backend/webhook"
)

// workDeps gives the world the domain of work.
func (w *world) workDeps() {
	w.t.Helper()
	guard, err := webhook.NewGuard("lab.example")
	if err != nil {
		w.t.Fatal(err)
	}
	guard.LookUp = func(_ context.Context, host string) ([]netip.Addr, error) {
		if host == "inside.example.org" {
			return []netip.Addr{netip.MustParseAddr("10.0.0.7")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
	}
	service, err := maintenance.New(maintenance.Config{Records: w.changes, Domain: w.domain, Now: w.clock.now, Wall: w.clock.now, Guard: guard, Sealer: auth.Key{2}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.work = service
	w.messages = new(messages)
	w.notifications, err = notification.New(notification.Config{Records: w.store, Domain: w.domain, Wall: w.clock.now, Sender: w.messages, Sealer: auth.Key{2}, Key: []byte("links"), PublicURL: "https://sunloop.example.com"})
	if err != nil {
		w.t.Fatal(err)
	}
	w.hooks = new(hooks)
	w.events, err = subscription.New(subscription.Config{Records: w.store, Wall: w.clock.now, Guard: guard, Poster: w.hooks, Sealer: auth.Key{2},
		Owner: func(tx store.Tx, scope api.Scope, siteID string) (string, error) {
			site, err := w.domain.Sites.SiteIn(tx, scope, siteID)
			return site.CustomerID, err
		},
		Single: func(tx store.Tx, siteID string) (bool, error) {
			units, err := w.domain.Sites.AssetsInTx(tx, siteID)
			return len(units) == 1, err
		}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.changes.Watcher, w.deps.Subscriptions = w.events, w.events
	w.deps.Notifications = w.notifications
	w.deps.Schedules, w.deps.BOMs, w.deps.Orders, w.deps.Tracking = service, service, service, service
}

// without returns a JSON body without a field.
func without(body, field string) string {
	var fields map[string]any
	if err := json.Unmarshal([]byte(body), &fields); err != nil {
		panic(err)
	}
	delete(fields, field)
	b, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// posted runs scenarios of one path, with the key of the first plant where
// none is named.
func posted(t *testing.T, w *world, path string, list []scenario) {
	t.Helper()
	for _, s := range list {
		s.method, s.url = http.MethodPost, path
		if s.key == "" {
			s.key = "own"
		}
		t.Run(s.name, func(t *testing.T) { s.run(t, w) })
	}
}

// mustPost posts a body that must succeed, and reads the response.
func mustPost[T any](w *world, path, body string) T {
	w.t.Helper()
	key := "own"
	if path == api.PathParts || strings.Contains(body, "parts_used") {
		key = "customer" // stock is the customer's
	}
	r := w.as(key, http.MethodPost, path, body)
	var v T
	if err := json.Unmarshal(r.Body.Bytes(), &v); err != nil || r.Code != http.StatusOK {
		w.t.Fatalf("%s %s: HTTP %d %s %v", path, body, r.Code, r.Body, err)
	}
	return v
}

// authKey is a key for one site.
func authKey(site string) auth.NewKey { return auth.NewKey{Sites: []string{site}} }

// keyOf is a key for all sites of a customer.
func keyOf(customer string) auth.NewKey { return auth.NewKey{Customers: []string{customer}} }
