package pane

import (
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// DrawFilled draws a unit's power as it was measured, with the hole that a gap
// left, and in the hole what fills it: P50 within P10 to P90. The records are
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
	c.Band = &chart.Band{Name: bandName(v), At: filled.At, Low: gap.P10KW, High: gap.P90KW, Step: every}
	c.Lines = append(c.Lines[:0],
		chart.Line{Name: "filled", Points: filled, Role: themes.P50, Pattern: chart.Dashed},
		chart.Line{Name: "measured", Points: measured, Role: themes.Actual})
	c.From, c.To = from, to
	drawOn(c, r, v, from, 1, top)
}
