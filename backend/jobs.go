package backend

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"app.sunloop/backend/admin/socket"
	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// jobRoute is what the audit trail calls the revival of a dead job.
const jobRoute = "job"

// Jobs are the queue's counts and its dead letters.
func (s *Service) Jobs(ctx context.Context) (socket.Jobs, error) {
	jobs := socket.Jobs{DeadJobs: []socket.DeadJob{}}
	var err error
	if jobs.Waiting, jobs.Running, jobs.Dead, err = s.store.Counts(ctx); err != nil {
		return jobs, err
	}
	dead, err := s.store.Dead(ctx, socket.MaxDeadJobs)
	for _, d := range dead {
		jobs.DeadJobs = append(jobs.DeadJobs, socket.DeadJob{ID: d.ID, Kind: d.Kind, About: d.Unique, Attempts: d.Attempts, Cause: d.Cause, DiedAt: d.DiedAt})
	}
	return jobs, err
}

// Revive puts a dead job back to run at once with all its attempts, and leaves
// its record in the audit trail.
func (s *Service) Revive(ctx context.Context, id string) error {
	err := s.store.Revive(ctx, id, s.wall())
	r := api.AuditRecord{Actor: operatorName, ActorID: operatorName, Route: jobRoute, Action: "revive", TargetIDs: map[string]string{"job_id": id}, Status: http.StatusOK}
	switch {
	case errors.Is(err, store.ErrNotFound):
		err = fmt.Errorf("no dead job has the id %q: sunloop admin job list shows them", id)
		r.Status = http.StatusNotFound
	case errors.Is(err, store.ErrExists):
		err = fmt.Errorf("a newer job of the same kind does the work of %s already", id)
		r.Status = http.StatusConflict
	case err != nil:
		return err
	}
	if err != nil {
		r.Error = err.Error()
	}
	return errors.Join(err, s.trail.Append(context.WithoutCancel(ctx), r))
}
