package pipeline

import (
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/engine/simulate"
)

// A site with twenty days, the first not whole, and no model has a rollup, signals and a schedule
// soon after its detection, but no forecast. A month later its file still ends
// where it ended.
func TestSnapshotsOfASiteWithoutAModel(t *testing.T) {
	p := newPlant(t, day0, quickTraining)
	site := simulate.Clean(7, day0.AddDate(0, 0, -120), 2).Sites[0]
	p.start()
	u := p.ended1(p.upload(request(api.UploadTrain), csvOf(t, site, day0.AddDate(0, 0, -20), day0, time.Hour)))
	if u.Error != "" {
		t.Fatalf("%+v", u)
	}
	rollup := func() (r api.KPIRollup, ok bool) {
		doc, err := p.Partner.Snapshot(t.Context(), u.SiteID, api.SnapshotKPIs)
		if err != nil && !errors.Is(err, api.ErrNotFound) {
			t.Fatal(err)
		}
		if err != nil {
			return r, false
		}
		if err := json.Unmarshal(doc, &r); err != nil {
			t.Fatal(err)
		}
		return r, true
	}
	p.await("the snapshots", func() bool { _, ok := rollup(); return ok })
	first, _ := rollup()
	if first.Period.Start != "2026-05-27" || first.Period.End != "2026-06-14" || first.Period.Days != 19 || first.System.DeviceCount != len(site.Units) || first.System.RatedCapacityKW <= 0 {
		t.Errorf("%+v", first)
	}
	today := day0.Truncate(day)
	k, err := p.Domain.KPIs.KPIs(t.Context(), admin, u.SiteID, today.AddDate(0, 0, -19), today)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range k.Figures {
		if f.Name == "specific_yield" && math.Abs(*f.Value*k.RatedKW-first.EnergyBalance.SolarProductionKWh) > 0.001**f.Value*k.RatedKW {
			t.Errorf("%v kWh, by the yield %v", first.EnergyBalance.SolarProductionKWh, *f.Value*k.RatedKW)
		}
	}
	for _, kind := range []string{api.SnapshotSignals, api.SnapshotSchedule} {
		if _, err := p.Partner.Snapshot(t.Context(), u.SiteID, kind); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if _, err := p.ForecastSnapshot(t.Context(), admin, u.SiteID, 24); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("a forecast without a model: %v", err)
	}
	p.pass(30 * day)
	p.await("the snapshots a month later", func() bool { r, _ := rollup(); return r.GeneratedAt.After(first.GeneratedAt.Time) })
	if last, _ := rollup(); last.Period != first.Period || last.EnergyBalance != first.EnergyBalance {
		t.Errorf("a month later %+v, was %+v", last, first)
	}
}

// A process that died between a change of planned work and the making of the
// schedule leaves a mark, which the next one heeds.
func TestObjectsMarkedForDeletionAreDeleted(t *testing.T) {
	p := newPlant(t, day0, quickTraining)
	if _, err := p.Domain.Sites.SetSite(t.Context(), admin, api.Site{SiteID: "South", CustomerID: "acme", Timezone: "UTC"}); err != nil {
		t.Fatal(err)
	}
	if err := p.Records.Update(t.Context(), func(tx store.Tx) error { return p.Partner.Changed(tx, "South") }); err != nil {
		t.Fatal(err)
	}
	p.start()
	p.await("the schedule", func() bool {
		_, err := p.Partner.Snapshot(t.Context(), "South", api.SnapshotSchedule)
		return err == nil
	})
}
