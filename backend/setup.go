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

// setupTokenFile is the file of the data folder that holds the setup token, and
// setupLook is how often a process looks whether another one has ended the
// setup.
const (
	setupTokenFile = "setup-token"
	setupLook      = 10 * time.Second
)

// offerSetup writes the setup token into the data folder and announces it, if
// there is no user, and removes the file once there is one.
func (s *Service) offerSetup(ctx context.Context) {
	path := filepath.Join(s.dir, setupTokenFile)
	offered := ""
	for {
		token, err := s.auth.SetupToken(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.log.Warn("make the setup token", "error", err)
		case token == "":
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				s.log.Warn("remove the setup token", "error", err)
			}
			return
		case token != offered:
			if err := writeSetupToken(path, token); err != nil {
				s.log.Warn("write the setup token", "error", err)
			}
			s.cfg.SetupToken(token, path)
			offered = token
		}
		select {
		case <-ctx.Done():
			return
		case <-s.userMade:
		case <-time.After(setupLook):
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
