package auth

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// acme is an administrator of one customer.
var acme = api.Scope{Customers: []string{"acme"}, Sites: []string{api.Every}, Role: api.RoleAdmin, Actor: "boss of acme", ActorID: "usr_boss"}

func status(err error) int {
	var refused *api.Error
	if errors.As(err, &refused) {
		return refused.Status
	}
	if err != nil {
		return -1
	}
	return 0
}

// TestAdministratorSeesOnlyOwnScope, in lists and by name and id alike.
func TestAdministratorSeesOnlyOwnScope(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, noMFA)
	w.user("boss", api.RoleAdmin)
	own := w.user("own", api.RoleAdmin, "acme")
	ids := map[string]string{"own": own.ID}
	for name, customers := range map[string][]string{"foreign": {"borealis"}, "both": {"acme", "borealis"}, "operator": {api.Every}, "none": nil} {
		ids[name] = w.user(name, api.RoleAnalyst, customers...).ID
	}
	keys := map[string]string{}
	for name, n := range map[string]NewKey{"own": {Customers: []string{"acme"}}, "foreign": {Customers: []string{"borealis"}}, "a site's": {Sites: []string{"roof"}}, "all": {Sites: []string{api.Every}}} {
		_, k, err := w.CreateKey(ctx, n)
		if err != nil {
			t.Fatal(err)
		}
		keys[name] = k.ID
	}
	m := w.As(acme)
	users, _, err := m.Users(ctx, UserFilter{}, api.Page{})
	if err != nil || len(users) != 1 || users[0].Username != "own" {
		t.Errorf("users %+v, %v", users, err)
	}
	listed, _, err := m.Keys(ctx, KeyFilter{}, api.Page{})
	if err != nil || len(listed) != 1 || listed[0].ID != keys["own"] {
		t.Errorf("keys %+v, %v", listed, err)
	}
	for name, id := range ids {
		for _, ref := range []UserRef{{ID: id}, {Username: name}} {
			want := 404
			if name == "own" {
				want = 0
			}
			_, get := m.User(ctx, ref)
			_, _, set := m.ChangeUser(ctx, ref, UserChange{ResetTOTP: true})
			if status(get) != want || status(set) != want {
				t.Errorf("%s: get %v, change %v", name, get, set)
			}
			if name == "own" {
				continue
			}
			if _, err := m.DeleteUser(ctx, ref); status(err) != 404 {
				t.Errorf("%s: delete %v", name, err)
			}
		}
	}
	if _, err := m.DeleteUser(ctx, UserRef{ID: own.ID}); err != nil {
		t.Errorf("delete the own: %v", err)
	}
	for name, id := range keys {
		if name == "own" {
			continue
		}
		_, get := m.Key(ctx, id)
		_, rotate := m.RotateKey(ctx, id, Rotation{})
		_, _, revoke := m.RevokeKey(ctx, id)
		for _, err := range []error{get, rotate, revoke} {
			if !errors.Is(err, errNoKey) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if all, err := w.users(); err != nil || len(all) != 5 {
		t.Errorf("%d users are left, %v: the own alone was deleted", len(all), err)
	}
}

// TestUsersStayWithinTheirAdministratorsScope: whatever an administrator creates or changes has at
// most the administrator's role, customers and sites.
func TestUsersStayWithinTheirAdministratorsScope(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, noMFA)
	w.user("operator", api.RoleAdmin)
	all := []string{"acme", "borealis", api.Every}
	sites := []string{"roof", "field", api.Every}
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		some := func(of []string, label string) []string {
			return rapid.SliceOfNDistinct(rapid.SampledFrom(of), 0, 2, rapid.ID[string]).Draw(r, label)
		}
		by := api.Scope{Customers: some(all, "customers of the administrator"), Sites: some(sites, "sites of the administrator"), Role: rapid.SampledFrom(Roles()).Draw(r, "role of the administrator")}
		m := w.As(by)
		n++
		name := "u" + time.Duration(n).String()
		role, customers, at := rapid.SampledFrom(Roles()).Draw(r, "role"), some(all, "customers"), some(sites, "sites")
		within := func(role string, customers, sites []string) {
			for _, p := range Permissions(role) {
				if !May(by.Role, p) {
					r.Errorf("a %s made a %s", by.Role, role)
				}
			}
			for _, id := range append(all, "other") {
				if (api.Scope{Customers: customers}).CanCustomer(id) && !by.CanCustomer(id) {
					r.Errorf("customer %s is open", id)
				}
			}
			for _, id := range append(sites, "other") {
				if (api.Scope{Sites: sites}).CanSite(id) && !by.CanSite(id) {
					r.Errorf("site %s is open", id)
				}
			}
		}
		if u, err := m.AddUser(ctx, NewUser{Username: rapid.SampledFrom([]string{name, name + "@acme"}).Draw(r, "name"), Password: goodPassword, Role: role, Customers: customers, Sites: at}); err == nil {
			within(u.Role, u.Customers, u.Sites)
		}
		if _, k, err := m.CreateKey(ctx, NewKey{Name: "k", Role: role, Customers: customers, Sites: at}); err == nil {
			within(k.Role, k.Customers, k.Sites)
		}
		// Of one below the administrator.
		victim, err := w.CreateUser(ctx, NewUser{Username: name + "v", Password: goodPassword, Role: api.RoleAnalyst, Customers: []string{"acme"}, Sites: []string{"roof"}})
		if err != nil {
			r.Fatal(err)
		}
		_, after, err := m.ChangeUser(ctx, UserRef{ID: victim.ID}, UserChange{Role: role, Customers: customers, Sites: at})
		if err == nil {
			within(after.Role, after.Customers, after.Sites)
			return
		}
		if now, err := w.boss().User(ctx, UserRef{ID: victim.ID}); err != nil || !cmp.Equal(now, victim) {
			r.Errorf("a refused change left %+v, %v", now, err)
		}
	})
}

// TestLimitedAdministratorsDefaults are the administrator's own.
func TestLimitedAdministratorsDefaults(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, noMFA)
	by := acme
	by.Sites = []string{"roof"}
	u, err := w.As(by).AddUser(ctx, NewUser{Username: "ana@acme", Password: goodPassword, Role: api.RoleAdmin})
	if err != nil || !cmp.Equal(u.Customers, by.Customers) || !cmp.Equal(u.Sites, by.Sites) {
		t.Errorf("user %+v, %v", u, err)
	}
	_, k, err := w.As(by).CreateKey(ctx, NewKey{Name: "k", Sites: []string{"roof"}})
	if err != nil || !cmp.Equal(k.Customers, by.Customers) || !cmp.Equal(k.Sites, by.Sites) {
		t.Errorf("key %+v, %v", k, err)
	}
	for _, c := range []struct {
		name string
		user NewUser
	}{
		{"another customer", NewUser{Role: api.RoleAnalyst, Customers: []string{"borealis"}}},
		{"all customers", NewUser{Role: api.RoleAnalyst, Customers: []string{api.Every}}},
		{"another site", NewUser{Role: api.RoleAnalyst, Sites: []string{"field"}}},
	} {
		c.user.Username, c.user.Password = "ben", goodPassword
		if _, err := w.As(by).AddUser(ctx, c.user); !errors.Is(err, api.ErrForbidden) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// What the user may see is what the token opens.
	p, err := w.Authenticate(ctx, w.login("ana@acme").Token)
	if err != nil || p.CanSite("field") || !p.CanSite("roof") || p.CanCustomer("borealis") {
		t.Errorf("principal %+v, %v", p, err)
	}
}

// TestLastAdministratorOfAllStays: an administrator of some customers does not
// count as one of all.
func TestLastAdministratorOfAllStays(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, noMFA)
	w.user("one", api.RoleAdmin)
	w.user("two", api.RoleAdmin, "acme")
	for name, change := range map[string]UserChange{
		"demoted": {Role: api.RoleOperator}, "kept out": {Active: new(false)}, "fewer customers": {Customers: []string{"acme"}}, "fewer sites": {Sites: []string{"roof"}},
	} {
		if err := w.change("one", change); status(err) != 409 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.boss().DeleteUser(ctx, UserRef{Username: "one"}); status(err) != 409 {
		t.Errorf("deleted: %v", err)
	}
	if _, err := w.boss().DeleteUser(ctx, UserRef{Username: "two"}); err != nil {
		t.Errorf("the limited one: %v", err)
	}
	w.user("three", api.RoleAdmin)
	if _, err := w.boss().DeleteUser(ctx, UserRef{Username: "one"}); err != nil {
		t.Errorf("with another: %v", err)
	}
}

func TestDeletedUserIsGone(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, noMFA)
	w.user("boss", api.RoleAdmin)
	w.user("ana", api.RoleOperator, "acme")
	token := w.login("ana").Token
	if _, err := w.Authenticate(ctx, token); err != nil {
		t.Fatal(err)
	}
	before, err := w.boss().DeleteUser(ctx, UserRef{Username: "ana"})
	if err != nil || before.Username != "ana" {
		t.Fatalf("%+v, %v", before, err)
	}
	if _, err := w.Authenticate(ctx, token); !errors.Is(err, api.ErrInvalidToken) {
		t.Errorf("the token: %v", err)
	}
	if _, err := w.Login(ctx, "ana", goodPassword, "a"); !errors.Is(err, api.ErrInvalidCredential) {
		t.Errorf("signing in: %v", err)
	}
	if again := w.user("ana", api.RoleAnalyst, "acme"); again.ID == before.ID {
		t.Error("another user of the name has the id")
	}
}

// TestRotatedKeyOverlaps: both keys are valid for the overlap, then only the
// new one.
func TestRotatedKeyOverlaps(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	opens := func(plain string) bool { _, err := w.Authenticate(ctx, plain); return err == nil }
	old, first, err := w.CreateKey(ctx, NewKey{Name: "gateway", Role: api.RoleAnalyst, Customers: []string{"acme"}, Sites: []string{"roof"}, ExpiresAt: w.clock.now().Add(100 * time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	w.clock.add(10 * time.Hour)
	done, err := w.boss().RotateKey(ctx, first.ID, Rotation{Overlap: 2 * time.Hour, By: "boss"})
	if err != nil {
		t.Fatal(err)
	}
	want := APIKey{ID: done.Key.ID, Name: "gateway", Role: api.RoleAnalyst, Customers: []string{"acme"}, Sites: []string{"roof"}, CreatedAt: w.clock.now(), CreatedBy: "boss",
		ExpiresAt: w.clock.now().Add(100 * time.Hour), Replaces: first.ID, State: api.KeyGood, UpdatedAt: w.clock.now(), Rate: Rate{Class: api.RateDefault}}
	if d := cmp.Diff(want, done.Key); d != "" {
		t.Error(d)
	}
	w.clock.add(2*time.Hour - time.Second)
	if !opens(old) || !opens(done.Plain) {
		t.Error("within the overlap one of the keys does not open")
	}
	w.clock.add(time.Second)
	if opens(old) || !opens(done.Plain) {
		t.Error("after the overlap the new key alone must open")
	}
	if _, err := w.boss().RotateKey(ctx, first.ID, Rotation{}); status(err) != 409 {
		t.Errorf("a key that has ended was rotated: %v", err)
	}
	// An overlap lengthens no life, and one of nothing ends the key at once.
	last, err := w.boss().RotateKey(ctx, done.Key.ID, Rotation{Overlap: 1000 * time.Hour, ExpiresAt: w.clock.now().Add(time.Hour)})
	if err != nil || !last.After.ExpiresAt.Equal(done.Key.ExpiresAt) || !last.Key.ExpiresAt.Equal(w.clock.now().Add(time.Hour)) {
		t.Errorf("%+v, %v", last, err)
	}
	if _, err := w.boss().RotateKey(ctx, last.Key.ID, Rotation{}); err != nil || opens(last.Plain) {
		t.Errorf("without an overlap: %v", err)
	}
}

// TestPartsJoin to the whole list, without one twice.
func TestPartsJoin(t *testing.T) {
	w := newWorld(t, nil)
	want := []string{"anton", "Berta", "cäsar", "Dora", "émile"}
	for _, name := range slices.Backward(want) {
		w.user(name, api.RoleAnalyst, "acme")
	}
	for limit := 1; limit <= 6; limit++ {
		var got []string
		for p := (api.Page{Limit: limit}); ; {
			users, next, err := w.As(acme).Users(context.Background(), UserFilter{CustomerID: "acme"}, p)
			if err != nil || len(users) > limit {
				t.Fatalf("%d users, %v", len(users), err)
			}
			for _, u := range users {
				got = append(got, u.Username)
			}
			if p.Cursor = next; next == "" {
				break
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("by %d: %s", limit, d)
		}
	}
	if users, _, err := w.boss().Users(context.Background(), UserFilter{CustomerID: "borealis"}, api.Page{}); err != nil || len(users) != 0 {
		t.Errorf("of another customer: %+v, %v", users, err)
	}
}

func TestUnintendedChangesAreRefused(t *testing.T) {
	w := newWorld(t, nil)
	w.user("ana", api.RoleAnalyst, "acme")
	for name, c := range map[string]UserChange{
		"a wild role": {Role: "root"}, "no site": {Sites: []string{}}, "an empty id": {Customers: []string{""}}, "a weak password": {Password: new("short")},
		"too many ids": {Customers: make([]string, maxIDs+1)},
	} {
		if err := w.change("ana", c); status(err) != 400 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
