//go:build !windows

package sshd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/charmbracelet/ssh"
	gossh "golang.org/x/crypto/ssh"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/tui/layout"
)

// Session is the SSH session of a console.
type Session struct {
	User    string             // as given to SSH
	Address string             // host:port
	Login   *api.LoginResponse // with a token, or the challenge that sets up an authenticator
	Client  *client.Client     // signed in, if there is a token
	In      io.Reader
	Out     io.Writer
	Sizes   <-chan layout.Size // of the terminal: now, then each change
	Getenv  func(string) string
}

// errIdle ends a console without input.
var errIdle = errors.New("no key was pressed")

// Messages for refused requests.
const (
	noCommand  = "Sunloop runs no command and no shell here: connect without one for the console."
	noTerminal = "The console needs a terminal: connect with ssh -t."
	noTransfer = "Sunloop transfers no files here: connect with ssh for the console."
	oneConsole = "a connection has one console at a time; Sunloop has no shell"
)

// session serves a session channel.
func (s *Server) session(_ *ssh.Server, conn *gossh.ServerConn, nc gossh.NewChannel, sctx ssh.Context) {
	c := connectionOf(sctx)
	login, ok := loginOf(conn.Permissions)
	if !ok { // unreachable without
		_ = nc.Reject(gossh.Prohibited, "no sign-in")
		return
	}
	done, ok := c.open()
	if !ok {
		_ = nc.Reject(gossh.ResourceShortage, oneConsole)
		return
	}
	ch, requests, err := nc.Accept()
	if err != nil {
		done()
		return
	}
	t := &terminal{Channel: ch, sizes: make(chan layout.Size, 1), env: environment{}}
	defer func() {
		done() // before the client is notified, as it may then open the next one
		_ = ch.Close()
		go gossh.DiscardRequests(requests) // ends with the channel
	}()
	for q := range requests {
		if t.set(q) {
			continue
		}
		switch q.Type {
		case "shell":
			_ = q.Reply(true, nil)
			if !t.asked {
				t.refuse(noTerminal)
				return
			}
			s.show(c, conn, login, t, requests)
			return
		case "exec":
			_ = q.Reply(true, nil)
			t.refuse(noCommand)
			return
		case "subsystem":
			_ = q.Reply(true, nil)
			t.refuse(noTransfer)
			return
		default: // agents, X11 and others
			_ = q.Reply(false, nil)
		}
	}
}

// show runs the console on the channel.
func (s *Server) show(c *connection, conn *gossh.ServerConn, login *api.LoginResponse, t *terminal, requests <-chan *gossh.Request) {
	user := folded(conn.User())
	if why := s.acquire(user); why != "" {
		t.refuse(why)
		return
	}
	defer s.release(user)
	ctx, cancel := context.WithCancelCause(c.ctx)
	defer cancel(nil)
	t.shown = true
	c.within(0)
	defer c.within(s.Limits.Empty)
	ended := make(chan error, 1)
	go c.watch(ctx, conn)
	go func() { ended <- s.console(ctx, c, conn, login, t, cancel) }()
	over := ctx.Done()
	for {
		select {
		case <-over:
			over = nil
			c.within(s.Limits.Leave) // a client that does not read would block it forever
		case q, ok := <-requests:
			switch {
			case !ok: // the channel or the connection is closed
				cancel(context.Canceled)
				<-ended //nolint:errcheck // the connection is closed
				return
			case !t.set(q):
				_ = q.Reply(false, nil)
			}
		case err := <-ended:
			c.within(s.Limits.Leave)
			t.leave(context.Cause(ctx), err, s.Limits.Idle)
			return
		}
	}
}

// errConsole is a console that failed; the log has the reason.
var errConsole = errors.New("the console failed")

// console runs the console and recovers from its panics.
func (s *Server) console(ctx context.Context, c *connection, conn *gossh.ServerConn, login *api.LoginResponse, t *terminal, cancel context.CancelCauseFunc) (err error) {
	log := s.Log.With("user", conn.User(), "address", c.address())
	defer func() {
		if p := recover(); p != nil {
			log.Error("SSH console panicked", "panic", p, "stack", string(debug.Stack()))
			err = errConsole
		}
	}()
	in := io.Reader(t.Channel)
	if s.Limits.Idle > 0 {
		idle := time.AfterFunc(s.Limits.Idle, func() { cancel(errIdle) })
		defer idle.Stop()
		in = watched{t.Channel, func() { idle.Reset(s.Limits.Idle) }}
	}
	log.Info("SSH console started", "terminal", t.env["TERM"])
	err = s.Console(ctx, &Session{
		User: conn.User(), Address: c.address(), Login: login, Client: c.service(), In: in, Out: t.Channel, Sizes: t.sizes, Getenv: t.env.get,
	})
	log.Info("SSH console ended", "cause", context.Cause(ctx), "error", err)
	if err != nil && ctx.Err() == nil {
		return errConsole
	}
	return nil
}

// watched calls a function for each byte that is read.
type watched struct {
	io.Reader
	onRead func()
}

func (w watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if n > 0 {
		w.onRead()
	}
	return n, err
}

// terminal is the terminal as described by a client, and the channel to it.
type terminal struct {
	gossh.Channel
	asked bool // for a pseudo-terminal
	shown bool // on it is the console, which reads env
	sizes chan layout.Size
	env   environment
}

// set takes a request that describes the terminal; false for any other.
func (t *terminal) set(q *gossh.Request) bool {
	ok := false
	switch {
	case q.Type == "pty-req" && !t.shown:
		var p struct {
			Term                         string
			Columns, Rows, Width, Height uint32
			Modes                        string
		}
		if ok = gossh.Unmarshal(q.Payload, &p) == nil; ok {
			t.asked = true
			t.env.set("TERM", p.Term)
			t.resize(p.Columns, p.Rows)
		}
	case q.Type == "window-change":
		var p struct{ Columns, Rows, Width, Height uint32 }
		if ok = gossh.Unmarshal(q.Payload, &p) == nil; ok {
			t.resize(p.Columns, p.Rows)
		}
	case q.Type == "env" && !t.shown:
		var p struct{ Name, Value string }
		ok = gossh.Unmarshal(q.Payload, &p) == nil && p.Name != "TERM" && t.env.set(p.Name, p.Value)
	default:
		return false
	}
	_ = q.Reply(ok, nil)
	return true
}

// Bounds of the size of a console: a larger one is beyond any screen and would use
// memory without limit. A client without a size gets the smallest.
const (
	mostColumns, mostRows   = 640, 240
	plainColumns, plainRows = 80, 24
)

// resize keeps the newest size for the reader.
func (t *terminal) resize(columns, rows uint32) {
	size := layout.Size{Columns: plainColumns, Rows: plainRows}
	if columns > 0 && rows > 0 {
		size = layout.Size{Columns: int(min(columns, mostColumns)), Rows: int(min(rows, mostRows))}
	}
	select {
	case <-t.sizes: // an older one that was not read
	default:
	}
	t.sizes <- size // this goroutine alone writes
}

// refuse states why there is no console.
func (t *terminal) refuse(why string) {
	fmt.Fprint(t.Stderr(), why, "\r\n")
	t.exit(1)
}

// leave ends the session of a console, with a message if the user did not end it.
func (t *terminal) leave(cause, err error, idle time.Duration) {
	switch {
	case errors.Is(cause, errIdle):
		fmt.Fprintf(t.Stderr(), "The console was closed: no key was pressed for %s.\r\n", idle)
	case errors.Is(cause, errEnding):
		fmt.Fprint(t.Stderr(), "The console was closed: the service is ending.\r\n")
	case err != nil:
		fmt.Fprint(t.Stderr(), "The console failed; see the log of the service.\r\n")
	default:
		t.exit(0)
		return
	}
	t.exit(1)
}

func (t *terminal) exit(status uint32) {
	_, _ = t.SendRequest("exit-status", false, gossh.Marshal(struct{ Status uint32 }{status}))
	_ = t.CloseWrite()
}

// environment holds the accepted environment variables of a client.
type environment map[string]string

// variables are those that the console uses; a client's others are not kept.
var variables = []string{"TERM", "COLORTERM", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLORFGBG", "TMUX"}

// longestValue is far above any real value.
const longestValue = 256

// set stores a variable; it returns false for one that the console does not use.
func (e environment) set(name, value string) bool {
	for _, known := range variables {
		if name == known && len(value) <= longestValue {
			e[name] = value
			return true
		}
	}
	return false
}

// get returns a variable's value; it reports an SSH session.
func (e environment) get(name string) string {
	if name == "SSH_CONNECTION" {
		return "ssh"
	}
	return e[name]
}
