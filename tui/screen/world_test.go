package screen

import (
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// noon is when all tests of this package happen: 11:30 at the plant.
var noon = time.Date(2026, 11, 28, 9, 30, 0, 0, time.UTC)

func contextOf(t testing.TB, ascii bool) view.Context {
	t.Helper()
	theme, ok := themes.Find(themes.Builtin(), themes.ControlRoom)
	if !ok {
		t.Fatal("no theme")
	}
	p := plant.New()
	s := &state.Site{Site: p.Site(), Zone: p.Zone}
	s.Uploads.Good(p.Uploads(noon), noon)
	s.Models.Good(p.Models(noon), noon)
	hearAlarms(p, s)
	admin := &state.Admin{}
	admin.Keys.Good(keyRecords(), noon)
	admin.Audit.Good(state.Trail{Records: []api.AuditRecord{
		{AuditID: "a3", Timestamp: api.At(noon.Add(-time.Hour)), Actor: "bob", ActorID: "u2", Address: "192.0.2.7", Route: "keys", Action: "revoke", CustomerIDs: []string{"acme"}, Status: 200, RequestID: "req-3",
			TargetIDs: map[string]string{"api_key_id": "01JC"}, Before: map[string]any{"state": "good", "name": "old logger"}, After: map[string]any{"state": "revoked", "name": "old logger", "revoked_at": "2026-10-09T09:30:00Z"}},
		{AuditID: "a5", Timestamp: api.At(noon), Actor: "weather station", Route: liveRoute, SiteID: "Sibaya", Status: 200},
		{AuditID: "a4", Timestamp: api.At(noon), Actor: "weather station", Route: liveRoute, SiteID: "Sibaya", Status: 400, Error: "Invalid CSV format"},
		{AuditID: "a2", Timestamp: api.At(noon.AddDate(0, 0, -1)), Actor: "weather station", Route: "upload_train", CustomerIDs: []string{"acme"}, SiteID: "Sibaya", Status: 200},
		{AuditID: "a1", Timestamp: api.At(noon.AddDate(0, 0, -2)), Address: "192.0.2.9", Route: "login", Status: 401, Error: "Invalid credentials", Omitted: 12},
	}}, noon)
	v := view.Context{Site: s, Admin: admin, Now: noon, SiteNow: noon.In(p.Zone), Palette: terminal.NewPalette(&theme, themes.TrueColor), Pen: chart.Braille, Keys: keymap.Default(), ASCII: ascii}
	if ascii {
		v.Pen = chart.ASCII
	}
	return v
}

// madeUpKey has the form of a key, and opens nothing.
var madeUpKey = "opa_prod_" + strings.Repeat("EXAMPLE", 12) + "00"

// keyRecords are one key of each state and a rotated one, oldest first.
func keyRecords() []api.KeyRecord {
	at := func(days int) api.Time { return api.At(noon.AddDate(0, 0, days)) }
	return []api.KeyRecord{
		{APIKeyID: "01JA", Name: "weather station", RoleID: api.RoleOperator, PermittedSiteIDs: []string{"Sibaya"}, CustomerIDs: []string{"acme"}, State: api.KeyGood, CreatedAt: at(-300), CreatedBy: "anna"},
		{APIKeyID: "01JB", Name: "reporting", RoleID: api.RoleAnalyst, PermittedSiteIDs: []string{api.Every}, CustomerIDs: []string{"acme"}, State: api.KeyExpired, CreatedAt: at(-200), CreatedBy: "anna", ExpiresAt: at(-20)},
		{APIKeyID: "01JC", Name: "old logger", RoleID: api.RoleOperator, PermittedSiteIDs: []string{"Sibaya", "Havelland"}, CustomerIDs: []string{"acme"}, State: api.KeyRevoked, CreatedAt: at(-100), CreatedBy: "bob", RevokedAt: at(-50)},
		{APIKeyID: "01JD", Name: "reporting", RoleID: api.RoleAnalyst, PermittedSiteIDs: []string{api.Every}, CustomerIDs: []string{"acme"}, State: api.KeyGood, CreatedAt: at(-21), CreatedBy: "anna", ExpiresAt: at(159), Replaces: "01JB"},
	}
}

// screenText is a dialog on a screen of that size.
func screenText(v view.Context, d view.Dialog, w, h int) string {
	g := terminal.NewGrid(w, h)
	g.All().Clear(v.Palette.Style(themes.Background))
	Draw(d, g.All(), v)
	return picture.Text(g)
}

// sizes are those of the screens in the golden files.
var sizes = []struct{ w, h int }{{80, 24}, {120, 36}, {200, 60}}

// furtherText is a further screen's place on a terminal of that size.
func furtherText(v view.Context, s view.View, w, h int) string {
	g := terminal.NewGrid(w-2, h-4)
	v.Focused = true
	g.All().Clear(v.Palette.Style(themes.Panel))
	s.Draw(g.All(), v)
	return picture.Text(g)
}

// do does actions on a further screen and answers what the last one led to.
func do(s view.View, v view.Context, actions ...keymap.Action) view.Request {
	var r view.Request
	for _, a := range actions {
		r = s.Do(a, v)
	}
	return r
}

// press sends keys by name, or text as it is typed, and answers what the last
// one led to.
func press(d view.Dialog, keys ...string) view.Request {
	var r view.Request
	for _, k := range keys {
		if special, ok := map[string]tea.KeyType{
			"enter": tea.KeyEnter, "tab": tea.KeyTab, "shift+tab": tea.KeyShiftTab, "esc": tea.KeyEsc, "up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight,
			"pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "backspace": tea.KeyBackspace, "ctrl+u": tea.KeyCtrlU,
		}[k]; ok {
			r = d.Key(tea.KeyMsg{Type: special}, view.Context{Keys: keymap.Default()})
			continue
		}
		for _, c := range k {
			r = d.Key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{c}}, view.Context{Keys: keymap.Default()})
		}
	}
	return r
}

// opened is the dialog that a request opens.
func opened(t testing.TB, r view.Request) view.Dialog {
	t.Helper()
	if all, ok := r.(view.Batch); ok && len(all) > 0 {
		r = all[0]
	}
	open, ok := r.(view.OpenDialog)
	if !ok {
		t.Fatalf("%#v opens no dialog", r)
	}
	return open.Dialog
}
