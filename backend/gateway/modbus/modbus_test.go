package modbus

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	wire "github.com/simonvetter/modbus"
)

// server is a Modbus server whose registers hold their address, for unit 1; unit 2
// has no response, unit 3 is behind a gateway, unit 4 is busy at first.
type server struct {
	mu     sync.Mutex
	busy   int
	silent chan struct{} // open while unit 2 does not respond
}

func (s *server) registers(unit uint8, address, count uint16) ([]uint16, error) {
	if unit == 2 {
		<-s.silent
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case unit == 3:
		return nil, wire.ErrGWTargetFailedToRespond
	case unit == 4 && s.busy < 1:
		s.busy++
		return nil, wire.ErrServerDeviceBusy
	case address >= 1000:
		return nil, wire.ErrIllegalDataAddress
	}
	out := make([]uint16, count)
	for i := range out {
		out[i] = address + uint16(i)
	}
	return out, nil
}

func (s *server) HandleHoldingRegisters(r *wire.HoldingRegistersRequest) ([]uint16, error) {
	if r.IsWrite {
		return nil, wire.ErrIllegalFunction
	}
	return s.registers(r.UnitId, r.Addr, r.Quantity)
}
func (s *server) HandleInputRegisters(r *wire.InputRegistersRequest) ([]uint16, error) {
	return s.registers(r.UnitId, r.Addr, r.Quantity)
}
func (*server) HandleCoils(*wire.CoilsRequest) ([]bool, error) { return nil, wire.ErrIllegalFunction }
func (*server) HandleDiscreteInputs(*wire.DiscreteInputsRequest) ([]bool, error) {
	return nil, wire.ErrIllegalFunction
}

// TestDamage: a request whose response is lost or damaged is sent once more, on a new
// connection.
func TestDamage(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers [][]byte // of the requests in turn; nil: the connection is closed
		want    error
		opened  uint64
	}{
		{"closed", [][]byte{nil, ok}, nil, 2},
		{"closed twice", [][]byte{nil, nil}, ErrUnreachable, 2},
		{"wrong length", [][]byte{{0, 1, 0, 0, 0, 5, 1, 3, 4, 0, 7}, ok}, nil, 2},
		{"other unit", [][]byte{{0, 1, 0, 0, 0, 5, 9, 3, 2, 0, 7}, ok}, nil, 2},
		{"other function", [][]byte{{0, 1, 0, 0, 0, 5, 1, 4, 2, 0, 7}, ok}, nil, 2},
		{"too long", [][]byte{{0, 1, 0, 0, 0xFF, 0xFF, 1, 3, 2, 0, 7}, ok}, nil, 2},
		{"damaged twice", [][]byte{{0, 1, 0, 0, 0, 5, 9, 3, 2, 0, 7}, {0, 1, 0, 0, 0, 5, 9, 3, 2, 0, 7}}, ErrDamaged, 2},
		{"late answer of another request", [][]byte{append([]byte{0, 9, 0, 0, 0, 5, 1, 3, 2, 0, 8}, ok...)}, nil, 1},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			n := 0
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				if n < len(tt.answers) {
					io.ReadFull(c, make([]byte, 12))
					if tt.answers[n] == nil {
						c.Close()
					} else {
						c.Write(tt.answers[n])
					}
					n++
				}
			}
		}()
		line, err := New(Config{URL: "tcp://" + l.Addr().String(), Timeout: time.Minute, Pause: time.Nanosecond, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		words, err := line.ReadHolding(t.Context(), 1, 0, 1)
		if !errors.Is(err, tt.want) || err == nil && words[0] != 7 {
			t.Errorf("%s: %v, %v", tt.name, words, err)
		}
		if _, opened := line.Requests(); opened != tt.opened {
			t.Errorf("%s: %d connections", tt.name, opened)
		}
		line.Close()
		l.Close()
	}
}

// ok is the response with the register 7 to the first request of a connection.
var ok = []byte{0, 1, 0, 0, 0, 5, 1, 3, 2, 0, 7}

// serve starts the server behind a proxy that records the function codes of requests.
func serve(t *testing.T) (address string, codes func() []byte) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	back := free.Addr().String()
	free.Close()
	units := &server{silent: make(chan struct{})}
	srv, err := wire.NewServer(&wire.ServerConfiguration{URL: "tcp://" + back, MaxClients: 5, Logger: log.New(io.Discard, "", 0)}, units)
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Start(); err != nil {
		t.Fatal(err)
	}
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { front.Close(); close(units.silent); srv.Stop() })
	var mu sync.Mutex
	var seen []byte
	go func() {
		for {
			c, err := front.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				b, err := net.Dial("tcp", back)
				if err != nil {
					return
				}
				defer b.Close()
				go io.Copy(c, b)
				for {
					var head [7]byte
					if _, err := io.ReadFull(c, head[:]); err != nil {
						return
					}
					body := make([]byte, int(head[4])<<8|int(head[5])-1)
					if _, err := io.ReadFull(c, body); err != nil {
						return
					}
					mu.Lock()
					seen = append(seen, body[0])
					mu.Unlock()
					if _, err := b.Write(append(head[:], body...)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return front.Addr().String(), func() []byte { mu.Lock(); defer mu.Unlock(); return append([]byte(nil), seen...) }
}

// TestLine reads over one connection, and sends no function besides 3 and 4.
func TestLine(t *testing.T) {
	t.Parallel()
	address, codes := serve(t)
	l, err := New(Config{URL: "tcp://" + address, Timeout: time.Second, Pause: time.Millisecond, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx := t.Context()
	words, err := l.ReadHolding(ctx, 1, 40, 3)
	if err != nil || !reflect.DeepEqual(words, []uint16{40, 41, 42}) {
		t.Fatalf("%v, %v", words, err)
	}
	if words, err := l.ReadInput(ctx, 1, 7, 125); err != nil || words[124] != 131 {
		t.Errorf("%v, %v", words, err)
	}
	for _, tt := range []struct {
		unit    uint8
		address uint16
		count   int
		want    error
	}{{1, 1000, 1, ErrRefused}, {1, 0, 126, ErrRefused}, {1, 65535, 2, ErrRefused}, {1, 0, 0, ErrRefused}, {3, 0, 1, ErrSilent}, {2, 0, 1, ErrSilent}, {4, 0, 1, nil}, {1, 0, 1, nil}} {
		if _, err := l.ReadHolding(ctx, tt.unit, tt.address, tt.count); !errors.Is(err, tt.want) {
			t.Errorf("unit %d, %d registers from %d: %v, want %v", tt.unit, tt.count, tt.address, err, tt.want)
		}
	}
	if _, opened := l.Requests(); opened != 2 {
		t.Errorf("opened %d connections: one, and one after the request without a response", opened)
	}
	for _, c := range codes() {
		if c != 3 && c != 4 {
			t.Errorf("function %d was sent", c)
		}
	}
	if n := len(codes()); n < 7 {
		t.Errorf("%d requests were recorded", n)
	}
}

// TestPauses: a unit without a response is not asked again before its next attempt,
// and the others are.
func TestPauses(t *testing.T) {
	address, codes := serve(t)
	now := time.Now()
	l, err := New(Config{URL: "tcp://" + address, Timeout: time.Second, Pause: time.Nanosecond, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	read := func(unit uint8) error { _, err := l.ReadHolding(t.Context(), unit, 0, 1); return err }
	for range 2 {
		if err := read(3); !errors.Is(err, ErrSilent) {
			t.Fatal(err)
		}
	}
	before := len(codes())
	if err := read(3); !errors.Is(err, ErrPaused) || !errors.Is(err, ErrSilent) {
		t.Errorf("%v", err)
	}
	if err := read(1); err != nil {
		t.Error(err)
	}
	if sent := len(codes()) - before; sent != 1 {
		t.Errorf("%d requests, want that of unit 1", sent)
	}
	now = now.Add(1300 * time.Millisecond)
	if err := read(3); !errors.Is(err, ErrSilent) || errors.Is(err, ErrPaused) {
		t.Errorf("when the attempt is due: %v", err)
	}
	now = now.Add(-time.Hour) // a clock that is set back must not silence the unit
	if err := read(3); errors.Is(err, ErrPaused) {
		t.Errorf("after the clock was set back: %v", err)
	}
}

// TestUnreachable: an address without a server is retried with growing pauses.
func TestUnreachable(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := closed.Addr().String()
	closed.Close()
	now := time.Now()
	l, err := New(Config{URL: "tcp://" + address, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for range 300 { // seconds
		if _, err := l.ReadHolding(t.Context(), 1, 0, 1); !errors.Is(err, ErrUnreachable) {
			t.Fatal(err)
		} else if !errors.Is(err, ErrPaused) {
			tried++
		}
		now = now.Add(time.Second)
	}
	if tried < 7 || tried > 13 {
		t.Errorf("%d attempts in five minutes", tried)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l.turn <- struct{}{}
	if _, err := l.ReadHolding(ctx, 1, 0, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("behind another request: %v", err)
	}
	<-l.turn
}

// TestLineCannotWrite holds the method set of a Line against a list.
func TestLineCannotWrite(t *testing.T) {
	typ := reflect.TypeFor[*Line]()
	for i := range typ.NumMethod() {
		switch name := typ.Method(i).Name; name {
		case "ReadHolding", "ReadInput", "Close", "Requests", "Forget":
		default:
			t.Errorf("method %s", name)
		}
	}
	reader := reflect.TypeFor[Reader]()
	if reader.NumMethod() != 2 || strings.Contains(strings.ToLower(reader.Method(0).Name+reader.Method(1).Name), "write") {
		t.Errorf("%v", reader)
	}
}

func TestCheck(t *testing.T) {
	for address, valid := range map[string]bool{
		"tcp://192.0.2.1:502": true, "tcp://[2001:db8::1]:1502": true, "rtuovertcp://gw.example:4196": true, "rtu:///dev/ttyUSB0": true,
		"rtu:///dev/ttyUSB0?speed=19200&parity=even&stop=1": true,
		"192.0.2.1": false, "tcp://192.0.2.1": false, "tcp://192.0.2.1:0": false, "tcp://192.0.2.1:502/x": false, "udp://192.0.2.1:502": false,
		"rtu://dev/ttyUSB0": false, "rtu:///dev/ttyUSB0?speed=x": false, "rtu:///dev/ttyUSB0?parity=mark": false, "rtu:///dev/x?stop=3": false, "rtu:///dev/x?baud=9600": false,
	} {
		if err := Check(address); (err == nil) != valid {
			t.Errorf("%s: %v", strconv.Quote(address), err)
		}
	}
}
