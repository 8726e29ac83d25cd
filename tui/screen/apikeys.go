package screen

import (
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

// How often what administrators see is asked for, and how old it may be.
const (
	keysPeriod = 10 * time.Second
	keysAge    = time.Minute
)

// NewAPIKeys lists the API keys that an administrator may see: those that open
// first, each group from the newest on. now is the wall clock.
func NewAPIKeys(now func() time.Time) *Sheet {
	return &Sheet{
		title: "API keys", query: state.QueryKeys, period: keysPeriod,
		empty: "There is no API key yet. A key lets a logger, a script or another service in without a password; c creates one.",
		list:  pane.List{SortBy: -1},
		columns: []pane.Column{
			{Title: "name", Min: 14}, {Title: "role", Width: 13}, {Title: "sites", Width: 18, Min: 10, Rank: 1}, {Title: "state", Width: 7},
			{Title: "created", Width: 10, Rank: 3}, {Title: "expires", Width: 10, Rank: 2},
		},
		rows: keyRows, detail: keyDetail, own: keymap.KeyList,
		act: func(a keymap.Action, id string, v view.Context) view.Request { return manageKey(a, id, v, now) },
		status: func(v view.Context) status {
			if v.Admin == nil {
				return status{}
			}
			return statusOf(v.Admin.Keys, v.Now, len(v.Admin.Keys.Data) == 0)
		},
	}
}

// manageKey opens the dialog of an action on a key.
func manageKey(a keymap.Action, id string, v view.Context, now func() time.Time) view.Request {
	if a == keymap.CreateKey {
		var site api.Site
		if v.Site != nil {
			site = v.Site.Site
		}
		return view.OpenDialog{Dialog: NewKeyForm(site, v.Sites, v.Zone(), now)}
	}
	keys := v.Admin.Keys.Data
	i := slices.IndexFunc(keys, func(k api.KeyRecord) bool { return k.APIKeyID == id })
	switch {
	case i < 0: // no key is chosen
	case a == keymap.RotateKey:
		return view.OpenDialog{Dialog: NewRotateForm(keys[i], v.Zone(), now)}
	case a == keymap.RevokeKey:
		return view.OpenDialog{Dialog: NewRevoke(keys[i])}
	}
	return nil
}

func keyRows(v view.Context) []pane.Row {
	if v.Admin == nil {
		return nil
	}
	keys := slices.Clone(v.Admin.Keys.Data)
	slices.Reverse(keys)
	slices.SortStableFunc(keys, func(a, b api.KeyRecord) int { return ended(a) - ended(b) })
	rows := make([]pane.Row, 0, len(keys))
	for _, k := range keys {
		role, expires := themes.Text, "never"
		if k.State != api.KeyGood {
			role = themes.Dim
		}
		switch {
		case k.State == api.KeyRevoked:
			expires = ""
		case !k.ExpiresAt.IsZero():
			expires = k.ExpiresAt.In(v.Zone()).Format(time.DateOnly)
		}
		rows = append(rows, pane.Row{
			ID: k.APIKeyID, Sort: []any{k.Name, k.RoleID, everything(k.PermittedSiteIDs), k.State, k.CreatedAt.String(), endText(k)},
			Cells: []pane.Cell{
				{Text: k.Name, Role: role}, {Text: state.RoleName(k.RoleID), Role: role}, {Text: everything(k.PermittedSiteIDs), Role: role},
				{Text: k.State, Role: role}, {Text: k.CreatedAt.In(v.Zone()).Format(time.DateOnly), Role: themes.Dim}, {Text: expires, Role: role},
			},
		})
	}
	return rows
}

func ended(k api.KeyRecord) int {
	if k.State == api.KeyGood {
		return 0
	}
	return 1
}

// endText sorts keys by their end, those without one last.
func endText(k api.KeyRecord) any {
	if k.ExpiresAt.IsZero() {
		return nil
	}
	return k.ExpiresAt.String()
}

// everything writes ids, and the sign for all of them as a word.
func everything(ids []string) string {
	if slices.Contains(ids, api.Every) {
		return "all"
	}
	return strings.Join(ids, ", ")
}

func keyDetail(v view.Context, id string) []Detail {
	if v.Admin == nil {
		return nil
	}
	keys := v.Admin.Keys.Data
	i := slices.IndexFunc(keys, func(k api.KeyRecord) bool { return k.APIKeyID == id })
	if i < 0 {
		return nil
	}
	k := keys[i]
	lines := []Detail{{Heading: k.Name}}
	add := factsOf(&lines)
	at := func(t api.Time) string { return t.In(v.Zone()).Format("2006-01-02 15:04") }
	add("state", k.State)
	add("id", k.APIKeyID)
	add("role", state.RoleName(k.RoleID))
	add("sites", everything(k.PermittedSiteIDs))
	add("customers", everything(k.CustomerIDs))
	created := at(k.CreatedAt)
	if k.CreatedBy != "" {
		created += " by " + k.CreatedBy
	}
	add("created", created)
	switch {
	case !k.RevokedAt.IsZero():
		add("revoked", at(k.RevokedAt))
	case k.ExpiresAt.IsZero():
		add("expires", "never")
	default:
		add("expires", at(k.ExpiresAt))
	}
	if k.Replaces != "" {
		add("replaces", k.Replaces)
	}
	for _, other := range keys {
		if other.Replaces == id {
			add("replaced by", other.APIKeyID)
		}
	}
	return lines
}
