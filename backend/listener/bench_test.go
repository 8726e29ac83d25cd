package listener

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// BenchmarkAmongHalfOpenHeaders sends requests as a normal client while other
// clients hold incomplete headers, and reports the 99th percentile of the
// latency, with a new TLS connection for each request.
func BenchmarkAmongHalfOpenHeaders(b *testing.B) {
	for _, silent := range []struct {
		name string
		n    int
	}{{"0", 0}, {"2000", 2000}} {
		b.Run(silent.name, func(b *testing.B) { amongHalfOpen(b, silent.n) })
	}
}

func amongHalfOpen(b *testing.B, n int) {
	own, err := SelfSigned(b.TempDir(), "", nil, nil, time.Now, nil)
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ls, err := Open(ctx, Config{
		Addresses: []Address{{Address: "127.0.0.1:0"}}, Handler: all(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "done") }),
		Certificates: own, Now: time.Now,
	})
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- ls.Serve(ctx) }()
	address := ls.Addresses()[0].Address
	cfg := &tls.Config{InsecureSkipVerify: true}

	// Each connects again when it is closed. The first time it leaves by itself,
	// so that they do not all come at once.
	var silent sync.WaitGroup
	ready := make(chan struct{}, n)
	for i := range n {
		silent.Go(func() {
			for first := true; ctx.Err() == nil; first = false {
				c, err := net.Dial("tcp", address)
				if err != nil {
					continue
				}
				if first {
					ready <- struct{}{}
					_ = c.SetReadDeadline(time.Now().Add(Limits{}.Defaults().Header * time.Duration(i) / time.Duration(n)))
				}
				cut := context.AfterFunc(ctx, func() { _ = c.Close() })
				_, _ = c.Write([]byte{22, 3, 1}) // of a handshake
				_, _ = io.Copy(io.Discard, c)
				cut()
				_ = c.Close()
			}
		})
	}
	for range n {
		<-ready
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: cfg, DisableKeepAlives: true}}
	var waits []time.Duration
	refused := 0 // connections that were closed to make room; the request is repeated, as clients do
	for b.Loop() {
		begin := time.Now()
		resp, err := client.Get("https://" + address)
		for ; err != nil; resp, err = client.Get("https://" + address) {
			if refused++; refused > 1000 {
				b.Fatal(err)
			}
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		waits = append(waits, time.Since(begin))
	}
	slices.Sort(waits)
	b.ReportMetric(float64(waits[len(waits)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(refused), "refused")
	stop()
	silent.Wait()
	if err := <-done; err != nil {
		b.Error(err)
	}
}
