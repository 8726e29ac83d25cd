package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/partner"
	"app.sunloop/backend/pipeline/detection"
	"app.sunloop/backend/pipeline/forecasting"
	"app.sunloop/backend/pipeline/gapfill"
	"app.sunloop/backend/pipeline/importer"
	"app.sunloop/backend/pipeline/livedata"
	"app.sunloop/backend/pipeline/sitechange"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/pipeline/snapshot"
	"app.sunloop/backend/pipeline/training"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/objects"
	"app.sunloop/engine/weather"
)

const day = 24 * time.Hour

// Config configures a Pipeline. Stores, Domain, Now and Wall are required; a zero
// value of the other fields takes its default.
type Config struct {
	Records      store.Records
	Telemetry    store.Telemetry
	Queue        store.Queue
	Cluster      store.Cluster // nil: there are no other replicas
	Objects      store.Objects
	ImportSource *objects.ImportSource // sources that s3_path may name besides Objects; nil: none
	Domain       *domain.Services
	Partner      *partner.Service         // nil: one without planned work and exchange rates
	Weather      weather.Provider         // nil: climatology only
	Repairs      detection.RepairVerifier // nil: no repair is verified
	SiteRecords  []record.OfSite          // of packages above the domain, deleted with a site
	Access       sitechange.Access        // nil: no credentials name sites
	// RenameAsset replaces a unit in the records of packages above the domain; nil:
	// there are none.
	RenameAsset func(tx store.Tx, siteID, from, to string) error
	Now         func() time.Time // the plant's clock
	Wall        func() time.Time // the real clock: leases, retries
	Logger      *slog.Logger     // nil: nothing is logged
	Hooks       sitedata.Hooks

	Workers      int // concurrent jobs; 2
	TrainWorkers int // cores that one training takes; all
	TrainingDays int // days of data before training starts; api.TrainingDays
	HorizonHours int // of stored forecasts; api.DefaultHorizonHours

	ForecastEvery time.Duration // by the plant's clock, also without new data; 1 h
	DetectEvery   time.Duration // by the plant's clock; 15 min
	RetrainEvery  time.Duration // of new data since the model's; 30 days
	Settle        time.Duration // by the wall clock, between two jobs of one kind and site; 5 s
	Quiet         time.Duration // by the wall clock: training waits until a site had no upload for so long; 1 s
	Tick          time.Duration // by the wall clock: interval of the planner; 1 s
	Lease         time.Duration // by the wall clock: another worker takes over this long after a crash; 30 s
	// Hold reports whether jobs other than imports and changes of sites wait, as while a
	// command imports a file in many pieces; nil: they never do.
	Hold func() bool
	// Exclusive says that no other process works on this queue: leases found at
	// the start belong to a dead process and are taken over at once.
	Exclusive bool
	Keep      Retention

	LargestFile int64                         // bytes of a file in parts; 0: api.DefaultLargeUpload
	Free        func() (bytes int64, ok bool) // of the disk of the objects; nil: they are not on a disk of this machine
}

// Retention is how long records are kept; zero values take the defaults.
type Retention struct {
	Forecasts  time.Duration // every issued one; after that the first of each day; 14 days
	Activities time.Duration // 7 days
	Detections time.Duration // 90 days
	Nowcasts   time.Duration // files and records of nowcast uploads, without their telemetry; 7 days
	Refused    time.Duration // records of rejected files; 90 days
	Shifts     time.Duration // entries of shift logs; 400 days
}

func (c *Config) defaults() {
	set := func(v *time.Duration, d time.Duration) {
		if *v <= 0 {
			*v = d
		}
	}
	count := func(v *int, n int) {
		if *v <= 0 {
			*v = n
		}
	}
	count(&c.Workers, 2)
	count(&c.TrainWorkers, runtime.GOMAXPROCS(0))
	count(&c.TrainingDays, api.TrainingDays)
	count(&c.HorizonHours, api.DefaultHorizonHours)
	set(&c.ForecastEvery, time.Hour)
	set(&c.DetectEvery, 15*time.Minute)
	set(&c.RetrainEvery, 30*day)
	set(&c.Settle, 5*time.Second)
	set(&c.Quiet, time.Second)
	set(&c.Tick, time.Second)
	set(&c.Lease, 30*time.Second)
	set(&c.Keep.Forecasts, 14*day)
	set(&c.Keep.Activities, 7*day)
	set(&c.Keep.Shifts, 400*day)
	set(&c.Keep.Detections, 90*day)
	set(&c.Keep.Nowcasts, 7*day)
	set(&c.Keep.Refused, 90*day)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

// Pipeline runs the jobs of all kinds. Its fields answer the requests of the API.
// All methods are safe for concurrent use.
type Pipeline struct {
	*sitedata.Data
	Imports    *importer.Importer
	Live       *livedata.Live
	Forecasts  *forecasting.Forecaster
	Detections *detection.Detector
	Training   *training.Trainer
	Snapshots  *snapshot.Builder
	Gaps       *gapfill.Filler
	Changes    *sitechange.Changer

	config   Config
	handlers map[string]handler

	asked   sync.Mutex
	lastRun map[string]time.Time // job kind and site → wall time at which it was last enqueued
}

// handler runs the jobs of a kind. failed is called when the last attempt has
// failed; nil: there is nothing to record.
type handler struct {
	run    func(ctx context.Context, job store.Claimed) error
	failed func(ctx context.Context, job store.Claimed, cause error) error
}

// New returns a Pipeline, which works while [Pipeline.Run] runs.
func New(c Config) (*Pipeline, error) {
	if c.Records == nil || c.Telemetry == nil || c.Queue == nil || c.Objects == nil || c.Domain == nil || c.Now == nil || c.Wall == nil {
		return nil, errors.New("pipeline: a store, the domain or a clock is missing")
	}
	c.defaults()
	if c.Partner == nil {
		var err error
		if c.Partner, err = partner.New(partner.Config{Records: c.Records, Domain: c.Domain, Now: c.Now}); err != nil {
			return nil, err
		}
	}
	data := sitedata.New(sitedata.Config{Records: c.Records, Telemetry: c.Telemetry, Objects: c.Objects, Domain: c.Domain, Weather: c.Weather,
		Now: c.Now, Wall: c.Wall, Logger: c.Logger, Exclusive: c.Exclusive, Hooks: c.Hooks})
	p := &Pipeline{Data: data, config: c, lastRun: map[string]time.Time{}}
	p.Imports = importer.New(data, c.Queue, c.ImportSource)
	p.Live = livedata.New(data)
	p.Imports.LargestFile, p.Imports.Free = c.LargestFile, c.Free
	p.Forecasts = &forecasting.Forecaster{Data: data, HorizonHours: c.HorizonHours, KeepForecasts: c.Keep.Forecasts}
	p.Detections = &detection.Detector{Data: data, Repairs: c.Repairs}
	p.Live.Report = p.Detections.RecordReported
	p.Training = &training.Trainer{Data: data, Imports: p.Imports, Forecasts: p.Forecasts, Detections: p.Detections,
		Workers: c.TrainWorkers, TrainingDays: c.TrainingDays, Quiet: c.Quiet}
	p.Snapshots = &snapshot.Builder{Data: data, Forecasts: p.Forecasts, Partner: c.Partner}
	p.Gaps = &gapfill.Filler{Data: data}
	p.Changes = &sitechange.Changer{Data: data, Queue: c.Queue, Imports: p.Imports, Access: c.Access, RenameAsset: c.RenameAsset,
		SiteRecords: slices.Concat(domain.SiteRecords(), c.SiteRecords, partner.SiteRecords(), sitedata.SiteRecords(), livedata.SiteRecords())}
	p.handlers = map[string]handler{
		sitedata.JobSite:        {p.Changes.RunJob, p.Changes.JobFailed},
		sitedata.JobIngest:      {p.Imports.RunJob, p.Imports.JobFailed},
		sitedata.JobTrain:       {p.Training.RunJob, p.Training.JobFailed},
		sitedata.JobForecast:    {p.Forecasts.RunJob, p.Forecasts.JobFailed},
		sitedata.JobDetect:      {p.Detections.RunJob, p.Detections.JobFailed},
		sitedata.JobSnapshot:    {p.Snapshots.RunJob, p.Snapshots.JobFailed},
		sitedata.JobInterpolate: {p.Gaps.RunJob, nil},
		sitedata.JobMaintain:    {p.maintain, nil},
		sitedata.JobManual:      {p.runManual, p.manualFailed},
	}
	return p, nil
}

// Run works until ctx ends, then waits for all that it started. The error is
// nil unless the store fails at the start.
func (p *Pipeline) Run(ctx context.Context) error {
	if err := p.recover(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // stopped before it began
		}
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { p.runAsLeader(ctx) })
	running.Go(func() { p.saveProgress(ctx) })
	running.Go(func() { p.Live.Run(ctx) })
	defer running.Wait()
	defer stop()
	return p.work(ctx)
}

// saveProgressEvery is the interval at which a replica stores the progress of its
// jobs for the others.
const saveProgressEvery = 2 * time.Second

// saveProgress stores the progress of this process's jobs until ctx ends, unless
// there are no other replicas.
func (p *Pipeline) saveProgress(ctx context.Context) {
	if p.Exclusive {
		return
	}
	saved := map[string]sitedata.Mark{}
	tick := time.NewTicker(saveProgressEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
		now := p.Progress.Marks()
		if maps.Equal(now, saved) {
			continue
		}
		// Also at a stop: another replica takes the jobs over.
		if err := p.WriteProgress(context.WithoutCancel(ctx), saved, now); err != nil {
			p.Logger.WarnContext(ctx, "save progress of jobs", "error", err)
			continue
		}
		saved = now
	}
}

// Status summarises the states of all sites.
type Status struct {
	Sites          int       // with data
	Trained        int       // of these, with a model
	OldestModel    time.Time // end of the data of the model with the oldest data; zero: there is no model
	OldestForecast time.Time // issue time of the newest forecast of the site whose forecast is oldest; zero: no forecast
}

// Status reads the states of all sites.
func (p *Pipeline) Status(ctx context.Context) (out Status, err error) {
	err = p.Records.View(ctx, func(tx store.Tx) error {
		out = Status{}
		all, err := sitedata.States(tx)
		for _, s := range all {
			out.Sites++
			if !s.HasModel {
				continue
			}
			out.Trained++
			if !s.TrainedEnd.IsZero() {
				out.OldestModel = earlier(out.OldestModel, s.TrainedEnd)
			}
			if !s.ForecastAt.IsZero() {
				out.OldestForecast = earlier(out.OldestForecast, s.ForecastAt)
			}
		}
		return err
	})
	if err != nil {
		return out, fmt.Errorf("read states of sites: %w", err)
	}
	return out, nil
}

// earlier returns the earlier of two times; a zero a counts as unknown.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
