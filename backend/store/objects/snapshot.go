package objects

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"app.sunloop/backend/regularfile"
	"app.sunloop/backend/store"
)

// Snapshot keeps the objects that exist when it is made, so that a copy of the
// records made after it finds all objects to which these refer. Objects that
// are deleted meanwhile are gone for all other readers at once.
type Snapshot struct {
	store *Store
	aside map[string]string // key → path of the file that the key had when the snapshot began
}

var (
	// errSnapshotOpen is the error of a second open snapshot, which is not supported.
	errSnapshotOpen = errors.New("the objects are held already")
	// ErrNoSnapshot is the error of a bucket: a snapshot belongs to one process,
	// a bucket to many.
	ErrNoSnapshot = errors.New("objects in a bucket are not part of a backup: they are kept by the bucket's own versioning or replication")
)

// Snapshot starts a snapshot; one can be open at a time. Release ends it; a process that is killed
// before leaves files that the next start removes. Objects in memory
// are not kept, and a bucket has no snapshots.
func (s *Store) Snapshot() (*Snapshot, error) {
	if s.remote != nil {
		return nil, ErrNoSnapshot
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hold != nil {
		return nil, errSnapshotOpen
	}
	s.hold = &Snapshot{store: s, aside: map[string]string{}}
	return s.hold, nil
}

// setAside moves a key's file aside for a snapshot; ok is false if there is no
// file, or none that it would have to keep.
func (s *Store) setAside(key string) (ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hold == nil || s.folder == "" || s.hold.aside[key] != "" {
		return false, nil // a second object of the key came after the snapshot
	}
	var mark [8]byte
	_, _ = rand.Read(mark[:])
	path := s.path(key)
	aside := path + "." + hex.EncodeToString(mark[:]) + ".tmp" // as sweep knows them
	if err := os.Rename(path, aside); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return false, err
	}
	s.hold.aside[key] = aside
	return true, nil
}

func (s *Store) path(key string) string { return filepath.Join(s.folder, filepath.FromSlash(key)) }

// Keys are those of all objects of the snapshot, in order. Some that came after
// its beginning are among them.
func (h *Snapshot) Keys(ctx context.Context) ([]string, error) {
	if h.store.folder == "" {
		return nil, errors.New("list objects: they are not on disk")
	}
	keys := map[string]bool{}
	err := fs.WalkDir(os.DirFS(h.store.folder), ".", func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name != "." {
			return nil // deleted while the folder was read
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && !d.IsDir() && check(name) == nil {
			if !d.Type().IsRegular() {
				return &regularfile.Error{Path: h.store.path(name), Mode: d.Type()}
			}
			keys[name] = true
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list objects: %w", err)
	}
	h.store.mu.Lock()
	defer h.store.mu.Unlock()
	for key := range h.aside {
		keys[key] = true
	}
	return slices.Sorted(maps.Keys(keys)), nil
}

// Open reads an object of the snapshot, or returns [store.ErrNotFound].
func (h *Snapshot) Open(key string) (io.ReadCloser, error) {
	if err := check(key); err != nil {
		return nil, err
	}
	h.store.mu.Lock()
	defer h.store.mu.Unlock()
	path := h.store.path(key)
	if aside := h.aside[key]; aside != "" {
		path = aside
	}
	f, err := regularfile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("open object %s: %w", key, err)
	}
	return f, nil
}

// Release ends the snapshot and removes the files of what was deleted meanwhile.
func (h *Snapshot) Release() error {
	h.store.mu.Lock()
	if h.store.hold == h {
		h.store.hold = nil
	}
	aside := h.aside
	h.aside = nil
	h.store.mu.Unlock()
	var failed []string
	for key, path := range aside {
		if err := os.Remove(path); err != nil {
			failed = append(failed, key)
		}
	}
	if failed != nil {
		return fmt.Errorf("remove deleted objects %s", strings.Join(failed, ", "))
	}
	return nil
}
