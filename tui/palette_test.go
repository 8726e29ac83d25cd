package tui

import (
	"strings"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/tui/internal/plant"
)

// The palette finds actions of every pane and screen by the user's words, and does
// them where they belong.
func TestPaletteFindsEveryAction(t *testing.T) {
	for _, tt := range []struct{ typed, place string }{
		{"add user", "[Users] [Add a user]"},
		{"new token", "[API keys] [Create an API key]"},
		{"promote model", "[Models]"},
		{"fill gaps", "[Interpolation]"},
		{"import", "[Import a file]"},
		{"contract", "[KPIs] [Availability contract of Sibaya]"},
		{"ratings", "[Assets] [Change the site Sibaya]"},
		{"count stock", "[Stock]"},
	} {
		d := start(t, 120, 36, func(o *Options, _ *plant.Service) {
			o.User = &api.User{UserID: "u1", Username: "anna", RoleID: api.RoleAdmin, RoleName: "Administrator"}
		})
		d.press(":", tt.typed)
		list := d.text()
		d.press("enter")
		if got := d.place(); !strings.Contains(got, tt.place) {
			t.Errorf("%q: at %q, want %q:\n%s", tt.typed, got, tt.place, list)
		}
	}
}

// A key without effect says so.
func TestKeyWithoutEffect(t *testing.T) {
	d := start(t, 120, 36, nil)
	d.press("%")
	d.shows("% has no effect here; ? shows the keys.")
}
