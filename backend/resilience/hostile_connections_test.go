package resilience

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// getsIn asserts that a regular client that connects then is served each time.
func (v *victim) getsIn(t *testing.T, times int) {
	t.Helper()
	c := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for i := range times {
		resp, err := c.Get(v.URL + api.PathHealth)
		if err != nil {
			t.Errorf("a good client, time %d: %v", i+1, err)
			return
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("a good client, time %d: %d", i+1, resp.StatusCode)
		}
	}
}

// many opens connections that write text, one after the other, each when the one
// before has a response of the status; 0 does not wait. It returns a function
// that closes them.
func (v *victim) many(t *testing.T, n int, text string, status int) (closeAll func()) {
	t.Helper()
	open := make([]net.Conn, 0, n)
	for range n {
		c := v.dial(t)
		open = append(open, c)
		_ = c.SetDeadline(time.Now().Add(5 * time.Minute))
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		if status != 0 {
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil || resp.StatusCode != status {
				t.Fatalf("connection %d: %v", len(open), err)
			}
		}
	}
	return func() {
		for _, c := range open {
			_ = c.Close()
		}
	}
}

// TestIdleConnections are more than are taken at a time: each is served as
// it comes, and who comes behind them is served too.
func TestIdleConnections(t *testing.T) {
	most, n := 50, 300
	if _, whole := loadSeconds(t); whole {
		most, n = 4096, 10_000
	}
	v := newVictim(t, 1, "--max-connections", strconv.Itoa(most))
	rest, _ := v.Usage()
	closeAll := v.many(t, n, "GET "+api.PathHealth+" HTTP/1.1\r\nHost: x\r\n\r\n", http.StatusOK)
	defer closeAll()
	v.getsIn(t, 20)
	if u, ok := v.Usage(); ok && u.Files > most+rest.Files+1 {
		t.Errorf("%d files for %d connections", u.Files, most)
	}
	v.serves(t)
	t.Logf("%d connections that rest: resident %.0f MiB at most", n, v.PeakMiB())
	closeAll()
	rests(t, v.Process, rest)
}

// TestConnectionsThatBegin hold half a header, or nothing, in every slot.
func TestConnectionsThatBegin(t *testing.T) {
	t.Parallel() // it waits more than it works
	most, n := 50, 120
	if _, whole := loadSeconds(t); whole {
		most, n = 1000, 2000
	}
	v := newVictim(t, 1, "--max-connections", strconv.Itoa(most))
	rest, _ := v.Usage()
	closeHalf := v.many(t, n/2, "GET / HTTP/1.1\r\nHost: ", 0)
	defer closeHalf()
	closeSilent := v.many(t, n/2, "", 0)
	defer closeSilent()
	v.getsIn(t, 1)
	closeHalf()
	closeSilent()
	v.serves(t)
	rests(t, v.Process, rest)
}

// Frames of HTTP/2 and what they are made of, RFC 9113 and 7541.
const (
	frameHeaders, frameReset, frameSettings, frameGoAway = 1, 3, 4, 7
	endStream, endHeaders                                = 0x1, 0x4
	preface                                              = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
)

func frame(kind, flags byte, stream uint32, payload string) string {
	head := make([]byte, 9)
	binary.BigEndian.PutUint32(head, uint32(len(payload))<<8)
	head[3], head[4] = kind, flags
	binary.BigEndian.PutUint32(head[5:], stream)
	return string(head) + payload
}

// headerBlock is a request without the compression that HPACK offers.
func headerBlock(method byte, path, key string) string {
	text := func(s string) string { return string([]byte{byte(len(s))}) + s }
	return string([]byte{method, 0x87}) + "\x44" + text(path) + "\x41" + text("x") + "\x40" + text("authorization") + text("Bearer "+key)
}

// frames opens a connection of HTTP/2, writes frames, and counts the frames
// that come back by kind until the service closes or nothing comes any more.
func (v *victim) frames(t *testing.T, write func(io.Writer)) (kinds map[byte]int) {
	t.Helper()
	c := tls.Client(v.dial(t), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	defer c.Close()
	if _, err := io.WriteString(c, preface+frame(frameSettings, 0, 0, "")); err != nil {
		t.Fatal(err)
	}
	go write(c)
	kinds = map[byte]int{}
	in := bufio.NewReader(c)
	for head := make([]byte, 9); ; {
		_ = c.SetReadDeadline(time.Now().Add(2 * time.Second))
		if _, err := io.ReadFull(in, head); err != nil {
			if !errors.Is(err, io.EOF) {
				t.Logf("it ends with %v", err)
			}
			return kinds
		}
		kinds[head[3]]++
		if _, err := in.Discard(int(binary.BigEndian.Uint32(head) >> 8)); err != nil {
			return kinds
		}
	}
}

// TestHTTP2WithoutLimits opens streams and resets them at once, and opens more
// than are taken at a time.
func TestHTTP2WithoutLimits(t *testing.T) {
	t.Parallel() // it waits more than it works
	v := newVictim(t, 1, "--tls", "self")
	key := v.key()
	resets := 4000
	if _, whole := loadSeconds(t); whole {
		resets = 100_000
	}
	kinds := v.frames(t, func(w io.Writer) {
		block := headerBlock(0x82, api.PathLatest+"?site_id="+fleetSite(0), key)
		for i := range uint32(resets) {
			if _, err := io.WriteString(w, frame(frameHeaders, endHeaders|endStream, 2*i+1, block)+frame(frameReset, 0, 2*i+1, "\x00\x00\x00\x08")); err != nil {
				return
			}
		}
	})
	t.Logf("%d streams that are reset at once: frames %v, resident %.0f MiB at most", resets, kinds, v.PeakMiB())
	if kinds[frameHeaders] > resets/2 {
		t.Errorf("%d of %d were answered although no client waited", kinds[frameHeaders], resets)
	}
	v.getsIn(t, 3)

	const streams, taken = 1000, 250
	kinds = v.frames(t, func(w io.Writer) {
		for i := range uint32(streams) {
			if _, err := io.WriteString(w, frame(frameHeaders, endHeaders, 2*i+1, headerBlock(0x83, api.PathDetect, key))); err != nil {
				return
			}
		}
	})
	if kinds[frameReset] < streams-taken && kinds[frameGoAway] == 0 {
		t.Errorf("%d of %d streams were refused: frames %v", kinds[frameReset], streams, kinds)
	}
	t.Logf("%d streams that stay open: frames %v", streams, kinds)
	v.getsIn(t, 3)
	if most := v.PeakMiB(); most > hostileBound {
		t.Errorf("%.0f MiB resident, more than %d", most, hostileBound)
	}
}

// TestSlowBodies hold every connection with an authenticated body that arrives
// too slowly; they stay until their time is over, and a client on an
// authenticated connection is served meanwhile.
func TestSlowBodies(t *testing.T) {
	const most = 40
	v := newVictim(t, 1, "--max-connections", strconv.Itoa(most))
	kept, key := v.dial(t), v.key()
	defer kept.Close()
	in := bufio.NewReader(kept)
	ask := func() {
		t.Helper()
		if _, err := fmt.Fprintf(kept, "GET %s?site_id=%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", api.PathLatest, fleetSite(0), key); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("a good client: %v", err)
		}
		if b, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(b), "plant-000") {
			t.Errorf("%s, %v", b, err)
		}
	}
	ask()
	// The service asks for a body once it has accepted the credential. Connections
	// that are not authenticated yet may exceed their share; the service then asks
	// clients to close theirs.
	closeAll := v.many(t, most-1, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n", api.PathDetect, v.key()), http.StatusContinue)
	defer closeAll()
	for range 10 {
		ask()
	}
	closeAll()
	v.serves(t)
}
