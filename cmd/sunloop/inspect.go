package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"app.sunloop/engine/ingest"
	"app.sunloop/engine/plausible"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
	"app.sunloop/internal/display"
	"app.sunloop/tui/chart"
)

// InspectCmd shows what would be imported from a file.
type InspectCmd struct {
	Files      []string `arg:"" name:"file" help:"Files, folders, patterns such as 'logs/*.csv', or - for the standard input: CSV and other text, workbooks, archives, JSON and others, recognised by their content. Text is read without a limit of size." type:"path"`
	TZ         string   `name:"tz" placeholder:"ZONE" help:"Time zone of times without an offset (UTC)."`
	CapacityKW float64  `name:"capacity-kw" placeholder:"KW" help:"AC capacity, which decides about units of measure and implausible values."`
	Location   string   `placeholder:"PLACE" help:"Location of the plant, against which zone and values are checked: a town, or 47.07,15.44."`
	SuggestMap bool     `name:"suggest-map" help:"Print the mapping that was inferred, for --map-file."`
	JSON       bool     `name:"json" help:"Print JSON: an object for one file; for several, an array of objects with the name of the file."`
	MappingFlags

	several   bool // files
	summaries []fileSummary
}

// fileSummary is what was read of one of several files.
type fileSummary struct {
	File string `json:"file,omitempty"`
	ingest.Summary
	FirstDay *ingest.Day `json:"first_day,omitempty"` // as the upload's record has it
}

// Run prints the summary; a refused file is exit status 1.
func (c *InspectCmd) Run(std streams) error {
	sources, err := expandFiles(c.Files)
	if err != nil {
		return err
	}
	zone, o := time.UTC, ingest.Options{CapacityKW: c.CapacityKW, Now: time.Now()}
	if c.TZ != "" {
		if zone, err = time.LoadLocation(c.TZ); err != nil {
			return fmt.Errorf("--tz: there is no time zone %q; they are named as in Europe/Berlin", c.TZ)
		}
		o.Zone, o.ZoneFrom = zone, "the zone of --tz"
	}
	if o.Mapping, err = c.mapping(); err != nil {
		return err
	}
	known := plausible.Site{Zone: o.Zone, CapacityKW: c.CapacityKW}
	if c.Location != "" {
		found, err := parsePlace(c.Location)
		if err != nil {
			return err
		}
		known.Location = &solar.Location{LatitudeDeg: found.LatitudeDeg, LongitudeDeg: found.LongitudeDeg}
	}
	refused := false
	c.several, c.summaries = len(sources) > 1, []fileSummary{}
	for _, source := range sources {
		result, readErr := c.read(source, std, o, known)
		err := readErr
		if refusal := (*ingest.Refusal)(nil); readErr == nil || errors.As(readErr, &refusal) {
			err = c.print(std, source.name, result, readErr, zone)
		}
		var status exitStatus
		switch {
		case errors.As(err, &status):
			refused = true
		case err != nil && len(sources) == 1:
			return err
		case err != nil:
			fmt.Fprintln(std.err, "sunloop:", err)
			refused = true
		}
	}
	if c.JSON && c.several {
		if err := printJSON(std.out, c.summaries); err != nil {
			return err
		}
	}
	if refused {
		return exitStatus(1)
	}
	return nil
}

func printJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// read reads a file. Of a large one only the frames of a piece are in memory: the
// result has those of the first piece, and the counts of all.
func (c *InspectCmd) read(s source, std streams, o ingest.Options, known plausible.Site) (*inspected, error) {
	var out inspected
	err := s.pieces(std, func(data []byte) (*ingest.Result, error) { return ingest.Read(bytes.NewReader(data), o) },
		func(data []byte, name string, first *ingest.Result, _ bool) error {
			o := o
			if first != nil && out.Result != nil {
				o.Mapping = first.Mapping
				if first.ValueKind != ingest.KindPower {
					o.EnergyKind = first.ValueKind
				}
			}
			r, err := ingest.Read(bytes.NewReader(data), o)
			if err != nil {
				if first != nil {
					err = fmt.Errorf("%s: %w", name, err)
				}
				return err
			}
			r.Warnings = append(r.Warnings, plausible.Check(r, known)...)
			out.add(r)
			return nil
		})
	if err != nil {
		return nil, err
	}
	return &out, nil
}

// inspected is what was read of a file, in one or more pieces.
type inspected struct {
	*ingest.Result // of the first piece, with the counts of all
	summary        ingest.Summary
}

func (r *inspected) add(next *ingest.Result) {
	s := ingest.Summarize(next, nil)
	if r.Result == nil {
		r.Result, r.summary = next, s
		return
	}
	sum := &r.summary
	sum.Rows, sum.SumPowerKW, sum.Last = sum.Rows+s.Rows, sum.SumPowerKW+s.SumPowerKW, s.Last
	for _, a := range s.Assets {
		if !slices.Contains(sum.Assets, a) {
			sum.Assets = append(sum.Assets, a)
		}
	}
	sum.Counts.Read, sum.Counts.Used = sum.Counts.Read+s.Counts.Read, sum.Counts.Used+s.Counts.Used
	sum.Counts.Stored, sum.Counts.Missing = sum.Counts.Stored+s.Counts.Stored, sum.Counts.Missing+s.Counts.Missing
	for why, n := range s.Counts.Skipped {
		sum.Counts.Skipped[why] += n
	}
	for _, w := range s.Warnings {
		if !slices.Contains(sum.Warnings, w) && len(sum.Warnings) < 100 {
			sum.Warnings = append(sum.Warnings, w)
		}
	}
}

// print prints the summary of a file, or the mapping with which it was read.
func (c *InspectCmd) print(std streams, name string, read *inspected, readErr error, zone *time.Location) error {
	var result *ingest.Result
	var day *ingest.Day
	s := ingest.Summarize(nil, readErr)
	if readErr == nil {
		result, s, day = read.Result, read.summary, ingest.FirstDay(read.Result, zone)
	}
	if c.SuggestMap {
		if readErr != nil {
			return fmt.Errorf("%s: %w", name, readErr)
		}
		if c.several {
			fmt.Fprintln(std.out, "# "+name)
		}
		fmt.Fprint(std.out, result.Mapping.Text())
		return nil
	}
	if c.JSON {
		if c.several {
			c.summaries = append(c.summaries, fileSummary{name, s, day})
		} else if err := printJSON(std.out, fileSummary{Summary: s, FirstDay: day}); err != nil {
			return err
		}
		if readErr != nil {
			return exitStatus(1)
		}
		return nil
	}
	if readErr != nil {
		printColumns(std.out, s.Columns)
		return fmt.Errorf("%s: %w", name, readErr)
	}
	rows, every := display.CountOf(s.Rows, "row", "rows"), ""
	if s.Rows == 1 {
		rows = "1 row"
	}
	if s.IntervalMinutes > 0 {
		every = ", every " + display.CountOf(s.IntervalMinutes, "minute", "minutes")
	}
	fmt.Fprintf(std.out, "%s: %s of %s in %s%s\n", name, rows, strings.ReplaceAll(s.ValueKind, "_", " "), s.UnitSource, every)
	if s.First != nil && s.Last != nil {
		fmt.Fprintf(std.out, "from %s to %s\n", s.First.TimestampUTC, s.Last.TimestampUTC)
	}
	if len(s.Assets) > 0 {
		fmt.Fprintf(std.out, "units: %s\n", strings.Join(s.Assets, ", "))
	}
	printColumns(std.out, s.Columns)
	for _, d := range s.Decisions {
		fmt.Fprintln(std.out, "-", d)
	}
	for _, w := range s.Warnings {
		fmt.Fprintln(std.out, "! ", w)
	}
	for _, r := range s.RunnersUp {
		fmt.Fprintln(std.out, "? ", "nearly as likely:", r)
	}
	fmt.Fprintf(std.out, "- rows: %d read, %d used%s\n", s.Counts.Read, s.Counts.Used, leftOut(s.Counts))
	if day := firstDay(day, zone); day != "" {
		fmt.Fprintf(std.out, "\n%s\n", day)
	}
	return nil
}

// printColumns says what each column of a file was taken for, and why.
func printColumns(out io.Writer, columns []ingest.Column) {
	const most = 60
	width := 0
	for _, c := range columns[:min(len(columns), most)] {
		width = max(width, utf8.RuneCountInString(c.Title))
	}
	for i, c := range columns {
		if i == most {
			fmt.Fprintf(out, "  and %s\n", display.CountOf(len(columns)-most, "more column", "more columns"))
			return
		}
		role := strings.ReplaceAll(c.Role, "_", " ")
		if c.Asset != "" {
			role += " of " + c.Asset
		}
		if c.Unit != "" {
			role += " in " + c.Unit
		}
		fmt.Fprintf(out, "  %3d  %-*s  %s: %s\n", c.Number, min(width, 40), c.Title, role, c.Reason)
	}
}

// leftOut says what of a file was not stored, by reason.
func leftOut(rows *ingest.Rows) string {
	text := ""
	for _, why := range slices.Sorted(maps.Keys(rows.Skipped)) {
		text += fmt.Sprintf(", %d left out (%s)", rows.Skipped[why], why)
	}
	if rows.Missing > 0 {
		text += fmt.Sprintf("; %s missing", display.CountOf(rows.Missing, "value", "values"))
	}
	return text
}

// firstDay charts the first day of a file; "" where it has at most one value.
func firstDay(day *ingest.Day, zone *time.Location) string {
	if day == nil || len(day.Points) < 2 {
		return ""
	}
	step := time.Duration(day.StepMinutes * float64(time.Minute))
	points := chart.Points{Step: step}
	for _, p := range day.Points {
		points.At, points.Value = append(points.At, p.Start.Unix()), append(points.Value, p.PowerKW)
	}
	return chart.Plain{
		Start: series.Midnight(day.Points[0].Start, zone), Location: zone, Columns: 64, Rows: 8, ASCII: false,
		Caption: fmt.Sprintf("kW on the first day, %s, of %s", day.Day, display.Energy(day.EnergyKWh())),
	}.Render(points)
}
