package screen

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
)

// NewUsers lists the users whom an administrator may see, by name.
func NewUsers() *Sheet {
	return &Sheet{
		title: "Users", query: state.QueryUsers, period: keysPeriod,
		empty: "There is no user whom you may see.",
		list:  pane.List{SortBy: -1},
		columns: []pane.Column{
			{Title: "name", Min: 12}, {Title: "role", Width: 13}, {Title: "customers", Width: 18, Min: 9, Rank: 1}, {Title: "state", Width: 8},
			{Title: "2nd factor", Width: 10, Rank: 3}, {Title: "last sign-in", Width: 12, Rank: 2},
		},
		rows: userRows, detail: userDetail, own: keymap.UserList, act: manageUser, why: whyNotUser,
		status: func(v view.Context) status {
			if v.Admin == nil {
				return status{}
			}
			return statusOf(v.Admin.Users, v.Now, len(v.Admin.Users.Data) == 0)
		},
	}
}

// userOf is the user of that id; nil for none.
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

// whyNotUser keeps people from locking themselves out: what ends the own
// session for good is for another administrator.
func whyNotUser(a keymap.Action, id string, v view.Context) string {
	u := userOf(v, id)
	switch {
	case u == nil || v.User == nil || u.UserID != v.User.UserID:
		return ""
	case a == keymap.BlockUser:
		return "you would keep yourself out"
	case a == keymap.DeleteUser:
		return "you would delete yourself"
	}
	return ""
}

// userState is how a user stands, in a word.
func userState(u api.UserRecord, now time.Time) string {
	switch {
	case !u.Active:
		return "disabled"
	case u.LockedUntil.After(now):
		return "locked"
	}
	return "active"
}

// secondFactor is how a user's second factor stands, in a word.
func secondFactor(u api.UserRecord) string {
	switch {
	case u.Issuer != "":
		return "provider's"
	case u.MFAEnrolled:
		return "enrolled"
	}
	return "none"
}

func userRows(v view.Context) []pane.Row {
	if v.Admin == nil {
		return nil
	}
	rows := make([]pane.Row, 0, len(v.Admin.Users.Data))
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
			seen = pane.When(u.LastLoginAt.Time, v.Now, v.Zone())
		}
		rows = append(rows, pane.Row{
			ID: u.UserID, Sort: []any{strings.ToLower(u.Username), state.RoleName(u.RoleID), everything(u.CustomerIDs), standing, secondFactor(u), timeText(u.LastLoginAt)},
			Cells: []pane.Cell{
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

func userDetail(v view.Context, id string) []Detail {
	u := userOf(v, id)
	if u == nil {
		return nil
	}
	at := func(t api.Time) string { return t.In(v.Zone()).Format("2006-01-02 15:04") }
	lines := []Detail{{Heading: u.Username}}
	add := factsOf(&lines)
	switch userState(*u, v.Now) {
	case "disabled":
		add("state", "disabled: kept out until somebody lets the user in again")
	case "locked":
		lines = append(lines, Detail{Label: "state", Words: "locked until " + at(u.LockedUntil) + ": too many codes were wrong", Role: themes.Warning})
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
		add("2nd factor", "none: the next sign-in sets one up where the service asks for it")
	}
	add("created", at(u.CreatedAt))
	if u.LastLoginAt.IsZero() {
		add("last sign-in", "never")
	} else {
		add("last sign-in", at(u.LastLoginAt))
	}
	if v.User != nil && v.User.UserID == u.UserID {
		lines = append(lines, Detail{Words: "This is you. What would keep you out is for another administrator to do.", Role: themes.Dim})
	}
	if len(u.SSHPublicKeys) > 0 {
		lines = append(lines, Detail{Heading: "Public keys for SSH"})
		for _, key := range u.SSHPublicKeys {
			lines = append(lines, Detail{Words: key, Role: themes.Text})
		}
	}
	return lines
}
