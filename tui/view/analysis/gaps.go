package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"
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

// NewGaps shows the runs of gap filling with their accuracy by length of gap and
// known weather, and the longest gaps before and after.
func NewGaps() *widget.TabView {
	runs := newRuns()
	return &widget.TabView{Heading: "Interpolation", Tabs: []*widget.Tab{runs, newGapList(runs), newGapKinds(runs)}}
}

func gapNeeds(view.Context) []state.Need {
	return []state.Need{{Query: state.QueryInterpolations, Period: time.Minute}}
}

// noGaps is shown where no run is known.
const noGaps = "No gaps have been filled yet: they are filled after each training."

// runOf returns the run of an id, else the newest; nil without any.
func runOf(v view.Context, id string) *api.InterpolationResult {
	list := v.Site.Interpolations.Data
	if i := slices.IndexFunc(list, func(r api.InterpolationResult) bool { return r.ResultID == id }); i >= 0 {
		return &list[i]
	}
	if len(list) > 0 {
		return &list[0]
	}
	return nil
}

func newRuns() *widget.Tab {
	l := widget.NewTab("runs")
	l.Needs, l.Empty = gapNeeds, noGaps
	l.Status = func(v view.Context) widget.ValueStatus {
		return widget.StatusOf(v.Site.Interpolations, v.Now, len(v.Site.Interpolations.Data) == 0)
	}
	l.Columns = func(view.Context) []widget.Column {
		return []widget.Column{
			{Title: "when", Width: 12}, {Title: "gaps", Width: 6, Right: true}, {Title: "mostly by", Min: 12}, {Title: "longest", Width: 10, Right: true, Rank: 2},
			{Title: "filled", Width: 8, Right: true, Rank: 1}, {Title: "error", Width: 8, Right: true},
		}
	}
	l.Rows = func(v view.Context) []widget.Row {
		rows := make([]widget.Row, 0, len(v.Site.Interpolations.Data))
		for _, r := range v.Site.Interpolations.Data {
			g, m := r.GapStatistics, r.PerformanceMetrics
			rows = append(rows, widget.Row{ID: r.ResultID, Sort: []any{r.ProcessedAt.String(), float64(g.TotalGaps), r.Method, g.LargestGapMinutes, g.CoverageImprovementPercent, number(m.NRMSEPercent)}, Cells: []widget.Cell{
				widget.Text(display.When(r.ProcessedAt.Time, v.SiteNow, v.Site.Zone)), widget.Text(fmt.Sprint(g.TotalGaps)), widget.Text(widget.Spaced(r.Method)), widget.QuietText(minutes(g.LargestGapMinutes)),
				widget.QuietText(display.Percentage(g.CoverageImprovementPercent)), widget.Text(display.Percentage(number(m.NRMSEPercent))),
			}})
		}
		return rows
	}
	l.Detail = runDetail
	return l
}

// number returns the value, or NaN if it is unknown.
func number(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// minutes writes the length of a gap.
func minutes(m float64) string { return display.Duration(time.Duration(m * float64(time.Minute))) }

func runDetail(v view.Context, id string) []widget.Detail {
	r := runOf(v, id)
	if r == nil {
		return nil
	}
	lines := []widget.Detail{{Heading: "Run of " + display.When(r.ProcessedAt.Time, v.SiteNow, v.Site.Zone)}}
	add := widget.FormatsOf(&lines)
	g, m, day := r.GapStatistics, r.PerformanceMetrics, func(t api.Time) string { return display.Date(t.In(v.Site.Zone)) }
	add("data", "%s to %s", day(r.DataWindow.Start), day(r.DataWindow.End))
	add("gaps", "%d, %s on average, %s the longest; only daylight counts", g.TotalGaps, minutes(g.AverageGapMinutes), minutes(g.LargestGapMinutes))
	add("filled", "%s of the daylight in the window", display.Percentage(g.CoverageImprovementPercent))
	if m.RMSEKW != nil {
		add("error", "%s RMSE, %s MAE, %s of capacity; R² %.2f; on samples that were measured, hidden and filled again", display.Power(*m.RMSEKW), display.Power(number(m.MAEKW)), display.Percentage(number(m.NRMSEPercent)), number(m.R2Score))
	} else {
		add("error", "unknown: %s", m.Reason)
	}
	if t := r.WeatherFeatures.MeanTemperatureC; t != nil {
		add("air", "%s °C in daylight", display.Significant(*t))
	}
	if s := r.WeatherFeatures.MeanIrradianceWM2; s != nil {
		add("sun", "%s in daylight", display.Irradiance(*s))
	}
	if len(r.Methods) > 0 {
		lines = append(lines, widget.Detail{Heading: "Methods, and the gaps that each filled"})
		for _, name := range widget.SortedKeys(r.Methods) {
			add(widget.Spaced(name), "%d", r.Methods[name])
		}
	}
	if len(r.AssetIDs) > 0 {
		add("units", "%s", strings.Join(r.AssetIDs, ", "))
	}
	if r.FilledValues != "" {
		add("values", "%s: P10, P50, P90 and method of each; telemetry itself stays as it was measured", r.FilledValues)
	}
	if len(r.Notes) > 0 {
		lines = append(lines, widget.Detail{Heading: "Notes"})
		for _, words := range r.Notes {
			lines = append(lines, widget.Detail{Text: words, Role: themes.Dim})
		}
	}
	return lines
}

// newGapList lists the longest gaps of the selected run; the chosen one is
// drawn as measured and as filled.
func newGapList(runs *widget.Tab) *widget.Tab {
	l := widget.NewTab("gaps")
	c := &chart.Day{}
	l.Needs = func(v view.Context) []state.Need {
		needs := append(gapNeeds(v), state.Need{Query: state.QueryAssets, Period: 5 * time.Minute})
		run := runOf(v, runs.List.Selected)
		if run == nil {
			return needs
		}
		needs = append(needs, state.Need{Query: state.QueryGaps, Of: run.ResultID, Period: 5 * time.Minute})
		if g := gapOf(v, l.List.Selected); g != nil {
			from, to := gapDays(v, *g)
			needs = append(needs, state.Need{Query: state.QueryEvidence, Of: state.SpanOf(from, to, v.Site.Zone), Period: 5 * time.Minute})
		}
		return needs
	}
	l.Status = func(v view.Context) widget.ValueStatus {
		if runOf(v, runs.List.Selected) == nil { // no run, no gaps to ask for
			return runs.Status(v)
		}
		return widget.StatusOf(v.Site.Gaps, v.Now, len(v.Site.Gaps.Data.Gaps) == 0)
	}
	l.Empty = "No gap has been filled: no training has run yet, or the units reported during all daylight."
	l.Head = func(r terminal.Region, v view.Context, id string) int {
		w, h := r.Size()
		all := v.Site.Gaps.Data
		y := v.Paragraph(r, 0, 0, fmt.Sprintf("The %d longest of %s of daylight. Measured telemetry is unchanged; filled values are stored separately.", all.Count, display.CountOf(all.TotalGaps, "gap", "gaps")), themes.Dim)
		g := gapOf(v, id)
		if g == nil || h-y < 6 || w < 30 {
			return y
		}
		from, to := gapDays(v, *g)
		step, _ := state.SpanStep(to.Sub(from))
		c.Stale = v.Site.Gaps.Err != nil
		widget.DrawFilled(c, r.Region(terminal.Rect{Y: y, W: w, H: h - y}), v, *g, measuredAround(v, *g), step, from, to, ratingOf(v, g.AssetID))
		return h
	}
	l.Columns = func(view.Context) []widget.Column {
		return []widget.Column{
			{Title: "unit", Width: 20, Min: 8, IDs: true}, {Title: "from", Width: 17}, {Title: "length", Width: 9, Right: true}, {Title: "filled by", Min: 12}, {Title: "energy", Width: 9, Right: true, Rank: 1},
		}
	}
	l.Rows = func(v view.Context) []widget.Row {
		rows := make([]widget.Row, 0, len(v.Site.Gaps.Data.Gaps))
		for _, g := range v.Site.Gaps.Data.Gaps {
			rows = append(rows, widget.Row{ID: gapID(g), Sort: []any{g.AssetID, g.Start.String(), g.Minutes, g.Method, g.EnergyKWh}, Cells: []widget.Cell{
				widget.Text(g.AssetID), widget.QuietText(display.DateTime(g.Start.In(v.Site.Zone))), widget.Text(minutes(g.Minutes)), widget.Text(widget.Spaced(g.Method)), widget.QuietText(display.Energy(g.EnergyKWh)),
			}})
		}
		return rows
	}
	return l
}

func gapID(g api.FilledGap) string { return g.AssetID + " " + g.Start.String() }

func gapOf(v view.Context, id string) *api.FilledGap {
	return widget.Find(v.Site.Gaps.Data.Gaps, func(g api.FilledGap) bool { return gapID(g) == id })
}

// gapDays returns the whole days around a gap: those that it touches.
func gapDays(v view.Context, g api.FilledGap) (from, to time.Time) {
	from = view.MidnightOf(g.Start.In(v.Site.Zone))
	return from, view.MidnightOf(g.End.Add(-time.Second).In(v.Site.Zone)).AddDate(0, 0, 1)
}

// measuredAround returns the unit's records of the days around a gap; none until
// they came.
func measuredAround(v view.Context, g api.FilledGap) []api.Record {
	from, to := gapDays(v, g)
	if v.Site.Wanted(state.QueryEvidence) != state.SpanOf(from, to, v.Site.Zone) {
		return nil
	}
	for _, u := range v.Site.Evidence.Data.Units {
		if u.AssetID == g.AssetID {
			return u.Records
		}
	}
	return nil
}

// ratingOf returns a unit's rated power in kW, 0 where it is not known.
func ratingOf(v view.Context, assetID string) float64 {
	if a := widget.Find(v.Site.Assets.Data, func(a api.Asset) bool { return a.AssetID == assetID }); a != nil {
		return a.CapacityKW
	}
	return 0
}

// newGapKinds shows the accuracy for each kind of gap in the selected run.
func newGapKinds(runs *widget.Tab) *widget.Tab {
	l := widget.NewTab("quality")
	l.Needs, l.Status, l.Empty = gapNeeds, runs.Status, noGaps
	l.Head = func(r terminal.Region, v view.Context, _ string) int {
		run := runOf(v, runs.List.Selected)
		return v.Paragraph(r, 0, 0, "Run of "+display.When(run.ProcessedAt.Time, v.SiteNow, v.Site.Zone)+": errors on samples that were measured, hidden and filled again, by the length of the gap and what was known of the sky.", themes.Dim)
	}
	l.Columns = func(view.Context) []widget.Column {
		return []widget.Column{
			{Title: "gap", Width: 9}, {Title: "known from", Width: 14}, {Title: "filled by", Width: 18, Min: 12}, {Title: "hidden", Width: 7, Right: true, Rank: 3}, {Title: "error", Width: 8, Right: true},
			{Title: "RMSE", Width: 8, Right: true, Rank: 1}, {Title: "R²", Width: 6, Right: true, Rank: 2}, {Title: "of capacity", Min: 10, Rank: 4},
		}
	}
	l.Rows = func(v view.Context) []widget.Row {
		run := runOf(v, runs.List.Selected)
		if run == nil {
			return nil
		}
		top := 0.0
		for _, k := range run.ByGapLength {
			if k.NRMSEPercent != nil {
				top = max(top, *k.NRMSEPercent)
			}
		}
		rows := make([]widget.Row, 0, len(run.ByGapLength))
		for i, k := range run.ByGapLength {
			rows = append(rows, widget.Row{ID: fmt.Sprint(i), Sort: []any{k.GapMinutes, k.KnownFrom, k.Method, float64(k.HiddenGaps), number(k.NRMSEPercent), number(k.RMSEKW), number(k.R2Score), number(k.NRMSEPercent)}, Cells: []widget.Cell{
				widget.Text(minutes(k.GapMinutes)), widget.Text(k.KnownFrom), widget.Text(widget.Spaced(k.Method)), widget.QuietText(fmt.Sprint(k.HiddenGaps)), widget.Text(display.Percentage(number(k.NRMSEPercent))), widget.QuietText(display.Power(number(k.RMSEKW))),
				widget.QuietText(display.Significant(number(k.R2Score))), {Draw: func(r terminal.Region) { widget.DrawSize(r, v, number(k.NRMSEPercent)/max(top, 1e-9)) }},
			}})
		}
		return rows
	}
	return l
}
