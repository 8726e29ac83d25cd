package auth

import (
	"context"
	"slices"
	"sync"

	"app.sunloop/backend/api"
)

// Limits of the queue of password hashes.
const (
	hashSlots        = 2  // hashes of the current parameters that run at the same time
	maxWaiting       = 32 // callers that wait, for each of the two lanes
	knownTurns       = 4  // consecutive turns of the lane of known networks while the other lane has callers
	busyRetrySeconds = 5
)

// errBusy returns the error of a sign-in for which the queue has no place.
func errBusy() error {
	e := api.ErrUnavailable.With("reason", "too many people sign in at this moment; try again in some seconds")
	e.RetryAfter = busyRetrySeconds
	return e
}

// hashQueue limits the password hashes that run and wait, because each takes
// memory and a core, and a caller needs no credential to request one.
//
// The queue has two lanes. Callers from networks from which the account has
// signed in before wait in the first lane, as does the service itself. All
// other callers wait in the second lane, which can use all slots except one: a
// caller from a known network starts immediately during a flood. Within a lane
// networks take turns. If a lane is full, a caller of a network with fewer
// waiting callers replaces the latest caller of the network with the most.
//
// A large hash, of parameters that need more memory than the current ones,
// takes all slots: it runs alone.
type hashQueue struct {
	mu          sync.Mutex
	slots       int
	used        int // slots of the running hashes
	usedUnknown int // of these, slots of the second lane
	inRow       int // turns of the first lane since the last turn of the second one
	known       lane
	unknown     lane
}

// lane holds the waiting callers by network, in the order of their turns.
type lane struct {
	networks []*networkShare
	waiting  int
}

// networkShare is the waiting callers of one network, first come first.
type networkShare struct {
	network string
	callers []*caller
}

// caller is a goroutine that waits for its turn.
type caller struct {
	slots int
	ready chan struct{} // closed when the turn of the caller begins, or with err
	err   error
	done  bool // ready is closed
}

// enter waits for the turn of a caller. The caller calls leave when its hash is
// computed. The error is errBusy or that of ctx.
func (q *hashQueue) enter(ctx context.Context, network string, known, large bool) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	q.mu.Lock()
	l := &q.unknown
	if known {
		l = &q.known
	}
	c := &caller{slots: 1, ready: make(chan struct{})}
	if large {
		c.slots = q.slots
	}
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
			q.start() // a large hash may have waited for free slots
			q.mu.Unlock()
			return nil, ctx.Err()
		}
		q.mu.Unlock()
	}
	if c.err != nil {
		return nil, c.err
	}
	return sync.OnceFunc(func() { q.leave(c.slots, known) }), nil
}

// leave frees the slots of a caller.
func (q *hashQueue) leave(slots int, known bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.used -= slots
	if !known {
		q.usedUnknown -= slots
	}
	q.start()
}

// start begins the turns of callers as long as slots are free. The first caller in
// order waits for as many slots as it needs; no other caller overtakes it then.
func (q *hashQueue) start() {
	for q.used < q.slots {
		unknownMayRun := q.unknown.waiting > 0 && q.usedUnknown < max(1, q.slots-1)
		isKnown := q.known.waiting > 0 && (q.inRow < knownTurns || !unknownMayRun)
		l := &q.known
		if !isKnown {
			if !unknownMayRun {
				return
			}
			l = &q.unknown
		}
		slots := l.first().slots
		if q.used+slots > q.slots {
			return
		}
		l.next()
		q.used += slots
		switch {
		case !isKnown:
			q.usedUnknown += slots
			q.inRow = 0
		case unknownMayRun:
			q.inRow++
		}
	}
}

func (l *lane) find(network string) int {
	return slices.IndexFunc(l.networks, func(s *networkShare) bool { return s.network == network })
}

func (l *lane) add(network string, c *caller) {
	i := l.find(network)
	if i < 0 {
		i = len(l.networks)
		l.networks = append(l.networks, &networkShare{network: network})
	}
	l.networks[i].callers = append(l.networks[i].callers, c)
	l.waiting++
}

// first returns the caller whose turn is next.
func (l *lane) first() *caller { return l.networks[0].callers[0] }

// next begins the turn of the first caller of the first network and moves the
// network to the end.
func (l *lane) next() {
	s := l.networks[0]
	s.callers[0].end(nil)
	s.callers = s.callers[1:]
	l.networks = l.networks[1:]
	if len(s.callers) > 0 {
		l.networks = append(l.networks, s)
	}
	l.waiting--
}

func (l *lane) remove(network string, c *caller) {
	i := l.find(network)
	s := l.networks[i]
	s.callers = slices.DeleteFunc(s.callers, func(other *caller) bool { return other == c })
	if len(s.callers) == 0 {
		l.networks = slices.Delete(l.networks, i, i+1)
	}
	l.waiting--
}

// makeRoom removes the latest caller of the network with the most waiting callers
// if network would still have fewer with one more. It reports whether it did.
func (l *lane) makeRoom(network string) bool {
	own := 0
	if i := l.find(network); i >= 0 {
		own = len(l.networks[i].callers)
	}
	most := slices.MaxFunc(l.networks, func(a, b *networkShare) int { return len(a.callers) - len(b.callers) })
	if len(most.callers) <= own+1 {
		return false
	}
	last := most.callers[len(most.callers)-1]
	l.remove(most.network, last)
	last.end(errBusy())
	return true
}

func (c *caller) end(err error) {
	c.err, c.done = err, true
	close(c.ready)
}
