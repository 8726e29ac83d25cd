package backend

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/engine/reading"
	"app.sunloop/engine/series"
)

// TestLiveSamples stores samples of devices and reads them through the API: units by
// serial number, a capacity that follows the power, an interval that is written again,
// and a detection after a fault.
func TestLiveSamples(t *testing.T) {
	now := time.Date(2026, 6, 15, 10, 10, 0, 0, time.UTC)
	h := open(t, Config{DataDir: t.TempDir(), Now: func() time.Time { return now }})
	ctx := t.Context()
	site := api.Site{SiteID: "roof", CustomerID: "default", Timezone: "Europe/Berlin", CapacityKW: 10}
	units := []api.Asset{
		{AssetID: "S1", Name: "Inverter S1", Type: "solar_inverter", CapacityKW: 10, SiteID: "roof", CustomerID: "default", Components: []api.Component{{OEM: "A", Model: "B", Serial: "S1"}}},
		{AssetID: "S2", Name: "Inverter S2", Type: "solar_inverter", SiteID: "roof", CustomerID: "default"},
	}
	live := h.service.Live()
	if err := live.Append(ctx, "roof", nil, false); err == nil {
		t.Error("a site that is not registered takes samples")
	}
	for range 2 { // as after a restart
		if err := live.Register(ctx, site, units); err != nil {
			t.Fatal(err)
		}
	}
	frame := func(asset string, at time.Time, watts float64, state int) store.AssetFrame {
		s := reading.Sample{Device: asset, At: at, Measurement: reading.None()}
		s.PowerW, s.EnergyWh, s.State = watts, 1e6, state
		return store.AssetFrame{AssetID: asset, Frame: reading.Frame([]reading.Sample{s})}
	}
	minute := now.Add(-time.Minute)
	for _, frames := range [][]store.AssetFrame{
		{frame("S1", minute, 4000, reading.StateMPPT), frame("S2", minute, 6000, reading.StateMPPT)},
		{frame("S1", minute, 5000, reading.StateMPPT)}, // the same interval, with one more reading
		{frame("S1", now, 0, reading.StateFault)},
	} {
		if err := live.Append(ctx, "roof", frames, frames[0].Frame.Times[0] == now.Unix()); err != nil {
			t.Fatal(err)
		}
	}
	records, err := h.Inverter(ctx, api.RecordsQuery{CustomerID: "default", SiteID: "roof", AssetID: "S1", Start: api.At(minute), End: api.At(now)})
	if err != nil {
		t.Fatal(err)
	}
	if r := records.Records; len(r) != 2 || r[0].Power != 5 || r[1].Power != 0 || r[1].InverterState != reading.StateFault || *r[0].EnergyCounterKWh != 1000 {
		t.Errorf("%+v", r)
	}
	assets, err := h.service.Domain().Sites.SiteAssets(context.WithoutCancel(ctx), "roof")
	if err != nil || len(assets) != 2 || assets[0].CapacityKW != 10 || math.Abs(assets[1].CapacityKW-6) > 1e-9 {
		t.Errorf("%+v, %v", assets, err)
	}
	site.CustomerID = "other"
	if err := live.Register(ctx, site, nil); err == nil {
		t.Error("a site of another customer is registered")
	}
}

// TestReportedFaults sends what a unit reports, as a gateway does: the finding is there
// when the response comes, before a run of the detector; the runs keep it while it is
// reported, in another hour too, and end it when the unit runs again.
func TestReportedFaults(t *testing.T) {
	var clock atomic.Int64
	clock.Store(time.Date(2026, 6, 15, 10, 10, 0, 0, time.UTC).Unix())
	now := func() time.Time { return time.Unix(clock.Load(), 0).UTC() }
	h := open(t, Config{DataDir: t.TempDir(), Now: now})
	ctx := t.Context()
	lat, lon := 48.0, 11.0
	live := h.service.Live()
	units := []api.Asset{}
	for _, id := range []string{"A", "B", "C"} {
		units = append(units, api.Asset{AssetID: id, Name: id, Type: "solar_inverter", CapacityKW: 50, SiteID: "roof", CustomerID: "default"})
	}
	if err := live.Register(ctx, api.Site{SiteID: "roof", CustomerID: "default", Timezone: "Europe/Berlin", CapacityKW: 150, Latitude: &lat, Longitude: &lon}, units); err != nil {
		t.Fatal(err)
	}
	send := func(state int, code, watts float64) {
		t.Helper()
		var body []string
		add := func(id, quantity string, v float64) {
			body = append(body, fmt.Sprintf(`{"asset_id":%q,"timestamp":%d,"quantity":%q,"value":%g}`, id, clock.Load(), quantity, v))
		}
		for _, id := range []string{"A", "B", "C"} {
			s, c, kW := state, code, watts/1000
			if id != "A" {
				s, c, kW = 4, 0, 30
			}
			add(id, "power_kw", kW)
			add(id, "inverter_state", float64(s))
			add(id, "error_code", c)
		}
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/telemetry/write?site_id=roof", strings.NewReader(`{"points":[`+strings.Join(body, ",")+`]}`))
		r.Header.Set("X-API-Key", h.key)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if h.service.Handler().ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Fatalf("HTTP %d %s", w.Code, w.Body)
		}
	}
	active := func(family string) *api.Finding {
		r, err := h.Findings(ctx, api.ListQuery{CustomerID: "default", SiteID: "roof"})
		if errors.Is(err, api.ErrNoSummaries) {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range r.MLEnhancedActivities {
			if f.Active && f.FaultFamily == family {
				return &r.MLEnhancedActivities[i]
			}
		}
		return nil
	}
	detected := func() {
		t.Helper()
		if _, err := h.Detect(ctx, api.AssetRef{AssetID: "A", SiteID: "roof", CustomerID: "default"}, 24); err != nil {
			t.Fatal(err)
		}
	}
	send(4, 0, 30_000)
	detected()
	clock.Add(10)
	send(7, 1, 0)
	f := active("ground_or_insulation_fault")
	if f == nil || f.AssetID != "A" || f.StartedAt.Unix() != clock.Load() || !strings.Contains(f.Evidence[0].Text, "GROUND_FAULT") {
		t.Fatalf("%+v", f)
	}
	id := f.SummaryID
	for range 3 {
		clock.Add(600)
		send(7, 1, 0)
		detected()
		if f := active("ground_or_insulation_fault"); f == nil || f.SummaryID != id {
			t.Fatalf("after a run of the detector: %+v", f)
		}
	}
	alerts, err := h.Alerts(ctx, api.ListQuery{CustomerID: "default", SiteID: "roof"}, "")
	if err != nil || len(alerts.Alerts) != 1 {
		t.Errorf("%+v, %v", alerts, err)
	}
	clock.Add(600)
	send(4, 0, 30_000)
	for range 3 { // an outage of half an hour ends when the power has been back as long
		clock.Add(900)
		send(4, 0, 30_000)
	}
	detected()
	if f := active("ground_or_insulation_fault"); f != nil {
		t.Errorf("it lasts: %+v", f)
	}

	// An arc is a separate finding, of a unit that still produces too.
	clock.Add(600)
	send(4, series.ArcDetected, 30_000)
	for range 2 {
		f = active("arc_fault")
		if f == nil || f.AssetID != "A" || f.AlertSeverity != api.AlertCritical || !strings.Contains(f.Summary, "danger of fire") || len(f.RecommendedActions) == 0 || !strings.Contains(f.RecommendedActions[0].Action, "Fire risk") {
			t.Fatalf("%+v", f)
		}
		clock.Add(600)
		send(4, series.ArcDetected, 30_000)
		detected()
	}
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/telemetry/latest?site_id=roof&customer_id=default", nil)
	r.Header.Set("X-API-Key", h.key)
	w := httptest.NewRecorder()
	if h.service.Handler().ServeHTTP(w, r); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"error_code":4294967296`) {
		t.Errorf("HTTP %d %s", w.Code, w.Body)
	}
}
