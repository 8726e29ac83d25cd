package pipeline

import (
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// refitSites is the fleet of BenchmarkFleetRefit; two sites with -short.
const refitSites = 100

// BenchmarkFleetRefit trains each of 100 sites of two hourly years, two at a
// time on one core each, from telemetry to forecast and detection; then a month
// is added, and each trains again with a challenger compared with production.
// The heap in use is after the tenth site and after the last.
func BenchmarkFleetRefit(b *testing.B) {
	n := refitSites
	if testing.Short() {
		n = 2
	}
	for b.Loop() {
		p := newPlant(b, day0, func(c *Config) {
			c.TrainWorkers, c.Quiet = 1, time.Nanosecond
			c.Logger = slog.New(slog.DiscardHandler)
		})
		s := fleet(730, 1)
		frame := func(from, to time.Time) series.Frame { return s.Frames(from, to, time.Hour)[s.Units[0].AssetID] }
		first, month := frame(day0.AddDate(0, 0, -730), day0), frame(day0, day0.AddDate(0, 0, 31))
		id := func(i int) string { return fmt.Sprintf("site-%03d", i) }
		feed := func(i int, f series.Frame) {
			scaled := series.Frame{Times: f.Times}
			power := append([]float64(nil), f.Values(series.PowerKW)...)
			for k := range power {
				power[k] *= 1 - float64(i)/1000
			}
			scaled.Set(series.PowerKW, power)
			key := store.SiteKey{ID: id(i), Zone: time.UTC}
			if err := p.Telemetry.Append(b.Context(), key, []store.AssetFrame{{AssetID: "INV-1", Frame: scaled}}); err != nil {
				b.Fatal(err)
			}
			err := p.Records.Update(b.Context(), func(tx store.Tx) error {
				_, err := sitedata.UpdateState(tx, id(i), func(t *sitedata.State) { t.Data, t.LastData = t.Data+1, time.Unix(f.Times[f.Len()-1], 0).UTC() })
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		}
		for i := range n {
			lat, lon := s.Location.LatitudeDeg, s.Location.LongitudeDeg
			err := p.Records.Update(b.Context(), func(tx store.Tx) error {
				site, _, err := p.Domain.Sites.CreateSiteIfMissing(tx, api.Site{SiteID: id(i), CustomerID: "acme", Timezone: "UTC", Latitude: &lat, Longitude: &lon, CapacityKW: s.CapacityKW()}, "test")
				if err != nil {
					return err
				}
				_, _, err = p.Domain.Sites.CreateAssetIfMissing(tx, api.Asset{AssetID: "INV-1", Name: "INV-1", Type: "Solar Inverter", CapacityKW: s.CapacityKW(), SiteID: site.SiteID, CustomerID: "acme", Timezone: "UTC"})
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
			feed(i, first)
		}
		p.refit(b, n, id, "first")
		p.pass(31 * day)
		for i := range n {
			feed(i, month)
		}
		p.refit(b, n, id, "again")
		for i := range n {
			if m, err := p.Domain.Models.Find(b.Context(), admin, id(i), sitedata.ModelType, "2.0.0"); err != nil || m.Evaluation == nil || m.Evaluation.Method != api.EvaluatedHeldOut {
				b.Fatalf("%s: %+v, %v", id(i), m.Evaluation, err)
			}
		}
	}
}

// refit trains the sites two at a time.
func (p *plant) refit(b *testing.B, n int, id func(int) string, pass string) {
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / (1 << 20)
	}
	before := 0.0
	start := time.Now()
	var tenth time.Duration // the time that looking at the heap took is left out
	for from := 0; from < n; from += 10 {
		sites := make(chan string)
		var workers sync.WaitGroup
		for range 2 {
			workers.Go(func() {
				for site := range sites {
					if err := p.Trainer.RunJob(b.Context(), store.Claimed{Job: p.NewJob(sitedata.JobTrain, sitedata.Payload{SiteID: site})}); err != nil {
						b.Error(err)
					}
				}
			})
		}
		for i := from; i < min(from+10, n); i++ {
			sites <- id(i)
		}
		close(sites)
		workers.Wait()
		if from == 0 {
			tenth = time.Since(start)
			before = heap()
			start = time.Now()
		}
	}
	b.ReportMetric((tenth + time.Since(start)).Seconds(), pass+"-s")
	b.ReportMetric(before, pass+"-MiB-at-10")
	b.ReportMetric(heap(), pass+"-MiB-at-end")
	if m, err := p.Domain.Models.InProduction(b.Context(), id(n-1), sitedata.ModelType); err != nil || m.Status != api.ModelProduction {
		b.Fatalf("%s: %+v, %v", id(n-1), m, err)
	}
}
