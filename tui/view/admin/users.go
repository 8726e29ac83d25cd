// Package admin is what administrators see: users, API keys, the audit trail
// and the log.
package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// NewUsers lists the users whom an administrator may see, by name.
func NewUsers() *widget.TableView {
	return &widget.TableView{
		Heading: "Users", Query: state.QueryUsers, Period: widget.ListPeriod,
		Empty: "No users are visible to you.",
		List:  widget.List{SortBy: -1},
		Columns: []widget.Column{
			{Title: "name", Min: 12}, {Title: "role", Width: 13}, {Title: "customers", Width: 18, Min: 9, Rank: 1}, {Title: "state", Width: 8},
			{Title: "2nd factor", Width: 10, Rank: 3}, {Title: "last sign-in", Width: 12, Rank: 2},
		},
		Rows: userRows, Detail: userDetail, Keys: keymap.UserList, Act: manageUser, Reason: whyNotUser,
		Status: func(v view.Context) widget.ValueStatus {
			if v.Admin == nil {
				return widget.ValueStatus{}
			}
			return widget.StatusOf(v.Admin.Users, v.Now, len(v.Admin.Users.Data) == 0)
		},
	}
}

// userOf returns the user of that id; nil for none.
func userOf(v view.Context, id string) *api.UserRecord {
	if v.Admin == nil {
		return nil
	}
	i := slices.IndexFunc(v.Admin.Users.Data, func(u api.UserRecord) bool { return u.UserID == id })
	if i < 0 {
		return nil
	}
	return &v.Admin.Users.Data[i]
}

// isLimited reports whether a user sees some customers only.
func isLimited(u *api.User) bool { return u != nil && !slices.Contains(u.CustomerIDs, api.Every) }

// manageUser opens the dialog of an action on a user.
func manageUser(a keymap.Action, id string, v view.Context) view.Request {
	if a == keymap.AddUser {
		customer := ""
		if v.Site != nil {
			customer = v.Site.CustomerID
		}
		return view.OpenDialog{Dialog: NewUserForm(customer, isLimited(v.User))}
	}
	u := userOf(v, id)
	if u == nil {
		return nil
	}
	switch a {
	case keymap.EditUser, keymap.Open:
		return view.OpenDialog{Dialog: NewUserChange(*u)}
	case keymap.BlockUser:
		return view.OpenDialog{Dialog: NewBlock(*u)}
	case keymap.UnlockUser:
		return view.OpenDialog{Dialog: NewUnlock(*u)}
	case keymap.ResetFactor:
		return view.OpenDialog{Dialog: NewFactorReset(*u)}
	case keymap.SetPassword:
		return view.OpenDialog{Dialog: NewPasswordForm(*u)}
	case keymap.UserSSHKey:
		return view.OpenDialog{Dialog: NewSSHKeyForm(*u)}
	case keymap.DeleteUser:
		return view.OpenDialog{Dialog: NewUserDelete(*u)}
	}
	return nil
}

// whyNotUser prevents administrators from locking themselves out: only another
// administrator can do what ends their own session permanently.
func whyNotUser(a keymap.Action, id string, v view.Context) string {
	u := userOf(v, id)
	switch {
	case u == nil || v.User == nil || u.UserID != v.User.UserID:
		return ""
	case a == keymap.BlockUser:
		return "you would lock yourself out"
	case a == keymap.DeleteUser:
		return "you would delete yourself"
	}
	return ""
}

// userState returns the state of a user, as a word.
func userState(u api.UserRecord, now time.Time) string {
	switch {
	case !u.Active:
		return "disabled"
	case u.LockedUntil.After(now):
		return "locked"
	}
	return "active"
}

// secondFactor returns the state of a user's second factor, as a word.
func secondFactor(u api.UserRecord) string {
	switch {
	case u.Issuer != "":
		return "provider's"
	case u.MFAEnrolled:
		return "enrolled"
	}
	return "none"
}

func userRows(v view.Context) []widget.Row {
	if v.Admin == nil {
		return nil
	}
	rows := make([]widget.Row, 0, len(v.Admin.Users.Data))
	for _, u := range v.Admin.Users.Data {
		role, standing, seen := themes.Text, userState(u, v.Now), "never"
		mark := themes.Text
		switch standing {
		case "disabled":
			role, mark = themes.Dim, themes.Dim
		case "locked":
			mark = themes.Warning
		}
		if !u.LastLoginAt.IsZero() {
			seen = display.When(u.LastLoginAt.Time, v.Now, v.Zone())
		}
		rows = append(rows, widget.Row{
			ID: u.UserID, Sort: []any{strings.ToLower(u.Username), state.RoleName(u.RoleID), everything(u.CustomerIDs), standing, secondFactor(u), timeText(u.LastLoginAt)},
			Cells: []widget.Cell{
				{Text: u.Username, Role: role}, {Text: state.RoleName(u.RoleID), Role: role}, {Text: everything(u.CustomerIDs), Role: role}, {Text: standing, Role: mark},
				{Text: secondFactor(u), Role: role}, {Text: seen, Role: themes.Dim},
			},
		})
	}
	return rows
}

// timeText sorts by a time, what has none last.
func timeText(t api.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.String()
}

func userDetail(v view.Context, id string) []widget.Detail {
	u := userOf(v, id)
	if u == nil {
		return nil
	}
	at := func(t api.Time) string { return display.DateTime(t.In(v.Zone())) }
	lines := []widget.Detail{{Heading: u.Username}}
	add := widget.FactsOf(&lines)
	switch userState(*u, v.Now) {
	case "disabled":
		add("state", "disabled: cannot sign in until enabled again")
	case "locked":
		lines = append(lines, widget.Detail{Label: "state", Text: "locked until " + at(u.LockedUntil) + ": too many codes were wrong", Role: themes.Warning})
	default:
		add("state", "active")
	}
	add("id", u.UserID)
	add("role", state.RoleName(u.RoleID))
	add("customers", everything(u.CustomerIDs))
	add("sites", everything(u.SiteIDs))
	switch {
	case u.Issuer != "":
		add("signs in by", u.Issuer)
	case u.MFAEnrolled:
		add("2nd factor", fmt.Sprintf("enrolled, %d recovery codes left", u.RecoveryCodes))
	default:
		add("2nd factor", "none: set up at the next sign-in, unless the service runs with --no-mfa")
	}
	add("created", at(u.CreatedAt))
	if u.LastLoginAt.IsZero() {
		add("last sign-in", "never")
	} else {
		add("last sign-in", at(u.LastLoginAt))
	}
	if v.User != nil && v.User.UserID == u.UserID {
		lines = append(lines, widget.Detail{Text: "This is you. Only another administrator can make changes that lock you out.", Role: themes.Dim})
	}
	if len(u.SSHPublicKeys) > 0 {
		lines = append(lines, widget.Detail{Heading: "Public keys for SSH"})
		for _, key := range u.SSHPublicKeys {
			lines = append(lines, widget.Detail{Text: key, Role: themes.Text})
		}
	}
	return lines
}

// sendUser makes a change of a user for the dialog that asks for it.
func sendUser(from view.Caller, do func(ctx context.Context, c *client.Client) (*api.UsersResponse, error)) view.Request {
	return view.Call{From: from, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
		answer, err := do(ctx, c)
		if err != nil {
			return view.Result{}, err
		}
		return view.Result{Notice: view.Notice(answer.Message + "."), Row: answer.UserID, Refresh: []state.Query{state.QueryUsers}}, nil
	}}
}

// roleChoice returns a choice of a role that begins with one.
func roleChoice(first string) widget.Field {
	f := widget.NewChoice("Role", state.Roles(), state.RoleName)
	if slices.Contains(state.Roles(), first) {
		f.Set(first)
	}
	return f
}

// Hints of the fields that decide whose data a user sees.
const (
	customersHint = "ids with commas, or * for all"
	sitesHint     = "ids with commas; empty: all of the customers"
)

// newPassword asks for a password that the user does not have yet.
func newPassword(label string) widget.Field {
	f := widget.NewSecret(label)
	f.Hint = "at least 8 characters"
	return f
}

// NewUserForm asks for a new user, initially with the fewest permissions: a role that
// only reads, for the customer on screen. An administrator who is limited to
// customers gives names that end in @ and the id of one of them.
func NewUserForm(customer string, limited bool) *widget.FieldsForm {
	name := "letters, digits, . - _ @"
	if limited {
		name = "ends in @ and the id of a customer"
	}
	d := &widget.FieldsForm{
		Heading: "Add a user", Verb: "add", Rows: 10, Intro: "The user signs in with this password. At the first sign-in an authenticator is set up as second factor, unless the service runs with --no-mfa.",
		ServerForm: widget.ServerForm{
			Names: []string{"username", "password", "role_id", "customer_ids", "site_ids", api.FieldSSHKeys},
			Form: widget.Form{Fields: []widget.Field{
				widget.NewField("Name", name, ""), newPassword("Password"), roleChoice(""),
				widget.NewField("Customers", customersHint, customer), widget.NewField("Sites", sitesHint, ""),
				widget.NewField("SSH key", "a line as in a .pub file; may be empty", ""),
			}},
		},
	}
	d.Accept = func() view.Request {
		if d.Value("customer_ids") == "" { // a user without customers sees nothing
			d.Refuse(slices.Index(d.Names, "customer_ids"), "Which customers may the user see? * means all.")
			return nil
		}
		req := changeOf(d)
		req.Username, req.Password = d.Value("username"), d.Value("password")
		if key := d.Value(api.FieldSSHKeys); key != "" {
			req.SSHPublicKeys = []string{key}
		}
		return sendUser(d, func(ctx context.Context, c *client.Client) (*api.UsersResponse, error) { return c.AddUser(ctx, req) })
	}
	return d
}

// changeOf returns what a form says of role, customers and sites, to be sent.
func changeOf(d *widget.FieldsForm) api.UsersRequest {
	d.Busy, d.Wrong = true, ""
	return api.UsersRequest{RoleID: d.Value("role_id"), CustomerIDs: widget.SplitList(d.Value("customer_ids")), SiteIDs: widget.SplitList(d.Value("site_ids"))}
}

// NewUserChange asks for another role, other customers or sites of a user.
func NewUserChange(u api.UserRecord) *widget.FieldsForm {
	sites := strings.Join(u.SiteIDs, ", ")
	d := &widget.FieldsForm{
		Heading: "Change " + u.Username, Verb: "change", Rows: 10, Intro: "The change takes effect immediately, also for users who are signed in.",
		ServerForm: widget.ServerForm{
			Names: []string{"role_id", "customer_ids", "site_ids"},
			Form: widget.Form{Fields: []widget.Field{
				roleChoice(u.RoleID), widget.NewField("Customers", customersHint, strings.Join(u.CustomerIDs, ", ")),
				widget.NewField("Sites", "ids with commas, or * for all of the customers", sites),
			}},
		},
	}
	d.Accept = func() view.Request {
		req := changeOf(d)
		req.UserID = u.UserID
		return sendUser(d, func(ctx context.Context, c *client.Client) (*api.UsersResponse, error) { return c.SetUser(ctx, req) })
	}
	return d
}

// lineForm asks for one line about a user.
func lineForm(heading, verb, words, name string, field widget.Field, send func(from view.Caller, text string) view.Request) *widget.FieldsForm {
	d := &widget.FieldsForm{
		Heading: heading, Verb: verb, Intro: words,
		ServerForm: widget.ServerForm{Names: []string{name}, Form: widget.Form{Fields: []widget.Field{field}}},
	}
	d.Accept = func() view.Request {
		d.Busy, d.Wrong = true, ""
		return send(d, d.Value(name))
	}
	return d
}

// NewPasswordForm asks for a user's new password.
func NewPasswordForm(u api.UserRecord) *widget.FieldsForm {
	return lineForm("Set the password of "+u.Username, "set", "All sessions of the user are ended. Send the password to the user through a channel other than e-mail.", "password", newPassword("Password"),
		func(from view.Caller, text string) view.Request {
			return sendUser(from, func(ctx context.Context, c *client.Client) (*api.UsersResponse, error) {
				return c.ResetPassword(ctx, u.UserID, text)
			})
		})
}

// NewSSHKeyForm asks for a public key of a user; an empty key removes all.
func NewSSHKeyForm(u api.UserRecord) *widget.FieldsForm {
	const words = "With the key the user signs in over SSH without a password. It is added to the user's keys; an empty line removes all of them."
	return lineForm("Public key of "+u.Username+" for SSH", "store", words, api.FieldSSHKeys, widget.NewField("SSH key", "a line as in a .pub file", ""),
		func(from view.Caller, text string) view.Request {
			keys := []string{}
			if text != "" {
				keys = append(slices.Clone(u.SSHPublicKeys), text)
			}
			return sendUser(from, func(ctx context.Context, c *client.Client) (*api.UsersResponse, error) {
				return c.SetUser(ctx, api.UsersRequest{UserID: u.UserID, SSHPublicKeys: keys})
			})
		})
}

// NewBlock asks whether a user is disabled or enabled.
func NewBlock(u api.UserRecord) *widget.Confirm {
	d := &widget.Confirm{Heading: "Disable a user", No: "Cancel", Yes: "Disable", Question: "Disable " + u.Username + "? All sessions are ended, and the user cannot sign in until enabled again."}
	if !u.Active {
		d.Heading, d.Yes, d.Question = "Enable a user", "Enable", "Enable "+u.Username+" again, as "+state.RoleName(u.RoleID)+"?"
	}
	active := !u.Active
	d.Send = func(from view.Caller) view.Request {
		return sendUser(from, func(ctx context.Context, c *client.Client) (*api.UsersResponse, error) {
			return c.SetUser(ctx, api.UsersRequest{UserID: u.UserID, Active: &active})
		})
	}
	return d
}

// NewUnlock asks whether a user's wrong passwords and codes are forgotten.
func NewUnlock(u api.UserRecord) *widget.Confirm {
	return &widget.Confirm{
		Heading: "Unlock a user", No: "Leave it", Yes: "Unlock", Question: "Unlock " + u.Username + "? Failed attempts are reset, and the next sign-in is not delayed. Do it only if the user has asked for it.",
		Send: func(from view.Caller) view.Request {
			return sendUser(from, func(ctx context.Context, c *client.Client) (*api.UsersResponse, error) {
				return c.UnlockUser(ctx, u.UserID)
			})
		},
	}
}

// NewFactorReset asks whether a user's second factor is forgotten.
func NewFactorReset(u api.UserRecord) *widget.Confirm {
	d := &widget.Confirm{
		Heading: "Reset a second factor", No: "Leave it", Yes: "Reset", Question: "Remove the authenticator and the recovery codes of " + u.Username + "? All sessions are ended, and the next sign-in sets up a new one. First verify that the user has asked for it.",
		Send: func(from view.Caller) view.Request {
			return sendUser(from, func(ctx context.Context, c *client.Client) (*api.UsersResponse, error) {
				return c.ResetMFA(ctx, u.UserID)
			})
		},
	}
	if !u.MFAEnrolled {
		d.Settled = u.Username + " has no second factor to reset."
	}
	return d
}

// NewUserDelete asks whether a user is removed.
func NewUserDelete(u api.UserRecord) *widget.Confirm {
	return &widget.Confirm{
		Heading: "Delete a user", No: "Keep it", Yes: "Delete", Question: "Delete " + u.Username + " (" + u.UserID + ")? This cannot be undone. The user's actions stay in the audit trail. To block a user temporarily, disable instead.",
		Send: func(from view.Caller) view.Request {
			return sendUser(from, func(ctx context.Context, c *client.Client) (*api.UsersResponse, error) {
				return c.DeleteUser(ctx, u.UserID)
			})
		},
	}
}
