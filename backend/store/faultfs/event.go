// Package faultfs observes the file operations of a process in one folder, for
// tests: each write, sync and rename may fail with a given error, and from the
// record of all operations [Disk] makes the folders that a power loss at any
// moment could leave.
//
// The program under test is the real one, with its real system calls; it does
// not know that it is observed. Observation needs Linux (a seccomp filter with
// a listener, kernel 5.19) and no privilege.
package faultfs

import (
	"errors"
	"syscall"
)

// ErrUnsupported is of a system that does not let one process watch another's
// calls.
var ErrUnsupported = errors.New("the system does not let a process be watched")

// Op is a kind of change.
type Op string

// What a process does to files. Said is no change: it is what the process
// wrote to its standard output, in its place among the changes.
const (
	Create     Op = "create"
	Write      Op = "write"
	Truncate   Op = "truncate"
	Sync       Op = "sync"
	Rename     Op = "rename"
	Link       Op = "link"
	Remove     Op = "remove"
	MakeFolder Op = "mkdir"
	Marker     Op = "said"
)

// Event is one call of the process. Paths are relative to the folder that is
// watched, "." for itself; a file that has lost its name has one that no other
// file has.
type Event struct {
	Op     Op
	Path   string
	To     string // the new name of Rename and Link
	Offset int64  // of Write, in bytes
	Data   []byte // of Write and Said
	Size   int64  // after Truncate, in bytes
	// Err is the error that the process got in place of the effect.
	Err syscall.Errno
}

// Effect is the result of a call: only its effect (the zero value), or an
// error. Short lets the first bytes of a Write at an offset reach the file;
// its rest comes in the next call, as after every short write.
type Effect struct {
	Err   syscall.Errno
	Short int
}
