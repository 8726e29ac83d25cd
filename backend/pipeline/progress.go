package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// Stages of an upload, and where each begins on the way from 0 to 1.
const (
	stageValidating  = "validating"
	stageStoring     = "storing"
	stageTraining    = "training"
	stageForecasting = "forecasting"
	stageDetecting   = "detecting"
)

var stageSpan = map[string][2]float64{
	stageValidating:  {0, 0.15},
	stageStoring:     {0.15, 0.35},
	stageTraining:    {0.35, 0.9},
	stageForecasting: {0.9, 0.93},
	stageDetecting:   {0.93, 1},
}

// progress is how far uploads are within their stage, where their jobs run in
// this process. What is lost in a crash is only a fraction of a bar.
type progress struct {
	mu   sync.Mutex
	of   map[string]mark // by upload
	site map[string]mark // by site: training and after it
}

type mark struct {
	Stage string  `json:"stage"`
	Share float64 `json:"share"`
}

// reached is how far that is on the way from 0 to 1.
func (m mark) reached() float64 {
	span := stageSpan[m.Stage]
	return span[0] + (span[1]-span[0])*min(max(m.Share, 0), 1)
}

func (g *progress) set(m *map[string]mark, id, stage string, share float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if *m == nil {
		*m = map[string]mark{}
	}
	(*m)[id] = mark{stage, share}
}

func (g *progress) upload(id, stage string, share float64) { g.set(&g.of, id, stage, share) }

func (g *progress) siteAt(id, stage string, share float64) { g.set(&g.site, id, stage, share) }

func (g *progress) forget(ids ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range ids {
		delete(g.of, id)
		delete(g.site, id)
	}
}

// marks are all of them, by upload or site.
func (g *progress) marks() map[string]mark {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := maps.Clone(g.of)
	if all == nil {
		all = map[string]mark{}
	}
	maps.Copy(all, g.site)
	return all
}

// withMark puts what is known of the work over a stored record; it sets nothing
// back.
func withMark(u api.Upload, at func(id string) (mark, bool)) api.Upload {
	if u.Ended() {
		return u
	}
	m, ok := at(u.UploadID)
	if u.Stage == stageTraining {
		if s, there := at(u.SiteID); there {
			m, ok = s, true
		}
	}
	if ok && m.reached() >= u.Progress {
		u.Stage, u.Progress = m.Stage, m.reached()
	}
	return u
}

// progressBucket has the marks of all replicas by upload or site.
const progressBucket = "progress"

// tellEvery is how often a replica tells the others how far its jobs are.
const tellEvery = 2 * time.Second

// tellProgress writes down how far the jobs of this process are, where there
// may be other replicas that are asked.
func (p *Pipeline) tellProgress(ctx context.Context) {
	if p.Exclusive {
		return
	}
	told := map[string]mark{}
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
		now := p.progress.marks()
		if maps.Equal(now, told) {
			continue
		}
		// At a stop too: the jobs are another's soon.
		if err := p.tell(context.WithoutCancel(ctx), told, now); err != nil {
			p.Logger.WarnContext(ctx, "tell how far jobs are", "error", err)
			continue
		}
		told = now
	}
}

// tell writes the marks that changed and removes those that are over.
func (p *Pipeline) tell(ctx context.Context, told, now map[string]mark) error {
	return p.Records.Update(ctx, func(tx store.Tx) error {
		for id, m := range now {
			if m == told[id] {
				continue
			}
			b, err := json.Marshal(m)
			if err != nil {
				return err
			}
			if err := tx.Put(progressBucket, store.Key(id), b); err != nil {
				return err
			}
		}
		for id := range told {
			if _, there := now[id]; there {
				continue
			}
			if err := tx.Delete(progressBucket, store.Key(id)); err != nil {
				return err
			}
		}
		return nil
	})
}

// overlaid are records with the progress as of now. Where there are other
// replicas all answer what was told, so that no answer is behind another.
func (p *Pipeline) overlaid(ctx context.Context, list ...api.Upload) error {
	if p.Exclusive {
		marks := p.progress.marks()
		for i := range list {
			list[i] = withMark(list[i], func(id string) (mark, bool) { m, ok := marks[id]; return m, ok })
		}
		return nil
	}
	if !slices.ContainsFunc(list, func(u api.Upload) bool { return !u.Ended() }) {
		return nil
	}
	return p.Records.View(ctx, func(tx store.Tx) error {
		var failed error
		for i := range list {
			list[i] = withMark(list[i], func(id string) (m mark, ok bool) {
				b, err := tx.Get(progressBucket, store.Key(id))
				if err == nil {
					err = json.Unmarshal(b, &m)
				}
				if err != nil && !errors.Is(err, store.ErrNotFound) {
					failed = err
				}
				return m, err == nil
			})
		}
		return failed
	})
}

// Find is an upload within the scope, with its progress as of now.
func (p *Pipeline) Find(ctx context.Context, scope api.Scope, uploadID string) (api.Upload, error) {
	u, err := p.Ops.Find(ctx, scope, uploadID)
	if err != nil {
		return u, err
	}
	list := []api.Upload{u}
	err = p.overlaid(ctx, list...)
	return list[0], err
}

// Uploads lists the uploads within the scope, newest first, with their
// progress as of now.
func (p *Pipeline) Uploads(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Upload, string, error) {
	list, next, err := p.Ops.Uploads(ctx, scope, q)
	if err != nil {
		return list, next, err
	}
	return list, next, p.overlaid(ctx, list...)
}
