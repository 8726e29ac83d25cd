package alarm

import (
	"cmp"
	"slices"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// responseTimes are how long an alarm can wait for its response, by priority.
var responseTimes = map[string]string{
	api.AlertCritical: "no: respond now", api.AlertMajor: "until the end of the shift", api.AlertModerate: "until the next visit, a week at most", api.AlertMinor: "until the next planned work",
	api.AlertNormal: "no response is needed",
}

// priorityRank orders the recommended actions.
var priorityRank = map[string]int{api.PriorityHigh: 0, api.PriorityMedium: 1, api.PriorityLow: 2}

// Response returns the advice for an active alarm, by the diagnosis of its finding: what
// to check first, what happens without a response, and how long it can wait. It is
// empty for an alarm that is over.
func Response(v view.Context, a api.Alert) []widget.Detail {
	if a.Resolved || a.State == api.AlertCleared || v.Site == nil {
		return nil
	}
	var lines []widget.Detail
	add := func(label, words string) {
		if words != "" {
			lines = append(lines, widget.Detail{Label: label, Text: words, Role: themes.Text})
		}
	}
	f := widget.Find(v.Site.Findings.Data, func(f api.Finding) bool { return f.SummaryID == FindingOf(a) && f.SummaryID != "" })
	if f != nil {
		actions := slices.SortedStableFunc(slices.Values(f.RecommendedActions), func(a, b api.Action) int {
			return cmp.Compare(priorityRank[a.Priority], priorityRank[b.Priority])
		})
		for i, action := range actions[:min(len(actions), 2)] {
			add([]string{"check first", "then"}[i], action.Action)
		}
	}
	consequence := ""
	if a.EnergyAtRiskKW > 0 {
		consequence = widget.Risk(a.EnergyAtRiskKW)
	}
	if f != nil && f.RevenueAtRisk > 0 && f.Currency != "" {
		consequence += ", " + widget.Money(f.RevenueAtRisk, f.Currency) + " a day"
	}
	add("if it waits", consequence)
	add("can wait", responseTimes[a.AlertSeverity])
	return lines
}
