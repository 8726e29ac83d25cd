package operations

import (
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
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
	var low, expected []float64
	from, to := look.span(day.Start)
	// The axis must not jump during navigation: it covers all known values.
	if all := forecastValues(v); len(all) > 0 {
		if look.zoomed() { // lines continue to the hours outside the window
			from, to = from.Add(-time.Hour), to.Add(time.Hour)
		}
		if f := widget.ForecastPoints(within(all, from, to), time.Hour); len(f.P50.At) > 0 {
			c.chart.Lines = append(c.chart.Lines,
				chart.Line{Name: "clear sky", Points: f.Clear, Role: themes.ClearSky, Pattern: chart.Dotted},
				chart.Line{Name: "P50" + backcastWords(v, f.P50.At), Points: f.P50, Role: themes.P50, Pattern: chart.Dashed})
			f.Band.Name = widget.BandName(v)
			c.chart.Band = &f.Band
			low, expected = slotsOf(day, f.Band.At, f.Band.Low, top/50), slotsOf(day, f.Band.At, f.P50.Value, 0)
			if !look.zoomed() {
				all = within(all, from, to)
			}
			top = slices.Max(widget.ForecastPoints(all, time.Hour).Clear.Value)
		}
	}
	if !v.Site.PastDate.IsZero() && c.chart.Band == nil {
		top = 0
	}
	c.chart.Lines = append(c.chart.Lines, chart.Line{Name: "actual", Points: widget.Points(widget.Settled(day.Total, v.Site.CapacityKW), day.Start, day.Step), Role: themes.Actual, Filled: true})
	c.chart.Loss = day.Loss(low, expected)
	c.chart.Margin = margin
	c.chart.Stale = isStale(v)
	c.chart.From, c.chart.To, c.chart.Cursor, c.chart.Format = look.from, look.to, look.cursor, display.Significant
	c.chart.Empty = look.empty
	widget.DrawDay(&c.chart, r, v, day.Start, 1, top)
}

// slotsOf are hourly values by the slots of a day, each between the middles of the hours
// next to it; NaN where they are not known, or not above least.
func slotsOf(day *view.DayTable, at []int64, values []float64, least float64) []float64 {
	out := make([]float64, len(day.Total))
	const hour = 3600
	i := 0
	for t := range out {
		out[t] = math.NaN()
		middle := day.Start.Add(time.Duration(t)*day.Step+day.Step/2).Unix() - hour/2
		for i+1 < len(at) && at[i+1] <= middle {
			i++
		}
		if i+1 >= len(at) || at[i] > middle || at[i+1]-at[i] > hour {
			continue
		}
		share := float64(middle-at[i]) / hour
		if kw := values[i] + share*(values[i+1]-values[i]); kw > least {
			out[t] = kw
		}
	}
	return out
}

// forecastValues returns what was forecast for the former days that were asked for, for
// today and for the days ahead, ascending.
func forecastValues(v view.Context) []api.ForecastValue {
	var out []api.ForecastValue
	for _, part := range [][]api.ForecastValue{v.Site.Foreseen.Data.Past, v.Site.Forecast.Data.Today, v.Site.Forecast.Data.Forecasts} {
		for _, f := range part {
			if n := len(out); n == 0 || f.Timestamp.After(out[n-1].Timestamp.Time) {
				out = append(out, f)
			}
		}
	}
	return out
}

// backcastWords say that hours, or some of them, were computed after their day.
func backcastWords(v view.Context, hours []int64) string {
	days := map[string]bool{}
	for _, d := range v.Site.Foreseen.Data.Days {
		days[d.Day] = d.Issued == api.IssuedBackcast
	}
	n := 0
	for _, at := range hours {
		if days[time.Unix(at, 0).In(v.Site.Zone).Format(time.DateOnly)] {
			n++
		}
	}
	switch n {
	case 0:
		return ""
	case len(hours):
		return " backcast"
	}
	return ", partly backcast"
}

// within returns the hours that touch a span.
func within(values []api.ForecastValue, from, to time.Time) []api.ForecastValue {
	return slices.DeleteFunc(slices.Clone(values), func(f api.ForecastValue) bool {
		return !f.Timestamp.Add(time.Hour).After(from) || !f.Timestamp.Before(to)
	})
}

// isStale reports whether today's values are older than their period requires.
func isStale(v view.Context) bool {
	return v.Site.PastDate.IsZero() && v.Site.Day.Status(v.Now, StaleAfter, false) == state.Stale
}

// UnitChart is one unit's day against its peers.
type UnitChart struct {
	chart    chart.Day
	Forecast bool // draw the unit's share of the forecast too
}

// Draw draws the unit's power over the median of its peers, scaled to the
// unit's capacity; ok is false when the unit reported nothing on that day.
func (c *UnitChart) Draw(r terminal.Region, v view.Context, assetID string) (ok bool) {
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
	if c.Forecast && v.Site.PastDate.IsZero() && v.Site.CapacityKW > 0 {
		f := widget.ForecastPoints(v.Site.Forecast.Data.Today, time.Hour)
		for i := range f.P50.Value {
			f.P50.Value[i] *= top / v.Site.CapacityKW
		}
		c.chart.Lines = append(c.chart.Lines, chart.Line{Name: "share of P50", Points: f.P50, Role: themes.ClearSky, Pattern: chart.Dotted})
	}
	peers := day.PeersOf(own)
	c.chart.Loss = day.LossOf(own, peers)
	c.chart.Lines = append(c.chart.Lines,
		chart.Line{Name: "median of peers", Points: widget.Points(peers, day.Start, day.Step), Role: themes.P50, Pattern: chart.Dashed},
		chart.Line{Name: v.ShortID(assetID, max(w/3, 8)), Points: widget.Points(widget.Settled(day.Slots[own], top), day.Start, day.Step), Role: themes.Actual, Filled: true})
	c.chart.Stale = isStale(v)
	widget.DrawDay(&c.chart, r, v, day.Start, 1, top)
	return true
}

// aheadChart is the forecast of the days ahead.
type aheadChart struct{ chart chart.Day }

func (c *aheadChart) draw(r terminal.Region, v view.Context, f api.GeneratedForecast, days int) {
	lines := widget.ForecastPoints(f.Forecasts, time.Duration(max(f.StepMinutes, 1))*time.Minute)
	lines.Band.Name = widget.BandName(v)
	c.chart.Band = &lines.Band
	c.chart.Lines = append(c.chart.Lines[:0],
		chart.Line{Name: "clear sky", Points: lines.Clear, Role: themes.ClearSky, Pattern: chart.Dotted},
		chart.Line{Name: "P50", Points: lines.P50, Role: themes.P50})
	w, _ := r.Size()
	widget.DrawDay(&c.chart, r, v, v.SiteNow, min(days, max(w/16, 1)), v.Site.CapacityKW)
}

// heatMap is each unit's day against the median of its peers.
type heatMap struct{ heat chart.Heat }

// margin returns the space that the map requires left of it for the names.
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
	names = widget.Shorten(names, margin-2, v.ASCII)
	for i, a := range day.Units {
		if a.AssetID == v.Selection.AssetID {
			h.Selected = i
		}
		h.Rows = append(h.Rows, chart.HeatRow{Name: names[i], Ratio: widget.Points(day.Abnormal[i], day.Start, day.Step)})
	}
	_, height := r.Size()
	if seen := h.Visible(height); h.Selected >= seen {
		h.First = h.Selected - seen + 1
	}
	h.Draw(r)
}
