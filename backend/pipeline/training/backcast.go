package training

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"app.sunloop/backend/api"
	forecasts "app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/run"
	"app.sunloop/backend/pipeline/forecasting"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/forecast"
	"app.sunloop/engine/series"
	"app.sunloop/internal/display"
)

// backcastDays is the number of days before the newest data that get a backcast if no
// forecast was issued for them.
const backcastDays = 30

// backcastOrigins are of the backtest of the model that forecasts them: one sets the
// weights of the members and the widths of the bands, which adapt from day to day.
const backcastOrigins = 1

// backcastDelay is how many times [Trainer.Quiet] a backcast waits after a training, so
// that trainings of other sites come first.
const backcastDelay = 10

// daysToBackcast returns the last days of a site before today that have data, ascending.
func daysToBackcast(first, last, now time.Time, zone *time.Location) []forecasting.Span {
	end := series.NextMidnight(last, zone)
	if today := series.Midnight(now, zone); today.Before(end) {
		end = today
	}
	y, m, d := end.In(zone).Date()
	begin := series.Midnight(time.Date(y, m, d-backcastDays, 12, 0, 0, 0, zone), zone)
	if least := series.NextMidnight(first, zone); begin.Before(least) {
		begin = least // the first day has nothing before it
	}
	var out []forecasting.Span
	for from, to := range series.Days(begin, end, zone) {
		out = append(out, forecasting.Span{From: from, To: to})
	}
	return out
}

// RequestBackcast starts a run that computes the forecasts of a site's last days, if it has
// a model and there are days without a forecast.
func (tr *Trainer) RequestBackcast(ctx context.Context, site api.Site) error {
	first, last, ok, err := tr.Telemetry.Period(ctx, site.SiteID, "")
	if err != nil || !ok {
		return err
	}
	zone := record.Zone(site.Timezone)
	var dates []string
	for _, d := range daysToBackcast(first, last, tr.Now(), zone) {
		dates = append(dates, d.From.In(zone).Format(time.DateOnly))
	}
	err = tr.Records.Update(ctx, func(tx store.Tx) error {
		if _, err := tr.Domain.Models.ProductionIn(tx, site.SiteID, sitedata.ModelType); err != nil {
			return err
		}
		if complete, err := forecasts.HasDays(tx, site.SiteID, dates); err != nil || complete {
			return err
		}
		r, err := tr.Domain.Runs.Add(tx, api.Unlimited(sitedata.Actor), run.Run{SiteID: site.SiteID, Kind: api.RunBackcast})
		if err != nil {
			return err
		}
		job := tr.NewJob(sitedata.JobManual, sitedata.Payload{SiteID: site.SiteID, RunID: r.RunID})
		job.RunAt = job.RunAt.Add(backcastDelay * tr.Quiet)
		return tx.Enqueue(job)
	})
	var refusal *api.Error
	if errors.Is(err, store.ErrNotFound) || errors.As(err, &refusal) && refusal.Status == http.StatusConflict {
		return nil // no model, or a run is in progress
	}
	return err
}

// Backcast computes the forecasts of a site's last days as they would have been issued at
// their midnights, and stores those of days for which none was issued. They are made by a
// model that is trained for this on the data before these days; if there are too few, by
// the model in production, which has been trained on them. words describe the result.
func (tr *Trainer) Backcast(ctx context.Context, siteID string, progress func(share float64)) (words string, err error) {
	site, err := tr.Domain.Sites.Site(ctx, api.Unlimited(sitedata.Actor), siteID)
	if err != nil {
		return "", err
	}
	s, err := tr.loadSite(ctx, site)
	if err != nil {
		return "", err
	}
	if !s.ok {
		return "", errors.New("the site has no telemetry")
	}
	power := s.history.Trimmed()
	days := daysToBackcast(power.Start, power.End().Add(-time.Second), tr.Now(), s.Zone)
	if len(days) == 0 {
		return "", errors.New("there is no day before today with data before it")
	}
	p := forecasting.Past{Site: site, Zone: s.Zone, Location: s.Location, CapacityKW: s.CapacityKW}
	record, err := tr.Domain.Models.InProduction(ctx, siteID, sitedata.ModelType)
	if errors.Is(err, store.ErrNotFound) {
		return "", errors.New("the site has no model yet: train one first")
	}
	if err != nil {
		return "", err
	}
	if record.Young {
		if s.history.Peers, err = tr.peerSites(ctx, site, s.Location); err != nil {
			return "", err
		}
	}
	tr.addWeather(ctx, &s)
	p.History = s.history
	const training = 0.8 // share of the work
	if p.Model, err = tr.earlierModel(ctx, s, record.Young, days[0].From, func(share float64) { progress(training * share) }); err != nil {
		return "", err
	}
	p.TrainedTo = days[0].From
	if p.Model == nil {
		if p.Model, err = tr.DecodeModel(ctx, record); err != nil {
			return "", fmt.Errorf("read the model of site %s: %w", siteID, err)
		}
		p.Version, p.TrainedTo = record.ModelVersion, record.TrainingDataWindow.End.Time
	}
	list, err := tr.Forecasts.Backcasts(ctx, p, days, func(share float64) { progress(training + (1-training)*share) })
	if err != nil {
		return "", err
	}
	stored := 0
	err = tr.Records.Update(ctx, func(tx store.Tx) (err error) {
		stored, err = tr.Domain.Forecasts.AddBackcasts(tx, list)
		return err
	})
	return backcastWords(list, stored, p), err
}

// earlierModel trains a model on what was known at a time; nil if that is too little.
func (tr *Trainer) earlierModel(ctx context.Context, s trainingSite, young bool, at time.Time, progress func(share float64)) (*forecast.Model, error) {
	train := forecast.Train
	if young {
		train = forecast.TrainPooled
	}
	h := s.history.Before(at.Truncate(sitedata.ModelStep))
	m, _, err := train(ctx, s.Site, forecast.History{Power: h.Trimmed(), Weather: h.Weather, Siblings: h.Peers}, forecast.Options{
		Seed: sitedata.Seed(s.ID), Workers: tr.Workers, Resolution: sitedata.ModelStep, Origins: backcastOrigins,
		Progress: func(_ string, share float64) { progress(share) },
	})
	if errors.Is(err, forecast.ErrUnfit) {
		return nil, nil
	}
	return m, err
}

// backcastWords describe the result of a backcast.
func backcastWords(list []forecasts.Day, stored int, p forecasting.Past) string {
	if stored == 0 {
		return "Each of the last days has a forecast that was issued for it."
	}
	var sum forecasts.ScoreSum
	for _, d := range list {
		sum.Merge(d.Backcast.Score)
	}
	words := "hindcasts of " + display.CountOf(stored, "day", "days") + ", "
	if p.Version == "" {
		words += "by a model trained on the data before " + display.Date(p.TrainedTo.In(p.Zone))
	} else {
		words += "by model " + p.Version + ", which was trained on these days"
	}
	if sum.N > 0 {
		score := sum.Score()
		words += fmt.Sprintf("; error in daylight %s of capacity, %s of hours within P10 to P90", display.Percentage(score.NMAEPercent), display.Percent(score.Coverage80))
	}
	return words + "; weather: " + list[len(list)-1].Backcast.Weather + "."
}
