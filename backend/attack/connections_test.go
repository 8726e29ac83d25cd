//go:build linux

package attack

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"app.sunloop/backend/api"
	"app.sunloop/internal/longtest"
)

// dialFrom opens a connection from an address of 127.0.0.0/8.
func dialFrom(t testing.TB, local, address string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(local)}, Timeout: time.Minute}
	c, err := d.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(5 * time.Minute))
	return c
}

// clientAddress is the address of one of n unauthenticated clients in a number of
// networks.
func clientAddress(i, networks int) string {
	return fmt.Sprintf("127.1.%d.%d", i%networks, i/networks%250+1)
}

// stillOpen counts the connections that the service has not closed.
func stillOpen(all []net.Conn) int {
	var n atomic.Int64
	var wait sync.WaitGroup
	for _, c := range all {
		wait.Go(func() {
			_ = c.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
			if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
				n.Add(1)
			}
		})
	}
	wait.Wait()
	return int(n.Load())
}

// askFrom sends a request over a new connection from an address and returns the
// status, 0 if there is no answer, and how long it took.
func (v *target) askFrom(t testing.TB, local, path, credential string) (status int, took time.Duration) {
	t.Helper()
	begin := time.Now()
	c := dialFrom(t, local, v.address())
	defer c.Close()
	_, _ = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n", path, credential)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Logf("%s from %s: %v", path, local, err)
		return 0, time.Since(begin)
	}
	_ = resp.Body.Close()
	return resp.StatusCode, time.Since(begin)
}

// probe requests health from the attackers' networks and from others, and
// sends authenticated requests, and returns how many were answered and the
// longest time of a health check.
func (v *target) probe(t testing.TB, key, path string) (answered, asked int, longest time.Duration) {
	t.Helper()
	for i := range 10 {
		for _, q := range []struct{ local, path, credential string }{
			{fmt.Sprintf("127.9.%d.1", i), api.PathHealth, ""}, {clientAddress(i, 20), api.PathReady, ""}, {fmt.Sprintf("127.9.%d.2", i), path, key},
		} {
			status, took := v.askFrom(t, q.local, q.path, q.credential)
			asked++
			if status == http.StatusOK {
				answered++
			}
			if q.credential == "" {
				longest = max(longest, took)
			}
		}
	}
	return answered, asked, longest
}

// plant creates a site and returns a key and a path that it may read.
func (v *target) plant(t testing.TB) (key, path string) {
	t.Helper()
	v.site(t, "acme", "roof")
	return v.key(t, api.RoleOperator, "acme"), api.PathLatest + "?site_id=roof"
}

// reportHeld reports an attack on the places of connections.
func (v *target) reportHeld(t *testing.T, name, tried string, anonymous []net.Conn, most int, key, path string) {
	t.Helper()
	answered, asked, longest := v.probe(t, key, path)
	held := stillOpen(anonymous)
	report(t, row{
		name: name, tried: tried,
		bound:    fmt.Sprintf("at most %d connections held; every health check and authenticated request answered", most),
		measured: fmt.Sprintf("%d held; %d of %d answered; health within %d ms", held, answered, asked, longest.Milliseconds()),
		ok:       held <= most && answered == asked,
	})
}

// TestSlowLogins sends login bodies at 2 KiB/s, over more connections than the
// service has.
func TestSlowLogins(t *testing.T) {
	n := size(120, 300)
	for _, networks := range []int{1, 20, 240} {
		t.Run(fmt.Sprint(networks), func(t *testing.T) {
			v := serve(t, "--max-connections", strconv.Itoa(n))
			key, path := v.plant(t)
			anonymous := make([]net.Conn, n+20)
			for i := range anonymous {
				anonymous[i] = dialFrom(t, clientAddress(i, networks), v.address())
			}
			stop, ended := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(ended)
				for _, c := range anonymous {
					_, _ = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 16000\r\n\r\n{\"username\":\"", api.PathLogin)
				}
				for sent := 0; sent < 15_000; sent += 512 {
					for _, c := range anonymous {
						_, _ = c.Write([]byte(strings.Repeat("a", 512))) // of one that is closed it fails
					}
					select {
					case <-stop:
						return
					case <-time.After(250 * time.Millisecond):
					}
				}
			}()
			v.reportHeld(t, "slow bodies", fmt.Sprintf("%d login bodies at 2 KiB/s from %d networks, --max-connections %d", len(anonymous), networks, n), anonymous, n/4, key, path)
			close(stop)
			<-ended
		})
	}
}

// TestSilentConnections opens TCP connections that send nothing, from 20
// addresses.
func TestSilentConnections(t *testing.T) {
	n := size(120, 300)
	v := serve(t, "--max-connections", strconv.Itoa(n))
	key, path := v.plant(t)
	anonymous := make([]net.Conn, n)
	for i := range anonymous {
		anonymous[i] = dialFrom(t, clientAddress(i%20, 20), v.address())
	}
	// Those beyond their quarter that still have an overflow place.
	v.reportHeld(t, "silent connections", fmt.Sprintf("%d idle TCP connections from 20 addresses, --max-connections %d", n, n), anonymous, n/4+max(n/16, 16), key, path)
}

// TestAuthenticatedConnectionsStay floods the service with
// unauthenticated connections: an idle authenticated connection keeps its
// slot.
func TestAuthenticatedConnectionsStay(t *testing.T) {
	const n = 80
	v := serve(t, "--max-connections", strconv.Itoa(n))
	key, path := v.plant(t)
	kept := make([]net.Conn, n/2)
	in := make([]*bufio.Reader, len(kept))
	ask := func(i int) bool {
		_, _ = fmt.Fprintf(kept[i], "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", path, key)
		resp, err := http.ReadResponse(in[i], nil)
		if err != nil {
			return false
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusTooManyRequests
	}
	for i := range kept {
		kept[i] = dialFrom(t, "127.9.0.1", v.address())
		in[i] = bufio.NewReader(kept[i])
		if !ask(i) {
			t.Fatal("an authenticated request is not answered")
		}
	}
	for i := range 5 * n {
		c := dialFrom(t, clientAddress(i, 20), v.address())
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: ")
	}
	stay := 0
	for i := range kept {
		if ask(i) {
			stay++
		}
	}
	report(t, row{
		name: "authenticated connections", tried: fmt.Sprintf("%d half headers from 20 networks and %d idle authenticated connections, --max-connections %d", 5*n, len(kept), n),
		bound: "each authenticated connection stays", measured: fmt.Sprintf("%d of %d stay", stay, len(kept)), ok: stay == len(kept),
	})
}

// TestSilentSSHConnections opens TCP connections to the SSH port that send
// nothing, from 20 addresses and from more networks than there are places.
func TestSilentSSHConnections(t *testing.T) {
	const places = 256 + 16 // with overflow
	v := serve(t, "--ssh", "127.0.0.1:0")
	m := regexp.MustCompile(`serving the console over SSH[^\n]*"address":"([^"]+)"`).FindStringSubmatch(v.Log())
	if m == nil {
		t.Fatalf("no address of SSH in %s", v.Log())
	}
	for _, networks := range []int{20, 240} {
		n := size(280, 600)
		anonymous := make([]net.Conn, n)
		for i := range anonymous {
			anonymous[i] = dialFrom(t, clientAddress(i, networks), m[1])
		}
		begin := time.Now()
		config := &gossh.ClientConfig{User: adminName, Auth: []gossh.AuthMethod{gossh.Password(adminPassword)}, HostKeyCallback: gossh.InsecureIgnoreHostKey()} //nolint:gosec // a service of the test
		signedIn := "signed in"
		conn, _, _, err := gossh.NewClientConn(dialFrom(t, "127.9.0.1", m[1]), m[1], config)
		if err != nil {
			signedIn = err.Error()
		} else {
			defer conn.Close()
		}
		took := time.Since(begin)
		held := stillOpen(anonymous)
		report(t, row{
			name: "silent SSH connections", tried: fmt.Sprintf("%d idle TCP connections from %d networks, then a sign-in over SSH", n, networks),
			bound: fmt.Sprintf("at most %d connections held, overflow included; the sign-in succeeds", places), measured: fmt.Sprintf("%d held; %s in %d ms", held, signedIn, took.Milliseconds()),
			ok: held <= places && err == nil,
		})
		for _, c := range anonymous {
			_ = c.Close()
		}
	}
}

// Frames of HTTP/2.
const (
	frameData, frameHeaders, frameSettings, framePing, frameContinuation = 0x0, 0x1, 0x4, 0x6, 0x9

	endHeaders = 0x4 // flag
	frameMost  = 16 << 10
)

// appendFrame appends a frame of HTTP/2.
func appendFrame(b []byte, kind, flags byte, stream uint32, payload []byte) []byte {
	b = append(b, byte(len(payload)>>16), byte(len(payload)>>8), byte(len(payload)), kind, flags)
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}

// appendText appends a text of HPACK that is not Huffman coded.
func appendText(b []byte, text string) []byte {
	n := len(text)
	if n < 127 {
		return append(append(b, byte(n)), text...)
	}
	b = append(b, 127)
	for n -= 127; n >= 128; n >>= 7 {
		b = append(b, byte(n&127|128))
	}
	return append(append(b, byte(n)), text...)
}

// appendSignIn appends the frames of a sign-in with a header field of so many bytes,
// without its body.
func appendSignIn(b []byte, stream uint32, field int) []byte {
	block := appendText([]byte{0x83, 0x87, 0x04}, api.PathLogin) // POST, https, :path
	block = appendText(append(block, 0x01), "x")                 // :authority
	block = appendText(append(block, 0x0f, 16), "application/json")
	block = appendText(appendText(append(block, 0), "x-field"), strings.Repeat("a", field))
	kind := byte(frameHeaders)
	for ; len(block) > frameMost; block, kind = block[frameMost:], frameContinuation {
		b = appendFrame(b, kind, 0, stream, block[:frameMost])
	}
	return appendFrame(b, kind, endHeaders, stream, block)
}

// held sends all frames on a connection and reports whether the service has read
// them and keeps it: it then acknowledges the ping with which they end.
func held(c net.Conn, frames []byte) bool {
	go func() {
		_, _ = c.Write(appendFrame(frames, framePing, 0, 0, make([]byte, 8)))
	}()
	r := bufio.NewReader(c)
	for {
		var head [9]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return false
		}
		if _, err := r.Discard(int(head[0])<<16 | int(head[1])<<8 | int(head[2])); err != nil {
			return false
		}
		if head[3] == framePing && head[4] == 1 {
			return true
		}
	}
}

// TestHTTP2WithoutCredential opens as many connections of HTTP/2 as may be without a
// credential, with as many unfinished requests as a connection may have: their
// headers are as large as they may be, or their bodies fill the receive buffers.
func TestHTTP2WithoutCredential(t *testing.T) {
	longtest.Mark(t)
	const streams = 32
	for _, c := range []struct {
		name        string
		field, body int // bytes of a request
	}{{"headers", 15 << 10, 0}, {"bodies", 0, 2000}} {
		v := serve(t, "--tls", "self")
		n := size(256, 1024)
		frames := appendFrame([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frameSettings, 0, 0, nil)
		for i := range uint32(streams) {
			frames = appendSignIn(frames, 2*i+1, c.field)
		}
		for i := range uint32(streams) {
			if c.body > 0 {
				frames = appendFrame(frames, frameData, 0, 2*i+1, []byte(`{"username":"`+strings.Repeat("a", c.body)))
			}
		}
		var kept atomic.Int64
		var wait sync.WaitGroup
		turns := make(chan struct{}, 16) // handshakes at a time
		for i := range n {
			wait.Go(func() {
				turns <- struct{}{}
				defer func() { <-turns }()
				plain, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(clientAddress(i, 20))}}).Dial("tcp", v.address())
				if err != nil {
					return
				}
				t.Cleanup(func() { _ = plain.Close() })
				_ = plain.SetDeadline(time.Now().Add(time.Minute))
				if held(tls.Client(plain, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}), slices.Clip(frames)) {
					kept.Add(1)
				}
			})
		}
		wait.Wait()
		if kept.Load() < int64(n/2) {
			t.Errorf("%d of %d connections are kept: the probe does not reach the bound", kept.Load(), n)
		}
		v.peak(t, "memory of HTTP/2 without credential: "+c.name, fmt.Sprintf("%d connections with %d unfinished sign-ins each, %d kB of header and %d bytes of body a request; %d kept", n, streams, c.field>>10, c.body, kept.Load()), size(155, 355))
		_, _ = v.Stop()
	}
}
