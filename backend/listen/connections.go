package listen

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// connections bounds how many are open at a time, over all listeners. When
// there is no room for a new one, that which has been idle longest makes it;
// where none is idle, that which has been longest at its header, if it had its
// fair time for it. One that is being served never does.
type connections struct {
	most     int
	patience time.Duration // with a header, while others wait
	now      func() time.Time

	mu      sync.Mutex
	changed sync.Cond // there is room, or somebody who may make it, or a listener ends
	open    int
	idle    list.List    // of *bounded: between two requests, the longest first
	begun   list.List    // of *bounded: a header has not come whole, the longest first
	waiting atomic.Int32 // accepted ones for which there is no room yet
}

func newConnections(l Limits, now func() time.Time) *connections {
	c := &connections{most: l.Connections, patience: l.Header / 2, now: now}
	c.changed.L = &c.mu
	return c
}

// bound is l within the bound.
func (c *connections) bound(l net.Listener) net.Listener {
	return &boundedListener{Listener: l, all: c}
}

// crowded says that connections wait for room.
func (c *connections) crowded() bool { return c.waiting.Load() > 0 }

// state keeps up what a connection does; the server tells it.
func (c *connections) state(conn net.Conn, s http.ConnState) {
	many := false
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
		many = s != http.StateNew && t.ConnectionState().NegotiatedProtocol == "h2"
	}
	b, ok := conn.(*bounded)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case s != http.StateIdle:
		if s != http.StateNew { // there from the start
			c.move(b, nil)
		}
	case b.heard.Load() && !many:
		c.move(b, &c.begun)
	default:
		c.move(b, &c.idle)
		b.rests.Store(!many)
	}
}

// move puts b at the end of a list, or of none; c.mu is held.
func (c *connections) move(b *bounded, to *list.List) {
	if b.list != nil {
		b.list.Remove(b.place)
	}
	b.list, b.place = to, nil
	b.rests.Store(false)
	if to == nil {
		return
	}
	if b.closed {
		b.list = nil
		return
	}
	b.since = c.now()
	b.place = to.PushBack(b)
	if c.crowded() {
		c.changed.Broadcast()
	}
}

// boundedListener accepts one connection more than there is room for, so that
// it knows of those that wait; the rest of them are in the system's queue.
type boundedListener struct {
	net.Listener
	all   *connections
	ended bool // under all.mu
}

// Accept waits for a connection, then for room for it.
func (l *boundedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	b := &bounded{Conn: conn, all: l.all}
	left, ok := l.room(b)
	if left != nil {
		_ = left.Conn.Close()
	}
	if !ok {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	return b, nil
}

// room waits for room for b and takes it, if need be from another connection,
// which the caller closes. It is false once the listener ends.
func (l *boundedListener) room(b *bounded) (left *bounded, ok bool) {
	c := l.all
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting.Add(1)
	defer c.waiting.Add(-1)
	for c.open >= c.most && !l.ended {
		if left = c.dispensable(); left != nil {
			c.leave(left)
			break
		}
		c.wait()
	}
	if l.ended {
		return left, false
	}
	c.open++
	c.move(b, &c.begun)
	return left, true
}

// dispensable is who makes room, nil for nobody; c.mu is held.
func (c *connections) dispensable() *bounded {
	if e := c.idle.Front(); e != nil {
		return e.Value.(*bounded)
	}
	if e := c.begun.Front(); e != nil && c.now().Sub(e.Value.(*bounded).since) >= c.patience {
		return e.Value.(*bounded)
	}
	return nil
}

// wait waits for a change, or until patience with a header ends; c.mu is held.
func (c *connections) wait() {
	if e := c.begun.Front(); e != nil {
		left := c.patience - c.now().Sub(e.Value.(*bounded).since)
		defer time.AfterFunc(left, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.changed.Broadcast()
		}).Stop()
	}
	c.changed.Wait()
}

// leave gives b's room back, once; c.mu is held.
func (c *connections) leave(b *bounded) {
	if b.closed {
		return
	}
	b.closed = true
	c.move(b, nil)
	c.open--
	c.changed.Broadcast()
}

// Close ends a wait for room too.
func (l *boundedListener) Close() error {
	l.all.mu.Lock()
	l.ended = true
	l.all.changed.Broadcast()
	l.all.mu.Unlock()
	return l.Listener.Close()
}

// bounded is a connection that takes room.
type bounded struct {
	net.Conn
	all   *connections
	heard atomic.Bool // something came since the last that was sent
	rests atomic.Bool // among the idle ones, and the next byte begins a header

	// Under all.mu.
	list   *list.List // the one it is in, nil for none
	place  *list.Element
	since  time.Time // in that list
	closed bool
}

// Read ends the rest with the first byte: the server tells of it only when a
// whole header has come.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	if n > 0 {
		b.heard.Store(true)
		if b.rests.Load() {
			b.all.mu.Lock()
			if b.list == &b.all.idle {
				b.all.move(b, &b.all.begun)
			}
			b.all.mu.Unlock()
		}
	}
	return n, err
}

// Write sends what ends what was heard.
func (b *bounded) Write(p []byte) (int, error) {
	b.heard.Store(false)
	return b.Conn.Write(p)
}

// CloseWrite lets the server end an answer so that a client which still sends
// can read it.
func (b *bounded) CloseWrite() error {
	if half, ok := b.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close gives the room back.
func (b *bounded) Close() error {
	err := b.Conn.Close()
	b.all.mu.Lock()
	b.all.leave(b)
	b.all.mu.Unlock()
	return err
}
