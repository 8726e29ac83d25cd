package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
	"app.sunloop/backend/httpapi"
	"app.sunloop/backend/store/storetest"
	"github.com/google/go-cmp/cmp"
)

// signedIn is a client of the handler with a credential.
func (w *world) signedIn(credential string) *client.Client {
	return client.New(client.Options{Transport: client.InProcess(w.handler), Credential: credential})
}

// refused is the status of a refusal, 0 for none.
func refused(err error) int {
	var e *api.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.Status
	}
	return -1
}

// TestUsersOverTheWire: an administrator makes a user, changes what the user
// may do, and ends it; each acts at once on the user's token.
func TestUsersOverTheWire(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	boss := w.signedIn(w.user("boss", api.RoleAdmin))
	made, err := boss.AddUser(ctx, api.UsersRequest{Username: "Ana", Password: password, RoleID: api.RoleOperator, CustomerIDs: []string{ownCustomer}})
	if err != nil {
		t.Fatal(err)
	}
	want := &api.UserRecord{UserID: made.UserID, Username: "Ana", RoleID: api.RoleOperator, RoleName: "Operator", CustomerIDs: []string{ownCustomer}, SiteIDs: []string{"*"}, Active: true, CreatedAt: api.At(w.clock.now()), UpdatedAtMS: w.clock.now().UnixMilli()}
	if d := cmp.Diff(want, made.User); d != "" {
		t.Error(d)
	}
	ana := w.signedIn("")
	login := func() {
		t.Helper()
		if _, err := ana.Login(ctx, "ana", password); err != nil {
			t.Fatal(err)
		}
	}
	login()
	run := func() int { _, err := ana.Detect(ctx, api.AssetRef{AssetID: ownAsset}, 24); return refused(err) }
	set := func(change api.UsersRequest) {
		t.Helper()
		change.UserID = made.UserID
		if _, err := boss.SetUser(ctx, change); err != nil {
			t.Fatal(err)
		}
	}
	if got := run(); got != 0 {
		t.Errorf("an operator: HTTP %d", got)
	}
	set(api.UsersRequest{RoleID: api.RoleAnalyst})
	if got := run(); got != 403 {
		t.Errorf("as an analyst: HTTP %d", got)
	}
	set(api.UsersRequest{RoleID: api.RoleOperator, SiteIDs: []string{secondSite}})
	if got := run(); got != 403 {
		t.Errorf("at another site: HTTP %d", got)
	}
	set(api.UsersRequest{SiteIDs: []string{"*"}, CustomerIDs: []string{foreignCustomer}})
	if got := run(); got != 403 {
		t.Errorf("of another customer: HTTP %d", got)
	}
	set(api.UsersRequest{CustomerIDs: []string{ownCustomer}, Active: new(false)})
	if got := run(); got != 401 {
		t.Errorf("deactivated: HTTP %d", got)
	}
	if _, err := ana.Login(ctx, "ana", password); refused(err) != 403 {
		t.Errorf("deactivated, signing in: %v", err)
	}
	set(api.UsersRequest{Active: new(true)})
	login()
	if _, err := boss.ResetPassword(ctx, made.UserID, "another password"); err != nil {
		t.Fatal(err)
	}
	if _, err := ana.Login(ctx, "ana", password); refused(err) != 401 || run() != 401 {
		t.Errorf("after a reset the former password: %v", err)
	}
	if _, err := ana.Login(ctx, "ana", "another password"); err != nil {
		t.Error(err)
	}
	if _, err := boss.ResetMFA(ctx, made.UserID); err != nil || run() != 401 {
		t.Errorf("reset of the authenticator: %v", err)
	}
	if _, err := boss.DeleteUser(ctx, made.UserID); err != nil {
		t.Error(err)
	}
	if _, err := boss.User(ctx, made.UserID); refused(err) != 404 {
		t.Errorf("deleted: %v", err)
	}
	list, err := boss.Users(ctx, api.ListQuery{})
	if err != nil || list.Count != 1 || list.Users[0].Username != "boss" {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := boss.DeleteUser(ctx, list.Users[0].UserID); refused(err) != 409 {
		t.Errorf("the last administrator: %v", err)
	}

	// The trail has all of it, with before and after.
	trail, err := boss.Audit(ctx, api.AuditRequest{Actor: "boss", Page: api.Page{Limit: 3}})
	if err != nil || trail.Count != 3 || trail.NextCursor == "" {
		t.Fatalf("%+v, %v", trail, err)
	}
	text, _ := json.Marshal(trail.Records)
	deleted := trail.Records[1]
	before, _ := deleted.Before.(map[string]any)
	if trail.Records[0].Status != 409 || deleted.Action != "delete" || !cmp.Equal(deleted.TargetIDs, map[string]string{"user_id": made.UserID}) || before["username"] != "Ana" || deleted.After != nil || trail.Records[2].Action != "reset-mfa" {
		t.Errorf("%s", text)
	}
}

// TestLimitedAdministratorOverTheWire sees and creates nothing outside the
// own customers, and the error does not reveal what exists there.
func TestLimitedAdministratorOverTheWire(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	boss := w.signedIn(w.user("boss", api.RoleAdmin))
	theirs := w.signedIn(w.user("theirs", api.RoleAdmin, foreignCustomer))
	ours := w.signedIn(w.user("ours", api.RoleAdmin, ownCustomer))
	foreign, err := theirs.AddUser(ctx, api.UsersRequest{Username: "Secret name", Password: password, RoleID: api.RoleAnalyst})
	if refused(err) != 400 { // a space
		t.Errorf("%+v, %v", foreign, err)
	}
	if foreign, err = theirs.AddUser(ctx, api.UsersRequest{Username: "Secret.name@" + foreignCustomer, Password: password, RoleID: api.RoleAnalyst}); err != nil || !cmp.Equal(foreign.User.CustomerIDs, []string{foreignCustomer}) {
		t.Fatalf("%+v, %v", foreign, err)
	}
	key, err := theirs.CreateKey(ctx, api.KeysRequest{Name: "Secret key", CustomerIDs: []string{foreignCustomer}})
	if err != nil {
		t.Fatal(err)
	}
	_, get := ours.User(ctx, foreign.UserID)
	_, set := ours.SetUser(ctx, api.UsersRequest{UserID: foreign.UserID, CustomerIDs: []string{ownCustomer}})
	_, reset := ours.ResetPassword(ctx, foreign.UserID, password)
	_, remove := ours.DeleteUser(ctx, foreign.UserID)
	_, look := ours.Key(ctx, key.APIKeyID)
	_, rotate := ours.RotateKey(ctx, api.KeysRequest{APIKeyID: key.APIKeyID})
	_, revoke := ours.RevokeKey(ctx, key.APIKeyID)
	for i, err := range []error{get, set, reset, remove, look, rotate, revoke} {
		if refused(err) != 403 {
			t.Errorf("call %d about another customer's: %v", i, err)
		}
	}
	for name, u := range map[string]api.UsersRequest{
		"another customer": {CustomerIDs: []string{foreignCustomer}}, "one more": {CustomerIDs: []string{ownCustomer, foreignCustomer}}, "all": {CustomerIDs: []string{"*"}},
	} {
		u.Username, u.Password, u.RoleID = "new", password, api.RoleAnalyst
		if _, err := ours.AddUser(ctx, u); refused(err) != 403 {
			t.Errorf("a user of %s: %v", name, err)
		}
		if _, err := ours.CreateKey(ctx, api.KeysRequest{Name: "k", CustomerIDs: u.CustomerIDs}); refused(err) != 403 {
			t.Errorf("a key of %s: %v", name, err)
		}
		self, err := ours.Users(ctx, api.ListQuery{})
		if err != nil || self.Count != 1 {
			t.Fatalf("%+v, %v", self, err)
		}
		if _, err := ours.SetUser(ctx, api.UsersRequest{UserID: self.Users[0].UserID, CustomerIDs: u.CustomerIDs}); refused(err) != 403 {
			t.Errorf("the own customers as %s: %v", name, err)
		}
	}
	users, err := ours.Users(ctx, api.ListQuery{})
	keys, err2 := ours.Keys(ctx, api.ListQuery{})
	trail, err3 := ours.Audit(ctx, api.AuditRequest{})
	if err != nil || err2 != nil || err3 != nil {
		t.Fatal(err, err2, err3)
	}
	text, _ := json.Marshal([]any{users, keys, trail})
	if strings.Contains(string(text), "Secret") || !strings.Contains(string(text), `"actor":"ours"`) {
		t.Errorf("%s", text)
	}
	if all, err := boss.Users(ctx, api.ListQuery{CustomerID: foreignCustomer}); err != nil || all.Count != 3 {
		t.Errorf("who sees %s: %+v, %v", foreignCustomer, all, err)
	}
	if _, err := ours.Users(ctx, api.ListQuery{CustomerID: foreignCustomer}); refused(err) != 403 {
		t.Errorf("who sees another customer: %v", err)
	}
}

func TestKeysOverTheWire(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	boss := w.signedIn(w.user("boss", api.RoleAdmin))
	made, err := boss.CreateKey(ctx, api.KeysRequest{Name: "gateway", RoleID: api.RoleAnalyst, PermittedSiteIDs: []string{ownSite}, CustomerIDs: []string{ownCustomer}, ExpiresAt: api.At(w.clock.now().Add(48 * time.Hour))})
	if err != nil || made.Key.State != api.KeyGood || made.Key.CreatedBy != "boss" {
		t.Fatalf("%+v, %v", made, err)
	}
	opens := func(key, site string) int {
		_, err := w.signedIn(key).DataPeriod(ctx, api.SiteRef{SiteID: site}, "")
		return refused(err)
	}
	if a, b := opens(made.APIKey, ownSite), opens(made.APIKey, secondSite); a != 0 || b != 403 {
		t.Errorf("HTTP %d and %d", a, b)
	}
	turned, err := boss.RotateKey(ctx, api.KeysRequest{APIKeyID: made.APIKeyID, OverlapHours: new(1)})
	if err != nil || turned.Key.Replaces != made.APIKeyID || turned.APIKey == made.APIKey {
		t.Fatalf("%+v, %v", turned, err)
	}
	if a, b := opens(made.APIKey, ownSite), opens(turned.APIKey, ownSite); a != 0 || b != 0 {
		t.Errorf("within the overlap HTTP %d and %d", a, b)
	}
	w.clock.add(time.Hour)
	if a, b := opens(made.APIKey, ownSite), opens(turned.APIKey, ownSite); a != 401 || b != 0 {
		t.Errorf("after the overlap HTTP %d and %d", a, b)
	}
	if _, err := boss.RevokeKey(ctx, turned.APIKeyID); err != nil || opens(turned.APIKey, ownSite) != 401 {
		t.Errorf("revoked: %v", err)
	}
	for name, c := range map[string]struct {
		body   string
		status int
		words  string
	}{
		"rotate a key that has ended": {`{"action":"rotate","api_key_id":"` + turned.APIKeyID + `"}`, 409, "is revoked; it cannot be rotated"},
		"a wild overlap":              {`{"action":"rotate","api_key_id":"k","overlap_hours":721}`, 400, "a whole number from 0 to 720"},
		"no id":                       {`{"action":"revoke"}`, 400, "Missing required field: api_key_id"},
		"no name":                     {`{"action":"create","permitted_site_ids":["s"]}`, 400, "Missing required field: name"},
		"opens nothing":               {`{"action":"create","name":"k"}`, 400, "Invalid field: permitted_site_ids"},
		"a past end":                  {`{"action":"create","name":"k","permitted_site_ids":["s"],"expires_at":"2020-01-01"}`, 400, "Invalid field: expires_at"},
		"a wild role":                 {`{"action":"create","name":"k","permitted_site_ids":["s"],"role_id":"root"}`, 400, "Invalid field: role_id"},
		"a wild action":               {`{"action":"drop","api_key_id":"k"}`, 400, "Invalid action"},
	} {
		if r := w.as("admin", http.MethodPost, api.PathKeys, c.body); r.Code != c.status || !strings.Contains(r.Body.String(), c.words) {
			t.Errorf("%s: HTTP %d %s", name, r.Code, r.Body)
		}
	}
	for _, action := range []string{"get", "set", "reset-password", "reset-mfa", "unlink", "unlock", "delete"} {
		if r := w.as("admin", http.MethodPost, api.PathUsers, `{"action":"`+action+`"}`); r.Code != 400 || !strings.Contains(r.Body.String(), "Missing required field: user_id") {
			t.Errorf("%s unknown: HTTP %d %s", action, r.Code, r.Body)
		}
	}
	if r := w.as("admin", http.MethodPost, api.PathUsers, `{"action":"drop"}`); r.Code != 400 || !strings.Contains(r.Body.String(), "Invalid action") {
		t.Errorf("a wild action on users: HTTP %d %s", r.Code, r.Body)
	}
	list, err := boss.Keys(ctx, api.ListQuery{Page: api.Page{Limit: 2}})
	if err != nil || list.Count != 2 || list.NextCursor == "" {
		t.Errorf("%+v, %v", list, err)
	}
	text, _ := json.Marshal(list)
	if strings.Contains(string(text), "opa_prod_") {
		t.Errorf("a list shows a key: %s", text)
	}
}

// TestNoSecretIsWrittenDown: every secret that passes the service in a sign-in
// or in administration is looked for in the log, the audit trail and all files
// of the store, answers of Idempotency-Key among them.
func TestNoSecretIsWrittenDown(t *testing.T) {
	ctx := context.Background()
	var log bytes.Buffer
	w := newWorld(t, func(d *httpapi.Deps) {
		d.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		d.Uploads = panicky{d.Uploads}
	})
	secrets := map[string]string{"password": "canary-password-1", "new password": "canary-password-2", "wrong password": "canary-password-3", "external token": "canary.external.token", "code": "canary-code"}
	boss := w.signedIn(w.user("boss", api.RoleAdmin))
	secrets["token"] = boss.Credential()
	once := client.WithIdempotencyKey
	u, err := boss.AddUser(once(ctx, "a"), api.UsersRequest{Username: "ana", Password: secrets["password"], RoleID: api.RoleOperator, CustomerIDs: []string{ownCustomer}})
	if err != nil {
		t.Fatal(err)
	}
	k, err := boss.CreateKey(once(ctx, "b"), api.KeysRequest{Name: "k", PermittedSiteIDs: []string{ownSite}})
	if err != nil {
		t.Fatal(err)
	}
	again, err := boss.CreateKey(once(ctx, "b"), api.KeysRequest{Name: "k", PermittedSiteIDs: []string{ownSite}})
	if err != nil || again.APIKey != k.APIKey {
		t.Errorf("the same request gave another key: %v", err)
	}
	r, err := boss.RotateKey(once(ctx, "c"), api.KeysRequest{APIKeyID: k.APIKeyID})
	if err != nil {
		t.Fatal(err)
	}
	secrets["key"], secrets["rotated key"] = k.APIKey, r.APIKey
	ana := w.signedIn("")
	if _, err := ana.Login(ctx, "ana", secrets["wrong password"]); refused(err) != 401 {
		t.Error(err)
	}
	if _, err := ana.Login(ctx, "ana", secrets["password"]); err != nil {
		t.Error(err)
	}
	secrets["second token"] = ana.Credential()
	if _, err := ana.VerifyMFA(ctx, "canary-mfa-token", secrets["code"]); refused(err) != 401 {
		t.Error(err)
	}
	secrets["challenge"] = "canary-mfa-token"
	if _, err := ana.Exchange(ctx, api.ExchangeRequest{Provider: "company", ExternalToken: secrets["external token"]}); refused(err) != 400 {
		t.Error(err)
	}
	if _, err := ana.Refresh(ctx); err != nil {
		t.Error(err)
	}
	secrets["third token"] = ana.Credential()
	if _, err := boss.ResetPassword(ctx, u.UserID, secrets["new password"]); err != nil {
		t.Error(err)
	}
	if _, err := w.signedIn(k.APIKey).CancelUpload(ctx, "upl_1"); refused(err) != 500 { // a panic
		t.Error(err)
	}
	if _, err := boss.APIKeyInfo(ctx, k.APIKey); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "boom") {
		t.Error("the log is not read")
	}
	trail, err := json.Marshal(w.trail())
	if err != nil {
		t.Fatal(err)
	}
	texts, err := storetest.Bytes(w.dir)
	if err != nil || len(texts) == 0 {
		t.Fatalf("%d files, %v", len(texts), err)
	}
	texts["the log"], texts["the trail"] = log.String(), string(trail)
	for where, text := range texts {
		for what, secret := range secrets {
			if storetest.Reveals(text, secret) {
				t.Errorf("%s is in %s", what, where)
			}
		}
	}
}

// TestRolesOfAdministration: users.write alone opens it, for keys as for users.
func TestRolesOfAdministration(t *testing.T) {
	w := newWorld(t, nil)
	for _, role := range auth.Roles() {
		w.key(role, auth.NewKey{Role: role, Customers: []string{"*"}})
		want := 403
		if role == api.RoleAdmin {
			want = 200
		}
		for _, path := range []string{api.PathUsers, api.PathKeys, api.PathAudit} {
			if r := w.as(role, http.MethodPost, path, `{}`); r.Code != want {
				t.Errorf("%s as %s: HTTP %d", path, role, r.Code)
			}
		}
	}
}

// TestSSHKeysOverTheWire: an administrator gives and takes a user's public
// keys, and the trail has them.
func TestSSHKeysOverTheWire(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	boss := w.signedIn(w.user("boss", api.RoleAdmin))
	const one = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
	made, err := boss.AddUser(ctx, api.UsersRequest{Username: "ana", Password: password, RoleID: api.RoleOperator, CustomerIDs: []string{ownCustomer}, SSHPublicKeys: []string{one + "  ana@desk "}})
	if err != nil {
		t.Fatal(err)
	}
	set := func(keys []string) (*api.UsersResponse, error) {
		return boss.SetUser(ctx, api.UsersRequest{UserID: made.UserID, SSHPublicKeys: keys})
	}
	if want := []string{one + " ana@desk"}; !cmp.Equal(made.User.SSHPublicKeys, want) {
		t.Errorf("made with %q, want %q", made.User.SSHPublicKeys, want)
	}
	if _, err := set([]string{"ssh-rsa nothing"}); refused(err) != 400 || !strings.Contains(err.Error(), api.FieldSSHKeys) {
		t.Errorf("a key that is none: %v", err)
	}
	if _, err := boss.SetUser(ctx, api.UsersRequest{UserID: made.UserID}); refused(err) != 400 {
		t.Errorf("nothing to change: %v", err)
	}
	u, err := boss.SetUser(ctx, api.UsersRequest{UserID: made.UserID, RoleID: api.RoleAnalyst})
	if err != nil || len(u.User.SSHPublicKeys) != 1 {
		t.Errorf("another role left the keys %q: %v", u.User.SSHPublicKeys, err)
	}
	if u, err = set([]string{}); err != nil || len(u.User.SSHPublicKeys) != 0 {
		t.Errorf("all taken away, there are %q: %v", u.User.SSHPublicKeys, err)
	}
	trail, err := boss.Audit(ctx, api.AuditRequest{Actor: "boss"})
	if err != nil {
		t.Fatal(err)
	}
	last := trail.Records[0]
	before, _ := last.Before.(map[string]any)
	after, _ := last.After.(map[string]any)
	if !cmp.Equal(before[api.FieldSSHKeys], []any{one + " ana@desk"}) || after[api.FieldSSHKeys] != nil {
		t.Errorf("the trail has %v and %v", before, after)
	}
}

// TestForeignNameIsNotRevealed: what a limited administrator is answered does not
// depend on whether a user of another customer has the name.
func TestForeignNameIsNotRevealed(t *testing.T) {
	w := newWorld(t, nil)
	w.user("secret", api.RoleAnalyst, foreignCustomer)
	w.user("secret@"+foreignCustomer, api.RoleAnalyst, foreignCustomer)
	boss := w.signedIn(w.user("boss", api.RoleAdmin))
	ours := w.signedIn(w.user("ours", api.RoleAdmin, ownCustomer))
	add := func(c *client.Client, name string, customers ...string) error {
		_, err := c.AddUser(t.Context(), api.UsersRequest{Username: name, Password: password, RoleID: api.RoleAnalyst, CustomerIDs: customers})
		return err
	}
	for taken, free := range map[string]string{"secret": "unused", "secret@" + foreignCustomer: "unused@" + foreignCustomer} {
		a, b := add(ours, taken), add(ours, free)
		var first, second *api.Error
		if !errors.As(a, &first) || !errors.As(b, &second) || first.Status != 400 || !cmp.Equal(first.Details, second.Details) || first.Message != second.Message || first.Details["field"] != "username" {
			t.Errorf("a foreign name: %+v; a free one: %+v", a, b)
		}
	}
	if err := add(ours, "secret@"+ownCustomer); err != nil {
		t.Errorf("a name of the own form: %v", err)
	}
	if err := add(ours, "secret@"+ownCustomer); refused(err) != 409 {
		t.Errorf("the same again: %v", err)
	}
	if err := add(boss, "other@"+foreignCustomer, ownCustomer); refused(err) != 400 {
		t.Errorf("a name of another customer, by an administrator of all: %v", err)
	}
	if err := add(boss, "other@example.com", ownCustomer); err != nil {
		t.Errorf("an e-mail address: %v", err)
	}
}
