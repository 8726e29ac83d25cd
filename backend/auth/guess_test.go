package auth

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

func TestGuessablePasswords(t *testing.T) {
	w := newWorld(t, nil)
	ctx := context.Background()
	ana := w.user("ana.lima@example.org", api.RoleAdmin)
	for _, c := range []struct {
		password string
		reason   string // empty: taken
	}{
		{goodPassword, ""},
		{"Kleine Eule 27", ""},
		{"夜に光る電池の秘密箱", ""},
		{"my password is long", ""},
		{"xk2-99-qfz", ""},
		{"seven77", "at least 8"},
		{strings.Repeat("é", 7), "at least 8"},
		{"password", "attacker"},
		{"𝐏𝐀𝐒𝐒𝐖𝐎𝐑𝐓2025", "attacker"},
		{"P@ssw0rd!", "attacker"},
		{"Passwort2025", "attacker"},
		{"contraseña1", "attacker"},
		{"SUMMER2026!", "attacker"},
		{"sunloop123", "attacker"},
		{"adminadmin", "attacker"},
		{"12345678", "attacker"},
		{"87654321", "attacker"},
		{"qwertyuiop", "attacker"},
		{"poiuytrewq", "attacker"},
		{"1qaz2wsx", "attacker"},
		{"aaaaaaaa", "attacker"},
		{"éééééééé", "attacker"},
		{"Ana.Lima@example.org", "username"},
		{"Ana.Lima2025", "username"},
		{"amil.ana1", "username"},
		{"ana.limaana.lima", "username"},
	} {
		err := w.change(ana.Username, UserChange{Password: &c.password})
		var refused *api.Error
		switch {
		case c.reason == "" && err != nil:
			t.Errorf("%q: %v", c.password, err)
		case c.reason != "" && (!errors.As(err, &refused) || refused.Status != 400 || refused.Details["field"] != "password" || !strings.Contains(refused.Details["reason"].(string), c.reason)):
			t.Errorf("%q: %v, want a refusal for %q", c.password, err, c.reason)
		}
	}
	if _, err := w.CreateUser(ctx, NewUser{Username: "benjamin", Password: "Benjamin1", Role: api.RoleAnalyst}); err == nil {
		t.Error("a password of the name is taken with a new user")
	}
}

// counted counts the transactions of a store.
type counted struct {
	store.Records
	views, updates atomic.Int64
}

func (c *counted) View(ctx context.Context, f func(store.Tx) error) error {
	c.views.Add(1)
	return c.Records.View(ctx, f)
}

func (c *counted) Update(ctx context.Context, f func(store.Tx) error) error {
	c.updates.Add(1)
	return c.Records.Update(ctx, f)
}

// TestLoginDoesNotRevealUsernames: a wrong password costs the same transactions and
// hashes, and is answered alike, whether or not there is such a user, and
// whatever state the account is in.
func TestLoginDoesNotRevealUsernames(t *testing.T) {
	w := newWorld(t, nil)
	ctx := context.Background()
	w.user("boss", api.RoleAdmin)
	w.enrolled("boss")
	w.user("fresh", api.RoleAnalyst)
	w.user("gone", api.RoleAnalyst)
	out := false
	if err := w.change("gone", UserChange{Active: &out}); err != nil {
		t.Fatal(err)
	}
	records := &counted{Records: w.store}
	s := w.open(func(o *Options) { o.Records = records })
	type effort struct{ views, updates, hashes int64 }
	var first effort
	for i, name := range []string{"unknown", "boss", "fresh", "gone", "BOSS", "unknown@example.org"} {
		views, updates, hashes := records.views.Load(), records.updates.Load(), s.passwords.worked.Load()
		r, err := s.Login(ctx, name, "not the password", "192.0.2.1")
		if !errors.Is(err, api.ErrInvalidCredential) || !answersNothing(r) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		got := effort{records.views.Load() - views, records.updates.Load() - updates, s.passwords.worked.Load() - hashes}
		if i == 0 {
			first = got
		}
		if got != first || got.hashes != 1 {
			t.Errorf("%s costs %+v, an unknown name %+v", name, got, first)
		}
	}
}

func answersNothing(r api.LoginResponse) bool {
	return !r.Success && r.Token == "" && r.MFAToken == "" && !r.MFARequired && r.ProvisioningURI == "" && r.User == nil && r.Account == nil
}

// TestStateBeforeASignIn is worthless after it, and is no session: a
// challenge, and the id of one.
func TestStateBeforeASignIn(t *testing.T) {
	w := newWorld(t, nil)
	ctx := context.Background()
	w.user("ana", api.RoleAdmin)
	secret, _ := w.enrolled("ana")
	w.clock.add(time.Minute)
	c := w.login("ana")
	none := func(when, credential string) {
		t.Helper()
		if p, err := w.Authenticate(ctx, credential); err == nil || p.ID != "" {
			t.Errorf("%s a challenge opens %+v", when, p)
		}
		if r, err := w.Refresh(ctx, credential); err == nil {
			t.Errorf("%s a challenge is renewed: %+v", when, r)
		}
	}
	none("before the code", c.MFAToken)
	r, err := w.VerifyMFA(ctx, c.MFAToken, w.code(secret))
	if err != nil {
		t.Fatal(err)
	}
	none("after the code", c.MFAToken)
	w.clock.add(time.Minute)
	if _, err := w.VerifyMFA(ctx, c.MFAToken, w.code(secret)); !errors.Is(err, api.ErrMFATokenExpired) {
		t.Errorf("a challenge that was answered: %v", err)
	}
	if _, err := w.VerifyMFA(ctx, r.Token, w.code(secret)); !errors.Is(err, api.ErrMFATokenExpired) {
		t.Errorf("a token as a challenge: %v", err)
	}
	second := w.login("ana")
	again, err := w.VerifyMFA(ctx, second.MFAToken, w.code(secret))
	if err != nil || again.Token == r.Token || second.MFAToken == c.MFAToken {
		t.Errorf("two sign-ins share a token or challenge: %v", err)
	}
}

// BenchmarkSignInOfUnknownUser compares the time of a wrong password for a user and
// for an unknown name: medians in ms and their difference in per cent, which
// should be at most 5.
func BenchmarkSignInOfUnknownUser(b *testing.B) {
	w := newWorld(b, func(o *Options) { o.Argon = nil })
	w.user("ana", api.RoleAdmin)
	tries := map[string][]time.Duration{}
	names := []string{"ana", "unknown"}
	for b.Loop() {
		// The second of two costs a tenth more, in either order: the garbage of the first is collected then.
		slices.Reverse(names)
		for _, name := range names {
			begun := time.Now()
			if _, err := w.Login(context.Background(), name, "not the password", strconv.Itoa(len(tries[name]))); !errors.Is(err, api.ErrInvalidCredential) {
				b.Fatal(err)
			}
			tries[name] = append(tries[name], time.Since(begun))
		}
	}
	median := func(name string) float64 {
		list := slices.Sorted(slices.Values(tries[name]))
		return list[len(list)/2].Seconds() * 1000
	}
	known, unknown := median("ana"), median("unknown")
	b.ReportMetric(known, "known-ms")
	b.ReportMetric(unknown, "unknown-ms")
	b.ReportMetric(100*(unknown-known)/known, "apart-%")
}
