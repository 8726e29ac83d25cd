package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/httpapi"
)

// renew asks for a new token over the handler.
func (w *world) renew(token string) (status int, fresh string) {
	w.t.Helper()
	r := w.ask(http.MethodPost, api.PathRefresh, "", "Authorization", "Bearer "+token)
	var answer api.RefreshResponse
	if err := json.Unmarshal(r.Body.Bytes(), &answer); err != nil {
		w.t.Fatal(err)
	}
	return r.Code, answer.Token
}

// opens is the status of a read with the token.
func (w *world) opens(token string) int {
	w.t.Helper()
	return w.ask(http.MethodGet, "/telemetry/data-period?site_id="+ownSite, "", "Authorization", "Bearer "+token).Code
}

// TestReusedTokenEndsTheSession over the handler: a second renewal of a token
// ends what the first renewal gave, also after the token has expired.
func TestReusedTokenEndsTheSession(t *testing.T) {
	for _, c := range []struct {
		name  string
		later time.Duration
		again func(old string) string // the credential that is renewed again
		ends  bool
	}{
		{"at once", 0, func(old string) string { return old }, true},
		{"when the answer is no longer remembered", time.Minute, func(old string) string { return old }, true},
		{"after its end", 25 * time.Hour, func(old string) string { return old }, true},
		{"with a changed signature", 0, func(old string) string { return old[:len(old)-8] + "AAAAAAAA" }, false},
		{"with nonsense", 0, func(string) string { return "a.b.c" }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, nil)
			old := w.user("ana", api.RoleAnalyst, ownCustomer)
			w.clock.add(time.Second)
			status, second := w.renew(old)
			if status != http.StatusOK || w.opens(second) != http.StatusOK {
				t.Fatalf("the first renewal: HTTP %d", status)
			}
			if c.later > 12*time.Hour { // the thief renews in time
				w.clock.add(c.later / 2)
				if status, second = w.renew(second); status != http.StatusOK {
					t.Fatalf("the second renewal: HTTP %d", status)
				}
				w.clock.add(c.later / 2)
			} else {
				w.clock.add(c.later)
			}
			if w.opens(old) != http.StatusUnauthorized || w.opens(second) != http.StatusOK {
				t.Error("a read with the old token must be refused and must end nothing")
			}
			if status, fresh := w.renew(c.again(old)); status != http.StatusUnauthorized || fresh != "" {
				t.Errorf("the reuse: HTTP %d %q", status, fresh)
			}
			if got := w.opens(second); (got == http.StatusUnauthorized) != c.ends {
				t.Errorf("after the reuse the renewed token gets HTTP %d", got)
			}
		})
	}
}

// TestGuessesFromManyNetworks over the handler, behind a trusted proxy: guesses
// on one account are slowed for the account as a whole, and its owner still
// signs in from a network where it did before.
func TestGuessesFromManyNetworks(t *testing.T) {
	w := newWorld(t, func(d *httpapi.Deps) { d.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")} })
	if _, err := w.auth.CreateUser(t.Context(), auth.NewUser{Username: "owner", Password: password, Role: api.RoleAdmin}); err != nil {
		t.Fatal(err)
	}
	login := func(password, from string) *httptest.ResponseRecorder {
		return w.ask(http.MethodPost, api.PathLogin, `{"username":"owner","password":"`+password+`"}`, "X-Forwarded-For", from)
	}
	if r := login(password, "203.0.113.5"); r.Code != http.StatusOK {
		t.Fatalf("the first sign-in: HTTP %d %s", r.Code, r.Body)
	}
	statuses := map[int]int{}
	for i := range 150 {
		r := login("wrong", fmt.Sprintf("198.18.%d.9", i))
		if statuses[r.Code]++; r.Code == http.StatusTooManyRequests && r.Header().Get("Retry-After") == "" {
			t.Error("a refusal without Retry-After")
		}
	}
	if statuses[http.StatusUnauthorized] != 20 || statuses[http.StatusTooManyRequests] != 130 {
		t.Errorf("150 guesses from 150 networks: %v", statuses)
	}
	if r := login(password, "203.0.113.250"); r.Code != http.StatusOK {
		t.Errorf("the owner from a known network: HTTP %d %s", r.Code, r.Body)
	}
	if r := login(password, "198.51.100.1"); r.Code != http.StatusTooManyRequests {
		t.Errorf("the owner from a new network: HTTP %d %s", r.Code, r.Body)
	}
}
