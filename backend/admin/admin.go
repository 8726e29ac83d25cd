// Package admin carries out administrative requests on an open installation:
// backups, and the dead jobs of the queue. It also restores backups.
package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"app.sunloop/backend/admin/socket"
	"app.sunloop/backend/api"
	"app.sunloop/backend/audit"
	"app.sunloop/backend/check"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/objects"
)

// Actor is the actor, in the audit trail, of what is requested on the socket or by
// a command on the data folder.
const Actor = "command line"

// SpoolFolder is the folder, in the data folder, of files that are being received
// or copied. Each start clears it.
const SpoolFolder = "spool"

// Store is what a Server does with the records and the queue.
type Store interface {
	check.Records
	Schema(ctx context.Context) (int, error)
	Backup(ctx context.Context, w io.Writer) (int64, error)
	Counts(ctx context.Context) (waiting, running, dead int, err error)
	Dead(ctx context.Context, limit int) ([]store.DeadJob, error)
	RetryDead(ctx context.Context, id string, at time.Time) error
}

// Server carries out administrative requests. Its methods are safe for concurrent
// use.
type Server struct {
	Paths   check.Paths
	Spool   string // folder for temporary copies
	Version string // of the program, for the manifest of a backup
	Store   Store
	Objects *objects.Store
	Trail   *audit.Trail
	Wall    func() time.Time
	Log     *slog.Logger
	// SitesNamed lists the sites of all customers that have the id.
	SitesNamed func(ctx context.Context, siteID string) ([]api.Site, error)

	backing sync.Mutex // held while a backup is made
}

// Serve serves requests on the socket of the data folder until ctx ends.
func (s *Server) Serve(ctx context.Context) {
	l, err := socket.Listen(s.Paths.DataDir)
	if err == nil {
		err = l.Serve(ctx, s, s.Wall)
	}
	if err != nil {
		s.Log.Warn("admin socket unavailable; backups require a stopped service", "error", err.Error())
	}
}

// JobRoute is the route, in the audit trail, of a retry of a dead job.
const JobRoute = "job"

// Jobs returns the counts of the queue and its dead jobs.
func (s *Server) Jobs(ctx context.Context) (socket.Jobs, error) {
	jobs := socket.Jobs{DeadJobs: []socket.DeadJob{}}
	var err error
	if jobs.Waiting, jobs.Running, jobs.Dead, err = s.Store.Counts(ctx); err != nil {
		return jobs, err
	}
	dead, err := s.Store.Dead(ctx, socket.MaxDeadJobs)
	for _, d := range dead {
		about, err := s.about(ctx, d.Unique)
		if err != nil {
			return jobs, err
		}
		jobs.DeadJobs = append(jobs.DeadJobs, socket.DeadJob{ID: d.ID, Kind: d.Kind, About: about, Attempts: d.Attempts, Cause: api.HideSiteKeysInText(d.Cause), DiedAt: d.DiedAt})
	}
	return jobs, err
}

// about returns what a job is about: the id of an upload or of a site, with the
// customer if several have a site of that id.
func (s *Server) about(ctx context.Context, unique string) (string, error) {
	id := api.PublicSiteID(unique)
	all, err := s.SitesNamed(ctx, id)
	if err != nil || len(all) < 2 {
		return id, err
	}
	for _, site := range all {
		if site.SiteID == unique {
			return id + " of customer " + site.CustomerID, nil
		}
	}
	return id, nil
}

// RetryJob returns a dead job to the queue, to run at once with all its attempts,
// and records that in the audit trail.
func (s *Server) RetryJob(ctx context.Context, id string) error {
	err := s.Store.RetryDead(ctx, id, s.Wall())
	r := api.AuditRecord{Actor: Actor, ActorID: Actor, Route: JobRoute, Action: "revive", TargetIDs: map[string]string{"job_id": id}, Status: http.StatusOK}
	switch {
	case errors.Is(err, store.ErrNotFound):
		err = fmt.Errorf("no dead job has the id %q: sunloop admin job list shows them", id)
		r.Status = http.StatusNotFound
	case errors.Is(err, store.ErrExists):
		err = fmt.Errorf("retry job %s: a newer job with the same key exists", id)
		r.Status = http.StatusConflict
	case err != nil:
		return err
	}
	if err != nil {
		r.Error = err.Error()
	}
	return errors.Join(err, s.Trail.Append(context.WithoutCancel(ctx), r))
}
