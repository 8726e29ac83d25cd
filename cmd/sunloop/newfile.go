package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// newFile is a file that gets its name when it is complete. Where the system
// can make a file without a name, a process that is killed leaves none behind;
// elsewhere the file has a temporary name, and the next newFile in the same
// folder removes it.
type newFile struct {
	*os.File
	path    string // the final one
	unnamed bool
}

// temporaryFile is the pattern of temporary names.
const temporaryFile = ".sunloop-backup-*"

// createFile makes a file for path, with mode 0600. The error is
// [fs.ErrExist] if path exists.
func createFile(path string) (*newFile, error) {
	switch _, err := os.Lstat(path); {
	case err == nil:
		return nil, &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	dir := filepath.Dir(path)
	if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the folder %s does not exist", dir)
	} else if err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", dir)
	}
	removeLeftovers(dir)
	if f, err := openUnnamed(dir); err == nil {
		return &newFile{f, path, true}, nil
	}
	f, err := os.CreateTemp(dir, temporaryFile) // 0600
	if err != nil {
		return nil, err
	}
	if err := holdFile(f); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close(), os.Remove(f.Name()))
	}
	return &newFile{f, path, false}, nil
}

// removeLeftovers removes temporary files in dir whose processes have ended.
// Files that cannot be opened or removed stay.
func removeLeftovers(dir string) {
	files, err := filepath.Glob(filepath.Join(dir, temporaryFile))
	if err != nil {
		return
	}
	for _, path := range files {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		held := holdFile(f) != nil
		_ = f.Close()
		if !held {
			_ = os.Remove(path)
		}
	}
}

// commit writes the file to the disk and gives it its name. It replaces no
// other file on systems that can determine it.
func (f *newFile) commit() error {
	if err := f.Sync(); err != nil {
		return errors.Join(err, f.discard())
	}
	if f.unnamed {
		err := linkUnnamed(f.File, f.path)
		return errors.Join(err, f.Close())
	}
	err := f.Close() // before the rename: Windows renames no open file
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// discard removes the file.
func (f *newFile) discard() error {
	err := f.Close()
	if f.unnamed {
		return err
	}
	return errors.Join(err, os.Remove(f.Name()))
}
