package plain

import (
	"fmt"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/tui/view/widget"
)

// Alerts has a line for each alert.
func Alerts(list []Sited[api.Alert], z Zones) *Table {
	t := NewTable("priority", "site", "unit", "fault", "since (site time)", "#at risk kW, daylight mean", "state", "id")
	for _, v := range list {
		a, zone := v.Fact, z.Of(v.Site)
		t.Add(widget.AlarmPriority(a.AlertSeverity), z.Label(v.Site), Unit(a.AssetID, alertUnits(a)), widget.Family(a.AlertType), When(a.Timestamp, zone), Number(a.EnergyAtRiskKW), alertState(a, zone), a.AlertID)
	}
	return t
}

// Findings has a line for each finding.
func Findings(list []Sited[api.Finding], z Zones) *Table {
	t := NewTable("priority", "site", "unit", "fault", "since (site time)", "until (site time)", "#at risk kW, daylight mean", "#lost kWh", "#sure %", "likely cause", "id")
	for _, v := range list {
		f, zone := v.Fact, z.Of(v.Site)
		until := "now"
		if !f.Active {
			until = When(f.EndedAt, zone)
		}
		t.Add(widget.FindingPriority(f), z.Label(v.Site), Unit(f.AssetID, f.AssetIDs), widget.Family(f.FaultFamily), When(f.StartedAt, zone), until,
			Number(f.EnergyAtRiskKW), Number(f.LostKWh), Number(100*f.Confidence), Label(f.RootCause), f.SummaryID)
	}
	return t
}

// History summarises the findings of a period in sentences: their number, and those
// that lost the most energy.
func History(h api.History, zone *time.Location) []string {
	if h.Count == 0 {
		return []string{"no fault was found"}
	}
	out := []string{}
	for _, f := range h.Families {
		line := fmt.Sprintf("%s: %s", widget.Family(f.FaultFamily), times(f.Count))
		if f.Active > 0 {
			line += fmt.Sprintf(", %d active", f.Active)
		}
		line += ", " + lasted(f.LastedHours)
		if f.LostKWh > 0 {
			line += ", " + display.Energy(f.LostKWh) + " lost"
		}
		out = append(out, line+", "+units(f.AssetIDs))
	}
	if h.LostKWh > 0 {
		out = append(out, "total lost: "+display.Energy(h.LostKWh))
	}
	for _, f := range h.LargestLoss[:min(len(h.LargestLoss), historyLargest)] {
		until := "now"
		if !f.Active {
			until = When(f.EndedAt, zone)
		}
		out = append(out, fmt.Sprintf("%s to %s, %s: %s, %s lost, %s sure", When(f.StartedAt, zone), until, Unit(f.AssetID, f.AssetIDs), widget.Family(f.FaultFamily), display.Energy(f.LostKWh), display.Percent(f.Confidence)))
	}
	return out
}

// Evaluation describes what the newest run of detection could evaluate, such as that the
// history is too short for some kinds of faults.
func Evaluation(newestFirst []api.Detection) []string {
	if len(newestFirst) == 0 {
		return []string{"whether detection has evaluated the site is unknown: runs without faults are not stored"}
	}
	if a := newestFirst[0].Analysis; a != nil {
		return a.NotJudged
	}
	return nil
}

// historyLargest is the number of findings that [History] names.
const historyLargest = 5

// units returns a few names, or their number.
func units(ids []string) string {
	if len(ids) <= 3 {
		return strings.Join(ids, " ")
	}
	return display.CountOf(len(ids), "unit", "units")
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return display.CountOf(n, "time", "times")
}

// lasted returns a duration of hours in hours or days.
func lasted(hours float64) string {
	if hours < 48 {
		return Number(hours) + " hours"
	}
	return Number(hours/24) + " days"
}

// Orders has a line for each work order.
func Orders(list []Sited[api.Order], z Zones) *Table {
	t := NewTable("priority", "site", "unit", "work", "status", "technician", "planned (site time)", "next", "due (site time)", "late", "id")
	for _, v := range list {
		o, zone := v.Fact, z.Of(v.Site)
		do, by, late := next(o)
		t.Add(o.Priority, z.Label(v.Site), Unit(o.AssetID, nil), orderWork(o), orderStatus(o), o.AssignedTechnician, When(o.PlannedStart, zone), do, When(by, zone), yes(late), o.OrderID)
	}
	return t
}

func yes(v bool) string {
	if v {
		return "yes"
	}
	return ""
}

// Forecast has a line for each interval of a site's forecast.
func Forecast(f api.GeneratedForecast, z Zones) *Table {
	t := NewTable("from (site time)", "#P50 kW", "#P10 kW", "#P90 kW", "#clear sky kW")
	zone := z.Of(api.SiteRef{CustomerID: f.CustomerID, SiteID: f.SiteID})
	for _, v := range f.Forecasts {
		t.Add(When(v.Timestamp, zone), Number(v.PredictedPowerKW), Number(v.ConfidenceInterval.Lower), Number(v.ConfidenceInterval.Upper), Number(v.ClearSkyKW))
	}
	return t
}

// ForecastDays has a line for each day of a site's calendar that its forecast
// reaches into, with the quantiles of the day's energy as the service answered
// them. Of an answer without days, only the P50 of the hours is known.
func ForecastDays(f api.GeneratedForecast, z Zones) *Table {
	t := NewTable("day", "#hours forecast", "#P10 kWh", "#P50 kWh", "#P90 kWh", "note")
	for _, d := range f.Days {
		note := ""
		if !d.Complete {
			note = "part of the day"
		}
		if d.Issued == api.IssuedBackcast {
			note = strings.TrimPrefix(note+", backcast", ", ")
		}
		t.Add(d.Day, Number(d.Hours), Number(d.P10KWh), Number(d.P50KWh), Number(d.P90KWh), note)
	}
	if len(f.Days) > 0 {
		return t
	}
	hours := float64(f.StepMinutes) / 60
	zone := z.Of(api.SiteRef{CustomerID: f.CustomerID, SiteID: f.SiteID})
	date := func(i int) string { return f.Forecasts[i].Timestamp.In(zone).Format(time.DateOnly) }
	for i := 0; i < len(f.Forecasts); {
		day, n, kwh := date(i), 0, 0.0
		for ; i < len(f.Forecasts) && date(i) == day; i++ {
			n, kwh = n+1, kwh+f.Forecasts[i].PredictedPowerKW*hours
		}
		t.Add(day, Number(float64(n)*hours), Unknown, Number(kwh), Unknown, "sum of the hours")
	}
	return t
}

// share is the unit of figures that are printed as per cent.
const share = "1"

// Figures returns a line for each KPI of a site; shares are in per cent.
func Figures(k api.KPIs) *Table {
	t := NewTable("figure", "#value", "unit", "#low (95 %)", "#high (95 %)", "#data %", "note")
	for _, f := range k.Figures {
		factor, unit := 1.0, f.Unit
		if unit == share {
			factor, unit = 100, "%"
		}
		low, high := "", ""
		if f.Low != nil && f.High != nil {
			low, high = Maybe(f.Low, factor), Maybe(f.High, factor)
		}
		t.Add(Label(f.Name), Maybe(f.Value, factor), unit, low, high, Maybe(f.DataAvailability, 100), f.Note)
	}
	return t
}

// KPIWords are lines on the ratings, the irradiance and the revision of the
// figures of a window.
func KPIWords(k api.KPIs, zone *time.Location) []string {
	var lines []string
	if r := k.Ratings; r != nil {
		lines = append(lines, "rating: "+widget.RatingWords("dc", r.DCKW, r.DCSource, r.DCInferred)+"; "+widget.RatingWords("ac", r.ACKW, r.ACSource, r.ACInferred))
	}
	if r := k.Irradiance; r != nil {
		lines = append(lines, "irradiance: "+r.Description)
	}
	if words := widget.RevisionWords(k.AsOf, k.Revision, func(at api.Time) string { return When(at, zone) }); words != "" {
		if n := len(k.Revisions); n > 1 {
			words += ": " + k.Revisions[n-1].Reason
		}
		lines = append(lines, "as of: "+words)
	}
	return lines
}

// FigureDetails returns lines with the basis of each KPI of a site.
func FigureDetails(k api.KPIs, zone *time.Location) *Table {
	t := NewTable("figure", "what", "is")
	for _, f := range k.Figures {
		for _, fact := range widget.FigureFacts(f, func(at api.Time) string { return When(at, zone) }) {
			t.Add(Label(f.Name), fact.Label, fact.Text)
		}
	}
	return t
}

// Availability has a line for each category of the units' useful time.
func Availability(k api.KPIs) *Table {
	t := NewTable("useful time", "#hours", "#share %")
	for _, c := range k.Categories {
		t.Add(Label(c.Category), Number(c.Hours), Number(100*c.Share))
	}
	return t
}
