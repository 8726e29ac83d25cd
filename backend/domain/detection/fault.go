package detection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/alert"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
)

// Fault is a finding with its stored details.
type Fault struct {
	finding.Finding
	Alert   *alert.Alert         // the newest that reports it, or nil
	Metrics *api.AnalysisMetrics // of the run that said something new of its unit last; nil where it groups several, or the run is forgotten
}

// Faults are the findings of a site that last, or ended at since or later, for
// the service itself; the first that began is first.
func (s *Service) Faults(ctx context.Context, siteID string, since time.Time) ([]Fault, error) {
	var out []Fault
	err := s.records.View(ctx, func(tx store.Tx) error {
		out = nil
		err := finding.EachOfSite(tx, siteID, func(f finding.Finding) (err error) {
			if !f.Active && f.EndedAt.Before(since) {
				return nil
			}
			one := Fault{Finding: f}
			if one.Alert, err = alert.LatestOf(tx, f.SiteID, f.SummaryID); err != nil {
				return err
			}
			if one.Alert != nil {
				one.Alert.ExpireTimers(s.now())
			}
			if one.Metrics, err = lastMetrics(tx, f); err != nil {
				return err
			}
			out = append(out, one)
			return nil
		})
		return record.Wrap(err, "list the findings of site "+siteID)
	})
	slices.SortStableFunc(out, func(a, b Fault) int { return a.StartedAt.Compare(b.StartedAt.Time) })
	return out, err
}

// lastMetrics are of the newest run that the finding names and that is kept.
func lastMetrics(tx store.Tx, f finding.Finding) (*api.AnalysisMetrics, error) {
	if f.Subject == "" {
		return nil, nil
	}
	for _, id := range slices.Backward(f.Detections) {
		d, err := detections.Get(tx, store.Key(f.SiteID, f.Subject, id))
		switch {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return nil, fmt.Errorf("read detection %s: %w", id, err)
		case d.Analysis != nil:
			return &d.Analysis.Metrics, nil
		}
	}
	return nil, nil
}
