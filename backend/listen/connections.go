package listen

import (
	"net"
	"sync"
)

// slots bounds the connections that are open at a time, over all listeners.
type slots chan struct{}

// bounded takes a slot for each connection. Those beyond the bound wait in the
// system's queue until one is free.
type bounded struct {
	net.Listener
	slots slots
	once  sync.Once
	done  chan struct{}
}

func (s slots) bound(l net.Listener) net.Listener {
	return &bounded{Listener: l, slots: s, done: make(chan struct{})}
}

// Accept waits for a slot, then for a connection.
func (b *bounded) Accept() (net.Conn, error) {
	select {
	case b.slots <- struct{}{}:
	case <-b.done:
		return nil, net.ErrClosed
	}
	c, err := b.Listener.Accept()
	if err != nil {
		<-b.slots
		return nil, err
	}
	return &slotted{Conn: c, slots: b.slots}, nil
}

// Close ends a wait for a slot too.
func (b *bounded) Close() error {
	b.once.Do(func() { close(b.done) })
	return b.Listener.Close()
}

type slotted struct {
	net.Conn
	slots slots
	once  sync.Once
}

// CloseWrite lets the server end an answer so that a client which still sends
// can read it.
func (c *slotted) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close frees the slot.
func (c *slotted) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { <-c.slots })
	return err
}
