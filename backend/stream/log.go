// Package stream keeps a bounded log of what changed in the store, and passes the changes to
// those who follow them.
//
// [Watch] wraps the records and the telemetry of a service. A transaction that writes an
// alert, a finding, an order or a forecast also writes its change into the log: one record
// for each of them, which the next change replaces, so that the log is no longer than what
// changed in [Keep]. What was appended to the telemetry of a site is logged once a second.
//
// A [Hub] reads the log of the store, once for all who follow it, so that it sees the
// changes of all processes that share the store. Changes of processes whose clocks differ,
// or whose transactions take long, come late: the hub reads what is newer than [Overlap]
// before the last change again. A change may therefore be passed twice after a resumption,
// and none is left out.
package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// Bounds of the log.
const (
	Keep    = time.Hour        // how long a change is kept at least
	Overlap = 30 * time.Second // what a hub reads again
)

// Change says that something of a site has changed.
type Change struct {
	SiteID     string    `json:"site_id" limit:"id"`
	Kind       string    `json:"kind" limit:"word"`
	ID         string    `json:"id,omitempty" limit:"id"` // of the alert, finding, order or forecast
	CustomerID string    `json:"customer_id" limit:"id"`
	AssetID    string    `json:"asset_id,omitempty" limit:"id"`
	Status     string    `json:"status,omitempty" limit:"word"`
	At         time.Time `json:"at"` // to the millisecond
}

// stamp is the form of times in keys: their order is that of time.
const stamp = "2006-01-02T15:04:05.000Z"

func stampOf(t time.Time) string { return t.UTC().Format(stamp) }

var changes = store.Table[Change]{
	Bucket: "changes",
	Key:    func(c Change) []byte { return store.Key(c.SiteID, c.Kind, c.ID) },
	Indexes: []store.Index[Change]{
		{Name: "time", Key: func(c Change) []byte { return store.Key(stampOf(c.At), c.SiteID, c.Kind, c.ID) }},
	},
}

// Tables returns the tables of the package, for a check of the data.
func Tables() []store.Checked { return []store.Checked{changes} }

// SiteRecords returns the records of the package: all are of sites, by their ids.
func SiteRecords() []store.Prefixed { return []store.Prefixed{changes} }

// watched are the buckets whose records are followed, with their kinds.
var watched = map[string]string{"alerts": api.StreamAlert, "findings": api.StreamFinding, "orders": api.StreamOrder, "forecasts": api.StreamForecast,
	"uploads": RecordUpload, "models": RecordModel}

// Kinds of records that are passed to a [Watcher] and are no events of streams.
const (
	RecordUpload = "upload"
	RecordModel  = "model"
)

// A Watcher gets the records that transactions write.
type Watcher interface {
	// Written is called within the transaction, which may run again, with one Record for
	// each record. some reports that it wrote something that waits to be processed.
	Written(ctx context.Context, tx store.Tx, list []Record) (some bool, err error)
	// Committed is called after a transaction in which Written reported some.
	Committed()
}

// Record is what a transaction wrote of a record that is followed.
type Record struct {
	Kind   string // of a stream, [RecordUpload] or [RecordModel]
	Before *State // nil for a new record
	After  State
}

// Log is the records and the telemetry of a service, whose writes it logs.
type Log struct {
	store.Telemetry
	records store.Records
	wall    func() time.Time
	owner   func(tx store.Tx, siteID string) (customerID string, err error)
	log     *slog.Logger
	wake    chan struct{} // of the hub

	// Watcher is optional. It is set before the first transaction.
	Watcher Watcher

	mu      sync.Mutex
	last    time.Time
	pending map[string]bool // sites whose telemetry has changed
}

// Watch returns records and telemetry over those of a store. owner returns the customer of
// a site; [store.ErrNotFound] or an error of the API if there is no such site.
func Watch(records store.Records, telemetry store.Telemetry, wall func() time.Time, owner func(tx store.Tx, siteID string) (string, error), log *slog.Logger) *Log {
	return &Log{Telemetry: telemetry, records: records, wall: wall, owner: owner, log: log, wake: make(chan struct{}, 1), pending: map[string]bool{}}
}

// View is that of the records.
func (l *Log) View(ctx context.Context, fn func(tx store.Tx) error) error {
	return l.records.View(ctx, fn)
}

// Together is that of the records.
func (l *Log) Together(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	return l.records.Together(ctx, n, do)
}

// Update is that of the records, with the changes in the log.
func (l *Log) Update(ctx context.Context, fn func(tx store.Tx) error) error {
	some, waits := false, false
	err := l.records.Update(ctx, func(tx store.Tx) (err error) {
		some, waits = false, false
		w := &watchedTx{Tx: tx, index: map[string]int{}, at: map[string]int{}}
		if err := fn(w); err != nil {
			return err
		}
		if l.Watcher != nil && len(w.written) > 0 {
			if waits, err = l.Watcher.Written(ctx, tx, w.written); err != nil {
				return err
			}
		}
		if some = len(w.changed) > 0; !some {
			return nil
		}
		at := l.now()
		for _, c := range w.changed {
			c.At = at
			if err := changes.Put(tx, c); err != nil {
				return fmt.Errorf("log a change of site %s: %w", c.SiteID, err)
			}
		}
		return nil
	})
	if err == nil && some {
		l.notify()
	}
	if err == nil && waits {
		l.Watcher.Committed()
	}
	return err
}

// now is the clock to the millisecond, which never goes back in one process.
func (l *Log) now() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.wall().UTC().Truncate(time.Millisecond); now.After(l.last) {
		l.last = now
	}
	return l.last
}

func (l *Log) notify() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// watchedTx collects the changes of a transaction, one for each key of the log.
type watchedTx struct {
	store.Tx
	changed []Change
	index   map[string]int // position in changed by key
	written []Record
	at      map[string]int    // places in written, by kind, site and id
	deleted map[string]*State // records that were deleted, by kind, site and id
	last    read
}

// read is the record that was read last: a table reads a record before it writes it.
type read struct {
	bucket, key string
	value       []byte // nil: there is none
}

// State are the fields of a stored alert, finding, order, forecast, upload or model that
// changes and events have.
type State struct {
	SiteID             string `json:"site_id"`
	CustomerID         string `json:"customer_id"`
	AssetID            string `json:"asset_id"`
	AlertID            string `json:"alert_id"`
	SummaryID          string `json:"summary_id"`
	OrderID            string `json:"order_id"`
	ForecastID         string `json:"forecast_id"`
	UploadID           string `json:"upload_id"`
	ModelName          string `json:"model_name"`
	ModelVersion       string `json:"model_version"`
	State              string `json:"state"`
	Status             string `json:"status"`
	ProcessingStatus   string `json:"processing_status"`
	Active             *bool  `json:"active"`
	Subject            string `json:"subject"` // unit of a finding; empty if it is about several
	FaultFamily        string `json:"fault_family"`
	SeverityLabel      string `json:"severity_label"`
	Summary            string `json:"summary"`
	AlertType          string `json:"alert_type"`
	AlertSeverity      string `json:"alert_severity"`
	Message            string `json:"message"`
	AssignedTechnician string `json:"assigned_technician"`
	Priority           string `json:"priority"`
	MaintenanceType    string `json:"maintenance_type"`
	Filename           string `json:"filename"`
	RowsStored         int    `json:"rows_stored"`
	Error              string `json:"error"`
}

// IsActive reports whether a finding is open.
func (s *State) IsActive() bool { return s.Active != nil && *s.Active }

// id is that of the record among those of its kind at its site.
func (s *State) id(kind string) string {
	switch kind {
	case api.StreamAlert:
		return s.AlertID
	case api.StreamFinding:
		return s.SummaryID
	case api.StreamOrder:
		return s.OrderID
	case api.StreamForecast:
		return s.ForecastID
	case RecordUpload:
		return s.UploadID
	}
	return s.ModelName + "\x00" + s.ModelVersion
}

func (s *State) name(kind string) string { return kind + "\x00" + s.SiteID + "\x00" + s.id(kind) }

// stateOf reads a stored record; nil if it has no site or cannot be read, which is for the
// check of its table.
func stateOf(value []byte) *State {
	var v State
	if value == nil || json.Unmarshal(value, &v) != nil || v.SiteID == "" {
		return nil
	}
	return &v
}

// Get is that of the transaction.
func (w *watchedTx) Get(bucket string, key []byte) ([]byte, error) {
	value, err := w.Tx.Get(bucket, key)
	if _, ok := watched[bucket]; ok && (err == nil || errors.Is(err, store.ErrNotFound)) {
		w.last = read{bucket, string(key), value}
	}
	return value, err
}

// former is the record of a key as it is before it is written.
func (w *watchedTx) former(bucket string, key []byte) (*State, error) {
	if w.last.bucket != bucket || w.last.key != string(key) {
		if _, err := w.Get(bucket, key); err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
	}
	value := w.last.value
	w.last = read{}
	return stateOf(value), nil
}

// Delete deletes a record. It may be written again under another key.
func (w *watchedTx) Delete(bucket string, key []byte) error {
	if kind, ok := watched[bucket]; ok {
		former, err := w.former(bucket, key)
		if err != nil {
			return err
		}
		if former != nil {
			if w.deleted == nil {
				w.deleted = map[string]*State{}
			}
			w.deleted[former.name(kind)] = former
		}
	}
	return w.Tx.Delete(bucket, key)
}

// Put stores a value, and notes the change of a record that is followed.
func (w *watchedTx) Put(bucket string, key, value []byte) error {
	kind, ok := watched[bucket]
	if !ok {
		return w.Tx.Put(bucket, key, value)
	}
	before, err := w.former(bucket, key)
	if err != nil {
		return err
	}
	if err := w.Tx.Put(bucket, key, value); err != nil {
		return err
	}
	v := stateOf(value)
	if v == nil {
		return nil
	}
	if before == nil {
		before = w.deleted[v.name(kind)]
	}
	w.noteRecord(Record{kind, before, *v})
	switch kind {
	case RecordUpload, RecordModel:
		return nil
	}
	c := Change{SiteID: v.SiteID, CustomerID: v.CustomerID, Kind: kind, AssetID: v.AssetID, Status: v.Status}
	switch kind {
	case api.StreamAlert:
		c.ID, c.Status = v.AlertID, v.State
	case api.StreamFinding:
		c.ID, c.Status = v.SummaryID, api.StreamClosed
		if v.IsActive() {
			c.Status = api.StreamOpen
		}
	case api.StreamOrder:
		c.ID = v.OrderID
	case api.StreamForecast: // the newest of a site replaces the former
		c.AssetID = ""
	}
	logKey := string(changes.Key(c))
	if i, ok := w.index[logKey]; ok {
		w.changed[i] = c
		return nil
	}
	w.index[logKey] = len(w.changed)
	w.changed = append(w.changed, c)
	return nil
}

// noteRecord adds a record, or its newest state if it was written before.
func (w *watchedTx) noteRecord(r Record) {
	name := r.After.name(r.Kind)
	if i, ok := w.at[name]; ok {
		w.written[i].After = r.After
		return
	}
	w.at[name] = len(w.written)
	w.written = append(w.written, r)
}

// Append is that of the telemetry; the change is logged within a second.
func (l *Log) Append(ctx context.Context, site store.SiteKey, frames []store.AssetFrame) error {
	err := l.Telemetry.Append(ctx, site, frames)
	if err == nil {
		l.changed(site.ID)
	}
	return err
}

// Rewrite is that of the telemetry; the change is logged within a second.
func (l *Log) Rewrite(ctx context.Context, site store.SiteKey, edit func(frames []store.AssetFrame) ([]store.AssetFrame, error)) error {
	err := l.Telemetry.Rewrite(ctx, site, edit)
	if err == nil {
		l.changed(site.ID)
	}
	return err
}

func (l *Log) changed(siteID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending[siteID] = true
}

// flushAtOnce bounds a transaction of [Log.Flush], in sites.
const flushAtOnce = 500

// Flush logs the telemetry that has changed.
func (l *Log) Flush(ctx context.Context) error {
	for {
		l.mu.Lock()
		var sites []string
		for id := range l.pending {
			if sites = append(sites, id); len(sites) == flushAtOnce {
				break
			}
		}
		for _, id := range sites {
			delete(l.pending, id)
		}
		l.mu.Unlock()
		if len(sites) == 0 {
			return nil
		}
		at := l.now()
		err := l.records.Update(store.WithoutCommitHook(ctx), func(tx store.Tx) error {
			for _, id := range sites {
				customer, err := l.owner(tx, id)
				if errors.Is(err, store.ErrNotFound) || errors.Is(err, api.ErrSiteNotFound) {
					continue // its record comes later, or it was removed
				}
				if err != nil {
					return err
				}
				if err := changes.Put(tx, Change{SiteID: id, CustomerID: customer, Kind: api.StreamTelemetry, At: at}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			for _, id := range sites {
				l.changed(id)
			}
			return fmt.Errorf("log the telemetry of %d sites: %w", len(sites), err)
		}
		l.notify()
	}
}

// flushEvery is the interval at which telemetry is logged.
const flushEvery = time.Second

// Run logs telemetry until ctx ends, and what is left then.
func (l *Log) Run(ctx context.Context) {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := l.Flush(ctx); err != nil && ctx.Err() == nil {
				l.log.Warn("log changes of telemetry", "error", err.Error())
			}
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushEvery)
			defer cancel()
			if err := l.Flush(last); err != nil {
				l.log.Warn("log changes of telemetry", "error", err.Error())
			}
			return
		}
	}
}

// sweepAtOnce bounds a transaction of [Log.Sweep], in changes.
const sweepAtOnce = 500

// Sweep deletes the changes that are older than [Keep].
func (l *Log) Sweep(ctx context.Context) error {
	before := l.wall().Add(-Keep)
	for {
		n := 0
		err := l.records.Update(store.WithoutCommitHook(ctx), func(tx store.Tx) error {
			n = 0
			old, _, err := list(tx, nil, before, sweepAtOnce)
			for _, c := range old {
				if err == nil {
					err = changes.Delete(tx, changes.Key(c))
				}
				n++
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("delete old changes: %w", err)
		}
		if n < sweepAtOnce {
			return nil
		}
	}
}

// since is the place in the log of the first change that is not before a time.
func since(at time.Time) []byte { return store.Key(stampOf(at)) }

// list returns the changes from a place in the log to a time, which it excludes, at most
// so many, and the place that follows them; nil if there are no more.
func list(tx store.Tx, from []byte, to time.Time, most int) (all []Change, next []byte, err error) {
	var keys [][]byte
	for e, err := range tx.Scan(changes.Bucket+"/time", from, since(to), false) {
		if err != nil {
			return nil, nil, fmt.Errorf("read the log of changes: %w", err)
		}
		if keys = append(keys, bytes.Clone(e.Value)); len(keys) == most {
			next = append(bytes.Clone(e.Key), 0)
			break
		}
	}
	for _, key := range keys {
		c, err := changes.Get(tx, key)
		if err != nil {
			return nil, nil, fmt.Errorf("read the log of changes: %w", err)
		}
		all = append(all, c)
	}
	return all, next, nil
}

// sealer is what the hourly maintenance of telemetry calls.
type sealer interface {
	Seal(ctx context.Context) (int, error)
	Resum(ctx context.Context) (int, error)
}

// Seal is that of the telemetry, if it has one.
func (l *Log) Seal(ctx context.Context) (int, error) {
	if t, ok := l.Telemetry.(sealer); ok {
		return t.Seal(ctx)
	}
	return 0, nil
}

// Resum is that of the telemetry, if it has one.
func (l *Log) Resum(ctx context.Context) (int, error) {
	if t, ok := l.Telemetry.(sealer); ok {
		return t.Resum(ctx)
	}
	return 0, nil
}
