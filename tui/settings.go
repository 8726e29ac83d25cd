package tui

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/layout"
	"app.sunloop/tui/settings"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/app"
)

// preferences are the effective settings, keys, layout and colours.
type preferences struct {
	sources settings.Sources
	bound   map[string][]string // the person's own keys
	layout  layout.Options
	writes  []func() error // choices to be stored; the first is being stored
	theme   themes.Theme
	palette *terminal.Palette
	light   bool // the terminal said that its background is
	mouse   bool

	images *chart.Images // draws charts as images; nil: in cells
}

func newPreferences(o Options) preferences {
	p := preferences{sources: maps.Clone(o.Settings), bound: o.Bound, light: o.Light, mouse: o.Mouse}
	if p.sources == nil {
		p.sources = settings.Sources{}
	}
	p.useTheme(o.Theme, o.Profile)
	p.applyLayout()
	return p
}

// value returns the value of a setting.
func (p *preferences) value(name string) string { return p.sources.Of(name).Value }

// useTheme draws with a theme.
func (p *preferences) useTheme(t themes.Theme, profile terminal.Profile) {
	p.theme, p.palette = t, terminal.NewPalette(&t, profile)
}

// applyLayout reads the sizes at which the arrangement changes, and the split.
func (p *preferences) applyLayout() {
	o := layout.Defaults()
	for name, size := range map[string]*layout.Size{settings.QuadFrom: &o.Quad, settings.StripsFrom: &o.Strips} {
		if a, b, ok := settings.ParsePair(p.value(name)); ok {
			*size = layout.Size{Columns: a, Rows: b}
		}
	}
	if a, b, ok := settings.ParsePair(p.value(settings.Split)); ok {
		o.SidePercent, o.TopPercent = a, b
	}
	p.layout = o
}

// configured returns the current settings.
func (m *Model) configured() app.Configured {
	return app.Configured{
		Sources: m.prefs.sources, File: m.o.ConfigFile, Theme: m.prefs.theme.Name, Themes: m.o.Themes, Presets: m.presetNames(), Bound: m.prefs.bound,
		Rebind: func(a keymap.Action, keys []string) error {
			_, _, err := m.rebound(a, keys)
			return err
		},
	}
}

// set sets and stores the value of a setting; an empty value restores the default.
func (m *Model) set(s view.Set) tea.Cmd {
	known, ok := settings.Find(s.Name)
	switch source := m.prefs.sources.Of(s.Name); {
	case !ok:
		return nil
	case source.Fixed && s.Name == settings.Theme:
		m.applyTheme(s.Value)
		m.notify("This theme applies to this session only: "+source.From+" sets another.", themes.Dim)
		return nil
	case source.Fixed:
		return nil
	}
	value := s.Value
	if value == "" {
		value = known.Default
	}
	if err := known.Check(value); err != nil {
		m.notify(err.Error()+".", themes.Warning)
		return nil
	}
	source := settings.Source{Value: value, From: settings.FromFile}
	if s.Value == "" {
		source.From = ""
	}
	m.prefs.sources[s.Name] = source
	cmd := m.apply(s.Name, value)
	words := known.Title + " is " + value
	switch {
	case known.Later:
		words += " from the next start"
	case known.Kind == settings.Switch && value == settings.On:
		words = known.Title + " is on"
	case known.Kind == settings.Switch:
		words = known.Title + " is off"
	}
	m.notify(strings.ToUpper(words[:1])+words[1:]+".", themes.Dim)
	return tea.Batch(cmd, m.keep(func() error { return m.o.KeepSetting(s.Name, s.Value) }, m.o.KeepSetting != nil))
}

// keep stores a choice without waiting for the disk; choices made meanwhile
// are stored after it.
func (m *Model) keep(write func() error, possible bool) tea.Cmd {
	if !possible {
		return nil
	}
	m.prefs.writes = append(m.prefs.writes, write)
	if len(m.prefs.writes) > 1 {
		return nil
	}
	return m.writeFirst()
}

func (m *Model) writeFirst() tea.Cmd {
	write := m.prefs.writes[0]
	return m.run(func(context.Context) tea.Msg { return keptMsg{write()} })
}

// kept continues with the next choice to be stored.
func (m *Model) kept(msg keptMsg) tea.Cmd {
	if msg.err != nil {
		m.o.Log.Warn("settings not saved", "error", msg.err)
		m.notify("Applied for this session; not saved: "+msg.err.Error()+".", themes.Warning)
	}
	m.prefs.writes = m.prefs.writes[1:]
	if len(m.prefs.writes) > 0 {
		return m.writeFirst()
	}
	return nil
}

// flush stores the pending choices and the place when the console ends. A running
// write is repeated once, as it is not waited for.
func (m *Model) flush() error {
	var errs []error
	if m.remembers() && m.data.Site != nil {
		here := m.here()
		m.prefs.writes = append(m.prefs.writes, func() error { return m.o.Places.Keep(m.session.owner, here) })
	}
	for _, write := range m.prefs.writes {
		errs = append(errs, write())
	}
	m.prefs.writes = nil
	return errors.Join(errs...)
}

// apply applies a value.
func (m *Model) apply(name, value string) tea.Cmd {
	m.frame.dirty = true
	on := value == settings.On
	switch name {
	case settings.Theme:
		m.applyTheme(value)
	case settings.Color:
		m.o.Profile = m.o.Detected
		if p, given, err := terminal.ParseProfile(value); err == nil && given {
			m.o.Profile = p
		}
		m.useTheme(m.prefs.theme)
		return m.askForImages()
	case settings.Graph, settings.ASCII:
		m.o.ASCII = m.prefs.value(settings.ASCII) == settings.On
		m.o.Pen, _ = chart.ParsePen(m.prefs.value(settings.Graph), m.o.getenv("TERM"))
		if m.o.ASCII {
			m.o.Pen = chart.ASCII
		}
		return m.askForImages()
	case settings.Images:
		m.takeGraphics(terminal.Answers{})
		return m.askForImages()
	case settings.Mouse:
		if m.prefs.mouse != on {
			return m.toggleMouse()
		}
	case settings.Bell:
		m.o.Bell = on
	case settings.Polling:
		m.data.Planner.Pace = settings.Pace(value)
	case settings.QuadFrom, settings.StripsFrom, settings.Split:
		m.prefs.applyLayout()
	case settings.Remember:
		if !on {
			return m.forgetPlace()
		}
	case settings.Preset:
		if value != presetAuto {
			m.usePreset(value)
		}
	}
	return nil
}

// wantsImages reports whether charts are to be images on a terminal that takes them. The console
// of Linux writes the request to the screen.
func (m *Model) wantsImages() bool {
	return m.recorder == nil && m.prefs.value(settings.Images) == "auto" && !m.o.ASCII && m.o.Profile != themes.NoColor && m.o.getenv("TERM") != "linux"
}

// askForImages queries the terminal after a change of settings, if charts are to be images.
func (m *Model) askForImages() tea.Cmd {
	if !m.wantsImages() {
		m.takeGraphics(terminal.Answers{})
		return nil
	}
	return m.ask()
}

// takeGraphics draws charts as images if the settings and the terminal allow it.
func (m *Model) takeGraphics(a terminal.Answers) {
	m.prefs.images = nil
	if !m.wantsImages() {
		a.Graphics = terminal.NoGraphics
	}
	if a.Graphics != terminal.NoGraphics {
		m.prefs.images = &chart.Images{Cell: a.Cell}
	}
	m.out.SetGraphics(a.Graphics)
}

func (m *Model) useTheme(t themes.Theme) {
	m.prefs.useTheme(t, m.o.Profile)
	m.frame.dirty = true
}

// applyTheme draws with a theme by name; auto is what suits the terminal.
func (m *Model) applyTheme(name string) {
	if name == "auto" {
		name = themes.ControlRoom
		if m.prefs.light {
			name = themes.Daylight
		}
	}
	if t, ok := themes.Find(m.o.Themes, name); ok {
		m.useTheme(t)
	}
}

// rebound returns the keymap with other keys for an action; without keys, the defaults
// are restored.
func (m *Model) rebound(a keymap.Action, keys []string) (keymap.Map, map[string][]string, error) {
	bound := maps.Clone(m.prefs.bound)
	if bound == nil {
		bound = map[string][]string{}
	}
	delete(bound, string(a))
	if len(keys) > 0 {
		bound[string(a)] = slices.Clone(keys)
	}
	all, err := keymap.Default().Rebind(bound)
	return all, bound, err
}

// bind sets and stores the keys of an action.
func (m *Model) bind(b view.BindKeys) tea.Cmd {
	keys, bound, err := m.rebound(b.Action, b.Keys)
	if err != nil {
		m.notify("Not changed: "+strings.TrimPrefix(err.Error(), "keys: ")+".", themes.Warning)
		return nil
	}
	m.o.Keys, m.prefs.bound = keys, bound
	e, _ := keys.Entry(b.Action)
	m.notify(e.Binding.Help().Key+" is now for: "+e.Binding.Help().Desc+".", themes.Dim)
	return m.keep(func() error { return m.o.KeepKeys(string(b.Action), b.Keys) }, m.o.KeepKeys != nil)
}

// preview applies the value of a setting without storing it.
func (m *Model) preview(p view.Preview) {
	switch p.Name {
	case settings.Theme:
		m.applyTheme(p.Value)
	case settings.Preset:
		if a, err := parseArrangement(p.Value); err == nil {
			m.put(a)
		}
	}
}

// themesEvery is how many ticks of the clock pass between two looks at the
// person's own theme files.
const themesEvery = 2

// watchThemes looks for changed theme files now and then.
func (m *Model) watchThemes() tea.Cmd {
	if m.o.ReloadThemes == nil || m.tick%themesEvery != 0 {
		return nil
	}
	return m.run(func(context.Context) tea.Msg {
		all, changed, err := m.o.ReloadThemes()
		return themesMsg{all, changed, err}
	})
}

// takeThemes lists changed themes, and draws with the one in use as it is now.
func (m *Model) takeThemes(msg themesMsg) {
	if !msg.changed {
		return
	}
	m.o.Themes = msg.all
	if msg.err != nil { // an invalid file is ignored; the theme stays
		m.notify("A theme file is not used: "+msg.err.Error(), themes.Warning)
		return
	}
	if t, ok := themes.Find(msg.all, m.prefs.theme.Name); ok && t != m.prefs.theme {
		m.useTheme(t)
		m.notify("The theme "+t.Name+" is shown as its file is now.", themes.Dim)
	}
}
