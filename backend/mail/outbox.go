package mail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/oklog/ulid/v2"
)

// keep is how many messages an outbox holds: a flood must not fill the disk.
const keep = 1000

// Outbox stores messages as files, for an operator to read or to pass on.
type Outbox struct {
	dir, from string
	mu        sync.Mutex
}

// OpenOutbox opens the folder, and makes it if needed.
func OpenOutbox(dir, from string) (*Outbox, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the outbox: %w", err)
	}
	return &Outbox{dir: dir, from: from}, nil
}

// Send writes the message as a file whose names sort by time, and drops the
// oldest beyond a thousand.
func (o *Outbox) Send(_ context.Context, m Message) error {
	var b bytes.Buffer
	if err := write(&b, o.from, m); err != nil {
		return fmt.Errorf("write message: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	name := ulid.MustNew(ulid.Timestamp(m.At), ulid.DefaultEntropy()).String() + ".eml"
	// Written atomically: other programs may watch the folder.
	part := filepath.Join(o.dir, "."+name)
	if err := os.WriteFile(part, b.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write message: %w", err)
	}
	if err := os.Rename(part, filepath.Join(o.dir, name)); err != nil {
		return fmt.Errorf("write message: %w", errors.Join(err, os.Remove(part)))
	}
	return o.drop()
}

func (o *Outbox) drop() error {
	entries, err := os.ReadDir(o.dir) // by name, so by time
	if err != nil {
		return fmt.Errorf("read the outbox: %w", err)
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return e.IsDir() || !strings.HasSuffix(e.Name(), ".eml") })
	for _, e := range entries[:max(len(entries)-keep, 0)] {
		if err := os.Remove(filepath.Join(o.dir, e.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("drop old message: %w", err)
		}
	}
	return nil
}
