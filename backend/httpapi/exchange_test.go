package httpapi_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/httpapi"
	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
)

// TestExchange: each thing that may be wrong with a provider's token has its
// status and words, and a good one opens what its user may see.
func TestExchange(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var issuer *httptest.Server
	issuer = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/keys" {
			_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: public, KeyID: "k", Algorithm: "EdDSA", Use: "sig"}}})
			return
		}
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, issuer.URL, issuer.URL+"/keys")
	}))
	defer issuer.Close()
	silent := httptest.NewServer(http.NotFoundHandler())
	silent.Close()
	w := newWorld(t, nil)
	deps := w.deps
	deps.Auth, err = auth.New(context.Background(), auth.Options{Records: w.store, Key: auth.Key{1}, Now: w.clock.now, RequireMFA: true, Argon: &cheap, Providers: []auth.Provider{
		{Name: "company", Issuer: issuer.URL, ClientID: "console"}, {Name: "silent", Issuer: silent.URL, ClientID: "console"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.handler = httpapi.New(deps)
	for name, active := range map[string]bool{"ana": true, "ben": false} {
		if _, err := deps.Auth.CreateUser(context.Background(), auth.NewUser{Username: name, Password: password, Role: api.RoleAnalyst, Customers: []string{ownCustomer}}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := deps.Auth.As(api.Unlimited("")).ChangeUser(context.Background(), auth.UserRef{Username: name}, auth.UserChange{Active: &active}); err != nil {
			t.Fatal(err)
		}
	}
	token := func(name string, life time.Duration) string {
		t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{"iss": issuer.URL, "aud": "console", "sub": "s-" + name, "preferred_username": name, "exp": w.clock.now().Add(life).Unix()})
		t.Header["kid"] = "k"
		s, _ := t.SignedString(private)
		return s
	}
	for _, c := range []struct {
		name, provider, token string
		status                int
		message               string
	}{
		{"good", "company", token("ana", time.Minute), 200, ""},
		{"expired", "company", token("ana", -time.Minute), 401, "Token expired"},
		{"no token", "company", "x", 401, "Invalid token"},
		{"inactive", "company", token("ben", time.Minute), 403, "User account is inactive"},
		{"unknown here", "company", token("eve", time.Minute), 403, "Access denied"},
		{"an unknown provider", "other", token("ana", time.Minute), 400, "Invalid field: provider"},
		{"a provider that is silent", "silent", token("ana", time.Minute), 503, "Service unavailable"},
		{"nothing", "company", "", 400, "Missing required field: external_token"},
	} {
		body, _ := json.Marshal(api.ExchangeRequest{Provider: c.provider, ExternalToken: c.token})
		r := w.ask(http.MethodPost, api.PathExchange, string(body))
		var answer struct {
			api.LoginResponse
			Error string `json:"error"`
		}
		if err := json.Unmarshal(r.Body.Bytes(), &answer); err != nil || r.Code != c.status || answer.Error != c.message {
			t.Errorf("%s: HTTP %d %s, want %d %s", c.name, r.Code, r.Body, c.status, c.message)
			continue
		}
		if c.status == 200 {
			after, _ := w.written(0).After.(map[string]any)
			if after["username"] != "ana" || after["issuer"] != issuer.URL {
				t.Errorf("the link left %+v", w.trail())
			}
			if own := w.ask(http.MethodGet, "/telemetry/data-period?site_id=Sibaya", "", "x-api-key", answer.Token); own.Code != 200 {
				t.Errorf("with the token: HTTP %d %s", own.Code, own.Body)
			}
		}
	}
}
