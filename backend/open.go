package backend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"app.sunloop/backend/admin"
	"app.sunloop/backend/httpapi"
	"app.sunloop/backend/instrument"
	"app.sunloop/backend/metrics"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/backend/store/objects"
	"app.sunloop/backend/store/postgres"
	"app.sunloop/backend/store/riverjobs"
)

// storage is where a service keeps its data.
type storage struct {
	records
	objects  *objects.Store        // closed by the service: health checks probe it while the database is not open
	external *objects.ImportSource // sources of imports; nil: none
	spool    string                // folder of files that are being received
}

// newStorage opens what belongs to open records.
func newStorage(cfg Config, r records, o *objects.Store) (*storage, error) {
	external, err := objects.Allow(cfg.ImportFrom...)
	if err != nil {
		return nil, err
	}
	spool, err := makeSpool(cfg)
	if err != nil {
		return nil, errors.Join(err, external.Close())
	}
	return &storage{records: r, objects: o, external: external, spool: spool}, nil
}

// Close closes all but the objects.
func (s *storage) Close() error {
	err := s.external.Close()
	if s.shared() {
		err = errors.Join(err, os.RemoveAll(s.spool))
	}
	return errors.Join(err, s.records.Close())
}

// database returns the database that replicas share; nil for a file.
func (s *storage) database() *postgres.Store {
	if d, ok := s.records.(databaseStorage); ok {
		return d.Storage.Store
	}
	return nil
}

// shared reports whether replicas share the records.
func (s *storage) shared() bool { return s.database() != nil }

// limiter counts requests for all replicas; nil: each process counts its own.
func (s *storage) limiter() httpapi.Limiter {
	if d := s.database(); d != nil {
		return d
	}
	return nil
}

// records is where a service keeps all but objects: a file, or a database that it
// shares with other replicas.
type records interface {
	store.Records
	store.Telemetry
	store.Queue
	store.Cluster

	// Schema returns the version of the stored schema.
	Schema(ctx context.Context) (int, error)
	// Ready returns why nothing can be read or written now.
	Ready(ctx context.Context) error
	// JobStats counts the jobs by kind.
	JobStats(ctx context.Context, now time.Time) (map[string]store.KindStats, error)
	// Check returns the faults of all but the records, whose buckets are
	// RecordBuckets.
	Check(ctx context.Context) []error
	RecordBuckets(ctx context.Context) ([]string, error)
	// Backup writes a copy of one moment.
	Backup(ctx context.Context, w io.Writer) (int64, error)
	Close() error

	// Facts sets the figures of the metrics.
	Facts(ctx context.Context, f *metrics.Facts) error
}

// fileStorage is the file of a data folder.
type fileStorage struct{ *bolt.Store }

// Ready returns why the file cannot be read. Whether it can be written depends on
// the disk, which health reports.
func (h fileStorage) Ready(ctx context.Context) error {
	_, _, err := h.Next(ctx)
	return err
}

// Update reports a committed change to [store.Changes].
func (h fileStorage) Update(ctx context.Context, fn func(tx store.Tx) error) error {
	err := h.Store.Update(ctx, fn)
	if err == nil {
		store.NoteChange(ctx)
	}
	return err
}

func (h fileStorage) Facts(ctx context.Context, f *metrics.Facts) error {
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

// databaseStorage is a database.
type databaseStorage struct {
	*riverjobs.Storage
	now   func() time.Time
	ended func(store.TransactionEvent) // optional
}

// Together reports its transaction when it has ended.
func (h databaseStorage) Together(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	return h.observed(ctx, store.TransactionRead, func() error { return h.Storage.Together(ctx, n, do) })
}

// View reports the transaction when it has ended, unless it is a part of one of Together.
func (h databaseStorage) View(ctx context.Context, fn func(tx store.Tx) error) error {
	if store.TogetherOf(ctx) != nil {
		return h.Storage.View(ctx, fn)
	}
	return h.observed(ctx, store.TransactionRead, func() error { return h.Storage.View(ctx, fn) })
}

// Update reports the transaction with all its retries when it has ended.
func (h databaseStorage) Update(ctx context.Context, fn func(tx store.Tx) error) error {
	return h.observed(ctx, store.TransactionWrite, func() error { return h.Storage.Update(ctx, fn) })
}

func (h databaseStorage) observed(ctx context.Context, kind string, run func() error) error {
	if h.ended == nil {
		return run()
	}
	begin := h.now()
	err := run()
	t := store.TransactionEvent{Context: ctx, Kind: kind, Begin: begin, Took: h.now().Sub(begin)}
	if errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrDiskFull) {
		t.Err = err // an error of the closure is no failure of the store
	}
	h.ended(t)
	return err
}

// openDatabase opens the database of a configuration, and its queue.
func openDatabase(ctx context.Context, cfg Config, ended func(store.TransactionEvent)) (databaseStorage, error) {
	url, err := databaseURL(cfg)
	if err != nil {
		return databaseStorage{}, err
	}
	h, err := riverjobs.Open(ctx, url, postgres.Options{Now: cfg.Wall, URLFile: cfg.StoreFile, Limit: cfg.DatabaseLimit, Log: cfg.Logger})
	return databaseStorage{h, cfg.Wall, ended}, err
}

// databaseURL returns the URL of the database of a configuration. A file that
// holds it is read again.
func databaseURL(cfg Config) (string, error) {
	if cfg.StoreFile == "" {
		return cfg.Store, nil
	}
	return postgres.ReadURL(cfg.StoreFile)
}

func (h databaseStorage) Facts(ctx context.Context, f *metrics.Facts) error {
	t, err := h.Stats(ctx)
	if err != nil {
		return err
	}
	f.Set(metrics.StoreSize, float64(t.SizeBytes))
	f.Set(metrics.StoreConnections, float64(t.Connections))
	f.Set(metrics.StoreInUse, float64(t.Busy))
	f.Set(metrics.StoreMax, float64(t.MaxConnections))
	f.Set(metrics.StoreWaits, float64(t.Waits))
	f.Set(metrics.StoreWaitTime, t.WaitDuration.Seconds())
	f.Set(metrics.StoreRetries, float64(t.Retries))
	return nil
}

// newestSchema returns the newest schema of the storage that this version knows.
func newestSchema(cfg Config) int {
	if cfg.Store != "" {
		return postgres.SchemaVersion()
	}
	return bolt.SchemaVersion
}

var (
	_ records = fileStorage{}
	_ records = databaseStorage{}
)

// openFile opens the file of records in the data folder.
func openFile(cfg Config, disk *store.Disk, in *instrument.Instruments) (*bolt.Store, error) {
	return bolt.Open(cfg.DataDir, bolt.Options{Now: cfg.Wall, Disk: disk, Ended: in.Transactions(false), Upgrading: logUpgrade(cfg.Logger)})
}

// openObjects opens the objects. A folder belongs to the process that serves; a
// command that runs at the same time does not delete files that are being written.
func openObjects(cfg Config, disk *store.Disk) (*objects.Store, error) {
	at := cfg.Paths().ObjectsAt()
	if cfg.Store != "" && !cfg.Await {
		return objects.OpenBeside(context.Background(), at)
	}
	return objects.Open(context.Background(), at, disk, cfg.Logger)
}

// prepareReplica checks the URL and creates the data folder of a replica.
func prepareReplica(cfg Config) error {
	if err := postgres.CheckURL(cfg.Store); err != nil {
		return err
	}
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return fmt.Errorf("create data folder: %w", err)
	}
	return nil
}

// logUpgrade logs the progress of an upgrade of the data folder, at each tenth.
func logUpgrade(log *slog.Logger) func(done, total int64) {
	next := int64(0)
	return func(done, total int64) {
		if done < next {
			return
		}
		next = done + total/10
		log.Info("upgrading the data folder", "schema", bolt.SchemaVersion, "done_bytes", done, "total_bytes", total)
	}
}

// warnOfModes logs which of the service's files other users can access. Windows has
// no such modes.
func warnOfModes(cfg Config) {
	if runtime.GOOS == "windows" {
		return
	}
	if info, err := os.Stat(cfg.DataDir); err == nil && info.Mode().Perm()&0o077 != 0 {
		cfg.Logger.Warn("data folder is open to other users; chmod 700 it", "data", cfg.DataDir, "mode", fmt.Sprintf("%04o", info.Mode().Perm()))
	}
	// A group is how secrets are mounted into containers.
	key := cfg.Paths().Key()
	if info, err := os.Stat(key); err == nil && info.Mode().Perm()&0o007 != 0 {
		cfg.Logger.Warn("key file is open to all users; chmod 600 it", "file", key, "mode", fmt.Sprintf("%04o", info.Mode().Perm()))
	}
}

// spoolLife is the age at which a spool of a dead process is deleted: longer than
// any upload takes.
const spoolLife = 24 * time.Hour

// processFolder is the prefix of the spools of processes.
const processFolder = "process-"

// makeSpool creates the folder of files that are being received, empty. The only
// process of a data folder clears it; replicas have one each.
func makeSpool(cfg Config) (string, error) {
	spool := filepath.Join(cfg.DataDir, admin.SpoolFolder)
	if cfg.Store == "" {
		if err := os.RemoveAll(spool); err != nil { // uploads that a crash interrupted
			return "", fmt.Errorf("clear spool: %w", err)
		}
	}
	if err := os.MkdirAll(spool, 0o700); err != nil {
		return "", fmt.Errorf("create spool: %w", err)
	}
	if cfg.Store == "" {
		return spool, nil
	}
	old, err := os.ReadDir(spool)
	for _, d := range old {
		if info, gone := d.Info(); gone == nil && strings.HasPrefix(d.Name(), processFolder) && cfg.Wall().Sub(info.ModTime()) > spoolLife {
			err = errors.Join(err, os.RemoveAll(filepath.Join(spool, d.Name())))
		}
	}
	if err != nil {
		return "", fmt.Errorf("clear spool: %w", err)
	}
	if spool, err = os.MkdirTemp(spool, processFolder); err != nil { // 0700
		return "", fmt.Errorf("create spool: %w", err)
	}
	return spool, nil
}
