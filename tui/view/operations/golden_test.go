package operations

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// The insides of panes at 80×24, in strips mode at 120×36, and zoomed at 200×60.
func TestPanes(t *testing.T) {
	for name, p := range panes() {
		for _, size := range []struct{ w, h int }{{78, 20}, {118, 19}, {198, 55}} {
			v := stage.ContextOf(t, stage.SiteOf(plant.New(), stage.Noon))
			v.Selection = view.Selection{AssetID: "INV-03", FindingID: "f-dead"}
			g := stage.DrawnBy(v, size.w, size.h, p.Draw)
			picture.Golden(t, fmt.Sprintf("%s-%dx%d", name, size.w, size.h), picture.Text(g))
		}
	}
}

func TestPanesOfAReader(t *testing.T) {
	for name, tt := range map[string]struct {
		pane string
		view func(*view.Context)
	}{
		"observe-ascii": {"observe", func(v *view.Context) { v.ASCII, v.Pen = true, chart.ASCII }},
		"observe-block": {"observe", func(v *view.Context) { v.Pen = chart.Block }},
		"orient-ascii":  {"orient", func(v *view.Context) { v.ASCII, v.Pen = true, chart.ASCII }},
		"orient-unit":   {"orient", func(v *view.Context) { v.Selection = view.Selection{AssetID: "INV-01"} }},
		"orient-over":   {"orient", func(v *view.Context) { v.Selection = view.Selection{AssetID: "INV-01", FindingID: "f-over"} }},
		"decide-ascii":  {"decide", func(v *view.Context) { v.ASCII, v.Pen = true, chart.ASCII }},
		"decide-free":   {"decide", func(v *view.Context) { v.Selection = view.Selection{} }},
		"act-ascii":     {"act", func(v *view.Context) { v.ASCII, v.Pen = true, chart.ASCII }},
		"observe-past": {"observe", func(v *view.Context) {
			p := plant.New()
			v.Site.PastDate = p.Midnight(stage.Noon).AddDate(0, 0, -1)
			v.Site.Past.Set(state.Day{Start: v.Site.PastDate, End: p.Midnight(stage.Noon)}.With(p.Records(v.Site.PastDate, p.Midnight(stage.Noon), stage.Noon)), stage.Noon)
		}},
	} {
		v := stage.ContextOf(t, stage.SiteOf(plant.New(), stage.Noon))
		v.Selection = view.Selection{AssetID: "INV-03", FindingID: "f-dead"}
		tt.view(&v)
		g := stage.DrawnBy(v, 98, 27, panes()[tt.pane].Draw)
		text := picture.Text(g)
		picture.Golden(t, name, text)
		if v.ASCII {
			for _, r := range text {
				if r > 0x7e {
					t.Errorf("%s: %q is not ASCII", name, r)
				}
			}
		}
	}
}

func TestStrips(t *testing.T) {
	var b strings.Builder
	for _, name := range []string{"observe", "orient", "decide", "act"} {
		for _, size := range []struct{ w, h int }{{118, 3}, {118, 2}, {38, 10}} {
			v := stage.ContextOf(t, stage.SiteOf(plant.New(), stage.Noon))
			fmt.Fprintf(&b, "%s %d×%d\n%s\n", name, size.w, size.h, picture.Text(stage.DrawnBy(v, size.w, size.h, panes()[name].Strip)))
		}
	}
	picture.Golden(t, "strips", b.String())
}

// The five faces of each pane: loading, empty, live, stale and failed.
func TestFaces(t *testing.T) {
	p := plant.New()
	refused := fmt.Errorf("ask: %w", &api.Error{Status: 503, Message: "Service unavailable", RequestID: "req-7"})
	for name, site := range map[string]func() *state.Site{
		"loading": func() *state.Site { return &state.Site{Site: p.Site(), Zone: p.Zone} },
		"empty": func() *state.Site {
			s := &state.Site{Site: p.Site(), Zone: p.Zone}
			s.Day.Set(state.Day{Start: p.Midnight(stage.Noon), End: p.Midnight(stage.Noon).AddDate(0, 0, 1)}, stage.Noon)
			s.Summary.Set(api.SiteSummary{LastUpdated: api.NullTime(api.At(stage.Noon.AddDate(-1, 0, 0)))}, stage.Noon)
			s.Forecast.Set(api.GeneratedForecast{}, stage.Noon)
			s.Findings.Set(nil, stage.Noon)
			s.Activities.Set(nil, stage.Noon)
			s.Uploads.Set(nil, stage.Noon)
			return s
		},
		"stale": func() *state.Site {
			s := stage.SiteOf(p, stage.Noon.Add(-time.Hour))
			for _, bad := range []func(error, time.Time, time.Time){s.Day.SetError, s.Findings.SetError, s.Forecast.SetError, s.Activities.SetError} {
				bad(refused, stage.Noon, stage.Noon.Add(20*time.Second))
			}
			return s
		},
		"failed": func() *state.Site {
			s := &state.Site{Site: p.Site(), Zone: p.Zone}
			for _, bad := range []func(error, time.Time, time.Time){s.Day.SetError, s.Findings.SetError, s.Forecast.SetError, s.Activities.SetError} {
				bad(errors.New("ask: dial: connection refused"), stage.Noon.Add(-time.Minute), stage.Noon.Add(20*time.Second))
			}
			return s
		},
	} {
		var b strings.Builder
		for _, pane := range []string{"observe", "orient", "decide", "act"} {
			fmt.Fprintf(&b, "%s\n%s\n", pane, picture.Text(stage.DrawnBy(stage.ContextOf(t, site()), 78, 18, panes()[pane].Draw)))
		}
		picture.Golden(t, "face-"+name, b.String())
		for _, pane := range []string{"observe", "orient", "decide", "act"} {
			v := stage.ContextOf(t, site())
			v.ASCII, v.Pen = true, chart.ASCII
			for _, draw := range []func(terminal.Region, view.Context){panes()[pane].Draw, panes()[pane].Strip} {
				text := picture.Text(stage.DrawnBy(v, 78, 18, draw))
				if i := strings.IndexFunc(text, func(r rune) bool { return r > 0x7e }); i >= 0 {
					t.Errorf("%s, %s: not ASCII: %.30q", name, pane, text[i:])
				}
			}
		}
	}
}

// Without colours none is used; with 256 none has more; and abnormal
// values have the colour of their priority everywhere.
func TestAttributes(t *testing.T) {
	for name, tt := range map[string]struct {
		theme   string
		profile themes.Depth
		allowed func(themes.Color) bool
	}{
		"none": {themes.ControlRoom, themes.NoColor, func(c themes.Color) bool { return c == themes.Default || c == themes.Unset }},
		"mono": {themes.Mono, themes.TrueColor, func(c themes.Color) bool { return c == themes.Default || c == themes.Unset }},
		"256":  {themes.Daylight, themes.Colors256, func(c themes.Color) bool { return c == c.To256() }},
		"true": {themes.ControlRoom, themes.TrueColor, func(themes.Color) bool { return true }},
	} {
		for id, p := range panes() {
			v := stage.ContextOf(t, stage.SiteOf(plant.New(), stage.Noon))
			v.Palette = stage.PaletteOf(t, tt.theme, tt.profile)
			v.Selection = view.Selection{AssetID: "INV-05", FindingID: "f-weak"}
			g := stage.DrawnBy(v, 118, 30, p.Draw)
			text := picture.Text(g)
			critical, selected := 0, 0
			w, h := g.Size()
			for y := range h {
				for x := range w {
					c := g.Cell(x, y)
					if !tt.allowed(c.Style.FG) || !tt.allowed(c.Style.BG) {
						t.Fatalf("%s, %s: cell %d,%d has %v on %v", name, id, x, y, c.Style.FG, c.Style.BG)
					}
					// Inverse while it waits to be acknowledged. On the time axis and in its legend the mark is no priority.
					alarm := c.Text == "▲" && x+1 < w && strings.Contains("CH", g.Cell(x+1, y).Text)
					if is := v.Palette.Style(themes.Critical); alarm && (c.Style.FG == is.FG || c.Style.BG == is.FG) {
						critical++
					}
					if sel := v.Palette.Style(themes.Selection); c.Style.BG == sel.BG && c.Style.Attr&sel.Attr == sel.Attr && sel.Attr != 0 {
						selected++
					}
				}
			}
			if want := strings.Count(text, "▲C") + strings.Count(text, "▲H"); critical != want {
				t.Errorf("%s, %s: %d of %d critical marks have their colour", name, id, critical, want)
			}
			if (id == "observe" || id == "orient") && selected < 20 {
				t.Errorf("%s, %s: the selected row is not marked", name, id)
			}
		}
	}
}

// The selection is marked in the pane with the keys and in the others, and the
// two differ.
func TestFocusedPaneShowsSelection(t *testing.T) {
	for _, profile := range []themes.Depth{themes.NoColor, themes.Colors256, themes.TrueColor} {
		v := stage.ContextOf(t, stage.SiteOf(plant.New(), stage.Noon))
		v.Palette = stage.PaletteOf(t, themes.ControlRoom, profile)
		focused := v.SelectionStyle()
		v.Focused = false
		if v.SelectionStyle() == focused {
			t.Errorf("depth %d: focus does not show", profile)
		}
	}
}

func TestPageScrolls(t *testing.T) {
	o := NewOrient()
	v := stage.ContextOf(t, stage.SiteOf(plant.New(), stage.Noon))
	v.Selection = view.Selection{AssetID: "INV-03", FindingID: "f-dead"}
	first := picture.Text(stage.DrawnBy(v, 78, 20, o.Draw))
	if !strings.Contains(first, "pgdn") || strings.Contains(first, "pgup") {
		t.Errorf("the first page does not say that more follows:\n%s", first)
	}
	seen := first
	for range 10 {
		o.Do(keymap.PageDown, v)
		seen = picture.Text(stage.DrawnBy(v, 78, 20, o.Draw))
	}
	if !strings.Contains(seen, "detected by rules-1") || strings.Contains(seen, "pgdn") || !strings.Contains(seen, "pgup") {
		t.Errorf("the last page:\n%s", seen)
	}
	v.Selection = view.Selection{AssetID: "INV-05", FindingID: "f-weak"}
	if other := picture.Text(stage.DrawnBy(v, 78, 20, o.Draw)); strings.Contains(other, "pgup") {
		t.Errorf("another finding does not start at its top:\n%s", other)
	}
}

func panes() map[string]view.Pane {
	return map[string]view.Pane{"observe": NewObserve(), "orient": NewOrient(), "decide": NewDecide(), "act": NewAct()}
}
