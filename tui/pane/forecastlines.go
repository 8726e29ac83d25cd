package pane

import (
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/terminal"
)

// DrawForecast draws forecast values as band, median and clear sky over the
// days that they cover, with more lines in front of them.
func DrawForecast(c *chart.Day, r terminal.Region, v View, values []api.ForecastValue, step time.Duration, from, to time.Time, more ...chart.Line) {
	lines := forecastPoints(values, step)
	lines.band.Name = bandName(v)
	c.Band = &lines.band
	c.Lines = append(c.Lines[:0],
		chart.Line{Name: "clear sky", Points: lines.clear, Role: themes.ClearSky, Pattern: chart.Dotted},
		chart.Line{Name: "P50", Points: lines.p50, Role: themes.P50, Pattern: chart.Dashed})
	c.Lines = append(c.Lines, more...)
	c.From, c.To = from, to
	drawOn(c, r, v, from, 1, v.Site.CapacityKW)
}

// DrawRange draws a day's energy on a scale up to top: double to P10, which is
// nearly certain, single to P90, with a mark at the median.
func DrawRange(r terminal.Region, v View, p10, p50, p90, top float64) {
	drawRange(r, v, p10, p50, p90, top)
}

// DrawBar draws a share (0..1) as a filled bar.
func DrawBar(r terminal.Region, v View, share float64) { drawBar(r, v, share) }

// Settled draws the few watts that units take at night on the axis.
func Settled(values []float64, capacityKW float64) []float64 { return settled(values, capacityKW) }

// Heading draws a section's title with a quiet rule behind it, and on the
// right those of the notes that are not empty.
func (v View) Heading(r terminal.Region, y int, title string, notes ...string) {
	v.heading(r, y, title, notes...)
}

// PutIn draws text within width cells and answers the x after it.
func (v View) PutIn(r terminal.Region, x, y, width int, text string, role themes.Role) int {
	return v.putIn(r, x, y, width, text, role)
}

// Separator stands between facts in one line.
func (v View) Separator() string { return v.separator() }
