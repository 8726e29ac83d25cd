package auth

import (
	"context"
	"crypto"
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

func (w *world) exchange(provider, token string) (api.LoginResponse, error) {
	return w.Exchange(context.Background(), api.ExchangeRequest{Provider: provider, ExternalToken: token}, "192.0.2.1")
}

func set(name string, v any) func(map[string]any, jwt.MapClaims) {
	return func(_ map[string]any, c jwt.MapClaims) { c[name] = v }
}

func drop(name string) func(map[string]any, jwt.MapClaims) {
	return func(_ map[string]any, c jwt.MapClaims) { delete(c, name) }
}

// TestUnknownKeysAreRequestedOnceAMinute: a flood of tokens with unknown key ids
// causes one request, and a new key is found within a minute.
func TestUnknownKeysAreRequestedOnceAMinute(t *testing.T) {
	w, r := federated(t, nil)
	w.user("ana", api.RoleAnalyst, "acme")
	if _, err := w.exchange("company", r.token(nil)); err != nil {
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
					if _, err := w.exchange("company", token); !errors.Is(err, api.ErrInvalidToken) {
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
	if _, err := w.exchange("company", r.sign(jwt.SigningMethodRS256, "two", nil, nil)); err != nil {
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
	w.user("ana", api.RoleAnalyst, "acme")
	exchange := func() error { _, err := w.exchange("company", r.token(nil)); return err }
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
	if _, err := w.exchange("company", r.sign(jwt.SigningMethodRS256, "one", old, nil)); !errors.Is(err, api.ErrInvalidToken) {
		t.Errorf("a token of a withdrawn key: %v", err)
	}
}

// TestSilentProvider: what keeps a token from being checked is no refusal, and
// is not tried again at once.
func TestSilentProvider(t *testing.T) {
	for name, c := range map[string]struct {
		cause string
		spoil func(*realm)
	}{
		"failing":       {"502 Bad Gateway", func(r *realm) { r.status = http.StatusBadGateway }},
		"no keys":       {"invalid character", func(r *realm) { r.set = "<html>" }},
		"no key of use": {"holds no key", func(r *realm) { r.set = `{"keys":[{"kty":"oct","k":"AAAA"}]}` }},
		"too large": {"too large", func(r *realm) {
			b, _ := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: r.keys["one"].Public(), KeyID: "one"}}})
			r.set = string(b) + strings.Repeat(" ", maxFetchBytes)
		}},
		"redirecting": {"redirects elsewhere", func(r *realm) { r.status = http.StatusFound }},
		"of another issuer": {"did not match the issuer URL", func(r *realm) {
			r.document = fmt.Sprintf(`{"issuer":"https://elsewhere.example","jwks_uri":%q}`, r.URL+"/keys")
		}},
		"keys without TLS": {"does not begin with https://", func(r *realm) {
			r.document = fmt.Sprintf(`{"issuer":%q,"jwks_uri":"http://192.0.2.1/keys"}`, r.URL)
		}},
		"slow": {"exceeded", func(r *realm) { r.hold = make(chan struct{}) }},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := federated(t, nil)
			w.user("ana", api.RoleAnalyst, "acme")
			c.spoil(r)
			if got := w.issuers[0].client.Timeout; got != fetchTimeout {
				t.Errorf("a time-out of %s", got)
			}
			if name == "slow" {
				w.issuers[0].client.Timeout = 50 * time.Millisecond
			}
			asked := -1
			for range 2 {
				_, err := w.exchange("company", r.token(nil))
				var refused *api.Error
				if !errors.Is(err, ErrProvider) || errors.As(err, &refused) || !strings.Contains(err.Error(), c.cause) {
					t.Errorf("%v, want %s", err, c.cause)
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
			if _, err := w.exchange("company", r.token(nil)); err != nil {
				t.Errorf("when it answers again: %v", err)
			}
			if n := r.count("/elsewhere"); n != 0 {
				t.Error("a redirect was followed")
			}
		})
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

// TestProviderRotates: a provider that has another key under the same id, or its
// keys at another address, is found out without a restart.
func TestProviderRotates(t *testing.T) {
	c := &clock{t: time.Now()}
	r := newRealm(t, c)
	r.document = fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q}`, r.URL, r.URL+"/former")
	i, err := newIssuer(Provider{Name: "corp", Issuer: r.URL, ClientID: clientID}, c.now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.identify(t.Context(), r.token(nil)); !errors.Is(err, ErrProvider) {
		t.Errorf("without keys: %v", err)
	}
	r.mu.Lock()
	r.document = ""
	r.mu.Unlock()
	c.add(refetchAfter)
	if _, err := i.identify(t.Context(), r.token(nil)); err != nil {
		t.Errorf("with keys at another address: %v", err)
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	r.add("one", key)
	if _, err := i.identify(t.Context(), r.token(nil)); !errors.Is(err, api.ErrInvalidToken) {
		t.Errorf("within the minute: %v", err)
	}
	c.add(refetchAfter)
	if _, err := i.identify(t.Context(), r.token(nil)); err != nil {
		t.Errorf("with another key under the same id: %v", err)
	}
}
