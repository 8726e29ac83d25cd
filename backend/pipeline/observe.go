package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"app.sunloop/backend/ops"
	"app.sunloop/backend/store"
	"app.sunloop/engine/forecast"
	"app.sunloop/engine/series"
	"app.sunloop/engine/weather"
)

// calibration is what a model learned of the width of its bands since its
// training, beside its artefact.
type calibration struct {
	SiteID string    `json:"site_id" limit:"id"`
	Hash   string    `json:"hash" limit:"name"` // of the artefact
	To     time.Time `json:"to"`                // the site's midnight up to which actuals were seen
	State  []byte    `json:"state" limit:"16MiB"`
}

var calibrations = store.Table[calibration]{
	Bucket: "calibrations",
	Key:    func(c calibration) []byte { return store.Key(c.SiteID, c.Hash) },
}

// mostObserved is how far back a model learns from actuals that it has not
// seen: a model that comes from the archive catches up with the season.
const mostObserved = 60 * day

// longestDelay is how long after midnight a day's first forecast may have been
// issued to stand for the day.
const longestDelay = 3 * time.Hour

func (p *Pipeline) calibration(ctx context.Context, m ops.Model) (c calibration, err error) {
	err = p.Records.View(ctx, func(tx store.Tx) error {
		c, err = calibrations.Get(tx, store.Key(m.SiteID, m.Hash))
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return calibration{SiteID: m.SiteID, Hash: m.Hash}, nil
	}
	if err != nil {
		return c, fmt.Errorf("read the calibration of site %s: %w", m.SiteID, err)
	}
	return c, nil
}

// calibrate gives a model that was just read what it has learned since, and
// answers that.
func (p *Pipeline) calibrate(record ops.Model, c calibration, m *forecast.Model) calibration {
	if c.State == nil {
		return c
	}
	if err := m.Calibrate(c.State); err != nil {
		p.Logger.Warn("a calibration cannot be read, it is learned anew", "site", record.SiteID, "model", record.ModelVersion, "error", err)
		return calibration{SiteID: record.SiteID, Hash: record.Hash}
	}
	return c
}

// observe lets the model in production learn from the days that are over since
// it last did: each as its first forecast saw it. The same days teach the same,
// whether the service was restarted between them or not.
func (s *subject) observe(ctx context.Context, lastData time.Time) error {
	record := s.model.record
	c, err := s.p.calibration(ctx, record)
	if err != nil {
		return err
	}
	from := c.To
	if from.IsZero() {
		from = record.TrainingDataWindow.End.UTC()
	}
	if earliest := lastData.Add(-mostObserved); from.Before(earliest) {
		from = earliest
	}
	if midnight := series.Midnight(from, s.zone); midnight.Before(from) {
		from = series.NextMidnight(from, s.zone)
	}
	if series.NextMidnight(from, s.zone).After(lastData) {
		return nil // the next day is not over
	}
	// A copy of its own: others may be forecasting with the model.
	m, err := s.p.decode(ctx, record)
	if err != nil {
		return fmt.Errorf("read the model of site %s: %w", s.site.SiteID, err)
	}
	c = s.p.calibrate(record, c, m)
	h, err := s.p.readHistory(ctx, s.site.SiteID, s.units, from.Add(-recentSpan), lastData, modelStep, s.zone)
	if err != nil {
		return err
	}
	issued, err := s.p.Ops.IssuedSince(ctx, s.site.SiteID, from)
	if err != nil {
		return err
	}
	for start, end := range series.Days(from, lastData, s.zone) {
		if end.After(lastData) {
			break
		}
		issue, wx, err := s.asIssued(ctx, h, issued, start, end)
		if err != nil {
			return err
		}
		if _, err := m.Observe(issue, h.before(issue.Truncate(modelStep)).power, wx, end.Sub(issue), h.power.Slice(start, end)); err != nil {
			return fmt.Errorf("observe %s of site %s: %w", start.In(s.zone).Format(time.DateOnly), s.site.SiteID, err)
		}
		c.To = end.UTC()
	}
	c.State = m.Calibration()
	if err := s.p.keepCalibration(ctx, c); err != nil {
		return err
	}
	s.model = loaded{record, m, c.To}
	s.p.models.put(s.site.SiteID, s.model)
	return nil
}

// asIssued is when a day's first forecast was issued, and the weather that was
// known then; midnight, where none was.
func (s *subject) asIssued(ctx context.Context, h history, issued []ops.Forecast, start, end time.Time) (time.Time, weather.Forecast, error) {
	issue := start
	for _, f := range issued {
		if f.IssuedAt.Before(start) {
			continue
		}
		if f.IssuedAt.Sub(start) <= longestDelay {
			issue = f.IssuedAt
		}
		break
	}
	wx, err := s.p.weatherThen(ctx, s.site.SiteID, s.location, h.before(issue.Truncate(modelStep)), issue, end.Sub(issue))
	return issue, wx, err
}

// keepCalibration stores a calibration and forgets those of the site's other
// models: they would be out of date when these come back.
func (p *Pipeline) keepCalibration(ctx context.Context, c calibration) error {
	err := p.Records.Update(ctx, func(tx store.Tx) error {
		all, _, err := calibrations.List(tx, store.Query{Prefix: store.Key(c.SiteID)})
		if err != nil {
			return err
		}
		for _, other := range all {
			if other.Hash == c.Hash {
				continue
			}
			if err := calibrations.Delete(tx, calibrations.Key(other)); err != nil {
				return err
			}
		}
		return calibrations.Put(tx, c)
	})
	if err != nil {
		return fmt.Errorf("store the calibration of site %s: %w", c.SiteID, err)
	}
	return nil
}
