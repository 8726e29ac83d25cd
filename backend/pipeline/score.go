package pipeline

import (
	"context"
	"math"
	"time"

	"app.sunloop/backend/ops"
	"app.sunloop/engine/series"
)

// scoreAgain is how far back forecasts are held against actuals anew, for data
// that came late.
const scoreAgain = 2 * day

// scores holds the stored forecasts of a site against the power that was
// measured since, day by day. A day is scored anew each time until its last
// hours are in, so its row is always the whole of what is known. scored is up
// to when.
func (s subject) scores(ctx context.Context, track Track, now time.Time) (days []ops.ScoreDay, scored time.Time, err error) {
	until := now
	if track.LastData.Before(until) {
		until = track.LastData
	}
	until = until.UTC().Truncate(modelStep)
	if !until.After(track.ScoredTo) && now.Sub(track.ForecastAt) < modelStep {
		return nil, track.ScoredTo, nil // no other hour is over
	}
	// Of what is older, only the first forecast of each day is kept.
	from := now.Add(-s.p.Keep.Forecasts + 4*day)
	if again := track.ScoredTo.Add(-scoreAgain); again.After(from) {
		from = again
	}
	from = series.Midnight(from, s.zone)
	if !from.Before(until) {
		return nil, track.ScoredTo, nil // a file of long ago
	}
	reach := time.Duration(s.p.HorizonHours)*time.Hour + margin
	issued, err := s.p.Ops.IssuedSince(ctx, s.site.SiteID, from.Add(-reach))
	if err != nil || len(issued) == 0 {
		return nil, until, err
	}
	h, err := s.p.readHistory(ctx, s.site.SiteID, s.units, from, until, modelStep, s.zone)
	if err != nil {
		return nil, until, err
	}
	hourly := make([]ops.Forecast, len(issued))
	for i, f := range issued {
		hourly[i] = f.Hourly()
	}
	capacity := ops.CapacityKW(s.site, s.units)
	for start, end := range series.Days(from, until, s.zone) {
		d := ops.ScoreDay{SiteID: s.site.SiteID, CustomerID: s.site.CustomerID, Day: start.In(s.zone).Format(time.DateOnly), Classes: make([]ops.Tally, len(ops.Leads))}
		if end.After(until) {
			end = until
		}
		for _, f := range hourly {
			addForecast(d.Classes, f, h.power, start, end, capacity)
		}
		days = append(days, d)
	}
	return days, until, nil
}

// addForecast adds the hours within start..end that f spoke of before they
// began.
func addForecast(classes []ops.Tally, f ops.Forecast, power series.Series, start, end time.Time, capacityKW float64) {
	for i := range f.P50KW {
		at := f.Time(i)
		if at.Before(start) || at.Before(f.IssuedAt) || at.Add(modelStep).After(end) || !(f.ClearSkyKW.At(i) > daylight*capacityKW) {
			continue
		}
		actual := power.At(at)
		class := ops.LeadClass(int(at.Sub(f.IssuedAt)/time.Hour) + 1)
		if math.IsNaN(actual) || class < 0 || math.IsNaN(f.P10KW.At(i)+f.P50KW[i]+f.P90KW.At(i)) {
			continue
		}
		classes[class].Add(f.P10KW[i], f.P50KW[i], f.P90KW[i], actual, capacityKW)
	}
}
