package auth

import (
	"context"
	"sync"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"github.com/alexedwards/argon2id"
	"github.com/pquerna/otp/totp"
)

// clock is a clock that a test turns.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

const goodPassword = "correct horse battery"

type world struct {
	*Service
	t     testing.TB
	clock *clock
	dir   string
	store *bolt.Store
}

var cheap = argon2id.Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}

func newWorld(t testing.TB, edit func(*Options)) *world {
	t.Helper()
	w := &world{t: t, clock: &clock{t: time.Date(2025, 10, 1, 8, 0, 7, 0, time.UTC)}, dir: t.TempDir()}
	var err error
	w.store, err = bolt.Open(w.dir, bolt.Options{Now: w.clock.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.store.Close(); err != nil {
			t.Error(err)
		}
	})
	w.Service = w.open(edit)
	return w
}

// open opens a service over the same store, as another replica would.
func (w *world) open(edit func(*Options)) *Service {
	w.t.Helper()
	o := Options{Records: w.store, Key: w.key(), Now: w.clock.now, RequireMFA: true, Argon: &cheap}
	if edit != nil {
		edit(&o)
	}
	s, err := New(context.Background(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) key() Key {
	w.t.Helper()
	key, err := LoadKey(w.dir + "/auth.key")
	if err != nil {
		w.t.Fatal(err)
	}
	return key
}

func noMFA(o *Options) { o.RequireMFA = false }

func (w *world) user(name, role string, customers ...string) User {
	w.t.Helper()
	u, err := w.CreateUser(context.Background(), NewUser{Username: name, Password: goodPassword, Role: role, Customers: customers})
	if err != nil {
		w.t.Fatal(err)
	}
	return u
}

// boss is the operator.
func (w *world) boss() Administrator { return w.As(api.Unlimited("boss")) }

func (w *world) change(name string, c UserChange) error {
	_, _, err := w.boss().ChangeUser(context.Background(), UserRef{Username: name}, c)
	return err
}

func (w *world) users() ([]User, error) {
	users, _, err := w.boss().Users(context.Background(), UserFilter{}, api.Page{})
	return users, err
}

func (w *world) keys() ([]APIKey, error) {
	keys, _, err := w.boss().Keys(context.Background(), KeyFilter{}, api.Page{})
	return keys, err
}

func (w *world) revoke(id string) error {
	_, _, err := w.boss().RevokeKey(context.Background(), id)
	return err
}

func (w *world) login(name string) api.LoginResponse {
	w.t.Helper()
	r, err := w.Login(context.Background(), name, goodPassword, "192.0.2.1")
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// enrolled signs a user in for the first time and returns the secret of the
// authenticator.
func (w *world) enrolled(name string) (secret string, r api.LoginResponse) {
	w.t.Helper()
	c := w.login(name)
	secret = secretOf(w.t, c.ProvisioningURI)
	r, err := w.VerifyMFA(context.Background(), c.MFAToken, w.code(secret))
	if err != nil {
		w.t.Fatal(err)
	}
	return secret, r
}

func (w *world) code(secret string) string {
	w.t.Helper()
	code, err := totp.GenerateCode(secret, w.clock.now())
	if err != nil {
		w.t.Fatal(err)
	}
	return code
}

// failing is a store whose transactions fail.
type failing struct{ err error }

func (f failing) View(context.Context, func(store.Tx) error) error   { return f.err }
func (f failing) Update(context.Context, func(store.Tx) error) error { return f.err }
func (f failing) Together(context.Context, int, func(context.Context, int) error) error {
	return f.err
}
