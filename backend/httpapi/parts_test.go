package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
)

// largeUnits adds n units with as many and as long components as may be, of more
// than 150 kB each.
func (w *world) largeUnits(n int) {
	w.t.Helper()
	long := strings.Repeat("x", 180)
	var parts strings.Builder
	for i := range 200 {
		fmt.Fprintf(&parts, `,{"oem":%q,"model":%q,"kind":%q,"serial":"%s%d"}`, long, long, long, long, i)
	}
	for i := range n {
		body := fmt.Sprintf(`{"action":"add","customer_id":%q,"site_id":%q,"asset_id":"LARGE-%03d","name":"n","type":"t","capacity_kw":1,"location":"l","components":[%s]}`,
			ownCustomer, ownSite, i, parts.String()[1:])
		if a := w.as("customer", http.MethodPost, "/terminal/assets", body); a.Code != http.StatusOK && a.Code != http.StatusCreated {
			w.t.Fatalf("unit %d: HTTP %d %.300s", i, a.Code, a.Body)
		}
	}
}

// TestPartsOfLargeRecords cuts a list by bytes: each part is bounded, and the
// cursors lead to every record once.
func TestPartsOfLargeRecords(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	w.largeUnits(36)
	seen, parts, cursor := map[string]int{}, 0, ""
	for parts == 0 || cursor != "" {
		a := w.as("customer", http.MethodPost, "/terminal/assets", fmt.Sprintf(`{"action":"list","site_id":%q,"limit":1000,"cursor":%q}`, ownSite, cursor))
		if a.Code != http.StatusOK || a.Body.Len() > 5<<20 {
			t.Fatalf("part %d: HTTP %d with %d bytes, want at most 5 MiB", parts, a.Code, a.Body.Len())
		}
		var list api.AssetsResponse
		if err := json.Unmarshal(a.Body.Bytes(), &list); err != nil {
			t.Fatal(err)
		}
		if list.Count == 0 || list.Count != len(list.Assets) {
			t.Fatalf("part %d has %d units, and says %d", parts, len(list.Assets), list.Count)
		}
		for _, unit := range list.Assets {
			seen[unit.AssetID]++
		}
		cursor = list.NextCursor
		parts++
	}
	if parts < 2 || len(seen) != 37 {
		t.Errorf("%d parts with %d units, want several with 37", parts, len(seen))
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s is listed %d times", id, n)
		}
	}
}

// stuck is a client that does not read its answer until it is let.
type stuck struct {
	*httptest.ResponseRecorder
	begun *sync.WaitGroup
	once  sync.Once
	let   chan struct{}
}

func (s *stuck) Write(p []byte) (int, error) {
	s.once.Do(func() {
		s.begun.Done()
		<-s.let
	})
	return s.ResponseRecorder.Write(p)
}

// TestAnswersInFlight refuses a large list with 503 while others take the memory
// that is set aside for answers, and answers small requests.
func TestAnswersInFlight(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	w.largeUnits(30)
	list := fmt.Sprintf(`{"action":"list","site_id":%q,"limit":1000}`, ownSite)
	let := make(chan struct{})
	var begun, ended sync.WaitGroup
	codes := make(chan int, 24)
	keys := []string{w.keys["customer"]}
	for i := range 7 {
		keys = append(keys, w.key(fmt.Sprint("reader ", i), auth.NewKey{Customers: []string{ownCustomer}}))
	}
	for i := range 24 {
		begun.Add(1)
		ended.Add(1)
		go func() {
			defer ended.Done()
			q := httptest.NewRequest(http.MethodPost, "/terminal/assets", strings.NewReader(list))
			q.Header.Set("Authorization", "Bearer "+keys[i%len(keys)])
			s := &stuck{ResponseRecorder: httptest.NewRecorder(), begun: &begun, let: let}
			w.handler.ServeHTTP(s, q)
			codes <- s.Code
		}()
	}
	begun.Wait() // all have their answer and none has read it
	a := w.as("own", http.MethodPost, "/terminal/assets", list)
	if a.Code != http.StatusServiceUnavailable || a.Header().Get("Retry-After") == "" || !strings.Contains(a.Body.String(), "the responses being sent") {
		t.Errorf("a large list: HTTP %d %v %.300s", a.Code, a.Header(), a.Body)
	}
	if a := w.as("own", http.MethodPost, "/terminal/sites", `{"action":"list"}`); a.Code != http.StatusOK {
		t.Errorf("a small list: HTTP %d %.300s", a.Code, a.Body)
	}
	close(let)
	ended.Wait()
	close(codes)
	count := map[int]int{}
	for code := range codes {
		count[code]++
	}
	if count[http.StatusOK] == 0 || count[http.StatusOK] > 16 || count[http.StatusOK]+count[http.StatusServiceUnavailable] != 24 {
		t.Errorf("the answers were %v, want at most 16 with 200 and the others with 503", count)
	}
	if a := w.as("own", http.MethodPost, "/terminal/assets", list); a.Code != http.StatusOK {
		t.Errorf("a large list afterwards: HTTP %d %.300s", a.Code, a.Body)
	}
}

// TestAnswersOfOneCaller refuses a large list of a key whose other answers take the
// part of the memory that a caller may have, and answers another key.
func TestAnswersOfOneCaller(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	w.largeUnits(30)
	list := fmt.Sprintf(`{"action":"list","site_id":%q,"limit":1000}`, ownSite)
	let := make(chan struct{})
	var begun, ended sync.WaitGroup
	for range 8 {
		begun.Add(1)
		ended.Go(func() {
			q := httptest.NewRequest(http.MethodPost, "/terminal/assets", strings.NewReader(list))
			q.Header.Set("Authorization", "Bearer "+w.keys["customer"])
			w.handler.ServeHTTP(&stuck{ResponseRecorder: httptest.NewRecorder(), begun: &begun, let: let}, q)
		})
	}
	begun.Wait()
	for name, want := range map[string]int{"customer": http.StatusServiceUnavailable, "own": http.StatusOK} {
		if a := w.as(name, http.MethodPost, "/terminal/assets", list); a.Code != want {
			t.Errorf("a large list of key %s: HTTP %d %.200s, want %d", name, a.Code, a.Body, want)
		}
		if a := w.as(name, http.MethodPost, "/terminal/sites", `{"action":"list"}`); a.Code != http.StatusOK {
			t.Errorf("a small list of key %s: HTTP %d %.200s", name, a.Code, a.Body)
		}
	}
	close(let)
	ended.Wait()
	if a := w.as("customer", http.MethodPost, "/terminal/assets", list); a.Code != http.StatusOK {
		t.Errorf("a large list afterwards: HTTP %d %.200s", a.Code, a.Body)
	}
}
