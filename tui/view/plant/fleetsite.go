package plant

import (
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/alarm"
	"app.sunloop/tui/view/widget"
)

// Lines of the chart of a site: at most, and with the alarms below it at most and at least.
const (
	mostChart  = 32
	sharedMost = 18
	leastChart = 9
)

// Least cells of a unit's name in the row of an alarm, and how many of them are its beginning:
// the ends of the names of units differ.
const (
	leastUnit = 12
	unitHead  = 4
)

// drawRest draws the day of the selected site where the details leave room, and its alarms
// below it, unless they are next to the list.
func (f *fleet) drawRest(r terminal.Region, v view.Context, id string) {
	sites := f.ordered(v)
	i := slices.IndexFunc(sites, func(s api.FleetSite) bool { return fleetID(s) == id })
	if i < 0 {
		return
	}
	w, h := r.Size()
	own, day, ok := f.siteDay(v, sites[i])
	name := f.labels(sites[i].Ref())
	if !ok {
		v.Heading(r, 0, "Power of "+name, "today")
		v.Paragraph(r, 0, 1, whyNoSite(v, "the power of this site"), themes.Muted)
		return
	}
	high := min(h, mostChart)
	alarms := 0
	if !f.screen.SideDrawn() {
		if alarms = min(alarmLines(own, w), h-leastChart-1); alarms > 2 {
			high = min(h-alarms-1, sharedMost)
		}
	}
	f.drawPower(r.Region(terminal.Rect{W: w, H: high}), own, day, name)
	if alarms > 2 {
		drawSiteAlarms(r.Region(terminal.Rect{Y: high + 1, W: w, H: h - high - 1}), own, name)
	}
}

// drawPower draws the power of a site over its day, with the forecast.
func (f *fleet) drawPower(r terminal.Region, own view.Context, day *view.DayTable, name string) {
	w, h := r.Size()
	data := own.Admin.FleetUnits.Data
	note := "today"
	if data.ForecastErr != nil {
		note = "today, without a forecast"
	}
	own.Heading(r, 0, "Power of "+name, note)
	c := &f.power
	c.Lines, c.Band, c.Loss = c.Lines[:0], nil, nil
	top := own.Site.CapacityKW
	values := slices.DeleteFunc(slices.Concat(data.Forecast.Today, data.Forecast.Forecasts), func(v api.ForecastValue) bool {
		return v.Timestamp.Before(day.Start) || v.Timestamp.After(day.Start.AddDate(0, 0, 1))
	})
	slices.SortStableFunc(values, func(a, b api.ForecastValue) int { return a.Timestamp.Compare(b.Timestamp.Time) })
	values = slices.CompactFunc(values, func(a, b api.ForecastValue) bool { return a.Timestamp.Equal(b.Timestamp.Time) })
	if lines := widget.ForecastPoints(values, time.Hour); len(lines.P50.At) > 0 {
		c.Lines = append(c.Lines,
			chart.Line{Name: "clear sky", Points: lines.Clear, Role: themes.ClearSky, Pattern: chart.Dotted},
			chart.Line{Name: "P50", Points: lines.P50, Role: themes.P50, Pattern: chart.Dashed})
		lines.Band.Name = widget.BandName(own)
		c.Band, top = &lines.Band, slices.Max(lines.Clear.Value)
	}
	c.Lines = append(c.Lines, chart.Line{Name: "actual", Points: widget.Points(widget.Settled(day.Total, own.Site.CapacityKW), day.Start, day.Step), Role: themes.Actual, Filled: true})
	c.Format = display.Significant
	widget.DrawDay(c, r.Region(terminal.Rect{Y: 1, W: w, H: h - 1}), own, day.Start, 1, top)
}

// alarmLines returns how many lines the alarms of a site take with their heading.
func alarmLines(own view.Context, w int) int {
	return drawSiteAlarms(terminal.Region{}.Region(terminal.Rect{W: w, H: 1000}), own, "")
}

// drawSiteAlarms draws the alarms of a site, the most urgent first, each with its advice as
// far as there is room, and returns how many lines all of it takes.
func drawSiteAlarms(r terminal.Region, own view.Context, name string) int {
	w, h := r.Size()
	own.Heading(r, 0, "Alarms of "+name)
	if err := own.Admin.FleetUnits.Data.AlertsErr; err != nil {
		return own.Paragraph(r, 0, 1, "Unknown: "+state.Reason(err)+".", themes.Warning)
	}
	groups := alarm.GroupAlerts(own.Site.Alerts.Data.Alerts)
	if len(groups) == 0 {
		return own.Paragraph(r, 0, 1, "No alarms.", themes.Muted) + 1
	}
	y, advised := 1, true
	for i, g := range groups {
		a := g.Worst()
		if y >= h-1 && i < len(groups)-1 {
			own.PutIn(r, 0, h-1, w, display.CountOf(len(groups)-i, "more alarm", "more alarms")+".", themes.Dim)
			break
		}
		x := widget.DrawPriorityMark(own, r, 0, y, a.AlertSeverity) + 1
		what, since := "  "+widget.Family(a.AlertType), a.State+", since "+display.When(a.Timestamp.Time, own.SiteNow, own.Site.Zone)
		room := w - x - terminal.Width(what) - 2 - terminal.Width(since)
		x = own.PutIn(r, x, y, w-x, terminal.TruncateMiddle(alarm.UnitOf(a), unitHead, max(room, leastUnit), own.ASCII)+what, themes.Text) + 2
		own.PutIn(r, x, y, w-x, since, themes.Dim)
		y++
		advice := alarm.Response(own, a)
		lines := widget.DetailLines(own, w-3, advice)
		if advised = advised && y+lines+len(groups)-1-i <= h; advised {
			widget.DrawDetails(r.Region(terminal.Rect{X: 3, Y: y, W: w - 3, H: h - y}), own, advice)
			y += lines
		}
	}
	return y
}
