package site_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/domaintest"
)

func TestSetAsset(t *testing.T) {
	d := domaintest.New(t)
	d.AddSite("South", "acme")
	d.AddUnit("INV-1", "South")
	ref := api.AssetRef{AssetID: "INV-1", SiteID: "South"}
	tilt := 20.0
	before, after, err := d.Sites.SetAsset(t.Context(), domaintest.Acme, ref, api.Asset{Name: "North roof", CapacityKW: 60, TiltDeg: &tilt, StringCount: 6, WarrantyExpiryDate: "2031-06-30"})
	if err != nil {
		t.Fatal(err)
	}
	if before.Name != "INV-1" || before.CapacityKW != 50 || before.Version != 1 {
		t.Errorf("it was %+v", before)
	}
	got, err := d.Sites.Asset(t.Context(), domaintest.Acme, ref)
	if err != nil || got.Name != "North roof" || got.CapacityKW != 60 || *got.TiltDeg != 20 || got.StringCount != 6 || got.Location != "roof" || got.Version != 2 || got.Version != after.Version {
		t.Errorf("it is %+v, %v", got, err)
	}
	for name, change := range map[string]api.Asset{
		"tilt_deg": {TiltDeg: new(120.0)}, "capacity_kw": {CapacityKW: -1}, "warranty_expiry_date": {WarrantyExpiryDate: "soon"}, "string_count": {StringCount: -2},
	} {
		_, _, err := d.Sites.SetAsset(t.Context(), domaintest.Acme, ref, change)
		var refusal *api.Error
		if !errors.As(err, &refusal) || refusal.Status != 400 || refusal.Details["field"] != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, _, err = d.Sites.SetAsset(t.Context(), domaintest.Acme, ref, api.Asset{Name: "x", Version: 7})
	domaintest.WantError(t, err, 409, "Asset INV-1 is at version 2 by now")
	if _, _, err = d.Sites.SetAsset(t.Context(), domaintest.Acme, ref, api.Asset{Name: "South roof", Version: 2}); err != nil {
		t.Error(err)
	}
	_, _, err = d.Sites.SetAsset(t.Context(), domaintest.Acme, api.AssetRef{AssetID: "INV-9"}, api.Asset{Name: "x"})
	domaintest.WantError(t, err, 404, "Asset not found")
	other := api.Scope{Customers: []string{"else"}, Sites: []string{api.Every}}
	_, _, err = d.Sites.SetAsset(t.Context(), other, api.AssetRef{AssetID: "INV-1"}, api.Asset{Name: "x"})
	domaintest.WantError(t, err, 403, "")
	notes, _, err := d.Sites.Activities(t.Context(), domaintest.Acme, api.ListQuery{SiteID: "South", Page: api.Page{Limit: 10}})
	if err != nil || !slices.ContainsFunc(notes, func(a api.Activity) bool {
		return a.Title == "Asset changed" && a.AssetID == "INV-1" && a.Actor == "ada"
	}) {
		t.Errorf("the trail of the day has no change: %+v, %v", notes, err)
	}
}

func TestComponents(t *testing.T) {
	d := domaintest.New(t) // 15 June 2026
	d.AddSite("South", "acme")
	d.AddUnit("INV-1", "South")
	ctx, ref := t.Context(), api.AssetRef{AssetID: "INV-1"}
	fan := func(serial, day string) api.Component {
		return api.Component{OEM: "SMA", Model: "Fan", Serial: serial, Kind: "fan", InstalledDate: day}
	}
	for _, c := range []api.Component{fan("1", "2024-01-01"), fan("2", "")} {
		if _, _, err := d.Sites.InstallComponent(ctx, domaintest.Acme, ref, 0, c, ""); err != nil {
			t.Fatal(err)
		}
	}
	_, after, err := d.Sites.InstallComponent(ctx, domaintest.Acme, ref, 3, fan("3", "2026-06-10"), "1")
	if err != nil {
		t.Fatal(err)
	}
	if want := []api.Component{fan("3", "2026-06-10"), fan("2", "2026-06-15")}; !slices.Equal(after.Components, want) {
		t.Errorf("components %+v", after.Components)
	}
	gone := fan("1", "2024-01-01")
	gone.RemovedDate = "2026-06-10"
	if !slices.Equal(after.FormerComponents, []api.Component{gone}) || after.Version != 4 {
		t.Errorf("former %+v at version %d", after.FormerComponents, after.Version)
	}
	refused := func(c api.Component, former string, status int, field string) {
		t.Helper()
		_, _, err := d.Sites.InstallComponent(ctx, domaintest.Acme, ref, 0, c, former)
		var refusal *api.Error
		if !errors.As(err, &refusal) || refusal.Status != status || field != "" && refusal.Details["field"] != field {
			t.Errorf("%+v for %q: %v", c, former, err)
		}
	}
	refused(fan("3", ""), "", 409, "")
	refused(fan("4", "2026-06-16"), "", 400, "component.installed_date")
	refused(fan("4", "June"), "", 400, "component.installed_date")
	refused(fan("", ""), "", 400, "component.serial")
	refused(fan("4", ""), "9", 404, "")
	refused(fan("4", "2026-06-01"), "3", 400, "component.installed_date") // before the other came

	d.Clock = d.Clock.Add(48 * time.Hour)
	before, after, err := d.Sites.RemoveComponent(ctx, domaintest.Acme, ref, 4, "2")
	if err != nil || len(before.Components) != 2 || len(after.Components) != 1 || after.FormerComponents[0].Serial != "2" || after.FormerComponents[0].RemovedDate != "2026-06-17" {
		t.Errorf("%+v, %v", after, err)
	}
	_, _, err = d.Sites.RemoveComponent(ctx, domaintest.Acme, ref, 0, "2")
	domaintest.WantError(t, err, 404, "Component not found")
}
