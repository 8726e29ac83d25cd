package admission

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"
)

// hall is a table with a clock of the test.
type hall struct {
	*Table
	t     *testing.T
	at    time.Time
	ended map[*Conn]bool
}

func newHall(t *testing.T, l Limits, exempt ...netip.Prefix) *hall {
	h := &hall{t: t, at: time.Date(2026, 11, 29, 9, 0, 0, 0, time.UTC), ended: map[*Conn]bool{}}
	h.Table = New(l, exempt, func() time.Time { return h.at })
	return h
}

// admit admits a connection from an address, nil if it is refused.
func (h *hall) admit(address string) *Conn {
	var c *Conn
	c = h.Admit(&net.TCPAddr{IP: net.ParseIP(address), Port: 1000 + len(h.ended)}, func() { h.ended[c] = true })
	if c != nil {
		h.ended[c] = false
	}
	return c
}

func TestDefaults(t *testing.T) {
	for connections, want := range map[int][3]int{4096: {1024, 256, 256}, 300: {75, 18, 18}, 64: {16, 8, 16}, 10: {10, 8, 16}, 1: {1, 1, 16}} {
		l := Limits{Connections: connections}.Defaults()
		if got := [3]int{l.Unauthenticated, l.Network, l.Overflow}; got != want {
			t.Errorf("%d connections: %v, want %v", connections, got, want)
		}
	}
}

func TestNetworks(t *testing.T) {
	h := newHall(t, Limits{Connections: 1}, netip.MustParsePrefix("10.0.0.0/8"))
	for address, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.0/24", "[::ffff:192.0.2.1]:80": "192.0.2.0/24", "[2001:db8:1:2:3::4]:80": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:80": "fe80::/64", "10.1.1.1:81": "10.1.1.1:81",
	} {
		port := netip.MustParseAddrPort(address)
		if got, exempt := h.network(net.TCPAddrFromAddrPort(port)); got != want || exempt != (address == "10.1.1.1:81") {
			t.Errorf("%s counts as %s, exempt: %t", address, got, exempt)
		}
	}
	if got, _ := h.network(&net.UnixAddr{Name: "/run/x", Net: "unix"}); got != "/run/x" {
		t.Errorf("a socket of the machine counts as %s", got)
	}
}

// TestGrace: a connection keeps its place for the grace against a network that
// has as many, and not against one with at least two fewer. A connection whose
// request was answered has no grace.
func TestGrace(t *testing.T) {
	h := newHall(t, Limits{Connections: 4, Unauthenticated: 4, Network: 4, Overflow: -1})
	first := h.admit("192.0.2.1")
	for _, a := range []string{"192.0.2.2", "198.51.100.1", "198.51.100.2"} {
		h.admit(a)
	}
	if h.admit("192.0.2.3") != nil {
		t.Error("a place is taken within the grace by the same network")
	}
	if h.admit("203.0.113.1") == nil || !h.ended[first] {
		t.Error("a network without a connection does not get the place of the oldest")
	}
	if h.admit("203.0.113.2") != nil {
		t.Error("a network with one connection takes a place from one with two within the grace")
	}
	h.at = h.at.Add(time.Second)
	if h.admit("203.0.113.2") == nil {
		t.Error("no place is free after the grace")
	}

	h = newHall(t, Limits{Connections: 2, Overflow: -1})
	answered := h.admit("192.0.2.1")
	h.admit("192.0.2.2").SetIdle()
	if h.admit("192.0.2.3") != nil {
		t.Error("a connection that rests before its first request has no grace")
	}
	answered.Begin(false)()
	answered.SetIdle()
	if h.admit("192.0.2.3") == nil || !h.ended[answered] {
		t.Error("an answered connection does not make room")
	}
}

// TestShareHoldsForBodies: connections whose requests were being served count
// again when the server waits for their bodies.
func TestShareHoldsForBodies(t *testing.T) {
	h := newHall(t, Limits{Connections: 10, Unauthenticated: 10, Network: 2, Overflow: -1})
	first, second := h.admit("192.0.2.1"), h.admit("192.0.2.2")
	first.Begin(false)
	second.Begin(false)
	if h.admit("192.0.2.3") == nil || h.admit("192.0.2.4") == nil {
		t.Fatal("served connections count for their network")
	}
	second.Receive()
	first.Receive()
	if n := h.Stats().Unauthenticated; n != 2 || !h.ended[first] || !h.ended[second] {
		t.Errorf("%d connections of a network wait for their client; the oldest are evicted: %t, %t", n, h.ended[first], h.ended[second])
	}
}

// TestEvictionOrder: unauthenticated connections that had their time go first,
// then the authenticated one that was idle longest; one that is served never
// does.
func TestEvictionOrder(t *testing.T) {
	h := newHall(t, Limits{Connections: 4, Overflow: -1})
	idle1, idle2, working, silent := h.admit("192.0.2.1"), h.admit("192.0.3.1"), h.admit("192.0.4.1"), h.admit("192.0.5.1")
	for _, c := range []*Conn{idle2, idle1} {
		end := c.Begin(false)
		c.Authenticate()
		end()
		c.SetIdle()
	}
	working.Begin(false)
	h.at = h.at.Add(time.Minute)
	for i, want := range []*Conn{silent, idle2, idle1} {
		c := h.admit(fmt.Sprintf("203.0.%d.1", i))
		if c == nil || !h.ended[want] {
			t.Fatalf("step %d: the wrong connection is evicted", i)
		}
		c.Begin(false)
	}
	if h.admit("203.0.113.1") != nil {
		t.Error("a connection that is served is evicted")
	}
	working.Send()
	h.at = h.at.Add(time.Minute)
	if h.admit("203.0.113.1") == nil || !h.ended[working] {
		t.Error("a client that does not read its answer keeps its place")
	}
}

// TestActiveIsNotIdle: an authenticated connection whose next request has begun
// to come is not evicted.
func TestActiveIsNotIdle(t *testing.T) {
	h := newHall(t, Limits{Connections: 1, Overflow: -1})
	c := h.admit("192.0.2.1")
	c.Authenticate()
	c.SetIdle()
	c.SetActive()
	if h.admit("203.0.113.1") != nil {
		t.Error("it is evicted")
	}
	c.SetIdle()
	if h.admit("203.0.113.1") == nil {
		t.Error("it keeps its place when it is idle")
	}
}

// TestPromote: a request in an overflow slot gets a slot that is released, and is
// refused if none is.
func TestPromote(t *testing.T) {
	h := newHall(t, Limits{Connections: 1, Overflow: 1, Wait: 20 * time.Millisecond})
	served := h.admit("192.0.2.1")
	served.Begin(false)
	c := h.admit("203.0.113.1")
	if !c.InOverflow() || !h.Crowded() {
		t.Fatal("the second connection has an ordinary place")
	}
	c.Begin(false)
	if err := c.Promote(t.Context()); !errors.Is(err, ErrFull) {
		t.Errorf("without a free place: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Promote(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("of a client that has left: %v", err)
	}
	served.Release()
	if err := c.Promote(t.Context()); err != nil || c.InOverflow() || h.Crowded() {
		t.Errorf("with a free place: %v", err)
	}
	served.Release() // once more does nothing
	if s := h.Stats(); s.Open != 1 {
		t.Errorf("%+v", s)
	}
}

// TestBoundsHold does at random what connections do, and looks at the bounds
// after each step.
func TestBoundsHold(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, 0))
	l := Limits{Connections: 40, Unauthenticated: 12, Network: 3, Overflow: 4, Wait: time.Nanosecond}
	h := newHall(t, l, netip.MustParsePrefix("10.0.0.0/8"))
	type client struct {
		*Conn
		ends []func()
	}
	var clients []*client
	for step := range 20_000 {
		h.at = h.at.Add(time.Duration(random.IntN(300)) * time.Millisecond)
		if len(clients) == 0 || random.IntN(4) == 0 {
			address := fmt.Sprintf("192.0.%d.%d", random.IntN(6), random.IntN(200)+1)
			if random.IntN(5) == 0 {
				address = "10.0.0.1"
			}
			if c := h.admit(address); c != nil {
				clients = append(clients, &client{Conn: c})
			}
		} else {
			i := random.IntN(len(clients))
			c := clients[i]
			switch random.IntN(9) {
			case 0:
				c.ends = append(c.ends, c.Begin(random.IntN(3) == 0))
			case 1:
				c.ends = append(c.ends, c.Receive())
			case 2:
				c.ends = append(c.ends, c.Send())
			case 3:
				c.Authenticate()
			case 4:
				for _, end := range c.ends {
					end()
				}
				c.ends = nil
				c.SetIdle()
			case 5:
				c.SetActive()
			case 6:
				_ = c.Promote(t.Context())
			case 7:
				if n := len(c.ends); n > 0 {
					c.ends[n-1]()
					c.ends = c.ends[:n-1]
				}
			case 8:
				c.Release()
				clients = append(clients[:i], clients[i+1:]...)
			}
		}
		s := h.Stats()
		if s.Open > l.Connections || s.Unauthenticated > l.Unauthenticated || s.Overflow > l.Overflow+1 {
			t.Fatalf("step %d: %+v", step, s)
		}
		for network, n := range h.waiting[pending].by {
			if n > l.Network {
				t.Fatalf("step %d: %d connections of %s", step, n, network)
			}
		}
		open, lists := 0, 0
		for _, c := range clients {
			if c.place.ordinary() {
				open++
			}
			if c.counted && c.place == pending {
				lists++
			}
			if h.ended[c.Conn] != (c.place == gone) {
				t.Fatalf("step %d: evicted %t in place %d", step, h.ended[c.Conn], c.place)
			}
		}
		if open != s.Open || lists != s.Unauthenticated {
			t.Fatalf("step %d: %d open, %d unauthenticated, and %+v", step, open, lists, s)
		}
	}
	for _, c := range clients {
		c.Release()
	}
	if s := h.Stats(); s.Open+s.Unauthenticated+s.Idle+s.Overflow+s.Waiting != 0 {
		t.Errorf("at the end: %+v", s)
	}
}

// TestReport names place and reason of each connection that loses its place, and of
// each that gets none.
func TestReport(t *testing.T) {
	h := newHall(t, Limits{Connections: 2, Unauthenticated: 2, Network: 1, Overflow: 1, Wait: time.Nanosecond})
	var drops []Drop
	h.Report(func(d Drop) { drops = append(drops, d) })
	want := func(what string, all ...Drop) {
		t.Helper()
		if fmt.Sprint(drops) != fmt.Sprint(all) {
			t.Errorf("%s: %v, want %v", what, drops, all)
		}
		drops = nil
	}
	h.admit("192.0.2.1")
	h.at = h.at.Add(time.Minute)
	first := h.admit("192.0.2.2")
	want("a second connection of a network", Drop{LaneUnauthenticated, ReasonNetwork, true})
	h.admit("198.51.100.1")
	h.at = h.at.Add(time.Minute)
	second := h.admit("203.0.113.1")
	want("one connection too many", Drop{LaneUnauthenticated, ReasonUnauthenticated, true})
	_ = first
	for _, c := range h.conns() {
		c.Authenticate()
	}
	for _, c := range h.conns() {
		c.SetIdle()
	}
	third := h.admit("203.0.113.2")
	want("a place of an idle connection", Drop{LaneIdle, ReasonFull, true})
	for _, c := range h.conns() {
		c.Authenticate()
		c.Begin(false)
	}
	_, _ = second, third
	h.admit("203.0.113.3")
	want("an overflow place")
	over := h.admit("203.0.113.4")
	want("the overflow place of another", Drop{LaneOverflow, ReasonFull, true})
	over.Begin(false)
	if h.admit("203.0.113.5") != nil {
		t.Error("a connection without any place is admitted")
	}
	want("no overflow place", Drop{LaneOverflow, ReasonFull, false})
	if err := over.Promote(t.Context()); !errors.Is(err, ErrFull) {
		t.Errorf("Promote = %v", err)
	}
	want("no ordinary place in time", Drop{LaneQueue, ReasonTimeout, false})
	if s := h.Stats(); s.Evicted != 4 || s.Refused != 2 {
		t.Errorf("%+v", s)
	}
}

// conns are the connections that have a place.
func (h *hall) conns() (all []*Conn) {
	for c, ended := range h.ended {
		if !ended {
			all = append(all, c)
		}
	}
	return all
}

func TestNetworkOfAnAddress(t *testing.T) {
	for address, want := range map[string][3]string{
		"192.0.2.77":          {"192.0.2.0/24", "192.0.2.0/24", "192.0.2.77"},
		"::ffff:192.0.2.77":   {"192.0.2.0/24", "192.0.2.0/24", "192.0.2.77"},
		"2001:db8:1:2:3:4::6": {"2001:db8:1:2::/64", "2001:db8:1::/48", "2001:db8:1:2::/64"},
		"fe80::1%eth0":        {"fe80::/64", "fe80::/48", "fe80::/64"},
		"/run/sunloop.sock":   {"/run/sunloop.sock", "/run/sunloop.sock", "/run/sunloop.sock"},
		"":                    {"", "", ""},
	} {
		if got := [3]string{Network(address), NetworkWithin(address, 48), Host(address)}; got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}
