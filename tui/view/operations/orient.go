package operations

import (
	"fmt"
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

// Orient shows the findings, and of the selected one the evidence for
// and against it, its causes, its cost and the recommended actions.
type Orient struct {
	view.Base
	list           widget.List
	page           widget.Page
	listAt, pageAt terminal.Rect
	chart          UnitChart
	evidence       evidenceChart
	losses         int // the period of the waterfall in its place, from 1; 0: the finding
	waterfall      chart.Waterfall
}

// NewOrient lists the findings in the service's order: active first, most
// energy at risk first.
func NewOrient() *Orient { return &Orient{list: widget.List{SortBy: -1}} }

// Title names the pane.
func (o *Orient) Title() string { return view.Orient }

// Scope is that of the pane's own keys.
func (o *Orient) Scope() keymap.Scope { return keymap.InOrient }

// Queries returns what the pane shows.
func (o *Orient) Queries(v view.Context) []state.Need {
	needs := []state.Need{{Query: state.QueryFindings, Period: 10 * time.Second}, {Query: state.QueryIssues, Period: time.Minute}, {Query: state.QueryOrders, Period: time.Minute}}
	if v.Site == nil {
		return needs
	}
	if o.losses > 0 {
		from, to := lossWindow(v, LossPeriods[o.losses-1])
		needs = append(needs, state.Need{Query: state.QueryKPIs, Of: state.SpanOf(from, to, v.Site.Zone), Period: 10 * time.Minute})
	}
	if f := o.Shown(v); f != nil {
		needs = append(needs, caseNeed(v, *f))
	}
	return needs
}

// Shown returns the finding whose details are shown; nil if those of a unit are.
func (o *Orient) Shown(v view.Context) *api.Finding {
	if f := workflow.SelectedFinding(v); f != nil || v.Selection.AssetID != "" || len(v.Site.Findings.Data) == 0 {
		return f
	}
	return &v.Site.Findings.Data[0]
}

// Draw draws the list and the details, side by side where there is room.
func (o *Orient) Draw(r terminal.Region, v view.Context) {
	o.listAt, o.pageAt = terminal.Rect{}, terminal.Rect{}
	findings := v.Site.Findings
	if o.losses > 0 && len(findings.Data) == 0 && !findings.At.IsZero() { // there is energy also without a fault
		_, h := r.Size()
		o.drawLosses(r, v, h)
		return
	}
	if widget.DrawPlaceholder(v, r, findings.Status(v.Now, StaleAfter, len(findings.Data) == 0), findings.Err, findings.FailedSince, findings.NextTry, "findings", nothingFound(v)) {
		return
	}
	if findings.Status(v.Now, StaleAfter, false) == state.Stale {
		r = widget.DrawAge(v, r, "These findings are", findings.At, findings.Err)
	}
	// If a unit without a finding is selected, no finding is marked, and its
	// day against its peers is shown.
	o.list.Selected = v.Selection.FindingID
	w, h := r.Size()
	rows := min(len(findings.Data)+1, max(h/3, 3))
	o.listAt = terminal.Rect{W: w, H: rows}
	o.pageAt = terminal.Rect{Y: rows + 1, W: w, H: h - rows - 1}
	if w >= 100 {
		o.listAt = terminal.Rect{W: w * 45 / 100, H: h}
		o.pageAt = terminal.Rect{X: o.listAt.W + 2, W: w - o.listAt.W - 2, H: h}
	}
	o.list.Draw(r.Region(o.listAt), v, findingColumns(v), findingRows(v))
	if w < 100 && o.pageAt.H > 0 {
		r.HLine(0, rows, w, terminal.LinesFor(v.ASCII), v.Style(themes.Border))
	}
	if o.pageAt.H < 2 {
		return
	}
	of, content := o.content(v, o.pageAt.H)
	o.page.Draw(r.Region(o.pageAt), v, of, content)
}

// nothingFound returns why there is no finding and what to do.
func nothingFound(v view.Context) string {
	if stopped := StoppedUnits(v); len(stopped) > 0 {
		words, _ := noneAbnormal(v, state.Need{}, "", "")
		return words + " Select the unit and press D to run detection now."
	}
	words := "Nothing abnormal is known of this site."
	if why := noPresentData(v); why != "" {
		words = "What is abnormal now is unknown: " + why + "."
	}
	words += " Detection runs automatically when data arrive"
	if v.Selection.AssetID != "" {
		return words + "; D runs it now on " + v.Selection.AssetID + "."
	}
	return words + "; select a unit and press D to run it now."
}

// content is shown next to the list: the selected finding, the selected
// unit, or the worst finding.
func (o *Orient) content(v view.Context, seen int) (of string, draw func(terminal.Region) int) {
	if o.losses > 0 {
		return "losses", func(r terminal.Region) int { return o.drawLosses(r, v, seen) }
	}
	if f := o.Shown(v); f != nil {
		return f.SummaryID, func(r terminal.Region) int { return o.drawFinding(r, v, *f, seen) }
	}
	id := v.Selection.AssetID
	return id, func(r terminal.Region) int { return o.drawUnit(r, v, id) }
}

// drawUnit draws a unit that no finding holds.
func (o *Orient) drawUnit(r terminal.Region, v view.Context, id string) int {
	w, _ := r.Size()
	v.PutIn(r, 0, 0, w, v.ShortID(id, w), themes.Title)
	y := v.Paragraph(r, 0, 1, "No active finding on this unit. Press D to run detection, n for the next finding.", themes.Dim)
	if w >= 30 && o.chart.Draw(r.Region(terminal.Rect{Y: y + 1, W: w, H: 9}), v, id) {
		y += 10
	}
	return y
}

func findingColumns(v view.Context) []widget.Column {
	unit, what, since := 6, 8, 5
	for _, f := range v.Site.Findings.Data {
		unit = max(unit, terminal.Width(UnitName(f)))
		what = max(what, terminal.Width(findingWords(f)))
		since = max(since, terminal.Width(display.When(f.StartedAt.Time, v.SiteNow, v.Site.Zone)))
	}
	return []widget.Column{
		{Width: 2}, {Title: "unit", Width: min(unit, 30), Min: min(unit, 11), IDs: true}, {Title: "what", Min: min(what, 24)},
		{Title: widget.RiskTitle, Width: len(widget.RiskTitle), Right: true, Rank: 1}, {Title: "since", Width: since, Right: true, Rank: 2},
		{Title: "lost", Width: 9, Right: true, Rank: 3}, {Title: "sure", Width: 5, Right: true, Rank: 4},
	}
}

// findingWords returns what a finding is, and that it is over.
func findingWords(f api.Finding) string {
	if f.Active {
		return widget.Family(f.FaultFamily)
	}
	return widget.Family(f.FaultFamily) + ", over"
}

func findingRows(v view.Context) []widget.Row {
	rows := make([]widget.Row, 0, len(v.Site.Findings.Data))
	for _, f := range v.Site.Findings.Data {
		role, text, dim := alarm.FindingRole(v, f), themes.Text, themes.Dim
		risk := widget.FamilyPower(f.FaultFamily, f.EnergyAtRiskKW)
		if !f.Active {
			role, text, dim, risk = themes.Muted, themes.Muted, themes.Muted, ""
		}
		rows = append(rows, widget.Row{ID: f.SummaryID, Cells: []widget.Cell{
			{Draw: func(r terminal.Region) {
				if f.Active {
					alarm.DrawFinding(v, r, 0, 0, f)
				}
			}, Text: alarm.FindingPriority(v, f)},
			{Text: UnitName(f), Role: text}, {Text: findingWords(f), Role: role},
			{Text: risk, Role: text}, {Text: display.When(f.StartedAt.Time, v.SiteNow, v.Site.Zone), Role: dim},
			{Text: widget.LostEnergy(f), Role: text}, {Text: display.Percent(f.Confidence), Role: text},
		}, Sort: []any{float64(alarm.FindingRank(v, f)), UnitName(f), f.FaultFamily, f.EnergyAtRiskKW, f.StartedAt.String(), f.LostKWh, f.Confidence}})
	}
	return rows
}

// drawFinding draws one finding with all details and returns the number of rows; seen
// is how many of them are visible at once.
func (o *Orient) drawFinding(r terminal.Region, v view.Context, f api.Finding, seen int) int {
	w, _ := r.Size()
	x := alarm.DrawFinding(v, r, 0, 0, f) + 1
	what := "  " + findingWords(f) + "  " + display.Percent(f.Confidence) + " sure"
	x = v.PutIn(r, x, 0, w-x, v.ShortID(UnitName(f), max(w-x-terminal.Width(what), 10)), themes.Title)
	v.PutIn(r, x, 0, w-x, what, themes.Title)
	y := v.Paragraph(r, 0, 1, f.Summary, themes.Text)
	y = v.Paragraph(r, 0, y, factLine(v, f), themes.Dim)
	if words := issueWords(v, f); words != "" {
		y = v.Paragraph(r, 0, y, words, themes.Dim)
	}
	switch {
	case len(f.Members) > 0:
		y = drawMembers(r, v, y, f.Members)
	case len(f.AssetIDs) > 1:
		y = v.Paragraph(r, 0, y, "units: "+strings.Join(f.AssetIDs, ", "), themes.Dim)
	}
	chart := func() {
		if n := o.evidence.draw(r.Region(terminal.Rect{Y: y, W: w, H: caseRows(seen)}), v, f); n > 0 {
			y += n
		} else if w >= 30 && o.chart.Draw(r.Region(terminal.Rect{Y: y, W: w, H: 9}), v, f.AssetID) {
			y += 9 // the day on screen, until the evidence window has come
		}
	}
	early := seen >= 16 // else the words come first
	if early {
		chart()
	}
	if len(f.Evidence) > 0 {
		v.Heading(r, y, "Evidence")
		y = drawEvidence(r, v, y+1, f.Evidence)
	}
	if len(f.Causes) > 0 {
		v.Heading(r, y, "Causes")
		y++
		for _, c := range f.Causes {
			widget.DrawBar(r.Region(terminal.Rect{Y: y, W: 10, H: 1}), v, c.Confidence)
			v.PutIn(r, 11, y, 6, fmt.Sprintf("%5s", display.Percent(c.Confidence)), themes.Text)
			y = v.Paragraph(r, 18, y, c.Cause, themes.Text)
		}
	}
	if len(f.RecommendedActions) > 0 {
		v.Heading(r, y, "What to do", "enter: when")
		y = drawActions(r, v, y+1, f.RecommendedActions)
	}
	if !early {
		chart()
	}
	y = drawSimilar(r, v, y, f)
	return v.Paragraph(r, 0, y, "detected by "+f.ModelVersion+", last seen "+display.When(f.LastDetectionAt.Time, v.SiteNow, v.Site.Zone), themes.Muted)
}

// shownMembers is how many units of a finding are drawn with their times; of more, the others are
// counted.
const shownMembers = 12

// drawMembers draws when each unit of a finding was affected, and what it lost.
func drawMembers(r terminal.Region, v view.Context, y int, members []api.FindingMember) int {
	for _, m := range members[:min(len(members), shownMembers)] {
		line := m.AssetID + ": since " + display.When(m.StartedAt.Time, v.SiteNow, v.Site.Zone)
		if !m.EndedAt.IsZero() {
			line = m.AssetID + ": over, from " + display.When(m.StartedAt.Time, v.SiteNow, v.Site.Zone) + " to " + display.When(m.EndedAt.Time, v.SiteNow, v.Site.Zone)
		}
		if m.LostKWh > 0 {
			line += ", " + display.Energy(m.LostKWh) + " lost"
		}
		y = v.Paragraph(r, 0, y, line, themes.Dim)
	}
	if n := len(members) - shownMembers; n > 0 {
		y = v.Paragraph(r, 0, y, "and "+display.CountOf(n, "more unit", "more units"), themes.Dim)
	}
	return y
}

// drawEvidence draws the evidence for and against, each with its sign.
func drawEvidence(r terminal.Region, v view.Context, y int, evidence []api.Evidence) int {
	for _, e := range evidence {
		sign, role := "+", themes.Text
		if !e.For {
			sign, role = "−", themes.Dim
			if v.ASCII {
				sign = "-"
			}
		}
		v.Put(r, 0, y, sign, role)
		y = max(v.Paragraph(r, 2, y, e.Text, role), y+1)
	}
	return y
}

// factLine returns the duration and the cost of a finding.
func factLine(v view.Context, f api.Finding) string {
	end := v.SiteNow
	if !f.EndedAt.IsZero() {
		end = f.EndedAt.Time
	}
	parts := []string{"since " + display.When(f.StartedAt.Time, v.SiteNow, v.Site.Zone) + ", " + display.Duration(end.Sub(f.StartedAt.Time))}
	if f.LossFraction > 0 {
		parts = append(parts, display.Percent(f.LossFraction)+" of its power")
	}
	lost := widget.LostWords(f)
	if m := display.Money(f.LostKWh*v.Site.TariffPerKWh, v.Site.Currency); m != "" && f.LostKWh > 0 && v.Site.TariffPerKWh > 0 {
		lost += ", " + m
	}
	parts = append(parts, lost)
	if f.Active {
		parts = append(parts, widget.FamilyRisk(f.FaultFamily, f.EnergyAtRiskKW))
		if m := display.Money(f.RevenueAtRisk, f.Currency); m != "" && f.RevenueAtRisk > 0 {
			parts = append(parts, m+" a day")
		}
	}
	return strings.Join(parts, "; ")
}

// drawActions draws recommended actions by priority and returns the y after.
func drawActions(r terminal.Region, v view.Context, y int, actions []api.Action) int {
	rank := map[string]int{api.PriorityHigh: 0, api.PriorityMedium: 1, api.PriorityLow: 2}
	actions = slices.Clone(actions)
	slices.SortStableFunc(actions, func(a, b api.Action) int { return rank[a.Priority] - rank[b.Priority] })
	for _, a := range actions {
		v.PutIn(r, 0, y, 6, a.Priority, themes.Dim)
		y = max(v.Paragraph(r, 7, y, a.Action, themes.Text), y+1)
	}
	return y
}

// Strip shows the worst findings, a line each.
func (o *Orient) Strip(r terminal.Region, v view.Context) {
	active := activeFindings(v)
	w, h := r.Size()
	if len(active) == 0 {
		words, role := noneAbnormal(v, state.Need{Query: state.QueryFindings, Period: 10 * time.Second}, "findings", "nothing abnormal is known")
		v.PutIn(r, 0, 0, w, words, role)
		return
	}
	for y := 0; y < h && y < len(active); y++ {
		f := active[y]
		x := alarm.DrawFinding(v, r, 0, y, f) + 1
		words := " " + widget.Family(f.FaultFamily) + v.Separator() + widget.FamilyRisk(f.FaultFamily, f.EnergyAtRiskKW)
		if w >= 70 {
			words += v.Separator() + widget.LostWords(f) + " since " + display.When(f.StartedAt.Time, v.SiteNow, v.Site.Zone)
		}
		x = v.PutIn(r, x, y, w-x, v.ShortID(UnitName(f), max(w-x-terminal.Width(words), 10)), themes.Text)
		v.PutIn(r, x, y, w-x, words, themes.Dim)
	}
}

// Do moves through the findings and selects them. The details have the page
// keys where they do not fit.
func (o *Orient) Do(a keymap.Action, v view.Context) view.Request {
	switch {
	case a == keymap.Open:
		id := v.Selection.FindingID
		if id == "" {
			id = o.list.Current()
		}
		return selectFinding(v, id, view.Decide)
	case a == keymap.ShowLosses:
		o.losses = (o.losses + 1) % (len(LossPeriods) + 1)
		return view.Select{Selection: v.Selection} // the waterfall has its own queries
	case a == keymap.ModelCard:
		return view.Run{Action: keymap.Models}
	case o.page.Do(a):
		return nil
	case o.list.Do(a, len(findingColumns(v))) && widget.MovesSelection(a):
		return selectFinding(v, o.list.Current(), "")
	}
	return nil
}

// selectFinding selects a finding with its unit, and goes to a pane unless
// focus is empty.
func selectFinding(v view.Context, id, focus string) view.Request {
	for _, f := range v.Site.Findings.Data {
		if f.SummaryID == id {
			return view.Select{Selection: view.Selection{AssetID: f.AssetID, FindingID: id}, Focus: focus}
		}
	}
	return nil
}

// Click selects the clicked finding.
func (o *Orient) Click(x, y int, v view.Context) view.Request {
	if o.listAt.Contains(x, y) && o.list.Click(y-o.listAt.Y) {
		return selectFinding(v, o.list.Selected, "")
	}
	return nil
}

// Wheel scrolls the details, or moves in the list.
func (o *Orient) Wheel(x, y, by int, v view.Context) view.Request {
	if o.pageAt.Contains(x, y) {
		o.page.Move(2 * by)
		return nil
	}
	return o.Do(widget.WheelAction(by, keymap.Up, keymap.Down), v)
}

// Help returns the pane's own keys.
func (o *Orient) Help() [][2]string {
	return [][2]string{
		{"↓ ↑", "select a finding"},
		{"pgdn pgup", "scroll its evidence, causes and actions"},
		{"enter", "open Decide: the best time, and the cost of delay"},
	}
}

// Export returns the findings.
func (o *Orient) Export(v view.Context) [][]string {
	rows := [][]string{{"summary_id", "asset_id", "fault_family", "severity", "confidence", "active", "started_at (UTC)", "ended_at (UTC)", "at risk (kW, daylight mean)", "lost (kWh)", "root_cause", "summary"}}
	for _, f := range v.Site.Findings.Data {
		ended := ""
		if !f.EndedAt.IsZero() {
			ended = f.EndedAt.String()
		}
		rows = append(rows, []string{f.SummaryID, f.AssetID, f.FaultFamily, f.SeverityLabel, display.Number(f.Confidence), fmt.Sprint(f.Active), f.StartedAt.String(), ended,
			display.Number(f.EnergyAtRiskKW), display.Number(f.LostKWh), f.RootCause, f.Summary})
	}
	return rows
}

// Lists returns the findings.
func (o *Orient) Lists() view.Lists {
	return view.Lists{All: map[string]view.List{"findings": &o.list}, Active: &o.list}
}
