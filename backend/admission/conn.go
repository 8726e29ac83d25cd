package admission

import (
	"container/list"
	"context"
	"time"
)

// place is where a connection is in its table.
type place int

const (
	gone     place = iota // released or evicted
	pending               // ordinary, unauthenticated
	busy                  // ordinary, authenticated, with a request
	idle                  // ordinary, authenticated, between two requests
	overflow              // beyond the ordinary places
	queued                // waits for an ordinary place
	places
)

// ordinary reports whether the place counts for Limits.Connections.
func (p place) ordinary() bool { return p == pending || p == busy || p == idle }

// Conn is a connection in a table. Its methods do nothing once it is released
// or evicted.
type Conn struct {
	table   *Table
	network string
	exempt  bool // of a trusted proxy
	evict   func()
	placed  chan struct{} // receives when the table has placed a waiting connection

	// Under table.mu.
	place         place
	element       *list.Element // in table.lists[place]
	since         time.Time     // accepted; later, when the last answer or the request after it began
	counted       bool          // in table.waiting[place]
	begun         bool          // a request has come
	answered      bool          // a request was answered
	authenticated bool          // a credential was accepted
	requests      int           // in progress
	receiving     int           // of these, the body is being read
	sending       int           // of these, the answer has begun
}

// move moves c to the end of a place; table.mu is held.
func (c *Conn) move(to place) {
	t := c.table
	c.count(false)
	if c.element != nil {
		t.lists[c.place].Remove(c.element)
		c.element = nil
	}
	if c.place.ordinary() {
		t.open--
	}
	c.place = to
	if to.ordinary() {
		t.open++
	}
	if to == gone || to == busy {
		return
	}
	c.element = t.lists[to].PushBack(c)
	c.recount()
}

// ordinary returns the ordinary place of c during a request.
func (c *Conn) ordinary() place {
	if c.authenticated {
		return busy
	}
	return pending
}

// recount counts c for its network while it waits for its client in a place
// from which it can be evicted for that.
func (c *Conn) recount() {
	c.count((c.place == pending || c.place == overflow || c.place == queued) && (c.requests == 0 || c.receiving > 0 || c.sending > 0))
}

func (c *Conn) count(waits bool) {
	if waits == c.counted {
		return
	}
	c.counted = waits
	n := 1
	if !waits {
		n = -1
	}
	c.table.waiting[c.place].add(c.network, n)
}

// change changes c by do, and then what depends on it in the table.
func (c *Conn) change(do func()) {
	t := c.table
	t.mu.Lock()
	var victims []*Conn
	if c.place != gone {
		do()
		c.recount()
		if w := t.waiting[pending]; c.counted && c.place == pending && !c.exempt && w.by[c.network] > t.limits.Network {
			victims = append(victims, t.drop(t.oldestOf(c.network, true), ReasonNetwork))
		}
		victims = append(victims, t.settle()...)
	}
	t.mu.Unlock()
	evictAll(victims)
}

// renew starts the age of an unauthenticated connection again.
func (c *Conn) renew() {
	c.since = c.table.now()
	if c.place == pending {
		c.move(pending)
	}
}

// Authenticate reports that a credential was accepted on c.
func (c *Conn) Authenticate() {
	c.change(func() {
		c.authenticated = true
		if c.place == pending {
			c.move(busy)
		}
	})
}

// Begin reports that the header of a request is complete. Many reports that
// other requests may be running on the connection. The caller calls end after
// the request.
func (c *Conn) Begin(many bool) (end func()) {
	c.change(func() {
		c.requests++
		c.begun = true
		switch {
		case c.exempt && !many && c.place.ordinary():
			c.move(pending) // perhaps another client of the proxy
		case c.place == idle:
			c.move(busy)
		}
		if c.answered { // not the first, for which the time counts from the start
			c.renew()
		}
	})
	return func() { c.change(func() { c.requests-- }) }
}

// Receive reports that the server reads the body of a request. The caller calls
// end when the body is complete, or the request has ended.
func (c *Conn) Receive() (end func()) {
	c.change(func() { c.receiving++ })
	return func() { c.change(func() { c.receiving-- }) }
}

// Send reports that the answer of a request begins. The caller calls end after
// the request.
func (c *Conn) Send() (end func()) {
	c.change(func() {
		c.sending++
		c.renew()
	})
	return func() { c.change(func() { c.sending-- }) }
}

// IsAdditional reports whether c is unauthenticated and has more than one running
// request. It is false for a connection of a trusted proxy.
func (c *Conn) IsAdditional() bool {
	c.table.mu.Lock()
	defer c.table.mu.Unlock()
	return !c.authenticated && !c.exempt && c.requests > 1
}

// SetIdle reports that c is between two requests.
func (c *Conn) SetIdle() {
	c.change(func() {
		c.answered = c.begun // HTTP/2 rests before its first request, too
		if c.authenticated && c.place.ordinary() {
			c.move(idle)
		}
	})
}

// SetActive reports that the next request begins to come.
func (c *Conn) SetActive() {
	c.change(func() {
		if c.place == idle {
			c.move(busy)
		}
	})
}

// InOverflow reports whether c is in an overflow place.
func (c *Conn) InOverflow() bool {
	c.table.mu.Lock()
	defer c.table.mu.Unlock()
	return c.place == overflow
}

// Release gives the place of c back.
func (c *Conn) Release() {
	c.change(func() { c.move(gone) })
}

type connKey struct{}

// With returns a context for the requests on c.
func (c *Conn) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// From returns the connection of a context, nil if it has none.
func From(ctx context.Context) *Conn {
	c, _ := ctx.Value(connKey{}).(*Conn)
	return c
}

// Authenticated reports that a credential was accepted for the request of ctx.
// It does nothing for a request without a connection, as within the process.
func Authenticated(ctx context.Context) {
	if c := From(ctx); c != nil {
		c.Authenticate()
	}
}
