package sitedata

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// Stages of an upload, and where each begins on the way from 0 to 1.
const (
	// Stages of an upload, as they are stored.
	StageValidating  = "validating"
	StageStoring     = "storing"
	StageTraining    = "training"
	StageForecasting = "forecasting"
	StageDetecting   = "detecting"
)

// stageSpan is where each stage begins and ends on the way from 0 to 1.
var stageSpan = map[string][2]float64{
	StageValidating:  {0, 0.15},
	StageStoring:     {0.15, 0.35},
	StageTraining:    {0.35, 0.9},
	StageForecasting: {0.9, 0.93},
	StageDetecting:   {0.93, 1},
}

// StageStart returns where a stage begins on the way from 0 to 1.
func StageStart(stage string) float64 { return stageSpan[stage][0] }

// Progress is how far the jobs of this process are within the stages of their
// uploads. A crash loses only a fraction of a progress bar.
type Progress struct {
	mu      sync.Mutex
	uploads map[string]Mark // by upload
	sites   map[string]Mark // by site: training and after it
}

// Mark is how far an upload is: the share of its stage that is done.
type Mark struct {
	Stage string  `json:"stage"`
	Share float64 `json:"share"`
}

// fraction returns the progress from 0 to 1.
func (m Mark) fraction() float64 {
	span := stageSpan[m.Stage]
	return span[0] + (span[1]-span[0])*min(max(m.Share, 0), 1)
}

func (g *Progress) set(m *map[string]Mark, id, stage string, share float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if *m == nil {
		*m = map[string]Mark{}
	}
	(*m)[id] = Mark{stage, share}
}

// SetUpload sets the progress of one upload.
func (g *Progress) SetUpload(id, stage string, share float64) { g.set(&g.uploads, id, stage, share) }

// SetSite sets the progress of all uploads of a site that are in training or after
// it.
func (g *Progress) SetSite(id, stage string, share float64) { g.set(&g.sites, id, stage, share) }

// Forget removes the progress of uploads or sites.
func (g *Progress) Forget(ids ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range ids {
		delete(g.uploads, id)
		delete(g.sites, id)
	}
}

// Marks returns all progress by upload or site.
func (g *Progress) Marks() map[string]Mark {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := maps.Clone(g.uploads)
	if all == nil {
		all = map[string]Mark{}
	}
	maps.Copy(all, g.sites)
	return all
}

// MarkOf returns the progress of an upload, a run or a site; ok is false if there is none.
// If there are other replicas, it is the one that they have stored.
func (d *Data) MarkOf(ctx context.Context, id string) (m Mark, ok bool, err error) {
	if d.Exclusive {
		m, ok = d.Progress.Marks()[id]
		return m, ok, nil
	}
	err = d.Records.View(ctx, func(tx store.Tx) error {
		b, err := tx.Get(progressBucket, store.Key(id))
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		ok = true
		return json.Unmarshal(b, &m)
	})
	return m, ok, err
}

// applyMark returns the record with the progress of its job, which never
// decreases.
func applyMark(u api.Upload, at func(id string) (Mark, bool)) api.Upload {
	if u.Ended() {
		return u
	}
	m, ok := at(u.UploadID)
	if u.Stage == StageTraining {
		if s, there := at(u.SiteID); there {
			m, ok = s, true
		}
	}
	if ok && m.fraction() >= u.Progress {
		u.Stage, u.Progress = m.Stage, m.fraction()
	}
	return u
}

// progressBucket holds the progress of the jobs of all replicas by upload or site.
const progressBucket = "progress"

// WriteProgress stores the progress that differs from what was saved before, and
// deletes what has ended.
func (d *Data) WriteProgress(ctx context.Context, saved, now map[string]Mark) error {
	return d.Records.Update(ctx, func(tx store.Tx) error {
		for id, m := range now {
			if m == saved[id] {
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
		for id := range saved {
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

// WithProgress sets the current progress in the records. If there are other replicas, it
// reads the stored progress of all, so that no replica is ahead of another.
func (d *Data) WithProgress(ctx context.Context, list ...api.Upload) error {
	if d.Exclusive {
		marks := d.Progress.Marks()
		for i := range list {
			list[i] = applyMark(list[i], func(id string) (Mark, bool) { m, ok := marks[id]; return m, ok })
		}
		return nil
	}
	if !slices.ContainsFunc(list, func(u api.Upload) bool { return !u.Ended() }) {
		return nil
	}
	return d.Records.View(ctx, func(tx store.Tx) error {
		var failed error
		for i := range list {
			list[i] = applyMark(list[i], func(id string) (m Mark, ok bool) {
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
