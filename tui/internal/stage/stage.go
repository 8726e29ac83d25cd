// Package stage sets up what tests of views need: a site of a simulated plant, a
// context, keys, and the text of what is drawn. For tests only.
package stage

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

// Noon is when all tests of this package happen: 11:30 at the plant.
var Noon = time.Date(2026, 11, 28, 9, 30, 0, 0, time.UTC)

// SiteOf returns the state of a plant, received just now.
func SiteOf(p *plant.Plant, now time.Time) *state.Site {
	s := &state.Site{Site: p.Site(), Zone: p.Zone}
	start := p.Midnight(now)
	day := state.Day{Start: start, End: start.AddDate(0, 0, 1)}
	s.Assets.Set(p.Assets(), now)
	s.Day.Set(day.With(p.Records(day.Start, day.End, now)), now)
	s.Summary.Set(p.Summary(now), now)
	s.Forecast.Set(p.Forecast(now), now)
	s.Findings.Set(p.Findings(now), now)
	s.Alerts.Set(state.AlertList{Alerts: p.Alerts(now), Counts: plant.Counts(p.Alerts(now))}, now)
	s.AlertLog.Set(p.AlertLog(now), now)
	s.Uploads.Set(p.Uploads(now), now)
	s.Activities.Set(p.Activities(now), now)
	s.Models.Set(p.Models(now), now)
	s.Orders.Set(p.Orders(now), now)
	s.Schedules.Set(p.Schedules(now), now)
	s.BOMs.Set([]api.BOM{p.Bill(now, p.UnitID(plant.DeadUnit))}, now)
	store := state.Store{Site: s}
	s.Issues.Set(p.Issues(now), now)
	s.KPIs.Set(p.KPIs(now), now)
	store.Want(state.QueryWindows, p.UnitID(plant.DeadUnit))
	s.BOM.Set(p.Bill(now, p.UnitID(plant.DeadUnit)), now)
	s.Parts.Set(p.Parts(now), now)
	s.Windows.Set(p.Windows(now, p.UnitID(plant.DeadUnit)), now)
	return s
}

// PaletteOf returns the palette of a built-in theme.
func PaletteOf(t testing.TB, name string, profile terminal.Profile) *terminal.Palette {
	t.Helper()
	theme, ok := themes.Find(themes.Builtin(), name)
	if !ok {
		t.Fatalf("no theme %s", name)
	}
	return terminal.NewPalette(&theme, profile)
}

// ContextOf returns a context over a site, in true colour and braille.
func ContextOf(t testing.TB, s *state.Site) view.Context {
	t.Helper()
	return view.Context{
		Site: s, Now: Noon, SiteNow: Noon.In(s.Zone), Focused: true, Palette: PaletteOf(t, themes.ControlRoom, themes.TrueColor),
		Pen: chart.Braille, Keys: keymap.Default(),
	}
}

// DrawnBy returns what draw puts on a panel of that size.
func DrawnBy(v view.Context, w, h int, draw func(terminal.Region, view.Context)) *terminal.Grid {
	g := terminal.NewGrid(w, h)
	g.All().Clear(v.Palette.Style(themes.Panel))
	draw(g.All(), v)
	return g
}

// ScreenContext returns a context with what screens of administrators show.
func ScreenContext(t testing.TB, ascii bool) view.Context {
	t.Helper()
	theme, ok := themes.Find(themes.Builtin(), themes.ControlRoom)
	if !ok {
		t.Fatal("no theme")
	}
	p := plant.New()
	s := &state.Site{Site: p.Site(), Zone: p.Zone}
	s.Uploads.Set(p.Uploads(Noon), Noon)
	s.Models.Set(p.Models(Noon), Noon)
	s.Manual.Set(p.Runs(Noon), Noon)
	s.History.Set(p.History(Noon), Noon)
	FillAlarms(p, s)
	admin := &state.Admin{}
	admin.Keys.Set(KeyRecords(), Noon)
	admin.Audit.Set(state.Trail{Records: []api.AuditRecord{
		{AuditID: "a3", Timestamp: api.At(Noon.Add(-time.Hour)), Actor: "bob", ActorID: "u2", Address: "192.0.2.7", Route: "keys", Action: "revoke", CustomerIDs: []string{"acme"}, Status: 200, RequestID: "req-3",
			TargetIDs: map[string]string{"api_key_id": "01JC"}, Before: map[string]any{"state": "good", "name": "old logger"}, After: map[string]any{"state": "revoked", "name": "old logger", "revoked_at": "2026-10-09T09:30:00Z"}},
		{AuditID: "a5", Timestamp: api.At(Noon), Actor: "weather station", Route: "upload-nowcast", SiteID: "Sibaya", Status: 200},
		{AuditID: "a4", Timestamp: api.At(Noon), Actor: "weather station", Route: "upload-nowcast", SiteID: "Sibaya", Status: 400, Error: "Invalid CSV format"},
		{AuditID: "a2", Timestamp: api.At(Noon.AddDate(0, 0, -1)), Actor: "weather station", Route: "upload_train", CustomerIDs: []string{"acme"}, SiteID: "Sibaya", Status: 200},
		{AuditID: "a1", Timestamp: api.At(Noon.AddDate(0, 0, -2)), Address: "192.0.2.9", Route: "login", Status: 401, Error: "Invalid credentials", Omitted: 12},
	}}, Noon)
	here, other := p.Uploads(Noon), p.Uploads(Noon)[3]
	other.UploadID, other.SiteID, other.CustomerID = "upl-other", "Havelland", "acme"
	admin.Uploads.Set(append(here, other), Noon)
	stored := here[3]
	stored.CustomerID = s.CustomerID
	admin.Import.Set(stored, Noon)
	v := view.Context{Site: s, Admin: admin, Now: Noon, SiteNow: Noon.In(p.Zone), Palette: terminal.NewPalette(&theme, themes.TrueColor), Pen: chart.Braille, Keys: keymap.Default(), ASCII: ascii}
	if ascii {
		v.Pen = chart.ASCII
	}
	return v
}

// MadeUpKey has the form of a key, and opens nothing.
var MadeUpKey = "opa_prod_" + strings.Repeat("EXAMPLE", 12) + "00"

// KeyRecords returns one key of each state and a rotated one, oldest first.
func KeyRecords() []api.KeyRecord {
	at := func(days int) api.Time { return api.At(Noon.AddDate(0, 0, days)) }
	return []api.KeyRecord{
		{APIKeyID: "01JA", Name: "weather station", RoleID: api.RoleOperator, PermittedSiteIDs: []string{"Sibaya"}, CustomerIDs: []string{"acme"}, State: api.KeyGood, CreatedAt: at(-300), CreatedBy: "anna"},
		{APIKeyID: "01JB", Name: "reporting", RoleID: api.RoleAnalyst, PermittedSiteIDs: []string{api.Every}, CustomerIDs: []string{"acme"}, RateClass: api.RateDefault, RatePerMinute: 60, State: api.KeyExpired, CreatedAt: at(-200), CreatedBy: "anna", ExpiresAt: at(-20)},
		{APIKeyID: "01JC", Name: "old logger", RoleID: api.RoleOperator, PermittedSiteIDs: []string{"Sibaya", "Havelland"}, CustomerIDs: []string{"acme"}, State: api.KeyRevoked, CreatedAt: at(-100), CreatedBy: "bob", RevokedAt: at(-50)},
		{APIKeyID: "01JD", Name: "reporting", RoleID: api.RoleAnalyst, PermittedSiteIDs: []string{api.Every}, CustomerIDs: []string{"acme"}, RateClass: api.RateDefault, RatePerMinute: 60, Usage: api.KeyUsage{Requests: 5210, Refused: 3, RequestsToday: 240, LastUsedAt: at(0)}, State: api.KeyGood, CreatedAt: at(-21), CreatedBy: "anna", ExpiresAt: at(159), Replaces: "01JB"},
	}
}

// DialogText returns a dialog on a screen of that size.
func DialogText(v view.Context, d view.Dialog, w, h int) string {
	g := terminal.NewGrid(w, h)
	g.All().Clear(v.Palette.Style(themes.Background))
	view.DrawDialog(d, g.All(), v)
	return picture.Text(g)
}

// Sizes are those of the screens in the golden files.
var Sizes = []struct{ W, H int }{{80, 24}, {120, 36}, {200, 60}}

// ScreenText returns a further screen's place on a terminal of that size.
func ScreenText(v view.Context, s view.View, w, h int) string {
	g := terminal.NewGrid(w-2, h-4)
	v.Focused = true
	g.All().Clear(v.Palette.Style(themes.Panel))
	s.Draw(g.All(), v)
	return picture.Text(g)
}

// Do does actions on a further screen and answers what the last one led to.
func Do(s view.View, v view.Context, actions ...keymap.Action) view.Request {
	var r view.Request
	for _, a := range actions {
		r = s.Do(a, v)
	}
	return r
}

// Press sends keys by name, or text as it is typed, and answers what the last
// one led to.
func Press(d view.Dialog, keys ...string) view.Request {
	var r view.Request
	for _, k := range keys {
		if special, ok := map[string]tea.KeyType{
			"enter": tea.KeyEnter, "tab": tea.KeyTab, "shift+tab": tea.KeyShiftTab, "esc": tea.KeyEsc, "up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight,
			"pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "backspace": tea.KeyBackspace, "ctrl+u": tea.KeyCtrlU, "end": tea.KeyEnd,
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

// Opened returns the dialog that a request opens.
func Opened(t testing.TB, r view.Request) view.Dialog {
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

// FillAlarms gives a site what the service says of its alarms, and of a unit
// closely.
func FillAlarms(p *plant.Plant, s *state.Site) {
	s.Alerts.Set(state.AlertList{Alerts: p.Alerts(Noon), Counts: plant.Counts(p.Alerts(Noon))}, Noon)
	s.AlertLog.Set(p.AlertLog(Noon), Noon)
	s.AlertHealth.Set(p.AlertHealth(), Noon)
	s.Assets.Set(p.Assets(), Noon)
	s.Forecast.Set(p.Forecast(Noon), Noon)
	day := state.Day{Start: p.Midnight(Noon), End: p.Midnight(Noon).AddDate(0, 0, 1)}
	s.Day.Set(day.With(p.Records(day.Start, day.End, Noon)), Noon)
	store := state.Store{Site: s}
	store.Want(state.QuerySamples, p.UnitID(plant.DeadUnit))
	s.Samples.Set(p.Samples(plant.DeadUnit, Noon), Noon)
}
