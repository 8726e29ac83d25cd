package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// Event is a change as those who follow it get it; it is made once for all.
type Event struct {
	CustomerID, SiteID, Kind string
	Frame                    []byte // of the stream: id, event and data
}

// queued is the number of events that wait for one follower. One that falls further behind
// has to read everything again; see [Follower.Lost].
const queued = 1024

// Follower gets the events that its filter accepts.
type Follower struct {
	C      <-chan *Event
	c      chan *Event
	accept func(*Event) bool
	mu     sync.Mutex
	lost   bool
}

// Lost reports whether events were left out since the last call, because the follower was
// too slow.
func (f *Follower) Lost() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	lost := f.lost
	f.lost = false
	return lost
}

func (f *Follower) pass(e *Event) {
	if !f.accept(e) {
		return
	}
	select {
	case f.c <- e:
	default:
		f.mu.Lock()
		f.lost = true
		f.mu.Unlock()
	}
}

// Hub passes the changes of a log to its followers.
type Hub struct {
	log  *Log
	slog *slog.Logger

	mu        sync.Mutex
	followers map[*Follower]bool
	ended     chan struct{}
	end       sync.Once

	reading sync.Mutex // guards what follows
	since   time.Time  // the newest change that was read; zero: none is read
	seen    map[string]time.Time
}

// NewHub returns a hub without followers. Run must be called for it to pass changes.
func NewHub(l *Log, log *slog.Logger) *Hub {
	return &Hub{log: l, slog: log, followers: map[*Follower]bool{}, ended: make(chan struct{}), seen: map[string]time.Time{}}
}

// End tells all followers that the service is ending.
func (h *Hub) End() { h.end.Do(func() { close(h.ended) }) }

// Ended is closed when the service is ending.
func (h *Hub) Ended() <-chan struct{} { return h.ended }

// Follow adds a follower; its function must be called when it leaves.
func (h *Hub) Follow(accept func(*Event) bool) (f *Follower, leave func()) {
	f = &Follower{c: make(chan *Event, queued), accept: accept}
	f.C = f.c
	h.mu.Lock()
	h.followers[f] = true
	h.mu.Unlock()
	return f, func() {
		h.mu.Lock()
		delete(h.followers, f)
		h.mu.Unlock()
	}
}

func (h *Hub) idle() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.followers) == 0
}

// pollEvery is the interval at which changes of other processes are read.
const pollEvery = time.Second

// Run passes changes until ctx ends.
func (h *Hub) Run(ctx context.Context) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			h.End()
			return
		case <-tick.C:
		case <-h.log.wake:
		}
		if err := h.Poll(ctx); err != nil && ctx.Err() == nil {
			h.slog.Warn("read changes for streams", "error", err.Error())
		}
	}
}

// readAtOnce bounds what is read of the log at a time, in changes.
const readAtOnce = 2000

// Poll reads the log and passes what is new.
func (h *Hub) Poll(ctx context.Context) error {
	h.reading.Lock()
	defer h.reading.Unlock()
	if h.idle() {
		h.since = time.Time{}
		return nil
	}
	if h.since.IsZero() {
		// What is in the log is read by those who resume.
		h.since = h.log.now().Add(-Overlap)
		clear(h.seen)
	}
	for from := since(h.since.Add(-Overlap)); from != nil; {
		var read []Change
		err := h.log.View(ctx, func(tx store.Tx) (err error) {
			read, from, err = list(tx, from, farFuture, readAtOnce)
			return err
		})
		if err != nil {
			return err
		}
		if err := h.pass(ctx, read); err != nil {
			return err
		}
	}
	for key, at := range h.seen {
		if at.Before(h.since.Add(-Overlap)) {
			delete(h.seen, key)
		}
	}
	return nil
}

var farFuture = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

func (h *Hub) pass(ctx context.Context, read []Change) error {
	for _, c := range read {
		key := string(changes.Key(c))
		if h.seen[key].Equal(c.At) {
			continue
		}
		e, err := h.event(ctx, c)
		if err != nil {
			return err
		}
		h.seen[key] = c.At
		if c.At.After(h.since) {
			h.since = c.At
		}
		h.mu.Lock()
		for f := range h.followers {
			f.pass(e)
		}
		h.mu.Unlock()
	}
	return nil
}

// event returns the event of a change.
func (h *Hub) event(ctx context.Context, c Change) (*Event, error) {
	v := api.StreamEvent{Kind: c.Kind, CustomerID: c.CustomerID, SiteID: c.SiteID, AssetID: c.AssetID, ID: c.ID, Status: c.Status, At: api.At(c.At)}
	if c.Kind == api.StreamTelemetry {
		newest, err := h.log.Latest(ctx, c.SiteID)
		if err != nil {
			return nil, fmt.Errorf("read the newest telemetry of site %s: %w", c.SiteID, err)
		}
		for _, unit := range newest {
			u := api.StreamUnit{AssetID: unit.AssetID, Timestamp: api.Unix(unit.Frame.Times[0])}
			if kW := unit.Frame.At(series.PowerKW, 0); kW == kW {
				u.Power = &kW
			}
			v.Units = append(v.Units, u)
		}
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode a change: %w", err)
	}
	return &Event{CustomerID: c.CustomerID, SiteID: c.SiteID, Kind: c.Kind, Frame: Frame(position(c.At), c.Kind, api.HideSiteKeys(data))}, nil
}

// Frame returns an event as it is sent.
func Frame(id, kind string, data []byte) []byte {
	return fmt.Appendf(nil, "id: %s\nevent: %s\ndata: %s\n\n", id, kind, data)
}

// position is the id of an event: the time of its change in milliseconds.
func position(at time.Time) string { return strconv.FormatInt(at.UnixMilli(), 10) }

// Position returns the id of events that happen now.
func (h *Hub) Position() string { return position(h.log.now()) }

// Missed returns the events since the one with an id, which may be among them again. ok is
// false if they are not all in the log any more, or if the id is none.
func (h *Hub) Missed(ctx context.Context, id string, accept func(*Event) bool) (missed []*Event, ok bool, err error) {
	ms, err := strconv.ParseInt(id, 10, 64)
	at, now := time.UnixMilli(ms), h.log.now()
	if err != nil || ms <= 0 || at.Before(now.Add(-Keep)) || at.After(now.Add(time.Minute)) {
		return nil, false, nil
	}
	var read []Change
	err = h.log.View(ctx, func(tx store.Tx) (err error) {
		read, _, err = list(tx, since(at.Add(-Overlap)), farFuture, readMost+1)
		return err
	})
	if err != nil || len(read) > readMost {
		return nil, false, err
	}
	read = slices.DeleteFunc(read, func(c Change) bool {
		return !accept(&Event{CustomerID: c.CustomerID, SiteID: c.SiteID, Kind: c.Kind})
	})
	for _, c := range read {
		e, err := h.event(ctx, c)
		if err != nil {
			return nil, false, err
		}
		missed = append(missed, e)
	}
	return missed, true, nil
}

// readMost is the number of changes that a resumption reads; with more it is cheaper to read
// everything again.
const readMost = 20000
