package plant

import (
	"slices"
	"testing"

	"app.sunloop/backend/api"
)

// The site of a file is an existing one only if the name of the file says so.
func TestSiteOfFile(t *testing.T) {
	latitude, longitude := -29.65, 31.06
	sites := []api.Site{
		{SiteID: "roof", CustomerID: "acme", Timezone: "Europe/Vienna", CapacityKW: 54.6},
		{SiteID: "roof-2", CustomerID: "acme", Timezone: "Europe/Rome"},
		{SiteID: "S1", Name: "Gila Bend", CustomerID: "acme", Timezone: "America/Phoenix", Latitude: &latitude, Longitude: &longitude},
		{SiteID: "barn", CustomerID: "other"},
	}
	for file, want := range map[string][]string{
		"/data/roof.csv":            {"roof", "Europe/Vienna", "54.6", ""},
		"/data/Roof_2026-10.csv.gz": {"roof", "Europe/Vienna", "54.6", ""},
		"/data/roof-2_2026.csv":     {"roof-2", "Europe/Rome", "", ""},
		"/data/rooftop.csv":         {"rooftop", "", "", ""},
		"/data/gila-bend 1.csv":     {"S1", "America/Phoenix", "", "-29.6500,31.0600"},
		"/data/barn.csv":            {"barn", "", "", ""},
		"/data/export (3).csv":      {"export--3", "", "", ""},
		"/data/.csv":                {"", "", "", ""},
	} {
		d := NewImport("acme", sites)
		d.siteOfFile(file)
		var got []string
		for _, f := range d.form.Fields[fieldSite:] {
			got = append(got, f.Value())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: site, zone, capacity and place %q, want %q", file, got, want)
		}
	}
	d := NewImport("acme", sites)
	d.form.Fields[fieldZone].Set("UTC") // what was typed stays
	if d.siteOfFile("roof.csv"); d.form.Fields[fieldZone].Value() != "UTC" {
		t.Errorf("the zone that was typed became %q", d.form.Fields[fieldZone].Value())
	}
}
