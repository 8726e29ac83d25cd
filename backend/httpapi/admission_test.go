package httpapi_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/admission"
	"app.sunloop/backend/api"
)

// TestConnectionIsAuthenticated: a connection counts as authenticated after a
// request whose credential was accepted, whatever the answer, and after a
// sign-in.
func TestConnectionIsAuthenticated(t *testing.T) {
	w := newWorld(t, nil)
	token := w.user("ana", api.RoleOperator, ownCustomer)
	for name, c := range map[string]struct {
		method, path, body, credential string
		want                           bool
	}{
		"health":                {http.MethodGet, api.PathHealth, "", "", false},
		"health with a key":     {http.MethodGet, api.PathHealth, "", w.keys["own"], false},
		"no credential":         {http.MethodPost, api.PathSites, `{"action":"list"}`, "", false},
		"an unknown credential": {http.MethodPost, api.PathSites, `{"action":"list"}`, "opa_prod_x", false},
		"a key":                 {http.MethodPost, api.PathSites, `{"action":"list"}`, w.keys["own"], true},
		"a token":               {http.MethodPost, api.PathSites, `{"action":"list"}`, token, true},
		"a broken body":         {http.MethodPost, api.PathSites, `{`, w.keys["own"], true},
		"a wrong password":      {http.MethodPost, api.PathLogin, `{"username":"ana","password":"wrong wrong wrong"}`, "", false},
		"a password":            {http.MethodPost, api.PathLogin, `{"username":"ana","password":"` + password + `"}`, "", true},
	} {
		table := admission.New(admission.Limits{Connections: 1}, nil, time.Now)
		conn := table.Admit(&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1}, func() {})
		q := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		q.Header.Set("Content-Type", "application/json")
		if c.credential != "" {
			q.Header.Set("Authorization", "Bearer "+c.credential)
		}
		r := httptest.NewRecorder()
		end := conn.Begin(false)
		w.handler.ServeHTTP(r, q.WithContext(conn.With(q.Context())))
		end()
		conn.SetIdle()
		if got := table.Stats().Idle == 1; got != c.want {
			t.Errorf("%s: HTTP %d, authenticated %t", name, r.Code, got)
		}
	}
}
