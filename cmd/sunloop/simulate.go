package main

import (
	"fmt"

	"app.sunloop/engine/score"
)

// SimulateCmd writes labelled fleets.
type SimulateCmd struct {
	Seed  uint64 `default:"0" help:"First seed."`
	Seeds uint64 `default:"1" placeholder:"N" help:"How many seeds, from --seed on."`
	Out   string `required:"" placeholder:"DIR" type:"path" help:"Folder for the CSV files and truth.json."`
}

// Run writes the fleets of the seeds: see docs/faults.md for what a seed holds.
func (c *SimulateCmd) Run(std streams) error {
	var cases []score.Case
	for seed := c.Seed; seed < c.Seed+c.Seeds; seed++ {
		cases = append(cases, score.FromSeed(seed, score.Start)...)
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
