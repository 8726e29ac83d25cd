package backend

import (
	"bytes"
	"cmp"
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
	"app.sunloop/backend/regularfile"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/backend/store/objects"
	"app.sunloop/backend/store/postgres"
)

// operatorName is the actor, in the audit trail, of what is asked for on the
// operator's socket or done beside the data folder.
const operatorName = "command line"

// spoolFolder holds what is under way; each start clears it.
const spoolFolder = "spool"

// operate answers the operator of the machine until ctx ends.
func (s *Service) operate(ctx context.Context) {
	l, err := socket.Listen(s.dir)
	if err == nil {
		err = l.Serve(ctx, s, s.wall)
	}
	if err != nil {
		s.log.Warn("there is no operator's socket: a backup must wait until the service has ended", "error", err.Error())
	}
}

var errBackingUp = errors.New("a backup is being made already")

// backupRoute is what the audit trail calls a backup.
const backupRoute = "backup"

// backupsKnown is how far back a backup is looked for.
const backupsKnown = 90 * 24 * time.Hour

// lastBackup is when the newest backup was made, by the audit trail; zero: none
// is known.
func (s *Service) lastBackup(ctx context.Context) (time.Time, error) {
	q := api.AuditQuery{Actor: operatorName, Route: backupRoute, From: api.At(s.wall().Add(-backupsKnown)), Page: api.Page{Limit: api.DefaultLimit}}
	for {
		records, next, err := s.trail.List(ctx, api.Unlimited(operatorName), q)
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

// Backup writes a backup of the data folder to w while the service goes on,
// and leaves its record in the audit trail. See package backup.
func (s *Service) Backup(ctx context.Context, w io.Writer) (socket.Backup, error) {
	if !s.backing.TryLock() {
		return socket.Backup{}, errBackingUp
	}
	defer s.backing.Unlock()
	m, err := s.backup(ctx, w)
	done := socket.Backup{Files: len(m.Parts), Bytes: m.Size()}
	r := api.AuditRecord{Actor: operatorName, ActorID: operatorName, Route: backupRoute, Action: api.ActionCreate, Status: http.StatusOK, After: done}
	if err != nil {
		r.Status, r.Error, r.After = http.StatusInternalServerError, err.Error(), nil
	}
	return done, errors.Join(err, s.trail.Append(context.WithoutCancel(ctx), r))
}

func (s *Service) backup(ctx context.Context, w io.Writer) (m backup.Manifest, err error) {
	staging, err := os.MkdirTemp(s.spool, "backup-") // 0700
	if err != nil {
		return m, fmt.Errorf("make a folder for the copy: %w", err)
	}
	defer os.RemoveAll(staging)
	var hold *objects.Hold
	if !s.InBucket() {
		if hold, err = s.objects.Hold(); err != nil {
			return m, err
		}
		defer func() { err = errors.Join(err, hold.Release()) }()
	}
	// The records first: each object is written before a record names it.
	if err := s.copyRecords(ctx, filepath.Join(staging, s.recordsName())); err != nil {
		return m, err
	}
	if m.Schema, err = s.store.Schema(ctx); err != nil {
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
	m.Version, m.MadeAt = s.version, s.wall()
	return backup.Write(ctx, w, m, sources)
}

// verifyCopy verifies what a backup is made of: all pages and rows of the copied
// database, that the key opens its secrets, and each object that its records
// name. A backup of damaged data would take the place of a good one.
func (s *Service) verifyCopy(ctx context.Context, staging string, hold *objects.Hold) (err error) {
	var records checkedRecords = s.store
	if !s.replica() {
		db, opening := bolt.OpenReadOnly(staging)
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
		key = s.keyFile
	}
	if err := auth.CheckKey(ctx, records, key); err != nil {
		return fmt.Errorf("verify the key: %w", err)
	}
	if hold == nil {
		return nil
	}
	faults, _, err := new(Checked).compare(ctx, records, checkedObjects{open: func(_ context.Context, key string) (io.ReadCloser, error) { return hold.Open(key) }}, nil)
	if err != nil {
		return fmt.Errorf("verify the objects: %w", err)
	}
	if s.replica() { // its records went on changing since they were copied
		faults = slices.DeleteFunc(faults, func(f string) bool { return strings.HasSuffix(f, notThere) })
	}
	if len(faults) > 0 {
		return fmt.Errorf("verify the objects: %w: %s; sunloop admin check lists all", store.ErrDamaged, faults[0])
	}
	return nil
}

// InBucket says that objects are in a bucket, of which a backup has none: it has
// versions and copies of its own.
func (s *Service) InBucket() bool { return strings.HasPrefix(s.cfg.Objects, "s3://") }

// recordsName is the part of a backup that the records are in.
func (s *Service) recordsName() string {
	if s.replica() {
		return backup.Tables
	}
	return backup.Database
}

// copyRecords makes a local copy, so that a slow reader of the backup does not
// keep pages of the database from being used again.
func (s *Service) copyRecords(ctx context.Context, name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("copy the database: %w", err)
	}
	_, err = s.store.Backup(ctx, &untilEnd{ctx, f})
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("copy the database: %w", err)
	}
	return nil
}

// untilEnd writes until its context ends.
type untilEnd struct {
	ctx context.Context
	io.Writer
}

func (w *untilEnd) Write(p []byte) (int, error) {
	if err := context.Cause(w.ctx); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}

// copyFiles copies the small files of the data folder, which may change, into
// staging, and answers these and the database there.
func (s *Service) copyFiles(ctx context.Context, staging string) ([]backup.Source, error) {
	staged := os.DirFS(staging)
	source := func(name string) backup.Source {
		return backup.Source{Name: name, Open: func() (io.ReadCloser, error) { return staged.Open(name) }}
	}
	sources := []backup.Source{source(s.recordsName())}
	if s.replica() || s.keyFile != keyFileOf(Config{DataDir: s.dir}) {
		if err := copyFile(s.keyFile, filepath.Join(staging, backup.Key)); err != nil {
			return nil, err
		}
		sources = append(sources, source(backup.Key))
	}
	if s.replica() {
		return sources, nil // the rest of the folder is this replica's own
	}
	from := os.DirFS(s.dir)
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name != "." {
			return nil // a letter that made room for another
		}
		if err == nil {
			err = ctx.Err()
		}
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "objects" || name == spoolFolder):
			return fs.SkipDir
		case d.IsDir() || name == backup.Database || slices.ContainsFunc(sources, func(s backup.Source) bool { return s.Name == name }) || !backup.Kept(name) || strings.HasPrefix(path.Base(name), "."):
			return nil // others keep nothing there, or it is half written
		}
		b, err := regularfile.Read(filepath.Join(s.dir, filepath.FromSlash(name)))
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

// Restore makes a data folder from a backup, and checks it before it gets its
// name. Passphrase is asked for that of an encrypted file, nil when none is
// known; encrypted demands that the file is.
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

// RestoreReplica fills an empty database from a backup of one, and makes the key
// file where there is none. Objects that are in the backup go into their place.
func RestoreReplica(ctx context.Context, r io.Reader, cfg Config, passphrase func() (string, error), encrypted bool) (m backup.Manifest, err error) {
	db, err := connect(ctx, cfg, nil)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return m, fmt.Errorf("make data folder: %w", err)
	}
	staging, err := os.MkdirTemp(cfg.DataDir, ".restore-*") // 0700
	if err != nil {
		return m, fmt.Errorf("make a folder to restore by: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(staging)) }()
	dir := filepath.Join(staging, "backup")
	m, err = backup.Restore(ctx, r, backup.Restoring{Dir: dir, Schema: postgres.SchemaVersion(), Tables: true, Passphrase: passphrase, Encrypted: encrypted})
	if err != nil {
		return m, err
	}
	if err := restoreKey(filepath.Join(dir, backup.Key), keyFileOf(cfg)); err != nil {
		return m, err
	}
	if err := restoreObjects(ctx, filepath.Join(dir, "objects"), cfg); err != nil {
		return m, err
	}
	f, err := os.Open(filepath.Join(dir, backup.Tables))
	if err != nil {
		return m, err
	}
	err = db.Restore(ctx, f)
	return m, errors.Join(err, f.Close())
}

// restoreKey puts a key file into its place, where the same may be already.
func restoreKey(from, to string) error {
	is, err := regularfile.Read(to)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return fmt.Errorf("make the folder of the key file: %w", err)
		}
		return copyFile(from, to)
	}
	want, wanted := regularfile.Read(from)
	if err = errors.Join(err, wanted); err != nil {
		return fmt.Errorf("restore the key file: %w", err)
	}
	if !bytes.Equal(is, want) {
		return fmt.Errorf("%s is another key than that of the backup: nothing was restored; move it away, or name another by --key-file", to)
	}
	return nil
}

// restoreObjects puts the objects in a folder into their place; those that are
// there stay.
func restoreObjects(ctx context.Context, dir string, cfg Config) (err error) {
	place, err := objects.OpenBeside(ctx, cmp.Or(cfg.Objects, filepath.Join(cfg.DataDir, "objects")))
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
