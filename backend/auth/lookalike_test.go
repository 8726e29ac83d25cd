package auth

import (
	"context"
	"errors"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// TestExistingNamesRemain: users and customers of earlier versions keep names and
// ids that are not accepted for new ones.
func TestExistingNamesRemain(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, noMFA)
	w.hasSites = func(_ store.Tx, id string) (bool, error) { return id == "\u0421ity", nil }
	const mixed, customer = "r\u043e\u043et", "\u0421ustomer"
	err := w.store.Update(ctx, func(tx store.Tx) error {
		for _, name := range []string{mixed, "..", "root"} {
			hash, err := w.passwords.hash(ctx, goodPassword)
			if err != nil {
				return err
			}
			a := account{ID: w.newID("usr"), Username: name, Role: api.RoleAnalyst, Customers: []string{customer}, Hash: hash, CreatedAt: w.now()}
			if err := accounts.Insert(tx, a); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.user("boss", api.RoleAdmin)
	for _, name := range []string{mixed, "..", "root"} {
		w.login(name)
		if err := w.change(name, UserChange{Customers: []string{customer, "\u0421ity"}}); err != nil {
			t.Errorf("change %+q: %v", name, err)
		}
	}
	if err := w.change("root", UserChange{Customers: []string{"\u0421oast"}}); status(err) != 400 {
		t.Errorf("a new customer: %v", err)
	}
	if _, _, err := w.CreateKey(ctx, NewKey{Name: "k", Customers: []string{customer}}); err != nil {
		t.Errorf("a key of an existing customer: %v", err)
	}
	if _, err := w.CreateUser(ctx, NewUser{Username: "r00t", Password: goodPassword, Role: api.RoleAnalyst}); status(err) != 409 {
		t.Errorf("a name that looks like an existing one: %v", err)
	}
}

// TestProvisionedLookalikes: a provider adds no user whose name looks like an
// existing one, and no customer whose id mixes scripts.
func TestProvisionedLookalikes(t *testing.T) {
	w, r := federated(t, func(p *Provider) {
		p.Provision = &Provision{Role: api.RoleAnalyst, Customers: []string{"acme"}, CustomersClaim: "customers"}
	})
	w.user("alice", api.RoleAnalyst, "acme")
	for _, name := range []string{"aIice", "a1ice", "\u0430lice", "..", "a\u0336lice"} {
		if _, err := w.exchange("company", r.token(set("preferred_username", name))); !errors.Is(err, api.ErrForbidden) {
			t.Errorf("%+q: %v", name, err)
		}
	}
	if _, err := w.exchange("company", r.token(set("customers", "\u0430cme"))); !errors.Is(err, api.ErrForbidden) {
		t.Errorf("a customer that looks like an existing one: %v", err)
	}
	if users, err := w.users(); err != nil || len(users) != 1 {
		t.Errorf("%d users, %v", len(users), err)
	}
	if _, err := w.exchange("company", r.token(set("preferred_username", "Михаил"))); err != nil {
		t.Errorf("a name of one script: %v", err)
	}
}
