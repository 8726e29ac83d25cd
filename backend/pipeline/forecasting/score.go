package forecasting

import (
	"context"
	"math"
	"time"

	"app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/engine/series"
)

// rescoreSpan is how far back forecasts are scored again, for late data.
const rescoreSpan = 2 * day

// scores compares the site's stored forecasts with the power measured since, day
// by day. A day is scored again until its last hours have been measured, so that
// its row is always complete. scored is the time up to which forecasts were
// scored.
func (s subject) scores(ctx context.Context, state sitedata.State, now time.Time) (days []forecast.ScoreDay, scored time.Time, err error) {
	until := now
	if state.LastData.Before(until) {
		until = state.LastData
	}
	until = until.UTC().Truncate(sitedata.ModelStep)
	if !until.After(state.ScoredTo) && now.Sub(state.ForecastAt) < sitedata.ModelStep {
		return nil, state.ScoredTo, nil // no other hour is over
	}
	// Of what is older, only the first forecast of each day is kept.
	from := now.Add(-s.fc.KeepForecasts + 4*day)
	if again := state.ScoredTo.Add(-rescoreSpan); again.After(from) {
		from = again
	}
	from = series.Midnight(from, s.zone)
	if !from.Before(until) {
		return nil, state.ScoredTo, nil // a file of long ago
	}
	reach := time.Duration(s.fc.HorizonHours)*time.Hour + horizonMargin
	issued, err := s.fc.Domain.Forecasts.IssuedSince(ctx, s.site.SiteID, from.Add(-reach))
	if err != nil || len(issued) == 0 {
		return nil, until, err
	}
	h, err := s.fc.ReadHistory(ctx, s.site.SiteID, s.units, from, until, sitedata.ModelStep, s.zone)
	if err != nil {
		return nil, until, err
	}
	hourly := make([]forecast.Forecast, len(issued))
	for i, f := range issued {
		hourly[i] = f.Hourly()
	}
	capacity := record.CapacityKW(s.site, s.units)
	for start, end := range series.Days(from, until, s.zone) {
		d := forecast.ScoreDay{SiteID: s.site.SiteID, CustomerID: s.site.CustomerID, Day: start.In(s.zone).Format(time.DateOnly), Classes: make([]forecast.ScoreSum, len(forecast.Leads))}
		if end.After(until) {
			end = until
		}
		for _, f := range hourly {
			addForecast(d.Classes, f, h.Power, start, end, capacity)
		}
		days = append(days, d)
	}
	return days, until, nil
}

// addForecast scores the hours within start..end that were forecast before they
// began.
func addForecast(classes []forecast.ScoreSum, f forecast.Forecast, power series.Series, start, end time.Time, capacityKW float64) {
	for i := range f.P50KW {
		at := f.Time(i)
		if at.Before(start) || at.Before(f.IssuedAt) || at.Add(sitedata.ModelStep).After(end) || !(f.ClearSkyKW.At(i) > sitedata.Daylight*capacityKW) {
			continue
		}
		actual := power.At(at)
		class := forecast.LeadClass(int(at.Sub(f.IssuedAt)/time.Hour) + 1)
		if math.IsNaN(actual) || class < 0 || math.IsNaN(f.P10KW.At(i)+f.P50KW[i]+f.P90KW.At(i)) {
			continue
		}
		classes[class].Add(f.P10KW[i], f.P50KW[i], f.P90KW[i], actual, capacityKW)
	}
}
