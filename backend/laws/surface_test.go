package laws

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/tui/plain"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/analysis"
)

// holdSurfaces checks that each surface shows the figures of a window as the API has
// them, each with what it rests on: the file that the console's screen of KPIs
// exports, and the lines for scripts with their details.
func holdSurfaces(v *tally, k api.KPIs, where string) {
	for _, f := range k.Figures {
		v.hold("each figure states its window, formula and time", f.Unit != "" && f.Formula != "" && !f.AsOf.IsZero() && f.Revision == k.Revision && (f.Value != nil || f.Note != ""), "%s: %+v", where, f)
		if f.Name == "energy" && f.Value != nil && *f.Value > 0 {
			sum := 0.0
			if e := f.Energy; e != nil {
				sum = e.Power + e.Counter + e.Interval + e.Extrapolated
			}
			v.hold("the shares of an energy sum to it", math.Abs(sum-1) <= 0.003, "%s: %+v", where, f.Energy)
		}
		if strings.Contains(f.Name, "performance_ratio") {
			v.hold("a ratio states its rating and irradiance", f.Rating != nil && f.Irradiance != nil && f.Irradiance.Description != "", "%s: %+v", where, f)
		}
	}

	site := &state.Site{Zone: time.UTC}
	site.KPIs.Data = k
	rows := analysis.NewKPIs().Export(view.Context{Site: site, Now: k.To.Time, SiteNow: k.To.Time})
	if !v.hold("an export has a row for each figure", len(rows) == len(k.Figures)+1, "%s: %d rows of %d figures", where, len(rows), len(k.Figures)) {
		return
	}
	column := func(name string) int { return slices.Index(rows[0], name) }
	for _, name := range []string{"figure", "value", "unit", "from (UTC)", "to (UTC)", "data_availability", "source", "note", "formula", "as of (UTC)", "revision", "rating", "irradiance", "energy", "covered", "excluded", "difference", "basis"} {
		v.hold("an export has all columns", column(name) >= 0, "%s: no column %s in %q", where, name, rows[0])
	}
	for i, f := range k.Figures {
		row := rows[i+1]
		cell := row[column("value")]
		is, err := strconv.ParseFloat(cell, 64)
		v.hold("an export has the figures", f.Value == nil && cell == "" || f.Value != nil && err == nil && near(is, *f.Value), "%s: %s is %q, want %v", where, f.Name, cell, value(f))
		revision := ""
		if f.Revision > 0 {
			revision = strconv.Itoa(f.Revision)
		}
		v.hold("an export states what figures rest on", row[column("figure")] == f.Name && row[column("unit")] == f.Unit && row[column("formula")] == f.Formula && row[column("note")] == f.Note &&
			row[column("revision")] == revision && row[column("as of (UTC)")] == f.AsOf.String() && row[column("basis")] == f.Basis, "%s: %q of %+v", where, row, f)
	}

	var table bytes.Buffer
	_ = plain.FigureDetails(k, time.UTC).Write(&table, "") // to memory
	for _, f := range k.Figures {
		facts := map[string]bool{}
		for line := range strings.Lines(table.String()) {
			if rest, ok := strings.CutPrefix(line, plain.Label(f.Name)+" "); ok {
				for _, what := range []string{"formula", "window", "as of", "rating", "irradiance", "energy", "data", "covered", "excluded"} {
					facts[what] = facts[what] || strings.HasPrefix(strings.TrimSpace(rest), what)
				}
			}
		}
		v.hold("lines for scripts state what figures rest on", facts["formula"] && facts["window"] && facts["as of"] && (facts["rating"] || f.Rating == nil) && (facts["irradiance"] || f.Irradiance == nil) &&
			(facts["energy"] || f.Energy == nil) && (facts["data"] || f.DataAvailability == nil) && (facts["covered"] || f.Covered == nil) && (facts["excluded"] || len(f.Excluded) == 0), "%s: %s: %v", where, f.Name, facts)
	}
}
