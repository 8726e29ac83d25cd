package tui

import (
	"context"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
)

// user returns an account as the service holds it.
func (o *office) user(name string) auth.User {
	o.t.Helper()
	u, err := o.service.Auth().As(api.Unlimited("test")).User(context.Background(), auth.UserRef{Username: name})
	if err != nil {
		o.t.Fatal(err)
	}
	return u
}

// add makes a user behind the console's back.
func (o *office) add(name, role string) {
	o.t.Helper()
	if _, err := o.service.Auth().CreateUser(context.Background(), auth.NewUser{Username: name, Password: "correct horse", Role: role, Customers: []string{"acme"}}); err != nil {
		o.t.Fatal(err)
	}
}

func TestUsers(t *testing.T) {
	o := startOffice(t, 120, 36, api.RoleAdmin)
	o.press("g", "r")
	o.shows("Users", "anna", "Administrator", "active", "This is you.")

	// A new one: refusals stand at their field, what was typed stays. Without customers, the
	// user would see nothing.
	o.press("c", "bob", "tab", "short", "enter")
	o.shows("Which customers may the user see?", "bob")
	o.press("acme", "enter")
	o.shows("Invalid field: password", "bob")
	o.press("ctrl+u", "correct horse", "tab", "right", "enter")
	o.shows("User added.")
	if u := o.user("bob"); u.Role != api.RoleTechnician || len(u.Customers) != 1 || u.Customers[0] != "acme" || !u.Active {
		t.Fatalf("the service holds %+v", u)
	}
	o.pass(2)
	o.shows("bob", "Technician", "acme")

	// The new one is chosen; role, password, factor and key of it.
	o.press("E", "right", "enter")
	o.shows("User changed.")
	if u := o.user("bob"); u.Role != api.RoleOperator {
		t.Errorf("role %s", u.Role)
	}
	o.press("p", "seven77", "enter")
	o.shows("Invalid field: password")
	o.press("ctrl+u", "another horse", "enter")
	o.shows("Password changed; all sessions are ended.")
	if _, err := o.service.Auth().Login(context.Background(), "bob", "another horse", "192.0.2.1"); err != nil {
		t.Errorf("the new password is not taken: %v", err)
	}
	o.press("m")
	o.shows("bob has no second factor to reset.")
	o.press("esc", "K", "no key", "enter")
	o.shows("Invalid field: ssh_public_keys")
	o.press("esc", "u", "tab", "enter")
	o.shows("Failed sign-ins are reset.")

	// Enter alone disables no user; the marked answer does.
	o.pass(2)
	o.press("d", "enter")
	if !o.user("bob").Active {
		t.Fatal("enter alone disabled the user")
	}
	o.press("d", "tab", "enter")
	if o.user("bob").Active {
		t.Fatal("the user is still active")
	}
	o.pass(2)
	o.shows("disabled")
	o.press("d")
	o.shows("Enable bob again")
	o.press("tab", "enter")
	if !o.user("bob").Active {
		t.Fatal("the user is still disabled")
	}
	o.pass(2)
	o.press("X", "tab", "enter")
	o.shows("User deleted.")
	if _, err := o.service.Auth().As(api.Unlimited("test")).User(context.Background(), auth.UserRef{Username: "bob"}); err == nil {
		t.Error("the user is still there")
	}
}

// No administrator can lock out the own account, nor the last administrator.
func TestUsersKeepAnAdministrator(t *testing.T) {
	o := startOffice(t, 80, 24, api.RoleAdmin)
	o.press("g", "r", "d")
	o.shows("you would lock yourself out")
	o.press("X")
	o.shows("you would delete yourself")
	o.press("E", "ctrl+u", "left", "enter")
	o.shows("The last active administrator cannot be removed.")
	if u := o.user("anna"); u.Role != api.RoleAdmin || !u.Active {
		t.Errorf("the service holds %+v", u)
	}
}

func TestUsersAreForAdministrators(t *testing.T) {
	o := startOffice(t, 120, 36, api.RoleOperator, "acme")
	o.press("g", "r")
	o.shows("your role does not manage users and API keys")
	o.m.session.user = nil
	o.press("g", "r")
	o.shows("Access denied.", "Next try")
}

func TestUsersFilterSortAndExport(t *testing.T) {
	o := startOffice(t, 120, 36, api.RoleAdmin)
	o.add("zoe", api.RoleAnalyst)
	o.add("bob", api.RoleOperator)
	o.press("g", "r", "/", "oper", "enter")
	o.shows("bob")
	o.hides("zoe")
	o.press("e")
	o.shows("1 row written to")
	o.press("esc", "s", "s")
	o.shows("zoe")
}
