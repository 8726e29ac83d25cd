package score

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// Write prints the report for people.
func (r *Report) Write(w io.Writer) error {
	fmt.Fprintf(w, "%d cases, %.0f inverter-years without faults\n\n", r.Cases, r.CleanInverterYears)
	t := tabwriter.NewWriter(w, 2, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "family\tfaults\tprecision\trecall\tF1\tenergy recall\tprecision\tfalse/inv.-year\tcritical\tdelay median\tP90\tclear days\ttop 1\ttop 2\tcalibration\tBrier\tat risk\tlost\tkappa\t")
	line := func(name string, f Figures) {
		fmt.Fprintf(t, "%s\t%d\t%s\t\n", name, f.Truths, strings.Join([]string{
			number(f.EventPrecision, 3), number(f.EventRecall, 3), number(f.EventF1, 3), number(f.EnergyRecall, 3), number(f.EnergyPrecision, 3),
			number(f.FalseAlarmsPerInverterYear, 3), number(f.CriticalFalseAlarmsPerInverterYear, 3),
			delay(f.DelayMedianMinutes), delay(f.DelayP90Minutes), number(f.DelayMedianClearDays, 0),
			number(f.Top1, 3), number(f.Top2, 3), number(f.CalibrationError, 3), number(f.Brier, 3), number(f.EnergyAtRiskError, 3), number(f.LostEnergyError, 3), number(f.SeverityKappa, 2),
		}, "\t"))
	}
	line("overall", r.Overall)
	for _, name := range reported {
		if f, ok := r.Families[name]; ok {
			line(name, f)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, m := range []struct {
		title string
		rows  map[string]map[string]int
	}{
		{"What a fault was called (rows: what it was)", r.Confusion.Families},
		{"A gap of the data, or an outage", r.Confusion.CommsReal},
		{"Held back, or hot", r.Confusion.CurtailmentDerating},
	} {
		fmt.Fprintf(w, "\n%s\n", m.title)
		for _, truth := range slices.Sorted(maps.Keys(m.rows)) {
			var cells []string
			for _, answer := range slices.Sorted(maps.Keys(m.rows[truth])) {
				cells = append(cells, fmt.Sprintf("%s %d", answer, m.rows[truth][answer]))
			}
			fmt.Fprintf(w, "  %s: %s\n", truth, strings.Join(cells, ", "))
		}
	}
	return nil
}

// Markdown returns the table of the families, as docs/faults.md has it.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d sites, %.0f inverter-years without faults.\n\n", r.Cases, r.CleanInverterYears)
	b.WriteString("| family | faults | found | precision | F1 | energy recall | energy precision | false alarms an inverter-year | median delay |\n|---|---|---|---|---|---|---|---|---|\n")
	line := func(name string, f Figures) {
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %s | %s | %s | %s |\n", name, f.Truths, number(f.EventRecall, 3), number(f.EventPrecision, 3), number(f.EventF1, 3),
			number(f.EnergyRecall, 3), number(f.EnergyPrecision, 3), number(f.FalseAlarmsPerInverterYear, 3), delay(f.DelayMedianMinutes))
	}
	line("all", r.Overall)
	for _, name := range reported {
		if f, ok := r.Families[name]; ok {
			line(name, f)
		}
	}
	return b.String()
}

func number(v float64, digits int) string {
	if math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf("%.*f", digits, v)
}

// delay is so many minutes in the unit that reads best.
func delay(minutes float64) string {
	switch {
	case math.IsNaN(minutes):
		return "-"
	case minutes < 120:
		return fmt.Sprintf("%.0f min", minutes)
	case minutes < 48*60:
		return fmt.Sprintf("%.1f h", minutes/60)
	}
	return fmt.Sprintf("%.1f d", minutes/1440)
}
