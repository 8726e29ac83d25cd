package listener

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"app.sunloop/backend/admission"
)

// Frames of HTTP/2, and settings.
const (
	frameData, frameHeaders, frameSettings, frameWindow = 0x0, 0x1, 0x4, 0x8

	settingStreams, settingWindow, settingFrame = 0x3, 0x4, 0x5
)

// frame writes one frame.
func frame(t *testing.T, w io.Writer, kind, flags byte, stream uint32, payload []byte) {
	t.Helper()
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	b = binary.BigEndian.AppendUint32(b, stream)
	if _, err := w.Write(append(b, payload...)); err != nil {
		t.Fatal(err)
	}
}

// TestHTTP2ReceiveBuffers speaks HTTP/2 to a handler that does not read its bodies:
// a connection may send receiveBuffer bytes, on maxStreams streams, and no more.
func TestHTTP2ReceiveBuffers(t *testing.T) {
	own, err := SelfSigned(t.TempDir(), "", nil, nil, time.Now, nil)
	if err != nil {
		t.Fatal(err)
	}
	begun, finish := make(chan struct{}, 1), make(chan struct{})
	defer close(finish)
	s := serve(t, Config{Certificates: own, Handler: all(func(http.ResponseWriter, *http.Request) {
		begun <- struct{}{}
		<-finish
	})})
	c := tls.Client(s.dial(""), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	frame(t, c, frameSettings, 0, 0, nil)
	// :method POST, :scheme https, :path / by HPACK's table, and :authority x.
	frame(t, c, frameHeaders, 0x4, 1, []byte{0x83, 0x87, 0x84, 0x01, 1, 'x'})
	<-begun
	settings := map[uint16]uint32{settingWindow: 65535}
	window := uint32(65535) // of the connection
	_ = c.SetReadDeadline(time.Now().Add(time.Second))
	for {
		var head [9]byte
		if _, err := io.ReadFull(c, head[:]); errors.Is(err, os.ErrDeadlineExceeded) {
			break // the server waits for the client
		} else if err != nil {
			t.Fatal(err)
		}
		payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(c, payload); err != nil {
			t.Fatal(err)
		}
		stream := binary.BigEndian.Uint32(head[5:])
		switch {
		case head[3] == frameSettings && head[4] == 0:
			for p := payload; len(p) >= 6; p = p[6:] {
				settings[binary.BigEndian.Uint16(p)] = binary.BigEndian.Uint32(p[2:])
			}
		case head[3] == frameWindow && stream == 0:
			window += binary.BigEndian.Uint32(payload)
		case head[3] == frameWindow:
			t.Errorf("the window of stream %d grows before a body is read", stream)
		}
	}
	if settings[settingStreams] != maxStreams || settings[settingWindow] > receiveBuffer || settings[settingFrame] > readFrame || window > receiveBuffer {
		t.Errorf("settings %v and a window of %d, want at most %d streams, %d bytes and frames of %d bytes", settings, window, maxStreams, receiveBuffer, readFrame)
	}
}

// TestHTTP2ConcurrentRequests sends as many requests as a connection may have on a
// dozen connections of one network, without a credential, to a handler that does not
// return. Those above the budget get a response at once; the first of each connection,
// and all of a connection with a credential, are served.
func TestHTTP2ConcurrentRequests(t *testing.T) {
	own, err := SelfSigned(t.TempDir(), "", nil, nil, time.Now, nil)
	if err != nil {
		t.Fatal(err)
	}
	const connections = 12
	var served, refused atomic.Int64
	finish := make(chan struct{})
	defer close(finish)
	s := serve(t, Config{Certificates: own, Handler: all(func(_ http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodGet {
			admission.Authenticated(q.Context())
		}
		served.Add(1)
		<-finish
	})})
	send := func(method byte) {
		c := tls.Client(s.dial(""), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
		t.Cleanup(func() { _ = c.Close() })
		if _, err := io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		frame(t, c, frameSettings, 0, 0, nil)
		before := served.Load()
		for i := range uint32(maxStreams) {
			frame(t, c, frameHeaders, 0x5, 2*i+1, []byte{method, 0x87, 0x84, 0x01, 1, 'x'})
			for i == 0 && served.Load() == before {
				time.Sleep(time.Millisecond) // the first one is served in any case
			}
		}
		go func() {
			for {
				var head [9]byte
				if _, err := io.ReadFull(c, head[:]); err != nil {
					return
				}
				if _, err := io.CopyN(io.Discard, c, int64(head[0])<<16|int64(head[1])<<8|int64(head[2])); err != nil {
					return
				}
				if head[3] == frameHeaders {
					refused.Add(1)
				}
			}
		}()
	}
	wait := func(n int64) {
		t.Helper()
		for end := time.Now().Add(time.Minute); served.Load()+refused.Load() < n; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d requests served and %d refused, want %d in all", served.Load(), refused.Load(), n)
			}
		}
	}
	const post, get = 0x83, 0x82 // by HPACK's table
	for range connections {
		send(post)
	}
	wait(connections * maxStreams)
	if most := int64(connections + streamsBytes/streamsShare/streamBytes); served.Load() > most || served.Load() < most*9/10 {
		t.Errorf("%d requests served without a credential, want about %d", served.Load(), most)
	}
	before := refused.Load()
	send(get)
	wait((connections + 1) * maxStreams)
	if n := refused.Load() - before; n > 0 {
		t.Errorf("%d requests of a connection with a credential are refused", n)
	}
}
