package httpapi_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// sink is a ResponseWriter that keeps nothing but the status.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }

const plainBody = `{"asset_id":"INV-1000000054495190","site_id":"Sibaya","first_record":"2025-10-01T00:00:00Z","last_record":"2025-10-02T00:00:00Z"}`

// plainHandler is the least that net/http can do: a fixed JSON.
var plainHandler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, plainBody)
})

func benchWorld(b *testing.B) *world {
	w := newWorld(b, func(d *httpapiDeps) { d.KeyRate = 1 << 20; d.UserRate = 1 << 20 })
	w.measure(ownSite, ownAsset, "Africa/Johannesburg", time.Date(2025, 9, 30, 22, 0, 0, 0, time.UTC), 288)
	if err := w.partner.Make(b.Context(), ownSite, w.clock.now()); err != nil {
		b.Fatal(err)
	}
	return w
}

const (
	smallRead  = "/telemetry/latest?site_id=" + ownSite
	periodRead = "/telemetry/data-period?site_id=" + ownSite
	rollupRead = "/kpi-rollup?site_id=" + ownSite
	dayRead    = "/telemetry/inverter?asset_id=" + ownAsset + "&site_id=" + ownSite + "&start=2025-09-30T22:00:00Z&end=2025-10-01T22:00:00Z"
)

// BenchmarkHandler is the cost of the handlers alone.
func BenchmarkHandler(b *testing.B) {
	w := benchWorld(b)
	for _, c := range []struct{ name, url string }{{"period", periodRead}, {"latest", smallRead}, {"kpi_rollup", rollupRead}, {"day_of_288", dayRead}, {"refused_401", ""}, {"assets_list", api.PathAssets}} {
		b.Run(c.name, func(b *testing.B) {
			url, key, method, body := c.url, w.keys["own"], http.MethodGet, []byte(nil)
			if url == api.PathAssets {
				method, body = http.MethodPost, []byte(`{"action":"list","customer_id":"`+ownCustomer+`","site_id":"`+ownSite+`","limit":10}`)
			}
			if url == "" {
				url, key = periodRead, "bad"
			}
			b.ReportAllocs()
			n := 0
			q := httptest.NewRequest(method, url, nil)
			q.Header.Set("Authorization", "Bearer "+key)
			for b.Loop() {
				if body != nil {
					q.Body = io.NopCloser(bytes.NewReader(body))
				}
				if n++; n%1000 == 0 {
					w.clock.add(time.Second)
				}
				s := &sink{header: http.Header{}}
				w.handler.ServeHTTP(s, q)
				if s.status != 200 && key != "bad" {
					b.Fatal(s.status)
				}
			}
		})
	}
}

// BenchmarkLoopback is requests over loopback with kept-alive connections,
// client and server on the same cores; plain is the yardstick.
func BenchmarkLoopback(b *testing.B) {
	w := benchWorld(b)
	for _, c := range []struct {
		name, url string
		handler   http.Handler
	}{{"plain", periodRead, plainHandler}, {"period", periodRead, w.handler}, {"latest", smallRead, w.handler}, {"day_of_288", dayRead, w.handler}} {
		b.Run(c.name, func(b *testing.B) {
			s := httptest.NewServer(c.handler)
			defer s.Close()
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}
			defer client.CloseIdleConnections()
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					q, err := http.NewRequest(http.MethodGet, s.URL+c.url, nil)
					if err != nil {
						b.Error(err)
						return
					}
					q.Header.Set("Authorization", "Bearer "+w.keys["own"])
					r, err := client.Do(q)
					if err != nil {
						b.Error(err)
						return
					}
					_, err = io.Copy(io.Discard, r.Body)
					_ = r.Body.Close()
					if err != nil || r.StatusCode != http.StatusOK {
						b.Errorf("status %d, %v", r.StatusCode, err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
		})
	}
}
