package pipeline

import (
	"context"
	"errors"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/ops"
	"app.sunloop/backend/store"
)

// snapshotEvery is how old a site's snapshots become without news, by the
// plant's clock: days end.
const snapshotEvery = time.Hour

// Made says from what a site's partner snapshots were made last.
type Made struct {
	At         time.Time `json:"at"` // plant's clock
	DetectAt   time.Time `json:"detect_at"`
	ForecastAt time.Time `json:"forecast_at"`
}

// stands says whether nothing was forecast or found since.
func (m Made) stands(t Track, now time.Time) bool {
	age := now.Sub(m.At)
	return m.DetectAt.Equal(t.DetectAt) && m.ForecastAt.Equal(t.ForecastAt) && age >= 0 && age < snapshotEvery
}

// snapshot is the job that makes a site's partner snapshots.
func (p *Pipeline) snapshot(ctx context.Context, job store.Claimed) error {
	body, err := read(job)
	if err != nil {
		return err
	}
	track, err := p.track(ctx, body.SiteID)
	if err != nil {
		return err
	}
	now := p.Now()
	end := now
	if !track.live(now) || track.LastData.After(now) {
		// A file without a feed ends where it ends; the last reading of a day
		// may stand for an hour.
		end = track.LastData.Add(time.Hour)
	}
	err = p.Partner.Make(ctx, body.SiteID, end)
	if errors.Is(err, api.ErrSiteNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return p.madeSnapshots(ctx, body.SiteID, Made{At: now, DetectAt: track.DetectAt, ForecastAt: track.ForecastAt})
}

func (p *Pipeline) madeSnapshots(ctx context.Context, siteID string, m Made) error {
	return p.Records.Update(ctx, func(tx store.Tx) error {
		_, err := advance(tx, siteID, func(t *Track) { t.Snapshots = m })
		return err
	})
}

// skipSnapshot lets the planner try again only when there is news, or after its
// usual pause.
func (p *Pipeline) skipSnapshot(ctx context.Context, job store.Claimed, _ error) error {
	return p.skip(ctx, job, func(t *Track) { t.Snapshots = Made{At: p.Now(), DetectAt: t.DetectAt, ForecastAt: t.ForecastAt} })
}

// ForecastSnapshot answers GET /forecast-snapshot: the one that was made
// beforehand, or, where that does not reach so far, one made now;
// [api.ErrNotFound] for a site without a model.
func (p *Pipeline) ForecastSnapshot(ctx context.Context, scope api.Scope, siteID string, hours int) (api.ForecastSnapshot, error) {
	site, err := p.Ops.Site(ctx, scope, siteID)
	if err != nil {
		return api.ForecastSnapshot{}, err
	}
	made, err := p.Partner.Forecast(ctx, site, hours)
	if !errors.Is(err, api.ErrNotFound) {
		return made, err
	}
	f, _, err := p.current(ctx, site, hours)
	if errors.Is(err, store.ErrNotFound) {
		return api.ForecastSnapshot{}, api.ErrNotFound
	}
	if err != nil {
		return api.ForecastSnapshot{}, p.forecastFailure(siteID, err)
	}
	return p.Partner.ForecastOf(site, f, ops.NextHour(p.Now()), hours), nil
}
