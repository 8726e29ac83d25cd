//go:build !windows

package sshd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/ssh"
	"github.com/charmbracelet/wish"
	gossh "golang.org/x/crypto/ssh"

	"app.sunloop/backend/admission"
	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/internal/clock"
)

// Limits of a server; zero fields take their defaults, and a negative Idle
// means never.
type Limits struct {
	UserSessions int           // consoles of a user at a time; 4
	Sessions     int           // consoles in all; 64
	Idle         time.Duration // without a key; 8 h
	Handshake    time.Duration // until the line is encrypted; 20 s
	SignIn       time.Duration // from there until the sign-in is done; 2 min
	Empty        time.Duration // a connection without a console; 1 min
	Alive        time.Duration // between two keep-alive requests; 30 s
	Leave        time.Duration // for a console that ends to restore the terminal; 5 s

	Waiting        int // connections that have not signed in; 256
	NetworkWaiting int // of these, of one network (/24, or /64 of IPv6); a quarter
}

func (l Limits) filled() Limits {
	return Limits{
		UserSessions: cmp.Or(l.UserSessions, 4), Sessions: cmp.Or(l.Sessions, 64), Idle: cmp.Or(l.Idle, 8*time.Hour),
		Handshake: cmp.Or(l.Handshake, 20*time.Second), SignIn: cmp.Or(l.SignIn, 2*time.Minute), Empty: cmp.Or(l.Empty, time.Minute),
		Alive: cmp.Or(l.Alive, 30*time.Second), Leave: cmp.Or(l.Leave, 5*time.Second), Waiting: cmp.Or(l.Waiting, 256), NetworkWaiting: l.NetworkWaiting,
	}
}

// Keys are the public keys of the service's users, in SSH's wire format.
type Keys interface {
	// Has reports whether a user who may sign in has the key.
	Has(ctx context.Context, username string, key []byte) (bool, error)
	// Login signs in the holder of the key, who is at the address (host:port);
	// the answer is a token or a challenge.
	Login(ctx context.Context, username string, key []byte, address string) (api.LoginResponse, error)
}

// Config of a server. Limits may be zero. If Keys is nil, sign-in by key is not
// possible.
type Config struct {
	HostKey gossh.Signer
	// Client returns a client of the service for a caller at an address
	// (host:port).
	Client func(address string) *client.Client
	Keys   Keys
	// Console shows the console until the user quits or ctx ends.
	Console func(ctx context.Context, s *Session) error
	Limits  Limits
	// Dropped is called for each connection that is evicted or refused. It returns
	// at once. Nil: nothing.
	Dropped func(admission.Drop)
	Log     *slog.Logger
}

// Server serves consoles.
type Server struct {
	Config
	ssh *ssh.Server

	places *admission.Table // of connections

	mu       sync.Mutex
	people   map[string]int // connections that have signed in, by user
	sessions map[string]int // consoles by user
	consoles int
}

// New returns a server.
func New(c Config) (*Server, error) {
	if c.HostKey == nil || c.Client == nil || c.Console == nil || c.Log == nil {
		return nil, errors.New("sshd requires a host key, a client, a console and a log")
	}
	c.Limits = c.Limits.filled()
	s := &Server{Config: c, people: map[string]int{}, sessions: map[string]int{}}
	s.places = admission.New(admission.Limits{
		Connections: c.Limits.Sessions + c.Limits.Waiting, Unauthenticated: c.Limits.Waiting, Network: c.Limits.NetworkWaiting, Overflow: doorway,
	}, nil, time.Now)
	s.places.Report(c.Dropped)
	var err error
	s.ssh, err = wish.NewServer(
		wish.WithVersion("Sunloop"),
		wish.WithKeyboardInteractiveAuth(s.byQuestions),
		ssh.WrapConn(func(ctx ssh.Context, c net.Conn) net.Conn {
			ctx.SetValue(connectionKey{}, c)
			return c
		}),
		func(w *ssh.Server) error {
			w.AddHostKey(c.HostKey)
			w.ServerConfigCallback = s.serverConfig
			// The library's own session keeps every variable that a client sends and
			// grants agents; ours answers what a console needs.
			w.ChannelHandlers = map[string]ssh.ChannelHandler{"session": s.session, "default": refuseChannel}
			w.RequestHandlers = map[string]ssh.RequestHandler{} // no forwarding
			w.SubsystemHandlers = map[string]ssh.SubsystemHandler{}
			return nil
		},
	)
	if err != nil {
		return nil, fmt.Errorf("make the SSH server: %w", err)
	}
	return s, nil
}

// errEnding ends consoles when the server ends.
var errEnding = errors.New("the service is ending")

// Serve serves connections of l until ctx ends, ends the consoles, and waits
// for all that it started.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ended := ctx
	ctx, end := context.WithCancelCause(context.WithoutCancel(ended))
	defer context.AfterFunc(ended, func() { end(errEnding) })()
	var wait sync.WaitGroup
	defer wait.Wait()
	defer end(errEnding)
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	defer func() { _ = l.Close() }()
	pause := time.Duration(0)
	for {
		raw, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			if errors.Is(err, net.ErrClosed) {
				return fmt.Errorf("accept SSH connections: %w", err)
			}
			// Most likely there is no free file descriptor, which is temporary.
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			s.Log.Warn("accept SSH connection", "error", err)
			_ = clock.Sleep(ctx, pause) // the next round sees its end
			continue
		}
		pause = 0
		c, ok := s.admit(ctx, raw)
		if !ok {
			_ = raw.Close()
			continue
		}
		wait.Go(func() { c.serve() }) //nolint:contextcheck // the connection has its context
	}
}

// doorway is the number of connections that may wait for a slot.
const doorway = 16

// admit gives a connection a slot, if necessary that of an older one that has not
// signed in, or lets it wait for one.
func (s *Server) admit(ctx context.Context, raw net.Conn) (*connection, bool) {
	place := s.places.Admit(raw.RemoteAddr(), func() {
		s.Log.Debug("SSH connection closed for a newer one", "address", raw.RemoteAddr().String())
		_ = raw.Close()
	})
	if place == nil {
		s.Log.Debug("SSH connection refused: too many", "address", raw.RemoteAddr().String())
		return nil, false
	}
	c := &connection{Conn: raw, server: s, place: place}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	return c, true
}

// spare is how many connections a user may have beyond the consoles: enough to be
// notified of the limit.
const spare = 4

// signedIn counts a connection among those of a user; false when these are too
// many.
func (s *Server) signedIn(c *connection, user string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.people[user] >= s.Limits.UserSessions+spare {
		return false
	}
	s.people[user]++
	c.user = user
	c.place.Authenticate()
	return true
}

// left removes a connection from the count.
func (s *Server) left(c *connection) {
	c.place.Release()
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.user != "" {
		decrement(s.people, c.user)
	}
}

// decrement decrements a count and deletes it at zero.
func decrement(counts map[string]int, of string) {
	if counts[of]--; counts[of] == 0 {
		delete(counts, of)
	}
}

// acquire counts a new console of a user. It returns the reason if the limit is
// reached.
func (s *Server) acquire(user string) (refusal string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.sessions[user] >= s.Limits.UserSessions:
		return fmt.Sprintf("You have %d open consoles, the maximum of a user: close one first.", s.sessions[user])
	case s.consoles >= s.Limits.Sessions:
		return fmt.Sprintf("The maximum of %d open consoles is reached: try again later.", s.consoles)
	}
	s.sessions[user]++
	s.consoles++
	return ""
}

func (s *Server) release(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.consoles--
	decrement(s.sessions, user)
}

// algorithms returns those of the library without SHA-1 and CBC.
func algorithms() gossh.Algorithms {
	a := gossh.SupportedAlgorithms()
	weak := func(name string) bool {
		return strings.Contains(name, "sha1") || strings.Contains(name, "cbc") || strings.HasPrefix(name, "ssh-dss") ||
			name == gossh.KeyAlgoRSA || name == gossh.CertAlgoRSAv01 // signatures with SHA-1
	}
	for _, names := range []*[]string{&a.Ciphers, &a.MACs, &a.KeyExchanges, &a.HostKeys, &a.PublicKeyAuths} {
		*names = slices.DeleteFunc(*names, weak)
	}
	return a
}

// refuseChannel rejects requests for anything but a session.
func refuseChannel(_ *ssh.Server, _ *gossh.ServerConn, c gossh.NewChannel, _ ssh.Context) {
	_ = c.Reject(gossh.Prohibited, "Forwarding is disabled: only the console is available")
}
