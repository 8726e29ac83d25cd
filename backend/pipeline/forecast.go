package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/ops"
	"app.sunloop/backend/store"
	"app.sunloop/engine/forecast"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

// Spans of the past that forecasts are made from.
const (
	// recentSpan is what a model may see of the site's newest power.
	recentSpan = 45 * day
	// margin is how much further than the horizon a stored forecast reaches, so
	// that it still answers for the whole horizon until the next one.
	margin = 6 * time.Hour
)

// forecast is the job that issues a site's forecast.
func (p *Pipeline) forecast(ctx context.Context, job store.Claimed) error {
	body, err := read(job)
	if err != nil {
		return err
	}
	return p.issue(ctx, body.SiteID)
}

// issue makes and stores a forecast as of now, after what came of former ones
// was looked at. A site without a model has none.
func (p *Pipeline) issue(ctx context.Context, siteID string) error {
	s, err := p.subject(ctx, siteID)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, api.ErrSiteNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	now := p.Now()
	track, err := p.track(ctx, siteID)
	if err != nil {
		return err
	}
	if err := s.observe(ctx, track.LastData); err != nil {
		return err
	}
	scores, scored, err := s.scores(ctx, track, now)
	if err != nil {
		return err
	}
	f, err := s.make(ctx, now, time.Duration(p.HorizonHours)*time.Hour+margin)
	if err != nil {
		return err
	}
	f.HorizonHours = p.HorizonHours
	if _, err := p.Ops.Day(ctx, siteID, now, s.zone); errors.Is(err, store.ErrNotFound) {
		if f, err = s.withMorning(ctx, f); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	err = p.Records.Update(ctx, func(tx store.Tx) error {
		if err := p.Ops.AddForecast(tx, f, s.zone); err != nil {
			return err
		}
		if err := p.Ops.PutScores(tx, scores); err != nil {
			return err
		}
		former := time.Time{}
		_, err := advance(tx, siteID, func(t *Track) {
			former = t.ForecastAt
			t.ForecastAt, t.ForecastData, t.ScoredTo = now, track.Data, scored
		})
		// One word an hour is news; a live feed may issue one a minute.
		if err != nil || now.Sub(former) < time.Hour {
			return err
		}
		return p.Ops.Note(tx, ops.Note{CustomerID: s.site.CustomerID, SiteID: siteID, Phase: api.PhaseDecide, Title: "Forecast issued",
			Description: fmt.Sprintf("%d hours ahead by %s %s", f.HorizonHours, f.ModelName, f.ModelVersion), Actor: "pipeline"})
	})
	if err == nil {
		tell(p.Observe.Forecast)
	}
	return err
}

// subject is a site with all that a forecast of it is made from.
type subject struct {
	p        *Pipeline
	site     api.Site
	zone     *time.Location
	units    []api.Asset
	model    loaded
	location solar.Location
}

// subject reads a site and its model; [store.ErrNotFound] when it has none.
func (p *Pipeline) subject(ctx context.Context, siteID string) (subject, error) {
	s := subject{p: p}
	var err error
	if s.site, err = p.Ops.Site(ctx, api.Unlimited("pipeline"), siteID); err != nil {
		return s, err
	}
	s.zone = ops.Zone(s.site)
	if s.units, err = p.Ops.SiteAssets(ctx, siteID); err != nil {
		return s, err
	}
	if s.model, err = p.model(ctx, siteID); err != nil {
		return s, err
	}
	s.location, _ = location(s.site, s.model.record.Place)
	return s, nil
}

// make forecasts from what is known at issue, over a horizon.
func (s subject) make(ctx context.Context, issue time.Time, horizon time.Duration) (ops.Forecast, error) {
	h, err := s.p.readHistory(ctx, s.site.SiteID, s.units, issue.Add(-recentSpan), issue.Add(horizon+modelStep), modelStep, s.zone)
	if err != nil {
		return ops.Forecast{}, err
	}
	// Beyond the issue only forecasts may be seen; the hour that holds it is
	// not over.
	h = h.before(issue.Truncate(modelStep))
	wx, issued, err := s.p.weatherFor(ctx, s.location, h, issue, horizon)
	if err != nil {
		return ops.Forecast{}, err
	}
	points, err := s.model.model.Forecast(issue, h.trimmed(), wx, horizon)
	if err != nil {
		return ops.Forecast{}, fmt.Errorf("forecast site %s: %w", s.site.SiteID, err)
	}
	if len(points) == 0 {
		return ops.Forecast{}, fmt.Errorf("forecast site %s: the model gave no point", s.site.SiteID)
	}
	m := s.model.record
	f := ops.Forecast{ForecastID: ops.NewID("fc", issue), CustomerID: s.site.CustomerID, SiteID: s.site.SiteID, IssuedAt: issue.UTC(),
		ModelName: m.ModelName, ModelVersion: m.ModelVersion, HorizonHours: int(horizon / time.Hour), Metrics: m.Metrics, Source: wx.Source}
	if issued != nil {
		kept := ops.WeatherOf(s.site.SiteID, *issued)
		f.Weather = &kept
	}
	fill(&f, points)
	return f, nil
}

func fill(f *ops.Forecast, points []forecast.Point) {
	f.Start, f.StepMinutes = points[0].Time.UTC(), int(points[0].Step/time.Minute)
	for _, pt := range points {
		f.P10KW, f.P50KW, f.P90KW = append(f.P10KW, pt.P10KW), append(f.P50KW, pt.P50KW), append(f.P90KW, pt.P90KW)
		f.ClearSkyKW = append(f.ClearSkyKW, pt.ClearSkyKW)
		f.TemperatureC = append(f.TemperatureC, pt.Weather.TemperatureC)
		f.GHIWM2 = append(f.GHIWM2, pt.Weather.GHI)
		f.WindMS = append(f.WindMS, pt.Weather.WindSpeedMS)
	}
}

// withMorning puts the hours of today before f's in front of it, as they would
// have been issued at the site's midnight: from what was known then. Without
// them the first day of a site would begin in the middle.
func (s subject) withMorning(ctx context.Context, f ops.Forecast) (ops.Forecast, error) {
	midnight := series.Midnight(f.IssuedAt, s.zone)
	if !f.Start.After(midnight) {
		return f, nil
	}
	early, err := s.make(ctx, midnight, f.Start.Sub(midnight)+f.Step())
	if err != nil {
		return f, err
	}
	k := int(f.Start.Sub(early.Start) / f.Step())
	if early.StepMinutes != f.StepMinutes || k <= 0 || k > len(early.P50KW) {
		return f, nil
	}
	f.Start = early.Start
	for _, v := range []struct {
		to    *ops.Numbers
		early ops.Numbers
	}{{&f.P10KW, early.P10KW}, {&f.P50KW, early.P50KW}, {&f.P90KW, early.P90KW}, {&f.ClearSkyKW, early.ClearSkyKW},
		{&f.TemperatureC, early.TemperatureC}, {&f.GHIWM2, early.GHIWM2}, {&f.WindMS, early.WindMS}} {
		*v.to = append(v.early[:k:k], *v.to...)
	}
	return f, nil
}
