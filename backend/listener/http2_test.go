package listener

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"os"
	"testing"
	"time"
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
