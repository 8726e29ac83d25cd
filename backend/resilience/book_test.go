package resilience

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// promise is what must hold of something after its last acknowledged change;
// at the end, also what takes its time.
type promise func(ctx context.Context, c visitor, atEnd bool) error

// book is what the service acknowledged: each promise under the name of what it
// is about, and the requests that changed something.
type book struct {
	mu           sync.Mutex
	promises     map[string]promise
	fresh        map[string]bool // names of promises that no round has checked
	requests     map[string]string
	acknowledged int
	last         map[string]time.Time // by kind of request: when the last one began that was acknowledged
	refusals     map[string]int       // answers that are none of a service that is killed
	// logged says that the service logged a request's audit record, as the
	// database was away between the change and its record; nil: it cannot be.
	logged   func(requestID string) bool
	logAlone int // such requests
}

func newBook() *book {
	return &book{promises: map[string]promise{}, fresh: map[string]bool{}, requests: map[string]string{}, last: map[string]time.Time{}, refusals: map[string]int{}}
}

// keep notes what holds from now on, in place of what held of the same thing.
func (b *book) keep(name string, p promise) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.promises[name] = p
	b.fresh[name] = true
}

// write does one request that changes something. Its error means that the
// change may have been made or not.
func (b *book) write(ctx context.Context, what string, do func(context.Context) error) error {
	var reply client.Reply
	begun := time.Now()
	err := do(client.Observe(ctx, &reply))
	b.mu.Lock()
	defer b.mu.Unlock()
	var refused *api.Error
	switch {
	case err == nil:
		b.acknowledged++
		b.last[what] = begun
		b.requests[reply.RequestID] = what
	case errors.As(err, &refused) && refused.Status != 429 && refused.Status != 503:
		b.refusals[fmt.Sprintf("%s: %d %s", what, refused.Status, refused.Message)]++
	}
	return err
}

// since says whether a request was acknowledged that began after a time; of
// some kinds, or of any where none is named.
func (b *book) since(at time.Time, kinds ...string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for kind, last := range b.last {
		if last.After(at) && (len(kinds) == 0 || slices.Contains(kinds, kind)) {
			return true
		}
	}
	return false
}

// check holds the service to what is new since the last check and to some of
// the rest; to all at the end.
func (b *book) check(ctx context.Context, clients []visitor, dice *rand.Rand, atEnd bool) error {
	b.mu.Lock()
	names := slices.Sorted(maps.Keys(b.promises))
	if !atEnd {
		dice.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
		old := 0
		names = slices.DeleteFunc(names, func(n string) bool {
			if !b.fresh[n] {
				old++
			}
			return !b.fresh[n] && old > 20
		})
	}
	clear(b.fresh)
	promises := maps.Clone(b.promises)
	b.mu.Unlock()
	var errs []error
	for i, name := range names {
		if err := promises[name](ctx, clients[i%len(clients)], atEnd); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(append(errs, b.checkTrail(ctx, clients[0]))...)
}

// checkAll compares the service with everything that it ever acknowledged,
// once no request is running.
func (b *book) checkAll(ctx context.Context, clients []visitor) error {
	b.mu.Lock()
	b.fresh = map[string]bool{}
	b.mu.Unlock()
	return b.check(ctx, clients, nil, true)
}

// checkTrail looks for the audit record of each acknowledged change since the
// last check.
func (b *book) checkTrail(ctx context.Context, c visitor) error {
	b.mu.Lock()
	missing := b.requests
	b.requests = map[string]string{}
	b.mu.Unlock()
	q := api.AuditRequest{Action: api.ActionList, Page: api.Page{Limit: api.MaxLimit}}
	for len(missing) > 0 {
		list, err := c.Audit(ctx, q)
		if err != nil {
			return err
		}
		for _, r := range list.Records {
			delete(missing, r.RequestID)
		}
		if q.Cursor = list.NextCursor; q.Cursor == "" {
			break
		}
	}
	for id := range missing {
		if b.logged != nil && b.logged(id) {
			b.logAlone++
			delete(missing, id)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("no audit record of %v", missing)
	}
	return nil
}

// refusal is the status of an answer, 200 for none.
func refusal(err error) (status int, other error) {
	var refused *api.Error
	switch {
	case err == nil:
		return 200, nil
	case errors.As(err, &refused):
		return refused.Status, nil
	}
	return 0, err
}

// refused says that what must not work any more still does.
func refused(err error) error {
	status, other := refusal(err)
	switch {
	case other != nil:
		return other
	case status < 400 || status >= 500 || status == 429:
		return fmt.Errorf("it works again: %d", status)
	}
	return nil
}
