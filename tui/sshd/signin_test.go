//go:build !windows

package sshd_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	gossh "golang.org/x/crypto/ssh"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/tui/sshd"
)

// TestSignInWithoutSecondFactor: a key, a password and the answer to a question
// each open a console with a token of the user's, which ends with the line.
func TestSignInWithoutSecondFactor(t *testing.T) {
	w := open(t, false, sshd.Limits{})
	key, other := newKey(t), newKey(t)
	w.user("ana", key)
	w.user("ben")
	for name, method := range map[string]gossh.AuthMethod{
		"key": gossh.PublicKeys(other, key), "password": gossh.Password(password),
		"question": gossh.KeyboardInteractive((&questions{answers: []func() string{says(password)}}).ask),
	} {
		c, err := w.dial("Ana", nil, method)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		s := w.openConsole(c)
		shown := w.next()
		if who, err := w.service.Auth().Authenticate(t.Context(), shown.Client.Credential()); err != nil || who.Name != "ana" || who.Role != api.RoleOperator || shown.Login.User.Username != "ana" {
			t.Errorf("%s: the console is %+v's: %v", name, who, err)
		}
		token := shown.Client.Credential()
		if _, err := shown.Client.Sites(t.Context(), api.ListQuery{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := s.in.Write([]byte("q")); err != nil {
			t.Error(err)
		}
		if got := status(s.Wait()); got != 0 {
			t.Errorf("%s: the session ended with %d: %s", name, got, s.err.text())
		}
		if !w.good(token) {
			t.Errorf("%s: the token ended with the console, not with the line", name)
		}
		_ = c.Close()
		w.until("the token ends", func() bool { return !w.good(token) })
	}
	for name, try := range map[string]struct {
		user   string
		method []gossh.AuthMethod
	}{
		"nothing":                 {"ana", nil},
		"a key of no user":        {"ana", []gossh.AuthMethod{gossh.PublicKeys(other)}},
		"another user's key":      {"ben", []gossh.AuthMethod{gossh.PublicKeys(key)}},
		"a wrong password":        {"ben", []gossh.AuthMethod{gossh.Password("wrong")}},
		"no password":             {"ben", []gossh.AuthMethod{gossh.Password("")}},
		"a wrong answer":          {"ben", []gossh.AuthMethod{gossh.KeyboardInteractive((&questions{answers: []func() string{says("wrong")}}).ask)}},
		"unknown":                 {"unknown", []gossh.AuthMethod{gossh.Password(password)}},
		"a name that is far long": {strings.Repeat("n", 20000), []gossh.AuthMethod{gossh.Password(password), gossh.PublicKeys(key)}},
		"a name of rubbish":       {"\x00\xff\x1b[31m", []gossh.AuthMethod{gossh.Password(password), gossh.PublicKeys(key)}},
	} {
		if _, err := w.dial(try.user, nil, try.method...); err == nil {
			t.Errorf("%s opens a connection", name)
		}
	}
}

// TestSecondFactor: for a user with an authenticator, neither key nor password
// opens anything without its code.
func TestSecondFactor(t *testing.T) {
	w := open(t, true, sshd.Limits{})
	key := newKey(t)
	w.user("ana", key)
	code := w.enrol("ana")
	for name, method := range map[string]gossh.AuthMethod{"key": gossh.PublicKeys(key), "password": gossh.Password(password)} {
		if _, err := w.dial("ana", nil, method); err == nil {
			t.Errorf("the %s alone opens a connection", name)
		}
		q := &questions{answers: []func() string{says("000000"), says(""), code}}
		c, err := w.dial("ana", nil, method, gossh.KeyboardInteractive(q.ask))
		if err != nil {
			t.Errorf("%s and code: %v, message %q", name, err, q.said)
			continue
		}
		if want := []string{"Invalid TOTP code.", "Missing required field: totp_code."}; !slices.Equal(q.said, want) || len(q.asked) != 3 {
			t.Errorf("%s: message %q and prompt %q, want message %q", name, q.said, q.asked, want)
		}
		s := w.openConsole(c)
		if shown := w.next(); !w.good(shown.Client.Credential()) || shown.Login.User.Username != "ana" {
			t.Errorf("%s and code: the console has no token of the user's", name)
		}
		_ = s.Close()
		_ = c.Close()
	}
	q := &questions{answers: []func() string{says(password), code}}
	if _, err := w.dial("ana", nil, gossh.KeyboardInteractive(q.ask)); err != nil || len(q.asked) != 2 {
		t.Errorf("password and code as questions: %v, asked %q", err, q.asked)
	}
	wrong := slices.Repeat([]func() string{says("000000")}, api.ChallengeTries)
	q = &questions{answers: append([]func() string{says(password)}, wrong...)}
	if _, err := w.dial("ana", nil, gossh.KeyboardInteractive(q.ask)); err == nil || len(q.asked) != 1+api.ChallengeTries {
		t.Errorf("wrong codes: %v, asked %d times", err, len(q.asked))
	}
	// The wrong ones have used up the account's budget, which is the service's.
	q = &questions{answers: append([]func() string{says(password)}, wrong...)}
	if _, err := w.dial("ana", nil, gossh.KeyboardInteractive(q.ask)); err == nil {
		t.Error("wrong codes open a connection")
	}
	q = &questions{answers: []func() string{says(password), code}}
	if _, err := w.dial("ana", nil, gossh.KeyboardInteractive(q.ask)); err == nil || len(q.said) != 1 || !strings.HasPrefix(q.said[0], "Too many requests, try again in ") {
		t.Errorf("a right code when the budget is spent: %v, message %q", err, q.said)
	}
}

// TestSetUpOfTheSecondFactor: a user who must have an authenticator and has
// none gets a console without a session, and sets it up there.
func TestSetUpOfTheSecondFactor(t *testing.T) {
	w := open(t, true, sshd.Limits{})
	key := newKey(t)
	w.user("ana", key)
	for name, method := range map[string]gossh.AuthMethod{"key": gossh.PublicKeys(key), "password": gossh.Password(password)} {
		c, err := w.dial("ana", nil, method)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		w.openConsole(c)
		s := w.next()
		if s.Client.Credential() != "" || s.Login.Token != "" || !s.Login.MFAEnrollment || !strings.HasPrefix(s.Login.ProvisioningURI, "otpauth://") {
			t.Errorf("%s: the console has %+v", name, s.Login)
		}
		if _, err := s.Client.Sites(t.Context(), api.ListQuery{}); err == nil {
			t.Errorf("%s: the console reads", name)
		}
		_ = c.Close()
	}
}

// TestNetworkOfASignInIsKnown: after a sign-in over SSH, by a key or by a
// password, guesses from elsewhere do not slow the user at this address.
func TestNetworkOfASignInIsKnown(t *testing.T) {
	for _, byKey := range []bool{true, false} {
		w := open(t, false, sshd.Limits{})
		key := newKey(t)
		w.user("ana", key)
		method := gossh.Password(password)
		if byKey {
			method = gossh.PublicKeys(key)
		}
		for _, try := range []string{"before", "after"} {
			c, err := w.dial("ana", nil, method)
			if err != nil {
				t.Fatalf("by key %v, %s the guesses: %v", byKey, try, err)
			}
			_ = c.Close()
			slowed := false
			for i := range 30 {
				_, err := w.service.Auth().Login(t.Context(), "ana", "wrong", fmt.Sprintf("198.18.%d.1", i))
				slowed = slowed || errors.Is(err, api.ErrTooManyRequests)
			}
			if !slowed {
				t.Error("30 guesses from 30 networks are not slowed")
			}
			method = gossh.Password(password)
		}
	}
}

// TestLockedAccount: wrong passwords over SSH count as anywhere else, from the
// address that they came from.
func TestLockedAccount(t *testing.T) {
	w := open(t, false, sshd.Limits{})
	key := newKey(t)
	w.user("ana", key)
	for range 5 {
		if _, err := w.dial("ana", nil, gossh.Password("wrong")); err == nil {
			t.Fatal("a wrong password opens a connection")
		}
	}
	q := &questions{answers: []func() string{says(password)}}
	if _, err := w.dial("ana", nil, gossh.KeyboardInteractive(q.ask)); err == nil || len(q.said) != 1 || !strings.HasPrefix(q.said[0], "Too many requests, try again in ") {
		t.Errorf("the right password of a locked account: %v, message %q", err, q.said)
	}
	var banner strings.Builder
	if _, err := w.dial("ana", &banner, gossh.Password(password)); err == nil || !strings.HasPrefix(banner.String(), "Too many requests") {
		t.Errorf("the same by the password method: %v, message %q", err, banner.String())
	}
	if _, err := w.service.Auth().Login(t.Context(), "ana", password, "127.0.0.1"); err == nil {
		t.Error("the lock is not the service's own")
	}
	if _, err := w.service.Auth().Login(t.Context(), "ana", password, "192.0.2.9"); err != nil {
		t.Errorf("a client at one address locks the user out at others: %v", err)
	}
	trail, _, err := w.service.Trail().List(t.Context(), api.Unlimited(""), api.AuditQuery{Page: api.Page{Limit: 100}})
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, r := range trail {
		if r.Route == "login" && r.Status == 401 && r.Address == "127.0.0.1" {
			refused++
		}
	}
	if refused != 5 {
		t.Errorf("the trail has %d refused sign-ins, want 5", refused)
	}
}

// TestUsersWhoAreRefused hears so, but only with the right password; by key there is
// nothing to hear.
func TestUsersWhoAreRefused(t *testing.T) {
	w := open(t, false, sshd.Limits{})
	key := newKey(t)
	w.user("ana", key)
	w.signedIn("ana", key)
	w.change("ana", auth.UserChange{Active: new(false)})
	var banner strings.Builder
	if _, err := w.dial("ana", &banner, gossh.PublicKeys(key), gossh.Password("wrong")); err == nil || banner.String() != "" {
		t.Errorf("key and wrong password: %v, message %q", err, banner.String())
	}
	if _, err := w.dial("ana", &banner, gossh.Password(password)); err == nil || banner.String() != "User account is inactive.\n" {
		t.Errorf("the right password: %v, message %q", err, banner.String())
	}
	trail, _, err := w.service.Trail().List(t.Context(), api.Unlimited(""), api.AuditQuery{Page: api.Page{Limit: 100}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(trail, func(r api.AuditRecord) bool {
		return r.Route == "login" && r.Action == api.ActionSSHKey && r.Actor == "ana" && r.Status == 200 && strings.HasPrefix(r.Address, "127.0.0.1")
	}) {
		t.Errorf("the trail has no sign-in by key: %+v", trail)
	}
}
