package tui

import (
	"context"
	"strings"
	"testing"

	"app.sunloop/backend/api"
)

// plantSite makes a site with two units at the service, and opens it.
func (o *office) plantSite() {
	o.t.Helper()
	ctx, all := context.Background(), api.Unlimited("test")
	if _, err := o.service.Domain().Sites.SetSite(ctx, all, api.Site{SiteID: "Sibaya", CustomerID: "acme", Timezone: "Africa/Johannesburg", CapacityKW: 200}); err != nil {
		o.t.Fatal(err)
	}
	for _, id := range []string{"INV-01", "INV-02"} {
		if _, err := o.service.Domain().Sites.AddAsset(ctx, all, api.Asset{AssetID: id, Name: id, Type: "Solar Inverter", CapacityKW: 100, Location: "roof", SiteID: "Sibaya"}); err != nil {
			o.t.Fatal(err)
		}
	}
	o.press("r")
	o.pass(3)
}

// unit returns one as the service holds it.
func (o *office) unit(id string) api.Asset {
	o.t.Helper()
	a, err := o.service.Domain().Sites.Asset(context.Background(), api.Unlimited("test"), api.AssetRef{AssetID: id})
	if err != nil {
		o.t.Fatal(err)
	}
	return a
}

func TestAssets(t *testing.T) {
	o := startOffice(t, 120, 36, api.RoleAdmin)
	o.plantSite()
	o.press("g", "e")
	o.shows("Assets", "INV-01", "INV-02", "Solar Inverter", "100 kW", "Nothing was found at this unit.")

	// A new one; an error of the service is shown at its field.
	o.press("c", "INV-01", "tab", "Roof east", "tab", "tab", "fifty", "enter")
	o.shows("Enter a number.")
	o.press("ctrl+u", "50", "tab", "tab", "roof", "enter")
	o.shows("Asset INV-01 exists already", "Roof east")
	o.press("shift+tab", "shift+tab", "shift+tab", "shift+tab", "shift+tab", "ctrl+u", "INV-03", "tab", "tab", "tab", "tab", "tab", "tab", "120", "enter")
	o.shows("Invalid field: tilt_deg")
	o.press("ctrl+u", "12", "tab", "180", "tab", "6", "enter")
	o.shows("Asset added: INV-03.")
	if a := o.unit("INV-03"); a.Name != "Roof east" || a.CapacityKW != 50 || *a.TiltDeg != 12 || *a.AzimuthDeg != 180 || a.StringCount != 6 || a.SiteID != "Sibaya" || a.CustomerID != "acme" {
		t.Fatalf("the service holds %+v", a)
	}
	o.pass(2)
	o.shows("INV-03", "50.0 kW", "12 degrees", "180 degrees")

	// A change, and one that came too late.
	o.press("E", "ctrl+u", "Roof west", "enter")
	o.shows("Asset changed: INV-03.")
	if a := o.unit("INV-03"); a.Name != "Roof west" || a.CapacityKW != 50 || a.Version != 2 {
		t.Errorf("the service holds %+v", a)
	}
	o.pass(2)
	o.press("E", "ctrl+u", "Roof north", "enter")
	o.press("E")
	if _, _, err := o.service.Domain().Sites.SetAsset(context.Background(), api.Unlimited("test"), api.AssetRef{AssetID: "INV-03"}, api.Asset{Name: "Another"}); err != nil {
		t.Fatal(err)
	}
	o.press("ctrl+u", "Mine", "enter")
	o.shows("Asset INV-03 is at version", "Mine")
	if a := o.unit("INV-03"); a.Name != "Another" {
		t.Errorf("a late change was taken: %+v", a)
	}

	// Enter selects the unit.
	o.press("esc", "enter")
	if place := o.place(); place != "Observe INV-03" {
		t.Errorf("after enter: %s", place)
	}
}

func TestComponents(t *testing.T) {
	o := startOffice(t, 80, 24, api.RoleAdmin)
	o.plantSite()
	o.press("g", "e", "down", "p")
	o.shows("Components of INV-02", "No components. Press c")
	o.press("c", "fan", "tab", "SMA", "tab", "Fan kit", "enter")
	o.shows("Missing required field: component.serial", "Fan kit")
	o.press("F-1", "tab", "ctrl+u", "2027-01-01", "enter")
	o.shows("Invalid field: component.installed_date", "ahead")
	o.press("ctrl+u", "2026-01-01", "enter")
	o.shows("Component installed: INV-02.")
	o.pass(2)
	o.shows("F-1", "2026-01-01")
	o.press("R")
	o.shows("replaces SMA Fan kit, serial F-1")
	o.press("F-2", "enter")
	o.pass(2)
	a := o.unit("INV-02")
	if len(a.Components) != 1 || a.Components[0].Serial != "F-2" || a.Components[0].InstalledDate != "2026-11-28" || len(a.FormerComponents) != 1 || a.FormerComponents[0].RemovedDate != "2026-11-28" {
		t.Fatalf("the service holds %+v", a)
	}
	o.shows("F-2", "F-1")
	o.press("X", "enter")
	if len(o.unit("INV-02").Components) != 1 {
		t.Fatal("enter alone removed a component")
	}
	o.press("X", "tab", "enter")
	o.pass(2)
	if a := o.unit("INV-02"); len(a.Components) != 0 || len(a.FormerComponents) != 2 {
		t.Errorf("the service holds %+v", a)
	}
	o.press("R")
	o.shows("it was removed")
	o.press("esc")
	if place := o.place(); place != "Observe [Assets]" {
		t.Errorf("after esc: %s", place)
	}
}

// Who may not change units sees why, and the same of the service.
func TestAssetsOfTechnicians(t *testing.T) {
	o := startOffice(t, 80, 24, api.RoleTechnician, "acme")
	o.plantSite()
	o.press("g", "e", "E")
	o.shows("your role does not change units")
	o.m.session.user = nil
	o.press("E", "ctrl+u", "x", "enter")
	o.shows("Access denied.")
}

func TestFleet(t *testing.T) {
	o := startOffice(t, 120, 36, api.RoleAdmin)
	o.plantSite()
	if _, err := o.service.Domain().Sites.SetSite(context.Background(), api.Unlimited("test"), api.Site{SiteID: "Havelland", CustomerID: "acme", Timezone: "Europe/Berlin", CapacityKW: 10}); err != nil {
		t.Fatal(err)
	}
	o.press("r")
	o.pass(2)
	o.press("g", "v")
	o.shows("Fleet", "Havelland", "Sibaya", "none yet")
	o.press("e")
	o.shows("2 rows written to")
	o.press("/", "havel", "enter")
	o.hides("Sibaya  ")
	o.press("enter")
	if place := o.place(); place != "Observe" || o.m.data.siteRecord().SiteID != "Havelland" {
		t.Errorf("after enter: %s at %s", place, o.m.data.siteRecord().SiteID)
	}
	if n := strings.Count(strings.Join(o.world.service.Requests(), "\n"), api.PathTerminalTelemetry); n != 0 {
		t.Errorf("the made-up service was asked %d times", n)
	}
}
