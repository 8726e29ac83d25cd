package maintenance

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/domain"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/backend/webhook"
)

// The plant of the tests.
const (
	acme  = "acme"
	south = "South"
	inv   = "INV-1"
)

// desk is work management on a real store, with a clock that the test moves.
type desk struct {
	*Service
	t     testing.TB
	store *bolt.Store
	clock time.Time
}

var boss = api.Scope{Customers: []string{acme}, Sites: []string{api.Every}, Actor: "ada", Role: api.RoleOperator}

func newDesk(t testing.TB, edit func(*Config)) *desk {
	t.Helper()
	d := &desk{t: t, clock: time.Date(2026, 6, 15, 8, 0, 0, 0, time.UTC)}
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
	guard, err := webhook.NewGuard()
	if err != nil {
		t.Fatal(err)
	}
	guard.LookUp = func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
	}
	cfg := Config{Records: d.store, Domain: domain.New(d.store, d.store, now), Now: now, Wall: now, Guard: guard, Sealer: auth.Key{3}}
	if edit != nil {
		edit(&cfg)
	}
	if d.Service, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	lat, lon := 48.2, 16.4
	all := api.Unlimited("test")
	if _, err := d.Domain.Sites.SetSite(t.Context(), all, api.Site{SiteID: south, CustomerID: acme, Timezone: "Europe/Vienna", CapacityKW: 100,
		Latitude: &lat, Longitude: &lon, Currency: "EUR", TariffPerKWh: 0.1}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{inv, "INV-2"} {
		if _, err := d.Domain.Sites.AddAsset(t.Context(), all, api.Asset{AssetID: id, Name: id, Type: "Solar Inverter", CapacityKW: 50, Location: "roof", SiteID: south}); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// order makes an order of a new bill of materials.
func (d *desk) order() api.Order {
	d.t.Helper()
	b, err := d.GenerateBOM(d.t.Context(), boss, api.BOMRequest{AssetID: inv})
	if err != nil {
		d.t.Fatal(err)
	}
	o, err := d.CreateOrder(d.t.Context(), boss, api.OrderRequest{CustomerID: acme, BOMID: b.BOMID, AssignedTechnician: "grace"})
	if err != nil {
		d.t.Fatal(err)
	}
	return o
}

func (d *desk) move(r api.OrderRequest) api.Order {
	d.t.Helper()
	o, _, err := d.MoveOrder(d.t.Context(), boss, r)
	if err != nil {
		d.t.Fatal(err)
	}
	return o
}
