package webhook

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// names returns look-up results in turn, and repeats the last one.
func names(answers ...string) func(context.Context, string) ([]netip.Addr, error) {
	var n atomic.Int64
	return func(context.Context, string) ([]netip.Addr, error) {
		i := min(int(n.Add(1))-1, len(answers)-1)
		if answers[i] == "" {
			return nil, &net.DNSError{IsNotFound: true}
		}
		return []netip.Addr{netip.MustParseAddr(answers[i])}, nil
	}
}

func newGuard(t *testing.T, lookUp func(context.Context, string) ([]netip.Addr, error), allow ...string) *Guard {
	t.Helper()
	g, err := NewGuard(allow...)
	if err != nil {
		t.Fatal(err)
	}
	g.LookUp = lookUp
	return g
}

func TestGuardRefuses(t *testing.T) {
	g := newGuard(t, names("93.184.215.14"))
	for _, place := range []string{
		"", "hook", "/hook", "https://", "https:hook", "ftp://example.org/x", "file:///etc/passwd", "javascript:alert(1)", "gopher://example.org",
		"http://example.org/hook", "HTTP://example.org",
		"https://user@example.org/", "https://user:pass@example.org/", "https://example.org/#x", "https://example.org/" + strings.Repeat("x", maxURL),
		"https://example.org:22/", "https://example.org:80/", "https://example.org:6379/",
		// Loopback, however it is written.
		"https://127.0.0.1/", "https://127.1/", "https://127.0.1/", "https://127.255.255.254/", "https://2130706433/", "https://0177.0.0.1/", "https://017700000001/",
		"https://0x7f000001/", "https://0x7f.0.0.1/", "https://0x7f.1/", "https://127.0.0.1./", "https://[::1]/", "https://[0:0:0:0:0:0:0:1]/",
		"https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/", "https://[::127.0.0.1]/", "https://localhost/", "https://LOCALHOST/", "https://localhost./", "https://a.localhost/",
		"https://localhost.localdomain/", "https://127。0。0。1/", "https://１２７.0.0.1/", "https://127%2e0%2e0%2e1/",
		// This network, private, link-local, shared, documentation, multicast, reserved.
		"https://0.0.0.0/", "https://0/", "https://[::]/", "https://10.0.0.1/", "https://172.16.0.1/", "https://172.31.255.255/", "https://192.168.1.1/", "https://169.254.169.254/latest",
		"https://[fe80::1]/", "https://[fe80::1%25eth0]/", "https://[fc00::1]/", "https://[fd12:3456::1]/", "https://100.64.0.1/", "https://100.127.255.255/", "https://192.0.0.1/",
		"https://192.0.2.1/", "https://198.18.0.1/", "https://198.51.100.1/", "https://203.0.113.1/", "https://224.0.0.1/", "https://240.0.0.1/", "https://255.255.255.255/",
		"https://[ff02::1]/", "https://[2001:db8::1]/", "https://[3fff::1]/",
		// Addresses that carry another inside.
		"https://[64:ff9b::7f00:1]/", "https://[64:ff9b::10.0.0.1]/", "https://[64:ff9b:1::a00:1]/", "https://[2002:7f00:1::]/", "https://[2001:0:7f00:1::]/",
		// Names of the own network.
		"https://intranet/", "https://printer.local/", "https://metadata.google.internal/", "https://nas.lan/", "https://router.home.arpa/", "https://-bad-.org/", "https://under_score.org/", "https://a..org/",
	} {
		var refused *RefusedError
		if err := g.Check(t.Context(), place); !errors.As(err, &refused) || refused.Why == "" {
			t.Errorf("%q passes: %v", place, err)
		}
	}
	for _, place := range []string{"https://example.org/hook", "https://example.org", "https://EXAMPLE.org:443/a?b=c", "https://hooks.example.org:8443/", "https://xn--bcher-kva.example/", "https://93.184.215.14/", "https://[2606:2800:21f:cb07::1]/"} {
		if err := g.Check(t.Context(), place); err != nil {
			t.Errorf("%q is refused: %v", place, err)
		}
	}
	// By what the name resolves to; one that does not resolve now may later.
	for answer, refused := range map[string]bool{"10.1.2.3": true, "::ffff:192.168.0.1": true, "169.254.169.254": true, "fd00::1": true, "": false, "93.184.215.14": false} {
		if err := newGuard(t, names(answer)).Check(t.Context(), "https://example.org/"); (err != nil) != refused {
			t.Errorf("a name that resolves to %q: %v", answer, err)
		}
	}
}

func TestAllowList(t *testing.T) {
	g := newGuard(t, names("10.9.9.9"), "127.0.0.1:9000", "Lab.internal", "10.1.0.0/16", "::1")
	for place, ok := range map[string]bool{
		"http://127.0.0.1:9000/": true, "http://127.0.0.1:9001/": false, "http://lab.internal:1234/x": true, "https://other.internal/": false,
		"http://10.1.2.3:8080/": true, "https://10.2.0.1/": false, "http://[::1]/": true, "https://u@lab.internal/": false, "ftp://lab.internal/": false,
	} {
		if err := g.Check(t.Context(), place); (err == nil) != ok {
			t.Errorf("%s: %v", place, err)
		}
	}
	for _, bad := range []string{"", "http://lab", "10.0.0.0/99", "a b"} {
		if _, err := NewGuard(bad); err == nil {
			t.Errorf("%q is taken as a place", bad)
		}
	}
}

// receiver counts what reaches it.
func receiver(t *testing.T, answer http.HandlerFunc) (s *httptest.Server, reached *atomic.Int64) {
	t.Helper()
	reached = &atomic.Int64{}
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		reached.Add(1)
		answer(w, q)
	}))
	t.Cleanup(s.Close)
	return s, reached
}

func testNow() time.Time { return time.Date(2026, 6, 15, 10, 0, 0, 0, time.UTC) }

func delivery(place string) Delivery {
	return Delivery{ID: "whd_1", URL: place, Secrets: []string{NewSecret()}, Body: []byte(`{"order_id":"ord_1"}`), Attempt: 1}
}

// A name that is public when it is checked and loopback when it is called, or
// that changes between the look-up and the connection, reaches nothing.
func TestRebindingNameReachesNothing(t *testing.T) {
	connections := atomic.Int64{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	g := newGuard(t, names("93.184.215.14", "127.0.0.1"))
	if err := g.Check(t.Context(), "https://rebind.example.org/"); err != nil {
		t.Fatalf("public at first: %v", err)
	}
	p := NewPoster(g, testNow)
	for _, place := range []string{"https://rebind.example.org:" + port + "/", "http://rebind.example.org:" + port + "/", "http://127.0.0.1:" + port + "/",
		"http://[::ffff:127.0.0.1]:" + port + "/", "http://localhost:" + port + "/"} {
		if out := p.Post(t.Context(), delivery(place)); out.Status != 0 || !strings.Contains(out.Failure, "127.0.0.1 is not an address of the public internet") {
			t.Errorf("%s: %+v", place, out)
		}
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

// The checked address is the dialled one: the check is made on the address of
// the connection itself.
func TestControlChecksTheConnection(t *testing.T) {
	g := newGuard(t, nil)
	for address, ok := range map[string]bool{"127.0.0.1:443": false, "[::1]:443": false, "[::ffff:10.0.0.1]:443": false, "93.184.215.14:443": true, "[64:ff9b::a00:1]:443": false, "nonsense": false} {
		if err := g.control("tcp", address, nil); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// A redirect to another place is an answer like any other: nothing follows it.
func TestRedirectIsNotFollowed(t *testing.T) {
	inside, reached := receiver(t, func(http.ResponseWriter, *http.Request) {})
	outside, called := receiver(t, func(w http.ResponseWriter, q *http.Request) {
		http.Redirect(w, q, inside.URL, http.StatusTemporaryRedirect)
	})
	p := NewPoster(newGuard(t, nil, outside.Listener.Addr().String()), testNow)
	defer p.Close()
	if out := p.Post(t.Context(), delivery(outside.URL)); out.Status != 307 || !strings.Contains(out.Failure, "redirects are not followed") {
		t.Errorf("%+v", out)
	}
	if called.Load() != 1 || reached.Load() != 0 {
		t.Errorf("%d calls outside, %d inside", called.Load(), reached.Load())
	}
}

// No proxy of the environment is used.
func TestNoProxy(t *testing.T) {
	proxy, reached := receiver(t, func(http.ResponseWriter, *http.Request) {})
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("HTTPS_PROXY", proxy.URL)
	if tr := NewPoster(newGuard(t, nil), testNow).client.Transport.(*http.Transport); tr.Proxy != nil {
		t.Error("the transport has a proxy")
	}
	p := NewPoster(newGuard(t, names("")), testNow)
	if out := p.Post(t.Context(), delivery("http://example.org/")); out.Failure != "its name does not resolve" || reached.Load() != 0 {
		t.Errorf("%+v, %d calls of the proxy", out, reached.Load())
	}
}

// A place that answers without end is read up to a bound.
func TestAnswerIsReadUpToABound(t *testing.T) {
	sent := atomic.Int64{}
	endless, _ := receiver(t, func(w http.ResponseWriter, q *http.Request) {
		chunk := strings.Repeat("x", 16<<10)
		for q.Context().Err() == nil {
			n, err := io.WriteString(w, chunk)
			if sent.Add(int64(n)); err != nil || sent.Load() > 64<<20 {
				return
			}
		}
	})
	p := NewPoster(newGuard(t, nil, "127.0.0.1"), testNow)
	defer p.Close()
	if out := p.Post(t.Context(), delivery(endless.URL)); out.Status != 200 || out.Failure != "" {
		t.Errorf("%+v", out)
	}
	if n := sent.Load(); n > 32<<20 {
		t.Errorf("%d bytes were taken", n)
	}
}

// However an address of the inside is written, it is refused.
func TestPrivateAddressesInAnySpelling(t *testing.T) {
	g := newGuard(t, names("93.184.215.14"))
	inside := []string{"10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "0.0.0.0/8"}
	rapid.Check(t, func(t *rapid.T) {
		network := netip.MustParsePrefix(rapid.SampledFrom(inside).Draw(t, "network"))
		b := network.Addr().As4()
		host := rapid.Uint32().Draw(t, "host")
		n := binary.BigEndian.Uint32(b[:]) | host&(1<<(32-network.Bits())-1)
		binary.BigEndian.PutUint32(b[:], n)
		part := func(v uint32) string {
			return fmt.Sprintf(rapid.SampledFrom([]string{"%d", "0x%x", "0X%X", "0%o", "000%o", "0x00%x"}).Draw(t, "form"), v)
		}
		dots := []string{part(n), part(n>>24) + "." + part(n&0xffffff), part(n>>24) + "." + part(n>>16&0xff) + "." + part(n&0xffff),
			part(n>>24) + "." + part(n>>16&0xff) + "." + part(n>>8&0xff) + "." + part(n&0xff), netip.AddrFrom4(b).String(), netip.AddrFrom4(b).String() + ".",
			"[::ffff:" + netip.AddrFrom4(b).String() + "]", "[64:ff9b::" + netip.AddrFrom4(b).String() + "]", fmt.Sprintf("[2002:%x:%x::1]", n>>16, n&0xffff)}
		place := "https://" + rapid.SampledFrom(dots).Draw(t, "spelling") + "/hook"
		if err := g.Check(t.Context(), place); err == nil {
			t.Fatalf("%s passes", place)
		}
	})
}
