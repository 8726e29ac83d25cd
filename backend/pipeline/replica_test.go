package pipeline

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/ops"
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
		r, err := New(Config{Records: h, Telemetry: h, Queue: h, Cluster: h, Objects: p.files, Ops: ops.New(h, h, p.now), Now: p.now, Wall: time.Now,
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

// TestReplicas: files of a site that come to two replicas are trained on once,
// after the last of them, and whichever replica is asked tells of the same
// progress, which never goes back.
func TestReplicas(t *testing.T) {
	p := newPlant(t, day0, nil)
	all := replicas(t, p, 2)
	s := fleet(70, 2)
	var ids []string
	for i, from := range []int{-70, -40, -10} {
		to := min(from+30, 0)
		ids = append(ids, (&plant{Pipeline: all[i%2], t: t}).upload(request(api.UploadTrain), csvOf(t, s, day0.AddDate(0, 0, from), day0.AddDate(0, 0, to), time.Hour)))
	}
	runAll(t, all)
	progress := map[string]float64{}
	p.await("the uploads to end", func() bool {
		ended := 0
		for _, id := range ids {
			for _, r := range all {
				u, err := r.Find(t.Context(), admin, id)
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
	models, _, err := all[0].Ops.Models(t.Context(), admin, api.ListQuery{})
	if err != nil || len(models) != 1 {
		t.Errorf("%d models, %v", len(models), err)
	}
	for _, r := range all {
		if m, err := r.model(t.Context(), "South"); err != nil || m.model == nil {
			t.Errorf("the model of a replica: %v", err)
		}
	}
}

// TestProgressOfAnother: what a replica has told is answered by the others, and
// removed when it is over.
func TestProgressOfAnother(t *testing.T) {
	all := replicas(t, newPlant(t, day0, nil), 2)
	id := (&plant{Pipeline: all[0], t: t}).upload(request(api.UploadTrain), csvOf(t, fleet(3, 1), day0.AddDate(0, 0, -3), day0, time.Hour))
	told := map[string]mark{}
	for _, step := range []struct {
		do   func(g *progress)
		want float64
	}{
		{func(g *progress) { g.upload(id, stageValidating, 0.5) }, 0.075},
		{func(g *progress) { g.upload(id, stageStoring, 0.5) }, 0.25},
		{func(g *progress) { g.forget(id) }, 0},
	} {
		step.do(&all[0].progress)
		now := all[0].progress.marks()
		if err := all[0].tell(t.Context(), told, now); err != nil {
			t.Fatal(err)
		}
		told = now
		for i, r := range all {
			u, err := r.Find(t.Context(), admin, id)
			if err != nil || u.Progress != step.want {
				t.Errorf("replica %d: %v of %v, %v", i, u.Progress, step.want, err)
			}
			list, _, err := r.Uploads(t.Context(), admin, api.ListQuery{})
			if err != nil || len(list) != 1 || list[0].Progress != step.want {
				t.Errorf("replica %d lists %+v, %v", i, list, err)
			}
		}
	}
}

// TestModelLearnedElsewhere: a model that another replica has let learn is not
// used as it was before.
func TestModelLearnedElsewhere(t *testing.T) {
	var c cache
	at := day0
	c.put("South", loaded{record: ops.Model{Hash: "h"}, learned: at})
	for _, step := range []struct {
		hash    string
		learned time.Time
		want    bool
	}{{"h", at, true}, {"h", at.AddDate(0, 0, 1), false}, {"h", time.Time{}, false}, {"other", at, false}} {
		if _, ok := c.get("South", step.hash, step.learned); ok != step.want {
			t.Errorf("%s, learned to %v: %v", step.hash, step.learned, ok)
		}
	}
}

// TestQuiet: a site is quiet some time after the last of its files came, on
// whichever replica, and a clock that goes before does not hold it up.
func TestQuiet(t *testing.T) {
	now := day0
	p := &Pipeline{Config: Config{Wall: func() time.Time { return now }, Quiet: time.Minute}}
	upload := func(kind string, at time.Time) (u ops.Upload) {
		u.Kind, u.Accepted = kind, at
		return u
	}
	train := func(at time.Time) ops.Upload { return upload(api.UploadTrain, at) }
	for name, c := range map[string]struct {
		open []ops.Upload
		want time.Time
	}{
		"the last counts":        {[]ops.Upload{train(now.Add(-time.Hour)), train(now.Add(-10 * time.Second)), train(now.Add(-time.Minute))}, now.Add(50 * time.Second)},
		"a nowcast does not":     {[]ops.Upload{upload(api.UploadNowcast, now), train(now.Add(-time.Hour))}, now.Add(-59 * time.Minute)},
		"a clock that is before": {[]ops.Upload{train(now.Add(time.Hour))}, now.Add(time.Minute)},
		"none":                   {nil, time.Time{}.Add(time.Minute)},
	} {
		if at := p.quietAt(c.open); !at.Equal(c.want) {
			t.Errorf("%s: %v, want %v", name, at, c.want)
		}
	}
}
