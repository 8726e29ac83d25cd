package backend

import (
	"context"
	"math"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/engine/reading"
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
