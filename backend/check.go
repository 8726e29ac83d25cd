package backend

import (
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

	"app.sunloop/backend/audit"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/backup"
	"app.sunloop/backend/domain/maintenance"
	"app.sunloop/backend/freemium"
	"app.sunloop/backend/httpapi"
	"app.sunloop/backend/ops"
	"app.sunloop/backend/partner"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/regularfile"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/backend/store/objects"
	"app.sunloop/backend/store/postgres"
)

// tables is all that the packages keep in records.
func tables() []store.Checked {
	return slices.Concat(ops.Tables(), auth.Tables(), sitedata.Tables(), audit.Tables(), maintenance.Tables(), partner.Tables(), freemium.Tables(), httpapi.Tables())
}

// Checked is what a check of a data folder looked at, and what it found.
type Checked struct {
	Tables      int      `json:"tables"`
	Records     int      `json:"records"`
	Objects     int      `json:"objects"`
	ObjectBytes int64    `json:"object_bytes"`
	Files       int      `json:"files"`
	Faults      []string `json:"faults"` // sentences; empty when all is well
	Notes       []string `json:"notes"`  // sentences: what is left over, and the service clears by itself
}

func (c *Checked) fault(format string, args ...any) {
	c.Faults = append(c.Faults, fmt.Sprintf(format, args...))
}

func (c *Checked) report(err error) { c.fault("%v", err) }

// CheckReplica verifies the database that replicas share, with its objects, and
// the data folder of one of them, while they serve, and changes nothing. The
// error is of a database that cannot be opened.
func CheckReplica(ctx context.Context, cfg Config) (c Checked, err error) {
	c = Checked{Faults: []string{}, Notes: []string{}}
	db, err := postgres.OpenAsItIs(ctx, cfg.Store, postgres.Options{Now: cfg.Wall})
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	place := folderOf(filepath.Join(cfg.DataDir, "objects"))
	if cfg.Objects != "" {
		files, err := objects.OpenBeside(ctx, cfg.Objects)
		if err != nil {
			return c, err
		}
		defer func() { err = errors.Join(err, files.Close()) }()
		place = bucketOf(files)
	}
	for _, err := range db.Check(ctx) {
		c.report(err)
	}
	if err := auth.CheckSharedKey(ctx, db, keyFileOf(cfg)); err != nil {
		c.report(err)
	}
	err = errors.Join(ctx.Err(), c.records(ctx, db))
	if err == nil {
		err = c.objects(ctx, db, place)
	}
	c.Notes = []string{} // what is under way is a replica's that serves
	if _, absent := os.Stat(cfg.DataDir); err != nil || errors.Is(absent, fs.ErrNotExist) {
		return c, err
	}
	return c, c.modes(cfg.DataDir)
}

// Looked is what a look at the database and the objects of replicas found; errors
// are sentences.
type Looked struct {
	Schema   int
	Database error // why it cannot be worked with
	Key      error // why secrets in it do not open
	Objects  error // why objects cannot be kept
}

// Look says whether a replica could work with its database and its objects.
func Look(ctx context.Context, cfg Config) (found Looked) {
	if cfg.Objects != "" {
		files, err := objects.OpenBeside(ctx, cfg.Objects)
		if err == nil {
			err = errors.Join(files.Ready(ctx), files.Close())
		}
		found.Objects = err
	}
	if cfg.Store == "" {
		return found
	}
	db, err := postgres.OpenAsItIs(ctx, cfg.Store, postgres.Options{Now: cfg.Wall})
	if err != nil {
		found.Database = err
		return found
	}
	defer func() { found.Database = errors.Join(found.Database, db.Close()) }()
	if found.Database = db.Ready(ctx); found.Database != nil {
		return found
	}
	if found.Schema, found.Database = db.Schema(ctx); found.Database == nil {
		found.Key = auth.CheckSharedKey(ctx, db, keyFileOf(cfg))
	}
	return found
}

// Check is [CheckFolder] of a folder that has its key in it.
func Check(ctx context.Context, dir string) (Checked, error) {
	return CheckFolder(ctx, Config{DataDir: dir})
}

// CheckFolder verifies the data folder of a configuration that no service holds,
// and changes nothing in it. The error is store.ErrLocked while one does; a
// folder that cannot be read is a fault.
func CheckFolder(ctx context.Context, cfg Config) (Checked, error) {
	c := Checked{Faults: []string{}, Notes: []string{}}
	dir := cfg.DataDir
	if _, err := os.Stat(dir); err != nil {
		return c, fmt.Errorf("check data: %w", err)
	}
	if err := refuseRemains(dir); err != nil {
		c.report(err)
		return c, c.modes(dir)
	}
	db, err := bolt.OpenReadOnly(dir)
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
			if err := auth.CheckKey(ctx, db, keyFileOf(cfg)); err != nil {
				c.report(err)
			}
			return ctx.Err()
		},
		func() error { return c.records(ctx, db) },
		func() error { return c.objects(ctx, db, folderOf(filepath.Join(dir, "objects"))) },
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

// LookFolder finds what is plainly wrong with the data folder of a
// configuration, as [CheckFolder] does but in little time: it verifies the
// structure of the database, the key and that each object a record names has its
// size. It does not read all rows and the content of objects. A folder without
// files of a service has no faults. The error is store.ErrLocked while a service
// holds the folder.
func LookFolder(ctx context.Context, cfg Config) (Checked, error) {
	c := Checked{Faults: []string{}, Notes: []string{}}
	if err := refuseRemains(cfg.DataDir); err != nil {
		c.report(err)
		return c, nil
	}
	switch err := regularfile.Check(filepath.Join(cfg.DataDir, backup.Database)); {
	case errors.Is(err, fs.ErrNotExist):
		c.Notes = append(c.Notes, "there is no database: the first start of the service makes one")
		return c, nil
	case err != nil:
		c.report(err)
		return c, nil
	}
	db, err := bolt.OpenReadOnly(cfg.DataDir)
	if errors.Is(err, store.ErrLocked) || errors.Is(err, store.ErrNewer) {
		return c, err
	}
	if err != nil {
		c.report(err)
		return c, nil
	}
	if err := auth.CheckKey(ctx, db, keyFileOf(cfg)); err != nil {
		c.report(err)
	}
	if cfg.Objects == "" {
		place := folderOf(filepath.Join(cfg.DataDir, "objects"))
		place.open = nil
		if err := c.objects(ctx, db, place); errors.Is(err, store.ErrDamaged) {
			c.unread(err)
		} else if err != nil {
			return c, errors.Join(err, db.Close())
		}
	}
	return c, db.Close()
}

// unread reports what could not be looked at because of damage, unless a fault
// says as much.
func (c *Checked) unread(err error) {
	if len(c.Faults) == 0 {
		c.report(err)
	}
}

// checkedRecords are records that a check reads.
type checkedRecords interface {
	View(ctx context.Context, fn func(tx store.Tx) error) error
	RecordBuckets(ctx context.Context) ([]string, error)
}

func (c *Checked) records(ctx context.Context, db checkedRecords) error {
	unclaimed, err := db.RecordBuckets(ctx)
	if err != nil {
		return err
	}
	for _, t := range tables() {
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

// checkedObjects is a place of objects that a check reads.
type checkedObjects struct {
	list func(ctx context.Context, see func(key string, size int64)) error
	size func(key string) (int64, error)                              // used if open is nil
	open func(ctx context.Context, key string) (io.ReadCloser, error) // nil: objects are not read
}

// folderOf are the objects in a folder that no store opens.
func folderOf(folder string) checkedObjects {
	return checkedObjects{
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

// bucketOf are the objects of a store.
func bucketOf(s *objects.Store) checkedObjects {
	return checkedObjects{
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

// objects holds the objects of a place against the records that name them. What
// differs is looked at again where a service may have been at work: objects that
// are named by a record since, or no more, are well.
func (c *Checked) objects(ctx context.Context, db checkedRecords, place checkedObjects) error {
	there := map[string]bool{}
	err := place.list(ctx, func(key string, size int64) {
		c.Objects++
		c.ObjectBytes += size
		there[key] = true
	})
	if err != nil {
		return err
	}
	former, notes, err := c.compare(ctx, db, place, there)
	c.Notes = append(c.Notes, notes...)
	if err != nil || len(former) == 0 {
		return err
	}
	again := map[string]bool{}
	if err := place.list(ctx, func(key string, _ int64) { again[key] = there[key] }); err != nil {
		return err
	}
	maps.DeleteFunc(again, func(_ string, both bool) bool { return !both })
	lasting, _, err := c.compare(ctx, db, place, again)
	for _, fault := range lasting {
		if slices.Contains(former, fault) {
			c.Faults = append(c.Faults, fault)
		}
	}
	return err
}

// compare answers how the objects that are there and the records differ, and what
// a service that has ended left under way.
func (c *Checked) compare(ctx context.Context, db checkedRecords, place checkedObjects, there map[string]bool) (faults, notes []string, err error) {
	var named []ops.Named
	known, announced := map[string]bool{}, map[string]bool{}
	err = db.View(ctx, func(tx store.Tx) (err error) {
		clear(announced)
		if named, err = ops.NamedObjects(tx); err != nil {
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
		if fault := differs(ctx, place, n); fault != "" {
			faults = append(faults, fault)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(there)) {
		switch {
		case known[key] || strings.HasSuffix(key, ".tmp"):
		case announced[key]:
			notes = append(notes, fmt.Sprintf("object %s was under way when the service ended, and is named by no record: the service drops it after its next start", key))
		default:
			faults = append(faults, fmt.Sprintf("object %s is named by no record", key))
		}
	}
	return faults, notes, nil
}

// notThere ends the fault of an object that is missing.
const notThere = "which is not there"

// differs reads the objects that one record names, and says how they are not what
// it knows of them.
func differs(ctx context.Context, place checkedObjects, n ops.Named) (fault string) {
	sum, size := sha256.New(), int64(0)
	for _, key := range n.Keys {
		if place.open == nil {
			n.SHA256 = "" // not computed
			read, err := place.size(key)
			if errors.Is(err, store.ErrNotFound) {
				return fmt.Sprintf("%s names the object %s, %s", n.By, key, notThere)
			}
			if err != nil {
				return fmt.Sprintf("object %s of %s cannot be read: %v", key, n.By, err)
			}
			size += read
			continue
		}
		f, err := place.open(ctx, key)
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Sprintf("%s names the object %s, %s", n.By, key, notThere)
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

// modes finds files and folders that others than their owner can open.
func (c *Checked) modes(dir string) error {
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
