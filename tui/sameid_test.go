package tui

import (
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/tui/internal/plant"
)

// samePlant returns a plant of another customer whose site has the id of the first one.
func samePlant(t *testing.T) *plant.Plant {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return &plant.Plant{SiteID: "Sibaya", Customer: "north", Units: 5, Zone: zone, Step: 5 * time.Minute, Name: func(i int) string { return "WR-" + string(rune('A'+i)) }}
}

// TestSitesOfOneID shows a person of two customers both sites "Sibaya", each
// with its own data. The service refuses every request about "Sibaya" that does
// not name the customer.
func TestSitesOfOneID(t *testing.T) {
	d := start(t, 160, 45, nil, plant.New(), samePlant(t))
	d.shows("Fleet", "acme/Sibaya", "north/Sibaya")
	d.press("esc")
	d.shows("acme/Sibaya", "INV-03")
	d.hides("WR-C", "customer_id")
	visit := func() { // everything that asks about the site
		t.Helper()
		for _, key := range []string{"1", "2", "3", "4", "g e", "g f", "g p", "g m", "g i", "g u", "g d", "g t", "g w"} {
			d.press(strings.Fields(key)...)
			d.pass(2)
			d.hides("customer_id")
		}
		d.press("esc", "1")
	}
	visit()
	d.press("S")
	d.shows("acme/Sibaya", "north/Sibaya")
	d.press("down", "enter")
	d.pass(45) // the visits spent what a minute allows
	d.shows("north/Sibaya", "WR-C", "UTC+1")
	d.hides("INV-05")
	if s := d.m.data.Site; s.CustomerID != "north" || len(s.Assets.Data) != 5 {
		t.Errorf("the site on screen is of %s with %d units", s.CustomerID, len(s.Assets.Data))
	}
	visit()
	d.pass(90) // the list of sites is read again
	if s := d.m.data.Site; s.CustomerID != "north" {
		t.Errorf("the console went over to the site of %s", s.CustomerID)
	}
	// The fleet opens the row that is chosen.
	d.press("g", "v")
	d.pass(1)
	d.shows("acme/Sibaya", "north/Sibaya")
	opened := map[string]bool{}
	for row := range 5 {
		d.press("g", "v", "home")
		for range row {
			d.press("down")
		}
		d.press("enter")
		d.pass(2)
		opened[d.m.data.Site.CustomerID] = true
	}
	if len(opened) != 2 {
		t.Errorf("the fleet opens the sites of %v", opened)
	}
}

// TestPlaceOfOneOfTwoSites returns to the site that was left, not to another of
// its id; a place that a former version kept means the first.
func TestPlaceOfOneOfTwoSites(t *testing.T) {
	for _, tt := range []struct {
		kept     Place
		site     api.SiteRef
		customer string
		unit     string
	}{
		{Place{Site: "Sibaya", Customer: "north", Asset: "WR-B"}, api.SiteRef{}, "north", "WR-B"},
		{Place{Site: "Sibaya", Asset: "INV-03"}, api.SiteRef{}, "acme", "INV-03"},
		{Place{}, api.SiteRef{CustomerID: "north", SiteID: "Sibaya"}, "north", ""},
		{Place{}, api.SiteRef{SiteID: "Sibaya"}, "acme", ""},
	} {
		kept := shelf{"u1": tt.kept}
		d := start(t, 160, 45, func(o *Options, _ *plant.Service) { o.Places, o.Site = kept, tt.site }, plant.New(), samePlant(t))
		if s := d.m.data.Site; s.CustomerID != tt.customer || d.m.nav.selection.AssetID != tt.unit {
			t.Errorf("%+v and --site %+v: at %s/%s with %q", tt.kept, tt.site, s.CustomerID, s.SiteID, d.m.nav.selection.AssetID)
		}
		d.pass(2 * keepEvery)
		if got := kept["u1"].SiteRef(); got != (api.SiteRef{CustomerID: tt.customer, SiteID: "Sibaya"}) {
			t.Errorf("kept %+v", got)
		}
	}
}
