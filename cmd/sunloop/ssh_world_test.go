//go:build !windows

package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/charmbracelet/x/vt"
	"github.com/pquerna/otp/totp"
	gossh "golang.org/x/crypto/ssh"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
)

const sshPassword = "correct horse battery"

// sshWorld is a service with its consoles over SSH, and one user with a key.
type sshWorld struct {
	t       *testing.T
	service *backend.Service
	globals *Globals
	address string
	key     gossh.Signer
	keyFile string

	mu sync.Mutex
	at time.Time
}

func (w *sshWorld) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

// openSSHWorld serves until the test ends.
func openSSHWorld(t *testing.T, requireMFA bool) *sshWorld {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir()) // no settings of a user
	w := &sshWorld{t: t, at: time.Date(2026, 11, 28, 9, 0, 7, 0, time.UTC), globals: &Globals{Data: t.TempDir(), LogLevel: "info"}}
	service, err := backend.New(backend.Config{
		DataDir: w.globals.Data, Now: w.now, RequireMFA: requireMFA, Argon: &argon2id.Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32},
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.service = service
	w.key, w.keyFile = newSSHKey(t)
	if _, err := service.Auth().CreateUser(t.Context(), auth.NewUser{Username: "ana", Password: sshPassword, Role: api.RoleOperator, Customers: []string{"acme"}, SSHKeys: []string{string(gossh.MarshalAuthorizedKey(w.key.PublicKey()))}}); err != nil {
		t.Fatal(err)
	}
	look, err := defaultLook(w.globals)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.address = l.Addr().String()
	_ = l.Close() // open requires an address
	serve, err := consolesOf(service, w.globals, look, slog.New(slog.DiscardHandler)).open(t.Context(), w.address, SSHFlags{UserSessions: 4, Sessions: 8, Idle: time.Hour, SignInTime: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// newSSHKey creates a key, and a file with it in the format of ssh.
func newSSHKey(t *testing.T) (gossh.Signer, string) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := gossh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "id")
	if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := gossh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return key, file
}

// enrol sets up the user's authenticator; the function answers its next code.
func (w *sshWorld) enrol() func() string {
	w.t.Helper()
	r, err := w.service.Auth().Login(w.t.Context(), "ana", sshPassword, "192.0.2.1")
	if err != nil {
		w.t.Fatal(err)
	}
	_, secret, _ := strings.Cut(r.ProvisioningURI, "secret=")
	secret, _, _ = strings.Cut(secret, "&")
	code := func() string { return w.code(secret) }
	if _, err := w.service.Auth().VerifyMFA(w.t.Context(), r.MFAToken, code()); err != nil {
		w.t.Fatal(err)
	}
	return code
}

// code is a code that was not used before.
func (w *sshWorld) code(secret string) string {
	w.t.Helper()
	w.mu.Lock()
	w.at = w.at.Add(30 * time.Second)
	w.mu.Unlock()
	code, err := totp.GenerateCode(secret, w.now())
	if err != nil {
		w.t.Fatal(err)
	}
	return code
}

// farScreen is the terminal of an SSH session. It answers no
// question of the console.
type farScreen struct {
	t       *testing.T
	client  *gossh.Client
	session *gossh.Session
	in      io.WriteCloser

	mu   sync.Mutex
	vt   *vt.Emulator
	sent strings.Builder
}

// Write draws.
func (s *farScreen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent.Write(p)
	return s.vt.Write(p)
}

// console opens a console in a terminal of that kind and size, and types keys
// at once.
func (w *sshWorld) console(term string, env map[string]string, columns, rows int, keys string) *farScreen {
	w.t.Helper()
	return w.consoleOf("ana", w.key, term, env, columns, rows, keys)
}

// consoleOf opens the console of a user with a key.
func (w *sshWorld) consoleOf(user string, key gossh.Signer, term string, env map[string]string, columns, rows int, keys string) *farScreen {
	w.t.Helper()
	c, err := gossh.Dial("tcp", w.address, &gossh.ClientConfig{User: user, Auth: []gossh.AuthMethod{gossh.PublicKeys(key)}, HostKeyCallback: gossh.InsecureIgnoreHostKey()}) //nolint:gosec // its own server
	if err != nil {
		w.t.Fatal(err)
	}
	s := &farScreen{t: w.t, client: c, vt: vt.NewEmulator(columns, rows)}
	go func() { _, _ = io.Copy(io.Discard, s.vt) }() // its answers go nowhere
	w.t.Cleanup(func() { _ = c.Close(); _ = s.vt.Close() })
	if s.session, err = c.NewSession(); err != nil {
		w.t.Fatal(err)
	}
	s.session.Stdout, s.session.Stderr = s, s
	if s.in, err = s.session.StdinPipe(); err != nil {
		w.t.Fatal(err)
	}
	for name, value := range env {
		if err := s.session.Setenv(name, value); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := s.session.RequestPty(term, rows, columns, nil); err != nil {
		w.t.Fatal(err)
	}
	if err := s.session.Shell(); err != nil {
		w.t.Fatal(err)
	}
	s.press(keys)
	return s
}

func (s *farScreen) press(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, keys); err != nil {
		s.t.Fatal(err)
	}
}

// text is what the terminal shows.
func (s *farScreen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.vt.String()
}

func (s *farScreen) raw() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent.String()
}

// shows waits until the screen holds all the words.
func (s *farScreen) shows(words ...string) string {
	s.t.Helper()
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		text := s.text()
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			return text
		}
		if time.Now().After(end) {
			s.t.Fatalf("%q never came:\n%s", words, text)
		}
	}
}

// resize changes the terminal and says so.
func (s *farScreen) resize(columns, rows int) {
	s.t.Helper()
	s.mu.Lock()
	s.vt.Resize(columns, rows)
	s.mu.Unlock()
	if err := s.session.WindowChange(rows, columns); err != nil {
		s.t.Fatal(err)
	}
}
