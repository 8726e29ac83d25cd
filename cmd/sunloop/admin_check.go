package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"app.sunloop/backend/check"
	"app.sunloop/backend/store"
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

// Run prints the faults and what was checked; the exit status is 1 if there is a fault.
func (c *CheckCmd) Run(ctx context.Context, g *Globals, std streams) error {
	found, err := checkData(ctx, g)
	if errors.Is(err, store.ErrLocked) {
		return fmt.Errorf("%w; stop that process first", err)
	}
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
		verdict := "No faults found."
		if n := len(found.Faults); n == 1 {
			verdict = "1 fault found."
		} else if n > 1 {
			verdict = display.CountOf(n, "fault", "faults") + " found."
		}
		fmt.Fprintf(std.out, "Checked: %s of %s, the telemetry, the queue, %s of %s, and the modes of %s. %s\n",
			display.CountOf(found.Records, "record", "records"), display.CountOf(found.Tables, "table", "tables"), display.CountOf(found.Objects, "object", "objects"), display.Bytes(found.ObjectBytes), display.CountOf(found.Files, "file", "files"), verdict)
	}
	if len(found.Faults) > 0 {
		return exitStatus(1)
	}
	return nil
}
