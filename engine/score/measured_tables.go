package score

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"app.sunloop/engine/detect"
)

// lossColumns are the columns of the table of losses.
var lossColumns = []string{"loss", "tier", "cases", "found", "named right", "energy recall", "median delay, days", "in usable days", "above the noise", "found of these", "found by plant"}

// lossCells returns the rows of the table of losses.
func (m *Measured) lossCells() (rows [][]string) {
	for _, r := range m.Rows {
		rows = append(rows, []string{
			r.Kind, r.Tier, fmt.Sprint(r.Cases), number(share(float64(r.Found), float64(r.Cases)), 2), number(share(float64(r.Named), float64(r.Cases)), 2),
			number(r.EnergyRecall, 2), number(r.DelayDays, 1), number(r.UsableDays, 0), fmt.Sprint(r.Visible), number(share(float64(r.VisibleFound), float64(r.Visible)), 2), r.byPlant(),
		})
	}
	return rows
}

// markdownTable returns a table.
func markdownTable(columns []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(columns)
	b.WriteString(strings.Repeat("|---", len(columns)) + "|\n")
	for _, r := range rows {
		line(r)
	}
	return b.String()
}

// plainTable prints a table for people.
func plainTable(w io.Writer, columns []string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	for _, r := range append([][]string{columns}, rows...) {
		fmt.Fprintln(t, strings.Join(r, "\t"))
	}
	return t.Flush()
}

// Markdown returns the table of the losses, as docs/faults.md has it.
func (m *Measured) Markdown() string { return markdownTable(lossColumns, m.lossCells()) }

// MarkdownAnnouncements returns the announcements on the plants as they are: their
// number a unit-year by tier and family, and each of them with its assessment.
func (m *Measured) MarkdownAnnouncements() string {
	var b strings.Builder
	b.WriteString("| tier | unit-years | family | announced | a unit-year | true or plausible | false | unknown |\n|---|---|---|---|---|---|---|---|\n")
	m.eachFamily(func(tier string, years float64, family string, some []Announcement) {
		n := map[Assessment]int{}
		for _, a := range some {
			n[a.Assessment]++
		}
		fmt.Fprintf(&b, "| %s | %.1f | %s | %d | %.2f | %d | %d | %d |\n", tier, years, family, len(some), float64(len(some))/years,
			n[AssessmentTrue]+n[AssessmentPlausible], n[AssessmentFalse], n[AssessmentUnknown])
	})
	b.WriteString("\n| tier | plant | announcement | assessment | reason |\n|---|---|---|---|---|\n")
	for _, a := range m.Announcements {
		if a.Finding.Family == detect.CommunicationGap {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", a.Tier, a.Plant, strings.ReplaceAll(a.Finding.Summary, "|", "/"), a.Assessment, a.Reason)
	}
	return b.String()
}

// MarkdownReliability returns the share of right findings by confidence, and the
// calibration error.
func (m *Measured) MarkdownReliability() string {
	var b strings.Builder
	b.WriteString("| confidence | findings | mean confidence | right |\n|---|---|---|---|\n")
	for _, r := range m.Reliability() {
		if r.n > 0 {
			fmt.Fprintf(&b, "| %.1f to %.1f | %d | %s | %s |\n", r.from, r.to, r.n, number(r.mean, 2), number(r.right, 2))
		}
	}
	fmt.Fprintf(&b, "\n%s.\n", m.calibrationText())
	return b.String()
}

// calibrationText states the calibration error of all findings, and by tier.
func (m *Measured) calibrationText() string {
	e, n := m.CalibrationError("")
	text := fmt.Sprintf("Calibration error %s of %d findings", number(e, 3), n)
	for _, tier := range tiers {
		if e, n := m.CalibrationError(tier); n > 0 {
			text += fmt.Sprintf("; %s %s of %d", tier, number(e, 3), n)
		}
	}
	return text
}

// eachFamily calls f for each tier and family with announcements on the plants as
// they are.
func (m *Measured) eachFamily(f func(tier string, years float64, family string, some []Announcement)) {
	for _, tier := range tiers {
		years, by := 0.0, map[string][]Announcement{}
		for name, y := range m.UnitYears {
			if strings.HasPrefix(name, tier+" ") {
				years += y
			}
		}
		if years == 0 {
			continue
		}
		for _, a := range m.Announcements {
			if a.Tier == tier {
				by[string(a.Finding.Family)] = append(by[string(a.Finding.Family)], a)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(by)) {
			f(tier, years, name, by[name])
		}
	}
}

// byPlant lists the found cases of each plant.
func (r MeasuredRow) byPlant() string {
	var plants []string
	for name, n := range r.Plants {
		plants = append(plants, fmt.Sprintf("%s %d/%d", name, n[0], n[1]))
	}
	slices.Sort(plants)
	return strings.Join(plants, ", ")
}

// Write prints the tables for people.
func (m *Measured) Write(w io.Writer) error {
	fmt.Fprintln(w, "Goals")
	if err := plainTable(w, goalColumns, m.goalCells()); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := plainTable(w, lossColumns, m.lossCells()); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nAnnounced on the plants as they are, a unit-year")
	t := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	m.eachFamily(func(tier string, years float64, family string, some []Announcement) {
		fmt.Fprintf(t, "%s\t%.1f unit-years\t%s\t%d\t%.2f\n", tier, years, family, len(some), float64(len(some))/years)
	})
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nEach of them")
	for _, a := range m.Announcements {
		fmt.Fprintf(w, "%s, %s: %s [%s: %s]\n", a.Tier, a.Plant, a.Finding.Summary, a.Assessment, a.Reason)
	}
	fmt.Fprintln(w, "\nWhat can be seen")
	var names []string
	for name := range m.Detectability {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(w, "%s: %s.\n", name, m.Detectability[name].Text())
	}
	fmt.Fprintln(w, "\nReliability")
	for _, r := range m.Reliability() {
		if r.n > 0 {
			fmt.Fprintln(w, r)
		}
	}
	_, err := fmt.Fprintf(w, "\n%s\n", m.calibrationText())
	return err
}

// WriteMissed prints the losses that were not found, with what was found instead.
func (m *Measured) WriteMissed(w io.Writer) error {
	for _, l := range m.Missed {
		t := &l.Truth
		fmt.Fprintf(w, "missed %s %s %s: %s to %s, size %.3g, %.2f %% of the energy\n", l.Tier, l.Case, l.Kind, t.From.UTC().Format(time.RFC3339), t.To.UTC().Format(time.RFC3339), t.Severity, 100*t.LossFraction)
		for _, f := range l.Instead {
			if _, err := fmt.Fprintf(w, "\tinstead: %s\n", f.Summary); err != nil {
				return err
			}
		}
	}
	return nil
}
