package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"app.sunloop/engine/ingest"
	"app.sunloop/engine/score"
	"app.sunloop/engine/series"
	"app.sunloop/engine/simulate"
	"app.sunloop/engine/solar"
	"app.sunloop/internal/display"
)

// SimulateCmd writes labelled fleets.
type SimulateCmd struct {
	Seed      uint64   `default:"0" help:"First seed."`
	Seeds     uint64   `default:"1" placeholder:"N" help:"Number of seeds, from --seed."`
	Out       string   `required:"" placeholder:"DIR" type:"path" help:"Folder for the CSV files and truth.json."`
	Into      string   `placeholder:"FILE" type:"existingfile" help:"Inject faults into this measured file instead."`
	Kinds     []string `placeholder:"KIND" help:"With --into: the file as it is, and for each seed one case of each of these kinds with a single loss of one unit, for 'score --measured' (all, string_outage, inverter_outage, soiling, partial_shading, curtailment, stuck_sensor, thermal_derating)."`
	Latitude  *float64 `placeholder:"DEG" help:"For the measured site."`
	Longitude *float64 `placeholder:"DEG" help:"For the measured site."`
	TZ        string   `name:"tz" placeholder:"ZONE" help:"Time zone of the measured site (UTC)."`
}

// Run writes the fleets of the seeds, or a measured file with the faults of
// each seed in it: see docs/faults.md for what a seed holds.
func (c *SimulateCmd) Run(std streams) error {
	cases, err := c.cases()
	if err != nil {
		return err
	}
	if err := score.WriteDir(c.Out, cases); err != nil {
		return err
	}
	faults, rows := 0, 0
	for _, s := range cases {
		faults += len(s.Truth)
		for _, u := range s.Input.Units {
			rows += u.Frame.Len()
		}
	}
	fmt.Fprintf(std.out, "%s, %s, %s in %s\n", display.CountOf(len(cases), "site", "sites"), display.CountOf(rows, "row", "rows"), display.CountOf(faults, "fault", "faults"), c.Out)
	for _, s := range cases {
		if s.Input.Now.After(time.Now()) {
			fmt.Fprintf(std.out, "%s ends on %s: an import leaves out its rows in the future\n", s.Name, display.Date(s.Input.Now))
		}
	}
	return nil
}

// cases makes the cases of all seeds.
func (c *SimulateCmd) cases() (cases []score.Case, err error) {
	if c.Into == "" {
		if len(c.Kinds) > 0 {
			return nil, wrong("--kinds: needs --into, a measured file")
		}
		for seed := c.Seed; seed < c.Seed+c.Seeds; seed++ {
			cases = append(cases, score.FromSeed(seed, score.Start)...)
		}
		return cases, nil
	}
	kinds, err := c.kinds()
	if err != nil {
		return nil, err
	}
	site, frames, err := c.measured()
	if err != nil {
		return nil, err
	}
	if len(kinds) > 0 {
		cases = append(cases, score.Unchanged(site, frames))
	}
	for seed := c.Seed; seed < c.Seed+c.Seeds; seed++ {
		if len(kinds) == 0 {
			one, err := score.FromMeasured(seed, site, frames)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.Into, err)
			}
			cases = append(cases, one)
		}
		for _, kind := range kinds {
			one, ok, err := score.WithOneLoss(seed, site, kind, frames)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.Into, err)
			}
			if ok {
				cases = append(cases, one)
			}
		}
	}
	return cases, nil
}

// kinds are the kinds of single losses that are wanted.
func (c *SimulateCmd) kinds() (kinds []simulate.Kind, err error) {
	for _, name := range c.Kinds {
		switch kind := simulate.Kind(name); {
		case name == "all":
			return simulate.Losses, nil
		case slices.Contains(simulate.Losses, kind):
			kinds = append(kinds, kind)
		default:
			return nil, wrong("--kinds: %q is no kind of loss; there are all and %v", name, simulate.Losses)
		}
	}
	return kinds, nil
}

// measured reads the file. A unit's capacity is the highest power it shows.
func (c *SimulateCmd) measured() (*simulate.Site, map[string]series.Frame, error) {
	data, name, err := readFile(c.Into)
	if err != nil {
		return nil, nil, err
	}
	zone := time.UTC
	if c.TZ != "" {
		if zone, err = time.LoadLocation(c.TZ); err != nil {
			return nil, nil, fmt.Errorf("--tz: there is no time zone %q; they are named as in Europe/Berlin", c.TZ)
		}
	}
	if (c.Latitude == nil) != (c.Longitude == nil) {
		return nil, nil, errors.New("--latitude and --longitude go together")
	}
	result, err := ingest.Read(bytes.NewReader(data), ingest.Options{Zone: zone})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	site := &simulate.Site{ID: strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)), Zone: zone}
	if c.Latitude != nil {
		site.Location = solar.Location{LatitudeDeg: *c.Latitude, LongitudeDeg: *c.Longitude}
	}
	frames := map[string]series.Frame{}
	for _, a := range result.Assets {
		highest := 0.0
		for _, p := range a.Frame.Values(series.PowerKW) {
			if !math.IsNaN(p) {
				highest = max(highest, p)
			}
		}
		if highest > 0 {
			frames[a.Name] = a.Frame
			site.Units = append(site.Units, simulate.Unit{AssetID: a.Name, CapacityKW: highest})
		}
	}
	return site, frames, nil
}
