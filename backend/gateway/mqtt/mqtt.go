// Package mqtt is a connection to an MQTT broker. It subscribes, and publishes nothing
// but what [permitted] lists: no message that a device could take for a command. It is
// the only package that imports the MQTT library.
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
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/eclipse/paho.golang/autopaho"
	"github.com/eclipse/paho.golang/paho"
)

// Config configures a Client.
type Config struct {
	Address   string // mqtt://host:1883 or mqtts://host:8883
	Plaintext bool   // the broker may be outside of the private network without TLS
	ClientID  string

	User            string
	PasswordFile    string
	CAFile          string // the only certificates that are trusted; empty: those of the system
	CertificateFile string // of the client
	KeyFile         string

	Will *Message // published by the broker if the connection breaks

	Filters []string                                          // topics, subscribed to with QoS 1 after each connection
	Receive func(topic string, payload []byte, retained bool) // one at a time
	Up      func()                                            // there is a connection, which has no subscription yet; must not block
	Ready   func()                                            // the subscriptions are made
	Down    func(err error)                                   // the connection is lost or was not made, or the broker refused a subscription
}

// Message is what is published.
type Message struct {
	Topic   string
	Payload []byte
	Retain  bool
}

// Limits of messages.
const (
	maxMessage = 256 << 10
	keepAlive  = 30 // s
	leastPause = time.Second
	mostPause  = time.Minute
)

// Check returns an error if a configuration cannot work. It reads the files.
func (c *Config) Check() error {
	_, err := c.settings()
	return err
}

func (c *Config) settings() (*autopaho.ClientConfig, error) {
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
	u.Path = ""
	out := &autopaho.ClientConfig{ServerUrls: []*url.URL{u}, KeepAlive: keepAlive, CleanStartOnInitialConnection: true, ConnectUsername: c.User,
		ConnectTimeout: 10 * time.Second, ReconnectBackoff: pause}
	out.ClientID = c.ClientID
	if c.PasswordFile != "" {
		b, err := os.ReadFile(c.PasswordFile)
		if err != nil {
			return nil, fmt.Errorf("password_file: %w", err)
		}
		out.ConnectPassword = bytes.TrimRight(b, "\r\n")
		if c.User == "" || len(out.ConnectPassword) == 0 {
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
	out.TlsCfg = t
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
	config Config
	up     atomic.Pointer[autopaho.ConnectionManager] // nil: not connected
}

// New returns a Client, which connects with Run.
func New(c Config) (*Client, error) {
	if _, err := c.settings(); err != nil {
		return nil, err
	}
	return &Client{config: c}, nil
}

// Run connects and receives until ctx ends. Each connection has its own session:
// what was published in between is lost, and what the broker retains is delivered once more.
func (c *Client) Run(ctx context.Context) error {
	s, err := c.config.settings()
	if err != nil {
		return err
	}
	s.OnPublishReceived = []func(paho.PublishReceived) (bool, error){func(r paho.PublishReceived) (bool, error) {
		if p := r.Packet; len(p.Payload) <= maxMessage {
			c.config.Receive(p.Topic, p.Payload, p.Retain)
		}
		return true, nil
	}}
	s.OnConnectionUp = func(m *autopaho.ConnectionManager, _ *paho.Connack) {
		c.up.Store(m)
		c.config.Up()
		go c.subscribe(ctx, m)
	}
	s.OnConnectError = func(err error) { c.config.Down(explain(err)) }
	s.OnConnectionDown = func() bool {
		c.up.Store(nil)
		c.config.Down(errors.New("the connection broke"))
		return true
	}
	s.ConnectPacketBuilder = func(p *paho.Connect, _ *url.URL) (*paho.Connect, error) {
		size := uint32(maxMessage + 4096)
		p.CleanStart = true
		p.Properties = &paho.ConnectProperties{MaximumPacketSize: &size}
		return p, nil
	}
	if w := c.config.Will; w != nil {
		if !permitted(*w) {
			return fmt.Errorf("publish to %q: not permitted", w.Topic)
		}
		s.DisconnectPacketBuilder = func() *paho.Disconnect { return &paho.Disconnect{ReasonCode: 0x04} } // with the will
		s.WillMessage = &paho.WillMessage{Topic: w.Topic, Payload: w.Payload, Retain: w.Retain, QoS: 1}
	}
	m, err := autopaho.NewConnection(ctx, *s)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", c.config.Address, err)
	}
	<-m.Done()
	return nil
}

// subscribe subscribes to the filters after a connection.
func (c *Client) subscribe(ctx context.Context, m *autopaho.ConnectionManager) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var list []paho.SubscribeOptions
	for _, f := range c.config.Filters {
		list = append(list, paho.SubscribeOptions{Topic: f, QoS: 1})
	}
	for len(list) > 0 {
		n := min(len(list), 50)
		if _, err := m.Subscribe(ctx, &paho.Subscribe{Subscriptions: list[:n]}); err != nil {
			c.config.Down(fmt.Errorf("subscribe: %w", explain(err)))
			return
		}
		list = list[n:]
	}
	c.config.Ready()
}

// ErrNotConnected is the error of a message that cannot be published.
var ErrNotConnected = errors.New("not connected to the broker")

// Publish publishes a message with QoS 0 if it is permitted.
func (c *Client) Publish(ctx context.Context, p Message) error {
	if !permitted(p) {
		return fmt.Errorf("publish to %q: not permitted", p.Topic)
	}
	m := c.up.Load()
	if m == nil {
		return ErrNotConnected
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := m.Publish(ctx, &paho.Publish{Topic: p.Topic, Payload: p.Payload, Retain: p.Retain}); err != nil {
		return fmt.Errorf("publish to %q: %w", p.Topic, err)
	}
	return nil
}

// permitted reports whether a message may be published: a request for births of
// Sparkplug, a request for values of a Victron gateway, and what is named after Sunloop.
func permitted(m Message) bool {
	parts := strings.Split(m.Topic, "/")
	if strings.ContainsAny(m.Topic, "#+\x00") || len(m.Topic) > 1024 {
		return false
	}
	switch n := len(parts); {
	case n >= 4 && parts[n-2] == "NCMD":
		return !m.Retain && len(m.Payload) < 100 && bytes.Count(m.Payload, []byte("Node Control/")) == 1 && bytes.Contains(m.Payload, []byte("Node Control/Rebirth"))
	case n == 3 && parts[0] == "R" && parts[2] == "keepalive":
		return !m.Retain
	case n >= 3 && parts[0] == "sunloop":
		return true
	case n >= 4 && parts[n-1] == "config" && parts[n-3] == "device":
		return strings.HasPrefix(parts[n-2], "sunloop_")
	}
	return false
}

// explain says in words why a broker refused a connection.
func explain(err error) error {
	var refused *autopaho.ConnackError
	if !errors.As(err, &refused) {
		var unknown x509.UnknownAuthorityError
		if errors.As(err, &unknown) {
			return fmt.Errorf("the certificate of the broker is not trusted; name its authority as ca_file: %w", err)
		}
		return err
	}
	words := map[byte]string{0x84: "it does not speak MQTT 5", 0x85: "the client id is not accepted", 0x86: "wrong user or password", 0x87: "not authorized",
		0x88: "it is not available", 0x89: "it is busy", 0x8A: "banned", 0x8C: "another method of authentication is required", 0x97: "its quota is exceeded", 0x9F: "too many connections"}[refused.ReasonCode]
	if words == "" {
		words = fmt.Sprintf("reason %#x", refused.ReasonCode)
	}
	return fmt.Errorf("the broker refused the connection: %s", words)
}
