package site_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/domaintest"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

func TestSites(t *testing.T) {
	d, ctx := domaintest.New(t), context.Background()
	south := d.AddSite("South", "acme")
	d.AddSite("Other", "else")
	if south.CreatedAt.IsZero() || south.Name != "South" {
		t.Errorf("a new site is %+v", south)
	}
	changed, err := d.Sites.SetSite(ctx, domaintest.Acme, api.Site{SiteID: "South", Name: "South field", Location: "47.1, 15.4"})
	if err != nil {
		t.Fatal(err)
	}
	if changed.Name != "South field" || changed.Timezone != "Europe/Vienna" || changed.Latitude == nil || *changed.Longitude != 15.4 {
		t.Errorf("changed to %+v", changed)
	}
	_, err = d.Sites.Site(ctx, domaintest.Acme, "Other")
	domaintest.WantError(t, err, 403, "Access denied")
	_, err = d.Sites.Site(ctx, domaintest.Acme, "Nowhere")
	domaintest.WantError(t, err, 404, "Site not found")
	list, _, err := d.Sites.Sites(ctx, domaintest.Acme, api.ListQuery{})
	if err != nil || len(list) != 1 || list[0].SiteID != "South" {
		t.Errorf("acme sees %v, %v", list, err)
	}
	second, err := d.Sites.SetSite(ctx, domaintest.Acme, api.Site{SiteID: "Other", Name: "mine"})
	if err != nil || second.SiteID != api.SiteKey("acme", "Other") || second.CustomerID != "acme" || second.TerminalDeviceID != "TERM-Other" {
		t.Errorf("a site of an id that another customer has: %+v, %v", second, err)
	}
	for field, bad := range map[string]api.Site{
		"timezone":    {SiteID: "x", Timezone: "Mars/Olympus"},
		"latitude":    {SiteID: "x", Latitude: new(float64)},
		"capacity_kw": {SiteID: "x", CapacityKW: -1},
		"currency":    {SiteID: "x", Currency: "euro"},
		"site_id":     {SiteID: " x"},
	} {
		_, err := d.Sites.SetSite(ctx, domaintest.Acme, bad)
		domaintest.WantError(t, err, 400, "Invalid field: "+field)
	}
}

func TestZoneStaysOnceThereIsTelemetry(t *testing.T) {
	d, ctx := domaintest.New(t), context.Background()
	s := d.AddSite("South", "acme")
	f := series.Frame{Times: []int64{d.Clock.Unix()}}
	f.Set(series.PowerKW, []float64{10})
	if err := d.Store.Append(ctx, store.SiteKey{ID: s.SiteID, Zone: record.Zone(s.Timezone)}, []store.AssetFrame{{AssetID: "INV-1", Frame: f}}); err != nil {
		t.Fatal(err)
	}
	_, err := d.Sites.SetSite(ctx, domaintest.Acme, api.Site{SiteID: "South", Timezone: "Asia/Tokyo"})
	domaintest.WantError(t, err, 409, "")
}

func TestAssets(t *testing.T) {
	d, ctx := domaintest.New(t), context.Background()
	d.AddSite("South", "acme")
	d.AddSite("Other", "else")
	d.AddUnit("INV-1", "South")
	d.AddUnit("INV-1", "Other") // another customer's may bear the same name
	good := api.Asset{AssetID: "INV-2", Name: "two", Type: "Solar Inverter", CapacityKW: 10, Location: "roof"}
	got, err := d.Sites.AddAsset(ctx, domaintest.Acme, good)
	if err != nil || got.SiteID != "South" || got.CustomerID != "acme" || got.Timezone != "Europe/Vienna" {
		t.Errorf("without a site it goes to %+v, %v", got, err)
	}
	_, err = d.Sites.AddAsset(ctx, domaintest.Acme, good)
	domaintest.WantError(t, err, 409, "Asset INV-2 exists already")
	for message, bad := range map[string]func(*api.Asset){
		"Missing required field: asset_id":          func(a *api.Asset) { a.AssetID = "" },
		"Missing required field: name":              func(a *api.Asset) { a.Name = "" },
		"Missing required field: capacity_kw":       func(a *api.Asset) { a.CapacityKW = 0 },
		"Missing required field: location":          func(a *api.Asset) { a.Location = "" },
		"Missing required field: components.serial": func(a *api.Asset) { a.Components = []api.Component{{OEM: "o", Model: "m"}} },
		"Invalid field: capacity_kw":                func(a *api.Asset) { a.CapacityKW = -4 },
	} {
		a := good
		a.AssetID = "INV-3"
		bad(&a)
		_, err := d.Sites.AddAsset(ctx, domaintest.Acme, a)
		domaintest.WantError(t, err, 400, message)
	}
	one, err := d.Sites.Asset(ctx, domaintest.Acme, api.AssetRef{AssetID: "INV-1"})
	if err != nil || one.SiteID != "South" {
		t.Errorf("acme's INV-1 is %+v, %v", one, err)
	}
	_, err = d.Sites.Asset(ctx, domaintest.Acme, api.AssetRef{AssetID: "INV-9"})
	domaintest.WantError(t, err, 404, "Asset not found")
	_, err = d.Sites.Asset(ctx, api.Scope{Customers: []string{"third"}, Sites: []string{api.Every}}, api.AssetRef{AssetID: "INV-1"})
	domaintest.WantError(t, err, 403, "Access denied")
	part, next, err := d.Sites.Assets(ctx, domaintest.Acme, api.ListQuery{Page: api.Page{Limit: 1}})
	if err != nil || len(part) != 1 || part[0].AssetID != "INV-1" || next == "" {
		t.Fatalf("first page %v %q %v", part, next, err)
	}
	part, next, err = d.Sites.Assets(ctx, domaintest.Acme, api.ListQuery{Page: api.Page{Limit: 1, Cursor: next}})
	if err != nil || len(part) != 1 || part[0].AssetID != "INV-2" || next != "" {
		t.Errorf("second page %v %q %v", part, next, err)
	}
	site, err := d.Sites.Site(ctx, domaintest.Acme, "South")
	if err != nil || site.AssetCount != 2 {
		t.Errorf("South has %d assets, %v", site.AssetCount, err)
	}
}

func TestActivitiesAreOfTheDay(t *testing.T) {
	d := domaintest.New(t)
	d.AddSite("South", "acme")
	d.Clock = d.Clock.Add(23 * time.Hour)
	d.AddUnit("INV-1", "South")
	list, _, err := d.Sites.Activities(t.Context(), domaintest.Acme, api.ListQuery{CustomerID: "acme"})
	if err != nil || len(list) != 2 || list[0].Title != "Asset added" || list[0].Phase != api.PhaseAct {
		t.Errorf("activities %v, %v", list, err)
	}
	d.Clock = d.Clock.Add(2 * time.Hour)
	if list, _, err = d.Sites.Activities(t.Context(), domaintest.Acme, api.ListQuery{SiteID: "South"}); err != nil || len(list) != 1 {
		t.Errorf("a day later %v, %v", list, err)
	}
}

// TestPlantSettings: ratings, mounting and sensors of sites and assets are kept field
// by field, and a value that cannot be is refused by its name.
func TestPlantSettings(t *testing.T) {
	d := domaintest.New(t)
	d.AddSite("South", "acme")
	d.AddUnit("INV-1", "South")
	ref := api.AssetRef{AssetID: "INV-1", SiteID: "South"}
	tilt, azimuth, coefficient := 30.0, 180.0, -0.35
	for _, change := range []api.Site{{DCRatingKW: 120, ModuleTempCoefficientPctPerK: &coefficient}, {ACRatingKW: 100, Mounting: "close_roof"},
		{IrradianceRole: api.IrradianceFlat, IrradianceClass: "A", IrradianceTiltDeg: &tilt, IrradianceAzimuthDeg: &azimuth}} {
		change.SiteID = "South"
		if _, err := d.Sites.SetSite(t.Context(), domaintest.Acme, change); err != nil {
			t.Fatal(err)
		}
		one := api.Asset{DCRatingKW: change.DCRatingKW, ACRatingKW: change.ACRatingKW, ModuleTempCoefficientPctPerK: change.ModuleTempCoefficientPctPerK, Mounting: change.Mounting,
			IrradianceRole: change.IrradianceRole, IrradianceClass: change.IrradianceClass, IrradianceTiltDeg: change.IrradianceTiltDeg, IrradianceAzimuthDeg: change.IrradianceAzimuthDeg}
		if _, _, err := d.Sites.SetAsset(t.Context(), domaintest.Acme, ref, one); err != nil {
			t.Fatal(err)
		}
	}
	site, err := d.Sites.Site(t.Context(), domaintest.Acme, "South")
	if err != nil || site.DCRatingKW != 120 || site.ACRatingKW != 100 || *site.ModuleTempCoefficientPctPerK != -0.35 || site.Mounting != "close_roof" ||
		site.IrradianceRole != api.IrradianceFlat || site.IrradianceClass != "A" || *site.IrradianceTiltDeg != 30 || *site.IrradianceAzimuthDeg != 180 {
		t.Errorf("%+v, %v", site, err)
	}
	unit, err := d.Sites.Asset(t.Context(), domaintest.Acme, ref)
	if err != nil || unit.DCRatingKW != 120 || unit.ACRatingKW != 100 || *unit.ModuleTempCoefficientPctPerK != -0.35 || unit.Mounting != "close_roof" ||
		unit.IrradianceRole != api.IrradianceFlat || unit.IrradianceClass != "A" || *unit.IrradianceTiltDeg != 30 || *unit.IrradianceAzimuthDeg != 180 {
		t.Errorf("%+v, %v", unit, err)
	}
	for field, wrong := range map[string]api.Site{
		"dc_rating_kw": {DCRatingKW: 1200}, "ac_rating_kw": {ACRatingKW: -1}, "module_temp_coefficient_pct_per_k": {ModuleTempCoefficientPctPerK: new(0.35)},
		"mounting": {Mounting: "floating"}, "irradiance_role": {IrradianceRole: "ghi"}, "irradiance_class": {IrradianceClass: "C"}, "irradiance_tilt_deg": {IrradianceTiltDeg: &tilt},
		"irradiance_azimuth_deg": {IrradianceTiltDeg: &tilt, IrradianceAzimuthDeg: new(400.0)},
	} {
		wrong.SiteID = "South"
		_, err := d.Sites.SetSite(t.Context(), domaintest.Acme, wrong)
		var refusal *api.Error
		if !errors.As(err, &refusal) || refusal.Status != 400 || refusal.Details["field"] != field {
			t.Errorf("%s of a site: %v", field, err)
		}
		_, _, err = d.Sites.SetAsset(t.Context(), domaintest.Acme, ref, api.Asset{DCRatingKW: wrong.DCRatingKW, ACRatingKW: wrong.ACRatingKW, ModuleTempCoefficientPctPerK: wrong.ModuleTempCoefficientPctPerK,
			Mounting: wrong.Mounting, IrradianceRole: wrong.IrradianceRole, IrradianceClass: wrong.IrradianceClass, IrradianceAzimuthDeg: wrong.IrradianceAzimuthDeg})
		if field != "irradiance_tilt_deg" && (!errors.As(err, &refusal) || refusal.Status != 400 || refusal.Details["field"] != field) {
			t.Errorf("%s of an asset: %v", field, err)
		}
	}
}

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
