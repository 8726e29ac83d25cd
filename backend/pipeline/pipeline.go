package pipeline

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/ops"
	"app.sunloop/backend/partner"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/objects"
	"app.sunloop/engine/weather"
)

// Config is what a Pipeline works with. The stores, Ops, Now and Wall must be
// there; a zero value of the rest takes its default.
type Config struct {
	Records   store.Records
	Telemetry store.Telemetry
	Queue     store.Queue
	Cluster   store.Cluster // nil: there are no other replicas
	Objects   store.Objects
	Elsewhere *objects.Elsewhere // what s3_path may name beside Objects; nil: nothing
	Ops       *ops.Service
	Partner   *partner.Service // nil: one that knows of no planned work and no exchange rate
	Weather   weather.Provider // nil: the climate alone
	Repairs   Repairs          // nil: none wait
	Now       func() time.Time // the plant's clock
	Wall      func() time.Time // the real clock: leases, retries
	Logger    *slog.Logger     // nil: nothing is logged
	Observe   Observe

	Workers      int // jobs at a time; 2
	TrainWorkers int // cores that one training takes; all
	TrainingDays int // days of data before training starts; api.TrainingDays
	HorizonHours int // of stored forecasts; api.DefaultHorizonHours

	ForecastEvery time.Duration // of the plant's clock, also without new data; 1 h
	DetectEvery   time.Duration // of the plant's clock; 15 min
	RetrainEvery  time.Duration // of new data since the model's; 30 days
	Settle        time.Duration // of the wall, between two jobs of one kind and site; 5 s
	Quiet         time.Duration // of the wall: training waits until a site had no upload for so long; 1 s
	Tick          time.Duration // of the wall: how often the planner looks; 1 s
	Lease         time.Duration // of the wall: after a crash, another worker takes over; 30 s
	// Exclusive says that no other process works on this queue: leases found
	// at the start are of a dead process and are taken over at once.
	Exclusive bool
	Keep      Keep
}

// Repairs wait for the detector to see their units well again.
type Repairs interface {
	// RepairsWait says whether any of the site's do.
	RepairsWait(ctx context.Context, siteID string) (bool, error)
	// Verify holds them against a run, within the transaction that records it.
	Verify(tx store.Tx, run ops.Run) error
}

// Keep says how long things are kept; zero values take the defaults.
type Keep struct {
	Forecasts  time.Duration // every issued one; then the first of each day stays; 14 days
	Activities time.Duration // 7 days
	Detections time.Duration // 90 days
	Nowcasts   time.Duration // files and records of nowcast uploads; their telemetry stays; 7 days
	Refused    time.Duration // records of files that were refused; 90 days
}

const day = 24 * time.Hour

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
	set(&c.Keep.Detections, 90*day)
	set(&c.Keep.Nowcasts, 7*day)
	set(&c.Keep.Refused, 90*day)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

// Pipeline takes uploads in, runs the jobs and answers with forecasts and
// detections. Its methods are safe for concurrent use.
type Pipeline struct {
	Config
	handlers map[string]handler
	models   cache
	progress progress
	stamps   stamps
	held     chan struct{} // a place for each large file in memory
	life     string        // of this process, to tell its uploads under way from a former one's

	asked   sync.Mutex
	lastRun map[string]time.Time // job kind and site → wall time it was last asked for
}

// New makes a Pipeline; [Pipeline.Run] lets it work.
func New(c Config) (*Pipeline, error) {
	if c.Records == nil || c.Telemetry == nil || c.Queue == nil || c.Objects == nil || c.Ops == nil || c.Now == nil || c.Wall == nil {
		return nil, errors.New("pipeline: a store, ops or a clock is missing")
	}
	c.defaults()
	if c.Partner == nil {
		var err error
		if c.Partner, err = partner.New(partner.Config{Records: c.Records, Ops: c.Ops, Now: c.Now}); err != nil {
			return nil, err
		}
	}
	p := &Pipeline{Config: c, life: rand.Text(), held: make(chan struct{}, filesInMemory), lastRun: map[string]time.Time{}}
	p.handlers = map[string]handler{
		jobIngest:   {p.ingest, p.ingestFailed},
		jobTrain:    {p.train, p.trainFailed},
		jobForecast: {p.forecast, p.skipForecast},
		jobDetect:   {p.detect, p.skipDetect},
		jobMaintain: {p.maintain, nil},

		jobInterpolate: {p.interpolate, nil},
		jobSnapshot:    {p.snapshot, p.skipSnapshot},
	}
	return p, nil
}

// Kinds of jobs.
const (
	jobIngest   = "ingest"
	jobTrain    = "train"
	jobForecast = "forecast"
	jobDetect   = "detect"
	jobMaintain = "maintain"

	jobInterpolate = "interpolate"
	jobSnapshot    = "snapshot"
)

// pipelineActor is who does what no person asked for.
const pipelineActor = "pipeline"

// handler is what a kind of job runs, and what happens when its last attempt
// has failed.
type handler struct {
	run    func(ctx context.Context, job store.Claimed) error
	failed func(ctx context.Context, job store.Claimed, cause error) error
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
	var planning sync.WaitGroup
	planning.Go(func() { p.lead(ctx) })
	planning.Go(func() { p.tellProgress(ctx) })
	defer planning.Wait()
	defer stop()
	return p.work(ctx)
}
