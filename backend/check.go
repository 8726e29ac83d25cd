package backend

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"app.sunloop/backend/audit"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/freemium"
	"app.sunloop/backend/httpapi"
	"app.sunloop/backend/ops"
	"app.sunloop/backend/partner"
	"app.sunloop/backend/pipeline"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/backend/store/objects"
	"app.sunloop/backend/work"
)

// tables is all that the packages keep in records.
func tables() []store.Checked {
	return slices.Concat(ops.Tables(), auth.Tables(), pipeline.Tables(), audit.Tables(), work.Tables(), partner.Tables(), freemium.Tables(), httpapi.Tables())
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

// Check verifies a data folder that no service holds, and changes nothing in
// it. The error is store.ErrLocked while one does; a folder that cannot be read
// is a fault.
func Check(ctx context.Context, dir string) (Checked, error) {
	c := Checked{Faults: []string{}, Notes: []string{}}
	if _, err := os.Stat(dir); err != nil {
		return c, fmt.Errorf("check data: %w", err)
	}
	db, err := bolt.OpenReadOnly(dir)
	if errors.Is(err, store.ErrLocked) || errors.Is(err, store.ErrNewer) {
		return c, err
	}
	if err != nil {
		c.report(err)
		return c, c.modes(dir)
	}
	for _, look := range []func() error{
		func() error {
			for _, err := range db.Check(ctx) {
				c.report(err)
			}
			return ctx.Err()
		},
		func() error { return c.records(ctx, db) },
		func() error { return c.objects(ctx, db, filepath.Join(dir, "objects")) },
		func() error { return c.modes(dir) },
	} {
		if err := c.guard(look); err != nil {
			return c, errors.Join(err, db.Close())
		}
	}
	return c, db.Close()
}

// guard makes a fault of a panic: pages that are damaged are met by surprise.
func (c *Checked) guard(look func() error) error {
	defer func() {
		if p := recover(); p != nil {
			c.fault("the file of records is damaged: %v", p)
		}
	}()
	return look()
}

func (c *Checked) records(ctx context.Context, db *bolt.Store) error {
	unclaimed, err := db.RecordBuckets(ctx)
	if err != nil {
		return err
	}
	return db.View(ctx, func(tx store.Tx) error {
		for _, t := range tables() {
			c.Tables++
			c.Records += t.Check(tx, c.report)
			unclaimed = slices.DeleteFunc(unclaimed, func(name string) bool { return slices.Contains(t.Buckets(), name) })
		}
		for _, name := range unclaimed {
			c.fault("records of %s belong to no table of this version", name)
		}
		return ctx.Err()
	})
}

// objects holds the files of the object folder against the records that name
// them.
func (c *Checked) objects(ctx context.Context, db *bolt.Store, folder string) error {
	var named []ops.Named
	known, announced := map[string]bool{}, map[string]bool{}
	err := db.View(ctx, func(tx store.Tx) (err error) {
		if named, err = ops.NamedObjects(tx); err != nil {
			return err
		}
		return pipeline.Announced(tx, func(key string) { announced[key] = true })
	})
	if err != nil {
		return err
	}
	for _, n := range named {
		if key, ok := objects.KeyOf(n.URI); ok {
			n.Keys = append(n.Keys, key)
		} else if n.URI != "" {
			c.fault("%s names %s, which is no object of this service", n.By, n.URI)
		}
		for _, key := range n.Keys {
			known[key] = true
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		c.named(folder, n)
	}
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		c.Objects++
		if info, err := d.Info(); err == nil {
			c.ObjectBytes += info.Size()
		}
		key, err := filepath.Rel(folder, path)
		switch key = filepath.ToSlash(key); {
		case err != nil || known[key] || strings.HasSuffix(key, ".tmp"):
		case announced[key]:
			c.Notes = append(c.Notes, fmt.Sprintf("object %s was under way when the service ended, and is named by no record: the service drops it after its next start", key))
		default:
			c.fault("object %s is named by no record", key)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// named reads the objects that one record names.
func (c *Checked) named(folder string, n ops.Named) {
	sum, size := sha256.New(), int64(0)
	for _, key := range n.Keys {
		f, err := os.Open(filepath.Join(folder, filepath.FromSlash(key)))
		if errors.Is(err, fs.ErrNotExist) {
			c.fault("%s names the object %s, which is not there", n.By, key)
			return
		}
		if err == nil {
			var read int64
			read, err = io.Copy(sum, f)
			size += read
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			c.fault("object %s of %s cannot be read: %v", key, n.By, err)
			return
		}
	}
	what := "objects " + strings.Join(n.Keys, ", ")
	if len(n.Keys) == 1 {
		what = "object " + n.Keys[0]
	}
	switch {
	case n.Bytes > 0 && size != n.Bytes:
		c.fault("%s of %s: %d bytes, not %d", what, n.By, size, n.Bytes)
	case n.SHA256 != "" && hex.EncodeToString(sum.Sum(nil)) != n.SHA256:
		c.fault("%s of %s: the checksum is not that of the record", what, n.By)
	}
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
