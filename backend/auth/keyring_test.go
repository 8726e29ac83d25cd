package auth

import (
	"context"
	"errors"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"github.com/google/go-cmp/cmp"
)

func (w *world) keyIDs(s *Service) (ids []string) {
	w.t.Helper()
	keys, err := s.SigningKeys(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, k := range keys {
		ids = append(ids, k.ID)
	}
	return ids
}

// TestKeyLivesAsLongAsItsTokens: a key that was rotated is published and
// honoured until the last token it signed has ended, and then it is gone.
func TestKeyLivesAsLongAsItsTokens(t *testing.T) {
	ctx := context.Background()
	long := func(o *Options) { o.RequireMFA, o.TokenLifetime = false, 48*time.Hour }
	w := newWorld(t, long)
	w.user("u", api.RoleAdmin)
	token := w.login("u").Token
	short := w.open(noMFA) // the operator has shortened the life of tokens
	w.clock.add(time.Hour)
	if err := short.RotateSigningKey(ctx); err != nil {
		t.Fatal(err)
	}
	both := w.keyIDs(short)
	if len(both) != 2 {
		t.Fatalf("keys %v", both)
	}
	w.clock.add(47*time.Hour - time.Second)
	if _, err := short.Authenticate(ctx, token); err != nil {
		t.Errorf("a second before its end: %v", err)
	}
	if d := cmp.Diff(both, w.keyIDs(short)); d != "" {
		t.Errorf("published while a token of it is alive: %s", d)
	}
	w.clock.add(2*time.Second + retireAfter)
	if d := cmp.Diff(both[1:], w.keyIDs(short)); d != "" {
		t.Errorf("published after the last token of it: %s", d)
	}
	if _, err := short.Authenticate(ctx, token); !errors.Is(err, api.ErrInvalidToken) {
		t.Errorf("the key is gone, yet its token gives %v", err)
	}
	if err := short.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	if n := w.count(signingKeys.Bucket); n != 1 {
		t.Errorf("%d keys stored after the sweep", n)
	}
}

// TestKeyIsRotatedByAge: once, whichever replica sweeps, and not before its
// time.
func TestKeyIsRotatedByAge(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, func(o *Options) { o.RequireMFA, o.SigningKeyAge = false, 30*24*time.Hour })
	never := w.open(func(o *Options) { o.SigningKeyAge = -1 })
	w.user("u", api.RoleAdmin)
	first := w.keyIDs(w.Service)
	sweep := func(s *Service) []string {
		if err := s.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
		return w.keyIDs(s)
	}
	w.clock.add(30*24*time.Hour - time.Second)
	if d := cmp.Diff(first, sweep(w.Service)); d != "" {
		t.Errorf("before its age: %s", d)
	}
	w.clock.add(time.Second)
	if d := cmp.Diff(first, sweep(never)); d != "" {
		t.Errorf("by a service that never does: %s", d)
	}
	old := w.login("u").Token
	after := sweep(w.Service)
	if len(after) != 2 || after[0] != first[0] {
		t.Errorf("at its age: %v", after)
	}
	if d := cmp.Diff(after, sweep(w.open(func(o *Options) { o.SigningKeyAge = 30 * 24 * time.Hour }))); d != "" {
		t.Errorf("by another replica, again: %s", d)
	}
	if _, err := w.Authenticate(ctx, old); err != nil {
		t.Errorf("a token of the former key: %v", err)
	}
}

// TestReplicaSignsWithTheNewKey soon after another has rotated it.
func TestReplicaSignsWithTheNewKey(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, noMFA)
	w.user("u", api.RoleAdmin)
	other := w.open(noMFA)
	if err := w.RotateSigningKey(ctx); err != nil {
		t.Fatal(err)
	}
	w.clock.add(reloadAfter)
	r, err := other.Login(ctx, "u", goodPassword, "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	w.clock.add(DefaultSigningKeyAge) // the old key is long gone
	if _, err := w.Authenticate(ctx, r.Token); !errors.Is(err, api.ErrTokenExpired) {
		t.Errorf("signed with the old key: %v", err)
	}
}
