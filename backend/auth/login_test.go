package auth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"github.com/alexedwards/argon2id"
	"github.com/google/go-cmp/cmp"
	"github.com/pquerna/otp"
)

func secretOf(t testing.TB, uri string) string {
	t.Helper()
	k, err := otp.NewKeyFromURL(uri)
	if err != nil {
		t.Fatalf("provisioning URI %q: %v", uri, err)
	}
	return k.Secret()
}

func TestLoginWithoutMFA(t *testing.T) {
	w := newWorld(t, noMFA)
	ctx := context.Background()
	w.user("Thandi", api.RoleOperator, "customer123")

	r := w.login("thandi")
	want := &api.User{UserID: r.User.UserID, Username: "Thandi", RoleID: api.RoleOperator, RoleName: "Operator",
		CustomerIDs: []string{"customer123"}, ApplicationPermissions: []string{"read", "upload", "detect", "assets.write", "sites.write", "models.write", "orders.write", "telemetry.write", "upload.own"}}
	if d := cmp.Diff(want, r.User); d != "" {
		t.Error(d)
	}
	if r.MFARequired || r.ExpiresIn != 24*3600 {
		t.Errorf("answer %+v", r)
	}
	p, err := w.Authenticate(ctx, r.Token)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Principal{Kind: KindUser, ID: r.User.UserID, Name: "Thandi", Role: api.RoleOperator, Customers: []string{"customer123"}, Sites: []string{"*"}}, p); d != "" {
		t.Error(d)
	}
	if !p.CanCustomer("customer123") || p.CanCustomer("other") || !p.CanSite("any") || !p.May(api.PermissionUpload) || p.May(api.PermissionUsers) {
		t.Error("scope or permissions are wrong")
	}
}

func TestLoginRefusals(t *testing.T) {
	w := newWorld(t, noMFA)
	ctx := context.Background()
	w.user("admin", api.RoleAdmin)
	w.user("gone", api.RoleAnalyst)
	if err := w.change("gone", UserChange{Active: new(false)}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, username, password string
		want                     error
	}{
		{"wrong password", "admin", "wrong password", api.ErrInvalidCredential},
		{"unknown name", "unknown", goodPassword, api.ErrInvalidCredential},
		{"empty", "", "", api.ErrInvalidCredential},
		{"a name too long", strings.Repeat("a", 1000), goodPassword, api.ErrInvalidCredential},
		{"a password too long", "admin", strings.Repeat("a", 5000), api.ErrInvalidCredential},
		{"inactive", "gone", goodPassword, api.ErrUserInactive},
		{"inactive, wrong password", "gone", "wrong password", api.ErrInvalidCredential},
		{"good", "ADMIN", goodPassword, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := w.Login(ctx, c.username, c.password, "192.0.2."+c.name)
			if !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

func TestEnrolmentAndReplay(t *testing.T) {
	w := newWorld(t, nil)
	ctx := context.Background()
	w.user("lindiwe", api.RoleAdmin)

	c := w.login("lindiwe")
	if !c.MFARequired || !c.MFAEnrollment || c.Token != "" {
		t.Fatalf("answer %+v", c)
	}
	u, err := url.Parse(c.ProvisioningURI)
	if err != nil {
		t.Fatal(err)
	}
	if u.Path != "/Sunloop:lindiwe" || len(u.Query()) != 2 || u.Query().Get("issuer") != "Sunloop" {
		t.Errorf("provisioning URI %s: want only secret and issuer", c.ProvisioningURI)
	}
	secret := secretOf(t, c.ProvisioningURI)
	if _, err := w.VerifyMFA(ctx, c.MFAToken, "000000"); !errors.Is(err, api.ErrInvalidTOTP) {
		t.Errorf("wrong code: %v", err)
	}
	code := w.code(secret)
	r, err := w.VerifyMFA(ctx, c.MFAToken, code[:3]+" "+code[3:])
	if err != nil {
		t.Fatal(err)
	}
	if len(r.RecoveryCodes) != recoveryCodes || r.Token == "" {
		t.Errorf("answer %+v", r)
	}
	if _, err := w.VerifyMFA(ctx, c.MFAToken, code); !errors.Is(err, api.ErrMFATokenExpired) {
		t.Errorf("challenge used twice: %v", err)
	}

	c = w.login("lindiwe")
	if c.MFAEnrollment || c.ProvisioningURI != "" || !c.MFARequired {
		t.Fatalf("answer %+v", c)
	}
	if _, err := w.VerifyMFA(ctx, c.MFAToken, code); !errors.Is(err, api.ErrInvalidTOTP) {
		t.Errorf("the code of the enrolment was taken again: %v", err)
	}
	w.clock.add(totpPeriod * time.Second)
	next := w.code(secret)
	r, err = w.VerifyMFA(ctx, c.MFAToken, next)
	if err != nil {
		t.Fatal(err)
	}
	if r.RecoveryCodes != nil {
		t.Error("recovery codes shown twice")
	}
	c = w.login("lindiwe")
	for name, old := range map[string]string{"this step": next, "the step before": code} {
		if _, err := w.VerifyMFA(ctx, c.MFAToken, old); !errors.Is(err, api.ErrInvalidTOTP) {
			t.Errorf("code of %s taken again: %v", name, err)
		}
	}
}

func TestCodeSkew(t *testing.T) {
	secret, err := newTOTPSecret()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, nil)
	base := w.clock.now()
	for _, c := range []struct {
		steps int
		ok    bool
	}{{-2, false}, {-1, true}, {0, true}, {1, true}, {2, false}} {
		w.clock.t = base.Add(time.Duration(c.steps) * totpPeriod * time.Second)
		code := w.code(secret)
		if step, ok := matchStep(secret, code, base, 0); ok != c.ok || ok && step != base.Unix()/totpPeriod+int64(c.steps) {
			t.Errorf("code of step %+d: taken %v as step %d", c.steps, ok, step)
		}
	}
}

// TestRFC6238 holds the codes to appendix B of RFC 6238 (SHA-1), cut to six
// digits.
func TestRFC6238(t *testing.T) {
	secret := base32Text.EncodeToString([]byte("12345678901234567890"))
	for unix, code := range map[int64]string{59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130"} {
		if _, ok := matchStep(secret, code, time.Unix(unix, 0), 0); !ok {
			t.Errorf("code %s at %d is not taken", code, unix)
		}
	}
}

func TestConcurrentLoginsUseACodeOnce(t *testing.T) {
	w := newWorld(t, nil)
	w.user("racer", api.RoleAdmin)
	secret, _ := w.enrolled("racer")
	other := w.open(nil) // a second replica
	for range 100 {
		w.clock.add(2 * totpPeriod * time.Second)
		code := w.code(secret)
		var won atomic.Int32
		var wg sync.WaitGroup
		for i := range 2 {
			c := w.login("racer")
			s := w.Service
			if i%2 == 1 {
				s = other
			}
			wg.Go(func() {
				if _, err := s.VerifyMFA(context.Background(), c.MFAToken, code); err == nil {
					won.Add(1)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Fatalf("%d of 2 were let in by one code", won.Load())
		}
		w.clock.add(codeBudgetWindow)
	}
}

func TestRecoveryCodes(t *testing.T) {
	w := newWorld(t, nil)
	ctx := context.Background()
	w.user("lost", api.RoleAdmin)
	_, r := w.enrolled("lost")
	c := w.login("lost")
	if _, err := w.VerifyMFA(ctx, c.MFAToken, strings.ToUpper(r.RecoveryCodes[3])); err != nil {
		t.Fatalf("recovery code refused: %v", err)
	}
	c = w.login("lost")
	if _, err := w.VerifyMFA(ctx, c.MFAToken, r.RecoveryCodes[3]); !errors.Is(err, api.ErrInvalidTOTP) {
		t.Errorf("recovery code taken twice: %v", err)
	}
	users, err := w.users()
	if err != nil {
		t.Fatal(err)
	}
	if len(users) != 1 || users[0].RecoveryCodes != recoveryCodes-1 || !users[0].Enrolled {
		t.Errorf("users %+v", users)
	}
}

func TestChallengeEnds(t *testing.T) {
	ctx := context.Background()
	t.Run("by time", func(t *testing.T) {
		w := newWorld(t, nil)
		w.user("late", api.RoleAdmin)
		c := w.login("late")
		w.clock.add(api.ChallengeLifetime)
		if _, err := w.VerifyMFA(ctx, c.MFAToken, w.code(secretOf(t, c.ProvisioningURI))); !errors.Is(err, api.ErrMFATokenExpired) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("by tries", func(t *testing.T) {
		w := newWorld(t, nil)
		w.user("guess", api.RoleAdmin)
		c := w.login("guess")
		for range api.ChallengeTries {
			if _, err := w.VerifyMFA(ctx, c.MFAToken, "wrong"); !errors.Is(err, api.ErrInvalidTOTP) {
				t.Errorf("error %v", err)
			}
		}
		if _, err := w.VerifyMFA(ctx, c.MFAToken, w.code(secretOf(t, c.ProvisioningURI))); !errors.Is(err, api.ErrMFATokenExpired) {
			t.Errorf("sixth try: %v", err)
		}
	})
	t.Run("by another enrolment", func(t *testing.T) {
		w := newWorld(t, nil)
		w.user("twice", api.RoleAdmin)
		first := w.login("twice")
		w.enrolled("twice")
		if _, err := w.VerifyMFA(ctx, first.MFAToken, w.code(secretOf(t, first.ProvisioningURI))); !errors.Is(err, api.ErrMFATokenExpired) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a made-up one", func(t *testing.T) {
		w := newWorld(t, nil)
		if _, err := w.VerifyMFA(ctx, "made-up", "000000"); !errors.Is(err, api.ErrMFATokenExpired) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("swept", func(t *testing.T) {
		w := newWorld(t, nil)
		w.user("sweep", api.RoleAdmin)
		w.login("sweep")
		w.enrolled("sweep")
		w.clock.add(25 * time.Hour)
		if err := w.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
		for _, bucket := range []string{challenges.Bucket, sessions.Bucket, sessions.Bucket + "/user"} {
			if n := w.count(bucket); n != 0 {
				t.Errorf("%d left in %s", n, bucket)
			}
		}
	})
}

func TestCodeBudgetOverChallenges(t *testing.T) {
	w := newWorld(t, nil)
	ctx := context.Background()
	w.user("target", api.RoleAdmin)
	secret, _ := w.enrolled("target")
	w.clock.add(time.Hour)
	wrong := 0
	for range 10 {
		c := w.login("target")
		for range api.ChallengeTries {
			_, err := w.VerifyMFA(ctx, c.MFAToken, "000000")
			if errors.Is(err, api.ErrInvalidTOTP) {
				wrong++
			}
		}
	}
	if wrong != codeBudget {
		t.Errorf("%d codes were tried, the budget is %d", wrong, codeBudget)
	}
	c := w.login("target")
	_, err := w.VerifyMFA(ctx, c.MFAToken, w.code(secret))
	var refused *api.Error
	if !errors.As(err, &refused) || refused.Status != 429 || refused.RetryAfter <= 0 {
		t.Fatalf("error %v", err)
	}
	w.clock.add(time.Duration(refused.RetryAfter) * time.Second)
	c = w.login("target")
	if _, err := w.VerifyMFA(ctx, c.MFAToken, w.code(secret)); err != nil {
		t.Errorf("after Retry-After: %v", err)
	}
}

// Unlocking deletes failed codes and passwords at once, and returns until when
// the account would have been locked.
func TestUnlock(t *testing.T) {
	w := newWorld(t, nil)
	ctx := context.Background()
	w.user("target", api.RoleAnalyst)
	secret, _ := w.enrolled("target")
	w.clock.add(time.Hour)
	for range codeBudget / api.ChallengeTries {
		c := w.login("target")
		for range api.ChallengeTries {
			_, _ = w.VerifyMFA(ctx, c.MFAToken, "000000")
		}
	}
	u, err := w.boss().User(ctx, UserRef{Username: "target"})
	if err != nil || !u.LockedUntil.Equal(w.clock.now().Add(codeBudgetWindow)) {
		t.Fatalf("locked until %s, %v", u.LockedUntil, err)
	}
	for range freeTries + 1 {
		_, _ = w.Login(ctx, "target", "wrong", "192.0.2.1")
	}
	if _, err := w.Login(ctx, "target", goodPassword, "192.0.2.1"); err == nil {
		t.Fatal("wrong passwords are not slowed down")
	}
	if err := w.change("target", UserChange{Unlock: true}); err != nil {
		t.Fatal(err)
	}
	c := w.login("target")
	if _, err := w.VerifyMFA(ctx, c.MFAToken, w.code(secret)); err != nil {
		t.Errorf("after unlocking: %v", err)
	}
	if u, err = w.boss().User(ctx, UserRef{Username: "target"}); err != nil || !u.LockedUntil.IsZero() {
		t.Errorf("still locked until %s, %v", u.LockedUntil, err)
	}
}

func TestSlowDownIsPerAddressAndEnds(t *testing.T) {
	w := newWorld(t, noMFA)
	ctx := context.Background()
	w.user("owner", api.RoleAdmin)
	tries, slowed := 0, 0
	for range 200 {
		_, err := w.Login(ctx, "owner", "not the password", "198.51.100.7")
		var refused *api.Error
		if errors.As(err, &refused) && refused.Status == 429 {
			slowed++
			continue
		}
		tries++
	}
	if tries != freeTries || slowed != 200-freeTries {
		t.Errorf("%d tries in no time, want %d", tries, freeTries)
	}
	if _, err := w.Login(ctx, "owner", goodPassword, "192.0.2.1"); err != nil {
		t.Errorf("the owner is locked out by another client: %v", err)
	}
	for range 8 { // however long it lasted, a minute's wait is enough
		w.clock.add(maxWait)
		if _, err := w.Login(ctx, "owner", "not the password", "198.51.100.7"); !errors.Is(err, api.ErrInvalidCredential) {
			t.Errorf("after a minute: %v", err)
		}
	}
	w.clock.add(maxWait)
	if _, err := w.Login(ctx, "owner", goodPassword, "198.51.100.7"); err != nil {
		t.Errorf("the right password after a minute: %v", err)
	}
}

func TestAddressCannotTryManyAccounts(t *testing.T) {
	var a attempts
	now := time.Unix(0, 0)
	begin := func(account, address string) time.Duration {
		wait, err := a.begin(t.Context(), signInAttempt{account: account, address: address}, now)
		if err != nil {
			t.Fatal(err)
		}
		return wait
	}
	tries := 0
	for i := range 1000 {
		if begin("user"+string(rune('a'+i)), "203.0.113.9") == 0 {
			tries++
		}
	}
	if tries != freeAddressTries {
		t.Errorf("%d accounts tried at once from one address", tries)
	}
	for i := range 2 * maxCounts {
		begin("x", string(rune(i)))
	}
	if len(a.at) > maxCounts {
		t.Errorf("%d watched, bound %d", len(a.at), maxCounts)
	}
}

// TestHashRisesWithParameters: the first sign-in after a change of the
// parameters replaces the hash, whether it needed less or more memory; one that
// needs more runs alone. An unknown name costs a hash of the current
// parameters.
func TestHashRisesWithParameters(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, noMFA)
	w.user("old", api.RoleAdmin)
	more, less := cheap, cheap
	more.Iterations, more.Memory = 2, 2*cheap.Memory
	less.Iterations = 3
	for _, params := range []argon2id.Params{more, less} {
		s := w.open(func(o *Options) { o.RequireMFA, o.Argon = false, &params })
		var alone []bool
		s.passwords.compare = func(password, hash string) (bool, *argon2id.Params, error) {
			alone = append(alone, s.passwords.queue.used == s.passwords.queue.slots)
			return argon2id.CheckHash(password, hash)
		}
		for _, name := range []string{"old", "old", "unknown"} {
			if _, err := s.Login(ctx, name, goodPassword, "a"); (err == nil) != (name == "old") {
				t.Fatal(err)
			}
		}
		if got := w.account("old").Hash; !strings.Contains(got, fmt.Sprintf("m=%d,t=%d", params.Memory, params.Iterations)) {
			t.Errorf("the hash %s is not replaced", got)
		}
		if want := []bool{params == less, false, false}; !slices.Equal(alone, want) {
			t.Errorf("parameters %+v: hashes ran alone: %v, want %v", params, alone, want)
		}
		if used, _, _, err := argon2id.DecodeHash(s.passwords.dummy); err != nil || *used != params {
			t.Errorf("an unknown name costs %+v, %v", used, err)
		}
	}
}
