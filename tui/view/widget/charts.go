package widget

import (
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// DrawForecast draws forecast values as band, median and clear sky over the
// days that they cover, with more lines in front of them.
func DrawForecast(c *chart.Day, r terminal.Region, v view.Context, values []api.ForecastValue, step time.Duration, from, to time.Time, more ...chart.Line) {
	lines := ForecastPoints(values, step)
	lines.Band.Name = BandName(v)
	c.Band = &lines.Band
	c.Lines = append(c.Lines[:0],
		chart.Line{Name: "clear sky", Points: lines.Clear, Role: themes.ClearSky, Pattern: chart.Dotted},
		chart.Line{Name: "P50", Points: lines.P50, Role: themes.P50, Pattern: chart.Dashed})
	c.Lines = append(c.Lines, more...)
	c.From, c.To = from, to
	top := v.Site.CapacityKW
	if sunny := slices.Max(append(lines.Clear.Value, 0)); sunny > 0 { // in winter, half of the rating may be unreachable
		top = min(top, sunny)
	}
	DrawDay(c, r, v, from, 1, top)
}

// DrawFilled draws a unit's measured power with a gap, and in the gap its filled
// values: P50 within P10 to P90. The records are
// of steps of that length; top is the least upper end of the axis, in kW.
func DrawFilled(c *chart.Day, r terminal.Region, v view.Context, gap api.FilledGap, records []api.Record, step time.Duration, from, to time.Time, top float64) {
	measured := chart.Points{Step: step}
	for _, rec := range records {
		measured.At, measured.Value = append(measured.At, rec.Timestamp.Unix()), append(measured.Value, rec.Power)
	}
	every := time.Duration(gap.StepMinutes * float64(time.Minute))
	filled := chart.Points{Step: every, Value: gap.P50KW}
	for i := range gap.P50KW {
		filled.At = append(filled.At, gap.Start.Add(time.Duration(i)*every).Unix())
	}
	c.Band = &chart.Band{Name: BandName(v), At: filled.At, Low: gap.P10KW, High: gap.P90KW, Step: every}
	c.Lines = append(c.Lines[:0],
		chart.Line{Name: "filled", Points: filled, Role: themes.P50, Pattern: chart.Dashed},
		chart.Line{Name: "measured", Points: measured, Role: themes.Actual, Filled: true})
	c.From, c.To = from, to
	DrawDay(c, r, v, from, 1, top)
}

// BandName names the band of a forecast in a legend.
func BandName(v view.Context) string {
	if v.ASCII {
		return "P10-P90"
	}
	return "P10–P90"
}

// Settled replaces the few watts that units consume at night by zero: an axis that
// includes them would compress the rest of the day.
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

// DrawDay fills in what every day chart has in common, and draws.
func DrawDay(c *chart.Day, r terminal.Region, v view.Context, start time.Time, days int, top float64) {
	c.Pen, c.Palette, c.Images, c.Location = v.Pen, v.Palette, v.Images, v.Site.Zone
	c.Start, c.Days, c.Now, c.Unit, c.Top = start, days, v.SiteNow, "kW", top
	_, h := r.Size()
	c.Legend = h >= 7
	c.Draw(r)
}

// forecastLines are a forecast as a chart takes it.
type forecastLines struct {
	P50, Clear chart.Points
	Band       chart.Band
}

// ForecastPoints are forecast values as lines and a band of a chart.
func ForecastPoints(values []api.ForecastValue, step time.Duration) forecastLines {
	var f forecastLines
	for _, value := range values {
		at := value.Timestamp.Unix()
		f.P50.At, f.P50.Value = append(f.P50.At, at), append(f.P50.Value, value.PredictedPowerKW)
		f.Clear.Value = append(f.Clear.Value, value.ClearSkyKW)
		f.Band.Low, f.Band.High = append(f.Band.Low, value.ConfidenceInterval.Lower), append(f.Band.High, value.ConfidenceInterval.Upper)
	}
	f.Clear.At, f.Band.At = f.P50.At, f.P50.At
	f.P50.Step, f.Clear.Step, f.Band.Step = step, step, step
	return f
}

// Points are even slots from start on.
func Points(values []float64, start time.Time, step time.Duration) chart.Points {
	at := make([]int64, len(values))
	for i := range at {
		at[i] = start.Add(time.Duration(i) * step).Unix()
	}
	return chart.Points{At: at, Value: values, Step: step}
}

// DrawBar draws a share (0..1) as a filled bar, such as that of progress.
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

// DrawSize draws a value as a share (0..1) of the greatest one: a line in the grey of what is
// not abnormal.
func DrawSize(r terminal.Region, v view.Context, share float64) {
	w, _ := r.Size()
	mark := '━'
	if v.ASCII {
		mark = '='
	}
	for x := range int(math.Round(min(max(share, 0), 1) * float64(w))) {
		r.PutRune(x, 0, mark, v.Style(themes.Dim))
	}
}

// DrawMeasured draws measured energy as a bar on a scale up to top, with P10 to P90 shaded behind
// it and a mark at the median; unknown ones are not drawn.
func DrawMeasured(r terminal.Region, v view.Context, kwh, p10, p50, p90, top float64) {
	w, _ := r.Size()
	if !(top > 0) || w < 3 {
		return
	}
	cell := func(x float64) int {
		if math.IsNaN(x) {
			return -1
		}
		return min(max(int(math.Round(x/top*float64(w-1))), 0), w-1)
	}
	bar, mid := '━', '┃'
	if v.ASCII {
		bar, mid = '=', '|'
	}
	low, high, end := cell(p10), cell(p90), -1
	if kwh > 0 {
		end = cell(kwh)
	}
	for x := range w {
		style, mark := v.Style(themes.Actual), ' '
		if x <= end {
			mark = bar
		}
		if x == cell(p50) {
			style, mark = v.Style(themes.P50).With(themes.Bold), mid
		}
		if low >= 0 && x >= low && x <= high {
			switch style = style.On(v.Style(themes.Band)); {
			case mark != ' ':
			case v.ASCII:
				mark = '.'
			case v.Palette.Colorless():
				mark, style = '░', v.Style(themes.Muted)
			}
		}
		if mark != ' ' || style.BG != v.Style(themes.Actual).BG {
			r.PutRune(x, 0, mark, style)
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
