package mqtt

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	broker "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
)

// Levels of the protocol in a CONNECT, and responses of brokers to one that they do not
// speak.
const (
	level311, level5 = 4, 5

	refuse311 = "\x20\x02\x00\x01"     // of MQTT 3.1.1: unacceptable version
	accept311 = "\x20\x02\x00\x00"     // of MQTT 3.1.1, by a broker that does not look at the level
	refuse5   = "\x20\x03\x00\x84\x00" // of MQTT 5: unsupported version
	hangUp    = ""
)

// gate is a listener before a broker that does not let some levels pass.
type gate struct {
	address string

	mu     sync.Mutex
	levels []byte // of the connections
	open   []net.Conn
}

// newGate returns a gate that gives the response of a level in refused, and ends the
// connection.
func newGate(t *testing.T, back string, refused map[byte]string) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	g := &gate{address: l.Addr().String()}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go g.pass(c, back, refused)
		}
	}()
	return g
}

func (g *gate) pass(c net.Conn, back string, refused map[byte]string) {
	defer c.Close()
	r := bufio.NewReader(c)
	head, err := r.Peek(2)
	at := 2
	if err == nil && head[1] >= 0x80 { // a longer packet
		at = 3
	}
	head, err = r.Peek(at + 7) // length and name of the protocol, level
	if err != nil {
		return
	}
	level := head[at+6]
	g.mu.Lock()
	g.levels, g.open = append(g.levels, level), append(g.open, c)
	answer, ok := refused[level]
	g.mu.Unlock()
	if ok {
		_, _ = io.WriteString(c, answer)
		return
	}
	b, err := net.Dial("tcp", back)
	if err != nil {
		return
	}
	defer b.Close()
	go func() { _, _ = io.Copy(c, b); c.Close() }()
	_, _ = io.Copy(b, r)
}

// cut ends all connections.
func (g *gate) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.open {
		c.Close()
	}
}

func (g *gate) seen() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return fmt.Sprint(g.levels)
}

func startMochi(t *testing.T) string {
	t.Helper()
	b := broker.New(&broker.Options{Logger: slog.New(slog.DiscardHandler)})
	l := listeners.NewTCP(listeners.Config{ID: "t", Address: "127.0.0.1:0"})
	for _, err := range []error{b.AddHook(new(auth.AllowHook), nil), b.AddListener(l), b.Serve()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { b.Close() })
	return l.Address()
}

// peer is a Client that runs, with what it saw.
type peer struct {
	*Client
	stop func()

	mu       sync.Mutex
	received []string
	tooLong  int
	ready    int
	errs     []string
}

func (p *peer) note(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

func startPeer(t *testing.T, c Config) *peer {
	t.Helper()
	p := new(peer)
	c.Receive = func(topic string, payload []byte, retained bool) {
		p.note(func() { p.received = append(p.received, fmt.Sprintf("%s %s %t", topic, payload, retained)) })
	}
	c.TooLong = func() { p.note(func() { p.tooLong++ }) }
	c.Up = func() {}
	c.Ready = func() { p.note(func() { p.ready++ }) }
	c.Down = func(err error) { p.note(func() { p.errs = append(p.errs, err.Error()) }) }
	var err error
	if p.Client, err = New(c); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := p.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	p.stop = func() { cancel(); running.Wait() }
	t.Cleanup(p.stop)
	return p
}

// until waits until a condition of the peer is true.
func (p *peer) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 3000 {
		done := false
		p.note(func() { done = ok() })
		if done {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.note(func() { t.Fatalf("no %s; errors %q, received %q", what, p.errs, p.received) })
}

// TestVersions connects to brokers that speak both versions of the protocol or one, says
// in words what does not work, and asks a broker again in the version that it speaks.
func TestVersions(t *testing.T) {
	back := startMochi(t)
	for _, tt := range []struct {
		name     string
		protocol string
		refused  map[byte]string
		version  string // empty: an error with the text
		text     string
		levels   string // of the connections until the second one that was made, or the first error
	}{
		{"both", Auto, nil, Version5, "", "[5 5]"},
		{"both, 3.1.1 wanted", Version311, nil, Version311, "", "[4 4]"},
		{"3.1.1", "", map[byte]string{level5: refuse311}, Version311, "", "[5 4 4]"},
		{"3.1.1 without a look at the level", Auto, map[byte]string{level5: accept311}, Version311, "", "[5 4 4]"},
		{"3.1.1 in words of 5", Auto, map[byte]string{level5: refuse5}, Version311, "", "[5 4 4]"},
		{"3.1.1 without a response to 5", Auto, map[byte]string{level5: hangUp}, Version311, "", "[5 4 4]"},
		{"3.1.1, 5 wanted", Version5, map[byte]string{level5: refuse311}, "", "does not speak MQTT 5", "[5]"},
		{"5", Auto, map[byte]string{level311: refuse311}, Version5, "", "[5 5]"},
		{"5, 3.1.1 wanted", Version311, map[byte]string{level311: refuse311}, "", "does not speak MQTT 3.1.1", "[4]"},
		{"neither", Auto, map[byte]string{level311: refuse311, level5: refuse311}, "", "does not speak MQTT 5", "[5 4]"},
		{"no broker", Auto, map[byte]string{level311: hangUp, level5: hangUp}, "", "gave no response", "[5 4]"},
		{"3.1.1 with another user", Auto, map[byte]string{level311: "\x20\x02\x00\x04", level5: refuse311}, "", "refused the connection: wrong user or password", "[5 4]"},
		{"3.1.1 not authorized", Version311, map[byte]string{level311: "\x20\x02\x00\x05"}, "", "refused the connection: not authorized", "[4]"},
		{"5 not authorized", Auto, map[byte]string{level5: "\x20\x03\x00\x87\x00"}, "", "refused the connection: not authorized", "[5]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := newGate(t, back, tt.refused)
			p := startPeer(t, Config{Address: "mqtt://" + g.address, Protocol: tt.protocol, ClientID: strings.ReplaceAll(t.Name(), "/", "-"), Filters: []string{"a"}})
			if tt.version == "" {
				p.until(t, "error", func() bool { return len(p.errs) > 0 })
				if p.ready > 0 || !strings.Contains(p.errs[0], tt.text) || p.Version() != "" {
					t.Errorf("%q, want %q", p.errs, tt.text)
				}
				want := strings.Fields(strings.Trim(tt.levels, "[]"))
				for i, got := range strings.Fields(strings.Trim(g.seen(), "[]")) { // a further attempt may have begun
					if got != want[i%len(want)] {
						t.Errorf("connections with levels %s, want %s again and again", g.seen(), tt.levels)
					}
				}
				return
			}
			p.until(t, "connection", func() bool { return p.ready == 1 })
			if p.Version() != tt.version {
				t.Errorf("version %q, want %q", p.Version(), tt.version)
			}
			g.cut()
			p.until(t, "second connection", func() bool { return p.ready == 2 })
			if got := g.seen(); p.Version() != tt.version || got != tt.levels {
				t.Errorf("version %q, connections with levels %s, want %s", p.Version(), got, tt.levels)
			}
		})
	}
	t.Run("changes", func(t *testing.T) { // the broker is exchanged for one that speaks 5 alone
		t.Parallel()
		refused := map[byte]string{level5: refuse311}
		g := newGate(t, back, refused)
		p := startPeer(t, Config{Address: "mqtt://" + g.address, ClientID: "changes", Filters: []string{"a"}})
		p.until(t, "connection", func() bool { return p.ready == 1 })
		g.mu.Lock() // no connection is being made
		delete(refused, level5)
		refused[level311] = refuse311
		g.mu.Unlock()
		g.cut()
		p.until(t, "second connection", func() bool { return p.ready == 2 })
		if got := g.seen(); p.Version() != Version5 || got != "[5 4 4 5]" {
			t.Errorf("version %q, connections with levels %s", p.Version(), got)
		}
	})
}

// overBroker sends messages between two clients of each version: retained, long, with
// QoS 0, and the will when one ends.
func overBroker(t *testing.T, version string, c Config) {
	t.Helper()
	c.Protocol = version
	will := Message{Topic: "sunloop/roof/status", Payload: []byte("offline"), Retain: true}
	name := strings.ReplaceAll(version, ".", "")
	c.ClientID, c.Will = "site-"+name, func() *Message { return &will }
	site := startPeer(t, c)
	site.until(t, "connection", func() bool { return site.ready == 1 })
	if site.Version() != version {
		t.Errorf("version %q", site.Version())
	}
	publish := func(topic string, payload []byte, retain bool) {
		t.Helper()
		if err := site.Publish(t.Context(), Message{Topic: topic, Payload: payload, Retain: retain}); err != nil {
			t.Fatal(err)
		}
	}
	publish("sunloop/roof/state", []byte("1"), true)
	c.ClientID, c.Will, c.Filters = "other-"+name, nil, []string{"sunloop/+/state", "sunloop/+/status", "sunloop/long/state"}
	other := startPeer(t, c)
	other.until(t, "retained message", func() bool { return slices.Contains(other.received, "sunloop/roof/state 1 true") })
	publish("sunloop/roof/state", []byte("2"), false)
	publish("sunloop/long/state", bytes.Repeat([]byte("x"), maxMessage+1), false)
	publish("sunloop/long/state", bytes.Repeat([]byte("x"), 3*maxMessage), false)
	publish("sunloop/roof/state", []byte("3"), false)
	other.until(t, "message after long ones", func() bool { return slices.Contains(other.received, "sunloop/roof/state 3 false") })
	site.stop()
	other.until(t, "will", func() bool { return slices.Contains(other.received, "sunloop/roof/status offline false") })
	if err := site.Publish(t.Context(), will); !errors.Is(err, ErrNotConnected) {
		t.Errorf("%v", err)
	}
	other.note(func() {
		// A broker does not send what is longer than a client of MQTT 5 permits.
		if n := len(other.received); n < 4 || other.tooLong > 2 || version == Version311 && other.tooLong != 2 || len(other.errs) > 0 {
			t.Errorf("%d received, %d too long, %q", n, other.tooLong, other.errs)
		}
		for _, m := range other.received {
			if strings.HasPrefix(m, "sunloop/long") {
				t.Errorf("a message of %d bytes was received", len(m))
			}
		}
	})
}

// TestMessages sends messages in both versions.
func TestMessages(t *testing.T) {
	back := startMochi(t)
	for _, version := range []string{Version5, Version311} {
		overBroker(t, version, Config{Address: "mqtt://" + back})
	}
}

// TestMosquitto sends messages in both versions over mosquitto, with TLS, a client
// certificate and a password, and to one that speaks 3.1.1 alone.
func TestMosquitto(t *testing.T) {
	path, err := exec.LookPath("mosquitto")
	if err != nil {
		path = "/usr/sbin/mosquitto"
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("mosquitto is not installed; .ci/tools installs it")
	}
	dir := t.TempDir()
	file := func(name, text string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	certificate, key := selfSigned(t)
	cert, private, word := file("cert.pem", certificate), file("key.pem", key), file("word", "plants in the sun\n")
	passwords := file("passwords", "")
	if out, err := exec.Command("mosquitto_passwd", "-b", "-c", passwords, "sunloop", "plants in the sun").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	secure, plain := freeAddress(t), freeAddress(t)
	_, securePort, _ := net.SplitHostPort(secure)
	_, plainPort, _ := net.SplitHostPort(plain)
	config := file("mosquitto.conf", fmt.Sprintf(`user root
per_listener_settings true
listener %s 127.0.0.1
allow_anonymous false
password_file %s
cafile %s
certfile %s
keyfile %s
require_certificate true
listener %s 127.0.0.1
allow_anonymous true
`, securePort, passwords, cert, cert, private, plainPort))
	if os.Getuid() != 0 {
		config = file("mosquitto.conf", strings.TrimPrefix(string(read(t, config)), "user root\n"))
	}
	c := exec.Command(path, "-c", config)
	var said bytes.Buffer
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	for range 1000 {
		conn, err := net.Dial("tcp", plain)
		if err == nil {
			conn.Close()
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	for _, version := range []string{Version5, Version311} {
		full := Config{Address: "mqtts://" + secure, User: "sunloop", PasswordFile: word, CAFile: cert, CertificateFile: cert, KeyFile: private}
		overBroker(t, version, full)
		other := full
		other.Protocol, other.ClientID, other.PasswordFile = version, "wrong", file("wrong", "moon")
		p := startPeer(t, other)
		p.until(t, "refusal", func() bool { return len(p.errs) > 0 })
		if e := p.errs[0]; !strings.Contains(e, "refused the connection: ") || p.ready > 0 {
			t.Errorf("%s: %q", version, e)
		}
		p.stop()
	}
	g := newGate(t, plain, map[byte]string{level5: refuse311})
	p := startPeer(t, Config{Address: "mqtt://" + g.address, ClientID: "auto", Filters: []string{"sunloop/roof/state"}})
	p.until(t, "connection", func() bool { return p.ready == 1 })
	if err := p.Publish(t.Context(), Message{Topic: "sunloop/roof/state", Payload: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	p.until(t, "message", func() bool { return slices.Contains(p.received, "sunloop/roof/state 1 false") })
	if p.Version() != Version311 {
		t.Errorf("version %q", p.Version())
	}
	if t.Failed() {
		t.Log(said.String())
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// selfSigned returns a certificate for 127.0.0.1 and its key, in PEM.
func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, k.Public(), k)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

// TestStream passes packets on, the beginning of those that are too long, and no damaged
// ones.
func TestStream(t *testing.T) {
	packet := func(first byte, n int) string {
		head := []byte{first}
		for left := n; ; {
			b := byte(left & 0x7F)
			if left >>= 7; left > 0 {
				head = append(head, b|0x80)
				continue
			}
			head = append(head, b)
			break
		}
		return string(head) + strings.Repeat("x", n)
	}
	for _, tt := range []struct {
		name, in, out string
		err           error
	}{
		{"none", "", "", io.EOF},
		{"short", packet(0x32, 5) + packet(0xD0, 0) + packet(0x90, 3), packet(0x32, 5) + packet(0xD0, 0) + packet(0x90, 3), io.EOF},
		{"longest", packet(0x30, maxPacket) + packet(0xD0, 0), packet(0x30, maxPacket) + packet(0xD0, 0), io.EOF},
		{"too long", packet(0x30, maxPacket+1) + packet(0xD0, 0) + packet(0x30, 5*maxPacket) + packet(0x32, 9), packet(0x30, maxPacket) + packet(0xD0, 0) + packet(0x30, maxPacket) + packet(0x32, 9), io.EOF},
		{"too long, no message", packet(0x90, maxPacket+1), "", errPacket},
		{"length without an end", "\x30\xFF\xFF\xFF\xFF\x01", "", errPacket},
		{"broken off", packet(0x30, 9)[:5], packet(0x30, 9)[:5], io.EOF},
	} {
		a, b := net.Pipe()
		go func() { _, _ = io.WriteString(a, tt.in); a.Close() }()
		var got bytes.Buffer
		part := make([]byte, 1000)
		s := newStream(b)
		var err error
		for err == nil {
			var n int
			n, err = s.Read(part)
			got.Write(part[:n])
		}
		b.Close()
		if got.String() != tt.out || !errors.Is(err, tt.err) {
			t.Errorf("%s: %d bytes, %v; want %d, %v", tt.name, got.Len(), err, len(tt.out), tt.err)
		}
	}
}
