package auth

import (
	"context"
	"errors"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// TestReservedNames gives names that end in @ and a customer's id to users of that
// customer only, by whomever they are created.
func TestReservedNames(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, noMFA)
	for _, customer := range []string{"acme", "borealis", "north plant", "b@acme", "ACME"} {
		if _, _, err := w.CreateKey(ctx, NewKey{Name: customer, Customers: []string{customer}}); err != nil {
			t.Fatal(err)
		}
	}
	operator := w.As(api.Unlimited(""))
	limited := func(customers ...string) Administrator {
		return w.As(api.Scope{Customers: customers, Sites: []string{api.Every}, Role: api.RoleAdmin})
	}
	for _, c := range []struct {
		by        Administrator
		name      string
		customers []string
		want      int
	}{
		{operator, "ann", []string{"acme"}, 0},
		{operator, "ann@example.com", []string{"acme"}, 0},
		{operator, "ann@borealis", []string{"acme"}, 400},
		{operator, "ann@Borealis", []string{"acme"}, 400}, // the same name
		{operator, "ann@borealis", []string{api.Every}, 400},
		{operator, "ann@borealis", []string{"acme", "borealis"}, 0},
		{limited("borealis"), "ben", nil, 400},
		{limited("borealis"), "@borealis", nil, 400},
		{limited("borealis"), "ben@example.com", nil, 400},
		{limited("borealis"), "ben@borealis", nil, 0},
		{limited("borealis"), "ben@borealis", nil, 409},
		{limited("borealis", "b@acme"), "cem@borealis", []string{"b@acme"}, 400},
		{limited("borealis", "b@acme"), "cem@b@acme", []string{"b@acme"}, 400}, // ends in @acme too
		{limited("acme"), "cem@acme", nil, 400},                                // ACME is another customer
		{limited("north plant"), "жанна@north plant", nil, 0},
		{limited("north plant"), "dan\u00a0x@north plant", nil, 400},
	} {
		_, err := c.by.AddUser(ctx, NewUser{Username: c.name, Password: goodPassword, Role: api.RoleAnalyst, Customers: c.customers})
		if status(err) != c.want {
			t.Errorf("%s for %v by one of %v: %v, want %d", c.name, c.customers, c.by.by.Customers, err, c.want)
		}
		if refusal := (*api.Error)(nil); c.want == 400 && (!errors.As(err, &refusal) || refusal.Details["field"] != "username") {
			t.Errorf("%s: %+v names no field", c.name, refusal)
		}
	}
	if err := w.change("ben@borealis", UserChange{Customers: []string{"acme"}}); status(err) != 400 {
		t.Errorf("out of the customer of the name: %v", err)
	}
	if err := w.change("ben@borealis", UserChange{Customers: []string{"acme", "borealis"}}); err != nil {
		t.Errorf("one customer more: %v", err)
	}
	for name, want := range map[string]bool{"eva@example.com": true, "eva@acme": false} {
		err := w.store.View(ctx, func(tx store.Tx) error {
			_, err := w.provisioned(tx, Provision{Role: api.RoleAnalyst, Customers: []string{"borealis"}}, identity{username: name})
			return err
		})
		if (err == nil) != want || err != nil && status(err) != 403 {
			t.Errorf("%s by an identity provider: %v", name, err)
		}
	}
}
