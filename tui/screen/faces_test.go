package screen

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"app.sunloop/themes"
	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// The faces of the office's screens beside the live one: loading, empty, stale
// and failed.
func TestOfficeFaces(t *testing.T) {
	refused, p := errors.New("ask: dial: connection refused"), plant.New()
	bad := func(v view.Context) {
		for _, bad := range []func(error, time.Time, time.Time){v.Admin.Users.Bad, v.Admin.Fleet.Bad, v.Admin.Audit.Bad, v.Admin.Log.Bad, v.Site.Assets.Bad, v.Site.Uploads.Bad} {
			bad(refused, noon, noon.Add(20*time.Second))
		}
	}
	for name, of := range map[string]func() view.Context{
		"loading": func() view.Context {
			v := contextOf(t, false)
			v.Site, v.Admin = &state.Site{Site: p.Site(), Zone: p.Zone}, &state.Admin{}
			return v
		},
		"empty": func() view.Context {
			v := contextOf(t, false)
			v.Site, v.Admin = &state.Site{Site: p.Site(), Zone: p.Zone}, &state.Admin{}
			v.Site.Assets.Good(nil, noon)
			v.Site.Uploads.Good(nil, noon)
			v.Admin.Users.Good(nil, noon)
			v.Admin.Fleet.Good(nil, noon)
			v.Admin.Audit.Good(state.Trail{}, noon)
			v.Admin.Log.Good(nil, noon)
			return v
		},
		"stale": func() view.Context {
			v := officeView(t, false)
			v.Now = noon.Add(time.Hour)
			bad(v)
			return v
		},
		"failed": func() view.Context {
			v := contextOf(t, false)
			v.Site, v.Admin = &state.Site{Site: p.Site(), Zone: p.Zone}, &state.Admin{}
			bad(v)
			return v
		},
	} {
		for _, size := range sizes {
			var b strings.Builder
			for _, s := range []struct {
				name   string
				screen view.View
			}{{"users", NewUsers()}, {"fleet", NewFleet()}, {"assets", NewAssets()}, {"uploads", NewUploads(noPath)}, {"audit", NewAudit()}, {"log of the service", logOfService()}} {
				fmt.Fprintf(&b, "%s\n%s\n", s.name, furtherText(of(), s.screen, size.w, min(size.h, 18)))
			}
			picture.Golden(t, fmt.Sprintf("office-face-%s-%dx%d", name, size.w, size.h), b.String())
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
