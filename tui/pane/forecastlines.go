package pane

import (
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
