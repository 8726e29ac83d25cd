package pane

import (
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// siteChart is the site's day, or a window of time: what was measured over
// what was expected.
type siteChart struct{ chart chart.Day }

// draw draws power of all units together, of today and the days ahead the
// forecast's band and median, today's as they were issued before each hour,
// and the clear-sky envelope.
func (c *siteChart) draw(r terminal.Region, v view.Context, day *view.DayTable, margin int, look window) {
	c.chart.Lines, c.chart.Band = c.chart.Lines[:0], nil
	top := v.Site.CapacityKW
	from, to := look.span(day.Start)
	// The axis must not jump while one looks around: all that is known bounds it.
	if all := foreseen(v); len(all) > 0 {
		if look.zoomed() { // lines go on to the hours beside the window
			from, to = from.Add(-time.Hour), to.Add(time.Hour)
		}
		if f := forecastPoints(within(all, from, to), time.Hour); len(f.p50.At) > 0 {
			c.chart.Lines = append(c.chart.Lines,
				chart.Line{Name: "clear sky", Points: f.clear, Role: themes.ClearSky, Pattern: chart.Dotted},
				chart.Line{Name: "P50", Points: f.p50, Role: themes.P50, Pattern: chart.Dashed})
			f.band.Name = bandName(v)
			c.chart.Band = &f.band
			if !look.zoomed() {
				all = within(all, from, to)
			}
			top = slices.Max(forecastPoints(all, time.Hour).clear.Value)
		}
	}
	if !v.Site.PastDate.IsZero() && c.chart.Band == nil {
		top = 0
	}
	c.chart.Lines = append(c.chart.Lines, chart.Line{Name: "actual", Points: points(Settled(day.Total, v.Site.CapacityKW), day.Start, day.Step), Role: themes.Actual})
	c.chart.Margin = margin
	c.chart.Stale = isStale(v)
	c.chart.From, c.chart.To, c.chart.Cursor, c.chart.Format = look.from, look.to, look.cursor, Significant
	c.chart.Empty = look.empty
	drawOn(&c.chart, r, v, day.Start, 1, top)
}

// foreseen is what was forecast for the former days that were asked for, for
// today and for the days ahead, ascending.
func foreseen(v view.Context) []api.ForecastValue {
	var out []api.ForecastValue
	for _, part := range [][]api.ForecastValue{v.Site.Foreseen.Data, v.Site.Forecast.Data.Today, v.Site.Forecast.Data.Forecasts} {
		for _, f := range part {
			if n := len(out); n == 0 || f.Timestamp.After(out[n-1].Timestamp.Time) {
				out = append(out, f)
			}
		}
	}
	return out
}

// within are the hours that touch a span.
func within(values []api.ForecastValue, from, to time.Time) []api.ForecastValue {
	return slices.DeleteFunc(slices.Clone(values), func(f api.ForecastValue) bool {
		return !f.Timestamp.Add(time.Hour).After(from) || !f.Timestamp.Before(to)
	})
}

func bandName(v view.Context) string {
	if v.ASCII {
		return "P10-P90"
	}
	return "P10–P90"
}

// Settled draws the few watts that units take at night on the axis: they are
// real, but an axis below zero for their sake would flatten the day.
func Settled(values []float64, capacity float64) []float64 {
	out := make([]float64, len(values))
	for i, kw := range values {
		if kw < 0 && kw > -0.02*capacity {
			kw = 0
		}
		out[i] = kw
	}
	return out
}

// drawOn fills in what every day chart has in common, and draws.
func drawOn(c *chart.Day, r terminal.Region, v view.Context, start time.Time, days int, top float64) {
	c.Pen, c.Palette, c.Location = v.Pen, v.Palette, v.Site.Zone
	c.Start, c.Days, c.Now, c.Unit, c.Top = start, days, v.SiteNow, "kW", top
	_, h := r.Size()
	c.Legend = h >= 7
	c.Draw(r)
}

// isStale says that the values of today are older than they should be.
func isStale(v view.Context) bool {
	return v.Site.PastDate.IsZero() && v.Site.Day.Face(v.Now, staleAfter, false) == state.Stale
}

// forecastLines are a forecast as a chart takes it.
type forecastLines struct {
	p50, clear chart.Points
	band       chart.Band
}

func forecastPoints(values []api.ForecastValue, step time.Duration) forecastLines {
	var f forecastLines
	for _, value := range values {
		at := value.Timestamp.Unix()
		f.p50.At, f.p50.Value = append(f.p50.At, at), append(f.p50.Value, value.PredictedPowerKW)
		f.clear.Value = append(f.clear.Value, value.ClearSkyKW)
		f.band.Low, f.band.High = append(f.band.Low, value.ConfidenceInterval.Lower), append(f.band.High, value.ConfidenceInterval.Upper)
	}
	f.clear.At, f.band.At = f.p50.At, f.p50.At
	f.p50.Step, f.clear.Step, f.band.Step = step, step, step
	return f
}

// points are even slots from start on.
func points(values []float64, start time.Time, step time.Duration) chart.Points {
	at := make([]int64, len(values))
	for i := range at {
		at[i] = start.Add(time.Duration(i) * step).Unix()
	}
	return chart.Points{At: at, Value: values, Step: step}
}

// unitChart is one unit's day against its peers.
type unitChart struct {
	chart    chart.Day
	forecast bool // draw the unit's share of the forecast too
}

// draw draws the unit's power over the median of its peers, scaled to the
// unit's capacity; ok is false when the unit reported nothing on that day.
func (c *unitChart) draw(r terminal.Region, v view.Context, assetID string) (ok bool) {
	day := v.Day()
	own := -1
	for i, a := range day.Units {
		if a.AssetID == assetID && len(day.Slots[i]) > 0 {
			own = i
		}
	}
	if own < 0 || day.Units[own].CapacityKW <= 0 {
		return false
	}
	w, _ := r.Size()
	top := day.Units[own].CapacityKW
	c.chart.Lines = c.chart.Lines[:0]
	if c.forecast && v.Site.PastDate.IsZero() && v.Site.CapacityKW > 0 {
		f := forecastPoints(v.Site.Forecast.Data.Today, time.Hour)
		for i := range f.p50.Value {
			f.p50.Value[i] *= top / v.Site.CapacityKW
		}
		c.chart.Lines = append(c.chart.Lines, chart.Line{Name: "share of P50", Points: f.p50, Role: themes.ClearSky, Pattern: chart.Dotted})
	}
	c.chart.Lines = append(c.chart.Lines,
		chart.Line{Name: "median of peers", Points: points(day.PeersOf(own), day.Start, day.Step), Role: themes.P50, Pattern: chart.Dashed},
		chart.Line{Name: v.ShortID(assetID, max(w/3, 8)), Points: points(Settled(day.Slots[own], top), day.Start, day.Step), Role: themes.Actual})
	c.chart.Stale = isStale(v)
	drawOn(&c.chart, r, v, day.Start, 1, top)
	return true
}

// aheadChart is the forecast of the days ahead.
type aheadChart struct{ chart chart.Day }

func (c *aheadChart) draw(r terminal.Region, v view.Context, f api.GeneratedForecast, days int) {
	lines := forecastPoints(f.Forecasts, time.Duration(max(f.StepMinutes, 1))*time.Minute)
	lines.band.Name = bandName(v)
	c.chart.Band = &lines.band
	c.chart.Lines = append(c.chart.Lines[:0],
		chart.Line{Name: "clear sky", Points: lines.clear, Role: themes.ClearSky, Pattern: chart.Dotted},
		chart.Line{Name: "P50", Points: lines.p50, Role: themes.P50})
	w, _ := r.Size()
	drawOn(&c.chart, r, v, v.SiteNow, min(days, max(w/16, 1)), v.Site.CapacityKW)
}

// heatMap is each unit's day against the median of its peers.
type heatMap struct{ heat chart.Heat }

// margin is the room that the map wants left of it for the names.
func (m *heatMap) margin(w int, day *view.DayTable) int {
	n := 0
	for _, a := range day.Units {
		n = max(n, terminal.Width(a.AssetID))
	}
	return min(n, w/5) + 2
}

// draw draws the map below a chart of the same margin, whose hours it shares.
func (m *heatMap) draw(r terminal.Region, v view.Context, day *view.DayTable, margin int, look window) {
	h := &m.heat
	h.From, h.To, h.Cursor = look.from, look.to, look.cursor
	h.Pen, h.Palette, h.Start, h.Location = v.Pen, v.Palette, day.Start, v.Site.Zone
	h.Rows, h.Selected, h.First, h.Margin, h.Bare = h.Rows[:0], -1, 0, margin, true
	names := make([]string, len(day.Units))
	for i, a := range day.Units {
		names[i] = a.AssetID
	}
	names = shorten(names, margin-2, v.ASCII)
	for i, a := range day.Units {
		if a.AssetID == v.Selection.AssetID {
			h.Selected = i
		}
		h.Rows = append(h.Rows, chart.HeatRow{Name: names[i], Ratio: points(day.Ratios[i], day.Start, day.Step)})
	}
	_, height := r.Size()
	if seen := h.Visible(height); h.Selected >= seen {
		h.First = h.Selected - seen + 1
	}
	h.Draw(r)
}

// DrawBar draws a share (0..1) as a filled bar.
func DrawBar(r terminal.Region, v view.Context, share float64) {
	w, _ := r.Size()
	full, empty := '█', '░'
	if v.ASCII {
		full, empty = '#', '.'
	}
	n := int(math.Round(min(max(share, 0), 1) * float64(w)))
	for x := range w {
		if x < n {
			r.PutRune(x, 0, full, v.Style(themes.Accent))
		} else {
			r.PutRune(x, 0, empty, v.Style(themes.Muted))
		}
	}
}

// DrawRange draws a day's energy on a scale up to top: double to P10, which is
// nearly certain, single to P90, with a mark at the median.
func DrawRange(r terminal.Region, v view.Context, p10, p50, p90, top float64) {
	w, _ := r.Size()
	if top <= 0 || w < 3 {
		return
	}
	cell := func(kwh float64) int { return min(max(int(math.Round(kwh/top*float64(w-1))), 0), w-1) }
	sure, likely, mid := '═', '─', '┼'
	if v.ASCII {
		sure, likely, mid = '=', '-', '|'
	}
	band := v.Style(themes.Band)
	for x := range cell(p90) + 1 {
		switch {
		case x == cell(p50):
			r.PutRune(x, 0, mid, v.Style(themes.P50).With(themes.Bold).On(band))
		case x < cell(p10):
			r.PutRune(x, 0, sure, v.Style(themes.P50))
		default:
			r.PutRune(x, 0, likely, v.Style(themes.P50).On(band))
		}
	}
}
