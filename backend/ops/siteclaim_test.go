package ops

import (
	"testing"

	"app.sunloop/backend/api"
)

// TestReservedSiteKey: of two customers whose first files name the same site,
// the first gets the id as key, whatever is imported first.
func TestReservedSiteKey(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	reserve := func(customer, want string) {
		t.Helper()
		if key, err := d.ReserveSite(ctx, customer, "Roof"); err != nil || key != want {
			t.Errorf("%s gets the key %q, %v; want %q", customer, key, err, want)
		}
	}
	reserve("acme", "Roof")
	reserve("else", api.SiteKey("else", "Roof"))
	for range 2 {
		d.site("Roof", "else") // is made by another request first, then changed
	}
	d.site("Roof", "acme")
	reserve("acme", "Roof")
	reserve("else", api.SiteKey("else", "Roof"))
	all, err := d.SitesNamed(ctx, "Roof")
	if err != nil || len(all) != 2 || all[0].CustomerID != "acme" || all[1].CustomerID != "else" {
		t.Errorf("the sites of the id are %+v, %v", all, err)
	}
	if all, err := d.SitesNamed(ctx, api.SiteKey("else", "Roof")); err != nil || len(all) != 0 {
		t.Errorf("a key is taken for an id: %v, %v", all, err)
	}
}
