package backend

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/backend/store/pgtest"
	"app.sunloop/backend/store/postgres"
	"app.sunloop/engine/series"
)

// BenchmarkFleet lists a fleet of 100 sites of two units with half a day of samples, over a file and
// over PostgreSQL by turns: the medians, and how many times as long the database takes.
func BenchmarkFleet(b *testing.B) {
	sites := 100
	if testing.Short() {
		sites = 5
	}
	at := time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)
	now := func() time.Time { return at }
	file, err := bolt.Open(b.TempDir(), bolt.Options{Now: now})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = file.Close() })
	database, err := postgres.Open(b.Context(), pgtest.Database(b), postgres.Options{Now: now})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = database.Close() })
	var f series.Frame
	var power []float64
	for t := at.Add(-12 * time.Hour); t.Before(at); t = t.Add(5 * time.Minute) {
		f.Times, power = append(f.Times, t.Unix()), append(power, 40)
	}
	f.Set(series.PowerKW, power)
	all := api.Unlimited("bench")
	var services []*domain.Services
	for _, storage := range []interface {
		store.Records
		store.Telemetry
	}{file, database} {
		s := domain.New(storage, storage, now)
		services = append(services, s)
		for i := range sites {
			id := fmt.Sprintf("S%03d", i)
			if _, err := s.Sites.SetSite(b.Context(), all, api.Site{SiteID: id, CustomerID: "acme", Timezone: "UTC", CapacityKW: 100}); err != nil {
				b.Fatal(err)
			}
			var frames []store.AssetFrame
			for _, unit := range []string{id + "-1", id + "-2"} {
				if _, err := s.Sites.AddAsset(b.Context(), all, api.Asset{AssetID: unit, SiteID: id, CustomerID: "acme", Name: unit, Type: "inverter", CapacityKW: 50, Location: "roof"}); err != nil {
					b.Fatal(err)
				}
				frames = append(frames, store.AssetFrame{AssetID: unit, Frame: f})
			}
			if err := storage.Append(b.Context(), store.SiteKey{ID: id, Zone: time.UTC}, frames); err != nil {
				b.Fatal(err)
			}
		}
	}
	var took [2][]time.Duration
	for b.Loop() {
		for i, s := range services {
			begin := time.Now()
			list, _, err := s.KPIs.Fleet(b.Context(), all, api.ListQuery{CustomerID: "acme", Page: api.Page{Limit: 1000}})
			if err != nil || len(list) != sites {
				b.Fatal(len(list), err)
			}
			took[i] = append(took[i], time.Since(begin))
		}
	}
	for i := range took {
		slices.Sort(took[i])
	}
	m, n := took[0][len(took[0])/2], took[1][len(took[1])/2]
	b.ReportMetric(float64(n.Nanoseconds()), "ns/op")
	b.ReportMetric(float64(m.Nanoseconds()), "file-ns/op")
	b.ReportMetric(float64(n)/float64(m), "x-file")
}
