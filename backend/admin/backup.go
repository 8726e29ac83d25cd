package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/admin/socket"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/backup"
	"app.sunloop/backend/check"
	"app.sunloop/backend/regularfile"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/backend/store/objects"
	"app.sunloop/backend/store/postgres"
	"app.sunloop/backend/store/riverjobs"
)

// ErrBackupRunning is the error of a second backup at the same time.
var ErrBackupRunning = errors.New("another backup is running")

// BackupRoute is the route of a backup in the audit trail.
const BackupRoute = "backup"

// backupSearch is how far back LastBackup looks.
const backupSearch = 90 * 24 * time.Hour

// LastBackup returns when the newest backup was made, by the audit trail; zero if
// none is known.
func (s *Server) LastBackup(ctx context.Context) (time.Time, error) {
	q := api.AuditQuery{Actor: Actor, Route: BackupRoute, From: api.At(s.Wall().Add(-backupSearch)), Page: api.Page{Limit: api.DefaultLimit}}
	for {
		records, next, err := s.Trail.List(ctx, api.Unlimited(Actor), q)
		if err != nil {
			return time.Time{}, err
		}
		for _, r := range records {
			if r.Status == http.StatusOK {
				return r.Timestamp.Time, nil
			}
		}
		if next == "" {
			return time.Time{}, nil
		}
		q.Cursor = next
	}
}

// Backup writes a backup of the data folder to w while the service runs, and
// records it in the audit trail. See package backup.
func (s *Server) Backup(ctx context.Context, w io.Writer) (socket.Backup, error) {
	if !s.backing.TryLock() {
		return socket.Backup{}, ErrBackupRunning
	}
	defer s.backing.Unlock()
	m, err := s.backup(ctx, w)
	done := socket.Backup{Files: len(m.Parts), Bytes: m.Size()}
	r := api.AuditRecord{Actor: Actor, ActorID: Actor, Route: BackupRoute, Action: api.ActionCreate, Status: http.StatusOK, After: done}
	if err != nil {
		r.Status, r.Error, r.After = http.StatusInternalServerError, err.Error(), nil
	}
	return done, errors.Join(err, s.Trail.Append(context.WithoutCancel(ctx), r))
}

func (s *Server) backup(ctx context.Context, w io.Writer) (m backup.Manifest, err error) {
	staging, err := os.MkdirTemp(s.Spool, "backup-") // 0700
	if err != nil {
		return m, fmt.Errorf("create folder for the copy: %w", err)
	}
	defer os.RemoveAll(staging)
	var hold *objects.Snapshot
	if !s.Paths.Bucket() {
		if hold, err = s.Objects.Snapshot(); err != nil {
			return m, err
		}
		defer func() { err = errors.Join(err, hold.Release()) }()
	}
	// The records first: each object is written before a record names it.
	if err := s.copyRecords(ctx, filepath.Join(staging, s.recordsName())); err != nil {
		return m, err
	}
	if m.Schema, err = s.Store.Schema(ctx); err != nil {
		return m, err
	}
	sources, err := s.copyFiles(ctx, staging)
	if err != nil {
		return m, err
	}
	var keys []string
	if hold != nil {
		keys, err = hold.Keys(ctx)
	}
	if err != nil {
		return m, err
	}
	for _, key := range keys {
		sources = append(sources, backup.Source{Name: "objects/" + key, Open: func() (io.ReadCloser, error) { return hold.Open(key) }})
	}
	if err := s.verifyCopy(ctx, staging, hold); err != nil {
		return m, err
	}
	m.Version, m.MadeAt = s.Version, s.Wall()
	return backup.Write(ctx, w, m, sources)
}

// verifyCopy verifies the content of a backup: all pages and rows of the copied
// database, that the key opens its secrets, and each object that its records
// name. A backup of damaged data could replace a good one.
func (s *Server) verifyCopy(ctx context.Context, staging string, hold *objects.Snapshot) (err error) {
	var records check.Records = s.Store
	if !s.Paths.Shared() {
		db, opening := bolt.OpenReadOnly(staging, nil)
		if opening != nil {
			return fmt.Errorf("verify the copy of the database: %w", opening)
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		if faults := db.Check(ctx); len(faults) > 0 {
			return fmt.Errorf("verify the copy of the database: %w; sunloop admin check lists what is wrong", errors.Join(faults[:min(len(faults), 3)]...))
		}
		records = db
	}
	key := filepath.Join(staging, backup.Key)
	if _, absent := os.Stat(key); absent != nil {
		key = s.Paths.Key()
	}
	if err := auth.CheckKey(ctx, records, key); err != nil {
		return fmt.Errorf("verify the key: %w", err)
	}
	if hold == nil {
		return nil
	}
	// The records of replicas have changed since they were copied.
	return check.BackupObjects(ctx, records, s.Paths.Shared(), func(_ context.Context, key string) (io.ReadCloser, error) { return hold.Open(key) })
}

// recordsName returns the part of a backup that holds the records.
func (s *Server) recordsName() string {
	if s.Paths.Shared() {
		return backup.Tables
	}
	return backup.Database
}

// copyRecords makes a local copy, so that a slow reader of the backup does not
// keep the database from reusing pages.
func (s *Server) copyRecords(ctx context.Context, name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("copy the database: %w", err)
	}
	_, err = s.Store.Backup(ctx, &contextWriter{ctx, f})
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("copy the database: %w", err)
	}
	return nil
}

// contextWriter writes until its context ends.
type contextWriter struct {
	ctx context.Context
	io.Writer
}

func (w *contextWriter) Write(p []byte) (int, error) {
	if err := context.Cause(w.ctx); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}

// copyFiles copies the small files of the data folder, which may change, to
// staging, and returns these and the copy of the database.
func (s *Server) copyFiles(ctx context.Context, staging string) ([]backup.Source, error) {
	staged := os.DirFS(staging)
	source := func(name string) backup.Source {
		return backup.Source{Name: name, Open: func() (io.ReadCloser, error) { return staged.Open(name) }}
	}
	sources := []backup.Source{source(s.recordsName())}
	if s.Paths.Shared() || s.Paths.Key() != (check.Paths{DataDir: s.Paths.DataDir}).Key() {
		if err := copyFile(s.Paths.Key(), filepath.Join(staging, backup.Key)); err != nil {
			return nil, err
		}
		sources = append(sources, source(backup.Key))
	}
	if s.Paths.Shared() {
		return sources, nil // the other files belong to this replica
	}
	from := os.DirFS(s.Paths.DataDir)
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name != "." {
			return nil // a message of the outbox was replaced
		}
		if err == nil {
			err = ctx.Err()
		}
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "objects" || name == SpoolFolder):
			return fs.SkipDir
		case d.IsDir() || name == backup.Database || slices.ContainsFunc(sources, func(s backup.Source) bool { return s.Name == name }) || !backup.Kept(name) || strings.HasPrefix(path.Base(name), "."):
			return nil // not part of a backup, or incomplete
		}
		b, err := regularfile.Read(filepath.Join(s.Paths.DataDir, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		to := filepath.Join(staging, filepath.FromSlash(name))
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o700)); err == nil {
			err = os.WriteFile(to, b, 0o600)
		}
		sources = append(sources, source(name))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("copy the files of the data folder: %w", err)
	}
	return sources, nil
}

// copyFile copies a small file.
func copyFile(from, to string) error {
	b, err := regularfile.Read(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return nil
}

// Restore makes a data folder from a backup and verifies it before it gets its
// name. passphrase returns that of an encrypted file; nil if it is not known.
// encrypted requires that the file is encrypted.
func Restore(ctx context.Context, r io.Reader, dir string, passphrase func() (string, error), encrypted bool) (backup.Manifest, error) {
	return backup.Restore(ctx, r, backup.Restoring{
		Dir: dir, Schema: bolt.SchemaVersion, Passphrase: passphrase, Encrypted: encrypted,
		Check: func(ctx context.Context, dir string) error {
			db, err := bolt.Open(dir, bolt.Options{})
			if err != nil {
				return err
			}
			return errors.Join(append(db.Check(ctx), db.Close())...)
		},
	})
}

// RestoreReplica fills an empty database from a backup of one, creates the key
// file if it is missing, and stores the objects that are in the backup.
func RestoreReplica(ctx context.Context, r io.Reader, p check.Paths, o postgres.Options, passphrase func() (string, error), encrypted bool) (m backup.Manifest, err error) {
	db, err := riverjobs.Open(ctx, p.Store, o)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := os.MkdirAll(p.DataDir, 0o700); err != nil {
		return m, fmt.Errorf("create data folder: %w", err)
	}
	staging, err := os.MkdirTemp(p.DataDir, ".restore-*") // 0700
	if err != nil {
		return m, fmt.Errorf("create staging folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(staging)) }()
	dir := filepath.Join(staging, "backup")
	m, err = backup.Restore(ctx, r, backup.Restoring{Dir: dir, Schema: postgres.SchemaVersion(), Tables: true, Passphrase: passphrase, Encrypted: encrypted})
	if err != nil {
		return m, err
	}
	if err := restoreKey(filepath.Join(dir, backup.Key), p.Key()); err != nil {
		return m, err
	}
	if err := restoreObjects(ctx, filepath.Join(dir, "objects"), p); err != nil {
		return m, err
	}
	f, err := os.Open(filepath.Join(dir, backup.Tables))
	if err != nil {
		return m, err
	}
	err = db.Restore(ctx, f)
	return m, errors.Join(err, f.Close())
}

// restoreKey creates a key file, unless the same exists.
func restoreKey(from, to string) error {
	is, err := regularfile.Read(to)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return fmt.Errorf("create folder of the key file: %w", err)
		}
		return copyFile(from, to)
	}
	want, wanted := regularfile.Read(from)
	if err = errors.Join(err, wanted); err != nil {
		return fmt.Errorf("restore the key file: %w", err)
	}
	if !bytes.Equal(is, want) {
		return fmt.Errorf("%s is not the key of the backup; nothing was restored; move it, or name another file with --key-file", to)
	}
	return nil
}

// restoreObjects stores the objects of a folder; existing objects stay.
func restoreObjects(ctx context.Context, dir string, p check.Paths) (err error) {
	place, err := objects.OpenBeside(ctx, p.ObjectsAt())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.Close()) }()
	for o, err := range objects.ListFolder(ctx, dir) {
		if err != nil {
			return err
		}
		f, err := os.Open(filepath.Join(dir, filepath.FromSlash(o.Key)))
		if err != nil {
			return err
		}
		err = place.Put(ctx, o.Key, f)
		if errors.Is(err, store.ErrExists) {
			err = nil
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("restore the objects: %w", err)
		}
	}
	return nil
}
