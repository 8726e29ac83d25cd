package widget

import (
	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// Confirm asks for confirmation of an action that cannot be undone. The answer that
// changes nothing is preselected.
type Confirm struct {
	ServerForm
	Heading, Question string
	No, Yes           string // words of the two answers
	Settled           string // why there is nothing to be done; empty when there is
	Send              func(from view.Caller) view.Request
	marked            bool // the answer that does it
}

// Title names the question.
func (d *Confirm) Title() string { return d.Heading }

// Size fits the question.
func (d *Confirm) Size(w, _ int) (int, int) { return min(64, w-4), 10 }

// Draw draws the question.
func (d *Confirm) Draw(r terminal.Region, v view.Context) {
	_, h := r.Size()
	if d.Settled != "" {
		v.Paragraph(r, 0, 0, d.Settled, themes.Text)
		KeyLine(r, h-1, v, "esc", "back")
		return
	}
	y := v.Paragraph(r, 0, 0, d.Question, themes.Text) + 1
	DrawAnswers(r, 0, y, v, d.marked, d.No, d.Yes)
	d.DrawForm(r, y+1, v)
	KeyLine(r, h-1, v, "tab", "the other answer", "enter", "take the marked one", "esc", "back")
}

// DrawAnswers draws two answers side by side, the second or the first of them marked.
func DrawAnswers(r terminal.Region, x, y int, v view.Context, second bool, no, yes string) {
	w, _ := r.Size()
	for _, button := range []struct {
		words  string
		marked bool
	}{{no, !second}, {yes, second}} {
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
}

// Key marks an answer, or takes the marked one.
func (d *Confirm) Key(k tea.KeyMsg, v view.Context) view.Request {
	list, _, _ := v.Keys.Match(k.String(), keymap.List)
	dialog, _, _ := v.Keys.Match(k.String(), keymap.Dialog)
	switch {
	case d.Busy:
	case list == keymap.Left, list == keymap.Right, dialog == keymap.NextField, dialog == keymap.PrevField:
		d.marked = !d.marked
		return nil
	}
	return d.EditOrSend(k, v, func() view.Request {
		if !d.marked || d.Settled != "" {
			return view.Close{}
		}
		d.Busy, d.Wrong = true, ""
		return d.Send(d)
	})
}

// KeyLine draws keys and what they do, in pairs.
func KeyLine(r terminal.Region, y int, v view.Context, pairs ...string) {
	w, _ := r.Size()
	x := 0
	for i := 0; i+1 < len(pairs); i += 2 {
		if x+terminal.Width(pairs[i])+1+terminal.Width(pairs[i+1]) > w {
			return // the least important are last
		}
		x = r.Put(x, y, pairs[i], v.Palette.Style(themes.Key))
		x = r.Put(x, y, " "+pairs[i+1]+"   ", v.Palette.Style(themes.Dim))
	}
}
