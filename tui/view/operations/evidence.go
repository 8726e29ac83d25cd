package operations

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
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/alarm"
	"app.sunloop/tui/view/widget"
	"app.sunloop/tui/view/workflow"
)

// caseRecords bounds the units times hours of an evidence window.
const caseRecords = 20_000

// caseWindow returns the evidence window of a finding: its period with a day before
// and after, in whole days; the last ones if it is too long.
func caseWindow(v view.Context, f api.Finding) (from, to time.Time) {
	end := v.SiteNow
	if !f.EndedAt.IsZero() {
		end = f.EndedAt.Time
	}
	to = view.MidnightOf(end.In(v.Site.Zone)).AddDate(0, 0, 2)
	if tomorrow := view.MidnightOf(v.SiteNow).AddDate(0, 0, 1); to.After(tomorrow) {
		to = tomorrow
	}
	from = view.MidnightOf(f.StartedAt.In(v.Site.Zone)).AddDate(0, 0, -1)
	most := min(31, max(3, caseRecords/24/max(len(v.Site.Assets.Data), 1)))
	if first := to.AddDate(0, 0, -most); from.Before(first) {
		from = first
	}
	return from, to
}

// caseNeed returns the query of a finding's evidence window.
func caseNeed(v view.Context, f api.Finding) state.Need {
	from, to := caseWindow(v, f)
	return state.Need{Query: state.QueryEvidence, Of: state.SpanOf(from, to, v.Site.Zone), Period: 5 * time.Minute}
}

// evidenceChart shows a finding's unit over its evidence window against its peers,
// with the residual below.
type evidenceChart struct {
	chart chart.Day
	strip chart.Heat
	memo  view.DayMemo
}

// data returns the units over the window; nil until they came.
func (c *evidenceChart) data(v view.Context, from, to time.Time) *view.DayTable {
	id := state.SpanOf(from, to, v.Site.Zone)
	if v.Site.Wanted(state.QueryEvidence) != id || v.Site.Evidence.At.IsZero() {
		return nil
	}
	key := view.DayKey{Site: v.Site, SpanAt: v.Site.Evidence.At, AssetAt: v.Site.Assets.At, Of: id}
	return c.memo.Get(key, func() *view.DayTable {
		day := state.Day{Start: from, End: to}
		step, _ := state.SpanStep(to.Sub(from))
		records := map[string][]api.Record{}
		for _, u := range v.Site.Evidence.Data.Units {
			records[u.AssetID] = u.Records
		}
		return view.NewDayData(v, day.With(records), step)
	})
}

// caseRows returns the height of the chart and the strip in a page of which so many
// rows are seen at once.
func caseRows(seen int) int { return min(max(seen*2/5, 8), 14) }

// draw draws the finding's unit and returns the rows it took; 0 when there is
// nothing to draw, as of a whole site.
func (c *evidenceChart) draw(r terminal.Region, v view.Context, f api.Finding) int {
	from, to := caseWindow(v, f)
	d := c.data(v, from, to)
	w, rows := r.Size()
	if d == nil || w < 30 {
		return 0
	}
	own := slices.IndexFunc(d.Units, func(a api.Asset) bool { return a.AssetID == f.AssetID })
	if own < 0 || d.Units[own].CapacityKW <= 0 || len(d.Slots[own]) == 0 {
		return 0
	}
	top := d.Units[own].CapacityKW
	expected := d.PeersOf(own)
	c.chart.Lines = append(c.chart.Lines[:0],
		chart.Line{Name: "median of peers", Points: widget.Points(expected, d.Start, d.Step), Role: themes.P50, Pattern: chart.Dashed},
		chart.Line{Name: v.ShortID(f.AssetID, max(w/3, 8)), Points: widget.Points(widget.Settled(d.Slots[own], top), d.Start, d.Step), Role: themes.Actual, Filled: true})
	c.chart.Loss = d.LossOf(own, expected)
	c.chart.Events = append(c.chart.Events[:0], chart.Event{Kind: chart.Raised, At: f.StartedAt.Time, Role: alarm.FindingRole(v, f)})
	if !f.EndedAt.IsZero() {
		c.chart.Events = append(c.chart.Events, chart.Event{Kind: chart.Cleared, At: f.EndedAt.Time})
	}
	for _, o := range v.Site.Orders.Data {
		if o.SummaryID == f.SummaryID {
			c.chart.Events = append(c.chart.Events, chart.Event{Kind: chart.WorkOrder, At: o.CreatedAt.Time})
		}
	}
	c.chart.From, c.chart.To, c.chart.Stale, c.chart.Margin = from, to, v.Site.Evidence.Err != nil, stripMargin
	widget.DrawDay(&c.chart, r.Region(terminal.Rect{W: w, H: rows - 1}), v, from, 1, top)
	c.drawStrip(r.Region(terminal.Rect{Y: rows - 1, W: w, H: 1}), v, d, own, from, to)
	return rows
}

// stripMargin is the room for the name of the residual strip.
const stripMargin = 10

// drawStrip draws the deviation of the unit from its peers.
func (c *evidenceChart) drawStrip(r terminal.Region, v view.Context, d *view.DayTable, own int, from, to time.Time) {
	h := &c.strip
	h.Pen, h.Palette, h.Normal, h.Location, h.From, h.To, h.Start = v.Pen, v.Palette, chart.LowRatio, v.Site.Zone, from, to, from
	h.Rows = append(h.Rows[:0], chart.HeatRow{Name: "residual", Ratio: widget.Points(d.Ratios[own], d.Start, d.Step)})
	h.Selected, h.Margin, h.Bare = -1, stripMargin, true
	h.Draw(r)
}

// similarShown is the number of similar findings shown.
const similarShown = 5

// similar returns the findings of the same family, those of the same unit first,
// newest first.
func similar(v view.Context, f api.Finding) []api.Finding {
	var out []api.Finding
	for _, other := range v.Site.Findings.Data {
		if other.SummaryID != f.SummaryID && other.FaultFamily == f.FaultFamily {
			out = append(out, other)
		}
	}
	slices.SortStableFunc(out, func(a, b api.Finding) int {
		switch same := a.AssetID == f.AssetID; {
		case same != (b.AssetID == f.AssetID) && same:
			return -1
		case same != (b.AssetID == f.AssetID):
			return 1
		}
		return b.StartedAt.Compare(a.StartedAt.Time)
	})
	return out[:min(len(out), similarShown)]
}

// resolutionText returns the resolution of a finding if it is known: the completion
// notes of its order, else the reason why its issue was closed.
func resolutionText(v view.Context, f api.Finding) string {
	for _, o := range v.Site.Orders.Data {
		if o.SummaryID == f.SummaryID && o.Status == api.OrderCompleted {
			words := o.CompletionNotes
			if o.Verification != nil {
				words += ", " + workflow.VerificationText[o.Verification.State]
			}
			return strings.TrimPrefix(words, ", ")
		}
	}
	if i := IssueOf(v, f.SummaryID); i != nil && i.Status == api.IssueResolved && len(i.History) > 0 {
		if note := i.History[len(i.History)-1].Note; note != "" && note != api.ReasonAuto {
			return note
		}
	}
	switch {
	case f.Active:
		return "open"
	case f.RootCause != "" && f.RootCause != "none":
		return "cleared without an order; probable cause: " + f.RootCause
	}
	return "cleared without an order"
}

// IssueOf returns the newest issue of a finding; nil without one.
func IssueOf(v view.Context, findingID string) *api.Issue {
	if v.Site == nil || findingID == "" {
		return nil
	}
	for i, issue := range v.Site.Issues.Data {
		if issue.SummaryID == findingID {
			return &v.Site.Issues.Data[i]
		}
	}
	return nil
}

// drawSimilar draws similar findings and returns the y after them.
func drawSimilar(r terminal.Region, v view.Context, y int, f api.Finding) int {
	list := similar(v, f)
	if len(list) == 0 {
		return y
	}
	w, _ := r.Size()
	v.Heading(r, y, "Similar findings")
	y++
	for _, other := range list {
		end := v.SiteNow
		if !other.EndedAt.IsZero() {
			end = other.EndedAt.Time
		}
		words := fmt.Sprintf("%s, %s, lost %s", display.When(other.StartedAt.Time, v.SiteNow, v.Site.Zone), display.Duration(end.Sub(other.StartedAt.Time)), widget.LostEnergy(other))
		x := v.PutIn(r, 0, y, w, v.ShortID(UnitName(other), max(w/3, 8))+"  ", themes.Text)
		v.PutIn(r, x, y, w-x, words, themes.Dim)
		y = max(v.Paragraph(r, 2, y+1, resolutionText(v, other), themes.Text), y+2)
	}
	return y
}

// issueWords returns the status of the issue of a finding.
func issueWords(v view.Context, f api.Finding) string {
	i := IssueOf(v, f.SummaryID)
	if i == nil || len(i.History) == 0 {
		return ""
	}
	last := i.History[len(i.History)-1]
	words := "issue " + strings.ToLower(i.Status) + " since " + display.When(last.At.Time, v.SiteNow, v.Site.Zone) + " by " + last.Actor
	if last.Note != "" {
		words += ": " + last.Note
	}
	return words
}

// LossPeriods are the days that the waterfall of losses looks back.
var LossPeriods = []int{7, 30, 90, 365}

// lossWindow returns the whole days of a period, up to the last midnight.
func lossWindow(v view.Context, days int) (from, to time.Time) {
	to = view.MidnightOf(v.SiteNow)
	return to.AddDate(0, 0, -days), to
}

// DrawLosses draws how the expected energy of a window became the measured energy: a
// step for each family of faults, and one for what no finding explains.
func DrawLosses(c *chart.Waterfall, r terminal.Region, v view.Context, l api.Losses) {
	c.Pen, c.Palette, c.Selected, c.Format = v.Pen, v.Palette, -1, display.Energy
	first := "expected"
	switch l.ExpectedBy {
	case api.ExpectedByLosses:
		first = "without faults"
	case api.ExpectedByBackcast:
		first = "backcast"
	}
	c.Steps = append(c.Steps[:0], chart.WaterfallStep{Name: first, Value: l.ExpectedKWh, Total: true})
	for _, cause := range l.ByCause {
		role := themes.Warning
		if cause.LostKWh < 0.001*l.ExpectedKWh {
			role = themes.Text
		}
		c.Steps = append(c.Steps, chart.WaterfallStep{Name: widget.Family(cause.FaultFamily), Value: -cause.LostKWh, Role: role})
	}
	if isForecast(l) {
		c.Steps = append(c.Steps, chart.WaterfallStep{Name: "unexplained", Value: -l.UnexplainedKWh, Role: themes.Text})
	}
	c.Steps = append(c.Steps, chart.WaterfallStep{Name: "measured", Value: l.ActualKWh, Total: true})
	c.Draw(r)
}

// isForecast reports whether the expected energy is that of a forecast, so that there is
// energy that no finding explains.
func isForecast(l api.Losses) bool {
	return l.ExpectedBy == api.ExpectedByForecast || l.ExpectedBy == api.ExpectedByBackcast
}

// LossSteps returns the number of rows of a waterfall of losses.
func LossSteps(l api.Losses) int {
	if isForecast(l) {
		return len(l.ByCause) + 3
	}
	return len(l.ByCause) + 2
}

// MeasuredKWh returns the energy of the KPIs: the specific yield times the
// rating. NaN where it is not reportable.
func MeasuredKWh(k api.KPIs) float64 {
	for _, f := range k.Figures {
		if f.Name == "specific_yield" && f.Value != nil {
			return *f.Value * k.RatedKW
		}
	}
	return math.NaN()
}

// drawLosses draws the site's losses over the period that was chosen.
func (o *Orient) drawLosses(r terminal.Region, v view.Context, seen int) int {
	w, _ := r.Size()
	days := LossPeriods[o.losses-1]
	from, to := lossWindow(v, days)
	v.Heading(r, 0, "Losses of the site", "last "+display.CountOf(days, "whole day", "whole days"))
	k := v.Site.KPIs
	measured := math.NaN()
	if v.Site.Wanted(state.QueryKPIs) == state.SpanOf(from, to, v.Site.Zone) {
		measured = MeasuredKWh(k.Data)
	}
	switch {
	case k.Err != nil && k.At.IsZero():
		return v.Paragraph(r, 0, 1, state.Sentence(k.Err), themes.Warning)
	case k.At.IsZero():
		return v.Paragraph(r, 0, 1, "Loading KPIs …", themes.Dim)
	case math.IsNaN(measured) || k.Data.Losses == nil:
		return v.Paragraph(r, 0, 1, "Energy is not available for this period: data availability is too low.", themes.Warning)
	}
	l := *k.Data.Losses
	rows := min(LossSteps(l), max(seen-4, 3))
	DrawLosses(&o.waterfall, r.Region(terminal.Rect{Y: 1, W: w, H: rows}), v, l)
	sum := 0.0
	for _, cause := range l.ByCause {
		sum += cause.LostKWh
	}
	words := "Findings lost " + display.Energy(sum)
	if m := display.Money(sum*v.Site.TariffPerKWh, v.Site.Currency); m != "" && v.Site.TariffPerKWh > 0 {
		words += ", " + m
	}
	return v.Paragraph(r, 0, rows+2, words+" in this time.", themes.Dim)
}

// Disabled returns why one of the pane's own actions is not possible.
func (o *Orient) Disabled(a keymap.Action, v view.Context) string {
	if a != keymap.TakeIssue && a != keymap.CloseIssue {
		return ""
	}
	f := workflow.SelectedFinding(v)
	if f == nil {
		return "select a finding first"
	}
	i := IssueOf(v, f.SummaryID)
	switch {
	case i == nil && v.Site.Issues.At.IsZero():
		return "its issue is not known yet"
	case i == nil:
		return "this finding has no issue"
	case i.Status == api.IssueResolved, a == keymap.TakeIssue && i.Status != api.IssueNew:
		return "its issue is " + strings.ToLower(i.Status) + " already"
	}
	return ""
}
