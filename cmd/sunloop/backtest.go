package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"app.sunloop/engine/replay"
	"app.sunloop/engine/replay/metric"
)

// BacktestCmd scores the engine's forecasts on a history in files.
type BacktestCmd struct {
	Sites  []string `arg:"" name:"site" help:"Site files: TOML that says where the data are and how to test." type:"path"`
	Root   string   `placeholder:"DIR" help:"Folder of the data files (the site file's own)." type:"path"`
	JSON   bool     `name:"json" help:"As JSON: one object for one site, sites and their mean for several."`
	Peers  bool     `help:"Compare with plain quantile trees too."`
	Jobs   int      `placeholder:"N" help:"Models fitted side by side (one a core)."`
	Months bool     `help:"A line a month."`
}

// backtests is the JSON of several sites.
type backtests struct {
	Sites []*replay.Result `json:"sites"`
	Mean  *replay.Result   `json:"mean"`
}

// Run replays the sites and prints how it went.
func (c *BacktestCmd) Run(ctx context.Context, std streams) error {
	sites := make([]replay.Replay, len(c.Sites))
	for i, name := range c.Sites {
		var err error
		if sites[i], err = c.load(name); err != nil {
			return err
		}
	}
	o := replay.Options{Jobs: c.Jobs, Peers: c.Peers, Now: time.Now}
	if o.Jobs <= 0 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	results, err := replay.Run(ctx, sites, o)
	if err != nil {
		return err
	}
	mean := replay.Mean(results)
	if c.JSON {
		e := json.NewEncoder(std.out)
		e.SetIndent("", "  ")
		if len(results) == 1 {
			return e.Encode(results[0])
		}
		return e.Encode(backtests{results, mean})
	}
	if len(results) > 1 {
		results = append(results, mean)
	}
	for _, r := range results {
		if err := printBacktest(std.out, r, c.Months); err != nil {
			return err
		}
	}
	return nil
}

// load reads a site file and its data.
func (c *BacktestCmd) load(name string) (replay.Replay, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return replay.Replay{}, err
	}
	plan, err := replay.Parse(filepath.Base(name), text)
	if err != nil {
		return replay.Replay{}, err
	}
	root := c.Root
	if root == "" {
		root = filepath.Dir(name)
	}
	data, err := replay.Load(func(file string) (io.ReadCloser, error) {
		path := filepath.FromSlash(file)
		if !filepath.IsAbs(path) {
			path = filepath.Join(root, path)
		}
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no file %s; --root names the folder that data.files are in", path)
		}
		return f, err
	}, plan)
	if err != nil {
		return replay.Replay{}, fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return replay.Replay{Plan: plan, Data: data}, nil
}

// printBacktest prints one site's figures, in percent of the capacity.
func printBacktest(out io.Writer, r *replay.Result, months bool) error {
	fmt.Fprintf(out, "%s: %s to %s, %d intervals; percent of the capacity\n", r.Name, r.FirstTest, r.LastTest, r.N)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tpinball\tdeciles\tCRPS\tnMAE\tnRMSE\tnMBE\tskill\tcoverage 80\twidth 80\tdaily energy\t")
	line := func(name string, s metric.Scores) {
		skill := "–"
		if s.Skill != nil {
			skill = fmt.Sprintf("%.1f %%", 100**s.Skill)
		}
		fmt.Fprintf(w, "%s\t%.3f\t%.3f\t%.3f\t%.2f\t%.2f\t%+.2f\t%s\t%.1f %%\t%.1f\t%.1f %%\t\n", name, 100*s.Pinball, 100*s.PinballDeciles, 100*s.CRPS,
			100*s.NMAE, 100*s.NRMSE, 100*s.NMBE, skill, 100*s.Coverage80, 100*s.Width80, 100*s.DailyEnergyError)
	}
	line("sunloop", r.Scores)
	if months {
		for _, m := range r.ByMonth {
			line(m.Month, m.Scores)
		}
	}
	for _, name := range replay.References() {
		if ref := r.References[name]; ref != nil {
			line(strings.ReplaceAll(name, "_", " "), ref.Scores)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	var members []string
	for _, m := range r.Members {
		members = append(members, fmt.Sprintf("%s %.0f %%", strings.ReplaceAll(m.Name, "_", " "), 100*m.Weight))
	}
	fmt.Fprintf(out, "%d fits of %.2f s, a forecast in %.1f ms; %s\n", r.Fits, r.FitSeconds, r.PredictMS, strings.Join(members, ", "))
	for _, n := range r.Notes {
		fmt.Fprintln(out, "-", n)
	}
	_, err := fmt.Fprintln(out)
	return err
}
