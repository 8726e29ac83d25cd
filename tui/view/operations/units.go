package operations

import (
	"cmp"
	"math"
	"slices"
	"strconv"
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

// unitColumns are the columns of the list of units; the first is as wide as
// the names require.
var unitColumns = []widget.Column{
	{Title: "unit", Width: 6, IDs: true}, {Title: "state", Width: 16, Rank: 2}, {Title: "power", Width: 8, Right: true},
	{Title: "of peers", Width: 8, Right: true, Rank: 1}, {Title: "lost", Width: 8, Right: true, Rank: 3}, {Title: "expected", Width: 8, Right: true, Rank: 5},
	{Title: "energy", Width: 8, Right: true, Rank: 6}, {Title: "00–24 h", Min: 14, Rank: 4},
}

func (o *Observe) drawUnits(r terminal.Region, v view.Context, day *view.DayTable) {
	o.units.Selected = v.Selection.AssetID
	rows := unitRows(v, day)
	columns := slices.Clone(unitColumns)
	longest, words := 6, 8
	for _, row := range rows {
		longest, words = max(longest, terminal.Width(row.ID)), max(words, terminal.Width(row.Cells[1].Text))
	}
	columns[0].Width, columns[0].Min = min(longest, 30), min(longest, 11)
	columns[1].Width = min(words, 20)
	if !v.Site.PastDate.IsZero() {
		columns[2].Title = "peak"
	}
	if v.ASCII {
		columns[7].Title = "00-24 h"
	}
	o.units.Draw(r, v, columns, rows)
}

func unitRows(v view.Context, day *view.DayTable) []widget.Row {
	value := themes.Text
	past := !v.Site.PastDate.IsZero()
	if isStale(v) {
		value = themes.Muted
	}
	held := UnitFindings(v)
	rows := make([]widget.Row, 0, len(day.Units))
	for i, a := range day.Units {
		power, share, lost, expected := math.NaN(), math.NaN(), math.NaN(), math.NaN()
		if past || v.SiteNow.Sub(day.Last[i]) < 2*day.Step+15*time.Minute {
			power, share, lost, expected = day.Power[i], day.Relative[i], day.Lost(i), day.Expected[i]
		}
		if power < 0 && power > -0.02*max(a.CapacityKW, 1) { // consumption at night is not production
			power = 0
		}
		word, role := UnitState(v, a, day, i, power, held)
		shown := shareRole(share)
		if !past && !math.IsNaN(share) && !day.Deficient(i) { // a passing cloud
			shown = themes.Dim
		}
		scale := display.Power
		if past {
			scale = display.Energy
		}
		row := widget.Row{ID: a.AssetID, Cells: []widget.Cell{
			{Text: a.AssetID, Role: themes.Text}, {Text: word, Role: role},
			{Text: display.Power(power), Role: value}, {Text: display.Percent(share), Role: shown},
			{Text: lostWords(lost, scale), Role: shown}, {Text: scale(expected), Role: themes.Dim},
			{Text: display.Energy(day.Energy[i]), Role: value}, {Draw: func(r terminal.Region) { drawTrend(r, v, day, i) }},
		}}
		row.Sort = []any{a.AssetID, word, power, share, lost, expected, day.Energy[i], day.Energy[i]}
		for k, s := range row.Sort {
			if f, ok := s.(float64); ok && math.IsNaN(f) {
				row.Sort[k] = nil
			}
		}
		rows = append(rows, row)
	}
	// Units that lose power are first, the most first, then those with findings
	// by priority; the others keep their order.
	loss := map[string]float64{}
	for i, a := range day.Units {
		if lost, ok := rows[i].Sort[4].(float64); ok && (past || day.Deficient(i)) {
			loss[a.AssetID] = lost
		}
	}
	slices.SortStableFunc(rows, func(a, b widget.Row) int {
		return cmp.Or(cmp.Compare(loss[b.ID], loss[a.ID]), held.rank(a.ID)-held.rank(b.ID))
	})
	return rows
}

// lostWords writes a loss, dimmed if there is none.
func lostWords(lost float64, scale func(float64) string) string {
	if lost == 0 {
		return ""
	}
	return scale(lost)
}

// worstFindings are the worst active findings of units.
type worstFindings map[string]api.Finding

// UnitFindings returns the worst active findings by unit.
func UnitFindings(v view.Context) worstFindings {
	out := worstFindings{}
	for _, f := range activeFindings(v) {
		for _, id := range append([]string{f.AssetID}, f.AssetIDs...) {
			if old, ok := out[id]; f.Affects(id) && (!ok || widget.PriorityRank(widget.FindingSeverity(f)) < widget.PriorityRank(widget.FindingSeverity(old))) {
				out[id] = f
			}
		}
	}
	return out
}

func (h worstFindings) rank(id string) int {
	if f, ok := h[id]; ok {
		return widget.PriorityRank(widget.FindingSeverity(f))
	}
	return widget.PriorityRank("")
}

// UnitState returns a unit's state in a word: its active finding, else the state that
// it reports.
func UnitState(v view.Context, a api.Asset, day *view.DayTable, i int, power float64, held worstFindings) (string, themes.Role) {
	past := !v.Site.PastDate.IsZero()
	if f, ok := held[a.AssetID]; ok && !past && (f.SeverityLabel == api.SeverityCritical || !resting(v, day, i, power)) {
		return widget.Family(f.FaultFamily), widget.FindingRole(f)
	}
	switch {
	case isStale(v):
		return "not known", themes.Muted
	case past && math.IsNaN(day.Energy[i]), !past && math.IsNaN(power):
		return "no data", themes.Muted
	case past:
		return "reported", themes.Dim
	case day.Stopped(i):
		return "stopped", themes.Critical
	}
	if kind := day.Errors[i]; kind != "" && kind != "normal" && kind != "unknown" {
		return strings.ReplaceAll(kind, "_", " "), themes.Dim
	}
	if power > 0.001*max(a.CapacityKW, 1) {
		return "feeds in", themes.Dim
	}
	return "idle", themes.Dim
}

// resting reports whether a unit is off because it is night: no unit produces.
func resting(v view.Context, day *view.DayTable, i int, power float64) bool {
	return !isStale(v) && power <= 0.001*max(day.Units[i].CapacityKW, 1) && math.IsNaN(day.Relative[i]) && len(day.Units) >= 3 && v.Site.Summary.Data.ActiveInverters == 0
}

// StoppedUnits returns the units without a finding that produce nothing while their
// peers do: the detector reports them later.
func StoppedUnits(v view.Context) []string {
	if !v.Site.PastDate.IsZero() || isStale(v) {
		return nil
	}
	var out []string
	day, held := v.Day(), UnitFindings(v)
	for i, a := range day.Units {
		if _, known := held[a.AssetID]; !known && day.Stopped(i) && v.SiteNow.Sub(day.Last[i]) < 2*day.Step+15*time.Minute {
			out = append(out, a.AssetID)
		}
	}
	return out
}

// noneAbnormal writes that nothing is abnormal, or which units have stopped and
// are not reported yet, or that findings are active that the list does not show, as
// alarms are asked for later than findings and may be shelved.
func noneAbnormal(v view.Context, n state.Need, what, none string) (string, themes.Role) {
	switch stopped, active := StoppedUnits(v), len(activeFindings(v)); len(stopped) {
	case 0:
		if active > 0 {
			return "None listed; active in Orient: " + display.CountOf(active, "finding", "findings") + ".", themes.Warning
		}
		if words := noPresentData(v); words != "" && v.Know(n).Certainty == state.Known {
			return "None known: " + words + ".", themes.Warning
		}
		return widget.NoneKnown(v, n, what, none)
	case 1:
		return stopped[0] + " produces nothing while its peers do; not reported by detection yet.", themes.Critical
	default:
		return display.CountOf(len(stopped), "unit", "units") + " produce nothing while their peers do: " + strings.Join(stopped, ", ") + "; not reported by detection yet.", themes.Critical
	}
}

// noPresentData says that nothing of the present is known of a site; empty if it is, or if
// that is not known itself.
func noPresentData(v view.Context) string {
	s := v.Site.Summary
	switch {
	case s.At.IsZero(), s.Data.HasPower():
		return ""
	case s.Data.LastUpdated.IsZero():
		return "there are no data"
	}
	return "the newest data are " + display.Age(s.Data.ServiceTime.Sub(s.Data.LastUpdated.Time)) + " old"
}

func shareRole(share float64) themes.Role {
	switch {
	case math.IsNaN(share):
		return themes.Muted
	case share < 0.5:
		return themes.Critical
	case share < 0.9:
		return themes.Warning
	}
	return themes.Dim
}

// trendBlocks are the levels of a trend's cell; ASCII has fewer.
var (
	trendBlocks = [8]rune{'▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'}
	trendASCII  = [8]rune{'_', '_', '.', '.', '-', '-', '=', '#'}
)

// drawTrend draws a unit's day from midnight to midnight in one row: the height
// is its power, the hue is its deviation from its peers; within the normal range it is
// grey, on the background of normal ranges.
func drawTrend(r terminal.Region, v view.Context, day *view.DayTable, i int) {
	w, _ := r.Size()
	values, ratios := day.Slots[i], day.Abnormal[i]
	if len(values) == 0 || w < 1 {
		return
	}
	// All units share the scale, so that they are comparable; a dark day is not magnified.
	top := day.Units[i].CapacityKW * max(day.Highest, 0.1)
	if top <= 0 {
		for _, kw := range values {
			if kw > top {
				top = kw
			}
		}
	}
	blocks := &trendBlocks
	if v.ASCII {
		blocks = &trendASCII
	}
	for x := range w {
		from, to := x*len(values)/w, max((x+1)*len(values)/w, x*len(values)/w+1)
		kw := mean(values[from:to])
		if math.IsNaN(kw) || top <= 0 {
			continue
		}
		level := min(max(int(kw/top*7), 0), 6) // a full block would join the rows
		class := chart.LowRatio.Class(worstRatio(ratios[from:min(to, len(ratios))]))
		style := v.Style(themes.Muted)
		switch normal := class == themes.HeatNone || class == themes.HeatNormal; {
		case normal && kw < 0.01*top:
			continue // night
		case class == themes.HeatNormal:
			style = style.On(v.Style(themes.Range)) // within the normal band
		case normal:
		case v.Palette.Colorless():
			style = v.Style(themes.Critical)
		default:
			style.FG = v.Palette.Color(class)
		}
		r.PutRune(x, 0, blocks[level], style)
	}
}

// worstRatio returns the ratio farthest from one; NaN without any.
func worstRatio(ratios []float64) float64 {
	out := math.NaN()
	for _, q := range ratios {
		if !math.IsNaN(q) && (math.IsNaN(out) || math.Abs(q-1) > math.Abs(out-1)) {
			out = q
		}
	}
	return out
}

func mean(values []float64) float64 {
	sum, n := 0.0, 0
	for _, x := range values {
		if !math.IsNaN(x) {
			sum, n = sum+x, n+1
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(n)
}

// UnitName returns the unit of a finding, how many, or its site.
func UnitName(f api.Finding) string {
	if n := len(f.AssetIDs); n > 1 {
		return strconv.Itoa(n) + " units"
	}
	if f.AssetID != "" {
		return f.AssetID
	}
	return f.SiteID
}

func activeFindings(v view.Context) []api.Finding {
	var out []api.Finding
	for _, f := range v.Site.Findings.Data {
		if f.Active {
			out = append(out, f)
		}
	}
	return out
}

// findingOf returns the id of the unit's active finding, empty without one.
func findingOf(v view.Context, assetID string) string {
	for _, f := range activeFindings(v) {
		if f.AssetID == assetID || slices.Contains(f.AssetIDs, assetID) {
			return f.SummaryID
		}
	}
	return ""
}
