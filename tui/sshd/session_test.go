//go:build !windows

package sshd_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"app.sunloop/tui/layout"
	"app.sunloop/tui/sshd"
)

// until waits for something to become true.
func (w *world) until(what string, holds func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("never came: %s", what)
		}
	}
}

// TestNothingButTheConsole requests the other features of SSH.
func TestNothingButTheConsole(t *testing.T) {
	w := open(t, false, sshd.Limits{})
	key := newKey(t)
	w.user("ana", key)
	c := w.signedIn("ana", key)
	for what, try := range map[string]func(tty) error{
		"runs no command and no shell here": func(s tty) error { return s.Run("cat /etc/passwd") },
		"needs a terminal":                  func(s tty) error { return errors.Join(s.Shell(), s.Wait()) },
	} {
		s := w.session(c)
		if err := try(s); status(err) != 1 || !strings.Contains(s.err.text(), what) {
			t.Errorf("the session that should say it %s ended with %v and said %q", what, err, s.err.text())
		}
	}
	ch, requests, err := c.OpenChannel("session", nil)
	if err != nil {
		t.Fatal(err)
	}
	go gossh.DiscardRequests(requests)
	if _, err := ch.SendRequest("subsystem", true, gossh.Marshal(struct{ Name string }{"sftp"})); err != nil {
		t.Error(err)
	}
	if said, err := io.ReadAll(ch.Stderr()); err != nil || !strings.Contains(string(said), "transfers no files") {
		t.Errorf("sftp gets %q: %v", said, err)
	}
	s := w.session(c)
	for _, request := range []string{"auth-agent-req@openssh.com", "x11-req", "signal", "break", "no-such@example.com"} {
		if ok, err := s.SendRequest(request, true, gossh.Marshal(struct{ A, B string }{"TERM", "x"})); ok || err != nil {
			t.Errorf("%s is granted: %v", request, err)
		}
	}
	_ = s.Close()
	for _, kind := range []string{"direct-tcpip", "direct-streamlocal@openssh.com", "tun@openssh.com", "forwarded-tcpip"} {
		var refused *gossh.OpenChannelError
		if _, _, err := c.OpenChannel(kind, nil); !errors.As(err, &refused) || refused.Reason != gossh.Prohibited {
			t.Errorf("a channel of the kind %s: %v", kind, err)
		}
	}
	for _, request := range []string{"tcpip-forward", "streamlocal-forward@openssh.com", "cancel-tcpip-forward"} {
		if ok, _, err := c.SendRequest(request, true, gossh.Marshal(struct {
			Host string
			Port uint32
		}{"127.0.0.1", 0})); ok || err != nil {
			t.Errorf("%s is granted: %v", request, err)
		}
	}
	one := w.openConsole(c)
	w.next()
	var refused *gossh.OpenChannelError
	if _, err := c.NewSession(); !errors.As(err, &refused) || refused.Reason != gossh.ResourceShortage {
		t.Errorf("a second console on the connection: %v", err)
	}
	if _, err := one.in.Write([]byte("q")); err != nil || status(one.Wait()) != 0 {
		t.Errorf("the first one: %v", err)
	}
	w.openConsole(c)
	w.next() // one after another is good
}

// TestTerminal: size, its changes and the few variables that describe the
// terminal are passed on; nothing else is.
func TestTerminal(t *testing.T) {
	w := open(t, false, sshd.Limits{})
	key := newKey(t)
	w.user("ana", key)
	for _, try := range []struct {
		columns, rows int
		want          layout.Size
	}{
		{132, 43, layout.Size{Columns: 132, Rows: 43}},
		{0, 0, layout.Size{Columns: 80, Rows: 24}},
		{1 << 31, 1<<31 - 1, layout.Size{Columns: 640, Rows: 240}},
		{1, 1, layout.Size{Columns: 1, Rows: 1}},
	} {
		c := w.signedIn("ana", key)
		s := w.session(c)
		for name, value := range map[string]string{"COLORTERM": "truecolor", "NO_COLOR": "1", "LD_PRELOAD": "/tmp/x.so", "PATH": "/tmp", "TERM": "vt52", "COLORFGBG": strings.Repeat("1", 10000), "": ""} {
			err := s.Setenv(name, value)
			if kept := name == "COLORTERM" || name == "NO_COLOR"; (err == nil) != kept {
				t.Errorf("%s=%.20s: %v", name, value, err)
			}
		}
		if err := s.RequestPty("xterm-kitty", try.rows, try.columns, gossh.TerminalModes{gossh.ECHO: 0}); err != nil {
			t.Fatal(err)
		}
		if err := s.Shell(); err != nil {
			t.Fatal(err)
		}
		shown := w.next()
		if got := <-shown.Sizes; got != try.want {
			t.Errorf("%dx%d is %+v, want %+v", try.columns, try.rows, got, try.want)
		}
		var env []string
		for _, name := range []string{"TERM", "COLORTERM", "NO_COLOR", "PATH", "LD_PRELOAD", "COLORFGBG", "HOME"} {
			env = append(env, shown.Getenv(name))
		}
		if want := []string{"xterm-kitty", "truecolor", "1", "", "", "", ""}; !slices.Equal(env, want) {
			t.Errorf("the variables are %q, want %q", env, want)
		}
		// Of many changes the last one counts, and the others need not
		// be read.
		for i := range 100 {
			if err := s.WindowChange(24+i, 80+i); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Setenv("COLORTERM", "late"); err == nil {
			t.Error("a variable is taken when the console runs already")
		}
		if got, want := <-shown.Sizes, (layout.Size{Columns: 179, Rows: 123}); got != want {
			t.Errorf("after the changes the size is %+v, want %+v", got, want)
		}
		_ = c.Close()
		w.await("the console ends", shown.ended)
	}
}

// TestLimits: the limits of consoles for a user and in total, and a released place
// is available again.
func TestLimits(t *testing.T) {
	w := open(t, false, sshd.Limits{UserSessions: 2, Sessions: 3})
	key := newKey(t)
	for _, name := range []string{"ana", "ben", "cleo"} {
		w.user(name, key)
	}
	refused := func(user, want string) {
		t.Helper()
		s := w.openConsole(w.signedIn(user, key))
		if got := status(s.Wait()); got != 1 || !strings.Contains(s.err.text(), want) {
			t.Errorf("%s: ended with %d and said %q, want %q", user, got, s.err.text(), want)
		}
	}
	first := w.openConsole(w.signedIn("ana", key))
	w.next()
	w.openConsole(w.signedIn("ANA", key))
	w.next()
	refused("ana", "You have 2 open consoles, the maximum of a user: close one first.")
	w.openConsole(w.signedIn("ben", key))
	w.next()
	refused("cleo", "The maximum of 3 open consoles is reached: try again later.")
	// Connections without a console are bounded too: two and four.
	for _, name := range []string{"cleo", "cleo", "cleo", "Cleo", "CLEO"} {
		w.signedIn(name, key)
	}
	if c, err := w.dial("cleo", nil, gossh.PublicKeys(key)); err == nil {
		_ = c.Wait()
		if _, err := c.NewSession(); err == nil {
			t.Error("a user has any number of connections")
		}
	}
	if _, err := first.in.Write([]byte("q")); err != nil || status(first.Wait()) != 0 {
		t.Fatal("the first console does not end")
	}
	w.openConsole(w.signedIn("ana", key))
	w.next()
}

// TestPanic: a console that panics takes nothing else along.
func TestPanic(t *testing.T) {
	w := open(t, false, sshd.Limits{})
	key := newKey(t)
	w.user("ana", key)
	c, other := w.signedIn("ana", key), w.signedIn("ana", key)
	s, stays := w.openConsole(c), w.openConsole(other)
	w.next()
	w.next()
	if _, err := s.in.Write([]byte("p")); err != nil {
		t.Fatal(err)
	}
	if got := status(s.Wait()); got != 1 || !strings.Contains(s.err.text(), "The console failed; see the log of the service.") {
		t.Errorf("ended with %d and said %q", got, s.err.text())
	}
	if _, err := stays.in.Write([]byte("q")); err != nil || status(stays.Wait()) != 0 {
		t.Error("the other console does not end as it should")
	}
}

// TestDroppedLine: when the line drops, the console's context ends, and with it
// its requests; the token ends too.
func TestDroppedLine(t *testing.T) {
	w := open(t, false, sshd.Limits{})
	key := newKey(t)
	w.user("ana", key)
	raw, err := net.Dial("tcp", w.address)
	if err != nil {
		t.Fatal(err)
	}
	conn, channels, requests, err := gossh.NewClientConn(raw, w.address, &gossh.ClientConfig{User: "ana", Auth: []gossh.AuthMethod{gossh.PublicKeys(key)}, HostKeyCallback: gossh.FixedHostKey(w.host)})
	if err != nil {
		t.Fatal(err)
	}
	w.openConsole(gossh.NewClient(conn, channels, requests))
	shown := w.next()
	token := shown.Client.Credential()
	_ = raw.Close()
	w.await("the console ends", shown.ended)
	if !errors.Is(context.Cause(shown.ctx), context.Canceled) {
		t.Errorf("the console ended for %v", context.Cause(shown.ctx))
	}
	w.until("the token ends", func() bool { return !w.good(token) })
	_ = conn.Wait()
}

// TestDeadClient: a client that is connected and answers nothing is gone.
func TestDeadClient(t *testing.T) {
	w := open(t, false, sshd.Limits{Alive: 20 * time.Millisecond})
	key := newKey(t)
	w.user("ana", key)
	raw, err := net.Dial("tcp", w.address)
	if err != nil {
		t.Fatal(err)
	}
	conn, channels, requests, err := gossh.NewClientConn(raw, w.address, &gossh.ClientConfig{User: "ana", Auth: []gossh.AuthMethod{gossh.PublicKeys(key)}, HostKeyCallback: gossh.FixedHostKey(w.host)})
	if err != nil {
		t.Fatal(err)
	}
	silent := make(chan *gossh.Request)
	go func() { // it hears, and says nothing
		defer close(silent)
		for range requests {
		}
	}()
	c := gossh.NewClient(conn, channels, silent)
	w.openConsole(c)
	shown := w.next()
	w.await("the console ends", shown.ended)
	_ = c.Close()
}

// TestIdle: a console without input is closed with a message.
func TestIdle(t *testing.T) {
	w := open(t, false, sshd.Limits{Idle: 300 * time.Millisecond, Leave: 300 * time.Millisecond})
	key := newKey(t)
	w.user("ana", key)
	s := w.openConsole(w.signedIn("ana", key))
	shown := w.next()
	if got := status(s.Wait()); got != 1 || !strings.Contains(s.err.text(), "no key was pressed for 300ms") {
		t.Errorf("ended with %d and said %q", got, s.err.text())
	}
	w.await("the console ends", shown.ended)
	// One whose client reads nothing is closed too.
	c := w.signedIn("ana", key)
	stuck, requests, err := c.OpenChannel("session", nil)
	if err != nil {
		t.Fatal(err)
	}
	go gossh.DiscardRequests(requests)
	pty := struct {
		Term       string
		C, R, W, H uint32
		Modes      string
	}{Term: "xterm", C: 80, R: 24}
	for kind, payload := range map[string][]byte{"pty-req": gossh.Marshal(pty)} {
		if ok, err := stuck.SendRequest(kind, true, payload); !ok || err != nil {
			t.Fatal(kind, err)
		}
	}
	if ok, err := stuck.SendRequest("shell", true, nil); !ok || err != nil {
		t.Fatal(err)
	}
	shown = w.next()
	if _, err := stuck.Write([]byte("f")); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	w.await("the console ends", shown.ended)
}

// TestHalfOpenConnections are closed after a while.
func TestHalfOpenConnections(t *testing.T) {
	w := open(t, false, sshd.Limits{Handshake: 300 * time.Millisecond})
	for i, text := range []string{"SSH-2.0-half\r\n", ""} {
		c, err := net.Dial("tcp", w.address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(c); err != nil && !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "reset") {
			t.Errorf("half-open connection %d: %v", i, err)
		}
	}
}

// TestNetworkWaiting: so many connections of one network wait at a time; one
// more takes the place of the oldest.
func TestNetworkWaiting(t *testing.T) {
	w := open(t, false, sshd.Limits{NetworkWaiting: 3})
	half := make([]net.Conn, 4)
	for i := range half {
		var err error
		if half[i], err = net.Dial("tcp", w.address); err != nil {
			t.Fatal(err)
		}
		defer half[i].Close()
		_ = half[i].SetReadDeadline(time.Now().Add(patience))
		if _, err := io.ReadFull(half[i], make([]byte, 4)); err != nil { // SSH-: it has a place
			t.Fatalf("connection %d: %v", i+1, err)
		}
	}
	if _, err := io.Copy(io.Discard, half[0]); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the oldest is open")
	}
	for i, c := range half[1:] {
		_ = c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		if _, err := io.Copy(io.Discard, c); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("connection %d is closed: %v", i+2, err)
		}
	}
}

// TestLateAnswer: who does not answer the questions of the sign-in is let go of.
func TestLateAnswer(t *testing.T) {
	w := open(t, false, sshd.Limits{SignIn: 200 * time.Millisecond})
	w.user("ana")
	late := &questions{answers: []func() string{func() string { time.Sleep(5 * 200 * time.Millisecond); return password }}}
	if _, err := w.dial("ana", nil, gossh.KeyboardInteractive(late.ask)); err == nil {
		t.Error("an answer that is far late opens a connection")
	}
}

// TestConnectionsWithoutConsole are closed, whether they open a session for one
// or not.
func TestConnectionsWithoutConsole(t *testing.T) {
	w := open(t, false, sshd.Limits{Empty: 200 * time.Millisecond})
	key := newKey(t)
	w.user("ana", key)
	_ = w.signedIn("ana", key).Wait()
	c := w.signedIn("ana", key)
	if s, err := c.NewSession(); err == nil {
		defer s.Close()
	}
	_ = c.Wait()
}

// TestEnding: when the server ends, the consoles end and state the reason.
func TestEnding(t *testing.T) {
	w := open(t, false, sshd.Limits{})
	key := newKey(t)
	w.user("ana", key)
	half, err := net.Dial("tcp", w.address)
	if err != nil {
		t.Fatal(err)
	}
	defer half.Close()
	s := w.openConsole(w.signedIn("ana", key))
	shown := w.next()
	w.end()
	if got := status(s.Wait()); got != 1 || !strings.Contains(s.err.text(), "the service is ending") {
		t.Errorf("ended with %d and said %q", got, s.err.text())
	}
	w.await("the console ends", shown.ended)
	if _, err := net.Dial("tcp", w.address); err == nil {
		t.Error("the server still listens")
	}
}
