package tui

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
	"app.sunloop/tui/internal/plant"
)

// office is a console of a person with a role over a real service, with what
// the service holds at hand.
type office struct {
	*world
	service *backend.Service
	log     bytes.Buffer
}

func startOffice(t *testing.T, w, h int, role string, customers ...string) *office {
	t.Helper()
	service, err := backend.New(backend.Config{
		DataDir: t.TempDir(), Now: func() time.Time { return noon },
		Argon: &argon2id.Params{Memory: 1024, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx := context.Background()
	if _, err := service.Auth().CreateUser(ctx, auth.NewUser{Username: "anna", Password: "correct horse", Role: role, Customers: customers}); err != nil {
		t.Fatal(err)
	}
	c := client.New(client.Options{Transport: client.InProcess(service.Handler())})
	signedIn, err := c.Login(ctx, "anna", "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	o := &office{service: service}
	o.world = start(t, w, h, func(options *Options, _ *plant.Service) {
		options.Client, options.User = c, signedIn.User
		options.Log = slog.New(slog.NewTextHandler(&o.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	return o
}

// keys returns those that the service holds, oldest first.
func (o *office) keys() []auth.APIKey {
	o.t.Helper()
	keys, _, err := o.service.Auth().As(api.Unlimited("test")).Keys(context.Background(), auth.KeyFilter{}, api.Page{})
	if err != nil {
		o.t.Fatal(err)
	}
	return keys
}

// shownKey returns the key in plain text on the screen, empty for none.
func (o *office) shownKey() string {
	_, rest, found := strings.Cut(o.text(), "opa_prod_")
	if !found {
		return ""
	}
	key, _, _ := strings.Cut(rest, " ")
	return "opa_prod_" + key
}

// create makes a key through the form and leaves it shown.
func (o *office) create(name, sites string) string {
	o.t.Helper()
	o.press("c", name, "tab", "right", "right", "tab", sites, "tab", "tab", "enter")
	key := o.shownKey()
	if key == "" {
		o.t.Fatalf("no key is shown:\n%s", o.text())
	}
	return key
}

// opens reports whether the service takes the key.
func (o *office) opens(key string) bool {
	_, err := o.service.Auth().KeyInfo(context.Background(), key)
	return err == nil
}

// A key is created as typed, shown once, copied, and nowhere to be found when
// the dialog has closed.
func TestCreateKey(t *testing.T) {
	o := startOffice(t, 120, 36, api.RoleAdmin)
	o.press("g", "k")
	o.shows("No API keys.", "c create")
	o.hides("rotate", "revoke")
	key := o.create("logger 7", "Sibaya, Havelland")
	if !o.opens(key) {
		t.Fatalf("the service does not take the key that is shown")
	}
	keys := o.keys()
	if len(keys) != 1 {
		t.Fatalf("%d keys", len(keys))
	}
	k := keys[0]
	if k.Name != "logger 7" || k.Role != api.RoleOperator || !slices.Equal(k.Sites, []string{"Sibaya", "Havelland"}) || k.CreatedBy != "anna" || !k.ExpiresAt.Equal(noon.AddDate(0, 0, 90)) {
		t.Errorf("the service holds %+v", k)
	}
	o.shows("logger 7", "shown only now")
	before := o.line.n
	o.press("y")
	if o.line.n-before < len(key) {
		t.Error("nothing went to the clipboard")
	}
	o.shows("clipboard")
	o.press("enter")
	if o.place() != "Observe [API keys]" {
		t.Errorf("after the key: %s", o.place())
	}
	o.pass(2)
	o.shows("logger 7", "Operator", "Sibaya, Havelland", "good", "2027-02-26", "by anna")
	secret := key[len("opa_prod_")+26:]
	if held := fmt.Sprintf("%+v %+v %+v", o.m.data, o.m.dialogs.stack, o.m.dialogs.stack[:cap(o.m.dialogs.stack)]); strings.Contains(held, secret) {
		t.Error("the console still holds the key")
	}
	if strings.Contains(o.text(), secret) {
		t.Error("the key is still on the screen")
	}
	if strings.Contains(o.log.String(), secret) {
		t.Errorf("the log has the key")
	}
}

// An error of the service is shown at its field, and the typed text stays.
func TestCreateKeyRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		keys []string
		want []string
	}{
		"no name":     {[]string{"tab", "tab", "*", "enter"}, []string{"Missing required field: name."}},
		"no site":     {[]string{"logger", "enter"}, []string{"Invalid field: permitted_site_ids", "name the sites or customers"}},
		"in the past": {[]string{"logger", "tab", "tab", "*", "shift+tab", "shift+tab", "shift+tab", "ctrl+u", "2020-01-01", "enter"}, []string{"Invalid field: expires_at: lies in the past."}},
		"no time":     {[]string{"logger", "shift+tab", "ctrl+u", "soon", "enter"}, []string{`"soon" is not an ISO 8601 time`}},
	} {
		t.Run(name, func(t *testing.T) {
			o := startOffice(t, 80, 24, api.RoleAdmin)
			o.press("g", "k", "c")
			o.press(tt.keys...)
			o.shows(tt.want...)
			if !strings.HasSuffix(o.place(), "[Create an API key]") {
				t.Errorf("the form went: %s", o.place())
			}
			if name != "no name" {
				o.shows("logger")
			}
			if n := len(o.keys()); n != 0 {
				t.Errorf("%d keys", n)
			}
		})
	}
}

// An administrator of one customer cannot give more than is their own.
func TestCreateKeyBeyond(t *testing.T) {
	o := startOffice(t, 120, 36, api.RoleAdmin, "acme")
	o.press("g", "k", "c", "logger", "tab", "tab", "*", "tab", "ctrl+u", "other", "enter")
	o.shows("more than your own role, customers and sites", "other")
	if n := len(o.keys()); n != 0 {
		t.Errorf("%d keys", n)
	}
	o.press("ctrl+u", "acme", "enter")
	o.shows("shown only now")
	if keys := o.keys(); len(keys) != 1 || !slices.Equal(keys[0].Customers, []string{"acme"}) {
		t.Errorf("the service holds %+v", keys)
	}
}

// Enter pressed too often does not lose a key that was not stored.
func TestNewKeyIsNotLost(t *testing.T) {
	o := startOffice(t, 80, 24, api.RoleAdmin)
	o.press("g", "k")
	o.create("logger", "*")
	o.press("esc", "q", "enter")
	o.shows("opa_prod_", "It was not copied.")
	o.press("enter")
	o.hides("opa_prod_")
}

// A form that was closed while the service worked on it: the key is still
// shown, but not to another user.
func TestKeyOfAClosedForm(t *testing.T) {
	for _, owner := range []string{"", "another"} {
		o := startOffice(t, 120, 36, api.RoleAdmin)
		o.press("g", "k", "c", "logger", "tab", "tab", "*")
		o.hold = true
		o.press("enter")
		o.press("esc")
		sent := o.later
		o.later, o.hold = nil, false
		if owner != "" {
			o.m.session.owner = owner
		}
		for _, cmd := range sent {
			o.run(cmd)
		}
		if n := len(o.keys()); n != 1 {
			t.Fatalf("%d keys", n)
		}
		if shown := o.shownKey() != ""; shown != (owner == "") {
			t.Errorf("for %q: shown %v", owner, shown)
		}
	}
}

func TestRotateKey(t *testing.T) {
	o := startOffice(t, 120, 36, api.RoleAdmin)
	o.press("g", "k")
	old := o.create("logger", "Sibaya")
	o.press("y", "enter")
	o.pass(2)
	o.press("R")
	o.shows("takes the place of logger (" + o.keys()[0].ID + ")")
	o.press("ctrl+u", "x", "enter")
	o.shows("The overlap is a whole number of hours.")
	o.press("ctrl+u", "9999", "enter")
	o.shows("Invalid field: overlap_hours: a whole number from 0 to 720.")
	o.press("ctrl+u", "2", "enter")
	fresh := o.shownKey()
	if fresh == "" || fresh == old || !o.opens(fresh) || !o.opens(old) {
		t.Fatalf("after the rotation %q is shown", fresh)
	}
	keys := o.keys()
	slices.SortFunc(keys, func(a, b auth.APIKey) int { return strings.Compare(a.Replaces, b.Replaces) }) // both were made at noon
	if len(keys) != 2 || keys[1].Replaces != keys[0].ID || !keys[0].ExpiresAt.Equal(noon.Add(2*time.Hour)) || !slices.Equal(keys[1].Sites, []string{"Sibaya"}) {
		t.Errorf("the service holds %+v", keys)
	}
	o.press("y", "enter")
	o.pass(2)
	o.shows("replaces", keys[0].ID)
}

// Revoking names the key, does nothing by default, and ends it when confirmed.
func TestRevokeKey(t *testing.T) {
	o := startOffice(t, 80, 24, api.RoleAdmin)
	o.press("g", "k")
	key := o.create("logger", "Sibaya")
	o.press("y", "enter")
	o.pass(2)
	o.press("X")
	o.shows("Revoke logger (" + o.keys()[0].ID + ")?")
	o.press("enter")
	if o.keys()[0].State != api.KeyGood {
		t.Fatal("enter alone revoked the key")
	}
	o.press("X", "tab", "esc")
	if o.keys()[0].State != api.KeyGood {
		t.Fatal("esc revoked the key")
	}
	o.press("X", "tab", "enter")
	if o.keys()[0].State != api.KeyRevoked || o.opens(key) {
		t.Fatalf("the key is %s", o.keys()[0].State)
	}
	o.pass(2)
	o.shows("revoked")
	o.press("X")
	o.shows("is revoked already.")
	o.press("esc", "R", "enter")
	o.shows("is revoked; it cannot be rotated.")
}

// Only who manages users is offered the keys.
func TestKeysAreForAdministrators(t *testing.T) {
	o := startOffice(t, 120, 36, api.RoleOperator, "acme")
	o.press("g", "k")
	if o.place() != "Observe" {
		t.Errorf("an operator finds %s", o.place())
	}
	o.shows("your role does not manage users and API keys")
	o.press(":", "api keys")
	o.shows("manage API keys", "your role does not manage")
	for _, tt := range []struct {
		user *api.User
		want bool
	}{
		{nil, true}, // the service knows
		{&api.User{RoleID: api.RoleAdmin}, true},
		{&api.User{RoleID: api.RoleOperator}, false},
		{&api.User{RoleID: api.RoleAdmin, ApplicationPermissions: []string{"read"}}, false},
		{&api.User{RoleID: "role_of_later", ApplicationPermissions: []string{"read", "users.write"}}, true},
	} {
		if got := (&session{user: tt.user}).may(api.PermissionUsers); got != tt.want {
			t.Errorf("%+v: %v", tt.user, got)
		}
	}
}

// Whose credential says nothing of its role reads the service's refusal.
func TestKeysRefusedByTheService(t *testing.T) {
	o := startOffice(t, 80, 24, api.RoleOperator, "acme")
	o.m.session.user = nil
	o.press("g", "k")
	o.shows("Access denied.", "Next try")
}

func TestKeysFilterAndHelp(t *testing.T) {
	o := startOffice(t, 120, 36, api.RoleAdmin)
	for _, name := range []string{"logger", "weather station"} {
		if _, _, err := o.service.Auth().CreateKey(context.Background(), auth.NewKey{Name: name, Sites: []string{"Sibaya"}}); err != nil {
			t.Fatal(err)
		}
	}
	o.press("g", "k", "/", "weath")
	o.shows("weather station")
	o.hides("logger")
	o.press("enter", "X")
	o.shows("Revoke weather station")
	o.press("esc", "esc")
	o.shows("logger")
	o.press("?")
	o.shows("In API keys", "create an API key", "revoke the selected key")
	o.press("esc", "esc")
	if o.place() != "Observe" {
		t.Errorf("after esc: %s", o.place())
	}
}

// Changes of a key are in the audit trail, without the key.
func TestAuditTrail(t *testing.T) {
	o := startOffice(t, 120, 36, api.RoleAdmin)
	o.press("g", "k")
	key := o.create("logger", "Sibaya")
	o.press("y", "enter", "esc", "g", "a")
	o.shows("Audit trail", "anna", "keys create", "done", "What changed", "logger", o.keys()[0].ID)
	o.hides(key[len("opa_prod_")+26:])
	o.press("/", "unknown")
	o.shows("Nothing matches /unknown")
	o = startOffice(t, 80, 24, api.RoleOperator, "acme")
	o.press("g", "a")
	o.shows("your role does not read the audit trail")
}
