package mail_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"app.sunloop/backend/mail"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// received is a message as the peer had it.
type received struct {
	From, To, User string
	TLS            bool
	data           string
}

// peer is a mail server that keeps what it gets.
type peer struct {
	mu       sync.Mutex
	messages []received
	password string // empty: secret
	refused  func() // is called when a sign-in is refused; nil: nothing is
}

func (p *peer) accepts(user, password string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	want := p.password
	if want == "" {
		want = "secret"
	}
	if user == "sunloop" && password == want {
		return true
	}
	if p.refused != nil {
		p.refused()
	}
	return false
}

func (p *peer) NewSession(c *smtp.Conn) (smtp.Session, error) { return &session{peer: p, conn: c}, nil }

type session struct {
	peer *peer
	conn *smtp.Conn
	one  received
}

func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.one.From = from
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	switch {
	case strings.HasPrefix(to, "unknown@"):
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"}
	case strings.HasPrefix(to, "later@"):
		return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 7, 1}, Message: "try again later"}
	}
	s.one.To = to
	return nil
}

func (s *session) Data(r io.Reader) error {
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	_, s.one.TLS = s.conn.TLSConnectionState()
	s.one.data = string(b)
	s.peer.mu.Lock()
	defer s.peer.mu.Unlock()
	s.peer.messages = append(s.peer.messages, s.one)
	return nil
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if !s.peer.accepts(user, password) {
			return smtp.ErrAuthFailed
		}
		s.one.User = user
		return nil
	}), nil
}

// serve starts a peer and returns its address. offer is whether it has
// STARTTLS; direct, whether it uses TLS from the first byte.
func serve(t *testing.T, offer, direct bool) (*peer, mail.Server) {
	t.Helper()
	web := httptest.NewUnstartedServer(nil)
	web.StartTLS()
	config := web.TLS.Clone()
	config.NextProtos = nil
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate())
	web.Close()

	p := &peer{}
	s := smtp.NewServer(p)
	s.Domain, s.ReadTimeout, s.WriteTimeout = "localhost", 10*time.Second, 10*time.Second
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if offer {
		s.TLSConfig = config
	}
	if direct {
		l = tls.NewListener(l, config)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		_ = l.Close() // a server closed before it served does not know its listener
		<-done
	})
	return p, mail.Server{
		Host: "127.0.0.1", Port: port, From: "Sunloop <forecasts@plant.example>",
		TLSConfig: &tls.Config{RootCAs: roots, ServerName: "example.com", MinVersion: tls.VersionTLS12},
	}
}

var sample = mail.Message{
	To: "ana@example.org", Subject: "Your code — Grüße", Text: "Your code is 012345.\n\n.\nA dot on its own line stays.\n",
	At: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
}

func TestSMTP(t *testing.T) {
	tests := []struct {
		name          string
		offer, direct bool
		policy        mail.Policy
		user          string
		want          received
	}{
		{"STARTTLS", true, false, mail.StartTLS, "", received{TLS: true}},
		{"STARTTLS with sign-in", true, false, mail.StartTLS, "sunloop", received{TLS: true, User: "sunloop"}},
		{"TLS from the first byte", false, true, mail.ImplicitTLS, "sunloop", received{TLS: true, User: "sunloop"}},
		{"opportunistic, offered", true, false, mail.Opportunistic, "", received{TLS: true}},
		{"opportunistic, not offered", false, false, mail.Opportunistic, "", received{}},
		{"plain", false, false, mail.Plain, "", received{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, server := serve(t, test.offer, test.direct)
			server.TLS = test.policy
			if test.user != "" {
				server.User, server.Password = test.user, "secret"
			}
			s, err := mail.NewSMTP(server)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Send(t.Context(), sample); err != nil {
				t.Fatal(err)
			}
			test.want.From, test.want.To = "forecasts@plant.example", sample.To
			if d := cmp.Diff([]received{test.want}, p.messages, cmp.AllowUnexported(received{}), cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".data" }, cmp.Ignore())); d != "" {
				t.Errorf("messages (-want +got):\n%s", d)
			}
			check(t, p.messages[0].data)
		})
	}
}

// TestSMTPRefuses asserts that nothing is sent if the policy or the server
// refuses, and whether another attempt may succeed.
func TestSMTPRefuses(t *testing.T) {
	tests := []struct {
		name   string
		offer  bool
		change func(*mail.Server, *mail.Message)
		final  bool
	}{
		{"no TLS where it is demanded", false, func(s *mail.Server, _ *mail.Message) {}, false},
		{"certificate of an unknown authority", true, func(s *mail.Server, _ *mail.Message) { s.TLSConfig.RootCAs = x509.NewCertPool() }, false},
		{"wrong password", true, func(s *mail.Server, _ *mail.Message) { s.User, s.Password = "sunloop", "guess" }, false},
		{"unknown recipient", true, func(_ *mail.Server, m *mail.Message) { m.To = "unknown@example.org" }, true},
		{"recipient who is busy", true, func(_ *mail.Server, m *mail.Message) { m.To = "later@example.org" }, false},
		{"no listener", true, func(s *mail.Server, _ *mail.Message) { s.Port = 1 }, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, server := serve(t, test.offer, false)
			server.TLS = mail.StartTLS
			m := sample
			test.change(&server, &m)
			s, err := mail.NewSMTP(server)
			if err != nil {
				t.Fatal(err)
			}
			err = s.Send(t.Context(), m)
			if err == nil || errors.Is(err, mail.ErrRefused) != test.final {
				t.Errorf("error %v, final %v wanted", err, test.final)
			}
			if err != nil && strings.Contains(err.Error(), "guess") {
				t.Errorf("the error contains the password: %v", err)
			}
			if len(p.messages) > 0 {
				t.Errorf("a message went out: %+v", p.messages)
			}
		})
	}
}

// TestSMTPPasswordRotates: the server's password changes, and then its file. A
// rejected sign-in reads the file again; if it has not changed, the error
// states what was rejected.
func TestSMTPPasswordRotates(t *testing.T) {
	p, server := serve(t, true, false)
	file := filepath.Join(t.TempDir(), "password")
	write := func(password string) {
		if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
			t.Error(err)
		}
	}
	write("secret")
	server.TLS, server.User, server.PasswordFile = mail.StartTLS, "sunloop", file
	s, err := mail.NewSMTP(server)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(t.Context(), sample); err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	p.password = "rotated"
	p.refused = func() { write("rotated") }
	p.mu.Unlock()
	if err := s.Send(t.Context(), sample); err != nil {
		t.Errorf("after the rotation: %v", err)
	}
	p.mu.Lock()
	p.password, p.refused = "again", nil
	p.mu.Unlock()
	if err := s.Send(t.Context(), sample); !errors.Is(err, mail.ErrCredentials) || errors.Is(err, mail.ErrRefused) {
		t.Errorf("with a file that has not changed: %v", err)
	}
	if len(p.messages) != 2 {
		t.Errorf("%d messages went out", len(p.messages))
	}
	server.PasswordFile = file + "-missing"
	if _, err := mail.NewSMTP(server); err == nil || !strings.Contains(err.Error(), "read the mail server's password") {
		t.Errorf("without the file: %v", err)
	}
}

func TestParseServer(t *testing.T) {
	tests := []struct {
		address, password string
		want              mail.Server
		fault             string
	}{
		{address: "smtp://mail.example.org", want: mail.Server{Host: "mail.example.org", TLS: mail.StartTLS}},
		{address: "smtps://ana%40example.org:p%3Aw@mail.example.org:4650", want: mail.Server{Host: "mail.example.org", Port: 4650, TLS: mail.ImplicitTLS, User: "ana@example.org", Password: "p:w"}},
		{address: "smtp://ana@[::1]:25?tls=plain", password: "other", want: mail.Server{Host: "::1", Port: 25, TLS: mail.Plain, User: "ana", Password: "other"}},
		{address: "mail.example.org:25", fault: `begins with "mail.example.org"`},
		{address: "smtp://:pass@", fault: "has no host"},
		{address: "smtp://x?tls=maybe", fault: `policy "maybe"`},
		{address: "smtp://u:geheim@x:port", fault: "not a URL"},
		{address: "smtp://x:99999", fault: "port"},
	}
	for _, test := range tests {
		got, err := mail.ParseServer(test.address, test.password, "s@example.org")
		if test.fault != "" {
			if err == nil || !strings.Contains(err.Error(), test.fault) || strings.Contains(err.Error(), "geheim") {
				t.Errorf("%s: error %v, want one with %q", test.address, err, test.fault)
			}
			continue
		}
		test.want.From = "s@example.org"
		if d := cmp.Diff(test.want, got); err != nil || d != "" {
			t.Errorf("%s: %v (-want +got):\n%s", test.address, err, d)
		}
	}
	if _, err := mail.ParseServer("smtp://x", "", "unknown"); err == nil || !strings.Contains(err.Error(), `sender "unknown"`) {
		t.Errorf("sender: %v", err)
	}
}
