// Package admission decides which connections a server keeps.
//
// A [Table] counts the connections of one or more listeners. A connection is
// unauthenticated until a credential that it sent was accepted. Unauthenticated
// connections that wait for their client have a bound of their own, and within
// it each network (/24 for IPv4, /64 for IPv6) has a share, so that clients
// without a credential never take more than a part of the places, and one
// network never takes all of that part. When a bound is reached, the table
// evicts the oldest of them. A connection that waits for the server (its request
// is complete, and no answer has begun) is never evicted.
//
// Beyond the ordinary places a table may have overflow places. What a server
// does with a connection in one of them is its own matter; for anything that may
// last, the connection needs an ordinary place ([Conn.Promote]).
package admission

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Limits are the bounds of a table. A zero value takes the default.
type Limits struct {
	// Connections is the number of ordinary places.
	Connections int
	// Unauthenticated bounds the unauthenticated connections that wait for
	// their client. Default: a quarter of Connections, at least 16.
	Unauthenticated int
	// Network bounds those of one network. Default: a quarter of
	// Unauthenticated, at least 8.
	Network int
	// Overflow is the number of places beyond Connections, and of connections
	// that wait for an ordinary place. Default: a sixteenth of Connections, at
	// least 16. Negative: none; a connection without a place is refused.
	Overflow int
	// Grace is how long an unauthenticated connection keeps its place against a
	// newcomer from a network that has as many. Default: 1 s.
	Grace time.Duration
	// Wait is how long a connection in an overflow place waits for an ordinary
	// one. Default: 5 s.
	Wait time.Duration
}

// Defaults returns the limits with the zero values filled in. No bound is above
// Connections.
func (l Limits) Defaults() Limits {
	l.Unauthenticated = min(cmp.Or(l.Unauthenticated, max(l.Connections/4, 16)), l.Connections)
	l.Network = min(cmp.Or(l.Network, max(l.Unauthenticated/4, 8)), l.Unauthenticated)
	l.Overflow = max(cmp.Or(l.Overflow, max(l.Connections/16, 16)), 0)
	l.Grace = cmp.Or(l.Grace, time.Second)
	l.Wait = cmp.Or(l.Wait, 5*time.Second)
	return l
}

// Table holds the connections of a server. Its methods may be called at the
// same time.
type Table struct {
	limits Limits
	exempt []netip.Prefix
	now    func() time.Time

	mu      sync.Mutex
	open    int               // in ordinary places
	lists   [places]list.List // of *Conn by place, in the order in which they are evicted or placed
	waiting [places]weights   // connections that wait for their client, by place
	evicted int               // so far
	refused int               // so far
	report  func(Drop)        // nil: nothing
}

// weights count connections by network.
type weights struct {
	all int
	by  map[string]int
}

func (w *weights) add(network string, n int) {
	if w.by == nil {
		w.by = map[string]int{}
	}
	w.all += n
	if w.by[network] += n; w.by[network] == 0 {
		delete(w.by, network)
	}
}

// New returns an empty table. Exempt are the networks of trusted proxies: each
// of their connections counts as a network, and is authenticated for one
// request at a time, since it carries the requests of many clients.
func New(l Limits, exempt []netip.Prefix, now func() time.Time) *Table {
	return &Table{limits: l.Defaults(), exempt: exempt, now: now}
}

// Lanes of connections, as drops are counted.
const (
	LaneUnauthenticated = "unauthenticated" // an ordinary place, without an accepted credential
	LaneIdle            = "idle"            // an ordinary place, authenticated, between two requests
	LaneOverflow        = "overflow"        // an overflow place
	LaneQueue           = "queue"           // waits for an ordinary place
)

// Reasons of drops.
const (
	ReasonNetwork         = "network_share"         // its network has its share of unauthenticated connections
	ReasonUnauthenticated = "unauthenticated_share" // there are as many unauthenticated connections as there may be
	ReasonFull            = "full"                  // all places of the kind are taken
	ReasonTimeout         = "timeout"               // no place became free in time
)

// Drop is a connection that was evicted, or a connection or request that was
// refused.
type Drop struct {
	Lane    string // from which it was evicted, or in which there was no place for it
	Reason  string
	Evicted bool // false: refused
}

// Report has the table call f for each drop from now on. f returns at once and
// does not use the table.
func (t *Table) Report(f func(Drop)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report = f
}

// lane names a place.
func (p place) lane() string {
	switch p {
	case idle:
		return LaneIdle
	case overflow:
		return LaneOverflow
	case queued:
		return LaneQueue
	}
	return LaneUnauthenticated
}

// refuse counts a refusal; t.mu is held.
func (t *Table) refuse(lane, reason string) {
	t.refused++
	if t.report != nil {
		t.report(Drop{lane, reason, false})
	}
}

// Stats is a count of connections at one moment, and of events so far.
type Stats struct {
	Open            int // in ordinary places
	Unauthenticated int // of these, unauthenticated and waiting for their client
	Idle            int // of these, authenticated and between two requests
	Overflow        int // in overflow places
	Waiting         int // requests that wait for an ordinary place
	Evicted         int // connections evicted so far
	Refused         int // connections and requests refused so far
}

// Stats returns the counts.
func (t *Table) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	queued := t.lists[queued].Len()
	return Stats{t.open, t.waiting[pending].all, t.lists[idle].Len(), t.lists[overflow].Len() + queued, queued, t.evicted, t.refused}
}

// Crowded reports whether a connection is in an overflow place, so that clients
// should be asked to close theirs after the answer.
func (t *Table) Crowded() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lists[overflow].Len()+t.lists[queued].Len() > 0
}

// network returns what counts as one network for an address.
func (t *Table) network(a net.Addr) (network string, exempt bool) {
	text := a.String()
	port, err := netip.ParseAddrPort(text)
	if err != nil {
		return text, false // a socket of this machine
	}
	ip := port.Addr().Unmap().WithZone("")
	for _, p := range t.exempt {
		if p.Contains(ip) {
			return text, true
		}
	}
	return networkOf(ip, 64), false
}

// Admit decides on a new connection from an address and returns nil if it is
// refused. If the connection loses its place, the table calls evict once, from
// any goroutine; evict closes the connection. The caller calls [Conn.Release]
// when the connection is closed.
func (t *Table) Admit(from net.Addr, evict func()) *Conn {
	c := &Conn{table: t, evict: evict}
	c.network, c.exempt = t.network(from)
	t.mu.Lock()
	victims, ok := t.admit(c)
	t.mu.Unlock()
	evictAll(victims)
	if !ok {
		return nil
	}
	return c
}

// evictAll closes connections that have lost their places. No lock is held: a
// close may take its time.
func evictAll(victims []*Conn) {
	for _, v := range victims {
		v.evict()
	}
}

func (t *Table) admit(c *Conn) (victims []*Conn, ok bool) {
	c.since = t.now()
	if t.lists[queued].Len() == 0 {
		if victims, ok = t.makeRoom(c, true); ok {
			c.move(pending)
			return victims, true
		}
	}
	if t.lists[overflow].Len() >= t.limits.Overflow {
		v := t.victim(overflow, c.network, true)
		if v == nil {
			t.refuse(LaneOverflow, ReasonFull)
			return victims, false
		}
		victims = append(victims, t.drop(v, ReasonFull))
	}
	c.move(overflow)
	return victims, true
}

// makeRoom evicts connections until c fits into an ordinary place; ok is false
// if it does not. Waits says that c will wait for its client there.
func (t *Table) makeRoom(c *Conn, waits bool) (victims []*Conn, ok bool) {
	evict := func(v *Conn, reason string) bool {
		if v == nil {
			return false
		}
		victims = append(victims, t.drop(v, reason))
		return true
	}
	w := &t.waiting[pending]
	if waits && !c.exempt && w.by[c.network] >= t.limits.Network && !evict(t.oldestOf(c.network, false), ReasonNetwork) {
		return victims, false
	}
	if waits && w.all >= t.limits.Unauthenticated && !evict(t.victim(pending, c.network, false), ReasonUnauthenticated) {
		return victims, false
	}
	if t.open < t.limits.Connections || evict(t.victim(pending, c.network, false), ReasonFull) {
		return victims, true
	}
	if e := t.lists[idle].Front(); e != nil {
		return victims, evict(e.Value.(*Conn), ReasonFull)
	}
	return victims, false
}

// oldestOf returns the oldest unauthenticated connection of a network that
// waits for its client; unless atOnce is true, of those that had their time.
func (t *Table) oldestOf(network string, atOnce bool) *Conn {
	for e := t.lists[pending].Front(); e != nil; e = e.Next() {
		if v := e.Value.(*Conn); v.counted && v.network == network && (atOnce || t.hadItsTime(v)) {
			return v
		}
	}
	return nil
}

// hadItsTime reports whether v had its time for a request.
func (t *Table) hadItsTime(v *Conn) bool {
	return v.answered || t.now().Sub(v.since) >= t.limits.Grace
}

// victim returns the connection in a place that is evicted for one of a
// network: the oldest that waits for its client and is of a network with at
// least an equal part of all. Unless atOnce is true, a connection loses its
// place within its grace only to a network that has at least two fewer, so that
// two networks do not take places from each other in turns.
func (t *Table) victim(in place, network string, atOnce bool) *Conn {
	w := &t.waiting[in]
	networks := len(w.by)
	if w.by[network] == 0 {
		networks++
	}
	part := (w.all + networks - 1) / networks
	for e := t.lists[in].Front(); e != nil; e = e.Next() {
		v := e.Value.(*Conn)
		if v.counted && w.by[v.network] >= part && (atOnce || w.by[v.network] >= w.by[network]+2 || t.hadItsTime(v)) {
			return v
		}
	}
	return nil
}

// drop takes the place of v, which the caller closes with [evictAll].
func (t *Table) drop(v *Conn, reason string) *Conn {
	t.evicted++
	if t.report != nil {
		t.report(Drop{v.place.lane(), reason, true})
	}
	if v.place == queued {
		v.placed <- struct{}{} // it need not wait any more; has room for one
	}
	v.move(gone)
	return v
}

// settle keeps the bound of unauthenticated connections, and gives ordinary
// places to the connections that wait for them.
func (t *Table) settle() (victims []*Conn) {
	for t.waiting[pending].all > t.limits.Unauthenticated {
		v := t.victim(pending, "", true)
		if v == nil {
			break
		}
		victims = append(victims, t.drop(v, ReasonUnauthenticated))
	}
	for e := t.lists[queued].Front(); e != nil; {
		c := e.Value.(*Conn)
		e = e.Next()
		waits := c.requests == 0 // the connection itself waits, not a request on it
		more, ok := t.makeRoom(c, waits)
		victims = append(victims, more...)
		if ok {
			c.move(c.ordinary())
			c.placed <- struct{}{} // has room for one
		} else if !waits {
			break // those behind it find no room either
		}
	}
	return victims
}

// nextLook returns how long it takes until the oldest unauthenticated
// connection had its time.
func (t *Table) nextLook() time.Duration {
	for e := t.lists[pending].Front(); e != nil; e = e.Next() {
		if v := e.Value.(*Conn); v.counted {
			return max(t.limits.Grace-t.now().Sub(v.since), 10*time.Millisecond)
		}
	}
	return t.limits.Wait
}

// ErrFull is returned for a connection that got no ordinary place in time.
var ErrFull = errors.New("all connections are in use")

// Promote moves c from an overflow place to an ordinary one, and waits for it
// if need be. The error is [ErrFull], or that of the context. A connection
// without a request may be evicted while it waits, which is no error.
func (c *Conn) Promote(ctx context.Context) error {
	t := c.table
	t.mu.Lock()
	if c.place != overflow {
		t.mu.Unlock()
		return nil
	}
	var victims []*Conn
	if t.lists[queued].Len() >= t.limits.Overflow {
		v := t.victim(queued, c.network, true)
		if c.requests > 0 || v == nil {
			t.refuse(LaneQueue, ReasonFull)
			t.mu.Unlock()
			return ErrFull
		}
		victims = append(victims, t.drop(v, ReasonFull))
	}
	c.placed = make(chan struct{}, 1)
	c.move(queued)
	victims, look := append(victims, t.settle()...), t.nextLook()
	t.mu.Unlock()
	evictAll(victims)
	end, again := time.NewTimer(t.limits.Wait), time.NewTimer(look)
	defer end.Stop()
	defer again.Stop()
	var err error
	for err == nil {
		select {
		case <-c.placed:
			return nil
		case <-again.C:
			t.mu.Lock()
			victims, look = t.settle(), t.nextLook()
			t.mu.Unlock()
			evictAll(victims)
			again.Reset(look)
		case <-ctx.Done():
			err = ctx.Err()
		case <-end.C:
			err = ErrFull
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.place != queued {
		return nil // placed, or evicted, at this moment
	}
	c.move(overflow)
	t.refuse(LaneQueue, ReasonTimeout)
	return err
}

// Network returns the network that an address shares with its neighbours: the /24
// of an IPv4 address, the /64 of an IPv6 address. It returns a text that is no
// address unchanged, such as the path of a socket.
func Network(address string) string { return NetworkWithin(address, 64) }

// NetworkWithin returns the /24 of an IPv4 address, or the network of an IPv6
// address with a prefix of ipv6Bits.
func NetworkWithin(address string, ipv6Bits int) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	return networkOf(ip, ipv6Bits)
}

// Host returns what one host has: an IPv4 address, or the /64 of an IPv6 address,
// within which a host can choose its addresses.
func Host(address string) string {
	if ip, err := netip.ParseAddr(address); err == nil && ip.Unmap().Is4() {
		return ip.Unmap().String()
	}
	return Network(address)
}

func networkOf(ip netip.Addr, ipv6Bits int) string {
	bits := ipv6Bits
	if ip = ip.Unmap().WithZone(""); ip.Is4() {
		bits = 24
	}
	return netip.PrefixFrom(ip, bits).Masked().String()
}
