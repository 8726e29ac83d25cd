package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
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
	partMail    = "mail"    // where there is a mail server
)

// readyParts are in the order of the log.
var readyParts = []string{partService, partStore, partDisk, partKey, partQueue, partObjects, partMail}

// readyTime is how long a part may take to report whether it is ready: a probe
// of a balancer waits a few seconds.
const readyTime = 3 * time.Second

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
	bucket := make(chan string, 1)
	if s.InBucket() { // while the store is asked
		go func() { bucket <- s.bucketReady(ctx) }()
	} else {
		delete(parts, partObjects)
	}
	if s.cfg.SMTP == nil {
		delete(parts, partMail)
	} else if why := s.observer.mailFailure.Load(); why != nil {
		parts[partMail] = *why
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
	if s.InBucket() {
		parts[partObjects] = <-bucket
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

// bucketReady returns why the bucket is not ready; empty: it is.
func (s *Service) bucketReady(ctx context.Context) string {
	if err := s.objects.Down(); err != nil { // it is looked at until it works
		return err.Error()
	}
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	err := s.objects.Ready(ctx)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.DeadlineExceeded):
		return "the bucket of the objects does not answer in time"
	}
	return err.Error() // in words for strangers
}

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

// needs are the parts that each capability needs.
func (s *Service) needs() map[string][]string {
	needs := map[string][]string{
		api.CapabilityReads:   {partService, partStore},
		api.CapabilityWrites:  {partService, partStore, partDisk},
		api.CapabilityUploads: {partService, partStore, partDisk, partObjects},
		api.CapabilityJobs:    {partService, partStore, partDisk, partObjects, partQueue},
		api.CapabilityMail:    {partService, partStore, partMail},
	}
	if s.replica() { // the disk is that of the files that come in
		needs[api.CapabilityWrites] = []string{partService, partStore}
		needs[api.CapabilityJobs] = []string{partService, partStore, partObjects, partQueue}
	}
	return needs
}

// capabilities returns the state of each capability, by what is bad of the
// parts. A capability is unavailable since the first time that this was found.
func (s *Service) capabilities(bad map[string]string) map[string]api.Capability {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]api.Capability{}
	for name, parts := range s.needs() {
		why := ""
		for _, part := range parts {
			why = cmp.Or(why, bad[part])
		}
		if why == "" {
			delete(s.unavailable, name)
			all[name] = api.Capability{Status: api.CapabilityOK}
			continue
		}
		since, known := s.unavailable[name]
		if !known {
			since = api.At(s.wall())
			if s.unavailable == nil {
				s.unavailable = map[string]api.Time{}
			}
			s.unavailable[name] = since
		}
		all[name] = api.Capability{Status: api.CapabilityUnavailable, Reason: why, Since: &since}
	}
	return all
}

// ready returns what the service can do now. If the capability that is asked
// for is unavailable, the error is a 503 that names the parts which are not
// ready; without a name that is [api.CapabilityReads], which most requests need.
// A change of the parts is logged once.
func (s *Service) ready(ctx context.Context, capability string) (api.Readiness, error) {
	capability = cmp.Or(capability, api.CapabilityReads)
	if !slices.Contains(api.CapabilityNames(), capability) {
		return api.Readiness{}, api.InvalidParameter("capability", "it is one of "+strings.Join(api.CapabilityNames(), ", "))
	}
	bad := map[string]string{}
	for part, why := range s.readiness(ctx) {
		if why != "" {
			bad[part] = why
		}
	}
	if err := ctx.Err(); err != nil {
		return api.Readiness{}, err
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
	all := s.capabilities(bad)
	if all[capability].Status != api.CapabilityOK {
		return api.Readiness{}, api.ErrUnavailable.With("not_ready", bad).With("capabilities", all)
	}
	return api.Readiness{Success: true, Capabilities: all, NotReady: bad}, nil
}

// uploadable returns why no file can be taken, as far as is known without
// asking; nil if one can.
func (s *Service) uploadable() error { return s.objects.Down() }

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
