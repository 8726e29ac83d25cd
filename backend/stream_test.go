package backend

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/listener"
)

// serveAt serves the service at a listener until the function is called, which returns the
// error of the listener.
func serveAt(t *testing.T, h *instance) (url string, end func() error) {
	t.Helper()
	addresses, err := listener.ParseAddresses("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	l, err := listener.Open(ctx, listener.Config{Addresses: addresses, Now: time.Now, Log: slog.New(slog.DiscardHandler), Ending: h.service.EndReadiness,
		Handler: func(hosts []api.Host) http.Handler { return h.service.HandlerAt("", hosts...) }})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx) }()
	return "http://" + l.Addresses()[0].Address, func() error {
		cancel()
		return <-ended
	}
}

// followOrders opens a stream of orders, which calls seen with each event and returns the
// error of the end.
func followOrders(t *testing.T, url, key, query, last string, seen func(id, order string)) (end func() error) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+api.PathStream+"?kinds=order"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("X-Api-Key", key)
	if last != "" {
		q.Header.Set(api.HeaderLastEventID, last)
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	if a.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(a.Body)
		t.Fatalf("HTTP %d %s", a.StatusCode, b)
	}
	ended := make(chan error, 1)
	go func() {
		defer a.Body.Close()
		lines := bufio.NewScanner(a.Body)
		id := ""
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				id = value
			case "data":
				var e api.StreamEvent
				if err := json.Unmarshal([]byte(value), &e); err != nil {
					ended <- err
					return
				}
				seen(id, e.ID)
			}
		}
		ended <- lines.Err()
	}()
	return func() error { return <-ended }
}

// TestStreamsEndAtShutdown: open streams end without an error when the service ends, which
// does not wait for them, and one that continues after the restart has all that was changed
// meanwhile.
func TestStreamsEndAtShutdown(t *testing.T) {
	h := open(t, Config{DataDir: t.TempDir(), Now: time.Now})
	worksite(t, h)
	url, endServing := serveAt(t, h)
	var mu sync.Mutex
	last, seen := "", map[string]bool{}
	first := make(chan bool, 1)
	note := func(id, order string) {
		mu.Lock()
		defer mu.Unlock()
		last, seen[order] = id, true
		select {
		case first <- true:
		default:
		}
	}
	ends := []func() error{followOrders(t, url, h.key, "", "", note), followOrders(t, url, h.key, "", "", func(string, string) {})}

	made := []string{workOrder(t, h)}
	<-first
	// One is made just before the service ends, one after the streams have ended, and one after the restart.
	made = append(made, workOrder(t, h))
	if err := endServing(); err != nil {
		t.Errorf("the listener ended with %v", err)
	}
	for _, end := range ends {
		if err := end(); err != nil {
			t.Errorf("a stream ended with %v", err)
		}
	}
	made = append(made, workOrder(t, h))
	h.down()
	h.up()
	h.connect()
	made = append(made, workOrder(t, h))

	url, endServing = serveAt(t, h)
	mu.Lock()
	from := last
	mu.Unlock()
	again := followOrders(t, url, h.key, "&follow=false", from, note)
	if err := again(); err != nil {
		t.Errorf("the stream that continues: %v", err)
	}
	if err := endServing(); err != nil {
		t.Errorf("the listener ended with %v", err)
	}
	for i, id := range made {
		if !seen[id] {
			t.Errorf("order %d of %d is in no event", i+1, len(made))
		}
	}
}
