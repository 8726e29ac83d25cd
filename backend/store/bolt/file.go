package bolt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"app.sunloop/backend/regularfile"
)

// lockTimeout is how long Open waits for another process to let go.
const lockTimeout = time.Second

// growBytes is by how much the file grows beyond its need at a time: small, as
// the file is all that a small site keeps.
const growBytes = 1 << 20

// errNoSchema: nothing was ever stored in the file.
var errNoSchema = errors.New("it has no schema: no service has opened it yet")

// openFile opens the file in dir, and creates it if it is missing.
func openFile(dir string) (*mapped, error) {
	if err := createFile(dir); err != nil {
		return nil, fmt.Errorf("create data in %s: %w", dir, err)
	}
	m, err := mapFile(dir, bbolt.Options{InitialMmapSize: mapBytes()})
	if err != nil {
		return nil, err
	}
	if moved, err := renamed(m.file, dir); err != nil || moved {
		if err = errors.Join(err, m.close()); err != nil {
			return nil, fmt.Errorf("open data in %s: %w", dir, err)
		}
		return openFile(dir)
	}
	m.AllocSize = growBytes
	if err := settle(m.file, m.Info().PageSize); err != nil {
		return nil, errors.Join(fmt.Errorf("open data in %s: %w", dir, err), m.close())
	}
	return m, nil
}

// mapFile locks the file in dir, verifies its structure and only then maps it:
// bbolt trusts what it finds in it.
func mapFile(dir string, o bbolt.Options) (*mapped, error) {
	m := new(mapped)
	var schema uint32
	o.Timeout, o.FreelistType = lockTimeout, bbolt.FreelistMapType
	o.OpenFile = func(name string, flag int, mode fs.FileMode) (*os.File, error) {
		f, err := regularfile.OpenFile(name, flag, mode)
		if err != nil || m.file != nil { // of a backup, which reads a separate file
			return f, err
		}
		if err = lockFile(f, !o.ReadOnly, lockTimeout); err == nil {
			schema, err = verifyStructure(f)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		m.file = f
		return f, nil
	}
	err := guarded(func() (err error) {
		m.DB, err = bbolt.Open(filepath.Join(dir, fileName), 0o600, &o)
		return err
	})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, lockedError(dir)
	}
	if err == nil && o.ReadOnly && schema == 0 {
		err = errors.Join(errNoSchema, m.close())
	}
	if err != nil {
		return nil, fmt.Errorf("open data in %s: %w", dir, err)
	}
	m.schema, m.sums = schema, schema == 0 || schema >= sumSchema
	return m, nil
}

// renamed reports whether the file no longer has its name because a compaction
// replaced it while this process waited for its lock.
func renamed(file *os.File, dir string) (bool, error) {
	locked, err := file.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(filepath.Join(dir, fileName))
	return err == nil && !os.SameFile(locked, named), err
}

// createFile creates an empty file if it is missing, under another name until
// it is complete: a power loss meanwhile leaves no file that cannot be opened.
// A file without content is therefore a damaged one.
func createFile(dir string) (err error) {
	name := filepath.Join(dir, fileName)
	if err := regularfile.Check(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	made, err := os.CreateTemp(dir, fileName+".new-*") // 0600
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(made.Name())) }()
	if err := made.Close(); err != nil {
		return err
	}
	db, err := bbolt.Open(made.Name(), 0o600, &bbolt.Options{FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	// Of two processes that start at once, the one that comes first wins.
	if err := os.Link(made.Name(), name); err != nil && !errors.Is(err, fs.ErrExist) {
		return os.Rename(made.Name(), name) // a file system without links
	}
	return nil
}

// settle writes the two meta pages again. A process that saw a sync of them
// fail may have left them in the system's memory only, marked as clean: the
// next commit would then build on a state that the disk does not have.
func settle(file *os.File, pageSize int) error {
	pages := make([]byte, 2*pageSize)
	if _, err := file.ReadAt(pages, 0); err != nil {
		return err
	}
	if _, err := file.WriteAt(pages, 0); err != nil {
		return err
	}
	return file.Sync()
}

// mapBytes is the address space to reserve, so that a growing file rarely has
// to be mapped again, which requires all readers to end. Windows would make the
// file that large.
func mapBytes() int {
	if runtime.GOOS == "windows" || strconv.IntSize < 64 {
		return 0
	}
	return 1 << 30
}

// openLocked opens the file in dir to be read, under the lock of a reader.
func openLocked(dir string) (*os.File, error) {
	f, err := regularfile.Open(filepath.Join(dir, fileName))
	if err != nil {
		return nil, fmt.Errorf("open data: %w", err)
	}
	if err := lockFile(f, false, lockTimeout); err != nil {
		if errors.Is(err, bolterrors.ErrTimeout) {
			err = lockedError(dir)
		}
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
