//go:build !linux

package pgtest

import (
	"errors"
	"syscall"
	"testing"
	"time"
)

const supported = false

var errUnsupported = errors.New("PostgreSQL is started on Linux only")

type process struct{ ended chan struct{} }

func newFolder() (string, error) { return "", errUnsupported }

func run(string, []string, ...string) error { return errUnsupported }

func launch(string, []string, string) (*process, error) { return nil, errUnsupported }

func (p *process) stop() {}

func (p *process) signal(syscall.Signal) error { return errUnsupported }

// Stop ends the server in order and waits for it.
func (s *Server) Stop() {}

// Kill ends the server as a crash does.
func (s *Server) Kill() {}

// Freeze does nothing here.
func (s *Server) Freeze(testing.TB) (thaw func()) { return func() {} }

// CPU counts nothing here.
func (s *Server) CPU() (used func() time.Duration) {
	return func() time.Duration { return 0 }
}
