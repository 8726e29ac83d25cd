package pane

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
)

// Orient shows the findings, and of the one in hand what speaks for and
// against it, its causes, its cost and what to do.
type Orient struct {
	list   List
	listAt terminal.Rect
	chart  unitChart
}

// NewOrient lists the findings in the service's order: active first, most
// energy at risk first.
func NewOrient() *Orient { return &Orient{list: List{SortBy: -1}} }

// Needs are what the pane shows.
func (o *Orient) Needs() []state.Need {
	return []state.Need{{Query: state.QueryFindings, Period: 10 * time.Second}, {Query: state.QueryModels, Period: time.Minute}}
}

// Filter is the filter of the findings.
func (o *Orient) Filter() string { return o.list.Filter }

// SetFilter narrows the findings.
func (o *Orient) SetFilter(s string) { o.list.Filter = s }

// Draw draws the list and the details, side by side where there is room.
func (o *Orient) Draw(r terminal.Region, v View) {
	w, h := r.Size()
	findings := v.Site.Findings
	if v.face(r, findings.Face(v.Now, staleAfter, len(findings.Data) == 0), findings.Err, findings.FailedSince, findings.NextTry, "findings",
		"Nothing abnormal is known of this site. Detection runs after each upload; D runs it on the unit in hand.") {
		return
	}
	if findings.Face(v.Now, staleAfter, false) == state.Stale {
		h--
		v.putIn(r, 0, h, w, fmt.Sprintf("These findings are %s old: %s", state.Age(v.Now.Sub(findings.At)), reason(findings.Err)), themes.Warning)
	}
	// A unit without a finding may be in hand: the first finding is then shown,
	// but not marked.
	o.list.Selected = v.Hand.FindingID
	f, inHand := o.chosen(v)
	rows := min(max(len(findings.Data)+1, 3), max(h/3, 3))
	o.listAt = terminal.Rect{W: w, H: rows}
	details := terminal.Rect{Y: rows + 1, W: w, H: h - rows - 1}
	if w >= 100 {
		o.listAt = terminal.Rect{W: w * 45 / 100, H: h}
		details = terminal.Rect{X: o.listAt.W + 2, W: w - o.listAt.W - 2, H: h}
	}
	o.list.Draw(r.Region(o.listAt), v, findingColumns, findingRows(v))
	if details.H < 2 {
		return
	}
	d := r.Region(details)
	if !inHand && v.Hand.AssetID != "" {
		v.Paragraph(d, 0, 0, v.Hand.AssetID+" has no finding. D runs detection on it.", themes.Dim)
		return
	}
	o.drawFinding(d, v, f)
}

// chosen is the finding in hand, else the first.
func (o *Orient) chosen(v View) (f api.Finding, inHand bool) {
	for _, f := range v.Site.Findings.Data {
		if f.SummaryID == v.Hand.FindingID {
			return f, true
		}
	}
	return v.Site.Findings.Data[0], false
}

var findingColumns = []Column{
	{Title: "", Width: 2}, {Title: "unit", Width: 22}, {Title: "what"}, {Title: "sure", Width: 5, Right: true, Rank: 2},
	{Title: "at risk", Width: 8, Right: true, Rank: 1}, {Title: "lost", Width: 9, Right: true, Rank: 3}, {Title: "since", Width: 12, Right: true, Rank: 4},
}

func findingRows(v View) []Row {
	var rows []Row
	for _, f := range v.Site.Findings.Data {
		role, what := severityRole(f.SeverityLabel), Family(f.FaultFamily)
		if !f.Active {
			role, what = themes.Muted, what+", over"
		}
		text := themes.Text
		if !f.Active {
			text = themes.Muted
		}
		rows = append(rows, Row{ID: f.SummaryID, Cells: []Cell{
			{Draw: func(r terminal.Region) {
				if f.Active {
					v.severity(r, 0, 0, f.SeverityLabel)
				}
			}, Text: f.SeverityLabel},
			{Text: unitName(f), Role: text}, {Text: what, Role: role}, {Text: fmt.Sprintf("%.2f", f.Confidence), Role: text},
			{Text: Power(f.EnergyAtRiskKW), Role: text}, {Text: Energy(f.LostKWh), Role: text}, {Text: When(f.StartedAt.Time, v.SiteNow, v.Site.Zone), Role: themes.Dim},
		}, Sort: []any{float64(alarms[f.SeverityLabel].rank), unitName(f), f.FaultFamily, f.Confidence, f.EnergyAtRiskKW, f.LostKWh, f.StartedAt.String()}})
	}
	return rows
}

// drawFinding draws one finding whole.
func (o *Orient) drawFinding(r terminal.Region, v View, f api.Finding) {
	w, h := r.Size()
	x := v.severity(r, 0, 0, f.SeverityLabel)
	v.putIn(r, x+1, 0, w-x-1, fmt.Sprintf("%s  %s  %.0f %% sure", unitName(f), Family(f.FaultFamily), f.Confidence*100), themes.Title)
	y := v.Paragraph(r, 0, 1, f.Summary, themes.Text)
	y = v.Paragraph(r, 0, y, factLine(v, f), themes.Dim)
	if h-y >= 22 && w >= 40 {
		if o.chart.draw(r.Region(terminal.Rect{Y: y, W: w, H: 9}), v, f.AssetID) {
			y += 9
		}
	}
	if len(f.Evidence) > 0 && y < h-1 {
		y++
		v.heading(r, min(y-1, h-1), "Evidence")
		for _, e := range f.Evidence {
			sign, role := "+ ", themes.Text
			if !e.For {
				sign, role = "− ", themes.Dim
				if v.ASCII {
					sign = "- "
				}
			}
			if y < h {
				v.put(r, 0, y, sign, role)
			}
			y = v.Paragraph(r, 2, y, e.Text, role)
		}
	}
	if len(f.Causes) > 0 && y < h-1 {
		v.heading(r, y, "Causes")
		y++
		for _, c := range f.Causes {
			if y >= h {
				break
			}
			drawBar(r.Region(terminal.Rect{Y: y, W: 10, H: 1}), v, c.Confidence)
			v.putIn(r, 11, y, w-11, fmt.Sprintf("%3.0f %%  %s", c.Confidence*100, c.Cause), themes.Text)
			y++
		}
	}
	if len(f.RecommendedActions) > 0 && y < h-1 {
		v.heading(r, y, "What to do", "3 decides")
		y++
		y = drawActions(r, v, y, f.RecommendedActions)
	}
	if y < h {
		v.putIn(r, 0, h-1, w, "said by "+f.ModelVersion+", last seen "+When(f.LastDetectionAt.Time, v.SiteNow, v.Site.Zone), themes.Muted)
	}
}

// factLine is what a finding costs and since when.
func factLine(v View, f api.Finding) string {
	end := v.SiteNow
	if !f.EndedAt.IsZero() {
		end = f.EndedAt.Time
	}
	parts := []string{"since " + When(f.StartedAt.Time, v.SiteNow, v.Site.Zone) + " (" + lasting(end.Sub(f.StartedAt.Time)) + ")"}
	if f.LossFraction > 0 {
		parts = append(parts, Percent(f.LossFraction)+" of the unit")
	}
	parts = append(parts, Energy(f.LostKWh)+" lost", Power(f.EnergyAtRiskKW)+" at risk")
	if m := Money(f.RevenueAtRisk, f.Currency); m != "" && f.RevenueAtRisk > 0 {
		parts = append(parts, m+" a day")
	}
	return strings.Join(parts, "; ")
}

// drawActions draws recommended actions by priority and answers the y after.
func drawActions(r terminal.Region, v View, y int, actions []api.Action) int {
	rank := map[string]int{api.PriorityHigh: 0, api.PriorityMedium: 1, api.PriorityLow: 2}
	actions = slices.Clone(actions)
	slices.SortStableFunc(actions, func(a, b api.Action) int { return rank[a.Priority] - rank[b.Priority] })
	_, h := r.Size()
	for _, a := range actions {
		if y < h {
			v.putIn(r, 0, y, 6, a.Priority, themes.Dim)
		}
		y = v.Paragraph(r, 7, y, a.Action, themes.Text)
	}
	return y
}

// Strip shows the worst finding in a few lines.
func (o *Orient) Strip(r terminal.Region, v View) {
	active := activeFindings(v)
	w, h := r.Size()
	if len(active) == 0 {
		v.putIn(r, 0, 0, w, "nothing abnormal", themes.Dim)
		return
	}
	for y := 0; y < h && y < len(active); y++ {
		f := active[y]
		x := v.severity(r, 0, y, f.SeverityLabel)
		v.putIn(r, x+1, y, w-x-1, fmt.Sprintf("%s %s  %s at risk", unitName(f), Family(f.FaultFamily), Power(f.EnergyAtRiskKW)), themes.Text)
	}
}

// Do moves through the findings; the finding moved to is in hand.
func (o *Orient) Do(a keymap.Action, v View) Intent {
	if a == keymap.Open {
		if o.list.Current() == "" {
			return Intent{}
		}
		return Intent{Hand: o.handOf(v, o.list.Current()), Focus: "Decide"}
	}
	if o.list.Do(a, len(findingColumns)) && a != keymap.Sort {
		return Intent{Hand: o.handOf(v, o.list.Current())}
	}
	return Intent{}
}

func (o *Orient) handOf(v View, id string) *Hand {
	for _, f := range v.Site.Findings.Data {
		if f.SummaryID == id {
			return &Hand{AssetID: f.AssetID, FindingID: id}
		}
	}
	return nil
}

// Click takes the clicked finding in hand.
func (o *Orient) Click(x, y int, v View) Intent {
	if o.listAt.Contains(x, y) && o.list.Click(y-o.listAt.Y) {
		return Intent{Hand: o.handOf(v, o.list.Selected)}
	}
	return Intent{}
}

// Export is the findings.
func (o *Orient) Export(v View) [][]string {
	rows := [][]string{{"summary_id", "asset_id", "fault_family", "severity", "confidence", "active", "started_at (UTC)", "ended_at (UTC)", "energy_at_risk (kW)", "lost (kWh)", "root_cause", "summary"}}
	for _, f := range v.Site.Findings.Data {
		ended := ""
		if !f.EndedAt.IsZero() {
			ended = f.EndedAt.String()
		}
		rows = append(rows, []string{f.SummaryID, f.AssetID, f.FaultFamily, f.SeverityLabel, number(f.Confidence), fmt.Sprint(f.Active), f.StartedAt.String(), ended,
			number(f.EnergyAtRiskKW), number(f.LostKWh), f.RootCause, f.Summary})
	}
	return rows
}
