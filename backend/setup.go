package backend

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// setupTokenFile is the file, in the data folder, that holds the setup token.
// setupPoll is the interval at which a process checks whether another one has
// completed the setup.
const (
	setupTokenFile = "setup-token"
	setupPoll      = 10 * time.Second
)

// offerSetup writes the setup token into the data folder and announces it, if
// there is no user, and removes the file once there is one.
func (s *Service) offerSetup(ctx context.Context, o *opened) {
	path := filepath.Join(s.cfg.DataDir, setupTokenFile)
	offered := ""
	for {
		token, err := o.auth.SetupToken(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.log.Warn("create setup token", "error", err)
		case token == "":
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				s.log.Warn("remove setup token", "error", err)
			}
			return
		case token != offered:
			if err := writeSetupToken(path, token); err != nil {
				s.log.Warn("write setup token", "error", err)
			}
			s.cfg.SetupToken(token, path)
			offered = token
		}
		select {
		case <-ctx.Done():
			return
		case <-s.userCreated:
		case <-time.After(setupPoll):
		}
	}
}

// writeSetupToken replaces the file, which only its owner can read.
func writeSetupToken(path, token string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".setup-token-*") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if _, err := fmt.Fprintln(f, token); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
