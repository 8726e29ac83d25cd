package site_test

import (
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/domaintest"
)

// TestReservedSiteKey: of two customers whose first files name the same site,
// the first gets the id as key, whatever is imported first.
func TestReservedSiteKey(t *testing.T) {
	d, ctx := domaintest.New(t), t.Context()
	reserve := func(customer, want string) {
		t.Helper()
		if key, err := d.Sites.ReserveSite(ctx, customer, "Roof"); err != nil || key != want {
			t.Errorf("%s gets the key %q, %v; want %q", customer, key, err, want)
		}
	}
	reserve("acme", "Roof")
	reserve("else", api.SiteKey("else", "Roof"))
	for range 2 {
		d.AddSite("Roof", "else") // is made by another request first, then changed
	}
	d.AddSite("Roof", "acme")
	reserve("acme", "Roof")
	reserve("else", api.SiteKey("else", "Roof"))
	all, err := d.Sites.SitesNamed(ctx, "Roof")
	if err != nil || len(all) != 2 || all[0].CustomerID != "acme" || all[1].CustomerID != "else" {
		t.Errorf("the sites of the id are %+v, %v", all, err)
	}
	if all, err := d.Sites.SitesNamed(ctx, api.SiteKey("else", "Roof")); err != nil || len(all) != 0 {
		t.Errorf("a key is taken for an id: %v, %v", all, err)
	}
}
