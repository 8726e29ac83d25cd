// Package check verifies the data folder of an installation, or the database and
// the bucket that replicas share, and changes nothing.
package check

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/audit"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/backup"
	"app.sunloop/backend/domain"
	"app.sunloop/backend/domain/maintenance"
	"app.sunloop/backend/domain/notification"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/subscription"
	"app.sunloop/backend/freemium"
	"app.sunloop/backend/httpapi"
	"app.sunloop/backend/partner"
	"app.sunloop/backend/pipeline/livedata"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/regularfile"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/backend/store/objects"
	"app.sunloop/backend/store/postgres"
	"app.sunloop/backend/stream"
)

// Paths say where an installation keeps its data.
type Paths struct {
	DataDir string
	Store   string // URL of the database that replicas share; empty: a file in DataDir
	Objects string // bucket, as in s3://bucket/prefix, or folder; empty: a folder in DataDir
	KeyFile string // empty: in DataDir
}

// Shared reports whether the records are in a database that replicas share.
func (p Paths) Shared() bool { return p.Store != "" }

// Bucket reports whether the objects are in a bucket.
func (p Paths) Bucket() bool { return strings.HasPrefix(p.Objects, "s3://") }

// ObjectsAt returns the bucket or the folder of the objects.
func (p Paths) ObjectsAt() string { return cmp.Or(p.Objects, filepath.Join(p.DataDir, "objects")) }

// Key returns the path of the key file.
func (p Paths) Key() string { return cmp.Or(p.KeyFile, filepath.Join(p.DataDir, backup.Key)) }

// Tables returns the tables of all packages.
func Tables() []store.Checked {
	return slices.Concat(domain.Tables(), auth.Tables(), sitedata.Tables(), livedata.Tables(), audit.Tables(), maintenance.Tables(), notification.Tables(), subscription.Tables(), partner.Tables(), freemium.Tables(), httpapi.Tables(), stream.Tables())
}

// Report is what a check has read, and what it found.
type Report struct {
	Tables      int      `json:"tables"`
	Records     int      `json:"records"`
	Objects     int      `json:"objects"`
	ObjectBytes int64    `json:"object_bytes"`
	Files       int      `json:"files"`
	Faults      []string `json:"faults"` // sentences; empty without faults
	Notes       []string `json:"notes"`  // sentences: leftovers that the service deletes itself
}

func (c *Report) fault(format string, args ...any) {
	c.Faults = append(c.Faults, fmt.Sprintf(format, args...))
}

func (c *Report) report(err error) { c.fault("%v", err) }

// Replica verifies the database that replicas share, with its objects, and the
// data folder of one of them, while they serve. It returns an error if the
// database cannot be opened.
func Replica(ctx context.Context, p Paths, now func() time.Time) (c Report, err error) {
	c = Report{Faults: []string{}, Notes: []string{}}
	db, err := postgres.OpenWithoutMigration(ctx, p.Store, postgres.Options{Now: now})
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	place := folderReader(filepath.Join(p.DataDir, "objects"))
	if p.Objects != "" {
		files, err := objects.OpenBeside(ctx, p.Objects)
		if err != nil {
			return c, err
		}
		defer func() { err = errors.Join(err, files.Close()) }()
		place = storeReader(files)
	}
	for _, err := range db.Check(ctx) {
		c.report(err)
	}
	if err := auth.CheckSharedKey(ctx, db, p.Key()); err != nil {
		c.report(err)
	}
	err = errors.Join(ctx.Err(), c.checkRecords(ctx, db))
	if err == nil {
		err = c.checkObjects(ctx, db, place)
	}
	c.Notes = []string{} // uploads in progress belong to a running replica
	if _, absent := os.Stat(p.DataDir); err != nil || errors.Is(absent, fs.ErrNotExist) {
		return c, err
	}
	return c, c.modes(p.DataDir)
}

// ReplicaReport says whether a replica could use its database and its objects.
type ReplicaReport struct {
	Schema   int
	Database error // why the database cannot be used
	Key      error // why the key does not open its secrets
	Objects  error // why objects cannot be stored
}

// Probe connects to the database and the objects of a replica.
func Probe(ctx context.Context, p Paths, now func() time.Time) (found ReplicaReport) {
	if p.Objects != "" {
		files, err := objects.OpenBeside(ctx, p.Objects)
		if err == nil {
			err = errors.Join(files.Ready(ctx), files.Close())
		}
		found.Objects = err
	}
	if p.Store == "" {
		return found
	}
	db, err := postgres.OpenWithoutMigration(ctx, p.Store, postgres.Options{Now: now})
	if err != nil {
		found.Database = err
		return found
	}
	defer func() { found.Database = errors.Join(found.Database, db.Close()) }()
	if found.Database = db.Ready(ctx); found.Database != nil {
		return found
	}
	if found.Schema, found.Database = db.Schema(ctx); found.Database == nil {
		found.Key = auth.CheckSharedKey(ctx, db, p.Key())
	}
	return found
}

// Folder verifies a data folder that no process holds. It returns
// [store.ErrLocked] while one does. A folder that cannot be read is a fault.
func Folder(ctx context.Context, p Paths) (Report, error) {
	c := Report{Faults: []string{}, Notes: []string{}}
	dir := p.DataDir
	if _, err := os.Stat(dir); err != nil {
		return c, fmt.Errorf("check data: %w", err)
	}
	if err := RejectRemains(dir); err != nil {
		c.report(err)
		return c, c.modes(dir)
	}
	db, err := bolt.OpenReadOnly(dir, nil)
	if errors.Is(err, store.ErrLocked) || errors.Is(err, store.ErrNewer) {
		return c, err
	}
	if errors.Is(err, store.ErrDamaged) {
		// It is not mapped: its pages are read one by one for all that is wrong.
		if err := bolt.VerifyFolder(ctx, dir, c.report); err != nil {
			return c, err
		}
	}
	if err != nil {
		if len(c.Faults) == 0 {
			c.report(err)
		}
		return c, c.modes(dir)
	}
	if !db.Checksums() {
		c.Notes = append(c.Notes, "the values of the database have no checksums, as it is of schema 1: the next start of the service adds them")
	}
	for _, look := range []func() error{
		func() error {
			for _, err := range db.Check(ctx) {
				c.report(err)
			}
			return ctx.Err()
		},
		func() error {
			if err := auth.CheckKey(ctx, db, p.Key()); err != nil {
				c.report(err)
			}
			return ctx.Err()
		},
		func() error { return c.checkRecords(ctx, db) },
		func() error { return c.checkObjects(ctx, db, folderReader(filepath.Join(dir, "objects"))) },
		func() error { return c.modes(dir) },
	} {
		if err := look(); errors.Is(err, store.ErrDamaged) {
			c.unread(err)
		} else if err != nil {
			return c, errors.Join(err, db.Close())
		}
	}
	return c, db.Close()
}

// Quick finds the obvious faults of a data folder in little time: it verifies the
// structure of the database, the key, and that each object a record names has its
// size. It does not read all rows and the content of objects. A folder without
// files of a service has no faults. It returns [store.ErrLocked] while a process
// holds the folder.
func Quick(ctx context.Context, p Paths) (Report, error) {
	c := Report{Faults: []string{}, Notes: []string{}}
	if err := RejectRemains(p.DataDir); err != nil {
		c.report(err)
		return c, nil
	}
	switch err := regularfile.Check(filepath.Join(p.DataDir, backup.Database)); {
	case errors.Is(err, fs.ErrNotExist):
		c.Notes = append(c.Notes, "there is no database: the first start of the service makes one")
		return c, nil
	case err != nil:
		c.report(err)
		return c, nil
	}
	db, err := bolt.OpenReadOnly(p.DataDir, nil)
	if errors.Is(err, store.ErrLocked) || errors.Is(err, store.ErrNewer) {
		return c, err
	}
	if err != nil {
		c.report(err)
		return c, nil
	}
	if err := auth.CheckKey(ctx, db, p.Key()); err != nil {
		c.report(err)
	}
	if p.Objects == "" {
		place := folderReader(filepath.Join(p.DataDir, "objects"))
		place.open = nil
		if err := c.checkObjects(ctx, db, place); errors.Is(err, store.ErrDamaged) {
			c.unread(err)
		} else if err != nil {
			return c, errors.Join(err, db.Close())
		}
	}
	return c, db.Close()
}

// unread reports what could not be read because of damage, unless a fault says so.
func (c *Report) unread(err error) {
	if len(c.Faults) == 0 {
		c.report(err)
	}
}

// Records are the records that a check reads.
type Records interface {
	View(ctx context.Context, fn func(tx store.Tx) error) error
	RecordBuckets(ctx context.Context) ([]string, error)
}

func (c *Report) checkRecords(ctx context.Context, db Records) error {
	unclaimed, err := db.RecordBuckets(ctx)
	if err != nil {
		return err
	}
	for _, t := range Tables() {
		c.Tables++
		unclaimed = slices.DeleteFunc(unclaimed, func(name string) bool { return slices.Contains(t.Buckets(), name) })
		n := 0
		err := db.View(ctx, func(tx store.Tx) error {
			n = t.Check(tx, c.report)
			return ctx.Err()
		})
		if errors.Is(err, store.ErrDamaged) { // the other tables may be whole
			c.unread(err)
		} else if err != nil {
			return err
		}
		c.Records += n
	}
	for _, name := range unclaimed {
		c.fault("records of %s belong to no table of this version", name)
	}
	return nil
}

// objectReader reads the objects of a folder or a bucket.
type objectReader struct {
	list func(ctx context.Context, see func(key string, size int64)) error
	size func(key string) (int64, error)                              // used if open is nil
	open func(ctx context.Context, key string) (io.ReadCloser, error) // nil: objects are not read
}

// folderReader reads the objects of a folder without opening it as a store.
func folderReader(folder string) objectReader {
	return objectReader{
		list: func(_ context.Context, see func(key string, size int64)) error {
			err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				key, err := filepath.Rel(folder, path)
				if info, gone := d.Info(); gone == nil && err == nil {
					see(filepath.ToSlash(key), info.Size())
				}
				return err
			})
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		},
		size: func(key string) (int64, error) {
			path := filepath.Join(folder, filepath.FromSlash(key))
			if err := regularfile.Check(path); errors.Is(err, fs.ErrNotExist) {
				return 0, store.ErrNotFound
			} else if err != nil {
				return 0, err
			}
			info, err := os.Stat(path)
			if err != nil {
				return 0, err
			}
			return info.Size(), nil
		},
		open: func(_ context.Context, key string) (io.ReadCloser, error) {
			f, err := regularfile.Open(filepath.Join(folder, filepath.FromSlash(key)))
			if errors.Is(err, fs.ErrNotExist) {
				err = store.ErrNotFound
			}
			return f, err
		},
	}
}

// storeReader reads the objects of an open store.
func storeReader(s *objects.Store) objectReader {
	return objectReader{
		list: func(ctx context.Context, see func(key string, size int64)) error {
			for o, err := range s.List(ctx) {
				if err != nil {
					return err
				}
				see(o.Key, o.Size)
			}
			return nil
		},
		open: s.Open,
	}
}

// checkObjects compares the objects with the records that name them. Differences
// are verified a second time, as a service may be running: objects that a record
// names since, or no more, are no faults.
func (c *Report) checkObjects(ctx context.Context, db Records, place objectReader) error {
	there := map[string]bool{}
	err := place.list(ctx, func(key string, size int64) {
		c.Objects++
		c.ObjectBytes += size
		there[key] = true
	})
	if err != nil {
		return err
	}
	former, notes, err := compare(ctx, db, place, there)
	c.Notes = append(c.Notes, notes...)
	if err != nil || len(former) == 0 {
		return err
	}
	again := map[string]bool{}
	if err := place.list(ctx, func(key string, _ int64) { again[key] = there[key] }); err != nil {
		return err
	}
	maps.DeleteFunc(again, func(_ string, both bool) bool { return !both })
	lasting, _, err := compare(ctx, db, place, again)
	for _, fault := range lasting {
		if slices.Contains(former, fault) {
			c.Faults = append(c.Faults, fault)
		}
	}
	return err
}

// compare returns how the existing objects and the records differ, and what a
// service that has ended left unfinished.
func compare(ctx context.Context, db Records, place objectReader, there map[string]bool) (faults, notes []string, err error) {
	var named []record.ObjectRef
	known, announced := map[string]bool{}, map[string]bool{}
	err = db.View(ctx, func(tx store.Tx) (err error) {
		clear(announced)
		if named, err = domain.ObjectRefs(tx); err != nil {
			return err
		}
		return sitedata.Announced(tx, func(key string) { announced[key] = true })
	})
	if err != nil {
		return nil, nil, err
	}
	for _, n := range named {
		if key, ok := objects.KeyOf(n.URI); ok {
			n.Keys = append(n.Keys, key)
		} else if n.URI != "" {
			faults = append(faults, fmt.Sprintf("%s names %s, which is no object of this service", n.By, n.URI))
		}
		for _, key := range n.Keys {
			known[key] = true
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if fault := verifyObjects(ctx, place, n); fault != "" {
			faults = append(faults, fault)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(there)) {
		switch {
		case known[key] || strings.HasSuffix(key, ".tmp"):
		case announced[key]:
			notes = append(notes, fmt.Sprintf("object %s was being stored when the service ended, and is named by no record: the service drops it after its next start", key))
		default:
			faults = append(faults, fmt.Sprintf("object %s is named by no record", key))
		}
	}
	return faults, notes, nil
}

// missing ends the fault of a missing object.
const missing = "which is not there"

// verifyObjects reads the objects that one record names and returns how they
// differ from the record; empty if they do not.
func verifyObjects(ctx context.Context, place objectReader, n record.ObjectRef) (fault string) {
	sum, size := sha256.New(), int64(0)
	for _, key := range n.Keys {
		if place.open == nil {
			n.SHA256 = "" // not computed
			read, err := place.size(key)
			if errors.Is(err, store.ErrNotFound) {
				return fmt.Sprintf("%s names the object %s, %s", n.By, key, missing)
			}
			if err != nil {
				return fmt.Sprintf("object %s of %s cannot be read: %v", key, n.By, err)
			}
			size += read
			continue
		}
		f, err := place.open(ctx, key)
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Sprintf("%s names the object %s, %s", n.By, key, missing)
		}
		if err == nil {
			var read int64
			read, err = io.Copy(sum, f)
			size += read
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return fmt.Sprintf("object %s of %s cannot be read: %v", key, n.By, err)
		}
	}
	what := "objects " + strings.Join(n.Keys, ", ")
	if len(n.Keys) == 1 {
		what = "object " + n.Keys[0]
	}
	switch {
	case n.Bytes > 0 && size != n.Bytes:
		return fmt.Sprintf("%s of %s: %d bytes, not %d", what, n.By, size, n.Bytes)
	case n.SHA256 != "" && hex.EncodeToString(sum.Sum(nil)) != n.SHA256:
		return fmt.Sprintf("%s of %s: the checksum is not that of the record", what, n.By)
	}
	return ""
}

// modes finds files and folders that users other than their owner can open.
func (c *Report) modes(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() {
			c.Files++
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if kind := d.Type(); kind&^(fs.ModeDir|fs.ModeSymlink|fs.ModeSocket) != 0 {
			c.fault("%s is %s, not a regular file", path, regularfile.Kind(kind))
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" && d.Type()&fs.ModeSymlink == 0 {
			name, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			if name == "." {
				name = "the data folder"
			}
			c.fault("%s has the mode %04o: others than its owner can open it", name, mode)
		}
		return nil
	})
}

// BackupObjects verifies the objects that records name, read by open. live says
// that the records may have changed since the objects were listed: then a missing
// object is no fault. It returns the first fault as [store.ErrDamaged].
func BackupObjects(ctx context.Context, db Records, live bool, open func(ctx context.Context, key string) (io.ReadCloser, error)) error {
	faults, _, err := compare(ctx, db, objectReader{open: open}, nil)
	if err != nil {
		return fmt.Errorf("verify the objects: %w", err)
	}
	if live {
		faults = slices.DeleteFunc(faults, func(f string) bool { return strings.HasSuffix(f, missing) })
	}
	if len(faults) > 0 {
		return fmt.Errorf("verify the objects: %w: %s; sunloop admin check lists all", store.ErrDamaged, faults[0])
	}
	return nil
}

// OutboxFolder is the folder, in the data folder, of messages without a mail
// server.
const OutboxFolder = "outbox"

// ErrRemains is the error of a data folder that has files of a service, but no
// database. An empty service there would offer the setup to the first caller.
var ErrRemains = errors.New("the data folder has files of a service, but no database")

// RejectRemains returns [ErrRemains] for a folder that has files of a service, but
// no database.
func RejectRemains(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, backup.Database)); !errors.Is(err, fs.ErrNotExist) {
		return nil // opening it reports more
	}
	var found []string
	for _, name := range []string{backup.Key, "objects", OutboxFolder} {
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
		return fmt.Errorf("read data folder: %w", err)
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
