package main

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
)

// TestRatings sets ratings of a site and of a unit at a service, and reads them.
func TestRatings(t *testing.T) {
	service, err := backend.New(backend.Config{DataDir: t.TempDir(), Now: time.Now, Wall: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	key, _, err := service.Auth().CreateKey(t.Context(), auth.NewKey{Name: "ratings", Customers: []string{"acme"}, Sites: []string{api.Every}, Role: api.RoleAdmin})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(service.Handler())
	defer server.Close()
	c := client.New(client.Options{Transport: client.InProcess(service.Handler()), Credential: key})
	defer c.Close()
	if _, err := c.SetSite(t.Context(), api.Site{SiteID: "Roof", CustomerID: "acme"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.AddAsset(t.Context(), api.Asset{AssetID: "INV-1", Name: "One", Type: "inverter", CapacityKW: 50, Location: "roof", SiteID: "Roof", CustomerID: "acme"}); err != nil {
		t.Fatal(err)
	}
	ratings := func(status int, args ...string) string {
		t.Helper()
		var out, failed bytes.Buffer
		args = slices.Concat([]string{"ratings", "--remote", server.URL, "--token", key}, args)
		if got := run(t.Context(), args, streams{out: &out, err: &failed}); got != status {
			t.Errorf("%q exits with %d: %s", args, got, failed.String())
		}
		return out.String() + failed.String()
	}
	ratings(0, "--site", "Roof", "--dc", "120", "--ac", "100", "--mounting", "close_roof", "--irradiance", "horizontal", "--irradiance-class", "A")
	ratings(0, "--site", "Roof", "--unit", "INV-1", "--dc", "60", "--module-temp-coefficient=-0.35", "--sensor-tilt", "30", "--sensor-azimuth", "180")
	var got siteRatings
	if err := json.Unmarshal([]byte(ratings(0, "--site", "Roof", "--json")), &got); err != nil || len(got.Assets) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	s, a := got.Site, got.Assets[0]
	if s.DCRatingKW != 120 || s.ACRatingKW != 100 || s.Mounting != "close_roof" || s.IrradianceRole != api.IrradianceFlat || s.IrradianceClass != "A" {
		t.Errorf("the site has %+v", s)
	}
	if a.DCRatingKW != 60 || *a.ModuleTempCoefficientPctPerK != -0.35 || *a.IrradianceTiltDeg != 30 || *a.IrradianceAzimuthDeg != 180 {
		t.Errorf("the unit has %+v", a)
	}
	if text := ratings(0); !strings.Contains(text, "INV-1") || !strings.Contains(text, "close roof") {
		t.Errorf("in text: %s", text)
	}
	// What is cleared is that of the site, or is inferred.
	ratings(0, "--site", "Roof", "--unit", "INV-1", "--mounting", "tracker", "--irradiance", "satellite")
	ratings(0, "--site", "Roof", "--unit", "INV-1", "--clear", "mounting,irradiance_role,module_temp_coefficient_pct_per_k,irradiance_tilt_deg,irradiance_azimuth_deg", "--dc", "61")
	ratings(0, "--site", "Roof", "--clear", "dc_rating_kw,irradiance_class")
	got = siteRatings{}
	if err := json.Unmarshal([]byte(ratings(0, "--site", "Roof", "--json")), &got); err != nil || len(got.Assets) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if a := got.Assets[0]; a.Mounting != "" || a.IrradianceRole != "" || a.ModuleTempCoefficientPctPerK != nil || a.IrradianceTiltDeg != nil || a.DCRatingKW != 61 {
		t.Errorf("the unit has %+v after its values were cleared", a)
	}
	if s := got.Site; s.DCRatingKW != 0 || s.ACRatingKW != 100 || s.IrradianceClass != "" || s.Mounting != "close_roof" {
		t.Errorf("the site has %+v after its values were cleared", s)
	}
	for want, args := range map[string][]string{
		"dc_rating_kw": {"--site", "Roof", "--dc", "1200"}, "mounting": {"--site", "Roof", "--mounting", "floating"},
		"--site is required": {"--dc", "5"}, "--clear": {"--site", "Roof", "--clear", "capacity_kw"}, "--site is required to set or clear": {"--clear", "mounting"}, "a value to set is required": {"--unit", "INV-1", "--site", "Roof"},
	} {
		if text := ratings(statusUsage, args...); !strings.Contains(text, want) {
			t.Errorf("%q: %s", args, text)
		}
	}
}
