package pipeline

import (
	"bytes"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/engine/simulate"
)

// demoFiles are the uploads of a demo's first start: every unit since a time,
// half a year to a file.
func demoFiles(b *testing.B, f *simulate.Fleet, since time.Time, step time.Duration) (requests []api.UploadRequest, files [][]byte) {
	b.Helper()
	const part = 180 * day
	for _, s := range f.Sites {
		for _, u := range s.Units {
			for from := since; from.Before(day0); from = from.Add(part) {
				to := from.Add(part)
				if to.After(day0) {
					to = day0
				}
				var buf bytes.Buffer
				if err := s.WriteCSV(&buf, from, to, step, u.AssetID); err != nil {
					b.Fatal(err)
				}
				if buf.Len() > api.MaxUploadBytes {
					b.Fatalf("a file of %d MB", buf.Len()>>20)
				}
				requests = append(requests, api.UploadRequest{CustomerID: "demo-customer", SiteID: s.ID, Region: "demo", Location: "demo", Kind: api.UploadTrain, Filename: u.AssetID + ".csv"})
				files = append(files, buf.Bytes())
			}
		}
	}
	return requests, files
}

// BenchmarkDemoLoad is the first start of a demo: 24 inverters of three sites,
// a year of quarter hours, from CSV to forecasts and findings; with -short a
// part of them.
func BenchmarkDemoLoad(b *testing.B) {
	fleet, from := simulate.Demo(1, day0.AddDate(-1, 0, 0), day0), day0.AddDate(-1, 0, 0)
	if testing.Short() {
		fleet.Sites, from = fleet.Sites[:1], day0.AddDate(0, 0, -200)
		fleet.Sites[0].Units = fleet.Sites[0].Units[:2]
	}
	requests, files := demoFiles(b, fleet, from, 15*time.Minute)
	size := 0
	for _, f := range files {
		size += len(f)
	}
	for b.Loop() {
		p := newPlant(b, day0, func(c *Config) { c.Quiet, c.Tick, c.Settle = 0, 0, 0 })
		for _, s := range fleet.Sites {
			lat, lon := s.Location.LatitudeDeg, s.Location.LongitudeDeg
			if _, err := p.Domain.Sites.SetSite(b.Context(), admin, api.Site{SiteID: s.ID, CustomerID: "demo-customer", Timezone: s.Zone.String(), Latitude: &lat, Longitude: &lon, CapacityKW: s.CapacityKW()}); err != nil {
				b.Fatal(err)
			}
		}
		p.start()
		start := time.Now()
		var ids []string
		for i, req := range requests {
			ids = append(ids, p.upload(req, files[i]))
		}
		b.ReportMetric(time.Since(start).Seconds(), "s-accepted")
		for _, id := range ids {
			if u := p.ended1(id); u.Error != "" {
				b.Fatal(u.Error)
			}
		}
		for _, s := range fleet.Sites {
			if g, err := p.Generate(b.Context(), admin, api.ForecastQuery{CustomerID: "demo-customer", SiteID: s.ID}); err != nil || len(g.Forecasts) != 48 {
				b.Fatal(err)
			}
		}
		list, _, err := p.Domain.Findings.Findings(b.Context(), admin, api.ListQuery{})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(list)), "findings")
		b.ReportMetric(float64(size)/1e6, "MB")
	}
}
