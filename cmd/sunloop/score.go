package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"app.sunloop/engine/diagnose"
	"app.sunloop/engine/score"
)

// ScoreCmd replays labelled fleets through detection and diagnosis.
type ScoreCmd struct {
	Seeds     string   `placeholder:"A-B" help:"Seeds of simulated fleets (1000-1011 without --dir)."`
	Practice  bool     `help:"With --seeds: sites as they occur in practice, mostly one unit or meter with the errors of measured plants, instead of fleets of twelve equal units."`
	Dir       []string `placeholder:"DIR" sep:"none" type:"existingdir" help:"Folder of CSV files with truth.json, as sunloop simulate writes it; repeatable."`
	Jobs      int      `default:"0" placeholder:"N" help:"Number of parallel replays (one per processor)."`
	JSON      bool     `name:"json" help:"Print JSON."`
	Mistakes  bool     `help:"Also list missed faults and false findings."`
	Measured  bool     `help:"For a folder of measured plants with injected losses: recall by kind, size and tier, and the findings on the unchanged plants."`
	Replays   string   `placeholder:"DIR" hidden:"" type:"path" help:"With --measured: store the findings of each case in this folder and reuse them."`
	Into      string   `placeholder:"FILE" hidden:"" type:"existingfile" help:"Rewrite the tables of docs/faults.md."`
	Calibrate string   `placeholder:"FILE" hidden:"" type:"path" help:"Fit the confidences on these seeds and write engine/diagnose/calibration.json."`
}

// Run prints the scores.
func (c *ScoreCmd) Run(ctx context.Context, std streams) error {
	if c.Jobs <= 0 {
		c.Jobs = runtime.GOMAXPROCS(0)
	}
	if c.Measured {
		return c.measured(ctx, std)
	}
	if len(c.Dir) > 0 && (c.Seeds != "" || c.Practice) {
		return wrong("--dir: cannot be combined with --seeds or --practice")
	}
	report, err := c.replay(ctx)
	if err != nil {
		return err
	}
	if c.Calibrate != "" {
		return os.WriteFile(c.Calibrate, report.Calibration(), 0o644)
	}
	if c.Into != "" {
		return replaceBetween(c.Into, beginTable("simulated"), endTable("simulated"), report.Markdown())
	}
	if c.JSON {
		e := json.NewEncoder(std.out)
		e.SetIndent("", "  ")
		return e.Encode(report)
	}
	if err := report.Write(std.out); err != nil {
		return err
	}
	if c.Mistakes {
		fmt.Fprintln(std.out)
		for _, m := range report.Mistakes {
			word := "false"
			if m.Missed {
				word = "missed"
			}
			fmt.Fprintf(std.out, "%s %s %s: %s\n", word, m.Case, m.Family, m.Text)
		}
	}
	return nil
}

func (c *ScoreCmd) measured(ctx context.Context, std streams) error {
	if len(c.Dir) == 0 {
		return errors.New("--measured needs --dir, a folder of measured plants with injected losses")
	}
	if together := c.Calibrate != "" && c.Practice; c.Practice != together || (c.Seeds != "") != together {
		return wrong("--measured: --seeds and --practice go together, to fit confidences on simulated sites as well with --calibrate")
	}
	m, err := score.MeasuredDirs(ctx, c.Dir, c.Replays, c.Jobs)
	if err != nil {
		return err
	}
	if c.Calibrate != "" {
		now := diagnose.Calibrated()
		if b, err := os.ReadFile(c.Calibrate); err == nil { // the lines of simulated fleets may just have been fitted
			now = diagnose.Calibration{}
			if err := json.Unmarshal(b, &now); err != nil {
				return fmt.Errorf("read %s: %w", c.Calibrate, err)
			}
		}
		var practice *score.Report
		if c.Practice {
			first, last, err := seedRange(c.Seeds)
			if err != nil {
				return err
			}
			if practice, err = score.Seeds(ctx, first, last, c.Jobs, score.FromPractice); err != nil {
				return err
			}
		}
		if err := os.WriteFile(c.Calibrate, m.Calibration(now, practice), 0o644); err != nil {
			return err
		}
		return m.Write(std.out)
	}
	if c.Into != "" {
		for _, table := range []struct{ name, text string }{{"goals", m.MarkdownGoals()}, {"measured", m.Markdown()}, {"announcements", m.MarkdownAnnouncements()}, {"reliability", m.MarkdownReliability()}} {
			if err := replaceBetween(c.Into, beginTable(table.name), endTable(table.name), table.text); err != nil {
				return err
			}
		}
	}
	if err := m.Write(std.out); err != nil || !c.Mistakes {
		return err
	}
	fmt.Fprintln(std.out)
	return m.WriteMissed(std.out)
}

// beginTable and endTable mark a table of docs/faults.md.
func beginTable(name string) string { return "<!-- " + name + ": made by `make measured` -->\n" }
func endTable(name string) string   { return "<!-- end of " + name + " -->\n" }

func (c *ScoreCmd) replay(ctx context.Context) (*score.Report, error) {
	if len(c.Dir) > 0 {
		var cases []score.Case
		for one, err := range score.InDirs(c.Dir...) {
			if err != nil {
				return nil, err
			}
			cases = append(cases, one)
		}
		return score.Cases(ctx, cases, c.Jobs)
	}
	if c.Seeds == "" {
		c.Seeds = "1000-1011"
	}
	first, last, err := seedRange(c.Seeds)
	if err != nil {
		return nil, err
	}
	cases := score.FromSeed
	if c.Practice {
		cases = score.FromPractice
	}
	return score.Seeds(ctx, first, last, c.Jobs, cases)
}

// seedRange reads A-B, or A alone.
func seedRange(text string) (first, last uint64, err error) {
	a, b, both := strings.Cut(text, "-")
	if !both {
		b = a
	}
	first, err = strconv.ParseUint(a, 10, 32)
	if err == nil {
		last, err = strconv.ParseUint(b, 10, 32)
	}
	if err != nil || last < first {
		return 0, 0, fmt.Errorf("--seeds: %q is not a range of seeds such as 1000-1049", text)
	}
	return first, last, nil
}
