package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
)

// Why a store does not write. Callers branch on them; nothing that was
// acknowledged is touched by either.
var (
	// ErrDiskFailed: written data could not be synced. A later successful
	// sync proves nothing, because the kernel may have dropped the dirty
	// pages, so writes are disabled until the folder is opened again.
	ErrDiskFailed = errors.New("writes are disabled after a disk error; restart the service")
	// ErrDiskFull: no space was left. The next write is attempted again.
	ErrDiskFull = errors.New("the disk is full")
)

// Disk is what the stores in one data folder know of the disk under it: when
// one of them saw it fail, none takes more. The zero value is a healthy disk,
// nil one of which nothing is remembered. It is safe for concurrent use.
type Disk struct{ failed, full atomic.Pointer[error] }

// MarkFailed notes that a sync, or a write that cannot be taken back, failed. The
// first cause is kept. The error wraps ErrDiskFailed and the cause.
func (d *Disk) MarkFailed(cause error) error {
	err := fmt.Errorf("%w: %w", ErrDiskFailed, cause)
	if d != nil {
		d.failed.CompareAndSwap(nil, &err)
	}
	return err
}

// MarkFull notes that there was no room. The error wraps ErrDiskFull and the cause.
func (d *Disk) MarkFull(cause error) error {
	err := fmt.Errorf("%w: %w", ErrDiskFull, cause)
	if d != nil {
		d.full.Store(&err)
	}
	return err
}

// Failure is why nothing may be written any more; nil while it may.
func (d *Disk) Failure() error {
	if d == nil {
		return nil
	}
	return loadError(&d.failed)
}

// Full returns the last lack of space since [Disk.Clear]; nil if there was
// none.
func (d *Disk) Full() error {
	if d == nil {
		return nil
	}
	return loadError(&d.full)
}

// Clear deletes a recorded lack of space, once there is space.
func (d *Disk) Clear() { d.full.Store(nil) }

func loadError(p *atomic.Pointer[error]) error {
	if err := p.Load(); err != nil {
		return *err
	}
	return nil
}

// IsNoSpace reports whether a write failed because a disk, a quota or a file's
// size limit is full.
func IsNoSpace(err error) bool {
	if errors.Is(err, ErrDiskFull) {
		return true
	}
	var no syscall.Errno
	if !errors.As(err, &no) {
		return false
	}
	if runtime.GOOS == "windows" {
		return no == 112 || no == 39 // ERROR_DISK_FULL, ERROR_HANDLE_DISK_FULL
	}
	return no == syscall.ENOSPC || no == syscall.EDQUOT || no == syscall.EFBIG
}

// Written handles the error of writing a file that is discarded on failure:
// lack of space and failed syncs are recorded, other errors are returned
// unchanged.
func (d *Disk) Written(err error) error {
	var path *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &path) && path.Op == "sync":
		return d.MarkFailed(err)
	case IsNoSpace(err):
		return d.MarkFull(err)
	}
	return err
}

// SyncFolder syncs a folder, so that the names in it are durable. Windows has
// no such call.
func SyncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
