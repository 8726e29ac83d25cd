package httpapi_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkLoad is requests per second over loopback from 64 connections that
// are kept alive, and how long the slowest of a hundred waits. The caller does
// the least that a caller can, so that what is measured is the service; they
// share the cores. plain is the yardstick: a fixed JSON by net/http alone.
func BenchmarkLoad(b *testing.B) {
	w := benchWorld(b)
	for _, c := range []struct {
		name    string
		urls    []string
		handler http.Handler
	}{
		{"plain", []string{periodRead}, plainHandler},
		{"small", []string{periodRead}, w.handler},
		{"day_of_288", []string{dayRead}, w.handler},
		{"mixed", []string{periodRead, smallRead, periodRead, smallRead, dayRead}, w.handler},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := httptest.NewServer(c.handler)
			defer s.Close()
			var requests [][]byte
			for _, url := range c.urls {
				requests = append(requests, fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: sunloop\r\nAuthorization: Bearer %s\r\n\r\n", url, w.keys["own"]))
			}
			took := driveLoad(b, s.Listener.Addr().String(), requests)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

// loadConnections are open at a time.
const loadConnections = 64

// driveLoad sends b.N requests in turn and answers how long each took, ascending.
func driveLoad(b *testing.B, address string, requests [][]byte) []time.Duration {
	took := make([]time.Duration, b.N)
	var next atomic.Int64
	var g sync.WaitGroup
	b.ResetTimer()
	for range loadConnections {
		g.Go(func() {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			r := bufio.NewReaderSize(conn, 64<<10)
			for {
				i := int(next.Add(1)) - 1
				if i >= b.N {
					return
				}
				start := time.Now()
				if _, err = conn.Write(requests[i%len(requests)]); err == nil {
					err = skipAnswer(r)
				}
				if err != nil {
					b.Error(err)
					return
				}
				took[i] = time.Since(start)
			}
		})
	}
	g.Wait()
	b.StopTimer()
	slices.Sort(took)
	return took
}

// skipAnswer reads an answer of status 200 that says its length.
func skipAnswer(r *bufio.Reader) error {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")) {
		return fmt.Errorf("answered %q", line)
	}
	length := -1
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			break
		}
		if name, value, ok := bytes.Cut(line, []byte(": ")); ok && textproto.CanonicalMIMEHeaderKey(string(name)) == "Content-Length" {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return err
			}
		}
	}
	if length < 0 {
		return fmt.Errorf("an answer without its length")
	}
	_, err = io.CopyN(io.Discard, r, int64(length))
	return err
}
