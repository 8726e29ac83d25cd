package view

import (
	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
)

// View is a part of the console that is drawn and answers events: a pane, a
// screen in place of the panes, or a dialog over both. A view draws from a
// [Context], keeps nothing but selection, sort order and scroll position, and
// answers an event with a [Request], nil for none. It knows neither the root
// model nor other views, except to open them. A view embeds [Base] and has
// its own methods for differences.
type View interface {
	Title() string
	// Scope is the scope of the view's own keys, empty if it has none.
	Scope() keymap.Scope
	Draw(r terminal.Region, v Context)
	// Do performs an action of lists or of the view's own scope.
	Do(a keymap.Action, v Context) Request
	// Key takes a key that was typed into a dialog.
	Key(k tea.KeyMsg, v Context) Request
	// Click and Wheel take the mouse at a place of the region last drawn. The
	// wheel turns down if by is above zero.
	Click(x, y int, v Context) Request
	Wheel(x, y, by int, v Context) Request
	// Disabled returns why an action of the view's scope is not available,
	// empty if it is.
	Disabled(a keymap.Action, v Context) string
	// Queries are what the view needs from the service.
	Queries(v Context) []state.Need
	// Lists are the view's lists, which can be filtered, arranged and restored.
	Lists() Lists
	// Opens is what enter does, in a word for the last line; empty: not shown.
	Opens() string
	// SelectRow selects the row with the given id.
	SelectRow(id string)
	// Export is what the view shows, as rows of CSV with a header.
	Export(v Context) [][]string
	// Back undoes a step within the view. It reports whether there was one.
	Back() bool
}

// Pane is one of the four views that share the screen.
type Pane interface {
	View
	// Strip draws a summary of a few lines.
	Strip(r terminal.Region, v Context)
	// Help describes the pane's own keys, in pairs of key and description.
	Help() [][2]string
}

// Dialog is a view over the panes or the screen. It gets all keys while it is
// on top.
type Dialog interface {
	View
	// Size is how large the dialog's inside would like to be on a screen of the
	// given size; it may get less.
	Size(screenWidth, screenHeight int) (w, h int)
}

// Secretive is a dialog that may show a secret or ask for one. A recording of the console
// leaves out what it shows meanwhile.
type Secretive interface {
	HasSecret() bool
}

// Base has the defaults of a [View]: no keys, no queries, no lists.
type Base struct{}

// Scope returns no scope.
func (Base) Scope() keymap.Scope { return "" }

// Do ignores the action.
func (Base) Do(keymap.Action, Context) Request { return nil }

// Key ignores the key.
func (Base) Key(tea.KeyMsg, Context) Request { return nil }

// Click ignores the mouse.
func (Base) Click(int, int, Context) Request { return nil }

// Wheel ignores the mouse.
func (Base) Wheel(int, int, int, Context) Request { return nil }

// Disabled disables nothing.
func (Base) Disabled(keymap.Action, Context) string { return "" }

// Queries returns none.
func (Base) Queries(Context) []state.Need { return nil }

// Lists returns none.
func (Base) Lists() Lists { return Lists{} }

// Opens returns nothing.
func (Base) Opens() string { return "" }

// SelectRow does nothing.
func (Base) SelectRow(string) {}

// Export returns nothing.
func (Base) Export(Context) [][]string { return nil }

// Back reports that there is no step to undo.
func (Base) Back() bool { return false }

// Lists are a view's lists by name, and the one that has the keys.
type Lists struct {
	All    map[string]List
	Active List // nil if none has them
}

// List is what the console changes and remembers of a list.
type List interface {
	// Titles are those of the columns last drawn, Shown those of the chosen
	// ones in their order, empty for all. Arrange chooses them.
	Titles() []string
	Shown() []string
	Arrange(titles []string)
	Filter() string
	SetFilter(text string)
	// Memory is the state of the list. Restore puts it back.
	Memory() Memory
	Restore(m Memory)
}

// Memory is the state of a list. Titles identify columns, so that a list with
// other columns restores those that it still has.
type Memory struct {
	Sort     string   `json:"sort,omitempty"` // title of the column
	Reverse  bool     `json:"reverse,omitempty"`
	Filter   string   `json:"filter,omitempty"`
	Selected string   `json:"selected,omitempty"`
	Shown    []string `json:"shown,omitempty"`
}

// frame draws a dialog's frame over r and returns its inside.
func frame(r terminal.Region, v Context, title string) terminal.Region {
	ground := v.Palette.Style(themes.Panel)
	r.Clear(ground)
	inside := r.Box(terminal.LinesFor(v.ASCII), v.Palette.Style(themes.BorderFocus))
	if w, _ := r.Size(); w > 4 && title != "" {
		r.PutIn(2, 0, w-4, " "+title+" ", v.Palette.Style(themes.Title), v.ASCII)
	}
	w, h := inside.Size()
	return inside.Region(terminal.Rect{X: 1, W: max(w-2, 0), H: h})
}

// DrawDialog draws a dialog in the middle of the screen.
func DrawDialog(d Dialog, whole terminal.Region, v Context) {
	sw, sh := whole.Size()
	w, h := d.Size(sw, sh)
	w, h = min(w+4, sw), min(h+2, sh)
	area := terminal.Rect{X: (sw - w) / 2, Y: (sh - h) / 2, W: w, H: h}
	v.Focused, v.Images = true, nil
	d.Draw(frame(whole.Region(area), v, d.Title()), v)
}
