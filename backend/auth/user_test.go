package auth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/storetest"
	"github.com/google/go-cmp/cmp"
)

func (w *world) account(name string) (a account) {
	w.t.Helper()
	err := w.store.View(context.Background(), func(tx store.Tx) (err error) {
		a, err = byName(tx, name)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

func (w *world) count(bucket string) (n int) {
	w.t.Helper()
	err := w.store.View(context.Background(), func(tx store.Tx) error {
		for _, err := range tx.Scan(bucket, nil, nil, false) {
			if err != nil {
				return err
			}
			n++
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// TestPermissionTable is the whole table: a change of it is a change here.
func TestPermissionTable(t *testing.T) {
	want := map[string][]api.Permission{
		api.RoleAdmin:      {"read", "upload", "detect", "assets.write", "sites.write", "models.write", "orders.write", "telemetry.write", "upload.own", "users.write", "audit.read", "log.read"},
		api.RoleOperator:   {"read", "upload", "detect", "assets.write", "sites.write", "models.write", "orders.write", "telemetry.write", "upload.own"},
		api.RoleTechnician: {"read", "detect", "orders.write"},
		api.RoleAnalyst:    {"read"},
		api.RoleCollector:  {"telemetry.write", "upload.own"},
		"role_unknown":     nil,
		"":                 nil,
	}
	for role, may := range want {
		for _, p := range api.Permissions() {
			listed := false
			for _, m := range may {
				listed = listed || m == p
			}
			if May(role, p) != listed {
				t.Errorf("%q may %s: %v", role, p, May(role, p))
			}
		}
		if !May(role, api.PermissionNone) {
			t.Errorf("%q may not do what needs nothing", role)
		}
		if d := cmp.Diff(may, Permissions(role)); d != "" {
			t.Error(d)
		}
	}
	if d := cmp.Diff([]string{api.RoleAdmin, api.RoleOperator, api.RoleTechnician, api.RoleAnalyst, api.RoleCollector}, Roles()); d != "" {
		t.Error(d)
	}
}

func TestFirstAdmin(t *testing.T) {
	w := newWorld(t, nil)
	ctx := context.Background()
	var made atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if _, err := w.CreateFirstAdmin(ctx, "admin"+string(rune('a'+i)), goodPassword, "192.0.2.1"); err == nil {
				made.Add(1)
			}
		})
	}
	wg.Wait()
	users, err := w.users()
	if err != nil {
		t.Fatal(err)
	}
	if made.Load() != 1 || len(users) != 1 || users[0].Role != api.RoleAdmin || !cmp.Equal(users[0].Customers, []string{"*"}) {
		t.Errorf("%d made, users %+v", made.Load(), users)
	}
	if needs, err := w.NeedsAdmin(ctx); needs || err != nil {
		t.Errorf("needs admin %v, %v", needs, err)
	}
}

func TestUserRefusals(t *testing.T) {
	w := newWorld(t, nil)
	ctx := context.Background()
	w.user("Émile", api.RoleAdmin)
	for _, c := range []struct {
		name   string
		user   NewUser
		status int
	}{
		{"short password", NewUser{Username: "a", Password: "seven77", Role: api.RoleAnalyst}, 400},
		{"no name", NewUser{Password: goodPassword, Role: api.RoleAnalyst}, 400},
		{"escape in the name", NewUser{Username: "a\x1b[2J", Password: goodPassword, Role: api.RoleAnalyst}, 400},
		{"space in the name", NewUser{Username: "a b", Password: goodPassword, Role: api.RoleAnalyst}, 400},
		{"long name", NewUser{Username: strings.Repeat("a", 65), Password: goodPassword, Role: api.RoleAnalyst}, 400},
		{"unknown role", NewUser{Username: "a", Password: goodPassword, Role: "root"}, 400},
		{"taken in another case and form", NewUser{Username: "e\u0301mile", Password: goodPassword, Role: api.RoleAnalyst}, 409},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := w.CreateUser(ctx, c.user)
			var refused *api.Error
			if !errors.As(err, &refused) || refused.Status != c.status {
				t.Errorf("error %v, want status %d", err, c.status)
			}
		})
	}
}

func TestLastAdminStays(t *testing.T) {
	w := newWorld(t, nil)
	w.user("one", api.RoleAdmin)
	w.user("two", api.RoleAdmin)
	if err := w.change("one", UserChange{Active: new(false)}); err != nil {
		t.Fatal(err)
	}
	var refused *api.Error
	if err := w.change("two", UserChange{Active: new(false)}); !errors.As(err, &refused) || refused.Status != 409 {
		t.Errorf("deactivated: %v", err)
	}
	if err := w.change("two", UserChange{Role: api.RoleAnalyst}); !errors.As(err, &refused) || refused.Status != 409 {
		t.Errorf("demoted: %v", err)
	}
	if a := w.account("two"); a.Inactive || a.Role != api.RoleAdmin {
		t.Errorf("a refused change was kept: %+v", a)
	}
	if err := w.change("unknown", UserChange{Role: api.RoleAnalyst}); !errors.Is(err, api.ErrUserNotFound) {
		t.Errorf("unknown user: %v", err)
	}
}

func TestChangesActAtOnce(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name   string
		change func(*world) error
		ends   bool
	}{
		{"role", func(w *world) error { return w.change("user", UserChange{Role: api.RoleAnalyst}) }, false},
		{"customers", func(w *world) error { return w.change("user", UserChange{Customers: []string{"other"}}) }, false},
		{"password", func(w *world) error { return w.change("user", UserChange{Password: new(goodPassword + "!")}) }, true},
		{"deactivated", func(w *world) error { return w.change("user", UserChange{Active: new(false)}) }, true},
		{"authenticator reset", func(w *world) error { return w.change("user", UserChange{ResetTOTP: true}) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, noMFA)
			w.user("user", api.RoleOperator, "customer123")
			token := w.login("user").Token
			before, err := w.Authenticate(ctx, token)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.change(w); err != nil {
				t.Fatal(err)
			}
			after, err := w.Authenticate(ctx, token)
			if c.ends {
				if !errors.Is(err, api.ErrInvalidToken) {
					t.Errorf("the token still opens: %v", err)
				}
				return
			}
			if err != nil || cmp.Equal(before, after) {
				t.Errorf("nothing changed: %+v, %v", after, err)
			}
		})
	}
}

// TestNoSecretAtRest looks for every secret in the whole data folder.
func TestNoSecretAtRest(t *testing.T) {
	w := newWorld(t, nil)
	ctx := context.Background()
	w.user("admin", api.RoleAdmin)
	pending := w.login("admin")
	secret, r := w.enrolled("admin")
	plain, _, err := w.CreateKey(ctx, NewKey{Name: "k", Sites: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	secrets := append([]string{goodPassword, secret, secretOf(t, pending.ProvisioningURI), r.Token, pending.MFAToken, plain,
		plain[len(keyPrefix)+keyIDLen : len(plain)-keyCheckLen]}, r.RecoveryCodes...)
	w.keyring.mu.RLock()
	for _, k := range w.keyring.keys {
		secrets = append(secrets, string(k.Seed()))
	}
	w.keyring.mu.RUnlock()
	files, err := storetest.Bytes(w.dir)
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	for path, text := range files {
		for i, secret := range secrets {
			if storetest.Reveals(text, secret) {
				t.Errorf("secret %d lies open in %s", i, filepath.Base(path))
			}
		}
	}
	info, err := os.Stat(filepath.Join(w.dir, "auth.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key file mode %v, %v", info.Mode(), err)
	}
}

func TestKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k")
	var keys [8]Key
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			var err error
			if keys[i], err = LoadKey(path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, k := range keys {
		if k != keys[0] || k == (Key{}) {
			t.Fatal("two callers got two keys")
		}
	}
	if err := os.WriteFile(path, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKey(path); err == nil {
		t.Error("a broken key file was taken")
	}
}

func TestSealIsBoundToItsPlace(t *testing.T) {
	s, err := newSealer(Key{1})
	if err != nil {
		t.Fatal(err)
	}
	sealed := s.seal([]byte("secret"), "totp/a")
	if got, err := s.open(sealed, "totp/a"); err != nil || string(got) != "secret" {
		t.Errorf("open: %q, %v", got, err)
	}
	if _, err := s.open(sealed, "totp/b"); err == nil {
		t.Error("opened in another place")
	}
	other, err := newSealer(Key{2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.open(sealed, "totp/a"); err == nil {
		t.Error("opened with another key")
	}
}

// TestFingerprint is the same for the same secret, and cannot be guessed
// without the key file.
func TestFingerprint(t *testing.T) {
	w := newWorld(t, nil)
	other, err := newSealer(Key{2})
	if err != nil {
		t.Fatal(err)
	}
	bare := sha256.Sum256([]byte("secret"))
	mark := w.Fingerprint([]byte("secret"), "a")
	if !bytes.Equal(mark, w.Fingerprint([]byte("secret"), "a")) {
		t.Error("the same secret has another fingerprint")
	}
	for name, other := range map[string][]byte{"another secret": w.Fingerprint([]byte("secrets"), "a"), "another place": w.Fingerprint([]byte("secret"), "b"),
		"a bare hash": bare[:], "another key": other.hash("secret", "a")} {
		if bytes.Equal(mark, other) {
			t.Errorf("%s has the same fingerprint", name)
		}
	}
}

func TestStoreFailureIsNoRefusal(t *testing.T) {
	w := newWorld(t, noMFA)
	w.user("u", api.RoleAdmin)
	token := w.login("u").Token
	broken := errors.New("disk on fire")
	w.records = failing{broken}
	ctx := context.Background()
	_, errLogin := w.Login(ctx, "u", goodPassword, "a")
	_, errVerify := w.VerifyMFA(ctx, "x", "y")
	_, errToken := w.Authenticate(ctx, token)
	for i, err := range []error{errLogin, errVerify, errToken, w.Logout(ctx, token)} {
		if !errors.Is(err, broken) {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

// Group and skin are set and taken away, and stand in the tokens from the next
// one on.
func TestGroupAndSkin(t *testing.T) {
	w := newWorld(t, nil)
	by := w.As(api.Unlimited("test"))
	u, err := by.AddUser(t.Context(), NewUser{Username: "ana", Password: goodPassword, Role: api.RoleAnalyst, Customers: []string{"acme"}, GroupID: "north", SkinID: "dark"})
	if err != nil || u.GroupID != "north" || u.SkinID != "dark" {
		t.Fatalf("%+v, %v", u, err)
	}
	if wire := w.account("ana").wire(); wire.GroupID != "north" || wire.SkinID != "dark" {
		t.Errorf("at sign-in %+v", wire)
	}
	text := func(s string) *string { return &s }
	before, after, err := by.ChangeUser(t.Context(), UserRef{Username: "ana"}, UserChange{GroupID: text("south"), SkinID: text("")})
	if err != nil || before.GroupID != "north" || after.GroupID != "south" || after.SkinID != "" || after.Record().GroupID != "south" {
		t.Errorf("%+v, then %+v, %v", before, after, err)
	}
	if _, after, err := by.ChangeUser(t.Context(), UserRef{Username: "ana"}, UserChange{Role: api.RoleOperator}); err != nil || after.GroupID != "south" {
		t.Errorf("another change leaves %+v, %v", after, err)
	}
	for _, wrong := range []string{strings.Repeat("g", 201), "a\nb", "\x1b[2J"} {
		var refusal *api.Error
		if _, _, err := by.ChangeUser(t.Context(), UserRef{Username: "ana"}, UserChange{SkinID: &wrong}); !errors.As(err, &refusal) || refusal.Details["field"] != "skin_id" {
			t.Errorf("%q: %v", wrong, err)
		}
		if _, err := by.AddUser(t.Context(), NewUser{Username: "eve", Password: goodPassword, Role: api.RoleAnalyst, GroupID: wrong}); !errors.As(err, &refusal) || refusal.Details["field"] != "group_id" {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// TestReplicasHaveOneSetupToken: every service over the same records and key
// makes the same token, which the records do not reveal and which the first user ends.
func TestReplicasHaveOneSetupToken(t *testing.T) {
	shared := func(o *Options) { o.Shared = true }
	w := newWorld(t, shared)
	other := w.open(shared)
	ctx := context.Background()
	token, err := w.SetupToken(ctx)
	if err != nil || len(token) != 27 {
		t.Fatalf("setup token %q, %v", token, err)
	}
	if same, err := other.SetupToken(ctx); same != token || err != nil {
		t.Errorf("another replica has the token %q, %v", same, err)
	}
	if err := other.CheckSetupToken(ctx, token, "127.0.0.1"); err != nil {
		t.Errorf("the token of one replica at another: %v", err)
	}
	foreign, err := newSealer(Key{9})
	if err != nil {
		t.Fatal(err)
	}
	err = w.store.View(ctx, func(tx store.Tx) error {
		n, err := setupNonces.Get(tx, setupNonces.Key(setupNonce{}))
		if (&Service{sealer: foreign}).setupToken(n) == token {
			t.Error("the records make the token without the key")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w.user("first", api.RoleAnalyst)
	if err := other.CheckSetupToken(ctx, token, "127.0.0.1"); !errors.Is(err, errHasUsers()) && !strings.Contains(err.Error(), "exists already") {
		t.Errorf("the token after a user was made: %v", err)
	}
	if n := w.count(setupNonces.Bucket); n != 0 {
		t.Errorf("%d setup tokens are left", n)
	}
}
