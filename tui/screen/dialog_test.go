package screen

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

func choices() []Choice {
	return []Choice{
		{Text: "give the pane the whole screen, or back", Key: "z", Words: "zoom", Do: view.OpenSite{Site: api.SiteRef{SiteID: "1"}}},
		{Text: "import a file", Key: "U", Why: "your role only reads", Do: view.OpenSite{Site: api.SiteRef{SiteID: "2"}}},
		{Text: "site Sibaya", Detail: "Sibaya Solar", Do: view.OpenSite{Site: api.SiteRef{SiteID: "3"}}, Seen: view.OpenSite{Site: api.SiteRef{SiteID: "seen 3"}}},
	}
}

func dialogs() map[string]view.Dialog {
	return map[string]view.Dialog{
		"signin": NewSignIn("ops.example.com", "Token expired."), "admin": NewSetup("embedded", false), "admin-token": NewSetup("ops.example.com", true),
		"palette":        NewChooser("Palette", "type what you want to do or find", choices(), nil),
		"help":           NewHelp("Observe", keymap.InObserve, [][2]string{{"enter", "go on"}}, keymap.Default()),
		"upload":         NewUpload(plant.New().Site()),
		"apikeys-create": NewKeyForm(plant.New().Site(), []api.Site{plant.New().Site()}, time.UTC, func() time.Time { return noon }),
		"apikeys-rotate": NewRotateForm(keyRecords()[0], time.UTC, func() time.Time { return noon }), "apikeys-revoke": NewRevoke(keyRecords()[0]),
		"apikeys-shown": NewKeyShown("weather station", "The key is shown only now", madeUpKey),
	}
}

func screens() map[string]view.View {
	return map[string]view.View{
		"alarms": NewAlarms(), "unit": NewUnit("INV-03"), "uploads": NewUploads(noPath), "audit": NewAudit(), "apikeys": NewAPIKeys(func() time.Time { return noon }),
	}
}

func TestScreens(t *testing.T) {
	for name, s := range screens() {
		for _, size := range sizes {
			picture.Golden(t, fmt.Sprintf("%s-%dx%d", name, size.w, size.h), furtherText(contextOf(t, false), s, size.w, size.h))
		}
	}
}

func TestDialogs(t *testing.T) {
	for name, d := range dialogs() {
		for _, size := range sizes {
			picture.Golden(t, fmt.Sprintf("%s-%dx%d", name, size.w, size.h), screenText(contextOf(t, false), d, size.w, size.h))
		}
	}
}

func TestScreensInASCII(t *testing.T) {
	texts := map[string]string{}
	for name, d := range dialogs() {
		texts[name] = screenText(contextOf(t, true), d, 100, 40)
	}
	for name, s := range screens() {
		texts[name] = furtherText(contextOf(t, true), s, 100, 40)
	}
	for name, text := range texts {
		for i, line := range strings.Split(text, "\n") {
			for _, r := range line {
				if r > 0x7e {
					t.Errorf("%s, line %d: %q is not ASCII in %s", name, i, r, line)
				}
			}
		}
	}
}

func TestChooser(t *testing.T) {
	undo := view.OpenSite{Site: api.SiteRef{SiteID: "undo"}}
	for _, tt := range []struct {
		name string
		keys []string
		want view.Request
	}{
		{"the first", []string{"enter"}, view.Batch{view.Close{}, view.OpenSite{Site: api.SiteRef{SiteID: "1"}}}},
		{"by a word it does not show", []string{"zoom", "enter"}, view.Batch{view.Close{}, view.OpenSite{Site: api.SiteRef{SiteID: "1"}}}},
		{"what cannot be now", []string{"import", "enter"}, nil},
		{"moving previews", []string{"down", "down"}, view.OpenSite{Site: api.SiteRef{SiteID: "seen 3"}}},
		{"not beyond the end", []string{"down", "down", "down", "down", "enter"}, view.Batch{view.Close{}, view.OpenSite{Site: api.SiteRef{SiteID: "3"}}}},
		{"nothing matches", []string{"qqq", "enter"}, nil},
		{"dismissed", []string{"down", "esc"}, view.Batch{view.Close{}, undo}},
		{"narrowed and widened", []string{"sib", "backspace", "backspace", "backspace", "enter"}, view.Batch{view.Close{}, view.OpenSite{Site: api.SiteRef{SiteID: "1"}}}},
	} {
		if d := cmp.Diff(tt.want, press(NewChooser("", "", choices(), undo), tt.keys...)); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
}

func TestUploadForm(t *testing.T) {
	site := plant.New().Site()
	full := &view.Upload{Path: "/data/a b.csv", Metadata: api.UploadRequest{SiteID: "Sibaya", CustomerID: "acme", Timezone: "Africa/Johannesburg", Location: "ZA", CapacityKW: 800}}
	for _, tt := range []struct {
		name  string
		keys  []string
		want  *view.Upload // nil: no request
		shows string
	}{
		{"a file", []string{"/data/a b.csv", "enter"}, full, "Sending a b.csv"},
		{"quoted", []string{"'/data/a b.csv'", "enter"}, full, "Sending"},
		{"escaped", []string{`/data/a\ b.csv`, "enter"}, full, "Sending"},
		{"a URL", []string{"file:///data/a%20b.csv", "enter"}, full, "Sending"},
		{"no site", []string{"x.csv", "tab", "ctrl+u", "enter"}, nil, "Which site"},
		{"no number", []string{"x.csv", "tab", "tab", "tab", "kW", "enter"}, nil, "capacity is a number"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := NewUpload(site)
			r := press(d, tt.keys...)
			if tt.want == nil && r != nil {
				t.Errorf("the form asks for %v", r)
			}
			if u, ok := r.(view.Upload); tt.want != nil && (!ok || u.From != d || u.Path != tt.want.Path || cmp.Diff(tt.want.Metadata, u.Metadata) != "") {
				t.Errorf("the form asks for %+v", r)
			}
			if text := screenText(contextOf(t, false), d, 80, 24); !strings.Contains(text, tt.shows) {
				t.Errorf("%q is not shown:\n%s", tt.shows, text)
			}
			if tt.want == nil {
				return
			}
			if again := press(d, "enter"); again != nil {
				t.Error("sent twice")
			}
			if d.Answer(errors.New("a b.csv: there is no such file.")) {
				t.Error("the form goes with an error")
			}
			if text := screenText(contextOf(t, false), d, 80, 24); !strings.Contains(text, "no such file") || !strings.Contains(text, "a b.csv") && !strings.Contains(text, "a%20b.csv") && !strings.Contains(text, `a\ b.csv`) {
				t.Errorf("the error or what was typed is gone:\n%s", text)
			}
			press(d, "enter")
			if !d.Answer(nil) {
				t.Error("the form stays after success")
			}
		})
	}
}

func TestSheetsMoveAndScroll(t *testing.T) {
	v := contextOf(t, false)
	d := NewUploads(noPath)
	text := furtherText(v, d, 80, 24)
	if !strings.Contains(text, "live feed: one file") {
		t.Errorf("the live feed has no line:\n%s", text)
	}
	do(d, v, keymap.Down, keymap.Down)
	text = furtherText(v, d, 80, 24)
	if !strings.Contains(text, "10 rows had no number.") || !strings.Contains(text, "pgdn") {
		t.Errorf("details of the third:\n%s", text)
	}
	for range 5 {
		do(d, v, keymap.PageDown)
		text = furtherText(v, d, 80, 24)
	}
	if !strings.Contains(text, "unit: kW") {
		t.Errorf("the end of the details is not reached:\n%s", text)
	}
	v.Site = nil
	if text := furtherText(v, NewUploads(noPath), 80, 24); !strings.Contains(text, "No file has been imported") {
		t.Errorf("without a site:\n%s", text)
	}
}

// What is pasted into a field cannot steer the terminal, and whatever is typed
// stays within the field.
func TestFieldIsSafe(t *testing.T) {
	v := contextOf(t, false)
	rapid.Check(t, func(t *rapid.T) {
		f := NewField("Name", "hint", "")
		f.Secret = rapid.Bool().Draw(t, "secret")
		f.Key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(rapid.String().Draw(t, "text") + "\x1b[31m日本🙂"), Paste: true})
		for range rapid.IntRange(0, 5).Draw(t, "left") {
			f.Key(tea.KeyMsg{Type: tea.KeyLeft})
		}
		if strings.ContainsAny(f.Value(), "\x1b\x07\n") {
			t.Fatalf("%q holds controls", f.Value())
		}
		w := rapid.IntRange(12, 40).Draw(t, "w")
		g := terminal.NewGrid(w+2, 1)
		g.All().Clear(v.Palette.Style(themes.Panel))
		f.Draw(g.Region(terminal.Rect{X: 1, W: w, H: 1}), 0, 6, v, true)
		if l, r := g.Cell(0, 0), g.Cell(w+1, 0); l.Text != " " || r.Text != " " {
			t.Fatalf("drawn beside the field: %q %q", l.Text, r.Text)
		}
		cursor := 0
		for x := range w + 2 {
			if g.Cell(x, 0).Style.Attr&themes.Reverse != 0 {
				cursor++
			}
		}
		if cursor < 1 || cursor > 2 {
			t.Fatalf("%d cells of cursor", cursor)
		}
	})
}

// A tall or hostile answer leaves the dialog within the screen.
func TestDialogsStayOnTheScreen(t *testing.T) {
	v := contextOf(t, false)
	for i := range v.Site.Uploads.Data {
		v.Site.Uploads.Data[i].Filename = strings.Repeat("日本🙂", 40)
		v.Site.Uploads.Data[i].Decisions = make([]string, 300)
	}
	v.Site.Models.Data = []api.Model{{ModelName: strings.Repeat("x", 500)}}
	draw := map[string]func(r terminal.Region){}
	for name, d := range dialogs() {
		draw[name] = func(r terminal.Region) { Draw(d, r, v) }
	}
	for name, s := range screens() {
		draw[name] = func(r terminal.Region) { s.Draw(r, v) }
	}
	for name, draw := range draw {
		for _, size := range []struct{ w, h int }{{60, 20}, {61, 21}, {80, 24}} {
			g := terminal.NewGrid(size.w, size.h)
			draw(g.All()) // a panic or an endless loop fails
			for y, line := range strings.Split(strings.TrimSuffix(picture.Text(g), "\n"), "\n") {
				if terminal.Width(line) > size.w {
					t.Errorf("%s at %d×%d: line %d is wider", name, size.w, size.h, y)
				}
			}
		}
	}
}

// noPath knows of no file that was sent.
func noPath(string) string { return "" }
