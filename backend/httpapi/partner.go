package httpapi

import (
	"context"
	"encoding/json"

	"app.sunloop/backend/api"
)

// Snapshots are the documents that were made beforehand for partner systems.
// Who may see a site is checked before they are asked.
type Snapshots interface {
	// Snapshot is a document as it was made; api.ErrNotFound when none was.
	Snapshot(ctx context.Context, siteID, kind string) (json.RawMessage, error)
	// Signals are those of the document that q asks for.
	Signals(ctx context.Context, q api.SignalsQuery) (api.MaintenanceSignals, error)
}

func (s *server) snapshotHandlers() {
	handleStream(s, api.GetKPIRollup, func(ctx context.Context, _ *caller, q *api.SnapshotQuery) (any, error) {
		return s.storedSnapshot(ctx, q.SiteID, api.SnapshotKPIs)
	})
	handleStream(s, api.GetMaintenanceSchedule, func(ctx context.Context, _ *caller, q *api.SnapshotQuery) (any, error) {
		return s.storedSnapshot(ctx, q.SiteID, api.SnapshotSchedule)
	})
	handleStream(s, api.GetMaintenanceSignals, func(ctx context.Context, _ *caller, q *api.SnapshotQuery) (any, error) { return s.signals(ctx, q) })
	handle(s, api.GetForecastSnapshot, s.forecastSnapshot)
	handleStream(s, api.GetSnapshot, func(ctx context.Context, c *caller, q *api.SnapshotQuery) (any, error) {
		switch {
		case q.Kind == api.SnapshotSignals:
			return s.signals(ctx, q)
		case q.IsForecast():
			return s.forecastSnapshot(ctx, c, q)
		}
		return s.storedSnapshot(ctx, q.SiteID, q.Kind)
	})
}

// storedSnapshot answers a document byte by byte as it was made.
func (s *server) storedSnapshot(ctx context.Context, siteID, kind string) (any, error) {
	doc, err := s.Snapshots.Snapshot(ctx, siteID, kind)
	return raw(doc), err
}

// signals returns those that the query selects; all of them as they were made.
func (s *server) signals(ctx context.Context, q *api.SnapshotQuery) (any, error) {
	signals, err := q.Signals()
	if err != nil {
		return nil, err
	}
	if !signals.Filtered() {
		return s.storedSnapshot(ctx, q.SiteID, api.SnapshotSignals)
	}
	return s.Snapshots.Signals(ctx, signals)
}

func (s *server) forecastSnapshot(ctx context.Context, c *caller, q *api.SnapshotQuery) (api.ForecastSnapshot, error) {
	hours, err := q.Hours()
	if err != nil {
		return api.ForecastSnapshot{}, err
	}
	return s.Forecasts.ForecastSnapshot(ctx, c.scope, q.SiteID, hours)
}

// raw is a response that is stored as its bytes.
func raw(b []byte) streamed {
	return func(out *body) error {
		out.buf = append(out.buf, b...)
		return nil
	}
}
