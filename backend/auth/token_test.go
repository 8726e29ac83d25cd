package auth

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"github.com/golang-jwt/jwt/v5"
)

// forge makes a token of good claims, changed by edit, and signs it.
func (w *world) forge(good string, method jwt.SigningMethod, key any, edit func(h map[string]any, c jwt.MapClaims)) string {
	w.t.Helper()
	parsed, _, err := jwt.NewParser().ParseUnverified(good, jwt.MapClaims{})
	if err != nil {
		w.t.Fatal(err)
	}
	t := jwt.NewWithClaims(method, parsed.Claims.(jwt.MapClaims))
	t.Header["kid"] = parsed.Header["kid"]
	if edit != nil {
		edit(t.Header, t.Claims.(jwt.MapClaims))
	}
	s, err := t.SignedString(key)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func TestForgedTokens(t *testing.T) {
	w := newWorld(t, noMFA)
	ctx := context.Background()
	u := w.user("admin", api.RoleAdmin)
	good := w.login("admin").Token
	own := w.keyring.keys[w.keyring.signing].PrivateKey
	public := own.Public().(ed25519.PublicKey)
	_, foreign, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ed := jwt.SigningMethodEdDSA
	set := func(name string, v any) func(map[string]any, jwt.MapClaims) {
		return func(_ map[string]any, c jwt.MapClaims) { c[name] = v }
	}
	drop := func(name string) func(map[string]any, jwt.MapClaims) {
		return func(_ map[string]any, c jwt.MapClaims) { delete(c, name) }
	}
	header := func(name string, v any) func(map[string]any, jwt.MapClaims) {
		return func(h map[string]any, _ jwt.MapClaims) { h[name] = v }
	}
	jwk := map[string]any{"kty": "OKP", "crv": "Ed25519", "x": base64.RawURLEncoding.EncodeToString(foreign.Public().(ed25519.PublicKey))}
	flipped := []byte(good)
	flipped[len(flipped)-10] ^= 1
	parts := strings.Split(good, ".")
	upgraded := func() string {
		b, _ := base64.RawURLEncoding.DecodeString(parts[1])
		b = []byte(strings.Replace(string(b), u.ID, "usr_other", 1))
		return parts[0] + "." + base64.RawURLEncoding.EncodeToString(b) + "." + parts[2]
	}()

	for _, c := range []struct {
		name, token string
		want        error
	}{
		{"good", good, nil},
		{"forged alike: the helper makes good tokens", w.forge(good, ed, own, nil), nil},
		{"alg none", w.forge(good, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil), api.ErrInvalidToken},
		{"HS256 with the public key", w.forge(good, jwt.SigningMethodHS256, []byte(public), nil), api.ErrInvalidToken},
		{"HS512 with an empty key", w.forge(good, jwt.SigningMethodHS512, []byte{}, nil), api.ErrInvalidToken},
		{"a foreign key under our kid", w.forge(good, ed, foreign, nil), api.ErrInvalidToken},
		{"an unknown kid", w.forge(good, ed, foreign, header("kid", "sig_other")), api.ErrInvalidToken},
		{"no kid", w.forge(good, ed, own, func(h map[string]any, _ jwt.MapClaims) { delete(h, "kid") }), api.ErrInvalidToken},
		{"a key in the header", w.forge(good, ed, foreign, header("jwk", jwk)), api.ErrInvalidToken},
		{"a key's address in the header", w.forge(good, ed, foreign, header("jku", "https://keys.example/jwks")), api.ErrInvalidToken},
		{"a certificate's address in the header", w.forge(good, ed, foreign, header("x5u", "https://keys.example/c")), api.ErrInvalidToken},
		{"of another type", w.forge(good, ed, own, header("typ", "at+jwt")), api.ErrInvalidToken},
		{"without a type", w.forge(good, ed, own, func(h map[string]any, _ jwt.MapClaims) { delete(h, "typ") }), api.ErrInvalidToken},
		{"with a critical header", w.forge(good, ed, own, header("crit", []string{"exp"})), api.ErrInvalidToken},
		{"truncated", good[:len(good)-4], api.ErrInvalidToken},
		{"expired", w.forge(good, ed, own, set("exp", w.clock.now().Unix())), api.ErrTokenExpired},
		{"expired and foreign", w.forge(good, ed, foreign, set("exp", w.clock.now().Unix()-9)), api.ErrInvalidToken},
		{"without an end", w.forge(good, ed, own, drop("exp")), api.ErrInvalidToken},
		{"of a foreign issuer", w.forge(good, ed, own, set("iss", "elsewhere")), api.ErrInvalidToken},
		{"without an issuer", w.forge(good, ed, own, drop("iss")), api.ErrInvalidToken},
		{"for another audience", w.forge(good, ed, own, set("aud", "elsewhere")), api.ErrInvalidToken},
		{"without an audience", w.forge(good, ed, own, drop("aud")), api.ErrInvalidToken},
		{"without a session", w.forge(good, ed, own, drop("sid")), api.ErrInvalidToken},
		{"of an unknown session", w.forge(good, ed, own, set("sid", "ses_other")), api.ErrInvalidToken},
		{"of another user", w.forge(good, ed, own, set("user_id", "usr_other")), api.ErrInvalidToken},
		{"with another id", w.forge(good, ed, own, set("jti", "tok_other")), api.ErrInvalidToken},
		{"not yet valid", w.forge(good, ed, own, set("nbf", w.clock.now().Unix()+60)), api.ErrInvalidToken},
		{"changed claims", upgraded, api.ErrInvalidToken},
		{"changed signature", string(flipped), api.ErrInvalidToken},
		{"no signature", parts[0] + "." + parts[1] + ".", api.ErrInvalidToken},
		{"no token", "hello", api.ErrUnauthorized},
		{"empty", "", api.ErrUnauthorized},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := w.Authenticate(ctx, c.token)
			if !errors.Is(err, c.want) || (c.want != nil) != (p.ID == "") {
				t.Errorf("principal %+v, error %v, want %v", p, err, c.want)
			}
		})
	}
}

func TestTokenClaims(t *testing.T) {
	w := newWorld(t, noMFA)
	w.user("Thandi", api.RoleAnalyst, "customer123")
	b, err := base64.RawURLEncoding.DecodeString(strings.Split(w.login("thandi").Token, ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	var c map[string]any
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"user_id", "username", "role_id", "customer_ids", "exp", "iat", "jti", "iss"} {
		if c[name] == nil {
			t.Errorf("claim %s is not there: %v", name, c)
		}
	}
	if c["exp"].(float64)-c["iat"].(float64) != 24*3600 || c["role_id"] != "role_analyst" {
		t.Errorf("claims %v", c)
	}
}

func TestTokenEnds(t *testing.T) {
	w := newWorld(t, noMFA)
	ctx := context.Background()
	w.user("u", api.RoleAdmin)
	token := w.login("u").Token
	w.clock.add(24*time.Hour - time.Second)
	if _, err := w.Authenticate(ctx, token); err != nil {
		t.Errorf("a second before its end: %v", err)
	}
	w.clock.add(time.Second)
	if _, err := w.Authenticate(ctx, token); !errors.Is(err, api.ErrTokenExpired) {
		t.Errorf("at its end: %v", err)
	}
	if _, err := w.Refresh(ctx, token); !errors.Is(err, api.ErrTokenExpired) {
		t.Errorf("refresh at its end: %v", err)
	}
}

// TestSessionEnds: renewal does not make a sign-in last for ever.
func TestSessionEnds(t *testing.T) {
	w := newWorld(t, noMFA)
	ctx := context.Background()
	w.user("u", api.RoleAdmin)
	token := w.login("u").Token
	const step = 19 * time.Hour
	for range maxSession / step {
		w.clock.add(step)
		r, err := w.Refresh(ctx, token)
		if err != nil {
			t.Fatal(err)
		}
		token = r.Token
	}
	w.clock.add(maxSession % step)
	if _, err := w.Refresh(ctx, token); !errors.Is(err, api.ErrTokenExpired) {
		t.Errorf("after %v: %v", maxSession, err)
	}
	if _, err := w.Authenticate(ctx, token); !errors.Is(err, api.ErrInvalidToken) {
		t.Errorf("the token of a session that has ended: %v", err)
	}
}

func TestRefreshAndReuse(t *testing.T) {
	w := newWorld(t, noMFA)
	ctx := context.Background()
	w.user("u", api.RoleAdmin)
	first := w.login("u").Token
	if _, err := w.Authenticate(ctx, first); err != nil {
		t.Fatal(err)
	}
	r, err := w.Refresh(ctx, first)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Authenticate(ctx, first); !errors.Is(err, api.ErrInvalidToken) {
		t.Errorf("the old token still opens: %v", err)
	}
	if _, err := w.Authenticate(ctx, r.Token); err != nil {
		t.Errorf("use of the old token must not end the session: %v", err)
	}
	if _, err := w.Refresh(ctx, first); !errors.Is(err, api.ErrInvalidToken) {
		t.Errorf("the old token was refreshed: %v", err)
	}
	if _, err := w.Authenticate(ctx, r.Token); !errors.Is(err, api.ErrInvalidToken) {
		t.Errorf("reuse of a revoked token must end the session: %v", err)
	}
}

func TestRefreshRace(t *testing.T) {
	w := newWorld(t, noMFA)
	ctx := context.Background()
	w.user("u", api.RoleAdmin)
	token := w.login("u").Token
	var won atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := w.Refresh(ctx, token); err == nil {
				won.Add(1)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d refreshes of one token", won.Load())
	}
	if n := w.count(sessions.Bucket); n != 0 {
		t.Errorf("%d sessions live after a reuse", n)
	}
}

func TestSessionHasAnEnd(t *testing.T) {
	w := newWorld(t, noMFA)
	ctx := context.Background()
	w.user("u", api.RoleAdmin)
	token := w.login("u").Token
	days := 0
	for ; days < 100; days++ {
		w.clock.add(23 * time.Hour)
		r, err := w.Refresh(ctx, token)
		if errors.Is(err, api.ErrTokenExpired) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		token = r.Token
	}
	if days != 31 {
		t.Errorf("renewed for %d times 23 hours, want 31", days)
	}
}

func TestLogout(t *testing.T) {
	w := newWorld(t, noMFA)
	ctx := context.Background()
	w.user("u", api.RoleAdmin)
	a, b := w.login("u").Token, w.login("u").Token
	if err := w.Logout(ctx, a); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Authenticate(ctx, a); !errors.Is(err, api.ErrInvalidToken) {
		t.Errorf("after logout: %v", err)
	}
	if err := w.Logout(ctx, a); !errors.Is(err, api.ErrInvalidToken) {
		t.Errorf("logout twice: %v", err)
	}
	if _, err := w.Authenticate(ctx, b); err != nil {
		t.Errorf("the other session: %v", err)
	}
}

func TestKeyRotationOverlaps(t *testing.T) {
	w := newWorld(t, noMFA)
	ctx := context.Background()
	w.user("u", api.RoleAdmin)
	other := w.open(noMFA) // a replica that does not know of the rotation yet
	old := w.login("u").Token
	w.clock.add(time.Hour)
	if err := w.RotateSigningKey(ctx); err != nil {
		t.Fatal(err)
	}
	fresh := w.login("u").Token
	kid := func(token string) any {
		p, _, err := jwt.NewParser().ParseUnverified(token, &claims{})
		if err != nil {
			t.Fatal(err)
		}
		return p.Header["kid"]
	}
	if kid(old) == kid(fresh) {
		t.Fatal("the key was not rotated")
	}
	for name, s := range map[string]*Service{"this": w.Service, "the other": other, "a restarted": w.open(noMFA)} {
		for _, token := range []string{old, fresh} {
			if _, err := s.Authenticate(ctx, token); err != nil {
				t.Errorf("%s service: %v", name, err)
			}
		}
	}
	w.clock.add(25 * time.Hour)
	if err := w.RotateSigningKey(ctx); err != nil {
		t.Fatal(err)
	}
	if n := w.count(signingKeys.Bucket); n != 2 {
		t.Errorf("%d keys kept, want the new one and the one before", n)
	}
	if _, err := New(ctx, Options{Records: w.store, Key: Key{1}, Now: w.clock.now}); err == nil {
		t.Error("opened with another key file")
	}
}

func TestReplicaSeesRevocation(t *testing.T) {
	w := newWorld(t, noMFA)
	ctx := context.Background()
	w.user("u", api.RoleAdmin)
	plain, key, err := w.CreateKey(ctx, NewKey{Name: "k", Sites: []string{"s"}})
	if err != nil {
		t.Fatal(err)
	}
	token := w.login("u").Token
	other := w.open(noMFA)
	for _, credential := range []string{plain, token} {
		if _, err := other.Authenticate(ctx, credential); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.revoke(key.ID); err != nil {
		t.Fatal(err)
	}
	if err := w.Logout(ctx, token); err != nil {
		t.Fatal(err)
	}
	w.clock.add(time.Minute)
	for _, credential := range []string{plain, token} {
		if _, err := other.Authenticate(ctx, credential); err == nil {
			t.Error("another replica takes a revoked credential after 60 s")
		}
	}
}
