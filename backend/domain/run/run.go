// Package run keeps the runs that people start: training, forecasts, gap filling and
// detection of a site. The pipeline does their work.
package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/store"
)

// Service keeps runs. It is safe for concurrent use; its state is in the store.
type Service struct {
	records store.Records
	now     func() time.Time
	sites   *site.Service
}

// New returns a Service over a store. now is the plant's clock.
func New(records store.Records, now func() time.Time, sites *site.Service) *Service {
	return &Service{records: records, now: now, sites: sites}
}

// Tables returns the tables of the package, for a check of the data.
func Tables() []store.Checked { return []store.Checked{runs} }

// Run is a run as it is kept. Its fields have the meaning of those of [api.ManualRun].
type Run struct {
	RunID       string    `json:"run_id" limit:"id"`
	SiteID      string    `json:"site_id" limit:"id"`
	CustomerID  string    `json:"customer_id" limit:"id"`
	Kind        string    `json:"kind" limit:"word"`
	From        time.Time `json:"from,omitzero"`
	To          time.Time `json:"to,omitzero"`
	Status      string    `json:"status" limit:"word"`
	Result      string    `json:"result,omitempty" limit:"line cut"`
	RequestedBy string    `json:"requested_by" limit:"name cut"`
	RequestedAt time.Time `json:"requested_at"`
	StartedAt   time.Time `json:"started_at,omitzero"`
	EndedAt     time.Time `json:"ended_at,omitzero"`
}

var runs = store.Table[Run]{
	Bucket: "manual-runs",
	Key:    func(r Run) []byte { return store.Key(r.SiteID, r.RunID) },
}

// kept is the number of runs of a site that stay.
const kept = 50

// Ended reports whether the run is over.
func (r Run) Ended() bool { return r.Status == api.RunCompleted || r.Status == api.RunFailed }

// Wire returns the run as it is answered, without the progress of one that runs.
func (r Run) Wire() api.ManualRun {
	out := api.ManualRun{RunID: r.RunID, SiteID: r.SiteID, CustomerID: r.CustomerID, Kind: r.Kind, Status: r.Status, Result: r.Result, RequestedBy: r.RequestedBy, RequestedAt: api.At(r.RequestedAt)}
	for _, t := range []struct {
		from time.Time
		to   *api.Time
	}{{r.From, &out.From}, {r.To, &out.To}, {r.StartedAt, &out.StartedAt}, {r.EndedAt, &out.EndedAt}} {
		if !t.from.IsZero() {
			*t.to = api.At(t.from)
		}
	}
	if r.Ended() {
		out.Progress = 1
	}
	return out
}

// Add stores a new run within the scope, unless one of its kind is in progress, and
// deletes the oldest of the site beyond those that are kept.
func (s *Service) Add(tx store.Tx, scope api.Scope, r Run) (Run, error) {
	of, err := s.sites.SiteIn(tx, scope, r.SiteID)
	if err != nil {
		return r, err
	}
	all, _, err := runs.List(tx, store.Query{Prefix: store.Key(r.SiteID), Reverse: true})
	if err != nil {
		return r, fmt.Errorf("list the runs of site %s: %w", r.SiteID, err)
	}
	for i, other := range all {
		if other.Kind == r.Kind && !other.Ended() {
			return r, api.InProgress("A run of this kind is in progress: %s", other.RunID)
		}
		if i >= kept-1 && other.Ended() {
			if err := runs.Delete(tx, store.Key(other.SiteID, other.RunID)); err != nil {
				return r, fmt.Errorf("delete an old run of site %s: %w", r.SiteID, err)
			}
		}
	}
	r.RequestedAt = s.now().UTC()
	r.RunID, r.CustomerID, r.Status, r.RequestedBy = record.NewID("run", r.RequestedAt), of.CustomerID, api.RunQueued, scope.Actor
	return r, put(tx, r)
}

// Get returns a run; [store.ErrNotFound] if its site or itself was deleted.
func (s *Service) Get(tx store.Tx, siteID, runID string) (Run, error) {
	return runs.Get(tx, store.Key(siteID, runID))
}

// Begin records that a run has begun.
func (s *Service) Begin(tx store.Tx, r Run) (Run, error) {
	r.Status = api.RunRunning
	if r.StartedAt.IsZero() {
		r.StartedAt = s.now().UTC()
	}
	return r, put(tx, r)
}

// End records the result of a run, unless it was deleted with its site.
func (s *Service) End(tx store.Tx, r Run, status, result string) error {
	if _, err := s.Get(tx, r.SiteID, r.RunID); errors.Is(err, store.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	r.Status, r.Result, r.EndedAt = status, result, s.now().UTC()
	return put(tx, r)
}

func put(tx store.Tx, r Run) error {
	if err := runs.Put(tx, r); err != nil {
		return fmt.Errorf("store the run %s of site %s: %w", r.RunID, r.SiteID, err)
	}
	return nil
}

// List lists the runs of a site within the scope, newest first.
func (s *Service) List(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.ManualRun, string, error) {
	found, next, err := record.List(ctx, s.records, runs, store.Query{Prefix: store.Key(q.SiteID), Reverse: true}, q.Page, func(r Run) bool {
		return record.Matches(scope, q)(r.CustomerID, r.SiteID, "") && q.Since(record.Later(r.RequestedAt, record.Later(r.StartedAt, r.EndedAt)))
	})
	if err != nil {
		return nil, "", fmt.Errorf("list runs: %w", err)
	}
	out := make([]api.ManualRun, len(found))
	for i, r := range found {
		out[i] = r.Wire()
	}
	return out, next, nil
}
