package kpi_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/domaintest"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
)

// A window that is over is the same to the bit whenever it is asked for, by
// KPIs and roll-up alike; what changes its figures makes a revision with the
// reason and the figures that differ.
func TestRevisions(t *testing.T) {
	d, _, day := twoUnits(t, downFor2h)
	end := day.Add(24 * time.Hour)
	text := func(k api.KPIs) string {
		b, err := json.Marshal(k)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	first, got := d.KPIsOf(day, end)
	if first.Revision != 1 || len(first.Revisions) != 1 || first.AsOf != api.At(d.Clock) || got["performance_ratio"].Revision != 1 || got["performance_ratio"].AsOf != first.AsOf {
		t.Fatalf("first revision %d of %v: %+v", first.Revision, first.AsOf, first.Revisions)
	}
	was := first.AsOf
	d.Clock = d.Clock.Add(72 * time.Hour)
	if again, _ := d.KPIsOf(day, end); text(again) != text(first) {
		t.Errorf("three days later the figures are\n%s\nwant\n%s", text(again), text(first))
	}
	units, err := d.Sites.SiteAssets(t.Context(), "South")
	if err != nil {
		t.Fatal(err)
	}
	site, err := d.Sites.Site(t.Context(), domaintest.Acme, "South")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := d.KPIs.Rollup(t.Context(), site, units, day, end); err != nil || text(r.KPIs) != text(first) {
		t.Errorf("the roll-up shows\n%s\n%v, want\n%s", text(r.KPIs), err, text(first))
	}

	last := func(k api.KPIs, revision int, reason string, changed ...string) {
		t.Helper()
		r := k.Revisions[len(k.Revisions)-1]
		if k.Revision != revision || r.Revision != revision || !strings.Contains(r.Reason, reason) || r.AsOf != api.At(d.Clock) || k.AsOf != r.AsOf || k.AsOf == was {
			t.Errorf("revision %d: %+v, want %d for %q", k.Revision, r, revision, reason)
		}
		for _, name := range changed {
			if !slices.Contains(r.Changed, name) {
				t.Errorf("%s is not among the changed figures %v", name, r.Changed)
			}
		}
	}
	// Data that arrive later.
	late := sunny(day.Add(2*time.Hour), steady(20))
	if err := d.Store.Append(t.Context(), store.SiteKey{ID: site.SiteID, Zone: record.Zone(site.Timezone)}, []store.AssetFrame{{AssetID: "INV-2", Frame: late}}); err != nil {
		t.Fatal(err)
	}
	k, _ := d.KPIsOf(day, end)
	last(k, 2, "Telemetry of the window has changed.", "performance_ratio", "energy")
	// A setting.
	set(t, d, api.Site{DCRatingKW: 125})
	k, _ = d.KPIsOf(day, end)
	last(k, 3, "Settings of the site or its units have changed.", "performance_ratio", "specific_yield")
	// A setting by which the same readings of sensors mean something else.
	set(t, d, api.Site{IrradianceRole: "horizontal"})
	k, _ = d.KPIsOf(day, end)
	last(k, 4, "Settings of the site or its units have changed.", "performance_ratio")
	// A finding of that day.
	e := domaintest.Outage("INV-2", day.Add(10*time.Hour), day.Add(12*time.Hour))
	e.End, e.LostKWh = e.LastSeen, 40
	d.RecordRun(site, e)
	k, _ = d.KPIsOf(day, end)
	last(k, 5, "Findings", "energy_lost")
	// A setting that no figure depends on changes nothing.
	set(t, d, api.Site{Name: "Another name"})
	if again, _ := d.KPIsOf(day, end); text(again) != text(k) {
		t.Errorf("another name of the site makes\n%s\nof\n%s", text(again), text(k))
	}
	// What is open, or not of whole days, has no revision.
	for _, window := range [][2]time.Time{{day, d.Clock}, {day.Add(time.Hour), end}} {
		if k, _ := d.KPIsOf(window[0], window[1]); k.Revision != 0 || k.Revisions != nil || k.AsOf != api.At(d.Clock) {
			t.Errorf("the window %v: revision %d as of %v", window, k.Revision, k.AsOf)
		}
	}
}

// The loss rate of years that a roll-up does not compute is no reason for a revision.
func TestRevisionOfRollupFirst(t *testing.T) {
	d, site, day := twoUnits(t, steady(20))
	units, err := d.Sites.SiteAssets(t.Context(), "South")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := d.KPIs.Rollup(t.Context(), site, units, day, day.Add(24*time.Hour)); err != nil || r.Revision != 1 {
		t.Fatalf("revision %d, %v", r.Revision, err)
	}
	k, got := d.KPIsOf(day, day.Add(24*time.Hour))
	if k.Revision != 1 || got["performance_loss_rate"].Name == "" {
		t.Errorf("revision %d: %+v", k.Revision, k.Revisions)
	}
	if r, err := d.KPIs.Rollup(t.Context(), site, units, day, day.Add(24*time.Hour)); err != nil || r.Revision != 1 {
		t.Errorf("revision %d, %v", r.Revision, err)
	}
}
