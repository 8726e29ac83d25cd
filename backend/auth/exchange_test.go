package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
)

func TestExchangeSignsIn(t *testing.T) {
	w, r := federated(t, nil)
	ctx := context.Background()
	u := w.user("Ana", api.RoleOperator, "acme")
	answer, err := w.exchange("company", r.token(nil))
	if err != nil || answer.MFARequired || answer.User == nil || answer.User.UserID != u.ID {
		t.Fatalf("%+v, %v", answer, err)
	}
	p, err := w.Authenticate(ctx, answer.Token)
	if err != nil || p.ID != u.ID || p.Role != api.RoleOperator || !cmp.Equal(p.Customers, []string{"acme"}) {
		t.Errorf("%+v, %v", p, err)
	}
	// The person stays the same when the name changes there, and the name is taken.
	again, err := w.exchange("company", r.token(set("preferred_username", "ana.maria")))
	if err != nil || again.User.UserID != u.ID {
		t.Errorf("with another name: %+v, %v", again.User, err)
	}
	_, err = w.exchange("company", r.token(set("sub", "person-2")))
	if !errors.Is(err, api.ErrForbidden) || SubjectOf(err) != u.ID {
		t.Errorf("another person of the name: %v about %q", err, SubjectOf(err))
	}
	if _, err := w.exchange("company", r.token(func(_ map[string]any, c jwt.MapClaims) { c["sub"], c["preferred_username"] = "person-3", "unknown" })); !errors.Is(err, api.ErrForbidden) {
		t.Errorf("a person who is not a user: %v", err)
	}
	if err := w.change("ana", UserChange{Active: new(false)}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.exchange("company", r.token(nil)); !errors.Is(err, api.ErrUserInactive) || SubjectOf(err) != u.ID {
		t.Errorf("an inactive user: %v about %q", err, SubjectOf(err))
	}
	if _, err := w.exchange("other", r.token(nil)); !errors.Is(err, api.InvalidField("provider", "")) {
		t.Errorf("an unknown provider: %v", err)
	}
	if n := r.count("/keys"); n != 1 {
		t.Errorf("the keys were asked for %d times", n)
	}
}

func TestExchangeRefusesForgedTokens(t *testing.T) {
	w, r := federated(t, nil)
	w.user("ana", api.RoleAdmin)
	own := r.keys["one"].(*rsa.PrivateKey)
	foreign, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	header := func(name string, v any) func(map[string]any, jwt.MapClaims) {
		return func(h map[string]any, _ jwt.MapClaims) { h[name] = v }
	}
	public, err := json.Marshal(jose.JSONWebKey{Key: foreign.Public(), KeyID: "two"})
	if err != nil {
		t.Fatal(err)
	}
	rs := jwt.SigningMethodRS256
	good := r.token(nil)
	parts := strings.Split(good, ".")
	for _, c := range []struct {
		name, token string
		want        error
	}{
		{"good", good, nil},
		{"one of several audiences", r.token(set("aud", []string{"other", clientID})), nil},
		{"alg none", r.sign(jwt.SigningMethodNone, "one", jwt.UnsafeAllowNoneSignatureType, nil), api.ErrInvalidToken},
		{"HS256 with the public modulus", r.sign(jwt.SigningMethodHS256, "one", own.N.Bytes(), nil), api.ErrInvalidToken},
		{"a foreign key under its kid", r.sign(rs, "one", foreign, nil), api.ErrInvalidToken},
		{"a foreign key without a kid", r.sign(rs, "one", foreign, func(h map[string]any, _ jwt.MapClaims) { delete(h, "kid") }), api.ErrInvalidToken},
		{"a key in the header", r.sign(rs, "two", foreign, header("jwk", json.RawMessage(public))), api.ErrInvalidToken},
		{"a key's address in the header", r.sign(rs, "one", foreign, header("jku", r.URL+"/keys")), api.ErrInvalidToken},
		{"expired", r.token(set("exp", w.clock.now().Add(-time.Second).Unix())), api.ErrTokenExpired},
		{"without an end", r.token(drop("exp")), api.ErrTokenExpired},
		{"not yet valid", r.token(set("nbf", w.clock.now().Add(time.Hour).Unix())), api.ErrInvalidToken},
		{"for another client", r.token(set("aud", "other")), api.ErrInvalidToken},
		{"for no user", r.token(drop("aud")), api.ErrInvalidToken},
		{"of another issuer", r.token(set("iss", "https://elsewhere.example")), api.ErrInvalidToken},
		{"of no issuer", r.token(drop("iss")), api.ErrInvalidToken},
		{"of no user", r.token(drop("sub")), api.ErrInvalidToken},
		{"without a username", r.token(drop("preferred_username")), api.ErrForbidden},
		{"an escape in the username", r.token(set("preferred_username", "ana\x1b[2J")), api.ErrForbidden},
		{"truncated", good[:len(good)-4], api.ErrInvalidToken},
		{"no signature", parts[0] + "." + parts[1] + ".", api.ErrInvalidToken},
		{"huge", good + strings.Repeat("A", maxExternal), api.ErrInvalidToken},
		{"no token", "hello", api.ErrInvalidToken},
		{"empty", "", api.ErrInvalidToken},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer, err := w.exchange("company", c.token)
			if c.want == nil && !w.knowsNetwork(w.account("ana"), "192.0.2.9") {
				t.Error("the network of the sign-in is not known")
			}
			if !errors.Is(err, c.want) || (err == nil) != (answer.Token != "") {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
	// A token of ours is none of the provider's.
	w.clock.add(time.Hour)
	if _, r := w.enrolled("ana"); r.Token == "" {
		t.Fatal("no token")
	} else if _, err := w.exchange("company", r.Token); !errors.Is(err, api.ErrInvalidToken) {
		t.Errorf("our own token: %v", err)
	}
}

// TestExchangeAcceptsEveryKeyType that a provider may sign with, next to an
// unknown one in its set.
func TestExchangeAcceptsEveryKeyType(t *testing.T) {
	w, r := federated(t, nil)
	w.user("ana", api.RoleAnalyst, "acme")
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var keys []json.RawMessage
	for _, k := range []jose.JSONWebKey{
		{Key: r.keys["one"].Public(), KeyID: "one"}, {Key: curve.Public(), KeyID: "ec", Use: "sig"}, {Key: edwards.Public(), KeyID: "ed", Algorithm: "EdDSA"},
		{Key: r.keys["one"].Public(), KeyID: "to encrypt with", Use: "enc"}, {Key: r.keys["one"].Public(), KeyID: "for RS256", Algorithm: "RS256"},
	} {
		b, err := json.Marshal(k)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, b)
	}
	b, err := json.Marshal(map[string]any{"keys": append(keys, json.RawMessage(`{"kty":"AKP","kid":"pq","alg":"ML-DSA-65","pub":"AAAA"}`))})
	if err != nil {
		t.Fatal(err)
	}
	r.set = string(b)
	for name, token := range map[string]string{
		"RS256": r.token(nil), "PS384": r.sign(jwt.SigningMethodPS384, "one", nil, nil),
		"ES256": r.sign(jwt.SigningMethodES256, "ec", curve, nil), "EdDSA": r.sign(jwt.SigningMethodEdDSA, "ed", edwards, nil),
	} {
		if _, err := w.exchange("company", token); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	one := r.keys["one"]
	for kid, want := range map[string]error{"to encrypt with": api.ErrInvalidToken, "for RS256": api.ErrInvalidToken, "one": nil} {
		if _, err := w.exchange("company", r.sign(jwt.SigningMethodPS256, kid, one, nil)); !errors.Is(err, want) {
			t.Errorf("PS256 by the key %s: %v", kid, err)
		}
	}
}

func TestProvisioning(t *testing.T) {
	claims := func(pairs ...any) func(map[string]any, jwt.MapClaims) {
		return func(_ map[string]any, c jwt.MapClaims) {
			for i := 0; i < len(pairs); i += 2 {
				c[pairs[i].(string)] = pairs[i+1]
			}
		}
	}
	for _, c := range []struct {
		name      string
		provision Provision
		edit      func(map[string]any, jwt.MapClaims)
		role      string // empty: refused
		customers []string
	}{
		{"as configured", Provision{Role: api.RoleTechnician, Customers: []string{"acme"}}, nil, api.RoleTechnician, []string{"acme"}},
		{"claims that are not asked for", Provision{Role: api.RoleAnalyst, Customers: []string{"acme"}}, claims("role", api.RoleAdmin, "customers", []string{"other"}), api.RoleAnalyst, []string{"acme"}},
		{"by claims", Provision{RoleClaim: "roles", CustomersClaim: "customers"}, claims("roles", []string{"staff", api.RoleAnalyst, api.RoleOperator}, "customers", []string{"a", "b", "a"}), api.RoleOperator, []string{"a", "b"}},
		{"a claim that is one word", Provision{RoleClaim: "role", CustomersClaim: "customer"}, claims("role", api.RoleAdmin, "customer", "a"), api.RoleAdmin, []string{"a"}},
		{"the role when the claim names none", Provision{Role: api.RoleAnalyst, RoleClaim: "roles", Customers: []string{"*"}}, claims("roles", []string{"staff"}), api.RoleAnalyst, []string{"*"}},
		{"all customers by a claim", Provision{Role: api.RoleAnalyst, CustomersClaim: "customers"}, claims("customers", []string{"*", "a"}), api.RoleAnalyst, []string{"a"}},
		{"nothing but all customers", Provision{Role: api.RoleAnalyst, CustomersClaim: "customers"}, claims("customers", "*"), "", nil},
		{"no role", Provision{RoleClaim: "roles", Customers: []string{"a"}}, claims("roles", "root"), "", nil},
		{"no customer", Provision{Role: api.RoleAnalyst, CustomersClaim: "customers"}, claims("customers", 7), "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := context.Background()
			w, r := federated(t, func(p *Provider) { p.Provision = &c.provision })
			answer, err := w.exchange("company", r.token(c.edit))
			if c.role == "" {
				if users, _ := w.users(); !errors.Is(err, api.ErrForbidden) || len(users) != 0 {
					t.Errorf("%v, %d users", err, len(users))
				}
				return
			}
			if err != nil || answer.User.RoleID != c.role || !cmp.Equal(answer.User.CustomerIDs, c.customers) {
				t.Fatalf("%+v, %v", answer.User, err)
			}
			if answer.Before != nil || answer.After == nil || answer.After.UserID != answer.User.UserID || answer.After.Issuer != r.URL {
				t.Errorf("made: from %+v to %+v", answer.Before, answer.After)
			}
			// Once: the next time it is the same user, whatever the claims say.
			again, err := w.exchange("company", r.token(claims("roles", api.RoleAdmin, "customers", "more")))
			if err != nil || !cmp.Equal(answer.User, again.User) {
				t.Errorf("the second time %+v, %v", again.User, err)
			}
			for _, password := range []string{"", goodPassword} {
				if _, err := w.Login(ctx, "ana", password, "192.0.2.1"); !errors.Is(err, api.ErrInvalidCredential) {
					t.Errorf("a password %q: %v", password, err)
				}
			}
		})
	}
}

func TestKeptApart(t *testing.T) {
	w, r := federated(t, func(p *Provider) {
		p.KeepApart, p.Provision = true, &Provision{Role: api.RoleAnalyst, Customers: []string{"acme"}}
	})
	w.user("ana", api.RoleAdmin)
	if _, err := w.exchange("company", r.token(nil)); !errors.Is(err, api.ErrForbidden) {
		t.Errorf("a user with a password: %v", err)
	}
	for range 2 {
		if _, err := w.exchange("company", r.token(set("preferred_username", "ben"))); err != nil {
			t.Errorf("a user of the provider's: %v", err)
		}
	}
}

// TestUnlinked: another person of the name may then be linked, and the sessions
// of the former person end.
func TestUnlinked(t *testing.T) {
	w, r := federated(t, nil)
	u := w.user("ana", api.RoleAnalyst, "acme")
	first, err := w.exchange("company", r.token(nil))
	if err != nil || first.Before == nil || first.Before.Issuer != "" || first.After == nil || first.After.Issuer != r.URL {
		t.Fatalf("linked: from %+v to %+v, %v", first.Before, first.After, err)
	}
	if again, err := w.exchange("company", r.token(nil)); err != nil || again.Before != nil || again.After != nil {
		t.Errorf("linked before: from %+v to %+v, %v", again.Before, again.After, err)
	}
	if err := w.change("ana", UserChange{Unlink: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Authenticate(context.Background(), first.Token); !errors.Is(err, api.ErrInvalidToken) {
		t.Errorf("the former person's token: %v", err)
	}
	other, err := w.exchange("company", r.token(set("sub", "person-2")))
	if err != nil || other.User.UserID != u.ID {
		t.Errorf("another person of the name: %+v, %v", other.User, err)
	}
	if _, err := w.exchange("company", r.token(nil)); !errors.Is(err, api.ErrForbidden) {
		t.Errorf("the former person: %v", err)
	}
}

// TestNonce binds a token to the sign-in that a caller began, if the caller
// sends a nonce.
func TestNonce(t *testing.T) {
	w, r := federated(t, nil)
	w.user("ana", api.RoleAnalyst, "acme")
	with, without := r.token(set("nonce", "n-1")), r.token(nil)
	for _, c := range []struct {
		token, nonce string
		want         error
	}{{with, "n-1", nil}, {with, "", nil}, {without, "", nil}, {with, "n-2", api.ErrInvalidToken}, {without, "n-1", api.ErrInvalidToken}} {
		if _, err := w.Exchange(context.Background(), api.ExchangeRequest{Provider: "company", ExternalToken: c.token, Nonce: c.nonce}, "192.0.2.1"); !errors.Is(err, c.want) {
			t.Errorf("nonce %q: %v, want %v", c.nonce, err, c.want)
		}
	}
}

// TestUnverifiedAddress is no username.
func TestUnverifiedAddress(t *testing.T) {
	w, r := federated(t, func(p *Provider) { p.UsernameClaim = "email" })
	w.user("ana@example.org", api.RoleAnalyst, "acme")
	for verified, want := range map[any]error{nil: api.ErrForbidden, false: api.ErrForbidden, "false": api.ErrForbidden, true: nil, "true": nil} {
		_, err := w.exchange("company", r.token(func(_ map[string]any, c jwt.MapClaims) {
			c["email"], c["email_verified"] = "ana@example.org", verified
		}))
		if !errors.Is(err, want) {
			t.Errorf("verified %v: %v", verified, err)
		}
	}
}
