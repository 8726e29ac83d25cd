package app

import (
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/settings"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// Configured is the current settings.
type Configured struct {
	Sources settings.Sources
	File    string // in which it is kept; empty: it is not kept
	Theme   string // on screen
	Themes  []themes.Theme
	Presets []string            // names of arrangements
	Bound   map[string][]string // the person's own keys, by action
	// Rebind says why an action cannot have keys, nil when it can.
	Rebind func(a keymap.Action, keys []string) error
}

// The rows of settings and of keys are distinguished by the beginning of their
// id.
const (
	settingRow = "setting "
	keyRow     = "key "
)

// NewSettings lists all settings, and every key; now returns the current
// values.
func NewSettings(now func() Configured) *widget.TableView {
	weak := weakThemes{}
	return &widget.TableView{
		Heading: "Settings", Keys: keymap.InSettings, Enter: "change", List: widget.List{SortBy: -1},
		Columns: []widget.Column{
			{Title: "group", Width: 22, Min: 15, Rank: 1}, {Title: "setting", Min: 28}, {Title: "value", Width: 14, Min: 10}, {Title: "from", Width: 26, Min: 8, Rank: 2},
		},
		Rows:   func(v view.Context) []widget.Row { return settingRows(v, now()) },
		Detail: func(v view.Context, id string) []widget.Detail { return settingDetail(v, now(), weak, id) },
		Act: func(a keymap.Action, id string, v view.Context) view.Request {
			return changeSetting(v, now(), id, a == keymap.ResetSetting)
		},
		Reason: func(_ keymap.Action, id string, _ view.Context) string { return whyFixed(now(), id) },
	}
}

// SettingID returns the row of a setting.
func SettingID(name string) string { return settingRow + name }

// whyFixed returns why what is chosen cannot be changed here.
func whyFixed(c Configured, id string) string {
	if name, ok := strings.CutPrefix(id, settingRow); ok {
		if source := c.Sources.Of(name); source.Fixed {
			return source.From + " sets it"
		}
	}
	return ""
}

func settingRows(v view.Context, c Configured) []widget.Row {
	var rows []widget.Row
	add := func(id, group, words, value, from string, role themes.Role) {
		rows = append(rows, widget.Row{ID: id, Sort: []any{group, words, value, from}, Cells: []widget.Cell{
			{Text: group, Role: themes.Dim}, {Text: words, Role: role}, {Text: value, Role: themes.Text}, {Text: from, Role: themes.Dim},
		}})
	}
	for _, s := range settings.All() {
		source, role := c.Sources.Of(s.Name), themes.Text
		from := "default"
		switch {
		case source.Fixed:
			from, role = source.From, themes.Muted
		case source.From == settings.FromFile:
			from = "file"
		case source.From != "":
			from = source.From
		}
		add(settingRow+s.Name, s.Group, s.Title, valueWords(s, source.Value), from, role)
	}
	for _, e := range v.Keys.Entries() {
		from := "default"
		if len(c.Bound[string(e.Action)]) > 0 {
			from = "file"
		}
		add(keyRow+string(e.Action), "keys, "+string(e.Scope), e.Binding.Help().Desc, widget.KeyNames(e.Binding.Help().Key, v.ASCII), from, themes.Text)
	}
	return rows
}

// valueWords returns a value as text.
func valueWords(s settings.Setting, value string) string {
	if s.Kind == settings.Switch {
		if value == settings.On {
			return "on"
		}
		return "off"
	}
	if value == "0" && s.Zero != "" {
		return s.Zero
	}
	return value
}

func settingDetail(v view.Context, c Configured, weak weakThemes, id string) []widget.Detail {
	if action, ok := strings.CutPrefix(id, keyRow); ok {
		return bindingDetail(v, c, keymap.Action(action))
	}
	name := strings.TrimPrefix(id, settingRow)
	s, ok := settings.Find(name)
	if !ok {
		return nil
	}
	source := c.Sources.Of(name)
	lines := []widget.Detail{{Heading: s.Title}, {Text: s.Help, Role: themes.Text}, {}}
	add := func(label, words string, role themes.Role) {
		lines = append(lines, widget.Detail{Label: label, Text: words, Role: role})
	}
	add("value", valueWords(s, source.Value), themes.Text)
	switch {
	case source.Fixed:
		add("from", source.From+". It cannot be changed here; start without it to choose.", themes.Warning)
	case source.From == "":
		add("from", "the default", themes.Text)
	default:
		add("from", source.From, themes.Text)
	}
	add("default", valueWords(s, s.Default), themes.Dim)
	switch s.Kind {
	case settings.Choice:
		add("choices", strings.Join(choicesOf(s, c), ", "), themes.Dim)
	case settings.Whole, settings.Pair:
		add("range", fmt.Sprintf("%d to %d", s.Least, s.Most), themes.Dim)
	}
	if name == settings.Theme {
		lines = append(lines, weak.of(c.Themes)...)
	}
	add("applies", map[bool]string{true: "from the next start", false: "at once"}[s.Later], themes.Dim)
	return append(lines, keptIn(c, name)...)
}

// weakThemes caches the text with low contrast in each theme, which is slow to compute.
type weakThemes map[themes.Theme][]string

// of returns the texts with low contrast in a theme.
func (w weakThemes) of(all []themes.Theme) []widget.Detail {
	var lines []widget.Detail
	for _, t := range all {
		weak, known := w[t]
		if !known {
			weak = t.Weak()
			w[t] = weak
		}
		if len(weak) > 0 {
			lines = append(lines, widget.Detail{Label: "contrast", Text: fmt.Sprintf("%s: %s; %d such places in all.", t.Name, weak[0], len(weak)), Role: themes.Warning})
		}
	}
	return lines
}

// keptIn says where what is set is written.
func keptIn(c Configured, name string) []widget.Detail {
	if c.File == "" {
		return []widget.Detail{{Label: "kept", Text: "for this session only: there is no configuration file", Role: themes.Dim}}
	}
	return []widget.Detail{{Label: "kept in", Text: c.File + " as " + name, Role: themes.Dim}}
}

func bindingDetail(v view.Context, c Configured, a keymap.Action) []widget.Detail {
	e, ok := v.Keys.Entry(a)
	if !ok {
		return nil
	}
	lines := []widget.Detail{{Heading: e.Binding.Help().Desc}}
	add := widget.FactsOf(&lines)
	add("key", widget.KeyNames(strings.Join(e.Binding.Keys(), "  or  "), v.ASCII))
	add("counts in", string(e.Scope))
	if d, ok := keymap.Default().Entry(a); ok && !slices.Equal(d.Binding.Keys(), e.Binding.Keys()) {
		add("default", strings.Join(d.Binding.Keys(), "  or  "))
	}
	if e.Dangerous {
		add("asks", "for confirmation; the answer that changes nothing is preselected")
	}
	lines = append(lines, widget.Detail{}, widget.Detail{Text: "enter assigns another key; x restores the default.", Role: themes.Dim})
	return append(lines, keptIn(c, "keys."+string(a))...)
}

// choicesOf returns the values that a setting may have.
func choicesOf(s settings.Setting, c Configured) []string {
	switch s.Name {
	case settings.Theme:
		names := []string{"auto"}
		for _, t := range c.Themes {
			names = append(names, t.Name)
		}
		return names
	case settings.Preset:
		return append([]string{"auto"}, c.Presets...)
	}
	return s.Choices
}

// changeSetting returns the request that changes what is chosen, or puts it back.
func changeSetting(v view.Context, c Configured, id string, reset bool) view.Request {
	if action, ok := strings.CutPrefix(id, keyRow); ok {
		if reset {
			return view.BindKeys{Action: keymap.Action(action)}
		}
		e, _ := v.Keys.Entry(keymap.Action(action))
		return view.OpenDialog{Dialog: NewKeyCapture(e, c.Rebind)}
	}
	s, ok := settings.Find(strings.TrimPrefix(id, settingRow))
	value := c.Sources.Of(s.Name).Value
	switch {
	case !ok:
		return nil
	case whyFixed(c, id) != "":
		return view.Notify{Text: "Unavailable: " + whyFixed(c, id) + ".", Role: themes.Dim}
	case reset:
		return view.Set{Name: s.Name}
	case s.Kind == settings.Switch:
		return view.Set{Name: s.Name, Value: map[string]string{settings.On: settings.Off, settings.Off: settings.On}[value]}
	case s.Kind == settings.Choice:
		return view.OpenDialog{Dialog: settingChooser(s, c, value)}
	}
	return view.OpenDialog{Dialog: NewValueForm(s, value)}
}

// settingChooser offers the values of a setting; themes are previewed.
func settingChooser(s settings.Setting, c Configured, value string) *widget.Chooser {
	var choices []widget.Choice
	for _, name := range choicesOf(s, c) {
		choice := widget.Choice{Text: name, Do: view.Set{Name: s.Name, Value: name}}
		if i := slices.IndexFunc(c.Themes, func(t themes.Theme) bool { return t.Name == name }); s.Name == settings.Theme && i >= 0 {
			choice.Detail, choice.Seen = c.Themes[i].Title, view.Preview{Name: settings.Theme, Value: name}
		}
		choices = append(choices, choice)
	}
	var cancel view.Request
	if s.Name == settings.Theme {
		cancel = view.Preview{Name: settings.Theme, Value: c.Theme}
	}
	d := widget.NewChooser(strings.ToUpper(s.Title[:1])+s.Title[1:], "", choices, cancel)
	d.Mark(value)
	return d
}

// ValueForm asks for the value of a setting that is typed.
type ValueForm struct {
	view.Base
	widget.Form
	setting settings.Setting
}

// NewValueForm starts with the value that the setting has.
func NewValueForm(s settings.Setting, value string) *ValueForm {
	return &ValueForm{Form: widget.Form{Fields: []widget.Field{widget.NewField(s.Name, s.Default, value)}}, setting: s}
}

// Title names the setting.
func (d *ValueForm) Title() string { return strings.ToUpper(d.setting.Title[:1]) + d.setting.Title[1:] }

// Size fits the form.
func (d *ValueForm) Size(w, _ int) (int, int) { return min(64, w-4), 9 }

// Draw draws the form.
func (d *ValueForm) Draw(r terminal.Region, v view.Context) {
	_, h := r.Size()
	y := v.Paragraph(r, 0, 0, d.setting.Help, themes.Dim)
	d.DrawFields(r, y+1, v)
	widget.KeyLine(r, h-1, v, "enter", "set", "esc", "back")
}

// Key edits or sets.
func (d *ValueForm) Key(k tea.KeyMsg, v view.Context) view.Request {
	switch a, _, _ := v.Keys.Match(k.String(), keymap.Dialog); a {
	case keymap.Dismiss:
		return view.Close{}
	case keymap.Accept:
		value := strings.ReplaceAll(d.Fields[0].Value(), "×", "x")
		if err := d.setting.Check(value); err != nil {
			d.Refuse(0, err.Error()+".")
			return nil
		}
		return view.Batch{view.Close{}, view.Set{Name: d.setting.Name, Value: value}}
	default:
		d.Edit(a, k)
	}
	return nil
}

// NameForm asks for a short name.
type NameForm struct {
	view.Base
	widget.Form
	title string
	then  func(name string) view.Request
}

// NewNameForm asks; then is the request that is made with the name.
func NewNameForm(title, label, hint string, then func(name string) view.Request) *NameForm {
	return &NameForm{Form: widget.Form{Fields: []widget.Field{widget.NewField(label, hint, "")}}, title: title, then: then}
}

// Title says what the name is for.
func (d *NameForm) Title() string { return d.title }

// Size fits the form.
func (d *NameForm) Size(w, _ int) (int, int) { return min(50, w-4), 5 }

// Draw draws the form.
func (d *NameForm) Draw(r terminal.Region, v view.Context) {
	_, h := r.Size()
	d.DrawFields(r, 0, v)
	widget.KeyLine(r, h-1, v, "enter", "keep", "esc", "back")
}

// Key edits or gives the name.
func (d *NameForm) Key(k tea.KeyMsg, v view.Context) view.Request {
	switch a, _, _ := v.Keys.Match(k.String(), keymap.Dialog); a {
	case keymap.Dismiss:
		return view.Close{}
	case keymap.Accept:
		name := d.Fields[0].Value()
		if !plainName(name) {
			d.Refuse(0, "A name has 1 to 20 letters, digits and dashes.")
			return nil
		}
		return view.Batch{view.Close{}, d.then(name)}
	default:
		d.Edit(a, k)
	}
	return nil
}

// plainName reports whether a name can be a key of a file and an element of a list.
func plainName(name string) bool {
	for _, r := range name {
		if r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return name != "" && len(name) <= 20
}

// KeyCapture asks for a new key of an action.
type KeyCapture struct {
	view.Base
	entry   keymap.Entry
	rebind  func(a keymap.Action, keys []string) error
	pressed []string // of the new binding
	beside  bool     // the former keys stay
	wrong   string
}

// NewKeyCapture waits for the key of an action; rebind says why it cannot be.
func NewKeyCapture(e keymap.Entry, rebind func(keymap.Action, []string) error) *KeyCapture {
	return &KeyCapture{entry: e, rebind: rebind}
}

// Title says what is waited for.
func (d *KeyCapture) Title() string { return "Press a key" }

// Size fits the words.
func (d *KeyCapture) Size(w, _ int) (int, int) { return min(66, w-4), 11 }

// keys returns what the action would have.
func (d *KeyCapture) keys() []string {
	pressed := strings.Join(d.pressed, " ")
	if d.beside && !slices.Contains(d.entry.Binding.Keys(), pressed) {
		return append(slices.Clone(d.entry.Binding.Keys()), pressed)
	}
	return []string{pressed}
}

// Draw draws the pressed key, and what conflicts with it.
func (d *KeyCapture) Draw(r terminal.Region, v view.Context) {
	w, h := r.Size()
	y := v.Paragraph(r, 0, 0, d.entry.Binding.Help().Desc, themes.Title)
	y = v.Paragraph(r, 0, y, "now: "+widget.KeyNames(strings.Join(d.entry.Binding.Keys(), "  or  "), v.ASCII), themes.Dim) + 1
	if len(d.pressed) == 0 {
		v.Paragraph(r, 0, y, "Press the new key. esc cancels.", themes.Text)
		return
	}
	x := r.PutIn(0, y, w, "new: ", v.Palette.Style(themes.Dim), v.ASCII)
	r.PutIn(x, y, w-x, widget.KeyNames(strings.Join(d.keys(), "  or  "), v.ASCII), v.Palette.Style(themes.Key), v.ASCII)
	if d.wrong != "" {
		v.Paragraph(r, 0, y+2, d.wrong, themes.Warning)
	} else if len(d.pressed) == 1 {
		v.Paragraph(r, 0, y+2, "A second key makes it a pair, such as g u.", themes.Dim)
	}
	widget.KeyLine(r, h-1, v, "enter", "keep", "tab", map[bool]string{false: "in addition to the former", true: "instead of the former"}[d.beside], "backspace", "again", "esc", "back")
}

// Key takes any key except esc as the new one, then the confirmation.
func (d *KeyCapture) Key(k tea.KeyMsg, v view.Context) view.Request {
	name := k.String()
	switch {
	case name == "esc":
		return view.Close{}
	case k.Paste:
		return nil
	case len(d.pressed) == 0:
		d.pressed = []string{keyName(name)}
	case name == "enter":
		if d.wrong != "" {
			return nil
		}
		return view.Batch{view.Close{}, view.BindKeys{Action: d.entry.Action, Keys: d.keys()}}
	case name == "tab":
		d.beside = !d.beside
	case name == "backspace":
		d.pressed, d.wrong = nil, ""
		return nil
	case len(d.pressed) == 1:
		d.pressed = append(d.pressed, keyName(name))
	}
	d.wrong = ""
	if err := d.rebind(d.entry.Action, d.keys()); err != nil {
		d.wrong = strings.TrimPrefix(err.Error(), "keys: ") + "."
	}
	return nil
}

// keyName returns how the keymap writes a key: the space has a name.
func keyName(pressed string) string {
	if pressed == " " {
		return "space"
	}
	return pressed
}
