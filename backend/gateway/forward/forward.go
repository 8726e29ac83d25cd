// Package forward sends the batches of a spool to another service, each once: the newest
// first after a cut, and what is missing behind it.
package forward

import (
	"context"
	"log/slog"
	"math"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/gateway/spool"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
	"app.sunloop/internal/clock"
)

// Service is the one that batches are sent to.
type Service interface {
	// WriteTelemetry sends a body packed with gzip; an empty one asks what is stored.
	WriteTelemetry(ctx context.Context, w api.WriteQuery, packed []byte) (*api.WriteResponse, error)
	// RotateGatewayKey replaces the key. The former one stays good for a day.
	RotateGatewayKey(ctx context.Context) (*api.GatewaysResponse, error)
}

// Options are what a Forwarder works with. Those without a default are required.
type Options struct {
	Spool     *spool.Spool
	Service   Service
	SiteID    string
	GatewayID string
	Version   string
	Refused   string // file of the points that the service refused
	Now       func() time.Time
	Log       *slog.Logger

	KeyMade time.Time                                  // when the key was made; zero: it is not replaced
	SaveKey func(key string) error                     // stores a new key and uses it from then on
	Pause   func(context.Context, time.Duration) error // default: by the clock
}

// Limits of a request and pauses between them.
const (
	maxBatchPoints = api.MaxWritePoints / 2
	maxPoints      = 50_000 // of one request
	maxBatches     = 5000   // of one request
	recentBatches  = 6      // that are sent first after a cut: a minute at 10 s
	lookAhead      = 256    // batches in which an interval may be written again
	timeLimit      = 30 * time.Second
	minPause       = time.Second
	maxPause       = 5 * time.Minute
	refusedPause   = 5 * time.Minute
	idlePause      = 30 * time.Second
	keyAge         = 30 * 24 * time.Hour
	keyRetry       = time.Hour
	maxRefused     = 10 << 20 // bytes of the file
	alarmShare     = 0.8      // of the spool's room
)

// Clock errors from which the gateway warns, and from which it corrects.
const (
	warnOffset    = 2 * time.Second
	correctOffset = api.ClockToleranceS * time.Second
)

// Forwarder sends batches while Run runs.
type Forwarder struct {
	options Options
	wake    chan struct{}

	mu        sync.Mutex
	received  ranges // that the service has, and lost; before it was asked, those that were noted by the former process
	lost      ranges // that cannot be read
	synced    bool   // received is what the service has
	known     bool   // this process was synced once
	opened    int    // number of the first batch that this process spooled
	liveFrom  int
	failures  int
	state     string
	lastErr   error
	errorAt   time.Time
	sentAt    time.Time // of the last batch that was acknowledged
	offset    time.Duration
	hasOffset bool
	corrected int // batches whose times were corrected
	refused   int // points
	keyMade   time.Time
	keyTried  time.Time
	renewed   int // epochs that were given up
	alarm     bool
}

// States of a Forwarder.
const (
	StateStarting = "not connected yet"
	StateSending  = "connected"
	StateWaiting  = "service not reached"
	StateRefused  = "not admitted"
)

// New returns a Forwarder.
func New(o Options) *Forwarder {
	_, next := o.Spool.Range()
	var received []api.SequenceRange
	for _, r := range o.Spool.Stored() {
		received = append(received, api.SequenceRange{First: r[0], Last: r[1]})
	}
	return &Forwarder{options: o, received: rangesOf(received), wake: make(chan struct{}, 1), opened: next, liveFrom: next, state: StateStarting, keyMade: o.KeyMade}
}

// Append spools samples of units. When it returns they are on stable storage, and will be
// sent. If the clock is known to be wrong by more than a minute, their times are
// corrected.
func (f *Forwarder) Append(frames []store.AssetFrame) error {
	f.mu.Lock()
	offset := f.offset
	f.mu.Unlock()
	corrected := offset.Abs() > correctOffset
	var batch []store.AssetFrame
	points := 0
	for _, a := range frames {
		if a.Frame.Len() == 0 {
			continue
		}
		if corrected {
			a.Frame = shifted(a.Frame, offset)
		}
		n := a.Frame.Len() * len(a.Frame.Columns)
		if points > 0 && points+n > maxBatchPoints {
			if err := f.spool(batch, corrected); err != nil {
				return err
			}
			batch, points = nil, 0
		}
		batch, points = append(batch, a), points+n
	}
	if len(batch) == 0 {
		return nil
	}
	return f.spool(batch, corrected)
}

func (f *Forwarder) spool(batch []store.AssetFrame, corrected bool) error {
	if _, err := f.options.Spool.Append(batch); err != nil {
		return err
	}
	if corrected {
		f.mu.Lock()
		f.corrected++
		f.mu.Unlock()
	}
	st := f.options.Spool.Status()
	f.mu.Lock()
	full := float64(st.Bytes) > alarmShare*float64(st.MaxBytes)
	changed := full != f.alarm
	f.alarm = full
	f.mu.Unlock()
	if full && changed {
		f.options.Log.Warn("spool is nearly full: the oldest samples will be dropped", "bytes", st.Bytes, "max_bytes", st.MaxBytes, "points", st.Points)
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
	return nil
}

// shifted is a frame whose times are moved by a clock's offset, in whole steps of its
// samples.
func shifted(f series.Frame, offset time.Duration) series.Frame {
	step := 1.0
	if v := f.Values(series.StepS); len(v) > 0 && v[0] > 1 {
		step = v[0]
	}
	by := int64(math.Round(offset.Seconds()/step) * step)
	out := f.Clone()
	for i := range out.Times {
		out.Times[i] += by
	}
	return out
}

// Run sends until ctx ends.
func (f *Forwarder) Run(ctx context.Context) {
	for ctx.Err() == nil {
		pause := f.step(ctx)
		if pause <= 0 {
			continue
		}
		if f.options.Pause != nil {
			if f.options.Pause(ctx, pause) != nil {
				return
			}
			continue
		}
		f.wait(ctx, pause)
	}
}

// wait pauses; a new batch ends the pause unless a failure caused it.
func (f *Forwarder) wait(ctx context.Context, pause time.Duration) {
	wake := f.wake
	f.mu.Lock()
	if f.failures > 0 {
		wake = nil
	}
	f.mu.Unlock()
	clock.Wait(ctx, pause, wake)
}

// step sends one request, and returns how long to wait before the next one.
func (f *Forwarder) step(ctx context.Context) time.Duration {
	f.mu.Lock()
	synced := f.synced
	f.mu.Unlock()
	if !synced {
		if err := f.sync(ctx); err != nil {
			return f.fail(ctx, err)
		}
		f.mu.Lock()
		synced = f.synced
		f.mu.Unlock()
		if !synced { // the batches have other numbers now
			return 0
		}
	}
	f.renewKey(ctx)
	p, err := f.plan()
	if err != nil {
		return f.fail(ctx, err)
	}
	if p == nil {
		f.succeed()
		return idlePause
	}
	if err := f.send(ctx, p); err != nil {
		return f.fail(ctx, err)
	}
	f.succeed()
	return 0
}

// query has what each request says of the gateway.
func (f *Forwarder) query() api.WriteQuery {
	st := f.Status()
	return api.WriteQuery{SiteID: f.options.SiteID, GatewayID: f.options.GatewayID, Epoch: f.options.Spool.Epoch(), Version: f.options.Version,
		SentAt: api.At(f.options.Now()), Backlog: int(min(st.Points, math.MaxInt32)), Refused: min(st.Refused, math.MaxInt32)}
}

// sync asks which batches are stored. A service that has batches which this spool had not
// made when it was opened received them from a copy of the spool, or from a later state
// of it: then the batches get another numbering.
func (f *Forwarder) sync(ctx context.Context) error {
	r, err := f.write(ctx, f.query(), nil)
	if err != nil {
		return err
	}
	got := rangesOf(r.Received)
	f.mu.Lock()
	opened, first := f.opened, !f.known
	f.known = true
	f.mu.Unlock()
	if first && got.last() >= opened {
		return f.renumber(opened)
	}
	_, next := f.options.Spool.Range()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.received, f.synced = union(got, f.lost), true
	f.liveFrom = max(next-recentBatches, 1)
	f.note()
	return nil
}

// note keeps what is stored for the next process. The lock is held.
func (f *Forwarder) note() {
	list := make([][2]int, len(f.received))
	for i, r := range f.received {
		list[i] = [2]int{r.First, r.Last}
	}
	if err := f.options.Spool.KeepStored(list); err != nil {
		f.options.Log.Debug("what is stored at the service is not noted", "error", err.Error())
	}
}

// renumber gives the batches from a number on a new epoch.
func (f *Forwarder) renumber(from int) error {
	f.options.Log.Warn("spool renumbered: a copy of it used the same numbers", "epoch", f.options.Spool.Epoch(), "from", from)
	if err := f.options.Spool.Renumber(from); err != nil {
		return err
	}
	first, _ := f.options.Spool.Range()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.received, f.lost, f.synced, f.opened, f.liveFrom = nil, nil, false, first, first
	f.renewed++
	return nil
}
