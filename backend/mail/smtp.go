package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	netmail "net/mail"
	"net/textproto"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"app.sunloop/internal/clock"
	gomail "github.com/wneessen/go-mail"
)

// Policy is how a connection to the server is encrypted.
type Policy string

// The policies.
const (
	StartTLS      Policy = "starttls"      // demanded; port 587
	ImplicitTLS   Policy = "tls"           // from the first byte; port 465
	Opportunistic Policy = "opportunistic" // if the server offers it; port 587
	Plain         Policy = "plain"         // none: for a relay on the same machine; port 25
)

var ports = map[Policy]int{StartTLS: 587, ImplicitTLS: 465, Opportunistic: 587, Plain: 25}

// Server is the address of a mail server.
type Server struct {
	Host           string
	Port           int // 0: the policy's
	TLS            Policy
	User, Password string // empty: without sign-in
	PasswordFile   string // read for each connection, instead of Password; empty: none
	From           string // the sender's address, a name before it if wished
	TLSConfig      *tls.Config
}

// ParseServer reads the address of a server: smtp://user@host:587 requires
// STARTTLS, smtps://user@host uses TLS from the first byte, and ?tls= names
// another [Policy]. The password may be part of the address or separate.
func ParseServer(address, password, from string) (Server, error) {
	u, err := url.Parse(address)
	if err != nil {
		// Its words would hold the address, and that a password.
		return Server{}, errors.New("the SMTP server's address is not a URL")
	}
	s := Server{Host: u.Hostname(), User: u.User.Username(), From: from, TLS: StartTLS}
	switch u.Scheme {
	case "smtp":
	case "smtps":
		s.TLS = ImplicitTLS
	default:
		return Server{}, fmt.Errorf("the SMTP server's address begins with %q, not smtp:// or smtps://", u.Scheme)
	}
	if p := u.Query().Get("tls"); p != "" {
		s.TLS = Policy(p)
	}
	if s.Password, _ = u.User.Password(); password != "" {
		s.Password = password
	}
	if port := u.Port(); port != "" {
		if s.Port, err = strconv.Atoi(port); err != nil {
			return Server{}, fmt.Errorf("the SMTP server's port %q is not a number", port)
		}
	}
	_, err = NewSMTP(s)
	return s, err
}

// timeout is how long the delivery of a message may take in total, unless its context ends
// before.
const timeout = 20 * time.Second

// SMTP delivers messages to a server, with one connection for each.
type SMTP struct {
	host    string
	options []gomail.Option // except for the password
	server  Server
}

// NewSMTP checks the configuration; it does not connect.
func NewSMTP(s Server) (*SMTP, error) {
	port, known := ports[s.TLS]
	switch {
	case !known:
		return nil, fmt.Errorf("TLS policy %q is none of starttls, tls, opportunistic, plain", s.TLS)
	case s.Host == "":
		return nil, errors.New("the SMTP server has no host")
	}
	if _, err := netmail.ParseAddress(s.From); err != nil {
		return nil, fmt.Errorf("the sender %q of messages is not an e-mail address", s.From)
	}
	if s.Port != 0 {
		port = s.Port
	}
	config := s.TLSConfig.Clone()
	if config == nil {
		config = &tls.Config{ServerName: s.Host, MinVersion: tls.VersionTLS12}
	}
	options := []gomail.Option{gomail.WithPort(port), gomail.WithTimeout(timeout), gomail.WithTLSConfig(config)}
	switch s.TLS {
	case StartTLS:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	case ImplicitTLS:
		options = append(options, gomail.WithSSL())
	case Opportunistic:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSOpportunistic))
	case Plain:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	}
	if s.User != "" {
		// Only ways to sign in that the connection is safe enough for.
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(s.User))
	}
	smtp := &SMTP{host: s.Host, options: options, server: s}
	if _, err := smtp.password(); err != nil {
		return nil, err
	}
	if _, err := smtp.client(""); err != nil {
		return nil, fmt.Errorf("SMTP server %s: %w", s.Host, err)
	}
	return smtp, nil
}

// maxPasswordFile is the size of the largest file of a password, in bytes.
const maxPasswordFile = 4096

// password returns the password as it is now, without a line break at its end.
func (s *SMTP) password() (string, error) {
	file := s.server.PasswordFile
	if file == "" {
		return s.server.Password, nil
	}
	info, err := os.Stat(file)
	if err != nil {
		return "", fmt.Errorf("read the mail server's password: %w", err)
	}
	if info.Size() > maxPasswordFile {
		return "", fmt.Errorf("read the mail server's password: %s has more than %d bytes", file, maxPasswordFile)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the mail server's password: %w", err)
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

// client returns the client of one connection.
func (s *SMTP) client(password string) (*gomail.Client, error) {
	options := s.options
	if s.server.User != "" {
		options = append(slices.Clone(options), gomail.WithPassword(password))
	}
	return gomail.NewClient(s.host, options...)
}

// ErrRefused is wrapped if the server will never accept the message: an
// address that it does not know, for example.
var ErrRefused = errors.New("the mail server refused the message")

// ErrCredentials is wrapped where the server refuses the user or the password.
var ErrCredentials = errors.New("the mail server refuses the user or the password")

// refusedCredentials is SMTP's code of a user or password that is refused.
const refusedCredentials = 535

// refusedPause is the time between the two tries of a sign-in that was refused: a
// rotation changes server and file one after the other.
var refusedPause = time.Second

// Send delivers the message. An error that does not wrap [ErrRefused] may pass
// with time. Where the server refuses the password, a password file is read
// again and the sign-in tried once more.
func (s *SMTP) Send(ctx context.Context, m Message) error {
	msg, err := compose(s.server.From, m)
	if err != nil {
		return fmt.Errorf("write message: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err = s.send(ctx, msg)
	if errors.Is(err, ErrCredentials) && s.server.PasswordFile != "" {
		if clock.Sleep(ctx, refusedPause) == nil {
			err = s.send(ctx, msg)
		}
	}
	var refused *gomail.SendError
	if errors.As(err, &refused) && refused.ErrorCode() >= 500 {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err != nil {
		return fmt.Errorf("send message: %w", err)
	}
	return nil
}

// send delivers the message over one connection.
func (s *SMTP) send(ctx context.Context, msg *gomail.Msg) error {
	password, err := s.password()
	if err != nil {
		return err
	}
	client, err := s.client(password)
	if err != nil {
		return err
	}
	err = client.DialAndSendWithContext(ctx, msg)
	var answer *textproto.Error
	if errors.As(err, &answer) && answer.Code == refusedCredentials {
		return fmt.Errorf("%w: %w", ErrCredentials, err)
	}
	return err
}

// Code is the code of the reply by which a server did not accept a message; 0 if there
// was none.
func Code(err error) int {
	var refused *gomail.SendError
	var reply *textproto.Error
	switch {
	case errors.As(err, &refused) && refused.ErrorCode() > 0:
		return refused.ErrorCode()
	case errors.As(err, &reply):
		return reply.Code
	}
	return 0
}
