package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"app.sunloop/backend"
	"app.sunloop/backend/admin/socket"
	"app.sunloop/internal/display"
)

// JobListCmd lists the dead jobs.
type JobListCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Run prints the state of the queue and the dead jobs.
func (c *JobListCmd) Run(ctx context.Context, g *Globals, std streams) error {
	jobs, err := socket.Jobs{}, socket.ErrNoProcess
	if g.Store == "" {
		jobs, err = socket.JobsOf(ctx, g.Data)
	}
	if errors.Is(err, socket.ErrNoProcess) {
		err = readDataFolder(g, func(s *backend.Service) (err error) {
			jobs, err = s.Admin().Jobs(ctx)
			return err
		})
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(std.out).Encode(jobs)
	}
	for _, d := range jobs.DeadJobs {
		fmt.Fprintf(std.out, "%s  %-11s %s  dead since %s, after %s: %s\n", d.ID, d.Kind, d.About, d.DiedAt.UTC().Format(time.RFC3339), display.CountOf(d.Attempts, "attempt", "attempts"), d.Cause)
	}
	fmt.Fprintf(std.out, "Jobs: %d waiting, %d running, %d dead.\n", jobs.Waiting, jobs.Running, jobs.Dead)
	return nil
}

// JobRetryCmd returns a dead job to the queue.
type JobRetryCmd struct {
	ID string `arg:"" help:"Job id, from admin job list."`
}

// Run returns the job to the queue.
func (c *JobRetryCmd) Run(ctx context.Context, g *Globals, std streams) error {
	err := socket.ErrNoProcess // each process asks the database itself
	if g.Store == "" {
		err = socket.RetryJob(ctx, g.Data, c.ID)
	}
	if errors.Is(err, socket.ErrNoProcess) {
		err = readDataFolder(g, func(s *backend.Service) error { return s.Admin().RetryJob(ctx, c.ID) })
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(std.out, "Job %s queued again: it runs when a service is running.\n", c.ID)
	return nil
}
