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
	"time"

	"golang.org/x/term"

	"app.sunloop/engine/replay"
)

// BacktestCmd scores the engine's forecasts on a history in files.
type BacktestCmd struct {
	Sites  []string `arg:"" name:"site" help:"Site files: TOML that describes the data and the test." type:"path"`
	Root   string   `placeholder:"DIR" help:"Folder of the data files (that of the site file)." type:"path"`
	JSON   bool     `name:"json" help:"Print JSON: one object for one site, sites and their mean for several."`
	Peers  bool     `help:"Compare with plain quantile trees as well."`
	Jobs   int      `placeholder:"N" help:"Number of models fitted in parallel (one per core)."`
	Months bool     `help:"Print a line per month."`
	Into   string   `hidden:"" placeholder:"FILE#NAME" help:"Write the figures to FILE as a Markdown table, between the marks of NAME."`
	Export string   `hidden:"" placeholder:"DIR" help:"Write the rows of each site with plain features as CSV, for other learners, and score nothing." type:"path"`
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
		for _, other := range sites[i].Plan.Fleet {
			sibling, err := c.load(filepath.Join(filepath.Dir(name), other))
			if err != nil {
				return fmt.Errorf("%s: backtest.fleet: %w", filepath.Base(name), err)
			}
			sites[i].Fleet = append(sites[i].Fleet, sibling)
		}
	}
	if c.Export != "" {
		return c.export(sites)
	}
	o := replay.Options{Jobs: c.Jobs, Peers: c.Peers, Now: time.Now}
	if o.Jobs <= 0 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	f, ok := fileOf(std.err)
	if ok && term.IsTerminal(int(f.Fd())) {
		o.Done = func(part, parts int) { fmt.Fprintf(f, "\r%d of %d\033[K", part, parts) }
	}
	results, err := replay.Run(ctx, sites, o)
	if o.Done != nil {
		fmt.Fprint(f, "\r\033[K")
	}
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
	if c.Into != "" {
		return c.into(results)
	}
	for _, r := range results {
		if err := printBacktest(std.out, r, c.Months); err != nil {
			return err
		}
	}
	return nil
}

// into rewrites a table of a document.
func (c *BacktestCmd) into(results []*replay.Result) error {
	file, name, ok := strings.Cut(c.Into, "#")
	if !ok {
		return fmt.Errorf("--into: invalid value %q; example: FILE#NAME", c.Into)
	}
	table := markdownSites(results)
	if c.Months {
		table = markdownMonths(results[len(results)-1])
	}
	return replaceBetween(file, "<!-- "+name+": made by `make forecast-report` -->\n", "<!-- end of "+name+" -->\n", table)
}

// export writes a file a site, by the name of its site file.
func (c *BacktestCmd) export(sites []replay.Replay) error {
	for i, name := range c.Sites {
		name = strings.TrimSuffix(filepath.Base(name), ".toml") + ".csv"
		f, err := os.Create(filepath.Join(c.Export, name))
		if err != nil {
			return err
		}
		if err := errors.Join(replay.Export(f, &sites[i]), f.Close()); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
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
