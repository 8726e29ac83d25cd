package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"app.sunloop/backend/regularfile"
)

// sessions keeps a person's tokens, one for each service, in a file that only
// the person can read.
type sessions struct{ path string }

func (s sessions) read() (map[string]string, error) {
	tokens := map[string]string{}
	b, err := regularfile.Read(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return tokens, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the session: %w", err)
	}
	if err := json.Unmarshal(b, &tokens); err != nil {
		return nil, fmt.Errorf("read the session: %s: %w", s.path, err)
	}
	return tokens, nil
}

// token is the kept token of a service, empty without one. A file that cannot
// be read only means that one signs in again.
func (s sessions) token(service string) string {
	tokens, err := s.read()
	if err != nil {
		return ""
	}
	return tokens[service]
}

// keep stores a service's token, or forgets it when empty.
func (s sessions) keep(service, token string) error {
	tokens, err := s.read()
	if err != nil {
		tokens = map[string]string{}
	}
	if token == "" {
		delete(tokens, service)
	} else {
		tokens[service] = token
	}
	b, err := json.Marshal(tokens)
	if err != nil {
		return err
	}
	return writePrivate(s.path, b)
}

// writePrivate replaces a file that only its owner may read, atomically.
func writePrivate(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".sunloop-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if _, err := tmp.Write(b); err != nil {
		return errors.Join(err, tmp.Close())
	}
	if err := errors.Join(tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
