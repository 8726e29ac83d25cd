package ops

import (
	"errors"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
)

// desk is a Service on a real store with a clock that the test moves.
type desk struct {
	*Service
	t     *testing.T
	store *bolt.Store
	clock time.Time
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, clock: time.Date(2026, 6, 15, 10, 0, 0, 0, time.UTC)}
	now := func() time.Time { return d.clock }
	var err error
	if d.store, err = bolt.Open(t.TempDir(), bolt.Options{Now: now}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.store.Close(); err != nil {
			t.Error(err)
		}
	})
	d.Service = New(d.store, d.store, now)
	return d
}

func (d *desk) update(fn func(tx store.Tx) error) {
	d.t.Helper()
	if err := d.store.Update(d.t.Context(), fn); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) site(id, customer string) api.Site {
	d.t.Helper()
	s, err := d.SetSite(d.t.Context(), api.Unlimited("test"), api.Site{SiteID: id, CustomerID: customer, Timezone: "Europe/Vienna", CapacityKW: 100})
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

func (d *desk) asset(id, site string) api.Asset {
	d.t.Helper()
	a, err := d.AddAsset(d.t.Context(), api.Unlimited("test"), api.Asset{AssetID: id, Name: id, Type: "Solar Inverter", CapacityKW: 50, Location: "roof", SiteID: site})
	if err != nil {
		d.t.Fatal(err)
	}
	return a
}

func wantRefusal(t *testing.T, err error, status int, message string) {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) || e.Status != status || message != "" && e.Message != message {
		t.Errorf("got %v, want %d %q", err, status, message)
	}
}

var acme = api.Scope{Customers: []string{"acme"}, Sites: []string{api.Every}, Actor: "ada"}
