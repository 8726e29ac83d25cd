package screen

import (
	"fmt"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// newIssued lists the forecasts as they were issued; the chosen one is drawn
// against what came.
func newIssued() *leaf {
	l := newLeaf("issued")
	c := &chart.Day{}
	l.needs = func(v view.Context) []state.Need {
		needs := []state.Need{{Query: state.QueryIssued, Period: time.Minute}, {Query: state.QueryAssets, Period: 5 * time.Minute}}
		if f := issuedOf(v, l.list.Selected); f != nil && came(v, *f).To.After(came(v, *f).From) {
			needs = append(needs, state.Need{Query: state.QueryRecords, Of: came(v, *f).Of(), Period: 5 * time.Minute})
		}
		return needs
	}
	l.status = func(v view.Context) status { return statusOf(v.Site.Issued, v.Now, len(v.Site.Issued.Data) == 0) }
	l.empty = "No forecast has been issued yet."
	l.head = func(r terminal.Region, v view.Context, id string) int {
		f := issuedOf(v, id)
		if f == nil {
			return 0
		}
		w, h := r.Size()
		y := v.Paragraph(r, 0, 0, judged(v, *f), themes.Dim)
		if h-y < 6 || w < 30 {
			return y
		}
		values := issuedValues(*f)
		span := came(v, *f)
		actual := chart.Line{Name: "actual", Points: siteHours(v, span), Role: themes.Actual}
		from := view.MidnightOf(f.GeneratedAt.In(v.Site.Zone))
		to := from.AddDate(0, 0, max(w/14, 1))
		if n := len(values); n > 0 && to.After(values[n-1].Timestamp.Time) {
			to = view.MidnightOf(values[n-1].Timestamp.In(v.Site.Zone)).AddDate(0, 0, 1)
		}
		c.Stale = v.Site.Issued.Err != nil
		pane.DrawForecast(c, r.Region(terminal.Rect{Y: y, W: w, H: h - y}), v, values, time.Hour, from, to, actual)
		return h
	}
	l.columns = func(view.Context) []pane.Column {
		return []pane.Column{
			{Title: "issued", Width: 12}, {Title: "model", Min: 12, Rank: 1}, {Title: "ahead", Width: 6, Right: true}, {Title: "air", Width: 7, Right: true, Rank: 2},
			{Title: "sun", Width: 9, Right: true, Rank: 3}, {Title: "weather from", Width: 14, Rank: 1},
		}
	}
	l.rows = func(v view.Context) []pane.Row {
		rows := make([]pane.Row, 0, len(v.Site.Issued.Data))
		for _, f := range v.Site.Issued.Data {
			w := f.WeatherContext
			rows = append(rows, pane.Row{ID: f.ForecastID, Sort: []any{f.GeneratedAt.String(), f.ModelVersion, float64(f.HorizonHours), w.AvgTemperatureC, w.AvgIrradianceWM2, w.Source}, Cells: []pane.Cell{
				text(pane.When(f.GeneratedAt.Time, v.SiteNow, v.Site.Zone)), text(f.ModelName + " " + f.ModelVersion), text(fmt.Sprintf("%d h", f.HorizonHours)),
				quiet(pane.Significant(w.AvgTemperatureC) + " °C"), quiet(fmt.Sprintf("%.0f W/m²", w.AvgIrradianceWM2)), quiet(w.Source),
			}})
		}
		return rows
	}
	return l
}

func issuedOf(v view.Context, id string) *api.StoredForecast {
	for i, f := range v.Site.Issued.Data {
		if f.ForecastID == id {
			return &v.Site.Issued.Data[i]
		}
	}
	return nil
}

// issuedValues are the points of an issued forecast.
func issuedValues(f api.StoredForecast) []api.ForecastValue {
	out := make([]api.ForecastValue, len(f.ForecastPoints))
	for i, p := range f.ForecastPoints {
		out[i] = api.ForecastValue{Timestamp: p.Timestamp, PredictedPowerKW: p.PredictedPowerKW, ClearSkyKW: p.ClearSkyKW, ConfidenceInterval: api.Interval{Lower: p.LowerConfKW, Upper: p.UpperConfKW}}
	}
	return out
}

// came is the part of an issued forecast that has come, in whole hours.
func came(v view.Context, f api.StoredForecast) state.Span {
	from := view.MidnightOf(f.GeneratedAt.In(v.Site.Zone))
	to := v.SiteNow.Truncate(time.Hour)
	if n := len(f.ForecastPoints); n > 0 {
		if end := f.ForecastPoints[n-1].Timestamp.Add(time.Hour); end.Before(to) {
			to = end
		}
	}
	return state.Span{From: from, To: to, Resolution: api.ResolutionHour}
}

// siteHours is the site's power in the hours of a span; of an hour in which not
// every unit of a known rating reported, the others stand for those by their
// rating.
func siteHours(v view.Context, span state.Span) chart.Points {
	if v.Site.Wanted(state.QueryRecords) != span.Of() {
		return chart.Points{Step: time.Hour}
	}
	rating, all := map[string]float64{}, 0.0
	for _, a := range v.Site.Assets.Data {
		if _, ok := v.Site.Records.Data[a.AssetID]; ok {
			rating[a.AssetID], all = a.CapacityKW, all+a.CapacityKW
		}
	}
	sum, reported := map[int64]float64{}, map[int64]float64{}
	for id, records := range v.Site.Records.Data {
		for _, rec := range records {
			at := rec.Timestamp.Unix()
			sum[at] += rec.Power
			reported[at] += rating[id]
		}
	}
	out := chart.Points{Step: time.Hour}
	for at := range sum {
		out.At = append(out.At, at)
	}
	slices.Sort(out.At)
	for _, at := range out.At {
		kw := sum[at]
		switch r := reported[at]; {
		case all > 0 && r < all/2:
			kw = math.NaN()
		case all > 0:
			kw *= all / r
		}
		out.Value = append(out.Value, kw)
	}
	out.Value = pane.Settled(out.Value, v.Site.CapacityKW)
	return out
}

// judged says in a sentence how an issued forecast did in the hours of
// daylight that have come.
func judged(v view.Context, f api.StoredForecast) string {
	actual := siteHours(v, came(v, f))
	byHour := map[int64]float64{}
	for i, at := range actual.At {
		byHour[at] = actual.Value[i]
	}
	n, within, miss, bias := 0, 0, 0.0, 0.0
	for _, p := range f.ForecastPoints {
		kw, ok := byHour[p.Timestamp.Unix()]
		if !ok || math.IsNaN(kw) || p.ClearSkyKW <= 0.01*v.Site.CapacityKW {
			continue
		}
		n++
		miss += math.Abs(p.PredictedPowerKW - kw)
		bias += p.PredictedPowerKW - kw
		if kw >= p.LowerConfKW && kw <= p.UpperConfKW {
			within++
		}
	}
	if n == 0 {
		return "None of its daylight hours has come yet."
	}
	hours := float64(n)
	side := "high"
	if bias < 0 {
		side = "low"
	}
	return fmt.Sprintf("%d daylight hours have come: off by %s on average, %s too %s in all; %s of them between P10 and P90, where 80 %% is meant.",
		n, pane.Power(miss/hours), pane.Power(math.Abs(bias)/hours), side, pane.Percent(float64(within)/hours))
}

// newAccuracy shows how forecasts have done by lead, against what was said.
func newAccuracy() *leaf {
	l := newLeaf("accuracy")
	l.needs = func(view.Context) []state.Need {
		return []state.Need{{Query: state.QueryAccuracy, Of: accuracyDays, Period: 5 * time.Minute}}
	}
	l.status = func(v view.Context) status {
		return statusOf(v.Site.Accuracy, v.Now, len(v.Site.Accuracy.Data.Leads) == 0)
	}
	l.empty = "No forecast has been scored yet: a day is scored when it is over."
	l.head = func(r terminal.Region, v view.Context, _ string) int {
		a := v.Site.Accuracy.Data
		y := v.Paragraph(r, 0, 0, fmt.Sprintf("%s to %s: each hour of daylight counts once for every forecast that spoke of it. In percent of capacity.", a.From, a.To), themes.Dim)
		y = v.Paragraph(r, 0, y, "So far: "+scoreWords(a.Overall), themes.Text)
		if a.Promised != nil {
			y = v.Paragraph(r, 0, y, "Promised by the backtest, a day ahead: "+scoreWords(*a.Promised), themes.Dim)
		}
		return y
	}
	l.columns = func(view.Context) []pane.Column {
		return []pane.Column{
			{Title: "lead", Width: 12}, {Title: "hours", Width: 7, Right: true, Rank: 2}, {Title: "error", Width: 8, Right: true}, {Title: "bias", Width: 8, Right: true},
			{Title: "coverage", Width: 9, Right: true}, {Title: "width", Width: 8, Right: true, Rank: 1}, {Title: "pinball", Width: 8, Right: true, Rank: 3}, {Title: "error, by lead", Min: 10, Rank: 2},
		}
	}
	l.rows = func(v view.Context) []pane.Row {
		a := v.Site.Accuracy.Data
		top := 0.0
		for _, lead := range a.Leads {
			top = max(top, lead.NMAEPercent)
		}
		rows := make([]pane.Row, 0, len(a.Leads))
		for _, lead := range a.Leads {
			name := fmt.Sprintf("%d to %d h", lead.FromHours, lead.ToHours)
			coverage := text(pane.Percent(lead.Coverage80))
			if !chart.NormalRatio.Holds(lead.Coverage80 / 0.8) {
				coverage.Role = themes.Warning
			}
			rows = append(rows, pane.Row{ID: name, Sort: []any{float64(lead.FromHours), float64(lead.Samples), lead.NMAEPercent, lead.BiasPercent, lead.Coverage80, lead.WidthPercent, lead.PinballPercent, lead.NMAEPercent}, Cells: []pane.Cell{
				text(name), quiet(fmt.Sprint(lead.Samples)), text(percentage(lead.NMAEPercent)), text(fmt.Sprintf("%+.1f %%", lead.BiasPercent)), coverage,
				quiet(percentage(lead.WidthPercent)), quiet(percentage(lead.PinballPercent)), {Draw: func(r terminal.Region) { pane.DrawBar(r, v, lead.NMAEPercent/max(top, 1e-9)) }},
			}})
		}
		return rows
	}
	return l
}

// percentage writes percent with one digit behind the point.
func percentage(x float64) string { return fmt.Sprintf("%.1f %%", x) }

func scoreWords(s api.ModelScore) string {
	side := "high"
	if s.BiasPercent < 0 {
		side = "low"
	}
	return fmt.Sprintf("error %s, %s too %s, %s between P10 and P90 over %d hours.", percentage(s.NMAEPercent), percentage(math.Abs(s.BiasPercent)), side, pane.Percent(s.Coverage80), s.Samples)
}
