package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"app.sunloop/engine/forecast"
	"app.sunloop/engine/ingest"
	"app.sunloop/engine/interpolate"
	"app.sunloop/engine/place"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
	"app.sunloop/internal/display"
	"app.sunloop/tui/plain"
)

// InterpolateCmd fills the gaps of a file and says how well.
type InterpolateCmd struct {
	File       string  `arg:"" help:"File in a format that import reads, also compressed." type:"path"`
	Location   string  `required:"" placeholder:"PLACE" help:"Location of the plant: a town, for example Graz or \"Durban, ZA\", or 47.07,15.44."`
	TZ         string  `name:"tz" placeholder:"ZONE" help:"Time zone of times without an offset (UTC)."`
	CapacityKW float64 `name:"capacity-kw" placeholder:"KW" help:"AC capacity of each unit; the limit of filled power."`
	Unit       string  `help:"Only this unit."`
	Out        string  `placeholder:"FILE" help:"Write the filled values as CSV." type:"path"`
	JSON       bool    `name:"json" help:"Print JSON."`
}

// unitFilled is one unit's result, as --json prints it.
type unitFilled struct {
	Unit       string                 `json:"unit"`
	StepMin    float64                `json:"step_minutes"`
	Statistics interpolate.Statistics `json:"gap_statistics"`
	Methods    map[string]int         `json:"methods"`
	Lengths    []lengthLine           `json:"by_gap_length"`
	Notes      []string               `json:"notes,omitempty"`

	filled []interpolate.Filled
}

// lengthLine is how the methods did on hidden gaps of one length.
type lengthLine struct {
	GapMinutes float64            `json:"gap_minutes"`
	KnownFrom  string             `json:"known_from"` // nothing, or sibling units
	HiddenGaps int                `json:"hidden_gaps"`
	Filled     float64            `json:"mae_kw"`
	ByMethod   map[string]float64 `json:"mae_kw_by_method"`
}

// Run fills the gaps of each unit of the file.
func (c *InterpolateCmd) Run(ctx context.Context, std streams) error {
	found, err := parsePlace(c.Location)
	if err != nil {
		return err
	}
	fmt.Fprintln(std.err, "place:", found.Description)
	loc := solar.Location{LatitudeDeg: found.LatitudeDeg, LongitudeDeg: found.LongitudeDeg}
	zone, o := time.UTC, ingest.Options{CapacityKW: c.CapacityKW, Now: time.Now(), Asset: "unit"}
	if c.TZ != "" {
		if zone, err = time.LoadLocation(c.TZ); err != nil {
			return fmt.Errorf("--tz: there is no time zone %q; they are named as in Europe/Berlin", c.TZ)
		}
		o.Zone, o.ZoneFrom = zone, "the zone of --tz"
	}
	data, name, err := readFile(c.File)
	if err != nil {
		return err
	}
	file, err := ingest.Read(bytes.NewReader(data), o)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var all []unitFilled
	for _, a := range file.Assets {
		if c.Unit != "" && a.Name != c.Unit {
			continue
		}
		u, err := c.unit(ctx, a, file, loc, zone)
		if errors.Is(err, interpolate.ErrUnfit) {
			return fmt.Errorf("%s, %s: %w", name, a.Name, err)
		}
		if err != nil {
			return err
		}
		all = append(all, u)
		if !c.JSON {
			printFilled(std.out, u)
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("%s has no unit %q", name, c.Unit)
	}
	if c.JSON {
		e := json.NewEncoder(std.out)
		e.SetIndent("", "  ")
		if err := e.Encode(all); err != nil {
			return err
		}
	}
	if c.Out == "" {
		return nil
	}
	return writeFilledValues(c.Out, all)
}

// unit learns from one unit, and from what the file's others made meanwhile, and
// fills its gaps.
func (c *InterpolateCmd) unit(ctx context.Context, a ingest.Asset, file *ingest.Result, loc solar.Location, zone *time.Location) (unitFilled, error) {
	step := min(max(file.Interval, time.Minute), time.Hour)
	power := a.Frame.Resample(series.PowerKW, step)
	site := forecast.Site{ID: a.Name, Location: loc, Zone: zone, CapacityKW: c.CapacityKW}
	wx := interpolate.Weather{Siblings: siblings(file, a.Name, step)}
	model, report, err := interpolate.Train(ctx, site, power, wx, interpolate.Options{Seed: 1, Workers: 2})
	if err != nil {
		return unitFilled{}, err
	}
	done, err := model.Complete(ctx, power, wx, 2)
	if err != nil {
		return unitFilled{}, err
	}
	u := unitFilled{Unit: a.Name, StepMin: step.Minutes(), Statistics: done.Statistics, Methods: map[string]int{}, Notes: report.Notes, filled: done.Filled}
	for _, m := range done.Methods {
		u.Methods[string(m.Method)] = m.Gaps
	}
	for _, l := range report.Lengths {
		line := lengthLine{GapMinutes: l.Length.Minutes(), KnownFrom: string(l.Sky), HiddenGaps: l.Gaps, Filled: l.Filled.MAEKW, ByMethod: map[string]float64{}}
		for _, m := range l.Methods {
			if !math.IsNaN(m.MAEKW) {
				line.ByMethod[string(m.Method)] = m.MAEKW
			}
		}
		u.Lengths = append(u.Lengths, line)
	}
	return u, nil
}

// siblings is what the file's other units made.
func siblings(file *ingest.Result, but string, step time.Duration) series.Series {
	var others []series.Series
	for _, a := range file.Assets {
		if a.Name != but && len(a.Frame.Values(series.PowerKW)) > 0 {
			others = append(others, a.Frame.Resample(series.PowerKW, step))
		}
	}
	return interpolate.Together(others...)
}

// minutes writes the length of a gap.
func minutes(m float64) string { return display.Duration(time.Duration(m * float64(time.Minute))) }

// printFilled prints a unit's gaps and the errors of each method.
func printFilled(out io.Writer, u unitFilled) {
	s := u.Statistics
	fmt.Fprintf(out, "%s: %s, %s on average, %s at most; %s of the daylight filled\n", u.Unit, display.CountOf(s.TotalGaps, "gap", "gaps"), minutes(s.AverageMinutes), minutes(s.LargestMinutes), display.Percentage(s.CoverageImprovementPercent))
	for m, n := range u.Methods {
		fmt.Fprintf(out, "  %s by %s\n", display.CountOf(n, "gap", "gaps"), m)
	}
	columns := []string{"linear", "spline", "clear_sky_index", "sibling_units", "gradient_boosting", "adaptive_lstm"}
	if len(u.Lengths) > 0 {
		fmt.Fprintf(out, "  mean error in kW on measured samples that were hidden and filled\n  %-10s %-14s %-8s %10s  %s\n", "gap", "known", "hidden", "filled", strings.Join(columns, "  "))
	}
	for _, l := range u.Lengths {
		fmt.Fprintf(out, "  %-10s %-14s %-8d %10.3f ", (time.Duration(l.GapMinutes) * time.Minute).String(), l.KnownFrom, l.HiddenGaps, l.Filled)
		for _, m := range columns {
			if v, ok := l.ByMethod[m]; ok {
				fmt.Fprintf(out, " %*.3f", len(m)+1, v)
			} else {
				fmt.Fprintf(out, " %*s", len(m)+1, "–")
			}
		}
		fmt.Fprintln(out)
	}
	for _, n := range u.Notes {
		fmt.Fprintln(out, "  -", n)
	}
}

// writeFilledValues writes all filled values as CSV.
func writeFilledValues(path string, all []unitFilled) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := csv.NewWriter(f)
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }
	if err := w.Write([]string{"timestamp", "unit", "p10_kw", "p50_kw", "p90_kw", "method"}); err != nil {
		return err
	}
	for _, u := range all {
		for _, g := range u.filled {
			for i := range g.KW {
				at := g.Gap.From.Add(time.Duration(float64(i) * u.StepMin * float64(time.Minute)))
				if err := w.Write([]string{at.UTC().Format(time.RFC3339), plain.Inert(u.Unit), number(g.P10KW[i]), number(g.KW[i]), number(g.P90KW[i]), string(g.Method)}); err != nil {
					return err
				}
			}
		}
	}
	w.Flush()
	return w.Error()
}

// parsePlace finds the place of --location, and describes it in a sentence.
func parsePlace(text string) (place.Found, error) {
	found, ok := place.Find(text)
	if !ok {
		return found, fmt.Errorf("--location: unknown place %q; give a town, as in Graz or \"Durban, ZA\", or degrees, as in 47.07,15.44", text)
	}
	return found, nil
}
