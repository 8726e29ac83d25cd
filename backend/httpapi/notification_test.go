package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/notify"
)

// messages are what a service sent.
type messages struct {
	mu   sync.Mutex
	list []notify.Message
}

func (m *messages) Send(_ context.Context, _ notify.Target, one notify.Message) (notify.Receipt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list, one)
	return notify.Receipt{Detail: "taken"}, nil
}

func (m *messages) last() (one notify.Message, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n = len(m.list); n > 0 {
		one = m.list[n-1]
	}
	return one, n
}

const notificationConfig = `{"action":"apply","customer_id":"customer123","configuration":{"channels":[{"channel_id":"mail","kind":"email"}],
	"people":[{"person_id":"anna","name":"Anna <script>","addresses":[{"channel_id":"mail","address":"anna@example.com"}]}],"rotations":[],
	"routes":[{"route_id":"all","steps":[{"to":["person:anna"]}]}]}}`

// TestAcknowledgeByLink follows the link of a message as a phone and as programs do: to
// open it changes nothing, the form acknowledges once, and the trail says who.
func TestAcknowledgeByLink(t *testing.T) {
	w := newWorld(t, nil)
	if got := w.as("customer", http.MethodPost, api.PathNotifications, notificationConfig); got.Code != http.StatusOK {
		t.Fatalf("apply: %d %s", got.Code, got.Body)
	}
	w.judge(true)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.notifications.Run(ctx) }()
	defer func() { cancel(); <-done }()
	for n := 0; n == 0; _, n = w.messages.last() {
		time.Sleep(time.Millisecond)
	}
	m, _ := w.messages.last()
	if len(m.Actions) != 1 || !strings.HasPrefix(m.Actions[0].URL, "https://sunloop.example.com/acknowledge/ntd_") {
		t.Fatalf("actions %+v", m.Actions)
	}
	path := strings.TrimPrefix(m.Actions[0].URL, "https://sunloop.example.com")
	send := func(method, path, contentType, body string) *httptest.ResponseRecorder {
		t.Helper()
		q := httptest.NewRequest(method, path, strings.NewReader(body))
		if contentType != "" {
			q.Header.Set("Content-Type", contentType)
		}
		got := httptest.NewRecorder()
		w.handler.ServeHTTP(got, q)
		return got
	}
	state := func() string {
		t.Helper()
		list, _, _, err := w.domain.Alerts.Alerts(t.Context(), api.Unlimited("test"), api.ListQuery{}, "")
		if err != nil || len(list) != 1 {
			t.Fatalf("alerts %+v, %v", list, err)
		}
		return list[0].State
	}
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodGet} {
		got := send(method, path, "", "")
		if policy := got.Header().Get("Content-Security-Policy"); got.Code != http.StatusOK || !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") ||
			got.Header().Get("Referrer-Policy") != "no-referrer" || got.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v", method, got.Code, got.Header())
		}
		if method == http.MethodGet && (!strings.Contains(got.Body.String(), `<form method="post">`) || strings.Contains(got.Body.String(), "<b>now") || !strings.Contains(got.Body.String(), "viewport")) {
			t.Errorf("page %s", got.Body)
		}
	}
	if got := send(http.MethodPost, path, "application/json", `{}`); got.Code != http.StatusUnsupportedMediaType {
		t.Errorf("JSON: %d", got.Code)
	}
	if got := send(http.MethodPut, path, "", ""); got.Code != http.StatusMethodNotAllowed {
		t.Errorf("PUT: %d", got.Code)
	}
	if got := send(http.MethodPost, path, "application/x-www-form-urlencoded", "comment="+strings.Repeat("x", 2000)); got.Code != http.StatusBadRequest {
		t.Errorf("a long comment: %d", got.Code)
	}
	if got := send(http.MethodGet, path+"x", "", ""); got.Code != http.StatusNotFound || strings.Contains(got.Body.String(), "No power") {
		t.Errorf("another token: %d", got.Code)
	}
	if got := state(); got != api.AlertUnacknowledged {
		t.Fatalf("before the form was sent the alert is %s", got)
	}
	form := url.Values{"comment": {"fuse ordered"}}.Encode()
	if got := send(http.MethodPost, path, "application/x-www-form-urlencoded", form); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "Acknowledged by Anna &lt;script&gt;") {
		t.Errorf("form: %d %s", got.Code, got.Body)
	}
	if got := state(); got != api.AlertAcknowledged {
		t.Errorf("afterwards the alert is %s", got)
	}
	if got := send(http.MethodPost, path, "application/x-www-form-urlencoded", form); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "used before") {
		t.Errorf("again: %d %s", got.Code, got.Body)
	}
	var records []api.AuditRecord
	for _, r := range w.trail() {
		if r.Route == "acknowledge" {
			records = append(records, r)
		}
	}
	if len(records) != 2 || records[1].Actor != "Anna <script>" || records[1].SiteID == "" || records[1].TargetIDs["alert_id"] == "" {
		t.Errorf("trail %+v", records)
	}
	for _, r := range records {
		for _, id := range r.TargetIDs {
			if strings.Contains(path, "."+id) {
				t.Errorf("the trail has the token: %+v", r)
			}
		}
	}
}
