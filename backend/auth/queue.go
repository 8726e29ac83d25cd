package auth

import (
	"context"
	"slices"
	"sync"

	"app.sunloop/backend/api"
)

// Limits of the queue of password hashes.
const (
	hashSlots       = 2  // hashes that run at once
	maxWaiting      = 32 // callers that wait, for each of the two lanes
	knownTurns      = 4  // turns in a row of the lane of known networks while others wait
	busyRetrySecond = 5
)

// errBusy is the refusal of a sign-in that finds the queue full.
func errBusy() error {
	e := api.ErrUnavailable.With("reason", "too many people sign in at this moment; try again in some seconds")
	e.RetryAfter = busyRetrySecond
	return e
}

// hashQueue bounds the password hashes that run and wait. A hash takes 64 MiB
// and a core for a tenth of a second, and everyone may ask for one.
//
// There are two lanes. In the first one wait callers from networks that the
// account has signed in from before, and the service itself. In the second one
// wait all others: they have one slot less, so that a known caller starts at
// once while others flood. Within a lane networks take turns. A full lane makes
// room for a network that waits for less than the network that waits for most,
// of which the latest caller is refused.
type hashQueue struct {
	mu      sync.Mutex
	slots   int
	running int
	others  int // of the running ones, those of the second lane
	inRow   int // turns of the first lane since the second one had its last
	known   lane
	unknown lane
}

// lane holds the callers that wait, by network, in the order of their turns.
type lane struct {
	shares  []*share
	waiting int
}

type share struct {
	network string
	callers []*caller
}

type caller struct {
	ready  chan struct{} // closed once its turn has come, or it is refused
	refuse error
	done   bool // ready is closed
}

// enter waits for the caller's turn; leave ends it. The error is errBusy or
// that of ctx.
func (q *hashQueue) enter(ctx context.Context, network string, known bool) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	q.mu.Lock()
	l := q.lane(known)
	c := &caller{ready: make(chan struct{})}
	if l.waiting >= maxWaiting && !l.makeRoom(network) {
		q.mu.Unlock()
		return nil, errBusy()
	}
	l.add(network, c)
	q.start()
	q.mu.Unlock()
	select {
	case <-c.ready:
	case <-ctx.Done():
		q.mu.Lock()
		if !c.done {
			l.remove(network, c)
			q.mu.Unlock()
			return nil, ctx.Err()
		}
		q.mu.Unlock()
	}
	if c.refuse != nil {
		return nil, c.refuse
	}
	return sync.OnceFunc(func() { q.leave(known) }), nil
}

func (q *hashQueue) leave(known bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	if !known {
		q.others--
	}
	q.start()
}

func (q *hashQueue) lane(known bool) *lane {
	if known {
		return &q.known
	}
	return &q.unknown
}

// start gives free slots to those whose turn it is.
func (q *hashQueue) start() {
	for q.running < q.slots {
		mayOthers := q.unknown.waiting > 0 && q.others < max(1, q.slots-1)
		switch {
		case q.known.waiting > 0 && (q.inRow < knownTurns || !mayOthers):
			q.known.next()
			if mayOthers {
				q.inRow++
			}
		case mayOthers:
			q.unknown.next()
			q.others++
			q.inRow = 0
		default:
			return
		}
		q.running++
	}
}

func (l *lane) find(network string) int {
	return slices.IndexFunc(l.shares, func(s *share) bool { return s.network == network })
}

func (l *lane) add(network string, c *caller) {
	i := l.find(network)
	if i < 0 {
		i = len(l.shares)
		l.shares = append(l.shares, &share{network: network})
	}
	l.shares[i].callers = append(l.shares[i].callers, c)
	l.waiting++
}

// next gives the turn to the first caller of the first network, which then is
// the last one.
func (l *lane) next() {
	s := l.shares[0]
	s.callers[0].end(nil)
	s.callers = s.callers[1:]
	l.shares = l.shares[1:]
	if len(s.callers) > 0 {
		l.shares = append(l.shares, s)
	}
	l.waiting--
}

func (l *lane) remove(network string, c *caller) {
	i := l.find(network)
	s := l.shares[i]
	s.callers = slices.DeleteFunc(s.callers, func(other *caller) bool { return other == c })
	if len(s.callers) == 0 {
		l.shares = slices.Delete(l.shares, i, i+1)
	}
	l.waiting--
}

// makeRoom refuses the latest caller of the network that waits for most, if
// network waits for less even with one more.
func (l *lane) makeRoom(network string) bool {
	own := 0
	if i := l.find(network); i >= 0 {
		own = len(l.shares[i].callers)
	}
	most := slices.MaxFunc(l.shares, func(a, b *share) int { return len(a.callers) - len(b.callers) })
	if len(most.callers) <= own+1 {
		return false
	}
	last := most.callers[len(most.callers)-1]
	l.remove(most.network, last)
	last.end(errBusy())
	return true
}

func (c *caller) end(refuse error) {
	c.refuse, c.done = refuse, true
	close(c.ready)
}
