package pipeline

import (
	"context"
	"errors"

	"app.sunloop/backend/api"
	"app.sunloop/backend/ops"
	"app.sunloop/backend/store"
)

// zarCode is the currency that real partner clients read.
const zarCode = "ZAR"

// ForecastSnapshot answers GET /forecast-snapshot; [api.ErrNotFound] for a site
// without a model.
func (p *Pipeline) ForecastSnapshot(ctx context.Context, scope api.Scope, siteID string, hours int) (api.ForecastSnapshot, error) {
	site, err := p.Ops.Site(ctx, scope, siteID)
	if err != nil {
		return api.ForecastSnapshot{}, err
	}
	f, m, err := p.current(ctx, site, hours)
	if errors.Is(err, store.ErrNotFound) {
		return api.ForecastSnapshot{}, api.ErrNotFound
	}
	if err != nil {
		return api.ForecastSnapshot{}, p.forecastFailure(siteID, err)
	}
	out := api.ForecastSnapshot{SiteID: siteID, ModelID: m.ModelName + "-" + m.ModelVersion, GeneratedAt: api.At(f.IssuedAt), HorizonHours: hours,
		Resolution: "hourly", Intervals: []api.SnapshotInterval{}}
	for _, v := range f.Values(ops.NextHour(p.Now()), hours) {
		out.Intervals = append(out.Intervals, api.SnapshotInterval{TS: v.Timestamp, P10KW: v.ConfidenceInterval.Lower, P50KW: v.PredictedPowerKW, P90KW: v.ConfidenceInterval.Upper})
		out.Totals.TotalKWh = round(out.Totals.TotalKWh + v.PredictedPowerKW)
	}
	if site.TariffPerKWh > 0 && site.Currency != "" {
		price(&out, site)
	}
	return out, nil
}

// price puts in what the energy is worth by the site's tariff.
func price(s *api.ForecastSnapshot, site api.Site) {
	s.Currency = site.Currency
	worth := func(kWh float64) (money, zar *float64) {
		v := round(kWh * site.TariffPerKWh)
		if site.Currency == zarCode {
			zar = &v
		}
		return &v, zar
	}
	for i := range s.Intervals {
		s.Intervals[i].Revenue, s.Intervals[i].RevenueZAR = worth(s.Intervals[i].P50KW)
	}
	s.Totals.TotalRevenue, s.Totals.TotalRevenueZAR = worth(s.Totals.TotalKWh)
}
