package backend

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"app.sunloop/backend/health"
	"app.sunloop/backend/httpapi"
	"app.sunloop/backend/store"
	"app.sunloop/internal/clock"
	"app.sunloop/internal/display"
)

// Run runs the jobs and the timers until ctx ends or the Service is closed, then
// waits for all that it started. A database that was not open yet is opened first.
func (s *Service) Run(ctx context.Context) error {
	if !s.begin() {
		return nil // closed before it began
	}
	defer s.running.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.stop, cancel)() //nolint:contextcheck // ends with the service too
	if err := s.openWhenAvailable(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	o := s.opened.Load()
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { s.sweep(ctx, o) })
	running.Go(func() { s.storeUsage(ctx, o) })
	running.Go(func() { o.webhooks.Run(ctx) })
	running.Go(func() { o.eventHooks.Run(ctx) })
	if s.cfg.Heartbeat != "" {
		beat := health.Heartbeat{URL: s.cfg.Heartbeat, Unwell: s.unwell, Log: s.log}
		running.Go(func() { beat.Run(ctx) })
	}
	running.Go(func() { o.changes.Run(ctx) })
	running.Go(func() { o.streams.Run(ctx) })
	running.Go(func() { o.notify.Run(ctx) })
	running.Go(func() { o.reports.Run(ctx) })
	if s.cfg.SetupToken != nil {
		running.Go(func() { s.offerSetup(ctx, o) })
	}
	if !s.replica() { // a database is backed up by a command, not by a replica
		running.Go(func() { o.admin.Serve(ctx) })
	}
	defer cancel()
	return s.runJobs(ctx, o)
}

// unwell returns why the service is not well: parts that are not ready, and sites whose
// detection is behind.
func (s *Service) unwell(ctx context.Context) (reasons []string) {
	for part, why := range s.health.Readiness(ctx) {
		if why != "" {
			reasons = append(reasons, part+": "+why)
		}
	}
	o := s.opened.Load()
	if o == nil || len(reasons) > 0 {
		return reasons
	}
	n, err := o.pipeline.DetectionBehind(ctx)
	switch {
	case err != nil:
		reasons = append(reasons, "the states of the sites cannot be read")
	case n > 0:
		reasons = append(reasons, "detection is behind at "+display.CountOf(n, "site", "sites"))
	}
	return reasons
}

// begin counts a Run, unless Close has begun.
func (s *Service) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop.Err() != nil {
		return false
	}
	s.running.Add(1)
	return true
}

// runJobs runs the jobs until ctx ends. If the database becomes unavailable as they
// begin, it retries.
func (s *Service) runJobs(ctx context.Context, o *opened) error {
	for {
		err := o.pipeline.Run(ctx)
		if !s.replica() || !errors.Is(err, store.ErrUnavailable) {
			return err
		}
		s.log.Warn("jobs paused: database unavailable", "error", err.Error())
		if clock.Sleep(ctx, maxPause) != nil {
			return nil
		}
	}
}

// storeUsageEvery is the interval at which the usage of API keys is stored: what a crash
// loses of it.
const storeUsageEvery = time.Minute

// storeUsage stores the usage of API keys until ctx ends, and what is left then.
func (s *Service) storeUsage(ctx context.Context, o *opened) {
	tick := time.NewTicker(storeUsageEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		err := o.auth.StoreUsage(end)
		cancel()
		if err != nil {
			s.log.Warn("store usage of API keys", "error", err.Error())
		}
	}
}

// sweepEvery is the interval at which expired records are deleted.
const sweepEvery = time.Hour

// sweep deletes expired records, on one replica at a time, until ctx ends.
func (s *Service) sweep(ctx context.Context, o *opened) {
	err := o.Leader(ctx, "sweep", func(ctx context.Context) error {
		tick := time.NewTicker(sweepEvery)
		defer tick.Stop()
		for {
			err := errors.Join(o.auth.Sweep(ctx), o.trail.Sweep(ctx), o.freemium.Sweep(ctx), o.maintenance.Sweep(ctx), o.events.Sweep(ctx), o.notify.Sweep(ctx), o.changes.Sweep(ctx))
			if d := o.database(); d != nil {
				_, forgot := d.PruneRates(ctx, httpapi.RateWindow)
				err = errors.Join(err, forgot)
			}
			if err != nil && ctx.Err() == nil {
				s.log.Warn("delete expired records", "error", err)
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
		}
	})
	if err != nil && ctx.Err() == nil {
		s.log.Warn("delete expired records", "error", err)
	}
}

// errStorageNotReady wraps why the database cannot be opened now, which may change
// without a change of the configuration. Its reason is for clients: without host,
// user and password.
type errStorageNotReady struct {
	error
	reason string
}

func (e errStorageNotReady) Unwrap() error { return e.error }

func notReady(err error, reason string) error {
	if errors.Is(err, context.DeadlineExceeded) {
		reason = "it does not answer in time"
	}
	return errStorageNotReady{err, "the database cannot be opened: " + reason}
}

// Attempts to open the database: the limit of the first, after which the service
// starts without it, and the pauses between attempts.
const (
	firstAttempt       = 10 * time.Second
	minPause, maxPause = 250 * time.Millisecond, 10 * time.Second
)

// startReplica opens the database. If the configuration allows it, a database that
// cannot be opened yet is left to openWhenAvailable.
func (s *Service) startReplica() error {
	if !s.cfg.Await {
		return s.openReplica(s.stop)
	}
	ctx, cancel := context.WithTimeout(s.stop, firstAttempt)
	defer cancel()
	if err := s.openReplica(ctx); err != nil && !s.retryable(err) {
		return err
	}
	s.closed = httpapi.New(httpapi.Deps{Closed: s.Waiting, Ready: s.health.Ready, Now: s.cfg.Wall, Log: s.log, Observe: s.instruments.HTTP(),
		CORSOrigins: s.cfg.CORSOrigins, TrustedProxies: s.cfg.TrustedProxies})
	return nil
}

// openReplica opens the database that replicas share, and all parts over it. An
// errStorageNotReady may be temporary.
func (s *Service) openReplica(ctx context.Context) error {
	db, err := openDatabase(ctx, s.cfg, s.instruments.Transactions(true))
	if err != nil {
		reason := err.Error()
		if inner := errors.Unwrap(err); inner != nil { // without the host
			reason = inner.Error()
		}
		return notReady(err, reason)
	}
	err = s.open(ctx, db)
	if err != nil && (errors.Is(err, store.ErrUnavailable) || ctx.Err() != nil) {
		return notReady(err, store.Reason(err))
	}
	return err
}

// openWhenAvailable opens the database once it can be opened. It returns an error
// that no retry would change.
func (s *Service) openWhenAvailable(ctx context.Context) error {
	pause := minPause
	for s.opened.Load() == nil {
		err := s.openReplica(ctx)
		if err == nil {
			s.log.Info("database available")
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !s.retryable(err) {
			return err
		}
		if err := clock.Sleep(ctx, pause+rand.N(pause/4)); err != nil { //nolint:gosec // no secret; replicas do not retry together
			return err
		}
		pause = min(2*pause, maxPause)
	}
	return nil
}

// retryable reports whether opening the database may succeed later, and records the
// reason.
func (s *Service) retryable(err error) bool {
	var e errStorageNotReady
	if !errors.As(err, &e) {
		return false
	}
	why := e.reason
	if old := s.reason.Swap(&why); old == nil || *old != why {
		s.log.Warn("database unavailable", "error", err.Error())
	}
	return true
}
