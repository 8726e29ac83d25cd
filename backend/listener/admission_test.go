//go:build linux

package listener

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/admission"
)

// from opens a connection from an address of 127.0.0.0/8 and writes text.
func (s *served) from(address, text string) net.Conn {
	s.t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	c, err := d.Dial("tcp", s.Addresses()[0].Address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	if err := c.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		s.t.Fatal(err)
	}
	_, _ = io.WriteString(c, text) // fails if the connection is refused
	return c
}

// slowBody is a request whose body does not end.
const slowBody = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"

// checked accepts the credential "good", answers health checks, and reads
// bodies.
func checked(w http.ResponseWriter, q *http.Request) {
	if q.Header.Get("Authorization") == "good" {
		admission.Authenticated(q.Context())
	}
	reader(w, q)
}

// good sends a request with a credential over a connection from the address,
// which stays open.
func (s *served) good(address string) kept {
	s.t.Helper()
	c := s.from(address, "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: good\r\n\r\n")
	k := kept{c, bufio.NewReader(c)}
	resp, err := http.ReadResponse(k.in, nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("an authenticated request from %s: %v", address, err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return k
}

// unauthenticated waits until n connections are unauthenticated.
func (s *served) unauthenticated(n int) {
	s.t.Helper()
	for end := time.Now().Add(2 * time.Minute); s.open.Stats().Unauthenticated != n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("%+v, want %d unauthenticated", s.open.Stats(), n)
		}
	}
}

// isOpen reports whether the server has left c open; it waits for the end of
// one that should be closed.
func isOpen(t *testing.T, c net.Conn, should bool) bool {
	t.Helper()
	return !kept{c, bufio.NewReader(c)}.gone(t, !should)
}

// TestOldestUnauthenticatedMakesRoom: slow clients without a credential, each
// in its own network, hold no more than their share, and each one beyond it
// evicts the oldest.
func TestOldestUnauthenticatedMakesRoom(t *testing.T) {
	s := serve(t, Config{Handler: all(checked), Limits: Limits{Connections: 80}}) // 20 unauthenticated
	first := s.good("127.9.0.1")
	var slow []net.Conn
	for i := range 30 {
		slow = append(slow, s.from(fmt.Sprintf("127.1.%d.1", i), slowBody))
		s.unauthenticated(min(i+1, 20))
		for s.open.Stats().Evicted != max(i+1-20, 0) {
			time.Sleep(time.Millisecond)
		}
	}
	for i, c := range slow {
		if want := i >= 10; isOpen(t, c, want) != want {
			t.Errorf("slow client %d of %d is open: %t", i+1, len(slow), !want)
		}
	}
	s.good("127.9.1.1")
	if _, body := first.ask(t, "/"); body != "0 bytes" {
		t.Errorf("the authenticated connection: %q", body)
	}
}

// TestSilentConnectionsFromManyNetworks is of clients that send nothing: an
// authenticated request among them is answered, and health checks are.
func TestSilentConnectionsFromManyNetworks(t *testing.T) {
	s := serve(t, Config{Handler: all(checked), Limits: Limits{Connections: 80, Header: time.Minute}, HealthPaths: []string{"/healthz"}})
	for i := range 300 {
		s.from(fmt.Sprintf("127.1.%d.%d", i%20, i/20+1), "")
	}
	for i := range 5 {
		s.good(fmt.Sprintf("127.9.%d.1", i))
		if sent := closed(t, s.from("127.9.9.1", "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")); !strings.HasPrefix(sent, "HTTP/1.1 200 ") {
			t.Errorf("health: %q", sent)
		}
	}
	if n := s.open.Stats().Unauthenticated; n > 20 {
		t.Errorf("%d unauthenticated connections", n)
	}
}

// TestOneNetworkHasAShare: connections of one network take places from each
// other and from no other network.
func TestOneNetworkHasAShare(t *testing.T) {
	s := serve(t, Config{Handler: all(checked), Limits: Limits{Connections: 160}}) // 40 unauthenticated, 10 of a network
	other := s.from("127.2.0.1", slowBody)
	s.unauthenticated(1)
	var slow []net.Conn
	for i := range 60 {
		slow = append(slow, s.from(fmt.Sprintf("127.1.0.%d", i+1), slowBody))
	}
	s.unauthenticated(11)
	if !isOpen(t, other, true) {
		t.Error("the connection of another network is closed")
	}
	open := 0
	for s.open.Stats().Evicted < 50 {
		time.Sleep(time.Millisecond)
	}
	for _, c := range slow {
		if isOpen(t, c, true) {
			open++
		}
	}
	if open != 10 {
		t.Errorf("%d connections of the network are open, want 10", open)
	}
}

// TestHealthChecksUseOverflowSlots fills every place with requests that are being
// served: health checks are answered, other requests wait, and those beyond the
// queue are refused.
func TestHealthChecksUseOverflowSlots(t *testing.T) {
	const most, queue = 4, 16
	begun, finish := make(chan struct{}, most), make(chan struct{})
	s := serve(t, Config{
		Limits: Limits{Connections: most}, HealthPaths: []string{"/healthz"},
		Handler: all(func(w http.ResponseWriter, q *http.Request) {
			if q.URL.Path == "/long" {
				admission.Authenticated(q.Context())
				begun <- struct{}{}
				<-finish
			}
			fmt.Fprint(w, "done")
		}),
	})
	var long, waiting []net.Conn
	for range most {
		long = append(long, s.dial("GET /long HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
	}
	for range most {
		<-begun
	}
	health := func() {
		t.Helper()
		c := s.dial("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
		if sent := closed(t, c); !strings.HasSuffix(sent, "done") || !strings.Contains(sent, "Connection: close") {
			t.Errorf("health: %q", sent)
		}
	}
	health()
	for i := range queue {
		waiting = append(waiting, s.dial("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
		for s.open.Stats().Waiting != i+1 {
			time.Sleep(time.Millisecond)
		}
	}
	health()
	if sent := closed(t, s.dial("GET / HTTP/1.1\r\nHost: x\r\n\r\n")); !strings.HasPrefix(sent, "HTTP/1.1 503 ") || !strings.Contains(sent, "Retry-After: 1\r\n") || !strings.Contains(sent, "all connections of the service are in use") {
		t.Errorf("a request beyond the queue: %q", sent)
	}
	// Silent connections do not keep health checks out.
	for range 3 * queue {
		s.dial("")
	}
	health()
	close(finish)
	for _, c := range append(long, waiting...) {
		if sent := closed(t, c); !strings.HasSuffix(sent, "done") {
			t.Errorf("a request that was served or waited: %q", sent)
		}
	}
}

// TestTrustedProxies: the share of a network does not apply to a proxy, and a
// slow client behind it is evicted although an earlier request on the same
// connection was authenticated.
func TestTrustedProxies(t *testing.T) {
	s := serve(t, Config{Handler: all(checked), Limits: Limits{Connections: 80}, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.7.0.0/16")}})
	pool := make([]kept, 18) // above the share of a network
	for i := range pool {
		pool[i] = s.good("127.7.0.1")
	}
	s.rests(len(pool))
	if n := s.open.Stats().Evicted; n != 0 {
		t.Errorf("%d connections of the proxy were evicted", n)
	}
	if _, err := io.WriteString(pool[0], slowBody); err != nil {
		t.Fatal(err)
	}
	s.unauthenticated(1)
	for i := range 20 {
		s.from(fmt.Sprintf("127.1.%d.1", i), slowBody)
	}
	s.unauthenticated(20)
	if !pool[0].gone(t, true) {
		t.Error("the slow request over the proxy is the oldest and is not evicted")
	}
	for _, k := range pool[1:] {
		if _, body := k.ask(t, "/"); body != "0 bytes" {
			t.Errorf("another connection of the proxy: %q", body)
		}
	}
}

// TestHTTP2Unauthenticated: a connection of many requests is evicted if none of
// them was authenticated and one has a slow body, and stays if one was.
func TestHTTP2Unauthenticated(t *testing.T) {
	own, err := SelfSigned(t.TempDir(), "", nil, nil, time.Now, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, Config{Certificates: own, Handler: all(checked), Limits: Limits{Connections: 64}}) // 16 unauthenticated
	// Each has one connection: a second dial fails.
	open := func(address string) *http.Transport {
		dialed := false
		tr := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		tr.DialContext = func(context.Context, string, string) (net.Conn, error) {
			if dialed {
				return nil, net.ErrClosed
			}
			dialed = true
			return s.from(address, ""), nil
		}
		t.Cleanup(tr.CloseIdleConnections)
		return tr
	}
	ask := func(cc *http.Transport, credential string, body io.Reader) error {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+s.Addresses()[0].Address, body)
		if err != nil {
			return err
		}
		q.Header.Set("Authorization", credential)
		resp, err := cc.RoundTrip(q)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		return err
	}
	slow := func(cc *http.Transport) <-chan error {
		ended := make(chan error, 1)
		never, w := io.Pipe()
		t.Cleanup(func() { _ = w.Close() })
		go func() { ended <- ask(cc, "", never) }()
		return ended
	}
	attacker, friend := open("127.3.0.1"), open("127.3.1.1")
	if err := ask(friend, "good", nil); err != nil {
		t.Fatal(err)
	}
	lost := slow(attacker)
	s.unauthenticated(1)
	slow(friend)
	for i := range 16 {
		slow(open(fmt.Sprintf("127.1.%d.1", i)))
	}
	s.unauthenticated(16)
	if err := <-lost; err == nil {
		t.Error("the slow request of the oldest connection was answered")
	}
	if err := ask(friend, "", nil); err != nil {
		t.Errorf("the authenticated connection: %v", err)
	}
}

// TestDroppedConnectionsAreReported opens more connections without a credential than
// a network may have.
func TestDroppedConnectionsAreReported(t *testing.T) {
	drops := make(chan admission.Drop, 100)
	s := serve(t, Config{Handler: all(checked), Limits: Limits{Connections: 64, Network: 2}, Dropped: func(d admission.Drop) { drops <- d }})
	want := admission.Drop{Lane: admission.LaneUnauthenticated, Reason: admission.ReasonNetwork, Evicted: true}
	for { // the first ones keep their places for a second
		s.from("127.3.0.1", "")
		select {
		case d := <-drops:
			if d == want {
				return
			}
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// TestCipherSuites offers TLS 1.2 with CBC and SHA-1 only, and with an accepted
// suite.
func TestCipherSuites(t *testing.T) {
	own, err := SelfSigned(t.TempDir(), "", nil, nil, time.Now, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, Config{Certificates: own, Handler: all(checked)})
	taken := 0
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if suite.SupportedVersions[0] == tls.VersionTLS13 {
			continue
		}
		c := tls.Client(s.dial(""), &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite.ID}})
		if c.Handshake() != nil {
			continue
		}
		taken++
		if strings.Contains(suite.Name, "CBC") || strings.HasSuffix(suite.Name, "_SHA") || strings.HasPrefix(suite.Name, "TLS_RSA") {
			t.Errorf("%s is taken", suite.Name)
		}
	}
	if taken == 0 {
		t.Error("no suite of TLS 1.2 is taken")
	}
}
