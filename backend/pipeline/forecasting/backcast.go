package forecasting

import (
	"context"
	"fmt"
	"math"
	"time"

	"app.sunloop/backend/api"
	forecasts "app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/pipeline/sitedata"
	engine "app.sunloop/engine/forecast"
	"app.sunloop/engine/solar"
)

// Past is a site with a model that forecasts days that are over. The model learns from
// each day after it, as one in production does: it must be used by nothing else.
type Past struct {
	Site       api.Site
	Zone       *time.Location
	Location   solar.Location
	CapacityKW float64
	History    sitedata.History
	Model      *engine.Model
	Version    string    // of the model, if it is the one in production
	TrainedTo  time.Time // end of the data that the model was trained on
}

// Span is a time from a midnight of a site to the next.
type Span struct{ From, To time.Time }

// Backcasts forecasts days that are over, ascending, each at its midnight from what was
// measured and forecast before it, and scores them. progress is called with the share that
// is done.
func (fc *Forecaster) Backcasts(ctx context.Context, p Past, days []Span, progress func(share float64)) ([]forecasts.Day, error) {
	s := subject{fc: fc, site: p.Site, zone: p.Zone, location: p.Location}
	out := make([]forecasts.Day, 0, len(days))
	for i, d := range days {
		progress(float64(i) / float64(len(days)))
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		horizon := d.To.Sub(d.From)
		known := p.History.Before(d.From.Truncate(sitedata.ModelStep))
		wx, err := fc.WeatherAsOf(ctx, p.Site.SiteID, p.Location, known, d.From, horizon)
		if err != nil {
			return nil, err
		}
		points, err := p.Model.Forecast(d.From, known.Power, wx, horizon)
		if err != nil {
			return nil, fmt.Errorf("forecast %s of site %s afterwards: %w", d.From.In(p.Zone).Format(time.DateOnly), p.Site.SiteID, err)
		}
		if len(points) == 0 {
			continue
		}
		f := forecasts.Forecast{SiteID: p.Site.SiteID, Source: wx.Source, IssuedAt: d.From.UTC(), Band: forecasts.Band{Low: s.band.Low, High: s.band.High}}
		fill(&f, points)
		day := forecasts.NewBackcast(f, d.From, d.To, p.Zone, forecasts.Backcast{ComputedAt: fc.Now().UTC(), ModelVersion: p.Version, TrainedTo: p.TrainedTo.UTC()})
		for _, pt := range points {
			actual := p.History.Power.At(pt.Time)
			if pt.Time.Before(d.To) && pt.ClearSkyKW > sitedata.Daylight*p.CapacityKW && !math.IsNaN(actual) && !math.IsNaN(pt.P10KW+pt.P50KW+pt.P90KW) {
				day.Backcast.Score.Add(pt.P10KW, pt.P50KW, pt.P90KW, actual, p.CapacityKW)
			}
		}
		out = append(out, day)
		s.observeBand(points, p.History.Power, d.From, d.To)
		if _, err := p.Model.Observe(d.From, known.Power, wx, horizon, p.History.Power.Slice(d.From, d.To)); err != nil {
			return nil, fmt.Errorf("observe %s of site %s: %w", d.From.In(p.Zone).Format(time.DateOnly), p.Site.SiteID, err)
		}
	}
	return out, nil
}
