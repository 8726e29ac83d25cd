package workflow

import (
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
)

// HorizonDays is the number of days ahead.
const HorizonDays = 90

// ForecastDay is one future day of the site.
type ForecastDay struct {
	Day           time.Time // its midnight
	P10, P50, P90 float64   // kWh; quantiles of the day, as the service answers them
	Known         bool      // the forecast covers it
	Seasonal      float64   // kWh; what the site made on the days around it a year ago, NaN where that is not known
	Complete      bool      // of all of it
	Window        *api.WorkWindow
	Rank          int // of its window among those of all days, 1 the best; 0 without a window
	Plans         []planned
}

// ForecastDays returns the days from today on: the forecast of each, its best window
// for the selected work, and the work planned on it.
func ForecastDays(v view.Context) []ForecastDay {
	zone := v.Site.Zone
	days := make([]ForecastDay, HorizonDays)
	at := make(map[int]int, HorizonDays)
	today := view.MidnightOf(v.SiteNow.In(zone))
	for i := range days {
		days[i].Day = today.AddDate(0, 0, i)
		at[dateKey(days[i].Day)] = i
	}
	find := func(t time.Time) *ForecastDay {
		if i, ok := at[dateKey(t.In(zone))]; ok {
			return &days[i]
		}
		return nil
	}
	sumForecast(v.Site.Forecast.Data, find)
	seasonal := seasonalOf(v, days[0].Day)
	for i := range days {
		days[i].Seasonal = seasonal[i]
	}
	ranks := 0
	windows := selectedWindows(v)
	for i := range windows {
		if d := find(windows[i].Start.Time); d != nil && d.Window == nil {
			ranks++
			d.Window, d.Rank = &windows[i], ranks
		}
	}
	for _, p := range plannedWork(v) {
		d := find(p.at)
		if p.at.Before(today) { // late: to be done today
			d = &days[0]
		}
		if d != nil {
			d.Plans = append(d.Plans, p)
		}
	}
	return days
}

// Days around the one of a year ago whose mean energy is the seasonal expectation, and how
// many of them must be known.
const (
	seasonAround = 10
	seasonLeast  = 8
)

// SeasonNeed is the query of the days of a year ago around those ahead.
func SeasonNeed(v view.Context) state.Need {
	today := view.MidnightOf(v.SiteNow.In(v.Site.Zone))
	from, to := today.AddDate(-1, 0, -seasonAround), today.AddDate(-1, 0, HorizonDays+seasonAround)
	if to.After(today) {
		to = today
	}
	return state.Need{Query: state.QuerySeason, Of: state.SpanOf(from, to, v.Site.Zone), Period: 6 * time.Hour}
}

// seasonalOf is the seasonal expectation of the days from one on: the mean of the days
// around each a year ago, NaN where too few are known.
func seasonalOf(v view.Context, first time.Time) []float64 {
	out := make([]float64, HorizonDays)
	list, ago := v.Site.Season.Data, first.AddDate(-1, 0, 0)
	middle := slices.IndexFunc(list, func(d state.DayEnergy) bool { return dateKey(d.Day.In(v.Site.Zone)) == dateKey(ago) })
	sum, n := 0.0, 0
	add := func(k int, sign float64) { // the list has every day
		if k >= 0 && k < len(list) && !math.IsNaN(list[k].KWh) {
			sum, n = sum+sign*list[k].KWh, n+int(sign)
		}
	}
	for k := middle - seasonAround; middle >= 0 && k < middle+seasonAround; k++ {
		add(k, 1)
	}
	for i := range out {
		out[i] = math.NaN()
		if middle < 0 {
			continue
		}
		add(middle+i+seasonAround, 1)
		if n >= seasonLeast {
			out[i] = sum / float64(n)
		}
		add(middle+i-seasonAround, -1)
	}
	return out
}

// sumForecast adds a forecast's intervals to their days.
func sumForecast(f api.GeneratedForecast, find func(time.Time) *ForecastDay) {
	step := time.Duration(f.StepMinutes) * time.Minute
	if step <= 0 {
		step = time.Hour
	}
	covered := map[*ForecastDay]time.Duration{}
	for _, value := range f.Forecasts {
		d := find(value.Timestamp.Time)
		if d == nil {
			continue
		}
		d.Known = true
		d.P50 += value.PredictedPowerKW * step.Hours()
		d.P10 += value.ConfidenceInterval.Lower * step.Hours()
		d.P90 += value.ConfidenceInterval.Upper * step.Hours()
		covered[d] += step
	}
	for _, of := range f.Days {
		if t, err := time.Parse(time.DateOnly, of.Day); err == nil {
			for d := range covered {
				if dateKey(d.Day) == dateKey(t) {
					d.P10, d.P50, d.P90 = of.P10KWh, of.P50KWh, of.P90KWh
				}
			}
		}
	}
	for d, span := range covered { // a day has 23 to 25 hours where clocks change
		d.Complete = span >= d.Day.AddDate(0, 0, 1).Sub(d.Day)
	}
}

// selectedWindows returns the windows for work at the selected unit, or at the
// whole site, the best first; none until they are known.
func selectedWindows(v view.Context) []api.WorkWindow {
	if v.Site.Wanted(state.QueryWindows) != WindowsQuery(v.Selection) {
		return nil
	}
	return v.Site.Windows.Data.Windows
}

// WindowsQuery names what windows are asked for.
func WindowsQuery(h view.Selection) string {
	if h.AssetID == "" {
		return state.WholeSite
	}
	return h.AssetID
}

// BestDay returns the day of the best window, today's without one.
func BestDay(days []ForecastDay) int {
	return max(slices.IndexFunc(days, func(d ForecastDay) bool { return d.Rank == 1 }), 0)
}

func dateKey(t time.Time) int {
	y, m, d := t.Date()
	return (y*100+int(m))*100 + d
}
