package kpi_test

import (
	"fmt"
	"testing"
	"time"

	"app.sunloop/backend/domain/domaintest"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/engine/series"
)

// benchPlant is a plant of ten units with samples of 5 minutes of the days before end.
func benchPlant(b *testing.B, end time.Time, days int) *domain.Services {
	b.Helper()
	now := func() time.Time { return end }
	db, err := bolt.Open(b.TempDir(), bolt.Options{Now: now})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	s := domain.New(db, db, now)
	site, err := s.Sites.SetSite(b.Context(), domaintest.Acme, api.Site{SiteID: "South", CustomerID: "acme", Timezone: "UTC", CapacityKW: 500})
	if err != nil {
		b.Fatal(err)
	}
	var f series.Frame
	var power, light, air []float64
	for at := end.AddDate(0, 0, -days); at.Before(end); at = at.Add(5 * time.Minute) {
		sun := max(0, 6-max(at.Sub(at.Truncate(24*time.Hour)).Hours()-12, 12-at.Sub(at.Truncate(24*time.Hour)).Hours())) / 6
		f.Times = append(f.Times, at.Unix())
		power, light, air = append(power, 40*sun), append(light, 1000*sun), append(air, 15+10*sun)
	}
	f.Set(series.PowerKW, power)
	f.Set(series.IrradianceWM2, light)
	f.Set(series.TemperatureC, air)
	for i := range 10 {
		id := fmt.Sprintf("INV-%d", i)
		if _, err := s.Sites.AddAsset(b.Context(), domaintest.Acme, api.Asset{AssetID: id, Name: id, Type: "Solar Inverter", CapacityKW: 50, Location: "roof", SiteID: "South"}); err != nil {
			b.Fatal(err)
		}
		if err := db.Append(b.Context(), store.SiteKey{ID: site.SiteID, Zone: record.Zone(site.Timezone)}, []store.AssetFrame{{AssetID: id, Frame: f}}); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// BenchmarkKPIs is a year of ten units by samples of 5 minutes.
func BenchmarkKPIs(b *testing.B) {
	end := time.Date(2026, 6, 15, 0, 0, 0, 0, time.UTC)
	s := benchPlant(b, end, 365)
	b.ReportAllocs()
	for b.Loop() {
		k, err := s.KPIs.KPIs(b.Context(), domaintest.Acme, "South", end.AddDate(-1, 0, 0), end)
		if err != nil || !k.Reportable {
			b.Fatal(k, err)
		}
	}
}

// BenchmarkSummary is the summary of half a day of ten units by samples of 5 minutes.
func BenchmarkSummary(b *testing.B) {
	end := time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)
	s := benchPlant(b, end, 30)
	b.ReportAllocs()
	for b.Loop() {
		v, err := s.KPIs.SiteSummary(b.Context(), domaintest.Acme, "South")
		if err != nil || v.TotalKWhToday == 0 {
			b.Fatal(v, err)
		}
	}
}
