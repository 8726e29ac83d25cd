package screen

import (
	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// Confirm asks whether something that cannot be taken back is to be done. The
// harmless answer is marked first.
type Confirm struct {
	asking
	title, question string
	keep, do        string // words of the two answers
	settled         string // why there is nothing to be done; empty when there is
	send            func(from view.Caller) view.Request
	marked          bool // the answer that does it
}

// Title names the question.
func (d *Confirm) Title() string { return d.title }

// Size fits the question.
func (d *Confirm) Size(w, _ int) (int, int) { return min(64, w-4), 10 }

// Draw draws the question.
func (d *Confirm) Draw(r terminal.Region, v view.Context) {
	w, h := r.Size()
	if d.settled != "" {
		v.Paragraph(r, 0, 0, d.settled, themes.Text)
		keyLine(r, h-1, v, "esc", "back")
		return
	}
	y := v.Paragraph(r, 0, 0, d.question, themes.Text) + 1
	x := 0
	for _, button := range []struct {
		words  string
		marked bool
	}{{d.keep, !d.marked}, {d.do, d.marked}} {
		text := "  " + button.words + "  "
		if button.marked {
			text = "[ " + button.words + " ]"
		}
		end := r.PutIn(x, y, w-x, text, v.Palette.Style(themes.Text), v.ASCII)
		if button.marked {
			r.Shade(terminal.Rect{X: x, Y: y, W: end - x, H: 1}, v.Palette.Style(themes.Selection))
		}
		x = end + 2
	}
	d.drawForm(r, y+1, v)
	keyLine(r, h-1, v, "tab", "the other answer", "enter", "take the marked one", "esc", "back")
}

// Key marks an answer, or takes the marked one.
func (d *Confirm) Key(k tea.KeyMsg, v view.Context) view.Request {
	list, _, _ := v.Keys.Match(k.String(), keymap.List)
	dialog, _, _ := v.Keys.Match(k.String(), keymap.Dialog)
	switch {
	case d.busy:
	case list == keymap.Left, list == keymap.Right, dialog == keymap.NextField, dialog == keymap.PrevField:
		d.marked = !d.marked
		return nil
	}
	return d.key(k, v, func() view.Request {
		if !d.marked || d.settled != "" {
			return view.Close{}
		}
		d.busy, d.wrong = true, ""
		return d.send(d)
	})
}
