package screen

import (
	"context"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/themes"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

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

// UserForm asks for a new user, or for what becomes another of one.
type UserForm struct {
	asking
	title, words, verb string
	userID             string // empty: a new one
	active             bool
}

// roleChoice is a choice of a role that begins with one.
func roleChoice(first string) Field {
	f := NewChoice("Role", state.Roles(), state.RoleName)
	if slices.Contains(state.Roles(), first) {
		f.Set(first)
	}
	return f
}

// Hints of the fields that say whose data somebody sees.
const (
	customersHint = "ids with commas, or * for all"
	sitesHint     = "ids with commas; empty: all of the customers"
)

// NewUserForm asks for a new user, with the least to begin with: a role that
// only reads, for the customer on screen. An administrator who is limited to
// customers gives names that end in @ and the id of one of them.
func NewUserForm(customer string, limited bool) *UserForm {
	name := "letters, digits, . - _ @"
	if limited {
		name = "ends in @ and the id of a customer"
	}
	return &UserForm{
		title: "Add a user", verb: "add", words: "The user signs in with this password, and sets up a second factor where the service asks for one.",
		asking: asking{
			names: []string{"username", "password", "role_id", "customer_ids", "site_ids", api.FieldSSHKeys},
			form: form{fields: []Field{
				NewField("Name", name, ""), NewSecret("Password"), roleChoice(""),
				NewField("Customers", customersHint, customer), NewField("Sites", sitesHint, ""),
				NewField("SSH key", "a line as in a .pub file; may be empty", ""),
			}},
		},
	}
}

// NewUserChange asks for another role, other customers or sites of a user.
func NewUserChange(u api.UserRecord) *UserForm {
	sites := strings.Join(u.SiteIDs, ", ")
	return &UserForm{
		title: "Change " + u.Username, verb: "change", words: "The change acts at once, also for who is signed in.", userID: u.UserID, active: u.Active,
		asking: asking{
			names: []string{"role_id", "customer_ids", "site_ids"},
			form: form{fields: []Field{
				roleChoice(u.RoleID), NewField("Customers", customersHint, strings.Join(u.CustomerIDs, ", ")),
				NewField("Sites", "ids with commas, or * for all of the customers", sites),
			}},
		},
	}
}

// Title names the form.
func (d *UserForm) Title() string { return d.title }

// Size fits the form.
func (d *UserForm) Size(w, _ int) (int, int) { return min(76, w-4), len(d.fields) + 10 }

// Draw draws the form.
func (d *UserForm) Draw(r terminal.Region, v view.Context) {
	_, h := r.Size()
	y := v.Paragraph(r, 0, 0, d.words, themes.Dim)
	d.drawForm(r, y+1, v)
	keyLine(r, h-1, v, d.keyWords(d.verb, v)...)
}

// Key edits or sends.
func (d *UserForm) Key(k tea.KeyMsg, v view.Context) view.Request { return d.key(k, v, d.accept) }

func (d *UserForm) accept() view.Request {
	d.busy, d.wrong = true, ""
	req := api.UsersRequest{UserID: d.userID, RoleID: d.value("role_id"), CustomerIDs: listOf(d.value("customer_ids")), SiteIDs: listOf(d.value("site_ids"))}
	if d.userID != "" {
		return sendUser(d, func(ctx context.Context, c *client.Client) (*api.UsersResponse, error) { return c.SetUser(ctx, req) })
	}
	req.Username, req.Password = d.value("username"), d.value("password")
	if key := d.value(api.FieldSSHKeys); key != "" {
		req.SSHPublicKeys = []string{key}
	}
	return sendUser(d, func(ctx context.Context, c *client.Client) (*api.UsersResponse, error) { return c.AddUser(ctx, req) })
}

// LineForm asks for one line about a user: a password, or a public key.
type LineForm struct {
	asking
	title, words, verb string
	send               func(text string) view.Request
}

// NewPasswordForm asks for a user's new password.
func NewPasswordForm(u api.UserRecord) *LineForm {
	d := &LineForm{
		title: "Set the password of " + u.Username, verb: "set", words: "All sessions of the user are ended. Tell the password on another way than by mail.",
		asking: asking{names: []string{"password"}, form: form{fields: []Field{NewSecret("Password")}}},
	}
	d.send = func(text string) view.Request {
		return sendUser(d, func(ctx context.Context, c *client.Client) (*api.UsersResponse, error) {
			return c.ResetPassword(ctx, u.UserID, text)
		})
	}
	return d
}

// NewSSHKeyForm asks for a public key of a user; nothing takes all away.
func NewSSHKeyForm(u api.UserRecord) *LineForm {
	d := &LineForm{
		title: "Public key of " + u.Username + " for SSH", verb: "store",
		words:  "With the key the user opens the console over SSH, without a password. It is added to those that are there; an empty line takes all away.",
		asking: asking{names: []string{api.FieldSSHKeys}, form: form{fields: []Field{NewField("SSH key", "a line as in a .pub file", "")}}},
	}
	d.send = func(text string) view.Request {
		keys := []string{}
		if text != "" {
			keys = append(slices.Clone(u.SSHPublicKeys), text)
		}
		return sendUser(d, func(ctx context.Context, c *client.Client) (*api.UsersResponse, error) {
			return c.SetUser(ctx, api.UsersRequest{UserID: u.UserID, SSHPublicKeys: keys})
		})
	}
	return d
}

// Title names the form.
func (d *LineForm) Title() string { return d.title }

// Size fits the form.
func (d *LineForm) Size(w, _ int) (int, int) { return min(76, w-4), 10 }

// Draw draws the form.
func (d *LineForm) Draw(r terminal.Region, v view.Context) {
	_, h := r.Size()
	y := v.Paragraph(r, 0, 0, d.words, themes.Dim)
	d.drawForm(r, y+1, v)
	keyLine(r, h-1, v, d.keyWords(d.verb, v)...)
}

// Key edits or sends.
func (d *LineForm) Key(k tea.KeyMsg, v view.Context) view.Request {
	return d.key(k, v, func() view.Request {
		d.busy, d.wrong = true, ""
		return d.send(d.fields[0].Value())
	})
}

// NewBlock asks whether a user is kept out, or let in again.
func NewBlock(u api.UserRecord) *Confirm {
	d := &Confirm{title: "Keep a user out", keep: "Leave it", do: "Keep out", question: "Keep " + u.Username + " out? All sessions are ended, and no sign-in is taken until somebody lets the user in again."}
	if !u.Active {
		d.title, d.do, d.question = "Let a user in", "Let in", "Let "+u.Username+" in again, as "+state.RoleName(u.RoleID)+"?"
	}
	active := !u.Active
	d.send = func(from view.Caller) view.Request {
		return sendUser(from, func(ctx context.Context, c *client.Client) (*api.UsersResponse, error) {
			return c.SetUser(ctx, api.UsersRequest{UserID: u.UserID, Active: &active})
		})
	}
	return d
}

// NewUnlock asks whether a user's wrong passwords and codes are forgotten.
func NewUnlock(u api.UserRecord) *Confirm {
	return &Confirm{
		title: "Unlock a user", keep: "Leave it", do: "Unlock", question: "Forget the wrong passwords and codes of " + u.Username + ", so that the next sign-in need not wait? Do it only if the user has asked for it.",
		send: func(from view.Caller) view.Request {
			return sendUser(from, func(ctx context.Context, c *client.Client) (*api.UsersResponse, error) {
				return c.UnlockUser(ctx, u.UserID)
			})
		},
	}
}

// NewFactorReset asks whether a user's second factor is forgotten.
func NewFactorReset(u api.UserRecord) *Confirm {
	d := &Confirm{
		title: "Reset a second factor", keep: "Leave it", do: "Reset", question: "Forget the authenticator and the recovery codes of " + u.Username + "? All sessions are ended, and the next sign-in sets up a new one. Be sure that it is the user who asks.",
		send: func(from view.Caller) view.Request {
			return sendUser(from, func(ctx context.Context, c *client.Client) (*api.UsersResponse, error) {
				return c.ResetMFA(ctx, u.UserID)
			})
		},
	}
	if !u.MFAEnrolled {
		d.settled = u.Username + " has no second factor to reset."
	}
	return d
}

// NewUserDelete asks whether a user is removed.
func NewUserDelete(u api.UserRecord) *Confirm {
	return &Confirm{
		title: "Delete a user", keep: "Keep it", do: "Delete", question: "Delete " + u.Username + " (" + u.UserID + ")? This cannot be undone. What the user did stays in the audit trail. To keep somebody out for a while, disable instead.",
		send: func(from view.Caller) view.Request {
			return sendUser(from, func(ctx context.Context, c *client.Client) (*api.UsersResponse, error) {
				return c.DeleteUser(ctx, u.UserID)
			})
		},
	}
}
