package httpapi_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
)

func TestSiteKPIs(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	midnight := time.Date(2025, 9, 30, 22, 0, 0, 0, time.UTC) // in Johannesburg
	w.measure(ownSite, ownAsset, "Africa/Johannesburg", midnight, 288)
	w.key("foreign", auth.NewKey{Sites: []string{foreignSite}})
	const path, day = "/sites/Sibaya/kpis", "?from=2025-10-01&to=2025-10-02"
	for _, s := range []scenario{
		{name: "no credential", url: path, status: 401},
		{name: "another's site", key: "own", url: "/sites/Elsewhere/kpis", status: 403, contains: []string{"Access denied"}, without: []string{"Secret"}},
		{name: "with another's key", key: "foreign", url: path, status: 403},
		{name: "unknown site", key: "admin", url: "/sites/Nowhere/kpis", status: 404, contains: []string{"Site not found"}},
		{name: "no time", key: "own", url: path + "?from=soon", status: 400, contains: []string{"Invalid parameter: from", "ISO 8601"}},
		{name: "no time to end at", key: "own", url: path + "?to=12", status: 400, contains: []string{"Invalid parameter: to"}},
		{name: "backwards", key: "own", url: path + "?from=2025-10-02&to=2025-10-01", status: 400, contains: []string{"Invalid parameter: to", "must be after from"}},
		{name: "to come", key: "own", url: path + "?from=2026-10-01&to=2026-10-02", status: 400, contains: []string{"Invalid parameter: from", "must be before now, "}},
		{name: "to come without an end", key: "own", url: path + "?from=9999-12-31", status: 400, contains: []string{"Invalid parameter: from", "must be before the last midnight"}},
		{name: "an end in the year 9999", key: "own", url: path + "?to=9999-12-31", status: 200, contains: []string{`"site_id":"Sibaya"`}},
		{name: "a century", key: "own", url: path + "?from=1910-10-01&to=2025-10-02", status: 400, contains: []string{"Invalid parameter: from", " days; for a site of 1 unit a window has at most 36600 days, so from must be 1925-07-1"}},
		{name: "the year 1", key: "own", url: path + "?from=0001-01-01&to=2025-10-02", status: 400, contains: []string{"Invalid parameter: from", "must be 1900-01-01T00:00:00Z or later"}},
		{name: "the zero time", key: "own", url: path + "?from=0001-01-01T00:00:00Z", status: 400, contains: []string{"Invalid parameter: from", "must be 1900-01-01T00:00:00Z or later"}},
		{name: "an end in the year 0", key: "own", url: path + "?to=0000-01-01", status: 400, contains: []string{"Invalid parameter: to", "must be 1900-01-01T00:00:00Z or later"}},
		{name: "a day of the site", key: "own", url: path + day, status: 200, contains: []string{`"site_id":"Sibaya","from":"2025-09-30T22:00:00Z","to":"2025-10-01T22:00:00Z"`,
			`"rated_kw":50`, `"reportable":true`, `{"name":"specific_yield","value":6.111,"unit":"kWh/kWp"`, `"source":"IEC 61724-1, final yield"`,
			`{"name":"performance_ratio","value":null,`, `"note":"The data that it is computed from are missing."`, `{"category":"full_performance","hours":11.917,`, `{"category":"forced_outage","hours":0.083,`}},
		{name: "with an offset", key: "own", url: path + "?from=2025-09-30T22:00:00Z&to=2025-10-01T22:00:00Z", status: 200, contains: []string{`"from":"2025-09-30T22:00:00Z","to":"2025-10-01T22:00:00Z"`}},
		{name: "a name with a space, without data", key: "customer", url: "/sites/Second%20Site/kpis", status: 200, contains: []string{`"site_id":"Second Site"`, `"units":0`, `"data_availability":null,"reportable":false`}},
	} {
		s.method = http.MethodGet
		t.Run(s.name, func(t *testing.T) { s.run(t, w) })
	}
	first := w.as("own", http.MethodGet, path+day, "")
	again := w.as("own", http.MethodGet, path+day, "", "If-None-Match", first.Header().Get("ETag"))
	if again.Code != 304 || again.Body.Len() != 0 {
		t.Errorf("asked again: %d %s", again.Code, again.Body)
	}
	if r := w.as("own", http.MethodPost, path, "{}"); r.Code != 405 || r.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("posted: %d, allowed %s", r.Code, r.Header().Get("Allow"))
	}
}

// TestAvailabilityOfASilentSite: while nothing is known of any unit, each availability
// is null, and not zero.
func TestAvailabilityOfASilentSite(t *testing.T) {
	w := newWorld(t, nil)
	w.measure(ownSite, ownAsset, "Africa/Johannesburg", time.Date(2025, 10, 1, 22, 0, 0, 0, time.UTC), 100)
	ask := func() (summary, fleet, kpis map[string]any) {
		summary = postAs(t, w, "own", api.PathTerminalTelemetry, `{"action":"site-summary","site_id":"Sibaya"}`)
		for _, site := range postAs(t, w, "own", api.PathTerminalTelemetry, `{"action":"fleet"}`)["sites"].([]any) {
			if site := site.(map[string]any); site["site_id"] == "Sibaya" {
				fleet = site["summary"].(map[string]any)
			}
		}
		r := w.as("own", http.MethodGet, "/sites/Sibaya/kpis?from="+w.clock.now().Format(time.DateOnly)+"&to="+w.clock.now().Format(time.RFC3339), "")
		if err := json.Unmarshal(r.Body.Bytes(), &kpis); err != nil || r.Code != 200 {
			t.Fatalf("KPIs: %d %s", r.Code, r.Body)
		}
		return summary, fleet, kpis
	}
	_, fleet, _ := ask() // at noon of the day with data
	if v, known := fleet["fleet_availability_pct"].(float64); !known || v < 90 {
		t.Errorf("with data the availability is %v", fleet["fleet_availability_pct"])
	}
	w.clock.add(90 * 24 * time.Hour)
	summary, fleet, kpis := ask()
	for where, of := range map[string]map[string]any{"summary": summary, "nested summary": summary["summary"].(map[string]any), "fleet": fleet} {
		for _, name := range []string{"fleet_availability_pct", "fleet_pr_pct"} {
			if v, there := of[name]; !there || v != nil {
				t.Errorf("%s: %s is %v, there %v; want null", where, name, v, there)
			}
		}
	}
	seen := 0
	for _, f := range kpis["figures"].([]any) {
		f := f.(map[string]any)
		switch f["name"] {
		case "time_availability", "contractual_availability", "energy_availability":
			if seen++; f["value"] != nil || f["note"] == "" {
				t.Errorf("%s is %v, note %v", f["name"], f["value"], f["note"])
			}
		}
	}
	if seen != 3 {
		t.Errorf("%d availabilities", seen)
	}
}

// TestClientReadsKPIs: the client's window is the service's, its refusals are
// the contract's.
func TestClientReadsKPIs(t *testing.T) {
	w := newWorld(t, nil)
	midnight := time.Date(2025, 9, 30, 22, 0, 0, 0, time.UTC)
	w.measure(ownSite, ownAsset, "Africa/Johannesburg", midnight, 288)
	c := client.New(client.Options{Now: w.clock.now, Transport: client.InProcess(w.handler), Credential: w.keys["customer"]})
	defer c.Close()
	q := api.KPIQuery{SiteID: ownSite, From: api.At(midnight), To: api.At(midnight.Add(24 * time.Hour))}
	for range 2 { // the second by 304
		k, err := c.KPIs(t.Context(), q)
		if err != nil || !k.From.Equal(q.From.Time) || !k.To.Equal(q.To.Time) || len(k.Figures) < 15 || len(k.Categories) != len(api.AvailabilityCategories()) {
			t.Fatalf("%+v, %v", k, err)
		}
	}
	if k, err := c.KPIs(t.Context(), api.KPIQuery{SiteID: secondSite}); err != nil || k.Reportable || k.To.Sub(k.From.Time) != api.DefaultKPIDays*24*time.Hour {
		t.Errorf("a site without data: %+v, %v", k, err)
	}
	if _, err := c.KPIs(t.Context(), api.KPIQuery{SiteID: foreignSite}); !errors.Is(err, api.ErrForbidden) {
		t.Errorf("another's: %v", err)
	}
	if _, err := c.KPIs(t.Context(), api.KPIQuery{SiteID: "Nowhere"}); !errors.Is(err, api.ErrForbidden) {
		t.Errorf("an unknown site: %v", err)
	}
}
