package drop

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Bounds of a connection.
const (
	dialTimeout = 20 * time.Second
	idleTimeout = 2 * time.Minute
	listBudget  = 64 << 20 // bytes that a server may send to list its files, or in addition to a file
)

// meter is a connection that ends when nothing comes for a time, or when the server sends
// more than it is asked for.
type meter struct {
	net.Conn
	left atomic.Int64 // bytes that may come
}

var errTooMuch = errors.New("the server sends more than it was asked for")

func (m *meter) Read(b []byte) (int, error) {
	if m.left.Load() <= 0 {
		_ = m.Close()
		return 0, errTooMuch
	}
	if err := m.SetReadDeadline(time.Now().Add(idleTimeout)); err != nil {
		return 0, err
	}
	n, err := m.Conn.Read(b)
	m.left.Add(-int64(n))
	return n, err
}

func (m *meter) Write(b []byte) (int, error) {
	if err := m.SetWriteDeadline(time.Now().Add(idleTimeout)); err != nil {
		return 0, err
	}
	return m.Conn.Write(b)
}

// allow says how many bytes may come from now on, in addition to what is needed around them.
func (m *meter) allow(bytes int64) { m.left.Store(listBudget + 2*bytes) }

// checkAddress checks host:port.
func checkAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if n, bad := strconv.Atoi(port); err != nil || bad != nil || host == "" || n < 1 || n > 65535 || strings.ContainsAny(host, "/@ ") {
		return fmt.Errorf("address %q: must be a host and a port, such as example.com:22", address)
	}
	return nil
}

// maxSecret is the size of a file with a password or a key.
const maxSecret = 64 << 10

// readSecret reads a password, which is the first line of a file.
func readSecret(key, path string) (string, error) {
	b, err := readSmall(key, path)
	if err != nil {
		return "", err
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	if line = bytes.TrimRight(line, "\r"); len(line) == 0 {
		return "", fmt.Errorf("%s: the first line of %s is empty", key, path)
	}
	return string(line), nil
}

// readSmall reads a file that a key of the sources file names.
func readSmall(key, path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", key, err)
	case !info.Mode().IsRegular() || info.Size() > maxSecret:
		return nil, fmt.Errorf("%s: %s is not a small file", key, path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return b, nil
}

// withoutSecret removes a secret from an error of a library or a server.
func withoutSecret(err error, secret string) error {
	if err == nil || secret == "" || !strings.Contains(err.Error(), secret) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), secret, "(password)"))
}
