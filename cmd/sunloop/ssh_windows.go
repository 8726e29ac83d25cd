//go:build windows

package main

import (
	"context"
	"errors"
	"log/slog"

	"app.sunloop/backend"
)

// SSHCmd says that consoles are served over SSH on other systems.
type SSHCmd struct {
	Rest []string `arg:"" optional:"" passthrough:""`
}

var errNoSSH = errors.New("sunloop serves no consoles over SSH on Windows")

// Run refuses.
func (SSHCmd) Run() error { return errNoSSH }

// openSSH refuses.
func openSSH(context.Context, *Globals, string, SSHFlags, *backend.Service, *slog.Logger) (func(context.Context) error, error) {
	return nil, errNoSSH
}
