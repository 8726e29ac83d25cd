//go:build !windows

package sshd

import (
	"context"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/ssh"
	gossh "golang.org/x/crypto/ssh"
	"golang.org/x/text/unicode/norm"

	"app.sunloop/backend/admission"
	"app.sunloop/backend/client"
)

// connectionKey finds the connection in the library's context.
type connectionKey struct{}

func connectionOf(ctx ssh.Context) *connection {
	return ctx.Value(connectionKey{}).(*connection) // Server.New put it there
}

// connection is a client of the server, from its first byte to its last.
type connection struct {
	net.Conn
	server *Server
	place  *admission.Conn
	ctx    context.Context
	cancel context.CancelCauseFunc
	user   string // who has signed in; guarded by the server's lock

	once   sync.Once
	client *client.Client // by asking for service()

	mu      sync.Mutex
	bound   *time.Timer   // closes a connection that does not get to a console
	console chan struct{} // closed when the console has ended; nil: none
	ended   bool
	opened  int // sessions so far
}

// mostSessions bounds the sessions that a connection may open in sequence: the library
// keeps each that its client does not close.
const mostSessions = 100

// folded returns a user as the service compares names.
func folded(name string) string { return strings.ToLower(norm.NFC.String(name)) }

// The library sets deadlines by its own time-outs, of which there are none.
func (c *connection) SetDeadline(time.Time) error { return nil }

// service returns the client of the service for the user of the connection.
func (c *connection) service() *client.Client {
	c.once.Do(func() { c.client = c.server.Client(c.address()) })
	return c.client
}

// address returns the remote address.
func (c *connection) address() string { return c.RemoteAddr().String() }

// serve runs the protocol until the connection ends, and releases all resources.
func (c *connection) serve() {
	defer c.cancel(nil)
	defer c.server.left(c)
	if err := c.place.Promote(c.ctx); err != nil {
		c.server.Log.Debug("SSH connection refused", "address", c.address(), "error", err)
		_ = c.Close()
		return
	}
	c.mu.Lock()
	c.bound = time.AfterFunc(c.server.Limits.Handshake, func() { _ = c.Close() })
	c.mu.Unlock()
	stop := context.AfterFunc(c.ctx, c.end)
	c.server.ssh.HandleConn(c)
	stop()
	c.cancel(nil)
	c.end()
	c.mu.Lock()
	c.bound.Stop()
	console := c.console
	c.mu.Unlock()
	if console != nil {
		<-console
	}
	c.signOut()
}

// end prevents new consoles, waits until the running one has restored the terminal,
// and closes the connection.
func (c *connection) end() {
	c.mu.Lock()
	c.ended = true
	console := c.console
	c.mu.Unlock()
	if console != nil {
		timer := time.NewTimer(c.server.Limits.Leave)
		defer timer.Stop()
		select {
		case <-console:
		case <-timer.C:
		}
	}
	_ = c.Close()
}

// signOutWait bounds the last request of a connection.
const signOutWait = 5 * time.Second

// signOut ends the token of the connection.
func (c *connection) signOut() {
	c.once.Do(func() {}) // no client is created any more
	if c.client == nil {
		return
	}
	defer c.client.Close()
	if c.client.Credential() == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), signOutWait)
	defer cancel()
	if err := c.client.Logout(ctx); err != nil {
		c.server.Log.Debug("revoke token of SSH connection", "address", c.address(), "error", err)
	}
}

// begun is called when the sign-in is complete.
func (c *connection) begun(conn gossh.ConnMetadata) {
	if !c.server.signedIn(c, folded(conn.User())) {
		c.server.Log.Info("SSH connection refused: too many of the user", "user", conn.User(), "address", c.address())
		_ = c.Close()
		return
	}
	c.within(c.server.Limits.Empty)
	c.server.Log.Info("signed in over SSH", "user", conn.User(), "address", c.address(), "client", string(conn.ClientVersion()))
}

// open acquires the connection's slot for a console; the returned function releases it.
func (c *connection) open() (done func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.console != nil || c.opened >= mostSessions {
		return nil, false
	}
	c.opened++
	ended := make(chan struct{})
	c.console = ended
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.console = nil
		close(ended)
	}, true
}

// within closes the connection after d, unless it is called again before; a d
// of 0 disables this.
func (c *connection) within(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bound.Stop()
	if d > 0 && !c.ended {
		c.bound.Reset(d)
	}
}

// watch sends keep-alive requests to the client and closes the connection if it
// does not respond, because a lost connection is not reported otherwise.
func (c *connection) watch(ctx context.Context, conn gossh.Conn) {
	answered := make(chan error, 1)
	tick := time.NewTicker(c.server.Limits.Alive)
	defer tick.Stop()
	asked, missed := false, 0
	for {
		select {
		case <-ctx.Done():
			return
		case err := <-answered:
			if err != nil {
				return // the connection has ended
			}
			asked, missed = false, 0
		case <-tick.C:
			if asked {
				if missed++; missed >= missedMost {
					c.server.Log.Info("SSH client not responding", "address", c.address())
					_ = c.Close()
					return
				}
				continue
			}
			asked = true
			go func() { // ends with the connection
				_, _, err := conn.SendRequest("keepalive@openssh.com", true, nil)
				answered <- err
			}()
		}
	}
}

// missedMost is the number of keep-alive requests that a client may leave unanswered.
const missedMost = 3
