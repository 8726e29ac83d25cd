package httpapi_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/httpapi"
	"app.sunloop/backend/store"
	"app.sunloop/backend/stream"
	"app.sunloop/engine/series"
)

// event is an event of a stream as a client reads it.
type event struct {
	id, kind string
	data     api.StreamEvent
}

// reader reads a stream of events.
type reader struct {
	t     testing.TB
	lines *bufio.Scanner
	body  io.Closer
}

// next returns the next event that is no heartbeat; ok is false at the end, and after 500
// heartbeats.
func (r *reader) next() (e event, ok bool) {
	for beats := 0; beats < 500 && r.lines.Scan(); {
		name, value, _ := strings.Cut(r.lines.Text(), ": ")
		if strings.HasPrefix(name, ":") {
			beats++
		}
		switch name {
		case "id":
			e.id = value
		case "event":
			e.kind = value
		case "data":
			if err := json.Unmarshal([]byte(value), &e.data); err != nil {
				r.t.Fatalf("data %s: %v", value, err)
			}
		case "":
			if e.kind != "" {
				return e, true
			}
		}
	}
	return e, false
}

// must returns the next event.
func (r *reader) must() event {
	r.t.Helper()
	e, ok := r.next()
	if !ok {
		r.t.Fatalf("the stream ended: %v", r.lines.Err())
	}
	return e
}

// open opens a stream at a real listener.
func open(t testing.TB, s *httptest.Server, key, query, last string) *reader {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+api.PathStream+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("X-Api-Key", key)
	q.Header.Set("Accept-Encoding", "gzip") // which a stream does not use
	if last != "" {
		q.Header.Set(api.HeaderLastEventID, last)
	}
	a, err := s.Client().Do(q)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Body.Close() })
	if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != api.MediaEvents || a.Header.Get("Content-Encoding") != "" {
		b, _ := io.ReadAll(a.Body)
		t.Fatalf("HTTP %d %v %s", a.StatusCode, a.Header, b)
	}
	return &reader{t, bufio.NewScanner(a.Body), a.Body}
}

// served is a world at a listener, with TLS and HTTP/2.
func served(t testing.TB, w *world) *httptest.Server {
	s := httptest.NewUnstartedServer(w.handler)
	s.EnableHTTP2 = true
	s.StartTLS()
	s.Client().Transport.(*http.Transport).TLSClientConfig.MinVersion = tls.VersionTLS13
	t.Cleanup(func() {
		w.hub.End()
		s.Close()
	})
	return s
}

// tell passes what has changed.
func (w *world) tell() {
	w.t.Helper()
	if err := w.changes.Flush(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	if err := w.hub.Poll(context.Background()); err != nil {
		w.t.Fatal(err)
	}
}

// measureLive appends a sample of a unit through the service's telemetry.
func (w *world) measureLive(site, asset string, power float64) {
	w.t.Helper()
	f := every5(w.clock.now(), power)
	if err := w.changes.Append(context.Background(), store.SiteKey{ID: site, Zone: time.UTC}, []store.AssetFrame{{AssetID: asset, Frame: f}}); err != nil {
		w.t.Fatal(err)
	}
}

// A stream has the events of each kind of the sites that the caller may see, over TLS and
// HTTP/2.
func TestStream(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	s := served(t, w)
	mine, all := open(t, s, w.keys["own"], "", ""), open(t, s, w.keys["admin"], "?kinds=telemetry", "")
	w.measureLive(foreignSite, foreignAsset, 7)
	w.measureLive(ownSite, ownAsset, 12.5)
	w.tell()
	e := mine.must()
	if e.kind != api.StreamTelemetry || e.data.SiteID != ownSite || e.data.CustomerID != ownCustomer || len(e.data.Units) != 1 || *e.data.Units[0].Power != 12.5 || e.data.Units[0].Timestamp != api.At(w.clock.now()) {
		t.Errorf("telemetry: %+v", e)
	}
	if one, two := all.must(), all.must(); one.data.SiteID == two.data.SiteID {
		t.Errorf("the administrator gets %+v and %+v", one, two)
	}
	w.judge(true) // a finding with its alert
	w.tell()
	got := map[string]api.StreamEvent{}
	for range 2 {
		e := mine.must()
		got[e.kind] = e.data
	}
	if a := got[api.StreamAlert]; a.ID == "" || a.Status != api.AlertUnacknowledged || a.AssetID != ownAsset {
		t.Errorf("alert: %+v", a)
	}
	if f := got[api.StreamFinding]; f.ID == "" || f.Status != api.StreamOpen {
		t.Errorf("finding: %+v", f)
	}
	body, _, _ := w.planned()
	order := mustPost[api.OrderResponse](w, api.PathOrder, body).Order
	w.tell()
	if e := mine.must(); e.kind != api.StreamOrder || e.data.ID != order.OrderID || e.data.Status != order.Status {
		t.Errorf("order: %+v", e)
	}
	err := w.changes.Update(t.Context(), func(tx store.Tx) error {
		return w.domain.Forecasts.Add(tx, forecast.Forecast{ForecastID: "fc_1", CustomerID: ownCustomer, SiteID: ownSite, IssuedAt: w.clock.now()}, time.UTC)
	})
	if err != nil {
		t.Fatal(err)
	}
	w.tell()
	if e := mine.must(); e.kind != api.StreamForecast || e.data.SiteID != ownSite {
		t.Errorf("forecast: %+v", e)
	}
	for query, status := range map[string]int{"?site_id=" + foreignSite: 403, "?customer_id=" + foreignCustomer: 403, "?site_id=Nowhere": 403, "?kinds=weather": 400, "?site_id=a,,b": 400} {
		if r := w.as("customer", http.MethodGet, api.PathStream+query, ""); r.Code != status {
			t.Errorf("%s: HTTP %d %s", query, r.Code, r.Body)
		}
	}
}

// every5 is one sample.
func every5(at time.Time, power float64) (f series.Frame) {
	f.Times = []int64{at.Unix()}
	f.Set(series.PowerKW, []float64{power})
	return f
}

// A stream continues after the last event that its reader has: over another process of the
// same store too. An id that is too old, or none, is answered by "reload".
func TestStreamResumes(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	s := served(t, w)
	first := open(t, s, w.keys["own"], "", "")
	w.measureLive(ownSite, ownAsset, 1)
	w.tell()
	last := first.must().id
	_ = first.body.Close()

	w.clock.add(40 * time.Minute)
	w.measureLive(ownSite, ownAsset, 2)
	w.measureLive(foreignSite, foreignAsset, 2)
	if err := w.changes.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.judge(true)

	// Another process over the same store, which has read nothing yet.
	other := stream.Watch(w.store, w.store, w.clock.now, nil, slog.New(slog.DiscardHandler))
	hub := stream.NewHub(other, slog.New(slog.DiscardHandler))
	deps := w.deps
	deps.Streams = hub
	replica := &world{t: t, handler: httpapi.New(deps), hub: hub, keys: w.keys}
	r := open(t, served(t, replica), w.keys["own"], "", last)
	kinds := map[string]bool{}
	for range 3 {
		e := r.must()
		kinds[e.kind] = true
		if e.kind == api.StreamTelemetry && *e.data.Units[0].Power != 2 || e.data.SiteID != ownSite {
			t.Errorf("%+v", e)
		}
	}
	if len(kinds) != 3 {
		t.Errorf("kinds %v", kinds)
	}
	w.clock.add(time.Second)
	w.measureLive(ownSite, ownAsset, 3)
	if err := w.changes.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := hub.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	for e := r.must(); e.kind != api.StreamTelemetry || *e.data.Units[0].Power != 3; e = r.must() {
		if e.data.SiteID != ownSite {
			t.Fatalf("%+v", e)
		}
	}

	w.clock.add(2 * stream.Keep)
	for _, id := range []string{last, "yesterday", "-5", "99999999999999999999", "9999999999999"} {
		body := w.as("own", http.MethodGet, api.PathStream+"?follow=false", "", api.HeaderLastEventID, id).Body.String()
		if !strings.Contains(body, "event: reload\n") || strings.Count(body, "event: ") != 1 {
			t.Errorf("%s: %s", id, body)
		}
	}
	if err := w.changes.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, table := range stream.Tables() {
		n := 0
		_ = w.store.View(t.Context(), func(tx store.Tx) error {
			n = table.Check(tx, func(err error) { t.Error(err) })
			return nil
		})
		if n != 0 {
			t.Errorf("%d changes are kept for good", n)
		}
	}
}

// A stream ends when its key is not valid any more, and when the service ends.
func TestStreamEnds(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate, d.Heartbeat = 1000, 5*time.Millisecond })
	s := served(t, w)
	key := w.key("leaving", auth.NewKey{Sites: []string{ownSite}, ExpiresAt: w.clock.now().Add(time.Minute)})
	r, stays := open(t, s, key, "", ""), open(t, s, w.keys["own"], "", "")
	w.clock.add(2 * time.Minute)
	if e := r.must(); e.kind != api.StreamEnd {
		t.Errorf("%+v", e)
	}
	if e, more := r.next(); more {
		t.Errorf("after the end: %+v", e)
	}
	w.measureLive(ownSite, ownAsset, 4)
	w.tell()
	if e := stays.must(); e.kind != api.StreamTelemetry {
		t.Errorf("%+v", e)
	}
	w.hub.End()
	if e, more := stays.next(); more {
		t.Errorf("after the service ended: %+v", e)
	}
}

// A caller has a number of streams, and a place is free again when one ends.
func TestStreamBudget(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	s := served(t, w)
	var streams []*reader
	for range api.MaxCallStreams {
		streams = append(streams, open(t, s, w.keys["own"], "", ""))
	}
	attempt := func() (status int, wait string) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		q := httptest.NewRequest(http.MethodGet, api.PathStream, nil).WithContext(ctx)
		q.Header.Set("X-Api-Key", w.keys["own"])
		c := &streamSink{sink: sink{header: http.Header{}}, first: cancel}
		w.handler.ServeHTTP(c, q)
		return c.status, c.header.Get("Retry-After")
	}
	if status, wait := attempt(); status != http.StatusTooManyRequests || wait == "" {
		t.Errorf("one more: HTTP %d, Retry-After %q", status, wait)
	}
	open(t, s, w.keys["customer"], "", "") // another caller has its own
	_ = streams[0].body.Close()
	for status := http.StatusTooManyRequests; status == http.StatusTooManyRequests; status, _ = attempt() {
		w.clock.add(time.Second)
	}
}

// streamSink is a client of a stream that counts its events.
type streamSink struct {
	sink
	first  func()
	events atomic.Int64
	done   func()
}

func (s *streamSink) Write(p []byte) (int, error) {
	if s.first != nil {
		s.first()
	}
	if s.done != nil && strings.Contains(string(p), "event: ") {
		s.events.Add(1)
		s.done()
	}
	return len(p), nil
}

func (s *streamSink) Flush() {}

// A reader that falls behind loses events, is sent a reload, and takes no more memory than its queue.
func TestSlowReaderReloads(t *testing.T) {
	w := newWorld(t, nil)
	f, leave := w.hub.Follow(func(*stream.Event) bool { return true })
	defer leave()
	for range 3 {
		err := w.changes.Update(t.Context(), func(tx store.Tx) error {
			for i := range 700 {
				if err := tx.Put("alerts", store.Key(ownSite, fmt.Sprint(i)), fmt.Appendf(nil, `{"site_id":"Sibaya","customer_id":"customer123","alert_id":"a%d"}`, i)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		w.clock.add(time.Second)
		w.tell()
	}
	if n := len(f.C); n != cap(f.C) || !f.Lost() || f.Lost() {
		t.Errorf("%d of %d events wait, and the loss is not reported once", n, cap(f.C))
	}
}

// TestManyChangesOfOneTime asserts that a change is passed although the transaction that
// wrote it has more changes before it than are read at a time.
func TestManyChangesOfOneTime(t *testing.T) {
	w := newWorld(t, nil)
	f, leave := w.hub.Follow(func(e *stream.Event) bool { return e.Kind == api.StreamOrder })
	defer leave()
	err := w.changes.Update(t.Context(), func(tx store.Tx) error {
		for i := range 2500 {
			if err := tx.Put("alerts", store.Key(ownSite, fmt.Sprint(i)), fmt.Appendf(nil, `{"site_id":"Sibaya","customer_id":"customer123","alert_id":"a%d"}`, i)); err != nil {
				return err
			}
		}
		return tx.Put("orders", store.Key("o1"), []byte(`{"site_id":"Sibaya","customer_id":"customer123","order_id":"o1"}`))
	})
	if err != nil {
		t.Fatal(err)
	}
	w.tell()
	if n := len(f.C); n != 1 || f.Lost() {
		t.Errorf("%d orders were passed of 1", n)
	}
}

// BenchmarkStream passes an event to 1,000 clients of the handler.
func BenchmarkStream(b *testing.B) {
	w := newWorld(b, func(d *httpapiDeps) { d.KeyRate = 1 << 20 })
	const clients = 1000
	var got sync.WaitGroup
	var started, ended sync.WaitGroup
	ctx, cancel := context.WithCancel(b.Context())
	for i := range clients {
		if i%api.MaxCallStreams == 0 {
			w.key(fmt.Sprint("client", i/api.MaxCallStreams), auth.NewKey{Sites: []string{ownSite}})
		}
		q := httptest.NewRequest(http.MethodGet, api.PathStream, nil).WithContext(ctx)
		q.Header.Set("X-Api-Key", w.keys[fmt.Sprint("client", i/api.MaxCallStreams)])
		started.Add(1)
		once := sync.OnceFunc(started.Done)
		ended.Go(func() {
			w.handler.ServeHTTP(&streamSink{sink: sink{header: http.Header{}}, first: once, done: got.Done}, q)
		})
	}
	started.Wait()
	b.ResetTimer()
	for b.Loop() {
		got.Add(clients)
		w.measureLive(ownSite, ownAsset, 4)
		w.clock.add(time.Second)
		w.tell()
		got.Wait()
	}
	cancel()
	ended.Wait()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/clients, "ns/client")
}
