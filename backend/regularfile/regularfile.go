// Package regularfile opens files that must be regular ones, such as those of a
// data folder. Opening or reading a named pipe can wait without end, and opening
// a device can change it: the functions of this package return an error for
// both, for sockets and for directories, and never wait. Symbolic links are
// followed.
package regularfile

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Error is the error of a file that is not regular.
type Error struct {
	Path string
	Mode fs.FileMode
}

// Error names the file and what it is.
func (e *Error) Error() string {
	return fmt.Sprintf("open %s: it is %s, not a regular file", e.Path, Kind(e.Mode))
}

// Kind names the kind of a file, such as "a named pipe".
func Kind(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "a regular file"
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	}
	return "a special file"
}

// Check returns an [Error] if path names a file that is not regular, and the
// error of [os.Stat] if it names none.
func Check(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return check(path, info)
}

func check(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return &Error{path, info.Mode()}
	}
	return nil
}

// Open opens a file to be read.
func Open(path string) (*os.File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// OpenFile opens a file as [os.OpenFile] does. With os.O_CREATE it creates a
// missing file.
func OpenFile(path string, flag int, mode fs.FileMode) (*os.File, error) {
	// Before it is opened, as opening a device can change it.
	if err := Check(path); err != nil && (flag&os.O_CREATE == 0 || !os.IsNotExist(err)) {
		return nil, err
	}
	// The file may have been replaced since: without waiting for a writer of a
	// named pipe. Reads and writes of a regular file ignore the flag.
	f, err := os.OpenFile(path, flag|syscall.O_NONBLOCK, mode)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = check(path, info)
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}

// Read returns the content of a file.
func Read(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}
