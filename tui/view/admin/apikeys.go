package admin

import (
	"context"
	"slices"
	"strconv"
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

// NewAPIKeys lists the API keys that an administrator may see: those that open
// first, each group from the newest on. now is the wall clock.
func NewAPIKeys(now func() time.Time) *widget.TableView {
	return &widget.TableView{
		Heading: "API keys", Query: state.QueryKeys, Period: widget.ListPeriod,
		Empty: "No API keys. Press c to create one for a logger, script or service.",
		List:  widget.List{SortBy: -1},
		Columns: []widget.Column{
			{Title: "name", Min: 14}, {Title: "role", Width: 13}, {Title: "sites", Width: 18, Min: 10, Rank: 1}, {Title: "state", Width: 7},
			{Title: "created", Width: 10, Rank: 3}, {Title: "expires", Width: 10, Rank: 2},
		},
		Rows: keyRows, Detail: keyDetail, Keys: keymap.KeyList,
		Act: func(a keymap.Action, id string, v view.Context) view.Request { return manageKey(a, id, v, now) },
		Status: func(v view.Context) widget.ValueStatus {
			if v.Admin == nil {
				return widget.ValueStatus{}
			}
			return widget.StatusOf(v.Admin.Keys, v.Now, len(v.Admin.Keys.Data) == 0)
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

func keyRows(v view.Context) []widget.Row {
	if v.Admin == nil {
		return nil
	}
	keys := slices.Clone(v.Admin.Keys.Data)
	slices.Reverse(keys)
	slices.SortStableFunc(keys, func(a, b api.KeyRecord) int { return ended(a) - ended(b) })
	rows := make([]widget.Row, 0, len(keys))
	for _, k := range keys {
		role, expires := themes.Text, "never"
		if k.State != api.KeyGood {
			role = themes.Dim
		}
		switch {
		case k.State == api.KeyRevoked:
			expires = ""
		case !k.ExpiresAt.IsZero():
			expires = display.Date(k.ExpiresAt.In(v.Zone()))
		}
		rows = append(rows, widget.Row{
			ID: k.APIKeyID, Sort: []any{k.Name, k.RoleID, everything(k.PermittedSiteIDs), k.State, k.CreatedAt.String(), endText(k)},
			Cells: []widget.Cell{
				{Text: k.Name, Role: role}, {Text: state.RoleName(k.RoleID), Role: role}, {Text: everything(k.PermittedSiteIDs), Role: role},
				{Text: k.State, Role: role}, {Text: display.Date(k.CreatedAt.In(v.Zone())), Role: themes.Dim}, {Text: expires, Role: role},
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

// everything returns ids as text, with a word for the sign of all.
func everything(ids []string) string {
	if slices.Contains(ids, api.Every) {
		return "all"
	}
	return strings.Join(ids, ", ")
}

func keyDetail(v view.Context, id string) []widget.Detail {
	if v.Admin == nil {
		return nil
	}
	keys := v.Admin.Keys.Data
	i := slices.IndexFunc(keys, func(k api.KeyRecord) bool { return k.APIKeyID == id })
	if i < 0 {
		return nil
	}
	k := keys[i]
	lines := []widget.Detail{{Heading: k.Name}}
	add := widget.FactsOf(&lines)
	at := func(t api.Time) string { return display.DateTime(t.In(v.Zone())) }
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
	rate := strconv.Itoa(k.RatePerMinute) + " requests a minute"
	if k.RateClass == api.RateNone {
		rate = "no limit"
	}
	add("rate", rate)
	if u := k.Usage; u.LastUsedAt.IsZero() {
		add("used", "never")
	} else {
		add("last used", at(u.LastUsedAt))
		add("requests", strconv.FormatInt(u.Requests, 10)+", today "+strconv.FormatInt(u.RequestsToday, 10))
		add("refused", strconv.FormatInt(u.Refused, 10))
		if u.Points > 0 {
			add("points", strconv.FormatInt(u.Points, 10)+", today "+strconv.FormatInt(u.PointsToday, 10))
		}
	}
	for _, other := range keys {
		if other.Replaces == id {
			add("replaced by", other.APIKeyID)
		}
	}
	return lines
}

// sendKey sends an action on an API key for the dialog that asks for it. What
// was made is chosen in the list, and a new key is shown once.
func sendKey(from view.Caller, r api.KeysRequest) view.Request {
	return view.Call{From: from, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
		var answer *api.KeysResponse
		var err error
		switch r.Action {
		case api.ActionCreate:
			answer, err = c.CreateKey(ctx, r)
		case api.ActionRotate:
			answer, err = c.RotateKey(ctx, r)
		case api.ActionRevoke:
			answer, err = c.RevokeKey(ctx, r.APIKeyID)
		}
		if err != nil {
			return view.Result{}, err
		}
		done := view.Result{Row: answer.APIKeyID, Refresh: []state.Query{state.QueryKeys}}
		if answer.APIKey != "" && answer.Key != nil {
			done.Open = widget.NewSecretView(answer.Key.Name, answer.Message, answer.APIKey)
		}
		return done, nil
	}}
}

// NewKeyForm starts with the fewest permissions: a role that only reads, for the site
// on screen only. sites are the accessible ones, now the wall clock.
func NewKeyForm(site api.Site, sites []api.Site, zone *time.Location, now func() time.Time) *widget.FieldsForm {
	role := widget.NewChoice("Role", state.KeyRoles(), state.RoleName)
	d := &widget.FieldsForm{Heading: "Create an API key", Verb: "create", Rows: 11, Intro: "A program signs in with a key instead of a password. Allow only what it needs.", ServerForm: widget.ServerForm{Clock: now, Zone: zone,
		Names: []string{"name", "role_id", "permitted_site_ids", "customer_ids", "expires_at"},
		Form: widget.Form{Fields: []widget.Field{
			widget.NewField("Name", "what the key is for", ""), role,
			widget.NewField("Sites", "ids with commas, or * for all of the customers", site.SiteID),
			widget.NewField("Customers", "ids with commas; empty: all of yours", site.CustomerID),
			widget.NewField("Expires", "days, as 90 days, or a date; empty: never", "90 days"),
		}},
	}}
	ids := make([]string, 0, len(sites))
	for _, s := range sites {
		ids = append(ids, s.SiteID)
	}
	if len(ids) > 0 {
		d.Note = "Accessible sites: " + strings.Join(ids, ", ")
	}
	d.Accept = func() view.Request {
		expires, ok := d.Expiry("expires_at")
		if !ok {
			return nil
		}
		d.Busy, d.Wrong = true, ""
		return sendKey(d, api.KeysRequest{
			Action: api.ActionCreate, Name: d.Value("name"), RoleID: d.Value("role_id"), ExpiresAt: expires,
			PermittedSiteIDs: widget.SplitList(d.Value("permitted_site_ids")), CustomerIDs: widget.SplitList(d.Value("customer_ids")),
		})
	}
	return d
}

// NewRotateForm asks how a key is replaced. It starts with the overlap that the
// service would take.
func NewRotateForm(k api.KeyRecord, zone *time.Location, now func() time.Time) *widget.FieldsForm {
	d := &widget.FieldsForm{
		Heading: "Rotate an API key", Verb: "rotate", Rows: 10, Role: themes.Text,
		Intro: "A new key takes the place of " + k.Name + " (" + k.APIKeyID + "). The former key stays valid for the overlap; after that it is refused.",
		ServerForm: widget.ServerForm{Clock: now, Zone: zone,
			Names: []string{"overlap_hours", "expires_at"},
			Form: widget.Form{Fields: []widget.Field{
				widget.NewField("Overlap h", "hours for which the former key stays valid", strconv.Itoa(int(api.DefaultOverlap/time.Hour))),
				widget.NewField("New expires", "days or a date; empty: as the former key", ""),
			}},
		},
	}
	d.Accept = func() view.Request {
		hours, err := strconv.Atoi(d.Value("overlap_hours"))
		if err != nil {
			d.Refuse(0, "The overlap is a whole number of hours.")
			return nil
		}
		expires, ok := d.Expiry("expires_at")
		if !ok {
			return nil
		}
		d.Busy, d.Wrong = true, ""
		return sendKey(d, api.KeysRequest{Action: api.ActionRotate, APIKeyID: k.APIKeyID, OverlapHours: &hours, ExpiresAt: expires})
	}
	return d
}

// NewRevoke asks whether a key is to end.
func NewRevoke(k api.KeyRecord) *widget.Confirm {
	d := &widget.Confirm{
		Heading: "Revoke an API key", No: "Keep it", Yes: "Revoke",
		Question: "Revoke " + k.Name + " (" + k.APIKeyID + ")? Requests with it are refused from now on. This cannot be undone.",
		Send: func(from view.Caller) view.Request {
			return sendKey(from, api.KeysRequest{Action: api.ActionRevoke, APIKeyID: k.APIKeyID})
		},
	}
	if k.State == api.KeyRevoked {
		d.Settled = k.Name + " (" + k.APIKeyID + ") is revoked already."
	}
	return d
}
