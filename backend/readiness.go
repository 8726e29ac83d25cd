package backend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/objects"
)

// Parts that readiness is made of.
const (
	partService = "service"
	partStore   = "store"
	partDisk    = "disk"
	partKey     = "key"
	partQueue   = "queue"
	partObjects = "objects" // where they are in a bucket; those in a folder are the disk's
)

// readyParts are in the order of the log.
var readyParts = []string{partService, partStore, partDisk, partKey, partQueue, partObjects}

const (
	// leastFree is the room on the disk below which the service is not ready:
	// some uploads and the growth of the file must still fit.
	leastFree = 64 << 20
	// stuckAfter is how long a job may be due while no other begins or ends.
	stuckAfter = time.Hour
)

const keyName, outboxFolder = "sunloop.key", "outbox"

// readiness says for each part why it is not ready, in words for strangers;
// empty: it is.
func (s *Service) readiness(ctx context.Context) map[string]string {
	parts := map[string]string{}
	for _, part := range readyParts {
		parts[part] = ""
	}
	if s.InBucket() {
		if err := s.objects.Ready(ctx); err != nil {
			parts[partObjects] = err.Error() // in words for strangers
		}
	} else {
		delete(parts, partObjects)
	}
	if s.ending.Load() {
		parts[partService] = "the service is ending"
	}
	var next time.Time
	waits := false
	if !s.open.Load() {
		parts[partStore] = s.waitingFor()
	} else {
		parts[partStore] = s.storeReady(ctx)
	}
	if s.open.Load() && parts[partStore] == "" {
		var err error
		if next, waits, err = s.store.Next(ctx); err != nil {
			parts[partStore] = unreadable
		}
	}
	if s.disk.Failure() != nil {
		parts[partDisk] = "the disk failed: nothing is stored until the service is started again"
	} else if s.room() != nil {
		parts[partDisk] = "the disk is full"
	} else if free, _, err := s.space(); err == nil && free < leastFree {
		parts[partDisk] = fmt.Sprintf("less than %d MiB are free", leastFree>>20)
	} else if err != nil {
		parts[partDisk] = "its free space is not known"
	}
	if info, err := os.Stat(s.keyFile); s.open.Load() && (err != nil || !info.Mode().IsRegular()) {
		parts[partKey] = "the key file is gone: restore it before the next start"
	}
	now := s.observer.wall()
	if waits && now.Sub(next) > stuckAfter && now.Sub(time.Unix(0, s.observer.progress.Load())) > stuckAfter {
		parts[partQueue] = "jobs are due and none begins"
	}
	return parts
}

// unreadable is a store that cannot be read for reasons of which strangers are
// told no more.
const unreadable = "the store cannot be read"

// storeReady is why the home is not ready; empty: it is.
func (s *Service) storeReady(ctx context.Context) string {
	err := s.store.Ready(ctx)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, store.ErrUnavailable):
		return store.Reason(err)
	}
	return unreadable
}

// ready answers nil, or a refusal that names the parts which are not ready. A
// change is logged once.
func (s *Service) ready(ctx context.Context) error {
	bad := map[string]string{}
	for part, why := range s.readiness(ctx) {
		if why != "" {
			bad[part] = why
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	words := partsOf(bad)
	s.mu.Lock()
	changed := words != s.unready
	s.unready = words
	s.mu.Unlock()
	switch {
	case words != "" && changed:
		s.log.WarnContext(ctx, "not ready", "parts", words)
	case changed:
		s.log.InfoContext(ctx, "ready again")
	}
	if words == "" {
		return nil
	}
	return api.ErrUnavailable.With("not_ready", bad)
}

// roomBytes is what must fit on a disk that was full before the service is
// ready again: the file of records grows by as much.
const roomBytes = 1 << 20

// room says, after a write found the disk full, whether it still is: it writes
// a file of roomBytes and removes it.
func (s *Service) room() error {
	if s.disk.Full() == nil {
		return nil
	}
	f, err := os.CreateTemp(s.spool, "room-*")
	if err != nil {
		return s.disk.Written(err)
	}
	_, err = f.Write(make([]byte, roomBytes))
	err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	if err == nil {
		s.disk.Clear()
	}
	return s.disk.Written(err)
}

// objectUsage counts objects seldom, as it looks at each.
type objectUsage struct {
	mu    sync.Mutex
	at    time.Time
	n     int
	bytes int64
}

const usageLife = 10 * time.Minute

func (u *objectUsage) of(ctx context.Context, o *objects.Store, now time.Time) (n int, bytes int64, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.at.IsZero() && now.Sub(u.at) < usageLife {
		return u.n, u.bytes, nil
	}
	n, bytes, err = o.Usage(ctx)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return n, bytes, err
	}
	if err == nil {
		u.n, u.bytes = n, bytes
	}
	u.at = now // too many to count within a scrape: the former count, until the next try
	return u.n, u.bytes, nil
}
