// Package modbus reads registers of the units behind one connection: Modbus TCP, RTU
// over TCP and RTU on a serial port. It sends the functions 3 and 4 only: Line has
// no method that writes, and no other package of Sunloop imports the library.
package modbus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"app.sunloop/internal/clock"
	"app.sunloop/internal/display"
	wire "github.com/simonvetter/modbus"
)

// Reader reads registers. Line implements it.
type Reader interface {
	// ReadHolding reads holding registers (function 3).
	ReadHolding(ctx context.Context, unit uint8, address uint16, count int) ([]uint16, error)
	// ReadInput reads input registers (function 4).
	ReadInput(ctx context.Context, unit uint8, address uint16, count int) ([]uint16, error)
}

// The kinds of errors of a read.
var (
	ErrUnreachable = errors.New("unreachable")            // no connection
	ErrSilent      = errors.New("no response")            // of the unit, or of the device behind a gateway
	ErrDamaged     = errors.New("damaged response")       // not a response to the request
	ErrRefused     = errors.New("refused")                // an exception of the unit: it has no such register, or not for this function
	ErrPaused      = errors.New("waiting before a retry") // after errors, until the next attempt is due
)

// PausedError is the error of a read that was not attempted. It is an ErrPaused.
type PausedError struct {
	Cause error // of the last attempt, of the connection or of the unit
}

func (e *PausedError) Error() string { return ErrPaused.Error() + ": " + e.Cause.Error() }

// Unwrap returns ErrPaused and the cause.
func (e *PausedError) Unwrap() []error { return []error{ErrPaused, e.Cause} }

// Config configures a Line.
type Config struct {
	// URL is tcp://host:port, rtuovertcp://host:port, or rtu:///dev/ttyUSB0 with
	// ?speed=9600&parity=none|even|odd&stop=1|2.
	URL     string
	Timeout time.Duration // of a request; 2 s
	Pause   time.Duration // between two requests; 50 ms
	Settle  time.Duration // between connecting and the first request
	Now     func() time.Time
}

// Line is a connection that all reads of its units share. Its methods are safe for
// concurrent use; one request is sent at a time.
type Line struct {
	config Config
	turn   chan struct{} // holds an element while a request is in progress
	client *wire.ModbusClient
	last   time.Time // end of the last request
	proven bool      // a response has come over this connection

	mu       sync.Mutex
	failures failures // of the connection
	units    map[uint8]*failures
	answered map[uint8]bool // units that have responded
	requests uint64
	opened   uint64
}

// failures count consecutive failures and state when the next attempt is due.
type failures struct {
	count int
	until time.Time
	err   error
}

// New returns a Line, which connects with its first read.
func New(c Config) (*Line, error) {
	if _, err := settings(c); err != nil {
		return nil, err
	}
	if c.Now == nil {
		return nil, errors.New("modbus: a clock is required")
	}
	if c.Timeout <= 0 {
		c.Timeout = 2 * time.Second
	}
	if c.Pause <= 0 {
		c.Pause = 50 * time.Millisecond
	}
	return &Line{config: c, turn: make(chan struct{}, 1), units: map[uint8]*failures{}, answered: map[uint8]bool{}}, nil
}

// Check returns an error if a URL is not one that New accepts.
func Check(address string) error {
	_, err := settings(Config{URL: address})
	return err
}

// settings are the library's settings for a URL.
func settings(c Config) (wire.ClientConfiguration, error) {
	out := wire.ClientConfiguration{Timeout: c.Timeout, Logger: log.New(io.Discard, "", 0)}
	u, err := url.Parse(c.URL)
	if err != nil {
		return out, fmt.Errorf("address %q: %w", c.URL, err)
	}
	invalid := func(rule string) error { return fmt.Errorf("address %q: %s", c.URL, rule) }
	switch u.Scheme {
	case "tcp", "rtuovertcp":
		if u.Hostname() == "" || u.Port() == "" || u.Path != "" {
			return out, invalid("must be " + u.Scheme + "://host:port")
		}
		if n, err := strconv.ParseUint(u.Port(), 10, 16); err != nil || n == 0 {
			return out, invalid("the port is a number from 1 to 65535")
		}
		out.URL = u.Scheme + "://" + net.JoinHostPort(u.Hostname(), u.Port())
	case "rtu":
		if u.Host != "" || !strings.HasPrefix(u.Path, "/") || u.Path == "/" {
			return out, invalid("must be rtu:///dev/NAME")
		}
		out.URL = "rtu://" + u.Path
		out.Speed, out.Parity = 9600, wire.PARITY_NONE
		for key, values := range u.Query() {
			value := values[0]
			switch key {
			case "speed":
				n, err := strconv.ParseUint(value, 10, 32)
				if err != nil || n < 300 || n > 1_000_000 {
					return out, invalid("speed is a number of baud from 300")
				}
				out.Speed = uint(n)
			case "parity":
				parity, ok := map[string]uint{"none": wire.PARITY_NONE, "even": wire.PARITY_EVEN, "odd": wire.PARITY_ODD}[value]
				if !ok {
					return out, invalid("parity is none, even or odd")
				}
				out.Parity = parity
			case "stop":
				if value != "1" && value != "2" {
					return out, invalid("stop is 1 or 2")
				}
				out.StopBits = uint(value[0] - '0')
			default:
				return out, invalid("unknown setting " + key)
			}
		}
		if out.StopBits == 0 {
			out.StopBits = 1
		}
	default:
		return out, invalid("must begin with tcp://, rtuovertcp:// or rtu://")
	}
	return out, nil
}

// ReadHolding reads holding registers (function 3).
func (l *Line) ReadHolding(ctx context.Context, unit uint8, address uint16, count int) ([]uint16, error) {
	return l.read(ctx, unit, address, count, wire.HOLDING_REGISTER)
}

// ReadInput reads input registers (function 4).
func (l *Line) ReadInput(ctx context.Context, unit uint8, address uint16, count int) ([]uint16, error) {
	return l.read(ctx, unit, address, count, wire.INPUT_REGISTER)
}

// Close closes the connection. A later read opens it again.
func (l *Line) Close() {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	l.disconnect()
}

// Requests returns how many requests were sent, and how often the connection was
// opened.
func (l *Line) Requests() (sent, opened uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.requests, l.opened
}

// Busy responses are asked again so often, after busyPause each.
const (
	busyTries = 5
	busyPause = time.Second
)

// read sends a request when no other one is in progress.
func (l *Line) read(ctx context.Context, unit uint8, address uint16, count int, kind wire.RegType) ([]uint16, error) {
	if count < 1 || count > 125 || int(address)+count > 0x10000 {
		return nil, fmt.Errorf("read %s from %d: %w", display.CountOf(count, "register", "registers"), address, ErrRefused)
	}
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-l.turn }()
	repeated := false
	for try := 1; ; try++ {
		words, err := l.attempt(ctx, unit, address, count, kind)
		if err != nil && !repeated && l.repeats(unit, err) {
			repeated = true
			l.disconnect()
			continue
		}
		if !errors.Is(err, wire.ErrServerDeviceBusy) && !errors.Is(err, wire.ErrAcknowledge) || try == busyTries {
			return words, l.record(unit, err)
		}
		if err := clock.Sleep(ctx, busyPause); err != nil {
			return nil, err
		}
	}
}

// repeats reports whether a request is sent again at once: after a connection that was
// closed or a damaged response, and after silence of a unit that responded before.
// The failures of the unit are not consecutive then.
func (l *Line) repeats(unit uint8, err error) bool {
	if errors.Is(err, ErrPaused) || errors.Is(err, ErrUnreachable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := l.units[unit]; f != nil && f.count > 0 {
		return false
	}
	var e wire.Error
	if !errors.As(err, &e) {
		return true
	}
	switch e {
	case wire.ErrRequestTimedOut:
		return l.answered[unit]
	case wire.ErrBadCRC, wire.ErrShortFrame, wire.ErrProtocolError, wire.ErrBadUnitId, wire.ErrBadTransactionId, wire.ErrUnknownProtocolId:
		return true
	}
	return false
}

// attempt connects if necessary and sends one request.
func (l *Line) attempt(ctx context.Context, unit uint8, address uint16, count int, kind wire.RegType) ([]uint16, error) {
	if err := l.due(unit); err != nil {
		return nil, err
	}
	if err := l.connect(ctx); err != nil {
		return nil, err
	}
	if err := clock.Sleep(ctx, l.config.Pause-max(l.config.Now().Sub(l.last), 0)); err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.requests++
	l.mu.Unlock()
	if err := l.client.SetUnitId(unit); err != nil {
		return nil, err
	}
	words, err := l.client.ReadRegisters(address, uint16(count), kind)
	l.last = l.config.Now()
	if err == nil && len(words) != count {
		err = wire.ErrProtocolError
	}
	return words, err
}

// connect opens the connection, once the next attempt is due.
func (l *Line) connect(ctx context.Context) error {
	if l.client != nil {
		return nil
	}
	s, err := settings(l.config)
	if err != nil {
		return err
	}
	client, err := wire.NewClient(&s)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if err := client.Open(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	l.mu.Lock()
	l.opened++
	l.mu.Unlock()
	l.client, l.proven = client, false
	return clock.Sleep(ctx, l.config.Settle)
}

func (l *Line) disconnect() {
	if l.client != nil {
		_ = l.client.Close() // its error changes nothing
		l.client = nil
	}
}

// due returns ErrPaused if the connection or the unit failed and its next attempt is
// not due.
func (l *Line) due(unit uint8) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.config.Now()
	for _, f := range []*failures{&l.failures, l.units[unit]} {
		if f != nil && f.count > 0 && now.Before(f.until) && f.until.Sub(now) <= 2*maxPause {
			return &PausedError{Cause: f.err}
		}
	}
	return nil
}

// record converts the error of a read, counts it, and closes the connection if its
// next response might belong to this request.
func (l *Line) record(unit uint8, err error) error {
	var e wire.Error
	switch {
	case errors.Is(err, ErrPaused), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case err == nil:
		l.proven = true
		l.mu.Lock()
		defer l.mu.Unlock()
		l.failures, l.answered[unit] = failures{}, true
		delete(l.units, unit)
		return nil
	case errors.Is(err, ErrUnreachable):
		l.disconnect()
		l.count(&l.failures, err)
		return err
	case errors.As(err, &e):
		switch e {
		case wire.ErrIllegalFunction, wire.ErrIllegalDataAddress, wire.ErrIllegalDataValue:
			l.proven = true
			l.mu.Lock()
			defer l.mu.Unlock()
			l.failures = failures{}
			delete(l.units, unit) // the unit is there
			return fmt.Errorf("%w: %w", ErrRefused, err)
		case wire.ErrServerDeviceFailure, wire.ErrServerDeviceBusy, wire.ErrAcknowledge, wire.ErrGWPathUnavailable, wire.ErrGWTargetFailedToRespond, wire.ErrMemoryParityError:
			l.proven = true
			err = fmt.Errorf("%w: %w", ErrSilent, err)
		case wire.ErrRequestTimedOut:
			l.disconnect() // its response may still come
			err = fmt.Errorf("%w: %w", ErrSilent, err)
		default:
			l.disconnect()
			err = fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	default: // the connection was closed or reset
		proven := l.proven
		l.disconnect()
		err = fmt.Errorf("%w: %w", ErrUnreachable, err)
		if !proven {
			l.count(&l.failures, err)
			return err
		}
	}
	l.mu.Lock()
	f := l.units[unit]
	if f == nil {
		f = new(failures)
		l.units[unit] = f
	}
	l.mu.Unlock()
	l.count(f, err)
	return err
}

// pauses are those after consecutive failures; a single one is retried with the next
// read.
var pauses = []time.Duration{0, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, maxPause}

const maxPause = time.Minute

// count records a failure. The pause has a jitter of a fifth, so that the devices of
// a plant are not asked together after an outage.
func (l *Line) count(f *failures, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	pause := pauses[min(f.count, len(pauses)-1)]
	if pause > 0 {
		pause += time.Duration((rand.Float64() - 0.5) * 0.4 * float64(pause))
	}
	f.count, f.err, f.until = f.count+1, err, l.config.Now().Add(pause)
}

// Forget resets the failures of a unit, for a discovery that asks for it again.
func (l *Line) Forget(unit uint8) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.units, unit)
}
