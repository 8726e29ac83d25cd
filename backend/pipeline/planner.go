package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/pipeline/detection"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
)

// runAsLeader runs the planner while no other replica does.
func (p *Pipeline) runAsLeader(ctx context.Context) {
	if p.config.Cluster == nil {
		p.scheduleDue(ctx)
		return
	}
	err := p.config.Cluster.Leader(ctx, "planner", func(ctx context.Context) error {
		p.scheduleDue(ctx)
		return ctx.Err()
	})
	if err != nil && ctx.Err() == nil {
		p.Logger.Error("run planner", "error", err)
	}
}

// scheduleDue enqueues the jobs that are due at each tick, and less often if there
// are so many sites that reading their states takes long.
func (p *Pipeline) scheduleDue(ctx context.Context) {
	tick := time.NewTimer(p.config.Tick)
	defer tick.Stop()
	var enqueuing, refreshing errorStreak
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		began := p.Wall()
		enqueuing.report(ctx, p.Logger, "enqueue due jobs", p.enqueueDue(ctx))
		// Marks of a process that died after a change of planned work.
		refreshing.report(ctx, p.Logger, "refresh schedules for partners", p.config.Partner.Refresh(ctx))
		tick.Reset(pauseAfter(p.config.Tick, p.Wall().Sub(began)))
	}
}

// errorStreak logs the first of consecutive errors, and their end: an unavailable
// store would fill the log otherwise.
type errorStreak struct{ failing bool }

func (s *errorStreak) report(ctx context.Context, log *slog.Logger, what string, err error) {
	switch {
	case ctx.Err() != nil:
		return
	case err != nil && !s.failing:
		log.Error(what, "error", err)
	case err == nil && s.failing:
		log.Info("recovered", "from", what)
	}
	s.failing = err != nil
}

// maxPause is the longest pause between two ticks. It also bounds the effect of a
// clock that jumped during a tick.
const maxPause = 30 * time.Second

// pauseAfter returns the pause after a tick that took so long: reading all sites
// may take a tenth of the time at most.
func pauseAfter(tick, took time.Duration) time.Duration { return max(tick, min(9*took, maxPause)) }

// schedule decides whether a kind of job is due for a site.
type schedule struct {
	kind string
	due  func(c Config, s sitedata.State, now time.Time) bool
}

var schedules = []schedule{
	{sitedata.JobForecast, func(c Config, s sitedata.State, now time.Time) bool {
		if !s.HasModel {
			return false
		}
		// At each whole hour (or ForecastEvery); with new data sooner, but not
		// for every sample.
		return s.ForecastAt.Truncate(c.ForecastEvery).Before(now.Truncate(c.ForecastEvery)) ||
			s.Data > s.ForecastData && now.Sub(s.ForecastAt) >= c.ForecastEvery/4
	}},
	{sitedata.JobDetect, func(c Config, s sitedata.State, now time.Time) bool {
		// Also for a reporting site without new data: missing data are a finding.
		return (s.Data > s.DetectData || s.IsReporting(now)) && now.Sub(s.DetectAt) >= c.DetectEvery
	}},
	{sitedata.JobSnapshot, func(_ Config, s sitedata.State, now time.Time) bool {
		return !s.DetectAt.IsZero() && !s.SnapshotsCurrent(now)
	}},
	{sitedata.JobTrain, func(c Config, s sitedata.State, _ time.Time) bool {
		last, every := s.TrainedEnd, c.RetrainEvery
		if s.TriedEnd.After(last) {
			last = s.TriedEnd
		}
		if !s.HasModel || s.ColdStart {
			every = earlyRetrainEvery
		}
		return s.LastData.Sub(last) >= every
	}},
}

// earlyRetrainEvery is the amount of new data after which a site whose model
// was not trained on its own history is trained again.
const earlyRetrainEvery = 7 * day

func (p *Pipeline) enqueueDue(ctx context.Context) error {
	all, loading, err := p.siteStates(ctx)
	if err != nil {
		return err
	}
	var jobs []store.Job
	now := p.Now()
	for _, s := range all {
		if loading[s.SiteID] {
			continue // an incomplete history would show false faults
		}
		for _, r := range schedules {
			if r.due(p.config, s, now) && p.mayEnqueue(r.kind, s.SiteID, p.config.Settle) {
				jobs = append(jobs, p.NewJob(r.kind, sitedata.Payload{SiteID: s.SiteID}))
			}
		}
	}
	silences := p.recordSilences(ctx, all, loading)
	if p.mayEnqueue(sitedata.JobMaintain, "", maintainEvery) {
		jobs = append(jobs, p.NewJob(sitedata.JobMaintain, sitedata.Payload{}))
	}
	if len(jobs) == 0 {
		return silences
	}
	return errors.Join(silences, p.Records.Update(ctx, func(tx store.Tx) error {
		for _, j := range jobs {
			if err := tx.Enqueue(j); err != nil {
				return err
			}
		}
		return nil
	}))
}

// behindAfter is how long a detection may be due before it is behind.
const behindAfter = time.Hour

// DetectionBehind returns the number of sites whose detection has been due for an hour and
// was not carried out.
func (p *Pipeline) DetectionBehind(ctx context.Context) (n int, err error) {
	all, suspended, err := p.siteStates(ctx)
	if err != nil {
		return 0, err
	}
	now := p.Now()
	for _, s := range all {
		since := s.DetectAt
		if since.IsZero() { // a new site
			since = s.Rhythm.Last
		}
		due := s.Data > s.DetectData || s.IsReporting(now)
		if !suspended[s.SiteID] && due && !since.IsZero() && now.Sub(since) > p.config.DetectEvery+behindAfter {
			n++
		}
	}
	return n, nil
}

// unitSilenceEvery is the time between two looks, by the plant's clock, for units of a
// site that are silent: each reads the arrivals of all its units.
const unitSilenceEvery = 5 * time.Minute

// unitSilencesDue reports whether the silences of units of a site are due, and then counts
// them as looked for.
func (p *Pipeline) unitSilencesDue(siteID string, now time.Time) bool {
	p.asked.Lock()
	defer p.asked.Unlock()
	key := "unit silences of " + siteID
	if last, ok := p.lastRun[key]; ok && now.Sub(last) < unitSilenceEvery && !now.Before(last) {
		return false
	}
	p.lastRun[key] = now
	return true
}

// recordSilences records the sites and units whose data have stopped or arrive again.
func (p *Pipeline) recordSilences(ctx context.Context, all []sitedata.State, suspended map[string]bool) error {
	now := p.Now()
	var failed error
	for _, s := range all {
		if suspended[s.SiteID] {
			continue
		}
		if detection.SilenceDue(s, now) {
			if err := p.Detections.RecordSilence(ctx, s.SiteID); err != nil {
				failed = errors.Join(failed, err) // it delays no other site
			}
		}
		if p.unitSilencesDue(s.SiteID, now) {
			if err := p.Detections.RecordUnitSilences(ctx, s.SiteID); err != nil {
				failed = errors.Join(failed, err)
			}
		}
	}
	return failed
}

// siteStates returns the states of all sites, and the sites for which no job is due:
// those that are archived or being changed, and those whose history is being imported,
// as the training at the end of the import forecasts and detects.
func (p *Pipeline) siteStates(ctx context.Context) (all []sitedata.State, loading map[string]bool, err error) {
	err = p.Records.View(ctx, func(tx store.Tx) error {
		if all, err = sitedata.States(tx); err != nil {
			return err
		}
		if loading, err = site.Suspended(tx); err != nil {
			return err
		}
		open, err := p.Domain.Uploads.AllOpen(tx)
		for _, u := range open {
			if u.Kind == api.UploadTrain {
				loading[u.SiteID] = true
			}
		}
		return err
	})
	return all, loading, err
}

// mayEnqueue reports whether a kind of job may be enqueued for a site now, and
// then counts it as enqueued: not within gap after the last time, by the wall
// clock.
func (p *Pipeline) mayEnqueue(kind, siteID string, gap time.Duration) bool {
	p.asked.Lock()
	defer p.asked.Unlock()
	key, wall := kind+" "+siteID, p.Wall()
	if last, ok := p.lastRun[key]; ok && wall.Sub(last) < gap && !wall.Before(last) { // unless the clock was set back
		return false
	}
	p.lastRun[key] = wall
	return true
}
