package tui

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/layout"
	"app.sunloop/tui/settings"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/app"
	"app.sunloop/tui/view/widget"
)

// presetAuto is the layout of the user's role.
const presetAuto = "auto"

// presets are the built-in layouts.
var presets = []struct{ name, words, value string }{
	{"balanced", "four equal panes, Observe first", "Observe 50x50"},
	{"watch", "Observe large: for the control room", "Observe 62x60"},
	{"diagnose", "Orient large: findings and their evidence", "Orient 38x60"},
	{"plan", "Decide large: the days ahead", "Decide 62x40"},
	{"work", "Act large: the work orders", "Act 38x40"},
}

// rolePresets are the initial layouts of roles; other roles begin with balanced.
var rolePresets = map[string]string{api.RoleAnalyst: "diagnose"}

// arrangement is what a preset says.
type arrangement struct {
	focus      layout.Pane
	zoom       bool
	side, down int // percent
}

// String writes it as the configuration file has it: "Orient 38x60 zoom".
func (a arrangement) String() string {
	words := fmt.Sprintf("%s %dx%d", a.focus, a.side, a.down)
	if a.zoom {
		words += " zoom"
	}
	return words
}

// parseArrangement reads a pane's name, a split, and zoom, of which the last
// two may be missing.
func parseArrangement(text string) (arrangement, error) {
	a := arrangement{side: 50, down: 50}
	split, _ := settings.Find(settings.Split)
	for i, word := range strings.Fields(text) {
		focus, named := layout.Named(word)
		switch {
		case i == 0 && named:
			a.focus = focus
		case i == 0:
			return a, fmt.Errorf("invalid pane %q; want Observe, Orient, Decide or Act", word)
		case word == "zoom":
			a.zoom = true
		default:
			if err := split.Check(word); err != nil {
				return a, err
			}
			a.side, a.down, _ = settings.ParsePair(word)
		}
	}
	return a, nil
}

// CheckPresets finds what is wrong with arrangements of a configuration file.
func CheckPresets(all map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if _, err := parseArrangement(all[name]); err != nil || all[name] == "" {
			return fmt.Errorf("presets: %s: %w", name, err)
		}
	}
	return nil
}

// presetNames returns all arrangements, the person's own last.
func (m *Model) presetNames() []string {
	var names []string
	for _, p := range presets {
		names = append(names, p.name)
	}
	for _, name := range slices.Sorted(maps.Keys(m.o.Presets)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// preset returns a layout by its name; a layout of the user precedes a
// built-in one of the same name.
func (m *Model) preset(name string) (arrangement, bool) {
	text, ok := m.o.Presets[name]
	for _, p := range presets {
		if !ok && p.name == name {
			text, ok = p.value, true
		}
	}
	a, err := parseArrangement(text)
	return a, ok && err == nil
}

// usePreset arranges the panes.
func (m *Model) usePreset(name string) {
	if a, ok := m.preset(name); ok {
		m.put(a)
	}
}

func (m *Model) put(a arrangement) {
	m.nav.focus, m.nav.zoom, m.nav.trail, m.nav.screens = a.focus, a.zoom, nil, nil
	m.prefs.layout.SidePercent, m.prefs.layout.TopPercent = a.side, a.down
	m.frame.dirty = true
}

// arranged returns the present layout of the panes.
func (m *Model) arranged() arrangement {
	return arrangement{m.nav.focus, m.nav.zoom, m.prefs.layout.SidePercent, m.prefs.layout.TopPercent}
}

// startPreset applies the initial layout of a user without a stored place.
func (m *Model) startPreset() {
	name := m.prefs.value(settings.Preset)
	if name == presetAuto {
		name = "balanced"
		if m.session.user != nil && rolePresets[m.session.user.RoleID] != "" {
			name = rolePresets[m.session.user.RoleID]
		}
	}
	a, ok := m.preset(name)
	if !ok {
		m.notify(fmt.Sprintf("Unknown layout %q; the layout is unchanged.", name), themes.Warning)
		return
	}
	if m.prefs.value(settings.Preset) == presetAuto { // the split is a separate setting
		a.side, a.down = m.prefs.layout.SidePercent, m.prefs.layout.TopPercent
	}
	m.put(a)
}

// presetDialog offers the arrangements, and to keep or forget one.
func (m *Model) presetDialog() view.Dialog {
	now := m.arranged()
	var choices []widget.Choice
	for _, name := range m.presetNames() {
		a, _ := m.preset(name)
		words := a.String()
		for _, p := range presets {
			if p.name == name && m.o.Presets[name] == "" {
				words = p.words
			}
		}
		choices = append(choices, widget.Choice{Text: name, Detail: words, Do: view.Preview{Name: settings.Preset, Value: a.String()}, Seen: view.Preview{Name: settings.Preset, Value: a.String()}})
	}
	choices = append(choices, widget.Choice{Text: "save this one as", Detail: now.String(), Do: view.OpenDialog{Dialog: app.NewNameForm("Save the layout", "Name", "a short word", func(name string) view.Request { return view.SaveLayout{Name: name, Value: now.String()} })}, Seen: view.Preview{Name: settings.Preset, Value: now.String()}})
	for _, name := range slices.Sorted(maps.Keys(m.o.Presets)) {
		choices = append(choices, widget.Choice{Text: "forget " + name, Detail: "your own", Do: view.SaveLayout{Name: name}, Seen: view.Preview{Name: settings.Preset, Value: now.String()}})
	}
	return widget.NewChooser("Arrangement", "", choices, view.Preview{Name: settings.Preset, Value: now.String()})
}

// saveLayout keeps an arrangement under a name, or forgets it without a value.
func (m *Model) saveLayout(k view.SaveLayout) tea.Cmd {
	m.o.Presets = maps.Clone(m.o.Presets)
	if k.Value == "" {
		delete(m.o.Presets, k.Name)
		m.notify(k.Name+" is deleted.", themes.Dim)
	} else {
		if m.o.Presets == nil {
			m.o.Presets = map[string]string{}
		}
		m.o.Presets[k.Name] = k.Value
		m.notify("Saved as "+k.Name+"; P lists it.", themes.Dim)
	}
	return m.keep(func() error { return m.o.KeepPreset(k.Name, k.Value) }, m.o.KeepPreset != nil)
}
