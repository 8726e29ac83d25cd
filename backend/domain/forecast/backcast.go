package forecast

import (
	"errors"
	"fmt"
	"time"

	"app.sunloop/backend/store"
)

// Backcast says that a [Day] was computed after it was over, as it would have been
// forecast at the site's midnight, for days before the first forecast of a site. It says
// what was used.
type Backcast struct {
	ComputedAt   time.Time `json:"computed_at"`
	ModelVersion string    `json:"model_version,omitempty" limit:"id"` // of the model in production, if it made the forecast; else one was trained for this
	TrainedTo    time.Time `json:"trained_to"`                         // end of the data that the model was trained on
	Weather      string    `json:"weather" limit:"name cut"`           // source of the weather
	Score        ScoreSum  `json:"score"`                              // against what was measured
}

// TrainedOn reports whether the model that forecast the day was trained on data of
// the day.
func (d *Day) TrainedOn() bool { return d.Backcast != nil && d.Backcast.TrainedTo.After(d.Start) }

// NewBackcast returns the day of a forecast that covers it and was computed afterwards.
func NewBackcast(f Forecast, from, to time.Time, zone *time.Location, b Backcast) Day {
	d := emptyDay(f, from.In(zone).Format(time.DateOnly), from, to, Day{})
	d.issue(f, true)
	b.Weather = f.Source
	d.Backcast = &b
	return d
}

// AddBackcasts stores days that were computed afterwards, and returns how many. A day for
// which a forecast was issued keeps it.
func (s *Service) AddBackcasts(tx store.Tx, list []Day) (stored int, err error) {
	for _, d := range list {
		is, err := days.Get(tx, store.Key(d.SiteID, d.Day))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return 0, fmt.Errorf("read the forecast day %s of site %s: %w", d.Day, d.SiteID, err)
		}
		if err == nil && is.Backcast == nil {
			continue
		}
		if err := days.Put(tx, d); err != nil {
			return 0, fmt.Errorf("store the backcast of %s of site %s: %w", d.Day, d.SiteID, err)
		}
		stored++
	}
	return stored, nil
}

// HasDays reports whether each of a site's days, as dates, has a forecast or a backcast.
func HasDays(tx store.Tx, siteID string, dates []string) (bool, error) {
	for _, date := range dates {
		_, err := tx.Get(days.Bucket, store.Key(siteID, date))
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("read the forecast day %s of site %s: %w", date, siteID, err)
		}
	}
	return true, nil
}

// addBackcasts adds the scores of a site's backcasts within dates.
func addBackcasts(tx store.Tx, siteID, first, last string, sum *ScoreSum) error {
	for e, err := range tx.Scan(days.Bucket, store.Key(siteID, first), store.After(store.Key(siteID, last)), false) {
		if err != nil {
			return err
		}
		d, err := days.Get(tx, e.Key)
		if err != nil {
			return err
		}
		if d.Backcast != nil {
			sum.Merge(d.Backcast.Score)
		}
	}
	return nil
}
