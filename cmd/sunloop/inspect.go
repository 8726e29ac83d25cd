package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"app.sunloop/engine/ingest"
	"app.sunloop/engine/series"
	"app.sunloop/tui/chart"
)

// InspectCmd shows what would be imported from a file.
type InspectCmd struct {
	File       string  `arg:"" help:"CSV file, or CSV compressed as .gz." type:"path"`
	TZ         string  `name:"tz" placeholder:"ZONE" help:"Time zone of times without an offset (UTC)."`
	CapacityKW float64 `name:"capacity-kw" placeholder:"KW" help:"AC capacity, which decides about units of measure and implausible values."`
	JSON       bool    `name:"json" help:"Print JSON."`
}

// Run prints the summary; a refused file is exit status 1.
func (c *InspectCmd) Run(std streams) error {
	data, name, err := readFile(c.File)
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
	result, readErr := ingest.Read(bytes.NewReader(data), o)
	s := ingest.Summarize(result, readErr)
	if c.JSON {
		e := json.NewEncoder(std.out)
		e.SetIndent("", "  ")
		if err := e.Encode(s); err != nil {
			return err
		}
		if readErr != nil {
			return exitStatus(1)
		}
		return nil
	}
	if readErr != nil {
		return fmt.Errorf("%s: %w", name, readErr)
	}
	rows, every := fmt.Sprintf("%d rows", s.Rows), ""
	if s.Rows == 1 {
		rows = "1 row"
	}
	if s.IntervalMinutes > 0 {
		every = fmt.Sprintf(", every %d minutes", s.IntervalMinutes)
	}
	fmt.Fprintf(std.out, "%s: %s of %s in %s%s\n", name, rows, strings.ReplaceAll(s.ValueKind, "_", " "), s.UnitSource, every)
	if s.First != nil && s.Last != nil {
		fmt.Fprintf(std.out, "from %s to %s\n", s.First.TimestampUTC, s.Last.TimestampUTC)
	}
	if len(s.Assets) > 0 {
		fmt.Fprintf(std.out, "units: %s\n", strings.Join(s.Assets, ", "))
	}
	for _, d := range s.Decisions {
		fmt.Fprintln(std.out, "-", d)
	}
	for _, w := range s.Warnings {
		fmt.Fprintln(std.out, "! ", w)
	}
	if left := leftOut(s.Counts); left != "" {
		fmt.Fprintln(std.out, "- left out:", left)
	}
	if day := bestDay(result, zone); day != "" {
		fmt.Fprintf(std.out, "\n%s\n", day)
	}
	return nil
}

// leftOut says what of a file was not stored.
func leftOut(rows *ingest.Rows) string {
	var parts []string
	if rows == nil {
		return ""
	}
	if rows.Missing > 0 {
		parts = append(parts, fmt.Sprintf("%d missing values", rows.Missing))
	}
	for _, why := range slices.Sorted(maps.Keys(rows.Skipped)) {
		parts = append(parts, fmt.Sprintf("%d rows (%s)", rows.Skipped[why], why))
	}
	return strings.Join(parts, ", ")
}

// bestDay charts the day of the file with the most energy, of all units
// together; "" where no day has more than one value.
func bestDay(r *ingest.Result, zone *time.Location) string {
	var best series.Series
	var day time.Time
	for from, to := range series.Days(r.First, r.Last.Add(time.Second), zone) {
		sum := series.Series{}
		for _, a := range r.Assets {
			part := a.Frame.Slice(from.Unix(), to.Unix())
			s := part.Resample(series.PowerKW, max(r.Interval, 5*time.Minute))
			if sum.Len() == 0 {
				sum = s
				continue
			}
			for i := range s.Values {
				if k, ok := sum.Index(s.Time(i)); ok {
					sum.Values[k] += s.Values[i]
				}
			}
		}
		if best.Len() == 0 || sum.EnergyKWh() > best.EnergyKWh() {
			best, day = sum, from
		}
	}
	if best.Len() < 2 {
		return ""
	}
	points := chart.Points{Value: best.Values, Step: best.Step}
	for i := range best.Values {
		points.At = append(points.At, best.Time(i).Unix())
	}
	return chart.Plain{
		Start: day, Location: zone, Columns: 64, Rows: 8, ASCII: false,
		Caption: fmt.Sprintf("kW on the best day, %s, of %.1f kWh", day.In(zone).Format("2006-01-02"), best.EnergyKWh()),
	}.Render(points)
}
