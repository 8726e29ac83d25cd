package partner

import (
	"context"
	"errors"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/store"
)

// ForecastOf writes hours values of a forecast from a time, in the partners'
// format, with the value of their energy.
func (s *Service) ForecastOf(site api.Site, f forecast.Forecast, from time.Time, hours int) api.ForecastSnapshot {
	out := api.ForecastSnapshot{SiteID: site.SiteID, ModelID: f.ModelName + "-" + f.ModelVersion, GeneratedAt: api.At(f.IssuedAt), HorizonHours: hours,
		Resolution: "hourly", Intervals: []api.SnapshotInterval{}}
	for _, v := range f.Values(from, hours) {
		out.Intervals = append(out.Intervals, api.SnapshotInterval{TS: v.Timestamp, P10KW: v.ConfidenceInterval.Lower, P50KW: v.PredictedPowerKW, P90KW: v.ConfidenceInterval.Upper})
	}
	priced(&out, s.money(site))
	return out
}

// priced fills in totals and the value of the energy.
func priced(f *api.ForecastSnapshot, m money) {
	f.Currency, f.Totals = m.currency, api.SnapshotTotals{}
	for i := range f.Intervals {
		one := &f.Intervals[i]
		one.Revenue, one.RevenueZAR = m.worth(one.P50KW)
		f.Totals.TotalKWh = rounded(f.Totals.TotalKWh + one.P50KW)
	}
	f.Totals.TotalRevenue, f.Totals.TotalRevenueZAR = m.worth(f.Totals.TotalKWh)
}

// forecast returns the newest forecast from the next hour, or nil.
func (s *Service) forecast(ctx context.Context, site api.Site) (*api.ForecastSnapshot, error) {
	f, err := s.Domain.Forecasts.Latest(ctx, site.SiteID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := s.ForecastOf(site, f, forecast.NextHour(s.Now()), api.MaxHorizonHours)
	if len(out.Intervals) == 0 {
		return nil, nil
	}
	out.HorizonHours = len(out.Intervals)
	return &out, nil
}

// Forecast returns the next hours of the stored forecast; [api.ErrNotFound]
// without a forecast, or if it does not reach that far. None of its hours has
// passed.
func (s *Service) Forecast(ctx context.Context, site api.Site, hours int) (api.ForecastSnapshot, error) {
	f, err := read[api.ForecastSnapshot](ctx, s, site.SiteID, api.SnapshotForecast)
	if err != nil {
		return api.ForecastSnapshot{}, err
	}
	if len(f.Intervals) < hours || s.Now().Sub(f.Intervals[0].TS.Time) >= time.Hour {
		return api.ForecastSnapshot{}, api.ErrNotFound
	}
	f.Intervals, f.HorizonHours = f.Intervals[:hours], hours
	priced(f, s.money(site)) // by the tariff of today
	return *f, nil
}
