package auth

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestAPIKey(t *testing.T) {
	w := newWorld(t, nil)
	ctx := context.Background()
	ends := w.clock.now().Add(time.Hour)
	plain, key, err := w.CreateKey(ctx, NewKey{Name: "gateway", Sites: []string{"Sibaya"}, ExpiresAt: ends, CreatedBy: "admin"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(plain, "opa_prod_") || !strings.HasPrefix(key.ID, "key_") {
		t.Errorf("key %s, id %s", plain, key.ID)
	}
	p, err := w.Authenticate(ctx, plain)
	if err != nil {
		t.Fatal(err)
	}
	want := Principal{Kind: KindKey, ID: key.ID, Name: "gateway", Role: api.RoleOperator, Customers: []string{"*"}, Sites: []string{"Sibaya"}, Rate: Rate{Class: api.RateDefault}}
	if d := cmp.Diff(want, p); d != "" {
		t.Error(d)
	}
	if !p.CanSite("Sibaya") || p.CanSite("Other") || p.CanSite("") {
		t.Error("sites are wrong")
	}
	info, err := w.KeyInfo(ctx, plain)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(api.APIKeyInfo{Success: true, APIKeyID: key.ID, PermittedSiteIDs: []string{"Sibaya"}, ExpiresAt: api.At(ends), CreatedAt: api.At(w.clock.now())}, info); d != "" {
		t.Error(d)
	}
	for site, valid := range map[string]bool{"Sibaya": true, "Other": false, "": false} {
		v, err := w.ValidateKey(ctx, plain, site)
		if err != nil || v.Valid != valid {
			t.Errorf("site %q: %+v, %v", site, v, err)
		}
	}
	w.clock.add(time.Hour)
	if _, err := w.Authenticate(ctx, plain); !errors.Is(err, api.ErrUnauthorized) {
		t.Errorf("at its end: %v", err)
	}
	if info, err := w.KeyInfo(ctx, plain); err != nil || !info.IsExpired {
		t.Errorf("info at its end: %+v, %v", info, err)
	}
}

func TestAPIKeyRevoked(t *testing.T) {
	w := newWorld(t, nil)
	ctx := context.Background()
	plain, key, err := w.CreateKey(ctx, NewKey{Customers: []string{"c"}, Role: api.RoleAnalyst})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Authenticate(ctx, plain); err != nil {
		t.Fatal(err)
	}
	if err := w.revoke(key.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Authenticate(ctx, plain); !errors.Is(err, api.ErrUnauthorized) {
		t.Errorf("revoked: %v", err)
	}
	keys, err := w.keys()
	if err != nil || len(keys) != 1 || !keys[0].RevokedAt.Equal(w.clock.now()) {
		t.Errorf("keys %+v, %v", keys, err)
	}
	if err := w.revoke("key_other"); err == nil {
		t.Error("an unknown key was revoked")
	}
}

func TestAPIKeyNeedsASiteOrCustomer(t *testing.T) {
	w := newWorld(t, nil)
	for name, n := range map[string]NewKey{
		"nothing":     {Name: "a"},
		"a past end":  {Sites: []string{"*"}, ExpiresAt: w.clock.now()},
		"a wild role": {Sites: []string{"*"}, Role: "root"},
	} {
		if _, _, err := w.CreateKey(context.Background(), n); err == nil {
			t.Errorf("a key with %s was made", name)
		}
	}
}

// TestAPIKeyMistyped: no single changed character passes as a key.
func TestAPIKeyMistyped(t *testing.T) {
	w := newWorld(t, nil)
	ctx := context.Background()
	plain, _, err := w.CreateKey(ctx, NewKey{Sites: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		b := []byte(plain)
		i := rapid.IntRange(0, len(b)-1).Draw(r, "at")
		c := rapid.Byte().Draw(r, "byte")
		if b[i] == c {
			return
		}
		b[i] = c
		if _, ok := keyID(string(b)); ok {
			r.Errorf("%q is well formed", b)
		}
		if _, err := w.Authenticate(ctx, string(b)); !errors.Is(err, api.ErrUnauthorized) {
			r.Errorf("%q: %v", b, err)
		}
	})
	// A well-formed key with another's secret.
	other, _, err := w.CreateKey(ctx, NewKey{Sites: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	cut := len(keyPrefix) + keyIDLen
	mixed := plain[:cut] + other[cut:len(other)-keyCheckLen]
	mixed += checkOf(mixed)
	if _, ok := keyID(mixed); !ok {
		t.Fatal("the mixed key should be well formed")
	}
	if _, err := w.Authenticate(ctx, mixed); !errors.Is(err, api.ErrUnauthorized) {
		t.Errorf("one key's id with another's secret: %v", err)
	}
}

func BenchmarkAuthenticateKey(b *testing.B) {
	w := newWorld(b, nil)
	plain, _, err := w.CreateKey(context.Background(), NewKey{Sites: []string{"*"}})
	if err != nil {
		b.Fatal(err)
	}
	for name, step := range map[string]time.Duration{"known": 0, "looked_up": knownFor} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				w.clock.add(step)
				if _, err := w.Authenticate(context.Background(), plain); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAuthenticateToken(b *testing.B) {
	w := newWorld(b, noMFA)
	w.user("u", api.RoleAdmin)
	token := w.login("u").Token
	for b.Loop() {
		w.known.invalidate()
		if _, err := w.Authenticate(context.Background(), token); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPasswordHash(b *testing.B) {
	p, err := newPasswords(DefaultParams())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := p.hash(context.Background(), goodPassword); err != nil {
			b.Fatal(err)
		}
	}
}
