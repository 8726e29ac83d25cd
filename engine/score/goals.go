package score

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"app.sunloop/engine/detect"
)

// goal is a figure that findings on measured plants shall reach.
type goal struct {
	what string
	most bool // the figure must not exceed the goal
	// By tier: irradiance, peers, power alone. NaN where there is no goal.
	light, peers, power float64
	figure              func(m *Measured, tier string) (value float64, of string)
}

var none = math.NaN()

// goals on seeds that were not used for tuning.
var goals = []goal{
	{"strings of 25 to 30 %: found", false, 0.92, 0.98, 0.65, foundOf("string 25-30 %")},
	{"strings of 16.7 to 20 %: found", false, 0.88, 0.98, 0.45, foundOf("string 16.7-20 %")},
	{"strings of 10 to 12.5 %: found", false, 0.65, 0.95, 0.25, foundOf("string 10-12.5 %")},
	{"strings of 8 %: found", false, 0.45, 0.85, none, foundOf("string 8 %")},
	{"strings of 5 %: found", false, 0.20, 0.55, none, foundOf("string 5 %")},
	{"false steps a unit-year", true, 0.2, 0.2, 0.1, falseSteps},
	{"median delay of strings, usable days", true, 3, 3, 4, stepDelay},
	{"outages: found", false, 0.98, 0.98, 0.97, foundOf(string(detect.InverterOutage))},
	{"limits: found", false, 0.92, 0.95, 0.88, foundOf(string(detect.Curtailment))},
	{"limits: named right", false, 0.80, 0.85, 0.75, namedOf(string(detect.Curtailment))},
	{"stuck readings: found", false, 0.92, 0.95, 0.92, foundOf(string(detect.StuckSensor))},
	{"shading of 2 % of the energy and more: found", false, 0.75, 0.80, none, foundOf("shade, 2 % of the energy and more")},
	{"derating of 4 % of the energy and more: found", false, 0.65, 0.70, none, foundOf("derating, 4 % of the energy and more")},
	{"soiling of 7 % in all and more: found", false, 0.55, 0.60, none, foundOf("soiling, 7 % in all and more")},
	{"announcements a unit-year that are not real stops", true, 1.2, 0.8, 0.8, notStops},
	{"calibration error", true, 0.10, 0.10, 0.10, func(m *Measured, tier string) (float64, string) {
		e, n := m.CalibrationError(tier)
		return e, counted(n, "finding")
	}},
}

func (m *Measured) row(kind, tier string) (r MeasuredRow, of string, ok bool) {
	i := slices.IndexFunc(m.Rows, func(r MeasuredRow) bool { return r.Kind == kind && r.Tier == tier })
	if i < 0 {
		return r, "", false
	}
	r = m.Rows[i]
	of = counted(r.Cases, "case")
	if r.Visible < r.Cases {
		of = fmt.Sprintf("%s, %s of the %d above the plant's noise", counted(r.Cases, "case"), number(share(float64(r.VisibleFound), float64(r.Visible)), 2), r.Visible)
	}
	return r, of, true
}

// counted is a number with its noun, which has a plural with s.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func foundOf(kind string) func(*Measured, string) (float64, string) {
	return func(m *Measured, tier string) (float64, string) {
		r, of, ok := m.row(kind, tier)
		if !ok {
			return none, ""
		}
		return share(float64(r.Found), float64(r.Cases)), of
	}
}

func namedOf(kind string) func(*Measured, string) (float64, string) {
	return func(m *Measured, tier string) (float64, string) {
		r, of, ok := m.row(kind, tier)
		if !ok {
			return none, ""
		}
		return share(float64(r.Named), float64(r.Cases)), of
	}
}

// years of the plants as they are, on a tier.
func (m *Measured) years(tier string) (sum float64) {
	for name, y := range m.UnitYears {
		if strings.HasPrefix(name, tier+" ") {
			sum += y
		}
	}
	return sum
}

// oneHappening is the time within which steps of a plant are one happening.
const oneHappening = 48 * time.Hour

// falseSteps counts the steps on the plants as they are that the data do not confirm
// or agree with, in a unit-year. Several of a plant within two days are one.
func falseSteps(m *Measured, tier string) (float64, string) {
	n, last := 0, map[string]time.Time{}
	steps := slices.DeleteFunc(slices.Clone(m.Announcements), func(a Announcement) bool {
		return a.Tier != tier || a.Finding.Family != detect.StringOutage || a.Assessment == AssessmentTrue || a.Assessment == AssessmentPlausible
	})
	slices.SortFunc(steps, func(a, b Announcement) int {
		return cmp.Or(cmp.Compare(a.Plant, b.Plant), a.Finding.Start.Compare(b.Finding.Start))
	})
	for _, a := range steps {
		if before, ok := last[a.Plant]; !ok || a.Finding.Start.Sub(before) > oneHappening {
			n++
		}
		last[a.Plant] = a.Finding.Start
	}
	years := m.years(tier)
	return share(float64(n), years), fmt.Sprintf("%.1f unit-years", years)
}

// notStops counts the announcements on the plants as they are, in a unit-year, without
// gaps and without stops, snow and dead sensors that the data confirm or agree with.
func notStops(m *Measured, tier string) (float64, string) {
	n, unconfirmed := 0, 0
	for _, a := range m.Announcements {
		if a.Tier != tier || a.Finding.Family == detect.CommunicationGap {
			continue
		}
		confirmed := a.Assessment == AssessmentTrue || a.Assessment == AssessmentPlausible
		if !confirmed {
			unconfirmed++
		}
		if !confirmed || coarse[a.Finding.Family] != coarse[detect.InverterOutage] && a.Finding.Family != detect.IrradianceSensor {
			n++
		}
	}
	years := m.years(tier)
	return share(float64(n), years), fmt.Sprintf("%.1f unit-years; %s that the data do not confirm", years, number(share(float64(unconfirmed), years), 2))
}

// stepDelay is the median of the usable days from the begin of a step to its announcement.
func stepDelay(m *Measured, tier string) (float64, string) {
	var all []float64
	for _, r := range m.Rows {
		if r.Tier == tier {
			all = append(all, r.usable...)
		}
	}
	return quantile(all, 0.5), fmt.Sprintf("%d found", len(all))
}

// goalColumns are the columns of the table of goals.
var goalColumns = []string{"what", "tier", "goal", "measured", "reached", "of"}

// goalCells returns the rows of the table of goals: those with a figure.
func (m *Measured) goalCells() (rows [][]string) {
	for _, g := range goals {
		for i, want := range []float64{g.light, g.peers, g.power} {
			value, of := g.figure(m, tiers[i])
			if math.IsNaN(want) || math.IsNaN(value) {
				continue
			}
			bound, reached := "at least ", value >= want-0.005
			if g.most {
				bound, reached = "at most ", value <= want+0.005
			}
			word := "no"
			if reached {
				word = "yes"
			}
			rows = append(rows, []string{g.what, tiers[i], bound + fmt.Sprint(want), number(value, 2), word, of})
		}
	}
	return rows
}

// MarkdownGoals returns the goals with what was measured, by tier.
func (m *Measured) MarkdownGoals() string { return markdownTable(goalColumns, m.goalCells()) }
