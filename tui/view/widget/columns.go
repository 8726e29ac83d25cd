package widget

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// ColumnsDialog chooses which columns a list has, and their order.
type ColumnsDialog struct {
	view.Base
	list   view.List
	titles []string
	shown  map[string]bool
	at     int
	wrong  string
}

// NewColumns starts with the columns as they are.
func NewColumns(list view.List) *ColumnsDialog {
	d := &ColumnsDialog{list: list, titles: slices.Clone(list.Shown()), shown: map[string]bool{}}
	for _, t := range list.Titles() {
		if !slices.Contains(d.titles, t) {
			d.titles = append(d.titles, t)
		}
		d.shown[t] = len(list.Shown()) == 0 || slices.Contains(list.Shown(), t)
	}
	d.titles = slices.DeleteFunc(d.titles, func(t string) bool { return !slices.Contains(list.Titles(), t) })
	return d
}

// Title names the choice.
func (d *ColumnsDialog) Title() string { return "Columns" }

// Size fits the titles.
func (d *ColumnsDialog) Size(w, h int) (int, int) { return min(58, w-4), min(len(d.titles)+3, h-4) }

// Draw draws the columns, those that are shown marked.
func (d *ColumnsDialog) Draw(r terminal.Region, v view.Context) {
	w, h := r.Size()
	rows := max(h-2, 1)
	top := max(0, d.at-rows+1)
	for y := 0; y < rows && top+y < len(d.titles); y++ {
		title := d.titles[top+y]
		mark, role := "[ ] ", themes.Muted
		if d.shown[title] {
			mark, role = "[x] ", themes.Text
		}
		r.PutIn(0, y, w, mark+title, v.Palette.Style(role), v.ASCII)
		if top+y == d.at {
			r.Shade(terminal.Rect{Y: y, W: w, H: 1}, v.Palette.Style(themes.Selection))
		}
	}
	if d.wrong != "" {
		r.PutIn(0, h-1, w, d.wrong, v.Palette.Style(themes.Warning), v.ASCII)
		return
	}
	KeyLine(r, h-1, v, "space", "show or not", "< >", "move it", "enter", "take", "esc", "back")
}

// Key marks, moves, takes or leaves.
func (d *ColumnsDialog) Key(k tea.KeyMsg, v view.Context) view.Request {
	d.wrong = ""
	dialog, _, _ := v.Keys.Match(k.String(), keymap.Dialog)
	list, _, _ := v.Keys.Match(k.String(), keymap.List)
	switch {
	case dialog == keymap.Dismiss:
		return view.Close{}
	case dialog == keymap.Accept:
		return d.take()
	case len(d.titles) == 0:
	case k.String() == " ":
		d.shown[d.titles[d.at]] = !d.shown[d.titles[d.at]]
	case list == keymap.ScrollLeft, list == keymap.Left:
		d.swap(-1)
	case list == keymap.ScrollRight, list == keymap.Right:
		d.swap(1)
	case list == keymap.Up, dialog == keymap.PrevField:
		d.at = max(d.at-1, 0)
	case list == keymap.Down, dialog == keymap.NextField:
		d.at = min(d.at+1, len(d.titles)-1)
	}
	return nil
}

// swap moves the marked column before or behind its neighbour.
func (d *ColumnsDialog) swap(by int) {
	to := d.at + by
	if to < 0 || to >= len(d.titles) {
		return
	}
	d.titles[d.at], d.titles[to] = d.titles[to], d.titles[d.at]
	d.at = to
}

func (d *ColumnsDialog) take() view.Request {
	var shown []string
	for _, t := range d.titles {
		if d.shown[t] {
			shown = append(shown, t)
		}
	}
	if len(shown) == 0 {
		d.wrong = "Select at least one column."
		return nil
	}
	d.list.Arrange(shown)
	return view.Close{}
}
