package tui

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/layout"
	"app.sunloop/tui/settings"
)

// choose goes to a row of the settings screen by filtering for it.
func (d *world) choose(words string) {
	d.press("g", "s", "/", words, "enter", "g", "g")
}

// Each setting counts at once and is kept in the form of the file.
func TestSettings(t *testing.T) {
	for _, tt := range []struct {
		find string
		keys []string
		kept string
		does func(m *Model) bool
	}{
		{"graph symbols", []string{"enter", "block", "enter"}, "graph=block", func(m *Model) bool { return m.context().Pen == chart.Block }},
		{"ASCII", []string{"enter"}, "ascii=true", func(m *Model) bool { return m.context().ASCII && m.context().Pen == chart.ASCII }},
		{"ASCII", []string{"enter", "enter"}, "ascii=false", func(m *Model) bool { return !m.context().ASCII && m.context().Pen == chart.Braille }},
		{"terminal colours", []string{"enter", "none", "enter"}, "color=none", func(m *Model) bool { return m.prefs.palette.Profile == themes.NoColor }},
		{"refresh rate", []string{"enter", "slow", "enter"}, "polling=slow", func(m *Model) bool { return m.data.Planner.Pace == 2 }},
		{"split", []string{"enter", "ctrl+u", "60x40", "enter"}, "split=60x40", func(m *Model) bool { return m.prefs.layout.SidePercent == 60 && m.prefs.layout.TopPercent == 40 }},
		{"together", []string{"enter", "ctrl+u", "100x30", "enter"}, "quad-from=100x30", func(m *Model) bool { m.draw(); return m.frame.layout.Mode == layout.Quad }},
		{"theme", []string{"enter", "daylight", "enter"}, "theme=daylight", func(m *Model) bool { return m.prefs.theme.Name == themes.Daylight }},
		{"sound", []string{"enter"}, "bell=false", func(m *Model) bool { return !m.o.Bell }},
		{"mouse", []string{"enter"}, "mouse=false", func(m *Model) bool { return !m.prefs.mouse }},
		{"rings", []string{"enter", "medium", "enter"}, "bell-from=medium", func(m *Model) bool { return m.prefs.value(settings.BellFrom) == "medium" }},
	} {
		t.Run(tt.find, func(t *testing.T) {
			d := start(t, 120, 36, func(o *Options, _ *plant.Service) { o.Mouse, o.Bell = true, true })
			d.choose(tt.find)
			d.press(tt.keys...)
			var kept []string
			for name, value := range d.set {
				kept = append(kept, name+"="+value)
			}
			if fmt.Sprint(kept) != "["+tt.kept+"]" || !tt.does(d.m) {
				t.Errorf("kept %v, want %s; the screen:\n%s", kept, tt.kept, d.text())
			}
			d.press("x") // back to the default
			if name, _, _ := strings.Cut(tt.kept, "="); d.set[name] != "" || d.m.prefs.sources.Of(name).From != "" {
				t.Errorf("after the reset: %q from %q", d.set[name], d.m.prefs.sources.Of(name).From)
			}
		})
	}
}

// An invalid value is shown in the form with its reason; nothing changes.
func TestSettingsRefuse(t *testing.T) {
	d := start(t, 120, 36, nil)
	d.choose("split")
	d.press("enter", "ctrl+u", "90x10", "enter")
	d.shows("each of the two is from 20 to 80")
	if len(d.set) > 0 || d.m.prefs.layout.SidePercent != 50 {
		t.Errorf("kept %v, %d %%", d.set, d.m.prefs.layout.SidePercent)
	}
}

// What the command line or the environment has cannot be changed here, and
// says why.
func TestFixedSettings(t *testing.T) {
	d := start(t, 120, 36, func(o *Options, _ *plant.Service) {
		o.Settings = settings.Sources{settings.Theme: {Value: "control-room", From: "--theme", Fixed: true}, settings.Graph: {Value: "braille", From: settings.FromFile}}
	})
	d.choose("theme")
	d.shows("--theme", "It cannot be changed")
	d.press("enter")
	d.shows("Unavailable: --theme sets it.")
	d.press("x")
	d.shows("Unavailable: --theme sets it.")
	d.press("esc", "T", "down", "enter")
	d.shows("This theme applies to this session only: --theme sets another.")
	if len(d.set) > 0 || d.m.prefs.theme.Name != themes.Daylight {
		t.Errorf("kept %v, shown %s", d.set, d.m.prefs.theme.Name)
	}
}

// A choice that cannot be written down counts all the same, and says so.
func TestSettingsThatCannotBeKept(t *testing.T) {
	d := start(t, 120, 36, func(o *Options, _ *plant.Service) {
		o.KeepSetting = func(string, string) error { return errors.New("the disk is full") }
	})
	d.choose("graph")
	d.press("enter", "block", "enter")
	d.shows("Applied for this session; not saved: the disk is full.")
	if d.m.o.Pen != chart.Block {
		t.Error("it does not count")
	}
}

// Choices made while one is written are written after it, in their order, and
// those left at the end too.
func TestChoicesAreKeptInOrder(t *testing.T) {
	var kept []string
	d := start(t, 120, 36, func(o *Options, _ *plant.Service) {
		o.KeepSetting = func(_, value string) error { kept = append(kept, value); return nil }
	})
	d.choose("ASCII")
	d.hold = true
	d.press("enter", "enter", "enter")
	if len(kept) > 0 {
		t.Fatalf("written in Update: %v", kept)
	}
	d.hold = false
	if err := d.m.flush(); err != nil || fmt.Sprint(kept) != "[true false true]" {
		t.Errorf("kept %v, %v", kept, err)
	}
}

func TestRebindByPressing(t *testing.T) {
	var kept []string
	d := start(t, 120, 36, func(o *Options, _ *plant.Service) {
		o.KeepKeys = func(action string, keys []string) error { kept = append(kept, fmt.Sprint(action, keys)); return nil }
	})
	d.choose("zoom the pane")
	d.press("enter", "q")
	d.shows(`"q" is both zoom`, "quit (leave)")
	d.press("enter")
	if d.place() != "Observe [Settings] [Press a key]" || len(kept) > 0 {
		t.Fatalf("a clash was taken: %s %v", d.place(), kept)
	}
	d.press("backspace", "f", "enter")
	d.shows("f is now for")
	d.press("esc", "esc")
	d.press("f")
	if !d.m.nav.zoom {
		t.Error("f does not zoom")
	}
	d.press("z")
	if !d.m.nav.zoom {
		t.Error("z still zooms")
	}
	d.choose("zoom the pane")
	d.press("enter", "g", "z", "tab", "enter") // next to f
	d.choose("zoom the pane")
	d.press("x", "esc", "esc", "z")
	if d.m.nav.zoom {
		t.Error("z does not zoom again")
	}
	if got := strings.Join(kept, " "); got != "zoom[f] zoom[f g z] zoom[]" {
		t.Errorf("kept %s", got)
	}
	d.choose("zoom the pane")
	d.press("enter", "esc")
	if d.place() != "Observe zoomed [Settings]" && d.place() != "Observe [Settings]" {
		t.Errorf("esc leaves %s", d.place())
	}
}

func TestPresets(t *testing.T) {
	kept := map[string]string{}
	d := start(t, 160, 45, func(o *Options, _ *plant.Service) {
		o.Presets = map[string]string{"night": "Act 40x30 zoom"}
		o.KeepPreset = func(name, value string) error { kept[name] = value; return nil }
	})
	d.press("P", "diagnose")
	if d.m.nav.focus != layout.Orient { // shown while one chooses
		t.Errorf("it shows %s", d.m.arranged())
	}
	d.press("esc")
	if got := d.m.arranged().String(); got != "Observe 50x50" {
		t.Errorf("esc leaves %s", got)
	}
	d.press("P", "night", "enter")
	if got := d.m.arranged().String(); got != "Act 40x30 zoom" {
		t.Errorf("a person's own gives %s", got)
	}
	d.press("z", "P", "save this", "enter", "day shift", "enter")
	d.shows("A name has 1 to 20")
	d.press("ctrl+u", "dayshift", "enter", "P", "forget night", "enter")
	if fmt.Sprint(kept) != "map[dayshift:Act 40x30 night:]" || d.m.o.Presets["night"] != "" {
		t.Errorf("kept %v, known %v", kept, d.m.o.Presets)
	}
	if err := CheckPresets(map[string]string{"bad": "Elsewhere 50x50"}); err == nil || !strings.Contains(err.Error(), `presets: bad: invalid pane "Elsewhere"`) {
		t.Error(err)
	}
}

func TestFilterByColumn(t *testing.T) {
	d := start(t, 120, 36, nil)
	d.press("2", "/", "unit:INV-05")
	d.shows("INV-05")
	if n := strings.Count(d.text(), "INV-0"); n == 0 {
		t.Error("nothing is left")
	}
	d.press("ctrl+u", "what:INV-05")
	d.shows("Nothing matches")
}

func TestColumnsAreChosen(t *testing.T) {
	d := start(t, 120, 36, nil)
	d.press("2", "|")
	d.shows("[x] unit", "[x] what")
	d.press(" ", "enter") // without the unit
	if shown := d.m.list().Shown(); len(shown) == 0 || shown[0] != "what" {
		t.Fatalf("columns are %v", shown)
	}
	d.press("|", " ", "down", " ", "enter") // nothing of what was, and the next
	d.press("esc")
	d.press("J")
	b := exported(t, d, "json")
	if !strings.Contains(b, `"what"`) || strings.Contains(b, `"columns": [
    "unit"`) {
		t.Errorf("exported:\n%.300s", b)
	}
}

// exported returns the one file of that ending.
func exported(t *testing.T, d *world, ending string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(d.m.o.Exports, "*."+ending))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
	info, err := os.Stat(files[0])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v may be read by others: %v", files[0], err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestExportJSON(t *testing.T) {
	d := start(t, 120, 36, nil)
	d.press("1", "J", "J")
	files, _ := filepath.Glob(filepath.Join(d.m.o.Exports, "*.json"))
	if len(files) != 2 {
		t.Fatalf("two exports within a second are %v", files)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		What, Timezone string
		Site           string    `json:"site_id"`
		At             time.Time `json:"exported_at"`
		Columns        []string
		Rows           [][]any
	}
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	if out.What != "Observe" || out.Site != "Sibaya" || out.Timezone != "Africa/Johannesburg" || !out.At.Equal(noon) || out.Columns[2] != "power (kW)" {
		t.Errorf("%+v", out.Columns)
	}
	if _, ok := out.Rows[0][2].(float64); !ok {
		t.Errorf("power is %T", out.Rows[0][2])
	}
}

func TestWithUnits(t *testing.T) {
	columns, rows := withUnits([]string{"unit", "at risk", "since", "mixed", "power (kW)", "none"}, [][]string{
		{"INV-1", "12.5 kW", "11:30", "1 kW", "3", ""}, {"INV-2", "", "02 Jan 11:30", "2 MW", "4", ""}, {"INV-3", "-4 kW", "02 Jan 2025", "", "5", ""},
	}, "Africa/Johannesburg")
	want := "[unit at risk (kW) since (Africa/Johannesburg) mixed power (kW) none] [[INV-1 12.5 11:30 1 kW 3 ] [INV-2  02 Jan 11:30 2 MW 4 ] [INV-3 -4 02 Jan 2025  5 ]]"
	if got := fmt.Sprint(columns, rows); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// What the clipboard cannot take is in a file; a secret never is.
func TestCopyTooLong(t *testing.T) {
	big := plant.New()
	big.Units = 100
	d := start(t, 120, 36, nil, big)
	d.press("1", "Y")
	d.shows("Not copied: text is too long", "Written to file")
	if b := exported(t, d, "txt"); !strings.HasPrefix(b, "timestamp (UTC),asset_id") || !strings.Contains(b, ",Sibaya,2026-11-28T09:30:00Z") {
		t.Errorf("written: %.200s", b)
	}
	d = start(t, 120, 36, nil)
	d.m.copyText(strings.Repeat("secret", 20000), "Copied.", "")
	if files, _ := filepath.Glob(filepath.Join(d.m.o.Exports, "*")); len(files) > 0 {
		t.Errorf("a secret was written to %v", files)
	}
}

// Alarms that are there when the console starts ring together, once.
func TestAlarmsAtTheStartRingOnce(t *testing.T) {
	d := start(t, 120, 36, func(o *Options, _ *plant.Service) { o.Bell = true })
	d.pass(60)
	heard := d.line.heard.String()
	notes := strings.Count(heard, "\x1b]9;")
	if rings := strings.Count(heard, "\a") - notes; rings != 1 || notes != 1 {
		t.Errorf("%d rings and %d notes: %q", rings, notes, heard)
	}
}

// The bell rings for the priorities that are set, once in half a minute, and
// not while it is silent; nothing takes the keys.
func TestBell(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Options)
		keys   []string
		rings  int
		notes  int
	}{
		"high":                 {nil, nil, 1, 1},
		"only critical":        {func(o *Options) { o.Settings = settings.Sources{settings.BellFrom: {Value: "critical"}} }, nil, 0, 1},
		"from medium":          {func(o *Options) { o.Settings = settings.Sources{settings.BellFrom: {Value: "medium"}} }, nil, 2, 1},
		"from warning":         {func(o *Options) { o.Settings = settings.Sources{settings.BellFrom: {Value: "warning"}} }, nil, 2, 1},
		"off":                  {func(o *Options) { o.Bell = false }, nil, 0, 0},
		"no bell, but notes":   {func(o *Options) { o.Settings = settings.Sources{settings.BellFrom: {Value: "off"}} }, nil, 0, 1},
		"silent":               {nil, []string{"B"}, 0, 0},
		"silent and not again": {nil, []string{"B", "B"}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := start(t, 120, 36, func(o *Options, _ *plant.Service) {
				o.Bell = true
				if tt.change != nil {
					tt.change(o)
				}
			})
			d.press(tt.keys...)
			d.press("U") // a form is open, and stays
			place := d.place()
			d.line.heard.Reset()
			add := func(id, severity string) {
				list := d.m.data.Site.Alerts.Data
				list.Alerts = append(list.Alerts, api.Alert{AlertID: id, AssetID: "INV-09", State: api.AlertUnacknowledged, AlertSeverity: severity, Message: "INV-09 is down."})
				d.m.data.Site.Alerts.Set(list, d.now)
				d.m.announce(d.now)
			}
			add("a", api.AlertMajor)
			for i := range 20 {
				add(fmt.Sprint("w", i), api.AlertModerate)
			}
			d.pass(29)
			d.pass(2)
			heard := d.line.heard.String()
			notes := strings.Count(heard, "\x1b]9;")
			if rings := strings.Count(heard, "\a") - notes; rings != tt.rings || notes != tt.notes {
				t.Errorf("%d rings and %d notes, want %d and %d", rings, notes, tt.rings, tt.notes)
			}
			if d.place() != place {
				t.Errorf("the place is %s", d.place())
			}
		})
	}
}

func TestSilenceIsShownAndEnds(t *testing.T) {
	d := start(t, 160, 45, func(o *Options, _ *plant.Service) { o.Bell = true })
	d.press("B")
	d.shows("The bell is silent until 12:30", "bell silent 1 h")
	d.blind = true
	d.pass(3601)
	d.blind = false
	d.hides("bell silent")
}

// A space can be bound, as it has a name.
func TestSpaceHasAName(t *testing.T) {
	d := start(t, 120, 36, func(o *Options, _ *plant.Service) {
		o.Keys, _ = keymap.Default().Rebind(map[string][]string{"zoom": {"space"}})
	})
	d.send(tea.KeyMsg{Type: tea.KeySpace, Runes: []rune{' '}})
	if !d.m.nav.zoom {
		t.Error("the space does nothing")
	}
}

// FuzzParseArrangement asserts that an arrangement which was read reads back
// the same as it is written.
func FuzzParseArrangement(f *testing.F) {
	for _, text := range []string{"Orient 38x60 zoom", "", "observe", "Act zoom zoom", "Act 0x100", "Act -1x5", "Act 9999999999999999999x1", "Decide 38x60 40x40"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parseArrangement(text)
		if err != nil {
			return
		}
		if a.side < 1 || a.side > 99 || a.down < 1 || a.down > 99 {
			t.Fatalf("%q splits at %d and %d %%", text, a.side, a.down)
		}
		again, err := parseArrangement(a.String())
		if err != nil || again != a {
			t.Fatalf("%q is %+v, and %q is %+v, %v", text, a, a, again, err)
		}
	})
}
