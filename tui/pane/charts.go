package pane

import (
	"math"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
)

// siteChart is the site's day: what was measured over what was expected.
type siteChart struct{ chart chart.Day }

// draw draws power of all units together, the forecast's band and median as
// they were issued before each hour, and the clear-sky envelope.
func (c *siteChart) draw(r terminal.Region, v View) {
	day := v.Site.Day.Data
	step := day.Step()
	if step <= 0 {
		step = 15 * time.Minute
	}
	c.chart.Lines = c.chart.Lines[:0]
	forecast := forecastPoints(v.Site.Forecast.Data.Today, time.Hour)
	if len(forecast.p50.At) > 0 {
		c.chart.Lines = append(c.chart.Lines,
			chart.Line{Name: "clear sky", Points: forecast.clear, Role: themes.ClearSky, Pattern: chart.Dotted},
			chart.Line{Name: "P50", Points: forecast.p50, Role: themes.P50, Pattern: chart.Dashed})
		c.chart.Band = &forecast.band
	} else {
		c.chart.Band = nil
	}
	actual := settled(state.Total(day.Slots(step)), v.Site.CapacityKW)
	c.chart.Lines = append(c.chart.Lines, chart.Line{Name: "actual", Points: points(actual, day.Start, step), Role: themes.Actual})
	drawOn(&c.chart, r, v, day.Start, 1, v.Site.CapacityKW)
}

// settled draws the few watts that units take at night on the axis: they are
// real, but an axis below zero for their sake would flatten the day.
func settled(values []float64, capacity float64) []float64 {
	for i, kw := range values {
		if kw < 0 && kw > -0.02*capacity {
			values[i] = 0
		}
	}
	return values
}

// drawOn fills in what every day chart has in common, and draws.
func drawOn(c *chart.Day, r terminal.Region, v View, start time.Time, days int, top float64) {
	c.Pen, c.Palette, c.Location = v.Pen, v.Palette, v.Site.Zone
	c.Start, c.Days, c.Now, c.Unit, c.Top = start, days, v.SiteNow, "kW", top
	c.Stale = v.Site.Day.Face(v.Now, staleAfter, false) == state.Stale
	_, h := r.Size()
	c.Legend = h >= 8
	c.Draw(r)
}

// forecastLines are a forecast as a chart takes it.
type forecastLines struct {
	p50, clear chart.Points
	band       chart.Band
}

func forecastPoints(values []api.ForecastValue, step time.Duration) forecastLines {
	var f forecastLines
	f.band.Name = "P10–P90"
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
type unitChart struct{ chart chart.Day }

// draw draws the unit's power over the median of its peers, scaled to the
// unit's capacity; ok is false when the unit reported nothing today.
func (c *unitChart) draw(r terminal.Region, v View, assetID string) (ok bool) {
	day := v.Site.Day.Data
	step := max(day.Step(), 5*time.Minute)
	slots := day.Slots(step)
	own := -1
	capacity := map[string]float64{}
	for _, a := range unitsOf(v) {
		capacity[a.AssetID] = a.CapacityKW
	}
	for i, u := range day.Units {
		if u.AssetID == assetID {
			own = i
		}
	}
	if own < 0 || capacity[assetID] <= 0 {
		return false
	}
	peers := make([]float64, len(slots[own]))
	specific := make([]float64, 0, len(slots))
	for t := range peers {
		specific = specific[:0]
		for i, u := range day.Units {
			if i != own && capacity[u.AssetID] > 0 {
				specific = append(specific, slots[i][t]/capacity[u.AssetID])
			}
		}
		peers[t] = median(specific) * capacity[assetID]
	}
	c.chart.Lines = append(c.chart.Lines[:0],
		chart.Line{Name: "median of peers", Points: points(peers, day.Start, step), Role: themes.P50, Pattern: chart.Dashed},
		chart.Line{Name: assetID, Points: points(settled(slots[own], capacity[assetID]), day.Start, step), Role: themes.Actual})
	drawOn(&c.chart, r, v, day.Start, 1, capacity[assetID])
	return true
}

// aheadChart is the forecast of the days ahead.
type aheadChart struct{ chart chart.Day }

func (c *aheadChart) draw(r terminal.Region, v View, f api.GeneratedForecast, days int) {
	lines := forecastPoints(f.Forecasts, time.Duration(max(f.StepMinutes, 1))*time.Minute)
	c.chart.Band = &lines.band
	c.chart.Lines = append(c.chart.Lines[:0],
		chart.Line{Name: "clear sky", Points: lines.clear, Role: themes.ClearSky, Pattern: chart.Dotted},
		chart.Line{Name: "P50", Points: lines.p50, Role: themes.P50})
	w, _ := r.Size()
	drawOn(&c.chart, r, v, v.SiteNow, min(days, max(w/16, 1)), v.Site.CapacityKW)
	c.chart.Stale = false
}

// heatMap is each unit's day against the median of its peers.
type heatMap struct{ heat chart.Heat }

// rows are the units' ratios: NaN while the sun gives too little to compare.
func (m *heatMap) draw(r terminal.Region, v View) {
	day := v.Site.Day.Data
	step := max(day.Step(), 5*time.Minute)
	slots := day.Slots(step)
	m.heat.Pen, m.heat.Palette, m.heat.Start, m.heat.Location = v.Pen, v.Palette, day.Start, v.Site.Zone
	m.heat.Rows, m.heat.Selected, m.heat.First = m.heat.Rows[:0], -1, 0
	units := unitsOf(v)
	ratios := peerRatios(v, units, slots)
	for i, a := range units {
		if a.AssetID == v.Hand.AssetID {
			m.heat.Selected = i
		}
		m.heat.Rows = append(m.heat.Rows, chart.HeatRow{Name: a.AssetID, Ratio: points(ratios[i], day.Start, step)})
	}
	_, h := r.Size()
	if seen := m.heat.Visible(h); m.heat.Selected >= seen {
		m.heat.First = m.heat.Selected - seen + 1
	}
	m.heat.Draw(r)
}

// leastSpecific is the power per capacity of the peers below which units are
// not compared: a low sun and shadows of rows make the ratio meaningless.
const leastSpecific = 0.08

// peerRatios are each unit's power per capacity against the median of all,
// slot by slot. A unit that reports nothing while its peers run stays NaN.
func peerRatios(v View, units []api.Asset, slots [][]float64) [][]float64 {
	day := v.Site.Day.Data
	row := make([]int, len(units))
	n := 0
	for i, a := range units {
		row[i] = -1
		for k, u := range day.Units {
			if u.AssetID == a.AssetID && a.CapacityKW > 0 {
				row[i], n = k, len(slots[k])
			}
		}
	}
	out := make([][]float64, len(units))
	for i := range out {
		out[i] = make([]float64, n)
	}
	specific := make([]float64, len(units))
	for t := range n {
		for i, a := range units {
			specific[i] = math.NaN()
			if row[i] >= 0 {
				specific[i] = slots[row[i]][t] / a.CapacityKW
			}
		}
		m := median(specific)
		for i := range units {
			out[i][t] = math.NaN()
			if m >= leastSpecific {
				out[i][t] = specific[i] / m
			}
		}
	}
	return out
}

// drawSpark draws a unit's day in a row of cells, scaled to its capacity.
func drawSpark(r terminal.Region, v View, values []float64, top float64) {
	w, _ := r.Size()
	if len(values) == 0 {
		return
	}
	chart.Sparkline(r, 0, 0, min(w, 2*len(values)), values, chart.Normal{Low: math.NaN(), High: top}, v.Pen, v.Palette)
}

// drawBar draws a share (0..1) as a filled bar.
func drawBar(r terminal.Region, v View, share float64) {
	w, _ := r.Size()
	full, empty := '█', '░'
	if v.ASCII {
		full, empty = '#', '.'
	}
	n := int(math.Round(min(max(share, 0), 1) * float64(w)))
	for x := range w {
		if x < n {
			r.PutRune(x, 0, full, v.style(themes.Accent))
		} else {
			r.PutRune(x, 0, empty, v.style(themes.Muted))
		}
	}
}

// drawRange draws a day's energy: filled to the median, light to P90, with the
// part below P10 certain.
func drawRange(r terminal.Region, v View, p10, p50, p90, top float64) {
	w, _ := r.Size()
	if top <= 0 || w < 3 {
		return
	}
	cells := func(kwh float64) int { return int(math.Round(kwh / top * float64(w))) }
	sure, likely, unlikely := '█', '▓', '░'
	if v.ASCII {
		sure, likely, unlikely = '#', '=', '.'
	}
	for x := range cells(p90) {
		switch {
		case x < cells(p10):
			r.PutRune(x, 0, sure, v.style(themes.P50))
		case x < cells(p50):
			r.PutRune(x, 0, likely, v.style(themes.P50))
		default:
			r.PutRune(x, 0, unlikely, v.style(themes.Dim))
		}
	}
}
