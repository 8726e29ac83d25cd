package pipeline

import (
	"context"
	"sync"

	"app.sunloop/backend/api"
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

// progress is how far uploads are within their stage. It is kept in memory
// alone: what is lost in a crash is only a fraction of a bar.
type progress struct {
	mu   sync.Mutex
	of   map[string]mark // by upload
	site map[string]mark // by site: training and after it
}

type mark struct {
	stage string
	share float64
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

// overlay puts what is known in memory over a stored record.
func (g *progress) overlay(u api.Upload) api.Upload {
	if u.Ended() {
		return u
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	m, ok := g.of[u.UploadID]
	if s, there := g.site[u.SiteID]; there && u.Stage == stageTraining {
		m, ok = s, true
	}
	if ok {
		span := stageSpan[m.stage]
		u.Stage = m.stage
		u.Progress = max(u.Progress, span[0]+(span[1]-span[0])*min(max(m.share, 0), 1))
	}
	return u
}

// Find is an upload within the scope, with its progress as of now.
func (p *Pipeline) Find(ctx context.Context, scope api.Scope, uploadID string) (api.Upload, error) {
	u, err := p.Ops.Find(ctx, scope, uploadID)
	return p.progress.overlay(u), err
}

// Uploads lists the uploads within the scope, newest first, with their
// progress as of now.
func (p *Pipeline) Uploads(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Upload, string, error) {
	list, next, err := p.Ops.Uploads(ctx, scope, q)
	for i := range list {
		list[i] = p.progress.overlay(list[i])
	}
	return list, next, err
}
