package plant

import (
	"fmt"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// NewHistory sums up what the detector found at the site in a period, such as that of an
// imported file, by family of faults: those that lost the most energy first. Without
// bounds it sums up everything that was found.
func NewHistory(from, to time.Time) *widget.TableView {
	return &widget.TableView{
		Heading: "What the history shows", Query: state.QueryHistory, Of: state.Span{From: from, To: to}.Of(), Period: 10 * time.Second, List: widget.List{SortBy: -1}, Wide: true,
		Empty:       "No fault was found in this period. Detection evaluates imported files as soon as they are stored; g j starts it for a period, and g p shows the energy by day.",
		EmptyDetail: emptyHistory,
		More:        func(view.Context, string) []state.Need { return []state.Need{detectionRuns} },
		Columns: []widget.Column{
			{Title: "fault", Width: 18}, {Title: "findings", Width: 8, Right: true}, {Title: "active", Width: 6, Right: true, Rank: 2}, {Title: "lasted", Width: 10, Right: true, Rank: 1},
			{Title: "lost", Width: 10, Right: true}, {Title: "units", Width: 24, Min: 10, Rank: 3}, {Title: "energy lost", Min: 20, Rank: 4},
		},
		Status: func(v view.Context) widget.ValueStatus {
			if v.Site == nil {
				return widget.ValueStatus{Status: state.Empty}
			}
			return widget.StatusOf(v.Site.History, v.Now, v.Site.History.Data.Count == 0)
		},
		Head: drawHistoryHead, Rows: historyRows, Detail: historyDetail,
	}
}

// drawHistoryHead draws the period and its sums.
func drawHistoryHead(r terminal.Region, v view.Context) int {
	h, at := v.Site.History.Data, widget.TimesOf(v)
	words := display.CountOf(h.Count, "finding", "findings")
	if h.Active > 0 {
		words += fmt.Sprintf(", %d active", h.Active)
	}
	if h.LostKWh > 0 {
		words += ", " + display.Energy(h.LostKWh) + " lost"
	}
	if !h.From.IsZero() && !h.To.IsZero() {
		words = at(h.From) + " to " + at(h.To) + ": " + words
	}
	return v.Paragraph(r, 0, 0, words, themes.Text) + 1
}

func historyRows(v view.Context) []widget.Row {
	if v.Site == nil {
		return nil
	}
	var rows []widget.Row
	most := 0.0
	for _, f := range v.Site.History.Data.Families {
		most = max(most, f.LostKWh)
	}
	for _, f := range v.Site.History.Data.Families {
		count := func(n int) string {
			if n == 0 {
				return ""
			}
			return fmt.Sprint(n)
		}
		lost := ""
		if words := widget.FamilyEnergy(f.FaultFamily, f.LostKWh); f.LostKWh > 0 || words == "unknown" {
			lost = words
		}
		name := widget.Family(f.FaultFamily)
		rows = append(rows, widget.Row{ID: f.FaultFamily, Sort: []any{name, float64(f.Count), float64(f.Active), f.LastedHours, f.LostKWh, strings.Join(f.AssetIDs, " "), f.LostKWh}, Cells: []widget.Cell{
			widget.Text(name), widget.Text(count(f.Count)), widget.Text(count(f.Active)), widget.QuietText(lastedWords(f.LastedHours)), widget.Text(lost), widget.QuietText(shortList(f.AssetIDs, 3)),
			{Draw: func(r terminal.Region) {
				if most > 0 {
					widget.DrawSize(r, v, f.LostKWh/most)
				}
			}},
		}})
	}
	return rows
}

// emptyHistory describes the period without findings, and what detection could not
// evaluate in it.
func emptyHistory(v view.Context) []widget.Detail {
	var lines []widget.Detail
	add, at := widget.FactsOf(&lines), widget.TimesOf(v)
	if h := v.Site.History.Data; !h.From.IsZero() && !h.To.IsZero() {
		add("period", at(h.From)+" to "+at(h.To))
	}
	return append(lines, evaluationDetail(v)...)
}

// detectionRuns are the last runs of detection over the site.
var detectionRuns = state.Need{Query: state.QueryRuns, Of: state.EveryUnit, Period: 6 * widget.ListPeriod}

// evaluationDetail describes up to when detection has evaluated the data, and the limits
// of its last run, such as a history that is too short for some kinds of faults.
func evaluationDetail(v view.Context) []widget.Detail {
	var lines []widget.Detail
	if v.Site.Wanted(state.QueryRuns) != state.EveryUnit {
		return nil
	}
	words, role := widget.NoneKnown(v, detectionRuns, "runs of detection", "Whether detection has evaluated this site is unknown: runs without faults are not stored.")
	if runs := v.Site.Runs.Data; len(runs) > 0 {
		lines = append(lines, widget.Detail{Label: "last run", Text: widget.TimesOf(v)(runs[0].DetectedAt)})
		if a := runs[0].Analysis; a != nil {
			if !a.LastObservation.IsZero() {
				lines = append(lines, widget.Detail{Label: "data up to", Text: widget.TimesOf(v)(a.LastObservation)})
			}
			if len(a.NotJudged) > 0 {
				lines = append(lines, widget.Detail{Heading: "What the last run could evaluate"})
			}
			for _, text := range a.NotJudged {
				lines = append(lines, widget.Detail{Text: text})
			}
		}
		return lines
	}
	return append(lines, widget.Detail{Text: words, Role: role})
}

// lastedWords is a time that findings lasted in all.
func lastedWords(hours float64) string {
	return display.Duration(time.Duration(hours * float64(time.Hour)))
}

// historyDetail describes the findings of a family that lost the most energy.
func historyDetail(v view.Context, id string) []widget.Detail {
	f := widget.Find(v.Site.History.Data.Families, func(f api.HistoryFamily) bool { return f.FaultFamily == id })
	if f == nil {
		return nil
	}
	lines := []widget.Detail{{Heading: display.CountOf(f.Count, "finding", "findings") + " of " + widget.Family(f.FaultFamily)}}
	add := widget.FactsOf(&lines)
	add("lasted", lastedWords(f.LastedHours)+" in total")
	if f.LostKWh > 0 {
		add("lost", display.Energy(f.LostKWh))
	}
	add("units", shortList(f.AssetIDs, 12))
	first := true
	for _, one := range v.Site.History.Data.LargestLoss {
		if one.FaultFamily != id {
			continue
		}
		if first {
			lines, first = append(lines, widget.Detail{Heading: "Largest losses of this period"}), false
		}
		lines = append(lines, findingLine(v, one, display.Energy(one.LostKWh)+" lost, "))
	}
	if first {
		lines = append(lines, withoutLoss(v, id)...)
	}
	return lines
}

// findingLine describes the time, the units and the confidence of a finding.
func findingLine(v view.Context, f api.Finding, lost string) widget.Detail {
	at := widget.TimesOf(v)
	until := "now"
	if !f.Active {
		until = at(f.EndedAt)
	}
	unit := f.AssetID
	if unit == "" {
		unit = shortList(f.AssetIDs, 3)
	}
	return widget.Detail{Label: at(f.StartedAt), Role: themes.Text, Text: fmt.Sprintf("to %s, %s: %s%s sure", until, unit, lost, display.Percent(f.Confidence))}
}

// withoutLoss lists the findings of a family that lost no energy in the period, as far as
// they are among the findings that the console has.
func withoutLoss(v view.Context, family string) []widget.Detail {
	h := v.Site.History.Data
	var lines []widget.Detail
	for _, f := range v.Site.Findings.Data {
		switch {
		case f.FaultFamily != family, !h.To.IsZero() && f.StartedAt.After(h.To.Time), !f.Active && f.EndedAt.Before(h.From.Time):
			continue
		case len(lines) == 0:
			lines = append(lines, widget.Detail{Heading: "Findings of this period"})
		}
		lines = append(lines, findingLine(v, f, ""))
	}
	return lines
}
