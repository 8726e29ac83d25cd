package golden

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"app.sunloop/themes"
	"app.sunloop/tui/internal/picture"
	simulated "app.sunloop/tui/internal/plant"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/admin"
	"app.sunloop/tui/view/plant"
)

// The states of the administration screens in addition to the live one:
// loading, empty, stale and failed.
func TestOfficeFaces(t *testing.T) {
	refused, p := errors.New("ask: dial: connection refused"), simulated.New()
	bad := func(v view.Context) {
		for _, bad := range []func(error, time.Time, time.Time){v.Admin.Users.SetError, v.Admin.Fleet.SetError, v.Admin.Audit.SetError, v.Admin.Log.SetError, v.Site.Assets.SetError, v.Site.Uploads.SetError} {
			bad(refused, stage.Noon, stage.Noon.Add(20*time.Second))
		}
	}
	for name, of := range map[string]func() view.Context{
		"loading": func() view.Context {
			v := stage.ScreenContext(t, false)
			v.Site, v.Admin = &state.Site{Site: p.Site(), Zone: p.Zone}, &state.Admin{}
			return v
		},
		"empty": func() view.Context {
			v := stage.ScreenContext(t, false)
			v.Site, v.Admin = &state.Site{Site: p.Site(), Zone: p.Zone}, &state.Admin{}
			v.Site.Assets.Set(nil, stage.Noon)
			v.Site.Uploads.Set(nil, stage.Noon)
			v.Admin.Users.Set(nil, stage.Noon)
			v.Admin.Fleet.Set(nil, stage.Noon)
			v.Admin.Audit.Set(state.Trail{}, stage.Noon)
			v.Admin.Log.Set(nil, stage.Noon)
			return v
		},
		"stale": func() view.Context {
			v := officeView(t, false)
			v.Now = stage.Noon.Add(time.Hour)
			bad(v)
			return v
		},
		"failed": func() view.Context {
			v := stage.ScreenContext(t, false)
			v.Site, v.Admin = &state.Site{Site: p.Site(), Zone: p.Zone}, &state.Admin{}
			bad(v)
			return v
		},
	} {
		for _, size := range stage.Sizes {
			var b strings.Builder
			for _, s := range []struct {
				name   string
				screen view.View
			}{{"users", admin.NewUsers()}, {"fleet", plant.NewFleet()}, {"assets", plant.NewAssets()}, {"uploads", plant.NewUploads(noPath)}, {"audit", admin.NewAudit()}, {"log of the service", logOfService()}} {
				fmt.Fprintf(&b, "%s\n%s\n", s.name, stage.ScreenText(of(), s.screen, size.W, min(size.H, 18)))
			}
			picture.Golden(t, fmt.Sprintf("office-face-%s-%dx%d", name, size.W, size.H), b.String())
		}
	}
}

// Without colours nothing has one, with 256 nothing has more, and in each theme
// the chosen row is marked.
func TestOfficeThemes(t *testing.T) {
	for name, tt := range map[string]struct {
		theme   string
		depth   themes.Depth
		allowed func(themes.Color) bool
	}{
		"none":  {themes.ControlRoom, themes.NoColor, func(c themes.Color) bool { return c == themes.Default || c == themes.Unset }},
		"mono":  {themes.Mono, themes.TrueColor, func(c themes.Color) bool { return c == themes.Default || c == themes.Unset }},
		"light": {themes.Daylight, themes.Colors256, func(c themes.Color) bool { return c == c.To256() }},
		"dark":  {themes.ControlRoom, themes.TrueColor, func(themes.Color) bool { return true }},
	} {
		theme, ok := themes.Find(themes.Builtin(), tt.theme)
		if !ok {
			t.Fatal(tt.theme)
		}
		for id, s := range officeScreens() {
			v := officeView(t, false)
			v.Palette, v.Focused = terminal.NewPalette(&theme, tt.depth), true
			g := terminal.NewGrid(118, 32)
			g.All().Clear(v.Palette.Style(themes.Panel))
			s.Draw(g.All(), v)
			marked := 0
			sel := v.Palette.Style(themes.Selection)
			for i := range 118 * 32 {
				c := g.Cell(i%118, i/118)
				if !tt.allowed(c.Style.FG) || !tt.allowed(c.Style.BG) {
					t.Fatalf("%s, %s: cell %d,%d has %v on %v", name, id, i%118, i/118, c.Style.FG, c.Style.BG)
				}
				if c.Style.BG == sel.BG && c.Style.Attr&sel.Attr == sel.Attr {
					marked++
				}
			}
			if !strings.HasPrefix(id, "log") && marked < 20 {
				t.Errorf("%s, %s: no row is marked", name, id)
			}
		}
	}
}
