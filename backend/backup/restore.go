package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Restoring holds the options of a restore.
type Restoring struct {
	Dir    string // the folder to be; absent or empty
	Schema int    // the newest that the program knows
	// Tables restricts the restore to backups of a database.
	Tables bool
	// Passphrase is asked for that of an encrypted file; nil: none is known.
	Passphrase func() (string, error)
	// Encrypted demands that the file is.
	Encrypted bool
	// Check verifies the unpacked folder before it is renamed; it may be
	// nil.
	Check func(ctx context.Context, dir string) error
}

// records is the part that the records are in.
func (o Restoring) records() string {
	if o.Tables {
		return Tables
	}
	return Database
}

// Restore unpacks a backup to a folder next to Dir, checks it and renames it to
// Dir. If it fails it leaves no files. The error is a [Refusal] or [ErrDamaged]
// if the file or the folder is at fault.
func Restore(ctx context.Context, r io.Reader, o Restoring) (m Manifest, err error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return m, err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if err := checkEmpty(dir); err != nil {
		return m, err
	}
	parent := filepath.Dir(dir)
	made, err := makeFolders(parent)
	if err != nil {
		return m, fmt.Errorf("create the parent of the data folder: %w", err)
	}
	defer func() {
		for i := len(made) - 1; err != nil && i >= 0; i-- {
			_ = os.Remove(made[i])
		}
	}()
	part, err := os.MkdirTemp(parent, ".sunloop-restore-*") // 0700
	if err != nil {
		return m, fmt.Errorf("create folder to restore into: %w", err)
	}
	defer os.RemoveAll(part)
	if m, err = unpack(ctx, r, part, o); err != nil {
		return m, err
	}
	if o.Check != nil {
		if err := o.Check(ctx, part); err != nil {
			return m, fmt.Errorf("check the restored folder: %w", err)
		}
	}
	if err := syncFolders(part); err != nil {
		return m, fmt.Errorf("write the restored folder: %w", err)
	}
	if err := moveInto(part, dir); err != nil {
		return m, err
	}
	return m, syncFolder(parent)
}

// checkEmpty refuses a folder that has something in it.
func checkEmpty(dir string) error {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read data folder: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read data folder: %w", err)
	}
	if !info.IsDir() {
		return refuse("%s is not a folder", dir)
	}
	if _, err := f.Readdirnames(1); err == nil {
		return refuse("the data folder %s is not empty: restore requires a new or an empty one", dir)
	} else if !errors.Is(err, io.EOF) {
		return fmt.Errorf("read data folder: %w", err)
	}
	return nil
}

// makeFolders makes a folder and its parents, and returns those that it made.
func makeFolders(dir string) (made []string, err error) {
	if _, err := os.Stat(dir); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if above := filepath.Dir(dir); above != dir {
		if made, err = makeFolders(above); err != nil {
			return made, err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		for i := len(made) - 1; i >= 0; i-- {
			_ = os.Remove(made[i])
		}
		return nil, err
	}
	return append(made, dir), syncFolder(filepath.Dir(dir))
}

// moveInto gives a finished folder its name, which an empty folder may have.
func moveInto(part, dir string) error {
	if _, err := os.Lstat(dir); err == nil {
		// Removing takes an empty folder only: what came meanwhile is not lost.
		if err := os.Remove(dir); err != nil {
			return refuse("the data folder %s cannot be replaced, as it is no longer empty or is the root of a file system: name a folder in it, or another (%v)", dir, err)
		}
	}
	if err := os.Rename(part, dir); err != nil {
		return fmt.Errorf("rename the restored folder: %w", err)
	}
	return nil
}

// syncFolders syncs all folders below a folder, so that the names in them are
// durable.
func syncFolders(dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return syncFolder(name)
	})
}

// syncFolder syncs one folder, so that the names in it are durable. Windows has
// no such call.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
