package pane

import (
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
)

// horizonDays is how far the days ahead reach.
const horizonDays = 90

// dayAhead is one site day of those to come.
type dayAhead struct {
	day           time.Time // its midnight
	p10, p50, p90 float64   // kWh; a day's P10 and P90 are sums of its intervals'
	known         bool      // the forecast speaks of it
	complete      bool      // of all of it
	window        *api.WorkWindow
	rank          int // of its window among those of all days, 1 the best; 0 without a window
	plans         []planned
}

// ahead are the days from today on: what the forecast says of each, its best
// window for the work in hand, and what is planned on it.
func ahead(v view.Context) []dayAhead {
	zone := v.Site.Zone
	days := make([]dayAhead, horizonDays)
	at := make(map[int]int, horizonDays)
	today := view.MidnightOf(v.SiteNow.In(zone))
	for i := range days {
		days[i].day = today.AddDate(0, 0, i)
		at[dateKey(days[i].day)] = i
	}
	find := func(t time.Time) *dayAhead {
		if i, ok := at[dateKey(t.In(zone))]; ok {
			return &days[i]
		}
		return nil
	}
	sumForecast(v.Site.Forecast.Data, find)
	ranks := 0
	windows := windowsInHand(v)
	for i := range windows {
		if d := find(windows[i].Start.Time); d != nil && d.window == nil {
			ranks++
			d.window, d.rank = &windows[i], ranks
		}
	}
	for _, p := range plannedWork(v) {
		d := find(p.at)
		if p.at.Before(today) { // late: to be done today
			d = &days[0]
		}
		if d != nil {
			d.plans = append(d.plans, p)
		}
	}
	return days
}

// sumForecast adds a forecast's intervals to their days.
func sumForecast(f api.GeneratedForecast, find func(time.Time) *dayAhead) {
	step := time.Duration(f.StepMinutes) * time.Minute
	if step <= 0 {
		step = time.Hour
	}
	covered := map[*dayAhead]time.Duration{}
	for _, value := range f.Forecasts {
		d := find(value.Timestamp.Time)
		if d == nil {
			continue
		}
		d.known = true
		d.p50 += value.PredictedPowerKW * step.Hours()
		d.p10 += value.ConfidenceInterval.Lower * step.Hours()
		d.p90 += value.ConfidenceInterval.Upper * step.Hours()
		covered[d] += step
	}
	for d, span := range covered { // a day has 23 to 25 hours where clocks change
		d.complete = span >= d.day.AddDate(0, 0, 1).Sub(d.day)
	}
}

// windowsInHand are the windows for work at the unit in hand, or at the whole
// site, the best first; none until they are known.
func windowsInHand(v view.Context) []api.WorkWindow {
	if v.Site.Wanted(state.QueryWindows) != windowsFor(v.Selection) {
		return nil
	}
	return v.Site.Windows.Data.Windows
}

// windowsFor names what windows are asked for.
func windowsFor(h view.Selection) string {
	if h.AssetID == "" {
		return state.WholeSite
	}
	return h.AssetID
}

// bestDay is the day of the best window, today's without one.
func bestDay(days []dayAhead) int {
	return max(slices.IndexFunc(days, func(d dayAhead) bool { return d.rank == 1 }), 0)
}

func dateKey(t time.Time) int {
	y, m, d := t.Date()
	return (y*100+int(m))*100 + d
}
