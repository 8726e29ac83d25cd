package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

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

func (s *server) kpiRollup(in *input) (*call, error) { return s.stored(in, api.SnapshotKPIs) }

func (s *server) maintenanceSchedule(in *input) (*call, error) {
	return s.stored(in, api.SnapshotSchedule)
}

// stored answers a document byte by byte as it was made.
func (s *server) stored(in *input, kind string) (*call, error) {
	site, err := in.required("site_id")
	if err != nil {
		return nil, err
	}
	return &call{target: target{customerID: in.parameter("customer_id"), siteID: &site, brief: true}, run: func(ctx context.Context, _ granted) (any, error) {
		doc, err := s.Snapshots.Snapshot(ctx, site, kind)
		return streamed(func(b *body) error {
			b.buf = append(b.buf, doc...)
			return nil
		}), err
	}}, nil
}

func (s *server) maintenanceSignals(in *input) (*call, error) {
	site, err := in.required("site_id")
	if err != nil {
		return nil, err
	}
	q := api.SignalsQuery{SiteID: site}
	if text := in.parameter("since"); text != "" {
		if q.Since, err = api.ParseTime(text, time.UTC); err != nil {
			return nil, api.InvalidParameter("since", "not an ISO 8601 time")
		}
	}
	if text := in.parameter("severity"); text != "" {
		if q.Severity, err = api.PartnerSeverity(text); err != nil {
			return nil, err
		}
	}
	if !q.Filtered() {
		return s.stored(in, api.SnapshotSignals)
	}
	return &call{target: target{customerID: in.parameter("customer_id"), siteID: &q.SiteID, brief: true}, run: func(ctx context.Context, _ granted) (any, error) {
		return s.Snapshots.Signals(ctx, q)
	}}, nil
}

// snapshot is any document by its kind, with the parameters of its own path.
func (s *server) snapshot(in *input) (*call, error) {
	if err := missing(api.MissingParameter, "site_id", in.parameter("site_id"), "kind", in.parameter("kind")); err != nil {
		return nil, err
	}
	kind := in.parameter("kind")
	switch {
	case kind == api.SnapshotSignals:
		return s.maintenanceSignals(in)
	case kind == api.SnapshotForecast, kind == strings.TrimPrefix(api.PathForecastSnapshot, "/"):
		return s.forecastSnapshot(in)
	case slices.Contains(api.SnapshotKinds(), kind):
		return s.stored(in, kind)
	}
	return nil, api.InvalidParameter("kind", fmt.Sprintf("there is no snapshot %q; it is one of %s", kind, strings.Join(api.SnapshotKinds(), ", ")))
}

func (s *server) forecastSnapshot(in *input) (*call, error) {
	site, err := in.required("site_id")
	if err != nil {
		return nil, err
	}
	hours := api.DefaultSnapshotHours
	if text := in.parameter("horizon"); text != "" {
		n, err := strconv.Atoi(strings.TrimSuffix(text, "h"))
		if err != nil || n < 1 || n > api.MaxHorizonHours {
			return nil, api.InvalidParameter("horizon", fmt.Sprintf("hours from 1h to %dh", api.MaxHorizonHours))
		}
		hours = n
	}
	return &call{target: target{customerID: in.parameter("customer_id"), siteID: &site}, run: func(ctx context.Context, g granted) (any, error) {
		return s.Forecasts.ForecastSnapshot(ctx, g.scope, site, hours)
	}}, nil
}
