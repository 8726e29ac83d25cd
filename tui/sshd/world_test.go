//go:build !windows

package sshd_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/pquerna/otp/totp"
	"go.uber.org/goleak"
	gossh "golang.org/x/crypto/ssh"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
	"app.sunloop/tui/sshd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const password = "correct horse battery"

// patience is how long a test waits for what must come; no test asserts it.
const patience = 20 * time.Second

// world is a real service with a server of consoles before it. The consoles
// are the test's: each is handed over on shown, and ends with its context or
// with a byte q.
type world struct {
	t       *testing.T
	service *backend.Service
	address string
	host    gossh.PublicKey
	shown   chan shown
	end     context.CancelFunc
	served  chan error

	mu sync.Mutex
	at time.Time // the service's clock
}

// shown is a console that runs.
type shown struct {
	*sshd.Session
	ctx   context.Context
	ended chan struct{}
}

// open starts a service and a server over it.
func open(t *testing.T, requireMFA bool, limits sshd.Limits) *world {
	t.Helper()
	w := &world{t: t, shown: make(chan shown, 64), served: make(chan error, 1), at: time.Date(2026, 11, 28, 9, 0, 7, 0, time.UTC)}
	var err error
	w.service, err = backend.New(backend.Config{DataDir: t.TempDir(), Now: w.now, RequireMFA: requireMFA, Argon: &argon2id.Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}})
	if err != nil {
		t.Fatal(err)
	}
	key := newKey(t)
	w.host = key.PublicKey()
	server, err := sshd.New(sshd.Config{
		HostKey: key, Keys: keys{w.service}, Limits: limits, Log: slog.New(slog.DiscardHandler), Console: w.console,
		Client: func(address string) *client.Client {
			return client.New(client.Options{Transport: client.InProcessFrom(w.service.Handler(), address)})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.address = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	w.end = cancel
	go func() { w.served <- server.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-w.served; err != nil {
			t.Error(err)
		}
		if err := w.service.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = w.at.Add(d)
}

// console replaces the real one: it greets and echoes nothing.
func (w *world) console(ctx context.Context, s *sshd.Session) error {
	c := shown{s, ctx, make(chan struct{})}
	defer close(c.ended)
	if _, err := io.WriteString(s.Out, "hello "+s.User+"\r\n"); err != nil {
		return err
	}
	w.shown <- c
	left, panics := make(chan struct{}), make(chan struct{}, 1)
	go func() {
		b := make([]byte, 1)
		for {
			if _, err := s.In.Read(b); err != nil {
				return // the line is gone, which ends the context
			}
			switch b[0] {
			case 'q':
				close(left)
				return
			case 'p':
				close(panics)
				return
			case 'f': // until no goroutine reads any more
				for ctx.Err() == nil {
					if _, err := s.Out.Write(make([]byte, 64<<10)); err != nil {
						return
					}
				}
			}
		}
	}()
	select {
	case <-panics:
		panic("asked for")
	case <-left:
	case <-ctx.Done():
	}
	return nil
}

// next returns the console that was opened last.
func (w *world) next() shown {
	w.t.Helper()
	select {
	case s := <-w.shown:
		return s
	case <-time.After(patience):
		w.t.Fatal("no console came")
		panic("unreachable")
	}
}

// await waits for a channel to be closed.
func (w *world) await(what string, c <-chan struct{}) {
	w.t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		w.t.Fatalf("never came: %s", what)
	}
}

// keys are the users' of a service.
type keys struct{ service *backend.Service }

func (k keys) Has(ctx context.Context, username string, key []byte) (bool, error) {
	return k.service.Auth().HasSSHKey(ctx, username, key)
}

func (k keys) Login(ctx context.Context, username string, key []byte, address string) (api.LoginResponse, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return api.LoginResponse{}, err
	}
	r, err := k.service.Auth().LoginByKey(ctx, username, key, host)
	return r, k.service.RecordSignIn(ctx, api.ActionSSHKey, address, r, err)
}

func newKey(t *testing.T) gossh.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, err := gossh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// user creates a user with the keys.
func (w *world) user(name string, keys ...gossh.Signer) {
	w.t.Helper()
	var lines []string
	for _, k := range keys {
		lines = append(lines, string(gossh.MarshalAuthorizedKey(k.PublicKey())))
	}
	if _, err := w.service.Auth().CreateUser(w.t.Context(), auth.NewUser{Username: name, Password: password, Role: api.RoleOperator, Customers: []string{"acme"}, SSHKeys: lines}); err != nil {
		w.t.Fatal(err)
	}
}

// change changes a user.
func (w *world) change(name string, c auth.UserChange) {
	w.t.Helper()
	if _, _, err := w.service.Auth().As(api.Unlimited("")).ChangeUser(w.t.Context(), auth.UserRef{Username: name}, c); err != nil {
		w.t.Fatal(err)
	}
}

// enrol sets up a user's authenticator; the function answers its codes.
func (w *world) enrol(name string) func() string {
	w.t.Helper()
	r, err := w.service.Auth().Login(w.t.Context(), name, password, "192.0.2.1")
	if err != nil {
		w.t.Fatal(err)
	}
	u, err := url.Parse(r.ProvisioningURI)
	if err != nil {
		w.t.Fatal(err)
	}
	code := func() string {
		w.pass(30 * time.Second) // no code is good twice
		c, err := totp.GenerateCode(u.Query().Get("secret"), w.now())
		if err != nil {
			w.t.Error(err)
		}
		return c
	}
	if _, err := w.service.Auth().VerifyMFA(w.t.Context(), r.MFAToken, code()); err != nil {
		w.t.Fatal(err)
	}
	return code
}

// questions answers a server's questions and keeps its texts.
type questions struct {
	answers []func() string
	said    []string
	asked   []string
}

func (q *questions) ask(_, words string, asked []string, _ []bool) ([]string, error) {
	if words != "" {
		q.said = append(q.said, words)
	}
	var given []string
	for _, question := range asked {
		q.asked = append(q.asked, question)
		if len(q.answers) == 0 {
			return nil, errors.New("nothing left to answer")
		}
		given = append(given, q.answers[0]())
		q.answers = q.answers[1:]
	}
	return given, nil
}

func says(text string) func() string { return func() string { return text } }

// dial connects; banner collects the server's texts before the sign-in.
func (w *world) dial(user string, banner *strings.Builder, methods ...gossh.AuthMethod) (*gossh.Client, error) {
	c, err := gossh.Dial("tcp", w.address, &gossh.ClientConfig{
		User: user, Auth: methods, HostKeyCallback: gossh.FixedHostKey(w.host), Timeout: patience,
		BannerCallback: func(text string) error {
			if banner != nil {
				banner.WriteString(text)
			}
			return nil
		},
	})
	if err == nil {
		w.t.Cleanup(func() { _ = c.Close() })
	}
	return c, err
}

// signedIn connects by key.
func (w *world) signedIn(user string, key gossh.Signer) *gossh.Client {
	w.t.Helper()
	c, err := w.dial(user, nil, gossh.PublicKeys(key))
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// tty is a session with a terminal.
type tty struct {
	*gossh.Session
	in  io.WriteCloser
	out io.Reader
	err *buffer
}

// buffer may be read while it is written.
type buffer struct {
	mu sync.Mutex
	strings.Builder
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Builder.Write(p)
}

func (b *buffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Builder.String()
}

// session opens a session, as soon as the last one of the connection has ended;
// its result goes to err.
func (w *world) session(c *gossh.Client) tty {
	w.t.Helper()
	var s *gossh.Session
	var err error
	w.until("a place for a session", func() bool {
		s, err = c.NewSession()
		var refused *gossh.OpenChannelError
		return !errors.As(err, &refused) || refused.Reason != gossh.ResourceShortage
	})
	if err != nil {
		w.t.Fatal(err)
	}
	t := tty{Session: s, err: &buffer{}}
	s.Stderr = t.err
	if t.in, err = s.StdinPipe(); err != nil {
		w.t.Fatal(err)
	}
	if t.out, err = s.StdoutPipe(); err != nil {
		w.t.Fatal(err)
	}
	return t
}

// console opens a console on a connection.
func (w *world) openConsole(c *gossh.Client) tty {
	w.t.Helper()
	s := w.session(c)
	if err := s.RequestPty("xterm-256color", 24, 80, nil); err != nil {
		w.t.Fatal(err)
	}
	if err := s.Shell(); err != nil {
		w.t.Fatal(err)
	}
	return s
}

// status returns how a session ended.
func status(err error) int {
	var e *gossh.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.ExitStatus()
	}
	return -1
}

// good reports whether a token is valid.
func (w *world) good(token string) bool {
	_, err := w.service.Auth().Authenticate(w.t.Context(), token)
	return err == nil
}
