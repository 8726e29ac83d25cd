package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openUnnamed makes a file in dir that has no name yet. Not every file system
// can.
func openUnnamed(dir string) (*os.File, error) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		return nil, err // linkUnnamed needs it
	}
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	return os.NewFile(uintptr(fd), dir), nil
}

// linkUnnamed names a file of openUnnamed. It fails if path exists.
func linkUnnamed(f *os.File, path string) error {
	if err := unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", f.Fd()), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW); err != nil {
		return &os.PathError{Op: "link", Path: path, Err: err}
	}
	return nil
}
