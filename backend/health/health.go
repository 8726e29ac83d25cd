// Package health says what a service can do now: the readiness of its parts and
// the capabilities that need them.
package health

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/objects"
	"app.sunloop/internal/display"
)

// Config is what a Checker looks at.
type Config struct {
	DataDir string
	KeyFile string
	Disk    *store.Disk
	Objects *objects.Store
	Bucket  bool // the objects are in a bucket
	Shared  bool // the records are in a database that replicas share
	Mail    bool // there is a mail server
	Wall    func() time.Time
	Log     *slog.Logger
	// Space returns the free bytes and the size of the disk; nil: of DataDir's.
	Space func() (free, size uint64, err error)

	// Open returns the open records and the folder of received files; nil records
	// and the reason while they cannot be opened.
	Open func() (records Records, spool, reason string)
	// JobProgress returns when a job last began or ended.
	JobProgress func() time.Time
	// MailFailure returns why the mail server accepts no messages; empty if it
	// does.
	MailFailure func() string
}

// Records are the open records.
type Records interface {
	// Ready returns why nothing can be read or written now.
	Ready(ctx context.Context) error
	// Next returns when the next job is due.
	Next(ctx context.Context) (at time.Time, waiting bool, err error)
}

// Checker reports readiness. Its methods are safe for concurrent use.
type Checker struct {
	Config
	ending atomic.Bool

	mu          sync.Mutex
	unavailable map[string]api.Time // when each unavailable capability was found unavailable
	unready     string              // parts that were not ready last, as logged
}

// New returns a Checker.
func New(c Config) *Checker {
	if c.Space == nil {
		c.Space = func() (free, size uint64, err error) { return DiskSpace(c.DataDir) }
	}
	return &Checker{Config: c}
}

// End reports the service as not ready from now on, so that a load balancer sends
// no more requests.
func (c *Checker) End() { c.ending.Store(true) }

// Parts of readiness.
const (
	partService = "service"
	partStore   = "store"
	partDisk    = "disk"
	partKey     = "key"
	partQueue   = "queue"
	partObjects = "objects" // in a bucket; a folder is part of the disk
	partMail    = "mail"    // if there is a mail server
)

// readyParts in the order of the log.
var readyParts = []string{partService, partStore, partDisk, partKey, partQueue, partObjects, partMail}

// readyTime bounds the probe of a part: a load balancer waits a few seconds.
const readyTime = 3 * time.Second

const (
	// MinFreeBytes is the free space in bytes below which the service is not ready:
	// some uploads and the growth of the file must still fit.
	MinFreeBytes = 64 << 20
	// StuckAfter is how long a job may be due while no other begins or ends.
	StuckAfter = time.Hour
)

// Readiness returns for each part why it is not ready, without secrets and paths;
// empty if it is.
func (c *Checker) Readiness(ctx context.Context) map[string]string {
	parts := map[string]string{}
	for _, part := range readyParts {
		parts[part] = ""
	}
	bucket := make(chan string, 1)
	if c.Bucket { // while the store is asked
		go func() { bucket <- c.bucketReady(ctx) }()
	} else {
		delete(parts, partObjects)
	}
	if !c.Mail {
		delete(parts, partMail)
	} else {
		parts[partMail] = c.MailFailure()
	}
	if c.ending.Load() {
		parts[partService] = "the service is ending"
	}
	var next time.Time
	waits := false
	records, spool, reason := c.Open()
	if records == nil {
		parts[partStore] = reason
	} else {
		parts[partStore] = storeReady(ctx, records)
	}
	if records != nil && parts[partStore] == "" {
		var err error
		if next, waits, err = records.Next(ctx); err != nil {
			parts[partStore] = unreadable
		}
	}
	if c.Disk.Failure() != nil {
		parts[partDisk] = "the disk failed: nothing is stored until the service is started again"
	} else if c.checkSpace(spool) != nil {
		parts[partDisk] = "the disk is full"
	} else if free, _, err := c.Space(); err == nil && free < MinFreeBytes {
		parts[partDisk] = "less than " + display.Bytes(MinFreeBytes) + " are free"
	} else if err != nil {
		parts[partDisk] = "its free space is not known"
	}
	if info, err := os.Stat(c.KeyFile); records != nil && (err != nil || !info.Mode().IsRegular()) {
		parts[partKey] = "the key file is gone: restore it before the next start"
	}
	if c.Bucket {
		parts[partObjects] = <-bucket
	}
	now := c.Wall()
	if waits && now.Sub(next) > StuckAfter && now.Sub(c.JobProgress()) > StuckAfter {
		parts[partQueue] = "jobs are due and none begins"
	}
	return parts
}

// unreadable is the reason of a store whose error must not be sent to clients.
const unreadable = "the store cannot be read"

// bucketReady returns why the bucket is not ready; empty if it is.
func (c *Checker) bucketReady(ctx context.Context) string {
	if err := c.Objects.Down(); err != nil { // it is probed until it works
		return err.Error()
	}
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	err := c.Objects.Ready(ctx)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.DeadlineExceeded):
		return "the bucket of the objects does not answer in time"
	}
	return err.Error() // without secrets
}

// storeReady returns why the records are not ready; empty if they are.
func storeReady(ctx context.Context, records Records) string {
	err := records.Ready(ctx)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, store.ErrUnavailable):
		return store.Reason(err)
	}
	return unreadable
}

// needs returns the parts that each capability needs.
func (c *Checker) needs() map[string][]string {
	needs := map[string][]string{
		api.CapabilityReads:   {partService, partStore},
		api.CapabilityWrites:  {partService, partStore, partDisk},
		api.CapabilityUploads: {partService, partStore, partDisk, partObjects},
		api.CapabilityJobs:    {partService, partStore, partDisk, partObjects, partQueue},
		api.CapabilityMail:    {partService, partStore, partMail},
	}
	if c.Shared { // the disk is that of the files that come in
		needs[api.CapabilityWrites] = []string{partService, partStore}
		needs[api.CapabilityJobs] = []string{partService, partStore, partObjects, partQueue}
	}
	return needs
}

// capabilities returns the state of each capability, from the parts that are not
// ready. A capability is unavailable since the first time that it was found so.
func (c *Checker) capabilities(bad map[string]string) map[string]api.Capability {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]api.Capability{}
	for name, parts := range c.needs() {
		why := ""
		for _, part := range parts {
			why = cmp.Or(why, bad[part])
		}
		if why == "" {
			delete(c.unavailable, name)
			all[name] = api.Capability{Status: api.CapabilityOK}
			continue
		}
		since, known := c.unavailable[name]
		if !known {
			since = api.At(c.Wall())
			if c.unavailable == nil {
				c.unavailable = map[string]api.Time{}
			}
			c.unavailable[name] = since
		}
		all[name] = api.Capability{Status: api.CapabilityUnavailable, Reason: why, Since: &since}
	}
	return all
}

// Ready returns what the service can do now. If the capability that is asked
// for is unavailable, the error is a 503 that names the parts which are not
// ready; without a name that is [api.CapabilityReads], which most requests need.
// A change of the parts is logged once.
func (c *Checker) Ready(ctx context.Context, capability string) (api.Readiness, error) {
	capability = cmp.Or(capability, api.CapabilityReads)
	if !slices.Contains(api.CapabilityNames(), capability) {
		return api.Readiness{}, api.InvalidParameter("capability", "it is one of "+strings.Join(api.CapabilityNames(), ", "))
	}
	bad := map[string]string{}
	for part, why := range c.Readiness(ctx) {
		if why != "" {
			bad[part] = why
		}
	}
	if err := ctx.Err(); err != nil {
		return api.Readiness{}, err
	}
	words := partsOf(bad)
	c.mu.Lock()
	changed := words != c.unready
	c.unready = words
	c.mu.Unlock()
	switch {
	case words != "" && changed:
		c.Log.WarnContext(ctx, "not ready", "parts", words)
	case changed:
		c.Log.InfoContext(ctx, "ready again")
	}
	all := c.capabilities(bad)
	if all[capability].Status != api.CapabilityOK {
		return api.Readiness{}, api.ErrUnavailable.With("not_ready", bad).With("capabilities", all)
	}
	return api.Readiness{Success: true, Capabilities: all, NotReady: bad}, nil
}

// Uploadable returns why no file can be accepted, as far as is known without a
// probe; nil if one can.
func (c *Checker) Uploadable() error { return c.Objects.Down() }

// RoomBytes must fit on a disk that was full before the service is ready again:
// the file of records grows by as much.
const RoomBytes = 1 << 20

// checkSpace reports, after a write found the disk full, whether it still is: it writes
// a file of RoomBytes and removes it.
func (c *Checker) checkSpace(spool string) error {
	if c.Disk.Full() == nil {
		return nil
	}
	f, err := os.CreateTemp(spool, "room-*")
	if err != nil {
		return c.Disk.Written(err)
	}
	_, err = f.Write(make([]byte, RoomBytes))
	err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	if err == nil {
		c.Disk.Clear()
	}
	return c.Disk.Written(err)
}

// partsOf lists the parts that are not ready, for the log.
func partsOf(bad map[string]string) string {
	var words []string
	for _, part := range readyParts {
		if why := bad[part]; why != "" {
			words = append(words, part+": "+why)
		}
	}
	return strings.Join(words, "; ")
}
