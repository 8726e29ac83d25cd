// Package snapshot builds the documents for partner systems.
package snapshot

import (
	"context"
	"errors"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/partner"
	"app.sunloop/backend/pipeline/forecasting"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
)

// Builder builds the snapshots for partner systems.
type Builder struct {
	*sitedata.Data
	Forecasts *forecasting.Forecaster
	Partner   *partner.Service
}

// RunJob builds a site's snapshots.
func (b *Builder) RunJob(ctx context.Context, job store.Claimed) error {
	body, err := sitedata.ReadPayload(job)
	if err != nil {
		return err
	}
	state, err := b.State(ctx, body.SiteID)
	if err != nil {
		return err
	}
	now := b.Now()
	end := now
	if !state.IsReporting(now) || state.LastData.After(now) {
		// A file without a feed ends where it ends; the last reading of a day
		// may stand for an hour.
		end = state.LastData.Add(time.Hour)
	}
	err = b.Partner.Make(ctx, body.SiteID, end)
	if errors.Is(err, api.ErrSiteNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return b.recordInputs(ctx, body.SiteID, sitedata.SnapshotInputs{At: now, DetectAt: state.DetectAt, ForecastAt: state.ForecastAt})
}

func (b *Builder) recordInputs(ctx context.Context, siteID string, m sitedata.SnapshotInputs) error {
	return b.Records.Update(ctx, func(tx store.Tx) error {
		_, err := sitedata.UpdateState(tx, siteID, func(t *sitedata.State) { t.Snapshots = m })
		return err
	})
}

// JobFailed lets the planner build them again when there is news, or at its usual
// time.
func (b *Builder) JobFailed(ctx context.Context, job store.Claimed, _ error) error {
	return b.SkipJob(ctx, job, func(t *sitedata.State) {
		t.Snapshots = sitedata.SnapshotInputs{At: b.Now(), DetectAt: t.DetectAt, ForecastAt: t.ForecastAt}
	})
}

// ForecastSnapshot answers GET /forecast-snapshot: the stored snapshot or, if that
// does not reach far enough, one built now; [api.ErrNotFound] for a site without a
// model.
func (b *Builder) ForecastSnapshot(ctx context.Context, scope api.Scope, siteID string, hours int) (api.ForecastSnapshot, error) {
	site, err := b.Domain.Sites.Site(ctx, scope, siteID)
	if err != nil {
		return api.ForecastSnapshot{}, err
	}
	made, err := b.Partner.Forecast(ctx, site, hours)
	if !errors.Is(err, api.ErrNotFound) {
		return made, err
	}
	f, _, err := b.Forecasts.Current(ctx, site, hours)
	if errors.Is(err, store.ErrNotFound) {
		return api.ForecastSnapshot{}, api.ErrNotFound
	}
	if err != nil {
		return api.ForecastSnapshot{}, b.Forecasts.RequestError(siteID, err)
	}
	return b.Partner.ForecastOf(site, f, forecast.NextHour(b.Now()), hours), nil
}
