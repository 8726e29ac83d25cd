package bolt

import (
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"go.etcd.io/bbolt"
)

// The file is mapped into memory, so that damage to it, or a disk that cannot
// read, is met as a fault of the machine or as a panic of bbolt, which trusts its
// pages. Each transaction runs under a guard that returns them as errors which
// wrap store.ErrDamaged. A panic of a closure itself passes through.

// mapped is a database file with the guards of its transactions.
type mapped struct {
	*bbolt.DB
	file   *os.File
	schema uint32                // of the file when it was opened
	sums   bool                  // values carry checksums
	ended  atomic.Pointer[error] // why no transaction may begin any more
	stuck  atomic.Bool           // a lock of bbolt may be held for ever
}

// view runs fn over the last committed state.
func (m *mapped) view(fn func(r root) error) error {
	if err := m.failure(); err != nil {
		return err
	}
	begun := false
	err := guarded(func() error {
		return m.DB.View(func(tx *bbolt.Tx) error {
			begun = true
			return fn(root{tx, m.sums})
		})
	})
	if errors.As(err, new(damaged)) && !begun {
		m.end(err)
	}
	return err
}

// update runs fn and commits what it wrote. Damage that is met outside of fn may
// leave bbolt's state and locks as they are: nothing is written after it.
func (m *mapped) update(fn func(r root) error) error {
	if err := m.failure(); err != nil {
		return err
	}
	var inside error
	err := guarded(func() error {
		return m.DB.Update(func(tx *bbolt.Tx) error {
			inside = guarded(func() error { return fn(root{tx, m.sums}) })
			return inside
		})
	})
	if errors.As(err, new(damaged)) && !errors.Is(err, inside) {
		m.end(err)
	}
	return err
}

// end lets no transaction begin any more.
func (m *mapped) end(err error) {
	m.stuck.Store(true)
	m.ended.CompareAndSwap(nil, &err)
}

// close closes the file. It does not wait for a lock that bbolt does not release.
func (m *mapped) close() error {
	if m.stuck.Load() {
		return m.file.Close()
	}
	return m.DB.Close()
}

func (m *mapped) failure() error {
	if err := m.ended.Load(); err != nil {
		return *err
	}
	return nil
}

// guarded runs fn, which reads the mapped file.
func guarded(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if err = damageOf(p); err == nil {
			panic(p)
		}
	}()
	return fn()
}

// damageOf is the error of a panic that damage to the file caused; nil for any
// other. It is called by the function that recovered.
func damageOf(p any) error {
	if d, ok := p.(damaged); ok {
		return d
	}
	// Only mapped memory faults at an address that is not near nil.
	if fault, ok := p.(interface{ Addr() uintptr }); ok && fault.Addr() >= 1<<16 {
		return damaged{damage("a page of %s cannot be read", fileName)}
	}
	if byBolt() {
		return damaged{damage("%v", p)}
	}
	return nil
}

func (d damaged) Unwrap() error { return d.error }

// byBolt reports whether the current panic began in bbolt.
func byBolt() bool {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	panicking := false
	for {
		f, more := frames.Next()
		if own := strings.HasPrefix(f.Function, "runtime."); f.Function == "runtime.gopanic" {
			panicking = true
		} else if panicking && !own {
			return strings.HasPrefix(f.Function, "go.etcd.io/bbolt")
		}
		if !more {
			return false
		}
	}
}
