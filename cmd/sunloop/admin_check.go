package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"app.sunloop/backend/check"
	"app.sunloop/internal/display"
)

// checkData verifies the data folder, or the database that replaces its file.
func checkData(ctx context.Context, g *Globals) (check.Report, error) {
	if g.Store != "" {
		return check.Replica(ctx, g.embedded().Paths(), time.Now)
	}
	return check.Folder(ctx, g.embedded().Paths())
}

// CheckCmd verifies a data folder, or a database.
type CheckCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Run says what was looked at and what is wrong; the exit status is 1 when
// something is.
func (c *CheckCmd) Run(ctx context.Context, g *Globals, std streams) error {
	found, err := checkData(ctx, g)
	if err != nil {
		return err
	}
	if c.JSON {
		if err := json.NewEncoder(std.out).Encode(found); err != nil {
			return err
		}
	} else {
		for _, f := range found.Faults {
			fmt.Fprintln(std.out, f)
		}
		for _, n := range found.Notes {
			fmt.Fprintln(std.out, n)
		}
		verdict := "All is well."
		if n := len(found.Faults); n == 1 {
			verdict = "One fault was found."
		} else if n > 1 {
			verdict = display.CountOf(n, "fault", "faults") + " found."
		}
		fmt.Fprintf(std.out, "%s of %s, the telemetry and the queue, %s of %s and the modes of %s were looked at. %s\n",
			display.CountOf(found.Records, "record", "records"), display.CountOf(found.Tables, "table", "tables"), display.CountOf(found.Objects, "object", "objects"), display.Bytes(found.ObjectBytes), display.CountOf(found.Files, "file", "files"), verdict)
	}
	if len(found.Faults) > 0 {
		return exitStatus(1)
	}
	return nil
}
