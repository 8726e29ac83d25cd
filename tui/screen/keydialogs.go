package screen

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// sendKey sends an action on an API key for the dialog that asks for it. What
// was made is chosen in the list, and a new key is shown, this once.
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
			done.Open = NewKeyShown(answer.Key.Name, answer.Message, answer.APIKey)
		}
		return done, nil
	}}
}

// asking is a form that waits for the service. Its fields are named as the
// service names them, so that a refusal stands at its field.
type asking struct {
	view.Base
	form
	names []string // of the fields, in the contract
	busy  bool
	clock func() time.Time
	zone  *time.Location
}

// Answer shows the service's words at the field that they are about;
// everything typed is kept.
func (a *asking) Answer(err error) (done bool) {
	a.busy = false
	if err == nil {
		return true
	}
	field := ""
	var refusal *api.Error
	if errors.As(err, &refusal) {
		field, _ = refusal.Details["field"].(string)
	}
	a.refuse(slices.Index(a.names, field), state.Refusal(err))
	return false
}

// drawForm draws the form from y on, and what it waits for.
func (a *asking) drawForm(r terminal.Region, y int, v view.Context) int {
	y = a.draw(r, y, v)
	if a.busy {
		y = v.Paragraph(r, 0, y+1, "Asking the service …", themes.Dim)
	}
	return y
}

// key edits the form; accept sends it.
func (a *asking) key(k tea.KeyMsg, v view.Context, accept func() view.Request) view.Request {
	action, _, _ := v.Keys.Match(k.String(), keymap.Dialog)
	switch {
	case action == keymap.Dismiss:
		return view.Close{}
	case a.busy:
	case action == keymap.Accept:
		return accept()
	default:
		a.edit(action, k)
	}
	return nil
}

// keyWords are the keys of the form; verb is what enter does.
func (a *asking) keyWords(verb string, v view.Context) []string {
	keys := []string{"enter", verb, "tab", "next field", "esc", "back"}
	if a.fields[a.at].choices != nil {
		keys = append(keys, asciiKeys("← →", v.ASCII), "choose")
	}
	return keys
}

// value is the text of the field that the contract names so.
func (a *asking) value(name string) string { return a.fields[slices.Index(a.names, name)].Value() }

// expiry reads the field of that name: a number of days from now, a date or
// time, or nothing for no end.
func (a *asking) expiry(name string) (t api.Time, ok bool) {
	text := a.value(name)
	if text == "" {
		return t, true
	}
	number := strings.TrimSpace(strings.TrimRight(text, "days"))
	if days, err := strconv.Atoi(number); err == nil && days >= 0 && days <= maxKeyDays {
		return api.At(a.clock().AddDate(0, 0, days)), true
	}
	t, err := api.ParseTime(text, a.zone)
	if err != nil {
		a.refuse(slices.Index(a.names, name), err.Error()+": give days, as 90 days, or a date, as 2027-06-30.")
	}
	return t, err == nil
}

// maxKeyDays is the longest life given in days: a longer number is a slip.
const maxKeyDays = 36500

// KeyForm asks for a new API key.
type KeyForm struct {
	asking
	reach string
}

// NewKeyForm starts with the least: a role that only reads, for the site on
// screen alone. sites are those in reach, now the wall clock.
func NewKeyForm(site api.Site, sites []api.Site, zone *time.Location, now func() time.Time) *KeyForm {
	role := NewChoice("Role", state.Roles(), state.RoleName)
	d := &KeyForm{asking: asking{clock: now, zone: zone,
		names: []string{"name", "role_id", "permitted_site_ids", "customer_ids", "expires_at"},
		form: form{fields: []Field{
			NewField("Name", "what the key is for", ""), role,
			NewField("Sites", "ids with commas, or * for all of the customers", site.SiteID),
			NewField("Customers", "ids with commas; empty: all that are yours", site.CustomerID),
			NewField("Expires", "days, as 90 days, or a date; empty: never", "90 days"),
		}},
	}}
	ids := make([]string, 0, len(sites))
	for _, s := range sites {
		ids = append(ids, s.SiteID)
	}
	d.reach = strings.Join(ids, ", ")
	return d
}

// Title names the form.
func (d *KeyForm) Title() string { return "Create an API key" }

// Size fits the form.
func (d *KeyForm) Size(w, _ int) (int, int) { return min(76, w-4), len(d.fields) + 11 }

// Draw draws the form.
func (d *KeyForm) Draw(r terminal.Region, v view.Context) {
	w, h := r.Size()
	y := v.Paragraph(r, 0, 0, "A key lets a program in without a password. Give it the least that it needs.", themes.Dim)
	d.drawForm(r, y+1, v)
	if d.reach != "" {
		r.PutIn(0, h-3, w, "Sites in reach: "+d.reach, v.Palette.Style(themes.Muted), v.ASCII)
	}
	keyLine(r, h-1, v, d.keyWords("create", v)...)
}

// Key edits or sends.
func (d *KeyForm) Key(k tea.KeyMsg, v view.Context) view.Request { return d.key(k, v, d.accept) }

func (d *KeyForm) accept() view.Request {
	expires, ok := d.expiry("expires_at")
	if !ok {
		return nil
	}
	d.busy, d.wrong = true, ""
	return sendKey(d, api.KeysRequest{
		Action: api.ActionCreate, Name: d.value("name"), RoleID: d.value("role_id"), ExpiresAt: expires,
		PermittedSiteIDs: listOf(d.value("permitted_site_ids")), CustomerIDs: listOf(d.value("customer_ids")),
	})
}

// listOf reads ids between commas.
func listOf(text string) []string {
	var ids []string
	for id := range strings.SplitSeq(text, ",") {
		if id = strings.TrimSpace(id); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// RotateForm asks how a key is replaced.
type RotateForm struct {
	asking
	record api.KeyRecord
}

// NewRotateForm starts with the overlap that the service would take.
func NewRotateForm(k api.KeyRecord, zone *time.Location, now func() time.Time) *RotateForm {
	return &RotateForm{record: k, asking: asking{clock: now, zone: zone,
		names: []string{"overlap_hours", "expires_at"},
		form: form{fields: []Field{
			NewField("Overlap h", "hours for which the former key opens yet", strconv.Itoa(int(api.DefaultOverlap/time.Hour))),
			NewField("New expires", "days or a date; empty: lives as long as the former was to", ""),
		}},
	}}
}

// Title names the form.
func (d *RotateForm) Title() string { return "Rotate an API key" }

// Size fits the form.
func (d *RotateForm) Size(w, _ int) (int, int) { return min(76, w-4), len(d.fields) + 10 }

// Draw draws the form.
func (d *RotateForm) Draw(r terminal.Region, v view.Context) {
	_, h := r.Size()
	y := v.Paragraph(r, 0, 0, "A new key takes the place of "+d.record.Name+" ("+d.record.APIKeyID+"). The former one opens for the overlap yet; after it, whatever still uses it is refused.", themes.Text)
	d.drawForm(r, y+1, v)
	keyLine(r, h-1, v, "enter", "rotate", "tab", "next field", "esc", "back")
}

// Key edits or sends.
func (d *RotateForm) Key(k tea.KeyMsg, v view.Context) view.Request { return d.key(k, v, d.accept) }

func (d *RotateForm) accept() view.Request {
	hours, err := strconv.Atoi(d.value("overlap_hours"))
	if err != nil {
		d.refuse(0, "The overlap is a whole number of hours.")
		return nil
	}
	expires, ok := d.expiry("expires_at")
	if !ok {
		return nil
	}
	d.busy, d.wrong = true, ""
	return sendKey(d, api.KeysRequest{Action: api.ActionRotate, APIKeyID: d.record.APIKeyID, OverlapHours: &hours, ExpiresAt: expires})
}

// NewRevoke asks whether a key is to end.
func NewRevoke(k api.KeyRecord) *Confirm {
	d := &Confirm{
		title: "Revoke an API key", keep: "Keep it", do: "Revoke",
		question: "Revoke " + k.Name + " (" + k.APIKeyID + ")? Whatever uses it is refused from now on. This cannot be undone.",
		send: func(from view.Caller) view.Request {
			return sendKey(from, api.KeysRequest{Action: api.ActionRevoke, APIKeyID: k.APIKeyID})
		},
	}
	if k.State == api.KeyRevoked {
		d.settled = k.Name + " (" + k.APIKeyID + ") is revoked already."
	}
	return d
}
