package pipeline

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store/pgtest"
	"app.sunloop/backend/store/postgres"
	"app.sunloop/backend/store/riverjobs"
)

// replicas are pipelines over one database and one folder of objects.
func replicas(t *testing.T, p *plant, n int) []*Pipeline {
	t.Helper()
	url := pgtest.Database(t)
	var all []*Pipeline
	for range n {
		h, err := riverjobs.Open(t.Context(), url, postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		})
		r, err := New(Config{Records: h, Telemetry: h, Queue: h, Cluster: h, Objects: p.files, Domain: domain.New(h, h, p.now), Now: p.now, Wall: time.Now,
			TrainingDays: 60, Tick: 100 * time.Millisecond, Settle: time.Millisecond, Quiet: 200 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(logTo{t}, nil))})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// runAll lets pipelines work until the test ends.
func runAll(t *testing.T, all []*Pipeline) {
	for _, r := range all {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		t.Cleanup(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestReplicas: files of a site that are uploaded to two replicas are trained
// on once, after the last of them, and each replica reports the same progress,
// which never decreases.
func TestReplicas(t *testing.T) {
	p := newPlant(t, day0, nil)
	all := replicas(t, p, 2)
	s := fleet(70, 2)
	var ids []string
	for i, from := range []int{-70, -40, -10} {
		to := min(from+30, 0)
		ids = append(ids, (&plant{parts: partsOf(all[i%2]), t: t}).upload(request(api.UploadTrain), csvOf(t, s, day0.AddDate(0, 0, from), day0.AddDate(0, 0, to), time.Hour)))
	}
	runAll(t, all)
	progress := map[string]float64{}
	p.await("the uploads to end", func() bool {
		ended := 0
		for _, id := range ids {
			for _, r := range all {
				u, err := r.Imports.Find(t.Context(), admin, id)
				if err != nil {
					t.Fatal(err)
				}
				if u.Progress < progress[id] {
					t.Errorf("upload %s went back from %v to %v", id, progress[id], u.Progress)
				}
				progress[id] = u.Progress
				if u.Error != "" {
					t.Fatalf("%+v", u)
				}
				if u.Ended() {
					ended++
				}
			}
		}
		return ended == len(ids)*len(all)
	})
	models, _, err := all[0].Domain.Models.Models(t.Context(), admin, api.ListQuery{})
	if err != nil || len(models) != 1 {
		t.Errorf("%d models, %v", len(models), err)
	}
	for _, r := range all {
		if m, err := r.Model(t.Context(), "South"); err != nil || m.Model == nil {
			t.Errorf("the model of a replica: %v", err)
		}
	}
}

// TestProgressOfAnother: progress reported by one replica is returned by the
// others, and removed when the job has ended.
func TestProgressOfAnother(t *testing.T) {
	all := replicas(t, newPlant(t, day0, nil), 2)
	id := (&plant{parts: partsOf(all[0]), t: t}).upload(request(api.UploadTrain), csvOf(t, fleet(3, 1), day0.AddDate(0, 0, -3), day0, time.Hour))
	written := map[string]sitedata.Mark{}
	for _, step := range []struct {
		do   func(g *sitedata.Progress)
		want float64
	}{
		{func(g *sitedata.Progress) { g.SetUpload(id, sitedata.StageValidating, 0.5) }, 0.075},
		{func(g *sitedata.Progress) { g.SetUpload(id, sitedata.StageStoring, 0.5) }, 0.25},
		{func(g *sitedata.Progress) { g.Forget(id) }, 0},
	} {
		step.do(&all[0].Progress)
		now := all[0].Progress.Marks()
		if err := all[0].WriteProgress(t.Context(), written, now); err != nil {
			t.Fatal(err)
		}
		written = now
		for i, r := range all {
			u, err := r.Imports.Find(t.Context(), admin, id)
			if err != nil || u.Progress != step.want {
				t.Errorf("replica %d: %v of %v, %v", i, u.Progress, step.want, err)
			}
			list, _, err := r.Imports.Uploads(t.Context(), admin, api.ListQuery{})
			if err != nil || len(list) != 1 || list[0].Progress != step.want {
				t.Errorf("replica %d lists %+v, %v", i, list, err)
			}
		}
	}
}
