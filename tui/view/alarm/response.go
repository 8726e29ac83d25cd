package alarm

import (
	"cmp"
	"slices"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// responseTimes are how long an alarm can wait for its response, by priority.
var responseTimes = map[string]string{
	api.AlertCritical: "no: respond now", api.AlertMajor: "until the end of the shift", api.AlertModerate: "until the next visit, a week at most", api.AlertMinor: "until the next planned work",
	api.AlertNormal: "no response is needed",
}

// consequences say what happens while a fault lasts, besides the energy that it costs.
var consequences = map[string]string{
	"inverter_outage":            "the unit produces nothing",
	"site_outage_grid":           "the whole site produces nothing",
	"string_outage":              "the string produces nothing; an open connector can arc and burn",
	"communication_gap":          "no data of the unit: other faults are not detected",
	"data_silence":               "no data of the site: no fault is detected, and the forecast becomes outdated",
	"repeated_data":              "energy, KPIs and forecasts of these days are wrong",
	"stuck_sensor":               "the reading is ignored: faults that only it shows are not detected",
	"data_quality":               "readings with the wrong unit or factor are left out of KPIs and detection",
	"time_shift":                 "times are corrected by estimate: short faults can be given the wrong hour",
	"irradiance_sensor":          "PR and expected power are wrong or missing",
	"curtailment":                "the energy is not produced; until the limit is confirmed, a fault cannot be excluded",
	"ground_or_insulation_fault": "danger of shock and fire; the unit must stay off",
	"arc_fault":                  "danger of fire; the unit must stay off",
	"intermittent_trip":          "each stop costs energy and wears the contactors; it can become an outage",
	"clipping":                   "none: by design",
	"thermal_derating":           "power is limited in hot hours, and the electronics age faster",
	"snow_cover":                 "it produces nothing or little until the snow is gone",
	"tracker_fault":              "less irradiance in the morning and the evening; in a storm it may not reach its stow position",
	"capacity_change":            "PR and expected power are computed with the wrong capacity",
	"partial_shading":            "the loss recurs on each clear day, and increases as vegetation grows",
	"soiling":                    "the loss increases until rain or cleaning",
	"degradation":                "the loss is permanent and increases; warranty claims have a time limit",
	"underperformance":           "the loss continues; its cause is unknown",
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
		consequence += ", " + display.Money(f.RevenueAtRisk, f.Currency) + " a day"
	}
	if words := consequences[a.AlertType]; words != "" {
		consequence = strings.TrimPrefix(consequence+"; "+words, "; ")
	}
	add("if it waits", consequence)
	add("can wait", responseTimes[a.AlertSeverity])
	return lines
}
