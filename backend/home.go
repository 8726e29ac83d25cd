package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"app.sunloop/backend/auth"
	"app.sunloop/backend/backup"
	"app.sunloop/backend/httpapi"
	"app.sunloop/backend/metrics"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/backend/store/objects"
	"app.sunloop/backend/store/postgres"
	"app.sunloop/backend/store/riverjobs"
)

// home is where a Service keeps all but objects: a file of its own, or a
// database that it shares with other replicas.
type home interface {
	store.Records
	store.Telemetry
	store.Queue
	store.Cluster

	// Schema is the version of what is there.
	Schema(ctx context.Context) (int, error)
	// Ready is why nothing can be read or written now.
	Ready(ctx context.Context) error
	// JobStats counts the jobs by kind.
	JobStats(ctx context.Context, now time.Time) (map[string]store.KindStats, error)
	// Check answers what is wrong with all but the records; their buckets are
	// RecordBuckets.
	Check(ctx context.Context) []error
	RecordBuckets(ctx context.Context) ([]string, error)
	// Backup writes a copy as of one moment.
	Backup(ctx context.Context, w io.Writer) (int64, error)
	Close() error

	// facts are what the metrics say of it.
	facts(ctx context.Context, f *metrics.Facts) error
}

// fileHome is the file of a data folder.
type fileHome struct{ *bolt.Store }

// Ready says whether the file can be read; what may be written to it is the
// disk's to say.
func (h fileHome) Ready(ctx context.Context) error {
	_, _, err := h.Next(ctx)
	return err
}

// Update reports a committed change to [store.Changes].
func (h fileHome) Update(ctx context.Context, fn func(tx store.Tx) error) error {
	err := h.Store.Update(ctx, fn)
	if err == nil {
		store.NoteChange(ctx)
	}
	return err
}

func (h fileHome) facts(ctx context.Context, f *metrics.Facts) error {
	t, err := h.Stats(ctx)
	if err != nil {
		return err
	}
	f.Set(metrics.StoreSize, float64(t.SizeBytes))
	f.Set(metrics.StoreFree, float64(t.FreeBytes))
	f.Set(metrics.StoreFreePages, float64(t.FreePages))
	f.Set(metrics.StoreReads, float64(t.OpenReads))
	f.Set(metrics.StoreWrites, float64(t.Writes))
	f.Set(metrics.StoreWriteTime, t.WriteDuration.Seconds())
	return nil
}

// databaseHome is a database.
type databaseHome struct {
	*riverjobs.Home
	now   func() time.Time
	ended func(store.TransactionEvent) // optional
}

// View tells of the transaction when it has ended.
func (h databaseHome) View(ctx context.Context, fn func(tx store.Tx) error) error {
	return h.told(ctx, store.TransactionRead, func() error { return h.Home.View(ctx, fn) })
}

// Update tells of the transaction when it has ended, with all its tries.
func (h databaseHome) Update(ctx context.Context, fn func(tx store.Tx) error) error {
	return h.told(ctx, store.TransactionWrite, func() error { return h.Home.Update(ctx, fn) })
}

func (h databaseHome) told(ctx context.Context, kind string, run func() error) error {
	if h.ended == nil {
		return run()
	}
	begin := h.now()
	err := run()
	t := store.TransactionEvent{Context: ctx, Kind: kind, Begin: begin, Took: h.now().Sub(begin)}
	if errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrDiskFull) {
		t.Err = err // what a closure refuses is no failure of the store
	}
	h.ended(t)
	return err
}

// connect opens the database of a configuration, and its queue.
func connect(ctx context.Context, cfg Config, ended func(store.TransactionEvent)) (databaseHome, error) {
	url, err := databaseURL(cfg)
	if err != nil {
		return databaseHome{}, err
	}
	h, err := riverjobs.Open(ctx, url, postgres.Options{Now: cfg.Wall, URLFile: cfg.StoreFile, Limit: cfg.DatabaseLimit, Log: cfg.Logger})
	return databaseHome{h, cfg.Wall, ended}, err
}

// databaseURL returns the URL of the database of a configuration. A file that
// holds it is read again.
func databaseURL(cfg Config) (string, error) {
	if cfg.StoreFile == "" {
		return cfg.Store, nil
	}
	return postgres.ReadURL(cfg.StoreFile)
}

func (h databaseHome) facts(ctx context.Context, f *metrics.Facts) error {
	t, err := h.Stats(ctx)
	if err != nil {
		return err
	}
	f.Set(metrics.StoreSize, float64(t.SizeBytes))
	f.Set(metrics.StoreConnections, float64(t.Connections))
	f.Set(metrics.StoreBusy, float64(t.Busy))
	f.Set(metrics.StoreMost, float64(t.Most))
	f.Set(metrics.StoreWaits, float64(t.Waits))
	f.Set(metrics.StoreWaitTime, t.WaitDuration.Seconds())
	f.Set(metrics.StoreAgain, float64(t.Again))
	return nil
}

// schemaOf is the newest schema of a home that this version knows.
func schemaOf(cfg Config) int {
	if cfg.Store != "" {
		return postgres.SchemaVersion()
	}
	return bolt.SchemaVersion
}

var (
	_ home = fileHome{}
	_ home = databaseHome{}
)

// openFile opens the file of records in the data folder.
func (s *Service) openFile(cfg Config) error {
	if !cfg.New {
		if err := refuseRemains(cfg.DataDir); err != nil {
			return err
		}
	}
	db, err := bolt.Open(cfg.DataDir, bolt.Options{Now: cfg.Wall, Disk: s.disk, Ended: s.observer.transactions(s.replica()), Upgrading: s.upgrading()})
	if err != nil {
		return err
	}
	s.store, s.file = fileHome{db}, db
	return nil
}

// upgrading logs how far an upgrade of the data folder is, at each tenth.
func (s *Service) upgrading() func(done, total int64) {
	next := int64(0)
	return func(done, total int64) {
		if done < next {
			return
		}
		next = done + total/10
		s.log.Info("upgrading the data folder", "schema", bolt.SchemaVersion, "done_bytes", done, "total_bytes", total)
	}
}

// ErrRemains is the error of a data folder that has files of a service but no
// database. An empty service in it would offer the setup to the first caller.
var ErrRemains = errors.New("the data folder has files of a service, but no database")

// refuseRemains returns an error for a folder in which the database is missing
// beside other files of a service.
func refuseRemains(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, backup.Database)); !errors.Is(err, fs.ErrNotExist) {
		return nil // opening it says more
	}
	var found []string
	for _, name := range []string{backup.Key, "objects", outboxFolder} {
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		if err != nil {
			continue
		}
		if info.IsDir() && !hasFile(path) {
			continue
		}
		found = append(found, name)
	}
	copies, err := filepath.Glob(filepath.Join(dir, backup.Database+"*"))
	if err != nil {
		return fmt.Errorf("look into the data folder: %w", err)
	}
	for _, path := range copies {
		if name := filepath.Base(path); !strings.HasPrefix(name, backup.Database+".new-") { // of a first start that was cut off
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("open data in %s: %w: it has %s, and no %s; restore a backup into a new folder, or start an empty service here with --new",
		dir, ErrRemains, strings.Join(found, ", "), backup.Database)
}

// hasFile reports whether a folder has a file, at any depth.
func hasFile(dir string) bool {
	found := false
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found = true
			return fs.SkipAll
		}
		return err
	})
	return found || err != nil
}

// errNotOpen wraps why the database cannot be opened, which may change without
// a change of the command line. Its reason is for strangers: without host, user
// and password.
type errNotOpen struct {
	error
	reason string
}

func (e errNotOpen) Unwrap() error { return e.error }

// notOpen is an errNotOpen with its reason.
func notOpen(err error, reason string) error {
	if errors.Is(err, context.DeadlineExceeded) {
		reason = "it does not answer in time"
	}
	return errNotOpen{err, "the database cannot be opened: " + reason}
}

// replica says that the home is, or will be, a database, which other processes
// may serve from too.
func (s *Service) replica() bool { return s.cfg.Store != "" }

// openReplica opens the database, or lets it be waited for where that is wished.
func (s *Service) openReplica(cfg Config) error {
	if err := postgres.CheckURL(cfg.Store); err != nil {
		return err
	}
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	if err := s.openObjects(cfg); err != nil {
		return err
	}
	if !cfg.Await {
		if err := s.openDatabase(s.stop, cfg); err != nil {
			return errors.Join(err, s.objects.Close())
		}
		s.handler = s.served
		return nil
	}
	ctx, cancel := context.WithTimeout(s.stop, firstAttempt)
	defer cancel()
	if err := s.openDatabase(ctx, cfg); err != nil && !s.waitFor(err) {
		return errors.Join(err, s.objects.Close())
	}
	closed := httpapi.New(httpapi.Deps{
		Closed: s.Waiting, Ready: s.ready, Now: cfg.Wall, Log: cfg.Logger, Observe: s.observer.http(), CORSOrigins: cfg.CORSOrigins, TrustedProxies: cfg.TrustedProxies,
	})
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if s.open.Load() {
			s.served.ServeHTTP(w, q)
			return
		}
		closed.ServeHTTP(w, q)
	})
	return nil
}

// openObjects opens the place of whole files. A folder is that of the process
// which serves; a command beside it leaves alone what is being written there.
func (s *Service) openObjects(cfg Config) (err error) {
	place := cmp.Or(cfg.Objects, filepath.Join(cfg.DataDir, "objects"))
	if s.replica() && !cfg.Await {
		s.objects, err = objects.OpenBeside(context.Background(), place)
		return err
	}
	s.objects, err = objects.Open(context.Background(), place, s.disk, s.log)
	return err
}

// openDatabase opens the database that replicas share, and what is over it. An
// errNotOpen may pass.
func (s *Service) openDatabase(ctx context.Context, cfg Config) error {
	db, err := connect(ctx, cfg, s.observer.transactions(s.replica()))
	if err != nil {
		reason := err.Error()
		if inner := errors.Unwrap(err); inner != nil { // without the place
			reason = inner.Error()
		}
		return notOpen(err, reason)
	}
	s.store, s.database = db, db.Home.Store
	if err := s.compose(ctx, cfg); err != nil {
		err = errors.Join(err, s.closeHome()) // the objects stay: probes ask for them meanwhile
		s.outside, s.spool, s.store, s.database = nil, "", nil, nil
		if errors.Is(err, store.ErrUnavailable) || ctx.Err() != nil {
			return notOpen(err, store.Reason(err))
		}
		return err
	}
	s.open.Store(true)
	return nil
}

// Of the attempts to open the database: how long the first may take before
// the service goes on without it, and the pauses between two.
const (
	firstAttempt             = 10 * time.Second
	pauseFirst, pauseLongest = 250 * time.Millisecond, 10 * time.Second
)

// await opens the database as soon as it lets itself be opened. What it answers
// no waiting will mend.
func (s *Service) await(ctx context.Context) error {
	pause := pauseFirst
	for !s.open.Load() {
		err := s.openDatabase(ctx, s.cfg)
		if err == nil {
			s.log.Info("the database is open")
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !s.waitFor(err) {
			return err
		}
		select {
		case <-time.After(pause + rand.N(pause/4)): // replicas need not ask together
		case <-ctx.Done():
			return ctx.Err()
		}
		pause = min(2*pause, pauseLongest)
	}
	return nil
}

// workOn runs the jobs until ctx ends. A database that goes away as they begin
// is waited for.
func (s *Service) workOn(ctx context.Context) error {
	for {
		err := s.pipeline.Run(ctx)
		if !s.replica() || !errors.Is(err, store.ErrUnavailable) {
			return err
		}
		s.log.Warn("the jobs wait for the database", "error", err.Error())
		select {
		case <-time.After(pauseLongest):
		case <-ctx.Done():
			return nil
		}
	}
}

// waitFor keeps why the database is waited for; false when waiting is in vain.
func (s *Service) waitFor(err error) bool {
	var e errNotOpen
	if !errors.As(err, &e) {
		return false
	}
	why := e.reason
	if old := s.waiting.Swap(&why); old == nil || *old != why {
		s.log.Warn("the database is waited for", "error", err.Error())
	}
	return true
}

// Waiting is why the service cannot work yet, a refusal in words; nil once it
// can. Until then its health paths alone are served, and what the command line
// asks of it by [Service.Auth] and the like is nil.
func (s *Service) Waiting() error {
	if s.open.Load() {
		return nil
	}
	return httpapi.Unavailable(s.waitingFor())
}

func (s *Service) waitingFor() string {
	if why := s.waiting.Load(); why != nil {
		return *why
	}
	return "the database is being opened"
}

// keyFileOf is where the key of a configuration lies.
func keyFileOf(cfg Config) string { return cmp.Or(cfg.KeyFile, filepath.Join(cfg.DataDir, keyName)) }

// warnOfModes logs which of the service's files users other than its own can
// reach. Windows has no such modes.
func (s *Service) warnOfModes() {
	if runtime.GOOS == "windows" {
		return
	}
	if info, err := os.Stat(s.dir); err == nil && info.Mode().Perm()&0o077 != 0 {
		s.log.Warn("data folder is open to other users; chmod 700 it", "data", s.dir, "mode", fmt.Sprintf("%04o", info.Mode().Perm()))
	}
	// A group is how secrets come into containers.
	if info, err := os.Stat(s.keyFile); err == nil && info.Mode().Perm()&0o007 != 0 {
		s.log.Warn("key file is open to all users; chmod 600 it", "file", s.keyFile, "mode", fmt.Sprintf("%04o", info.Mode().Perm()))
	}
}

// keyOf is the key of the service, which all replicas have.
func (s *Service) keyOf(ctx context.Context) (auth.Key, error) {
	if !s.replica() {
		return auth.FolderKey(ctx, s.store, s.keyFile)
	}
	return auth.SharedKey(ctx, s.store, s.keyFile)
}

// spoolLife is how long a folder of files that come in stays that nobody
// removed: longer than any upload takes.
const spoolLife = 24 * time.Hour

// makeSpool makes the folder of files that come in, empty. A process that has
// the data folder for itself clears it; others beside it have one each.
func (s *Service) makeSpool(cfg Config) error {
	spool := filepath.Join(cfg.DataDir, spoolFolder)
	if !s.replica() {
		if err := os.RemoveAll(spool); err != nil { // of uploads that a crash cut off
			return fmt.Errorf("clear the spool: %w", err)
		}
	}
	if err := os.MkdirAll(spool, 0o700); err != nil {
		return fmt.Errorf("make the spool: %w", err)
	}
	if s.spool = spool; !s.replica() {
		return nil
	}
	old, err := os.ReadDir(spool)
	for _, d := range old {
		if info, gone := d.Info(); gone == nil && strings.HasPrefix(d.Name(), processFolder) && cfg.Wall().Sub(info.ModTime()) > spoolLife {
			err = errors.Join(err, os.RemoveAll(filepath.Join(spool, d.Name())))
		}
	}
	if err != nil {
		return fmt.Errorf("clear the spool: %w", err)
	}
	if s.spool, err = os.MkdirTemp(spool, processFolder); err != nil { // 0700
		return fmt.Errorf("make the spool: %w", err)
	}
	return nil
}

// processFolder begins the names of the spools of processes.
const processFolder = "process-"

// limiter counts requests for all replicas; nil: for this process alone.
func (s *Service) limiter() httpapi.Limiter {
	if s.database == nil {
		return nil
	}
	return s.database
}
