package widget

import (
	"fmt"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
)

// Fact is a label with its text.
type Fact struct{ Label, Text string }

// FigureFacts returns the basis of a KPI: formula, window, revision, rating,
// irradiance, shares of the energy, data and hours that it leaves out. when
// writes a time. What does not apply to the figure is absent.
func FigureFacts(f api.KPI, when func(api.Time) string) []Fact {
	var facts []Fact
	add := func(label, words string) {
		if words != "" {
			facts = append(facts, Fact{label, words})
		}
	}
	add("formula", f.Formula)
	add("source", f.Source)
	add("window", when(f.From)+" to "+when(f.To))
	add("as of", RevisionWords(f.AsOf, f.Revision, when))
	if r := f.Rating; r != nil {
		add("rating", RatingWords(r.Side, r.KW, r.Source, r.Inferred))
	}
	if r := f.Irradiance; r != nil {
		add("irradiance", r.Description)
	}
	if e := f.Energy; e != nil {
		add("energy", EnergyWords(*e))
	}
	if d := f.Difference; d != nil {
		add("difference", DifferenceWords(*d))
	}
	if f.Covered != nil {
		add("covered", display.Percent(*f.Covered)+" of the insolation due")
	}
	if f.DataAvailability != nil {
		add("data", display.Percent(*f.DataAvailability)+" of what was due arrived")
	}
	add("excluded", ExcludedWords(f.Excluded))
	add("basis", f.Basis)
	return facts
}

// RevisionWords describes when a figure was computed, and its revision if its window
// is complete.
func RevisionWords(at api.Time, revision int, when func(api.Time) string) string {
	switch {
	case at.IsZero():
		return ""
	case revision == 0:
		return when(at) + ", not final"
	}
	return fmt.Sprintf("%s, revision %d", when(at), revision)
}

// RatingWords write a DC or AC rating and, if it is inferred, from what.
func RatingWords(side string, kW float64, source string, inferred bool) string {
	words := display.Power(kW) + " " + strings.ToUpper(side)
	if inferred {
		words += ", inferred from " + map[string]string{api.RatingSiteShare: "the site's rating", api.RatingRatio: "the DC/AC ratio of other units",
			api.RatingCapacity: "the capacity", api.RatingEstimate: "the highest measured power"}[source]
	}
	return strings.TrimSuffix(words, " from ")
}

// EnergyWords write the shares of an energy by source, largest sources first as
// they are trusted; what has no share is absent.
func EnergyWords(e api.EnergyShares) string {
	var parts []string
	for _, s := range []struct {
		share float64
		words string
	}{{e.Counter, "from counters"}, {e.Power, "from power"}, {e.Interval, "from interval energies"}, {e.Extrapolated, "extrapolated"}} {
		if s.share > 0 {
			parts = append(parts, display.Percent(s.share)+" "+s.words)
		}
	}
	return strings.Join(parts, ", ")
}

// DifferenceWords write by how much counters and interval energy exceed power.
func DifferenceWords(d api.EnergyDifference) string {
	words := "counters and interval energy differ from power by " + display.Change(100*d.Share)
	if d.Flagged {
		words += ", more than 0.5 %"
	}
	return words
}

// ExcludedWords write the hours that a figure leaves out, by category.
func ExcludedWords(list []api.ExcludedHours) string {
	parts := make([]string, len(list))
	for i, e := range list {
		parts[i] = display.Significant(e.Hours) + " h " + strings.ReplaceAll(e.Category, "_", " ")
	}
	return strings.Join(parts, ", ")
}
