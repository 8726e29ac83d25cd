package pipeline

import (
	"context"
	"log/slog"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/ops"
	"app.sunloop/backend/store"
)

// lead plans for as long as no other replica does.
func (p *Pipeline) lead(ctx context.Context) {
	if p.Cluster == nil {
		p.plan(ctx)
		return
	}
	err := p.Cluster.Leader(ctx, "planner", func(ctx context.Context) error {
		p.plan(ctx)
		return ctx.Err()
	})
	if err != nil && ctx.Err() == nil {
		p.Logger.Error("lead the planning", "error", err)
	}
}

// plan looks at every tick for what is due, and less often where there are so
// many sites that a look takes long.
func (p *Pipeline) plan(ctx context.Context) {
	tick := time.NewTimer(p.Tick)
	defer tick.Stop()
	var planning, showing spell
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		began := p.Wall()
		planning.note(ctx, p.Logger, "plan", p.enqueueDue(ctx))
		// What a process left behind that died after a change of planned work.
		showing.note(ctx, p.Logger, "show planned work", p.Partner.Refresh(ctx))
		tick.Reset(rest(p.Tick, p.Wall().Sub(began)))
	}
}

// spell is a time in which something keeps failing: its first error is told, and
// its end. A store that is away would fill the log otherwise.
type spell struct{ failing bool }

func (s *spell) note(ctx context.Context, log *slog.Logger, what string, err error) {
	switch {
	case ctx.Err() != nil:
		return
	case err != nil && !s.failing:
		log.Error(what, "error", err)
	case err == nil && s.failing:
		log.Info("it goes on", "what", what)
	}
	s.failing = err != nil
}

// mostRest is the longest rest between two looks. It also bounds what a clock
// that jumped during a look may do.
const mostRest = 30 * time.Second

// rest is how long to wait after a look that took so long: it reads all sites,
// so it may take a tenth of the time at most.
func rest(tick, took time.Duration) time.Duration { return max(tick, min(9*took, mostRest)) }

// rule says when a kind of job is due for a site.
type rule struct {
	kind string
	due  func(p *Pipeline, t Track, now time.Time) bool
}

var rules = []rule{
	{jobForecast, func(p *Pipeline, t Track, now time.Time) bool {
		if !t.HasModel {
			return false
		}
		// On the whole hour (or whatever ForecastEvery is), and sooner, but
		// not for every sample, when there is news.
		return t.ForecastAt.Truncate(p.ForecastEvery).Before(now.Truncate(p.ForecastEvery)) ||
			t.Data > t.ForecastData && now.Sub(t.ForecastAt) >= p.ForecastEvery/4
	}},
	{jobDetect, func(p *Pipeline, t Track, now time.Time) bool {
		// A live site is judged also when nothing comes: that is a finding.
		return (t.Data > t.DetectData || t.live(now)) && now.Sub(t.DetectAt) >= p.DetectEvery
	}},
	{jobSnapshot, func(_ *Pipeline, t Track, now time.Time) bool {
		return !t.DetectAt.IsZero() && !t.Snapshots.stands(t, now)
	}},
	{jobTrain, func(p *Pipeline, t Track, _ time.Time) bool {
		last, every := t.TrainedEnd, p.RetrainEvery
		if t.TriedEnd.After(last) {
			last = t.TriedEnd
		}
		if !t.HasModel || t.Young {
			every = firstTrainEvery
		}
		return t.LastData.Sub(last) >= every
	}},
}

// firstTrainEvery is how much new data a site without a model, or a young one,
// gathers between trainings.
const firstTrainEvery = 7 * day

// liveFor is how long after its newest stamp a site counts as live: then what
// is missing up to now is missing. Later it is a file without a feed.
const liveFor = 7 * day

func (t Track) live(now time.Time) bool { return t.Live && now.Sub(t.LastData) < liveFor }

func (p *Pipeline) enqueueDue(ctx context.Context) error {
	all, loading, err := p.standings(ctx)
	if err != nil {
		return err
	}
	var jobs []store.Job
	now := p.Now()
	for _, t := range all {
		if loading[t.SiteID] {
			continue // half a history would show faults that are none
		}
		for _, r := range rules {
			if r.due(p, t, now) && p.ask(r.kind, t.SiteID, p.Settle) {
				jobs = append(jobs, p.job(r.kind, payload{SiteID: t.SiteID}))
			}
		}
	}
	if p.ask(jobMaintain, "", maintainEvery) {
		jobs = append(jobs, p.job(jobMaintain, payload{}))
	}
	if len(jobs) == 0 {
		return nil
	}
	return p.Records.Update(ctx, func(tx store.Tx) error {
		for _, j := range jobs {
			if err := tx.Enqueue(j); err != nil {
				return err
			}
		}
		return nil
	})
}

// standings are all sites' tracks, and the sites whose history is being loaded:
// the training at its end forecasts and detects.
func (p *Pipeline) standings(ctx context.Context) (all []Track, loading map[string]bool, err error) {
	loading = map[string]bool{}
	err = p.Records.View(ctx, func(tx store.Tx) error {
		if all, _, err = tracks.List(tx, store.Query{}); err != nil {
			return err
		}
		open, err := p.Ops.AllOpenUploads(tx)
		for _, u := range open {
			if u.Kind == api.UploadTrain {
				loading[u.SiteID] = true
			}
		}
		return err
	})
	return all, loading, err
}

// ask says whether a kind of job may be enqueued for a site now: not within
// gap of the wall clock after the last time.
func (p *Pipeline) ask(kind, siteID string, gap time.Duration) bool {
	p.asked.Lock()
	defer p.asked.Unlock()
	key, wall := kind+" "+siteID, p.Wall()
	if last, ok := p.lastRun[key]; ok && wall.Sub(last) < gap && !wall.Before(last) { // unless the clock was put back
		return false
	}
	p.lastRun[key] = wall
	return true
}

// quietAt is when a site with such open uploads will have been quiet for long
// enough to train; a time that has passed when it has been.
func (p *Pipeline) quietAt(open []ops.Upload) time.Time {
	var last time.Time
	for _, u := range open {
		if u.Kind == api.UploadTrain && u.Accepted.After(last) {
			last = u.Accepted
		}
	}
	if now := p.Wall(); now.Before(last) { // the clock was put back, or another replica's goes before
		last = now
	}
	return last.Add(p.Quiet)
}
