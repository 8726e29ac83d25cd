// Package mqtt is a connection to an MQTT broker, in MQTT 5 or 3.1.1. It subscribes, and
// publishes nothing but what [permitted] lists: no message that a device could take for a
// command. It is the only package that imports the MQTT libraries.
package mqtt

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/proxy"
)

// Versions of the protocol. An empty one is Auto.
const (
	Auto       = "auto" // 5, or 3.1.1 if the broker does not speak 5
	Version5   = "5"
	Version311 = "3.1.1"
)

// Config configures a Client.
type Config struct {
	Address   string // mqtt://host:1883 or mqtts://host:8883
	Plaintext bool   // the broker may be outside of the private network without TLS
	Protocol  string // Auto, Version5 or Version311
	ClientID  string

	User            string
	PasswordFile    string
	CAFile          string // the only certificates that are trusted; empty: those of the system
	CertificateFile string // of the client
	KeyFile         string

	Will func() *Message // of a connection: published by the broker if it breaks, and at its end; nil: none
	Host string          // id as a host application of Sparkplug, whose state may be published; empty: none

	Filters []string                                          // topics, subscribed to with QoS 1 after each connection
	Receive func(topic string, payload []byte, retained bool) // one at a time
	TooLong func()                                            // a message has more than 256 KiB and is not received
	Up      func()                                            // there is a connection, which has no subscription yet; must not block
	Ready   func()                                            // the subscriptions are made
	Down    func(err error)                                   // the connection is lost or was not made, or the broker refused a subscription
}

// Message is what is published.
type Message struct {
	Topic        string
	Payload      []byte
	Retain       bool
	Acknowledged bool // QoS 1, else 0
}

func (m Message) qos() byte {
	if m.Acknowledged {
		return 1
	}
	return 0
}

// will returns the will of a new connection.
func (c *Config) will() *Message {
	if c.Will == nil {
		return nil
	}
	return c.Will()
}

// StateTopic is the topic on which a host application of Sparkplug publishes whether it is
// online.
func StateTopic(host string) string { return "spBv1.0/STATE/" + host }

// statePayload matches the payloads that may be published on a StateTopic.
var statePayload = regexp.MustCompile(`^\{"online":(true|false),"timestamp":[0-9]{1,15}\}$`)

// Limits.
const (
	maxMessage     = 256 << 10
	keepAlive      = 30 * time.Second
	connectTimeout = 10 * time.Second
	leastPause     = time.Second
	mostPause      = time.Minute
)

// Check returns an error if a configuration cannot work. It reads the files.
func (c *Config) Check() error {
	_, err := c.settings()
	return err
}

// settings are where and as whom to connect.
type settings struct {
	host     string
	tls      *tls.Config // nil: none
	password []byte
}

func (c *Config) settings() (*settings, error) {
	if p := c.Protocol; p != "" && p != Auto && p != Version5 && p != Version311 {
		return nil, fmt.Errorf("protocol %q: must be auto, 5 or 3.1.1", p)
	}
	u, err := url.Parse(c.Address)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" {
		return nil, fmt.Errorf("address %q: must be mqtts://host:8883 or mqtt://host:1883", c.Address)
	}
	port := map[string]string{"mqtt": "1883", "mqtts": "8883"}[u.Scheme]
	if port == "" {
		return nil, fmt.Errorf("address %q: must be mqtts://host:8883 or mqtt://host:1883", c.Address)
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), port)
	}
	if n, err := strconv.Atoi(u.Port()); err != nil || n < 1 || n > 65535 {
		return nil, fmt.Errorf("address %q: the port must be a number from 1 to 65535", c.Address)
	}
	out := &settings{host: u.Host}
	if c.PasswordFile != "" {
		b, err := os.ReadFile(c.PasswordFile)
		if err != nil {
			return nil, fmt.Errorf("password_file: %w", err)
		}
		out.password = bytes.TrimRight(b, "\r\n")
		if c.User == "" || len(out.password) == 0 {
			return nil, errors.New("password_file: a user and a password that is not empty are required")
		}
	}
	if u.Scheme == "mqtt" {
		switch {
		case c.CAFile != "" || c.CertificateFile != "" || c.KeyFile != "":
			return nil, fmt.Errorf("address %q: certificates need mqtts://", c.Address)
		case !c.Plaintext && !isNear(u.Hostname()):
			return nil, fmt.Errorf("address %q: without TLS the broker must be on this machine or have a private address; set plaintext = true to permit another one", c.Address)
		}
		return out, nil
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: u.Hostname()}
	if c.CAFile != "" {
		b, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("ca_file: %w", err)
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(b) {
			return nil, fmt.Errorf("ca_file: %s has no certificate in PEM", c.CAFile)
		}
	}
	if (c.CertificateFile == "") != (c.KeyFile == "") {
		return nil, errors.New("certificate_file and key_file: one needs the other")
	}
	if c.CertificateFile != "" {
		pair, err := tls.LoadX509KeyPair(c.CertificateFile, c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("certificate_file and key_file: %w", err)
		}
		t.Certificates = []tls.Certificate{pair}
	}
	out.tls = t
	return out, nil
}

// isNear reports whether a host is this machine or has a private address.
func isNear(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && (a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast())
}

// pause is the time before a further attempt to connect: 1 s doubling to a minute, with a
// jitter.
func pause(attempt int) time.Duration {
	d := min(leastPause<<min(attempt, 6), mostPause)
	return d/2 + rand.N(d/2+1)
}

// Client is a connection that is made again whenever it breaks.
type Client struct {
	config  Config
	version atomic.Pointer[string]  // in which to connect; with Auto the one that worked last
	up      atomic.Pointer[session] // nil: not connected
}

// session is a connection that the broker accepted, in one version of the protocol.
type session interface {
	subscribe(ctx context.Context, filters []string) error // with QoS 1; errSubscription if the broker refused one
	publish(ctx context.Context, m Message) error          // with QoS 0
	lost() <-chan error                                    // has one error when the connection broke
	close()                                                // publishes the will
}

// New returns a Client, which connects with Run.
func New(c Config) (*Client, error) {
	if _, err := c.settings(); err != nil {
		return nil, err
	}
	if w := c.will(); w != nil && !permitted(*w, c.Host) {
		return nil, fmt.Errorf("publish to %q: not permitted", w.Topic)
	}
	client, version := &Client{config: c}, Version5
	if c.Protocol == Version311 {
		version = Version311
	}
	client.version.Store(&version)
	return client, nil
}

// Version returns the version of the protocol that the connection has; empty without one.
func (c *Client) Version() string {
	if c.up.Load() == nil {
		return ""
	}
	return *c.version.Load()
}

// Run connects and receives until ctx ends. Each connection has its own session:
// what was published in between is lost, and what the broker retains is delivered once more.
func (c *Client) Run(ctx context.Context) error {
	s, err := c.config.settings()
	if err != nil {
		return err
	}
	for attempt := 0; ; attempt++ {
		t := time.NewTimer(pause(attempt))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil
		}
		lasted, err := c.connect(ctx, s)
		if ctx.Err() != nil {
			return nil
		}
		if lasted {
			attempt = -1
		}
		c.config.Down(err)
	}
}

// connect makes a connection and receives until it breaks. lasted reports whether it had
// its subscriptions.
func (c *Client) connect(ctx context.Context, s *settings) (lasted bool, err error) {
	open, err := c.open(ctx, s)
	if err != nil {
		return false, explain(err)
	}
	c.up.Store(&open)
	defer open.close()
	defer c.up.Store(nil)
	c.config.Up()
	subscribe, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var refused error
	for list := range slices.Chunk(c.config.Filters, 50) {
		switch err := open.subscribe(subscribe, list); {
		case errors.Is(err, errSubscription):
			refused = err // the others are received
		case err != nil:
			return false, fmt.Errorf("subscribe: %w", err)
		}
	}
	if refused != nil {
		c.config.Down(refused)
	} else {
		c.config.Ready()
	}
	select {
	case <-ctx.Done():
		return true, nil
	case err := <-open.lost():
		return true, fmt.Errorf("the connection broke: %w", err)
	}
}

// open opens a session in the configured version. With Auto that is the one that worked
// last, at first 5. A broker that refuses it, or gives no response to it, as some that
// know 3.1.1 alone, is asked in the other one too.
func (c *Client) open(ctx context.Context, s *settings) (session, error) {
	version := *c.version.Load()
	out, err := c.openVersion(ctx, s, version)
	if err == nil || c.config.Protocol == Version5 || c.config.Protocol == Version311 || !errors.Is(err, errVersion) && !errors.Is(err, errNoResponse) {
		return out, err
	}
	other := Version311
	if version == other {
		other = Version5
	}
	out, again := c.openVersion(ctx, s, other)
	if errors.Is(again, errVersion) || errors.Is(again, errNoResponse) {
		return nil, err
	}
	var refused *refusal
	if again == nil || errors.As(again, &refused) { // the broker speaks it
		c.version.Store(&other)
	}
	return out, again
}

func (c *Client) openVersion(ctx context.Context, s *settings, version string) (session, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := proxy.Dial(ctx, "tcp", s.host)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", c.config.Address, err)
	}
	if s.tls != nil {
		t := tls.Client(conn, s.tls)
		if err := t.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, fmt.Errorf("connect to %s: %w", c.config.Address, err)
		}
		conn = t
	}
	// A session ends with its connection.
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	in := newStream(conn)
	open := c.open5
	if version == Version311 {
		open = c.open311
	}
	out, err := open(ctx, s, in)
	if err == nil {
		return out, nil
	}
	_ = conn.Close()
	var refused *refusal
	switch {
	case version == Version5 && in.is311(), errors.As(err, &refused) && refused.version:
		return nil, fmt.Errorf("connect to %s: %w %s", c.config.Address, errVersion, version)
	case refused != nil:
		return nil, err
	case in.isEmpty():
		return nil, fmt.Errorf("connect to %s: %w: %w", c.config.Address, errNoResponse, err)
	}
	return nil, fmt.Errorf("connect to %s: %w", c.config.Address, err)
}

// receive passes a message on, unless it is too long.
func (c *Client) receive(topic string, payload []byte, retained bool) {
	if len(payload) > maxMessage {
		c.config.TooLong()
		return
	}
	c.config.Receive(topic, payload, retained)
}

// Errors of a connection.
var (
	// ErrNotConnected is the error of a message that cannot be published.
	ErrNotConnected = errors.New("not connected to the broker")

	errSubscription = errors.New("the broker refused a subscription")

	errVersion    = errors.New("the broker does not speak MQTT")
	errNoResponse = errors.New("the broker gave no response")
)

// Publish publishes a message if it is permitted.
func (c *Client) Publish(ctx context.Context, p Message) error {
	if !permitted(p, c.config.Host) {
		return fmt.Errorf("publish to %q: not permitted", p.Topic)
	}
	s := c.up.Load()
	if s == nil {
		return ErrNotConnected
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := (*s).publish(ctx, p); err != nil {
		return fmt.Errorf("publish to %q: %w", p.Topic, err)
	}
	return nil
}

// permitted reports whether a message may be published: a request for births of
// Sparkplug, a request for values of a Victron gateway, the state of the host that Sunloop
// is, and what is named after Sunloop.
func permitted(m Message, host string) bool {
	parts := strings.Split(m.Topic, "/")
	if strings.ContainsAny(m.Topic, "#+\x00") || len(m.Topic) > 1024 {
		return false
	}
	switch n := len(parts); {
	case n >= 4 && parts[n-2] == "NCMD":
		return !m.Retain && len(m.Payload) < 100 && bytes.Count(m.Payload, []byte("Node Control/")) == 1 && bytes.Contains(m.Payload, []byte("Node Control/Rebirth"))
	case host != "" && m.Topic == StateTopic(host):
		return m.Retain && m.Acknowledged && statePayload.Match(m.Payload)
	case n == 3 && parts[0] == "R" && parts[2] == "keepalive":
		return !m.Retain
	case n >= 3 && parts[0] == "sunloop":
		return true
	case n >= 4 && parts[n-1] == "config" && parts[n-3] == "device":
		return strings.HasPrefix(parts[n-2], "sunloop_")
	}
	return false
}

// refusal is the response of a broker that does not accept a connection.
type refusal struct {
	words   string
	version bool // because of the version of the protocol
}

func (r *refusal) Error() string { return "the broker refused the connection: " + r.words }

// explain says in words what to do about an error of a connection.
func explain(err error) error {
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) {
		return fmt.Errorf("the certificate of the broker is not trusted; name its authority as ca_file: %w", err)
	}
	return err
}
