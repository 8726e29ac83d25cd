package pipeline

import (
	"bytes"
	"context"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
)

// BenchmarkNowcast is a live step: a file with one row of each of eight units,
// from its arrival until its telemetry is stored.
func BenchmarkNowcast(b *testing.B) {
	p := newPlant(b, day0, nil)
	s := fleet(10, 8)
	if err := p.ingestNow(b, csvOf(b, s, day0.AddDate(0, 0, -10), day0, 15*time.Minute)); err != nil {
		b.Fatal(err)
	}
	rows := make([][]byte, 0, 1000)
	for i := range cap(rows) {
		at := day0.Add(time.Duration(i) * 5 * time.Minute)
		rows = append(rows, csvOf(b, s, at, at.Add(5*time.Minute), 5*time.Minute))
	}
	i := 0
	for b.Loop() {
		p.pass(5 * time.Minute)
		if err := p.ingestNow(b, rows[i%len(rows)]); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// ingestNow uploads a nowcast and runs its job at once.
func (p *plant) ingestNow(b *testing.B, body []byte) error {
	if _, err := p.Upload(b.Context(), admin, request(api.UploadNowcast), bytes.NewReader(body)); err != nil {
		return err
	}
	jobs, err := p.db.Claim(b.Context(), time.Now(), time.Minute, 10)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if err := p.Pipeline.Imports.RunJob(b.Context(), j); err != nil {
			return err
		}
		if err := p.db.Settle(b.Context(), j.ID, store.JobResult{}); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkSite measures what a console asks for all the time, and what the
// planner runs for a live site: eight units, 70 days of quarter hours.
func BenchmarkSite(b *testing.B) {
	p := newPlant(b, day0, quickTraining)
	s := fleet(70, 8)
	p.start()
	p.ended1(p.upload(request(api.UploadTrain), csvOf(b, s, day0.AddDate(0, 0, -70), day0, 15*time.Minute)))
	p.halt()
	ctx := context.Background()
	for name, do := range map[string]func() error{
		"forecast": func() error {
			_, err := p.Generate(ctx, admin, api.ForecastQuery{CustomerID: "acme", SiteID: "South", HorizonHours: 48})
			return err
		},
		"forecast-720h": func() error {
			_, err := p.Generate(ctx, admin, api.ForecastQuery{CustomerID: "acme", SiteID: "South", HorizonHours: 720})
			return err
		},
		"summary": func() error { _, err := p.Domain.KPIs.SiteSummary(ctx, admin, "South"); return err },
		"issue":   func() error { return p.Issue(ctx, "South") },
		"judge":   func() error { return p.DetectSite(ctx, "South") },
		"findings": func() error {
			_, _, err := p.Domain.Findings.Findings(ctx, admin, api.ListQuery{CustomerID: "acme"})
			if err == nil || isRefusal(err, 404) {
				return nil
			}
			return err
		},
		"track": func() error {
			return p.Records.View(ctx, func(tx store.Tx) error { _, err := sitedata.States(tx); return err })
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
