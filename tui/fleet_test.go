package tui

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/settings"
	plantview "app.sunloop/tui/view/plant"
)

// Who has several sites begins with all of them; a site on the command line, a
// preset and a single site begin with the panes.
func TestFleetIsFirst(t *testing.T) {
	other := plant.New()
	other.SiteID = "Havelland"
	for name, tt := range map[string]struct {
		with   func(*Options, *plant.Service)
		plants []*plant.Plant
		want   string
	}{
		"several sites": {nil, []*plant.Plant{plant.New(), other}, "Observe [Fleet]"},
		"one site":      {nil, []*plant.Plant{plant.New()}, "Observe"},
		"--site":        {func(o *Options, _ *plant.Service) { o.Site = api.SiteRef{SiteID: "Havelland"} }, []*plant.Plant{plant.New(), other}, "Observe"},
		"demo":          {func(o *Options, _ *plant.Service) { o.Behind = api.SiteRef{SiteID: "Havelland"} }, []*plant.Plant{plant.New(), other}, "Observe [Fleet]"},
		"preset": {func(o *Options, _ *plant.Service) {
			o.Settings = settings.Sources{settings.Preset: {Value: "plan"}}
		}, []*plant.Plant{plant.New(), other}, "Decide"},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 36}} {
			if got := start(t, size[0], size[1], tt.with, tt.plants...).place(); got != tt.want {
				t.Errorf("%s: begins at %q at %v, want %q", name, got, size, tt.want)
			}
		}
	}
	d := start(t, 80, 24, func(o *Options, _ *plant.Service) { o.Behind = api.SiteRef{SiteID: "Havelland"} }, plant.New(), other)
	if d.shows("sites", "Sibaya", "Havelland"); d.m.data.Site.SiteID != "Havelland" {
		t.Errorf("behind the fleet is %s", d.m.data.Site.SiteID)
	}
	d = start(t, 120, 36, nil, plant.New(), other)
	d.shows("sites", "of exp.")
	d.press("S")
	// The choice of the site has the same facts, with the strip of the day.
	d.shows("of exp.", "kW lost", "data up to date")
	grid, strips := d.m.frame.grid, map[themes.Color]bool{}
	for i := range 120 * 36 {
		strips[grid.Cell(i%120, i/120).Style.BG] = true
	}
	if !strips[d.m.prefs.palette.Color(themes.HeatNormal)] {
		t.Error("the choice of the site has no strip of the day")
	}
	d.press("Havel", "enter")
	if d.place() != "Observe" || d.m.data.Site.SiteID != "Havelland" {
		t.Errorf("the choice of a site leads to %s of %s", d.place(), d.m.data.Site.SiteID)
	}
}

// A site that the fleet has and the list of sites does not have yet is opened
// once the list has it.
func TestFleetOpensANewSite(t *testing.T) {
	o := startOffice(t, 120, 36, api.RoleAdmin)
	o.plantSite()
	o.press("r")
	o.pass(2)
	if _, err := o.service.Domain().Sites.SetSite(context.Background(), api.Unlimited("test"), api.Site{SiteID: "Havelland", CustomerID: "acme", Timezone: "Europe/Berlin", CapacityKW: 10}); err != nil {
		t.Fatal(err)
	}
	o.press("g", "v")
	o.pass(1)
	if slices.ContainsFunc(o.m.data.Sites.Data, func(s api.Site) bool { return s.SiteID == "Havelland" }) {
		t.Skip("the list was asked for meanwhile")
	}
	o.press("/", "havel", "enter", "enter")
	o.pass(2)
	if got := o.m.data.siteRecord().SiteID; got != "Havelland" {
		t.Errorf("on screen is %q", got)
	}
}

// At 200 columns there is a heat map next to the list, of the sites and of the units of the
// selected one, with its alarms and their advice; at 120 columns its power and its alarms are
// next to its facts. What they show is asked for, and at 80 columns nothing is.
func TestFleetHeatMap(t *testing.T) {
	other := plant.New()
	other.SiteID, other.Customer, other.Units = "Havelland", "north", 3
	asked := map[string]int{}
	count := func(_ *Options, s *plant.Service) {
		s.Refuse(func(r *http.Request) *api.Error {
			if q := r.URL.Query(); r.URL.Path == api.PathSiteData && q.Get("resolution") == api.Resolution15Min {
				asked[q.Get("site_id")]++
			}
			return nil
		})
	}
	d := start(t, 200, 60, count, plant.New(), other)
	d.pass(2)
	d.shows("Sites by hour", "of expected power", "Units of Sibaya", "of the median of peers", "INV-08", "Power of Sibaya", "Alarms of Sibaya", "check first")
	if asked["Sibaya"] == 0 || asked["Havelland"] != 0 {
		t.Errorf("asked for the units of %v", asked)
	}
	d.press("/", "havel", "enter")
	d.pass(2)
	d.shows("Units of Havelland", "Power of Havelland", "Alarms of Havelland")
	d.hides("INV-08", "Kalahari") // the map has the sites that the filter leaves
	if asked["Havelland"] == 0 {
		t.Errorf("asked for the units of %v", asked)
	}
	clear(asked)
	d = start(t, 120, 36, count, plant.New(), other)
	d.pass(2)
	d.shows("Power of Sibaya", "Alarms of Sibaya", "check first")
	d.hides("Sites by hour")
	if asked["Sibaya"] == 0 {
		t.Errorf("at 120 columns: asked for the units of %v", asked)
	}
	clear(asked)
	d = start(t, 80, 24, count, plant.New(), other)
	d.pass(70)
	d.hides("Power of", "Alarms of")
	if len(asked) != 0 {
		t.Errorf("at 80 columns: asked for the units of %v", asked)
	}
}

// Customers are summed, and opened one by one.
func TestFleetByCustomer(t *testing.T) {
	v := stage.ScreenContext(t, false)
	var sites []api.FleetSite
	for i := range 6 {
		f := plant.New().Fleet(stage.Noon)[2]
		f.SiteID, f.Name, f.CustomerID = fmt.Sprint("site-", i), fmt.Sprint("Site ", i), []string{"acme", "north"}[i%2]
		if i == 4 {
			f.Summary.PowerState = api.PowerNone
		}
		sites = append(sites, f)
	}
	v.Admin.Fleet.Set(sites, stage.Noon)
	s := plantview.NewFleet()
	text := func() string { return stage.ScreenText(v, s, 118, 30) }
	if got := text(); !strings.Contains(got, "6 sites") || !strings.Contains(got, "1 site without current data") {
		t.Errorf("no totals:\n%s", got)
	}
	s.Do("group-fleet", v)
	got := text()
	if !strings.Contains(got, "+ acme, 3 sites") || !strings.Contains(got, "+ north, 3 sites") || strings.Contains(got, "site-1 ") {
		t.Errorf("not by customer:\n%s", got)
	}
	power := func(sites ...api.FleetSite) string {
		sum := 0.0
		for _, f := range sites {
			sum += f.Summary.TotalPowerKW
		}
		return display.Power(sum)
	}
	if want := power(sites[0], sites[2]); !strings.Contains(got, want) {
		t.Errorf("acme's power is not %s:\n%s", want, got)
	}
	s.SelectRow("acme\t")
	if r := s.Do("open", v); r != nil {
		t.Errorf("a customer opens %v", r)
	}
	if got := text(); !strings.Contains(got, "- acme, 3 sites") || !strings.Contains(got, "  site-4") || strings.Contains(got, "  site-1") {
		t.Errorf("acme is not open:\n%s", got)
	}
}

// BenchmarkFleetView draws a fleet of a thousand sites.
func BenchmarkFleetView(b *testing.B) {
	v := stage.ScreenContext(b, false)
	var sites []api.FleetSite
	for i := range 1000 {
		f := plant.New().Fleet(stage.Noon)[2]
		f.SiteID, f.CustomerID = fmt.Sprint("site-", i), fmt.Sprint("customer-", i%20)
		sites = append(sites, f)
	}
	v.Admin.Fleet.Set(sites, stage.Noon)
	s := plantview.NewFleet()
	for b.Loop() {
		_ = stage.ScreenText(v, s, 198, 56)
	}
}
