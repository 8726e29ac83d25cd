package auth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
)

// realm is an identity provider on loopback: discovery, keys and signatures as
// a real one has them.
type realm struct {
	*httptest.Server
	t     *testing.T
	clock *clock

	mu       sync.Mutex
	keys     map[string]crypto.Signer // by kid
	asked    map[string]int           // requests by path
	document string                   // in place of the discovery document
	set      string                   // in place of the keys
	status   int                      // in place of 200 for the keys
	hold     chan struct{}            // the keys are held back until it is closed
}

func newRealm(t *testing.T, c *clock) *realm {
	r := &realm{t: t, clock: c, keys: map[string]crypto.Signer{}, asked: map[string]int{}, status: http.StatusOK}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	r.add("one", key)
	return r
}

func (r *realm) add(kid string, key crypto.Signer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys[kid] = key
}

func (r *realm) count(path string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked[path]
}

func (r *realm) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	r.asked[q.URL.Path]++
	hold, body, status := r.hold, "", http.StatusOK
	switch q.URL.Path {
	case "/.well-known/openid-configuration":
		if body = r.document; body == "" {
			body = fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q,"id_token_signing_alg_values_supported":["none","HS256","RS256"]}`, r.URL, r.URL+"/keys")
		}
		hold = nil
	case "/keys":
		status = r.status
		if body = r.set; body == "" {
			var set jose.JSONWebKeySet
			for kid, key := range r.keys {
				set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.Public(), KeyID: kid, Use: "sig"})
			}
			b, _ := json.Marshal(set)
			body = string(b)
		}
	default:
		status = http.StatusNotFound
	}
	r.mu.Unlock()
	if hold != nil {
		<-hold
	}
	w.Header().Set("Content-Type", "application/json")
	if status/100 == 3 {
		w.Header().Set("Location", r.URL+"/elsewhere")
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}

const clientID = "sunloop-console"

// claims are those of a good token of ana.
func (r *realm) claims() jwt.MapClaims {
	now := r.clock.now()
	return jwt.MapClaims{"iss": r.URL, "aud": clientID, "sub": "person-1", "preferred_username": "ana", "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix()}
}

func (r *realm) token(edit func(h map[string]any, c jwt.MapClaims)) string {
	return r.sign(jwt.SigningMethodRS256, "one", nil, edit)
}

func (r *realm) sign(method jwt.SigningMethod, kid string, key any, edit func(h map[string]any, c jwt.MapClaims)) string {
	r.t.Helper()
	if key == nil {
		key = r.keys[kid]
	}
	t := jwt.NewWithClaims(method, r.claims())
	t.Header["kid"] = kid
	if edit != nil {
		edit(t.Header, t.Claims.(jwt.MapClaims))
	}
	s, err := t.SignedString(key)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *realm) provider() Provider {
	return Provider{Name: "company", Issuer: r.URL, ClientID: clientID}
}

// federated is a world with one provider, changed by edit.
func federated(t *testing.T, edit func(*Provider)) (*world, *realm) {
	t.Helper()
	w := newWorld(t, nil)
	r := newRealm(t, w.clock)
	w.join(r, edit)
	return w, r
}

func (w *world) join(r *realm, edit func(*Provider)) {
	w.t.Helper()
	p := r.provider()
	if edit != nil {
		edit(&p)
	}
	w.Service = w.open(func(o *Options) { o.Providers = []Provider{p} })
}

func set(name string, v any) func(map[string]any, jwt.MapClaims) {
	return func(_ map[string]any, c jwt.MapClaims) { c[name] = v }
}

func drop(name string) func(map[string]any, jwt.MapClaims) {
	return func(_ map[string]any, c jwt.MapClaims) { delete(c, name) }
}

func TestExchangeSignsIn(t *testing.T) {
	w, r := federated(t, nil)
	ctx := context.Background()
	u := w.user("Ana", api.RoleOperator, "acme")
	answer, err := w.Exchange(ctx, "company", r.token(nil))
	if err != nil || answer.MFARequired || answer.User == nil || answer.User.UserID != u.ID {
		t.Fatalf("%+v, %v", answer, err)
	}
	p, err := w.Authenticate(ctx, answer.Token)
	if err != nil || p.ID != u.ID || p.Role != api.RoleOperator || !cmp.Equal(p.Customers, []string{"acme"}) {
		t.Errorf("%+v, %v", p, err)
	}
	// The person stays the same when the name changes there, and the name is taken.
	again, err := w.Exchange(ctx, "company", r.token(set("preferred_username", "ana.maria")))
	if err != nil || again.User.UserID != u.ID {
		t.Errorf("with another name: %+v, %v", again.User, err)
	}
	_, err = w.Exchange(ctx, "company", r.token(set("sub", "person-2")))
	if !errors.Is(err, api.ErrForbidden) || SubjectOf(err) != u.ID {
		t.Errorf("another person of the name: %v about %q", err, SubjectOf(err))
	}
	if _, err := w.Exchange(ctx, "company", r.token(func(_ map[string]any, c jwt.MapClaims) { c["sub"], c["preferred_username"] = "person-3", "nobody" })); !errors.Is(err, api.ErrForbidden) {
		t.Errorf("somebody who is no user: %v", err)
	}
	w.setActive("ana", false)
	if _, err := w.Exchange(ctx, "company", r.token(nil)); !errors.Is(err, api.ErrUserInactive) || SubjectOf(err) != u.ID {
		t.Errorf("an inactive user: %v about %q", err, SubjectOf(err))
	}
	if _, err := w.Exchange(ctx, "other", r.token(nil)); !errors.Is(err, api.InvalidField("provider", "")) {
		t.Errorf("an unknown provider: %v", err)
	}
	if n := r.count("/keys"); n != 1 {
		t.Errorf("the keys were asked for %d times", n)
	}
}

func (w *world) setActive(name string, active bool) {
	w.t.Helper()
	if err := w.SetActive(context.Background(), name, active); err != nil {
		w.t.Fatal(err)
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
		{"for nobody", r.token(drop("aud")), api.ErrInvalidToken},
		{"of another issuer", r.token(set("iss", "https://elsewhere.example")), api.ErrInvalidToken},
		{"of no issuer", r.token(drop("iss")), api.ErrInvalidToken},
		{"of nobody", r.token(drop("sub")), api.ErrInvalidToken},
		{"without a username", r.token(drop("preferred_username")), api.ErrForbidden},
		{"an escape in the username", r.token(set("preferred_username", "ana\x1b[2J")), api.ErrForbidden},
		{"truncated", good[:len(good)-4], api.ErrInvalidToken},
		{"no signature", parts[0] + "." + parts[1] + ".", api.ErrInvalidToken},
		{"huge", good + strings.Repeat("A", maxExternal), api.ErrInvalidToken},
		{"no token", "hello", api.ErrInvalidToken},
		{"empty", "", api.ErrInvalidToken},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer, err := w.Exchange(context.Background(), "company", c.token)
			if !errors.Is(err, c.want) || (err == nil) != (answer.Token != "") {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
	// A token of ours is none of the provider's.
	w.clock.add(time.Hour)
	if _, r := w.enrolled("ana"); r.Token == "" {
		t.Fatal("no token")
	} else if _, err := w.Exchange(context.Background(), "company", r.Token); !errors.Is(err, api.ErrInvalidToken) {
		t.Errorf("our own token: %v", err)
	}
}

// TestExchangeTakesEveryKindOfKey that a provider may sign with, beside one in
// its set that nobody knows.
func TestExchangeTakesEveryKindOfKey(t *testing.T) {
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
	for kid, public := range map[string]any{"one": r.keys["one"].Public(), "ec": curve.Public(), "ed": edwards.Public()} {
		b, err := json.Marshal(jose.JSONWebKey{Key: public, KeyID: kid})
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
		if _, err := w.Exchange(context.Background(), "company", token); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUnknownKeysAreAskedForOnceAMinute: a storm of tokens with key ids that
// nobody knows makes one request, and a key that is new is found in a minute.
func TestUnknownKeysAreAskedForOnceAMinute(t *testing.T) {
	w, r := federated(t, nil)
	ctx := context.Background()
	w.user("ana", api.RoleAnalyst, "acme")
	if _, err := w.Exchange(ctx, "company", r.token(nil)); err != nil {
		t.Fatal(err)
	}
	for minute := 1; minute <= 2; minute++ {
		w.clock.add(time.Minute)
		var wg sync.WaitGroup
		for n := range 8 {
			wg.Go(func() {
				for i := range 125 {
					token := r.sign(jwt.SigningMethodHS256, "one", []byte("k"), nil)
					if i%2 == 0 {
						token = r.sign(jwt.SigningMethodRS256, "one", nil, func(h map[string]any, _ jwt.MapClaims) { h["kid"] = fmt.Sprint("storm-", n, i) })
					}
					if _, err := w.Exchange(ctx, "company", token); !errors.Is(err, api.ErrInvalidToken) {
						t.Errorf("a token of no key: %v", err)
					}
				}
			})
		}
		wg.Wait()
		if n := r.count("/keys"); n != 1+minute {
			t.Errorf("minute %d: the keys were asked for %d times", minute, n)
		}
	}
	fresh, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	r.add("two", fresh)
	w.clock.add(time.Minute)
	if _, err := w.Exchange(ctx, "company", r.sign(jwt.SigningMethodRS256, "two", nil, nil)); err != nil {
		t.Errorf("a key that was added: %v", err)
	}
	if n := r.count("/.well-known/openid-configuration"); n != 1 {
		t.Errorf("the discovery document was asked for %d times", n)
	}
}

// TestWithdrawnKeyEnds within the hour; while the provider is silent the keys
// serve on.
func TestWithdrawnKeyEnds(t *testing.T) {
	w, r := federated(t, nil)
	ctx := context.Background()
	w.user("ana", api.RoleAnalyst, "acme")
	exchange := func() error { _, err := w.Exchange(ctx, "company", r.token(nil)); return err }
	if err := exchange(); err != nil {
		t.Fatal(err)
	}
	old := r.keys["one"]
	r.status = http.StatusInternalServerError
	w.clock.add(2 * refetchAtAge)
	if err := exchange(); err != nil {
		t.Errorf("while the provider is silent: %v", err)
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	r.status, r.keys = http.StatusOK, map[string]crypto.Signer{"two": other}
	r.mu.Unlock()
	w.clock.add(refetchAfter)
	if _, err := w.Exchange(ctx, "company", r.sign(jwt.SigningMethodRS256, "one", old, nil)); !errors.Is(err, api.ErrInvalidToken) {
		t.Errorf("a token of a withdrawn key: %v", err)
	}
}

// TestSilentProvider: what keeps a token from being checked is no refusal, and
// is not tried again at once.
func TestSilentProvider(t *testing.T) {
	for name, spoil := range map[string]func(*realm){
		"failing":        func(r *realm) { r.status = http.StatusBadGateway },
		"no keys at all": func(r *realm) { r.set = "<html>" },
		"too large":      func(r *realm) { r.set = `{"keys":[` + strings.Repeat(" ", maxFetchBytes) + "]}" },
		"redirecting":    func(r *realm) { r.status = http.StatusFound },
		"of another issuer": func(r *realm) {
			r.document = `{"issuer":"https://elsewhere.example","jwks_uri":"https://elsewhere.example/keys"}`
		},
		"keys without TLS": func(r *realm) {
			r.document = fmt.Sprintf(`{"issuer":%q,"jwks_uri":"http://192.0.2.1/keys"}`, r.URL)
		},
		"slow": func(r *realm) { r.hold = make(chan struct{}) },
	} {
		t.Run(name, func(t *testing.T) {
			w, r := federated(t, nil)
			w.user("ana", api.RoleAnalyst, "acme")
			spoil(r)
			w.issuers[0].client.Timeout = 50 * time.Millisecond
			asked := -1
			for range 2 {
				_, err := w.Exchange(context.Background(), "company", r.token(nil))
				var refused *api.Error
				if !errors.Is(err, ErrProvider) || errors.As(err, &refused) {
					t.Errorf("%v", err)
				}
				n := r.count("/keys") + r.count("/.well-known/openid-configuration") + r.count("/elsewhere")
				if asked >= 0 && n != asked {
					t.Error("asked again within the minute")
				}
				asked = n
			}
			if r.hold != nil {
				close(r.hold)
			}
			r.mu.Lock()
			r.document, r.set, r.status, r.hold = "", "", http.StatusOK, nil
			r.mu.Unlock()
			w.issuers[0].client.Timeout = fetchTimeout
			w.clock.add(refetchAfter)
			if _, err := w.Exchange(context.Background(), "company", r.token(nil)); err != nil {
				t.Errorf("when it answers again: %v", err)
			}
			if n := r.count("/elsewhere"); n != 0 {
				t.Error("a redirect was followed")
			}
		})
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
			answer, err := w.Exchange(ctx, "company", r.token(c.edit))
			if c.role == "" {
				if users, _ := w.Users(ctx); !errors.Is(err, api.ErrForbidden) || len(users) != 0 {
					t.Errorf("%v, %d users", err, len(users))
				}
				return
			}
			if err != nil || answer.User.RoleID != c.role || !cmp.Equal(answer.User.CustomerIDs, c.customers) {
				t.Fatalf("%+v, %v", answer.User, err)
			}
			// Once: the next time it is the same user, whatever the claims say.
			again, err := w.Exchange(ctx, "company", r.token(claims("roles", api.RoleAdmin, "customers", "more")))
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
	if _, err := w.Exchange(context.Background(), "company", r.token(nil)); !errors.Is(err, api.ErrForbidden) {
		t.Errorf("a user with a password: %v", err)
	}
	for range 2 {
		if _, err := w.Exchange(context.Background(), "company", r.token(set("preferred_username", "ben"))); err != nil {
			t.Errorf("a user of the provider's: %v", err)
		}
	}
}

// TestUnverifiedAddress is no username.
func TestUnverifiedAddress(t *testing.T) {
	w, r := federated(t, func(p *Provider) { p.UsernameClaim = "email" })
	w.user("ana@example.org", api.RoleAnalyst, "acme")
	for verified, want := range map[any]error{nil: api.ErrForbidden, false: api.ErrForbidden, "false": api.ErrForbidden, true: nil, "true": nil} {
		_, err := w.Exchange(context.Background(), "company", r.token(func(_ map[string]any, c jwt.MapClaims) {
			c["email"], c["email_verified"] = "ana@example.org", verified
		}))
		if !errors.Is(err, want) {
			t.Errorf("verified %v: %v", verified, err)
		}
	}
}

func TestProvidersAreChecked(t *testing.T) {
	good := Provider{Name: "company", Issuer: "https://login.example.com/realm", ClientID: clientID}
	w := newWorld(t, nil)
	for name, edit := range map[string]func(*Provider){
		"good":                 func(*Provider) {},
		"on this machine":      func(p *Provider) { p.Issuer = "http://127.0.0.1:8180/realm" },
		"no name":              func(p *Provider) { p.Name = "" },
		"no client id":         func(p *Provider) { p.ClientID = "" },
		"no issuer":            func(p *Provider) { p.Issuer = "" },
		"an issuer in plain":   func(p *Provider) { p.Issuer = "http://login.example.com" },
		"a password":           func(p *Provider) { p.Issuer = "https://u:p@login.example.com" },
		"a wild role":          func(p *Provider) { p.Provision = &Provision{Role: "root", Customers: []string{"a"}} },
		"nobody's role":        func(p *Provider) { p.Provision = &Provision{Customers: []string{"a"}} },
		"nobody's customers":   func(p *Provider) { p.Provision = &Provision{Role: api.RoleAnalyst} },
		"the name of another":  func(p *Provider) { p.Name = "taken" },
		"a loopback lookalike": func(p *Provider) { p.Issuer = "http://127.0.0.1.example.com" },
	} {
		p := good
		edit(&p)
		_, err := New(context.Background(), Options{Records: w.store, Now: w.clock.now, Key: w.key(), Argon: &cheap,
			Providers: []Provider{{Name: "taken", Issuer: good.Issuer, ClientID: clientID}, p}})
		if (err == nil) != (name == "good" || name == "on this machine") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
