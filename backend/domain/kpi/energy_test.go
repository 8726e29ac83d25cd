package kpi_test

import (
	"math"
	"testing"
	"time"

	"app.sunloop/backend/domain/domaintest"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// storeUnits stores frames of both units of twoUnits.
func storeUnits(t *testing.T, d *domaintest.Desk, one, two series.Frame) {
	t.Helper()
	key := store.SiteKey{ID: "South", Zone: record.Zone("Europe/Vienna")}
	if err := d.Store.Append(t.Context(), key, []store.AssetFrame{{AssetID: "INV-1", Frame: one}, {AssetID: "INV-2", Frame: two}}); err != nil {
		t.Fatal(err)
	}
}

// A sample that states what it covers counts for that time in ratios, too: each
// unit makes 20 kW, and 30 kW from 10:00 to 11:00 UTC in one sample.
func TestKPIsOfStatedTime(t *testing.T) {
	d, _, day := twoUnits(t, steady(20))
	before := day.AddDate(0, 0, -1)
	f := sunny(before.Add(2*time.Hour), steady(20))
	stated := make([]float64, f.Len())
	power := f.Values(series.PowerKW)
	for i, at := range f.Times {
		stated[i] = math.NaN()
		switch hour := time.Unix(at, 0).Sub(before.Add(2 * time.Hour)).Hours(); {
		case hour == 10:
			power[i], stated[i] = 30, 3600
		case hour > 10 && hour < 11:
			power[i] = math.NaN()
		}
	}
	f.Set(series.CoveredS, stated)
	storeUnits(t, d, f, f)
	_, got := d.KPIsOf(before, day)
	wantFigures(t, got, map[string]float64{"energy": 420, "performance_ratio": 0.84, "specific_yield": 4.2})
}
