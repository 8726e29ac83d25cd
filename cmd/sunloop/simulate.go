package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"app.sunloop/engine/ingest"
	"app.sunloop/engine/score"
	"app.sunloop/engine/series"
	"app.sunloop/engine/simulate"
	"app.sunloop/engine/solar"
)

// SimulateCmd writes labelled fleets.
type SimulateCmd struct {
	Seed      uint64   `default:"0" help:"First seed."`
	Seeds     uint64   `default:"1" placeholder:"N" help:"Number of seeds, from --seed."`
	Out       string   `required:"" placeholder:"DIR" type:"path" help:"Folder for the CSV files and truth.json."`
	Into      string   `placeholder:"FILE" type:"existingfile" help:"Inject faults into this measured file instead."`
	Latitude  *float64 `placeholder:"DEG" help:"For the measured site."`
	Longitude *float64 `placeholder:"DEG" help:"For the measured site."`
	TZ        string   `name:"tz" placeholder:"ZONE" help:"Time zone of the measured site (UTC)."`
}

// Run writes the fleets of the seeds, or a measured file with the faults of
// each seed in it: see docs/faults.md for what a seed holds.
func (c *SimulateCmd) Run(std streams) error {
	var cases []score.Case
	for seed := c.Seed; seed < c.Seed+c.Seeds; seed++ {
		if c.Into == "" {
			cases = append(cases, score.FromSeed(seed, score.Start)...)
			continue
		}
		one, err := c.measured(seed)
		if err != nil {
			return err
		}
		cases = append(cases, one)
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
	fmt.Fprintf(std.out, "%d sites, %d rows, %d faults in %s\n", len(cases), rows, faults, c.Out)
	return nil
}

// measured reads the file and injects the faults of a seed. A unit's capacity
// is the highest power it shows.
func (c *SimulateCmd) measured(seed uint64) (score.Case, error) {
	data, name, err := readFile(c.Into)
	if err != nil {
		return score.Case{}, err
	}
	zone := time.UTC
	if c.TZ != "" {
		if zone, err = time.LoadLocation(c.TZ); err != nil {
			return score.Case{}, fmt.Errorf("--tz: there is no time zone %q; they are named as in Europe/Berlin", c.TZ)
		}
	}
	if (c.Latitude == nil) != (c.Longitude == nil) {
		return score.Case{}, errors.New("--latitude and --longitude go together")
	}
	result, err := ingest.Read(bytes.NewReader(data), ingest.Options{Zone: zone, Now: time.Now()})
	if err != nil {
		return score.Case{}, fmt.Errorf("%s: %w", name, err)
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
	one, err := score.FromMeasured(seed, site, frames)
	if err != nil {
		return score.Case{}, fmt.Errorf("%s: %w", name, err)
	}
	return one, nil
}
