package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"app.sunloop/engine/replay"
	"app.sunloop/engine/replay/metric"
	"app.sunloop/internal/display"
)

// printBacktest prints one site's figures, in percent of the capacity.
func printBacktest(out io.Writer, r *replay.Result, months bool) error {
	fmt.Fprintf(out, "%s: %s to %s, %s; percent of the capacity\n", r.Name, r.FirstTest, r.LastTest, display.CountOf(r.N, "interval", "intervals"))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tpinball\tdeciles\tCRPS\tnMAE\tnRMSE\tnMBE\tskill\tcoverage 80\twidth 80\tdaily energy\tdays within\tday width\t")
	line := func(name string, s metric.Scores) {
		fmt.Fprintf(w, "%s\t%.3f\t%.3f\t%.3f\t%.2f\t%.2f\t%+.2f\t%s\t%s\t%.1f\t%s\t%s\t%s\t\n", name, 100*s.Pinball, 100*s.PinballDeciles, 100*s.CRPS,
			100*s.NMAE, 100*s.NRMSE, 100*s.NMBE, skillText(s), display.Percentage(100*s.Coverage80), 100*s.Width80, display.Percentage(100*s.DailyEnergyError), bandText(s.Coverage80Day), bandText(s.Width80Day))
	}
	line("sunloop", r.Scores)
	if months {
		for _, m := range r.ByMonth {
			line(m.Month, m.Scores)
		}
	}
	for _, name := range replay.References() {
		if ref := r.References[name]; ref != nil {
			line(plainName(name), ref.Scores)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s of %.2f s, a forecast in %.1f ms; %s\n", display.CountOf(r.Fits, "fit", "fits"), r.FitSeconds, r.PredictMS, memberText(r))
	for _, n := range r.Notes {
		fmt.Fprintln(out, "-", n)
	}
	_, err := fmt.Fprintln(out)
	return err
}

// bandText is a share in percent; a dash where no band of days is known.
func bandText(share float64) string {
	if share == 0 {
		return "–"
	}
	return display.Percentage(100 * share)
}

func skillText(s metric.Scores) string {
	if s.Skill == nil {
		return "–"
	}
	return display.Percentage(100 * *s.Skill)
}

func memberText(r *replay.Result) string {
	var members []string
	for _, m := range r.Members {
		members = append(members, plainName(m.Name)+" "+display.Percent(m.Weight))
	}
	return strings.Join(members, ", ")
}

func plainName(name string) string { return strings.ReplaceAll(name, "_", " ") }

// markdownSites returns a table of sites, a line for each and one for their
// mean, with the engine next to the references: those with a distribution by
// pinball loss at the deciles, those without by absolute error and skill.
func markdownSites(results []*replay.Result) string {
	var b strings.Builder
	peers := results[0].References["quantile_trees"] != nil
	columns := []string{"site", "n", "pinball", "deciles", "CH-PeEn", "ratio"}
	if peers {
		columns = append(columns, "quantile trees", "ratio")
	}
	columns = append(columns, "nMAE", "smart persistence", "skill", "mix's skill", "coverage 80", "width 80", "daily energy", "fit", "forecast")
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	for _, r := range results {
		trees := ""
		if p := r.References["quantile_trees"]; p != nil {
			trees = fmt.Sprintf(" %.3f | **%.3f** |", 100*p.PinballDeciles, r.PinballDeciles/p.PinballDeciles)
		} else if peers {
			trees = " | |"
		}
		all, smart, mix := r.References["ch_peen"], r.References["smart_persistence"], r.References["climatology_mix"]
		fmt.Fprintf(&b, "| %s | %d | %.3f | %.3f | %.3f | **%.3f** |%s %.2f | %.2f | **%s** | %s | %s | %.1f | %s | %.2f s | %.1f ms |\n", r.Name, r.N, 100*r.Pinball, 100*r.PinballDeciles,
			100*all.PinballDeciles, r.PinballDeciles/all.PinballDeciles, trees, 100*r.NMAE, 100*smart.NMAE, skillText(r.Scores), skillText(mix.Scores),
			display.Percentage(100*r.Coverage80), 100*r.Width80, display.Percentage(100*r.DailyEnergyError), r.FitSeconds, r.PredictMS)
	}
	return b.String()
}

// markdownMonths is a table of one result's months.
func markdownMonths(r *replay.Result) string {
	var b strings.Builder
	b.WriteString("| month | n | pinball | nMAE | coverage 80 | CH-PeEn | smart persistence |\n|---|---|---|---|---|---|---|\n")
	line := func(name string, s, all, smart metric.Scores) {
		fmt.Fprintf(&b, "| %s | %d | **%.5f** | %.5f | %s | %.5f | %.5f |\n", name, s.N, s.Pinball, s.NMAE, display.Percentage(100*s.Coverage80), all.Pinball, smart.Pinball)
	}
	all, smart := r.References["ch_peen"], r.References["smart_persistence"]
	for i, m := range r.ByMonth {
		line(m.Month, m.Scores, all.ByMonth[i].Scores, smart.ByMonth[i].Scores)
	}
	line("all", r.Scores, all.Scores, smart.Scores)
	return b.String()
}
