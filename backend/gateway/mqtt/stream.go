package mqtt

import (
	"bufio"
	"errors"
	"net"
	"sync"
)

// stream is a connection whose incoming packets are limited: of a longer message only the
// beginning is passed on, which is then more than a message may have. The libraries would
// take as much memory as a packet says that it has.
type stream struct {
	net.Conn
	in      *bufio.Reader
	pending []byte // header of a packet, still to be passed on
	left    int    // bytes of the packet to pass on
	discard int    // bytes after them

	mu    sync.Mutex
	first [2]byte // type and length of the first packet

	writing sync.Mutex
	held    bool   // between Lock and Unlock
	out     []byte // written in between
}

const (
	maxPacket     = maxMessage + 128<<10 // with topic and properties
	mostHeader    = 5                    // bytes
	packetPublish = 3
	packetConnack = 2
	connack311    = 2 // length of its CONNACK; that of MQTT 5 is longer
)

var errPacket = errors.New("the broker sent a damaged packet")

func newStream(c net.Conn) *stream { return &stream{Conn: c, in: bufio.NewReader(c)} }

// Read passes packets on.
func (s *stream) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(s.pending) == 0 && s.left == 0 {
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	if len(s.pending) > 0 {
		n := copy(p, s.pending)
		s.pending = s.pending[n:]
		return n, nil
	}
	n, err := s.in.Read(p[:min(len(p), s.left)])
	s.left -= n
	return n, err
}

// next reads the header of the next packet.
func (s *stream) next() error {
	if _, err := s.in.Discard(s.discard); err != nil {
		return err
	}
	s.discard = 0
	head := make([]byte, 0, mostHeader)
	length := 0
	for {
		b, err := s.in.ReadByte()
		if err != nil {
			return err
		}
		head = append(head, b)
		if n := len(head); n > 1 {
			length |= int(b&0x7F) << (7 * (n - 2))
			if b < 0x80 {
				break
			}
			if n == mostHeader {
				return errPacket
			}
		}
	}
	s.mu.Lock()
	if s.first[0] == 0 {
		s.first = [2]byte{head[0], head[1]}
	}
	s.mu.Unlock()
	if length > maxPacket {
		if head[0]>>4 != packetPublish {
			return errPacket
		}
		s.discard, length = length-maxPacket, maxPacket
		head = append(head[:1], maxPacket&0x7F|0x80, maxPacket>>7&0x7F|0x80, maxPacket>>14)
	}
	s.pending, s.left = head, length
	return nil
}

// isEmpty reports whether nothing came.
func (s *stream) isEmpty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first[0] == 0
}

// is311 reports whether the broker answered as one that speaks no MQTT 5.
func (s *stream) is311() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first[0]>>4 == packetConnack && s.first[1] == connack311
}

// Lock begins a packet, which is written in parts by the library for MQTT 5.
func (s *stream) Lock() {
	s.writing.Lock()
	s.held = true
}

// Unlock sends it. An error closes the connection, which ends its reader.
func (s *stream) Unlock() {
	s.held = false
	if _, err := s.Conn.Write(s.out); err != nil {
		_ = s.Conn.Close()
	}
	s.out = s.out[:0]
	s.writing.Unlock()
}

// Write writes; between Lock and Unlock it only collects.
func (s *stream) Write(p []byte) (int, error) {
	if !s.held {
		return s.Conn.Write(p)
	}
	s.out = append(s.out, p...)
	return len(p), nil
}
