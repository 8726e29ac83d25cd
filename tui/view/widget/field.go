package widget

import (
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// Field is a text that the user edits. The cursor does not blink: over a thin line each
// blink costs a frame.
type Field struct {
	Label  string
	Hint   string // shown while the field is empty
	Secret bool   // drawn as dots
	Lines  int    // on which a long text is shown; 0: 1
	input  textinput.Model

	choices []string            // what the value is one of; nil: any text
	words   func(string) string // how a choice is written
	typed   string              // the letters that select a choice
	fresh   bool                // focused, without a key since
}

// NewField makes a field with a first value.
func NewField(label, hint, value string) Field {
	in := textinput.New()
	in.CharLimit = 4096
	in.SetValue(terminal.Printable(value))
	in.CursorEnd()
	in.Focus()
	return Field{Label: label, Hint: hint, input: in}
}

// Paragraph returns a field whose text is shown on several lines.
func Paragraph(f Field, lines int) Field {
	f.Lines = lines
	return f
}

// NewSecret makes a field whose text is not shown.
func NewSecret(label string) Field {
	f := NewField(label, "", "")
	f.Secret = true
	return f
}

// NewChoice makes a field whose value is one of choices, the first of them to
// begin with; words writes one for people.
func NewChoice(label string, choices []string, words func(string) string) Field {
	f := NewField(label, "", choices[0])
	f.choices, f.words = choices, words
	return f
}

// Value returns the text without the space around it; a secret's is left as typed.
func (f *Field) Value() string {
	if f.Secret {
		return f.input.Value()
	}
	return strings.TrimSpace(f.input.Value())
}

// Set replaces the text.
func (f *Field) Set(value string) {
	f.input.SetValue(terminal.Printable(value))
	f.input.CursorEnd()
}

// enter is called when the field becomes the focused one.
func (f *Field) enter() { f.typed, f.fresh = "", true }

// whole reports whether the whole text is selected: what is typed replaces a proposed value,
// and a key that moves the cursor keeps it. A text of several lines is continued.
func (f *Field) whole() bool {
	return f.fresh && f.Lines <= 1 && f.choices == nil && f.input.Value() != ""
}

// Key edits the text. Pasted text loses its control characters.
func (f *Field) Key(k tea.KeyMsg) {
	if f.choices != nil {
		f.choose(k)
		return
	}
	whole := f.whole()
	f.fresh = false
	if whole {
		switch k.Type {
		case tea.KeyRunes, tea.KeySpace:
			f.input.SetValue("")
		case tea.KeyBackspace, tea.KeyDelete:
			f.input.SetValue("")
			return
		}
	}
	if k.Type == tea.KeyRunes {
		k.Runes = []rune(terminal.Printable(string(k.Runes)))
	}
	f.input, _ = f.input.Update(k)
}

// choose goes to the choice after or before, or to the one that begins with what is typed.
func (f *Field) choose(k tea.KeyMsg) {
	by := 0
	switch k.Type {
	case tea.KeyRight:
		by = 1
	case tea.KeyLeft:
		by = -1
	case tea.KeyRunes, tea.KeySpace:
		if f.chooseTyped(string(k.Runes)) {
			return
		}
		if k.Type == tea.KeySpace {
			by = 1
		}
	}
	f.typed = ""
	n := len(f.choices)
	f.Set(f.choices[(slices.Index(f.choices, f.Value())+by+n)%n])
}

// chooseTyped goes to the first choice that begins with the letters typed so far, else to
// the next one that begins with the last of them.
func (f *Field) chooseTyped(letters string) bool {
	at := slices.Index(f.choices, f.Value())
	n := len(f.choices)
	for _, typed := range []string{f.typed + letters, letters} {
		first := at // stays where it is if that still matches
		if typed == letters {
			first++
		}
		for i := range n {
			c := f.choices[(first+i+n)%n]
			if typed != " " && strings.HasPrefix(strings.ToLower(f.words(c)), strings.ToLower(typed)) {
				f.Set(c)
				f.typed = typed
				return true
			}
		}
	}
	return false
}

// drawChoice draws the choice between the signs of the keys that change it.
func (f *Field) drawChoice(box terminal.Region, v view.Context, focused bool) {
	w, _ := box.Size()
	text := "‹ " + f.words(f.Value()) + " ›"
	if v.ASCII {
		text = "< " + f.words(f.Value()) + " >"
	}
	style := v.Palette.Style(themes.Text)
	if focused {
		style = style.With(themes.Reverse)
	}
	box.PutIn(1, 0, w-2, text, style, v.ASCII)
}

// Draw draws the label and the text on one line, the text from cell labelWidth on.
func (f *Field) Draw(r terminal.Region, y, labelWidth int, v view.Context, focused bool) {
	f.draw(r, y, labelWidth, 1, v, focused)
}

// draw draws the label and the text on a number of lines, as much of it around the cursor as
// they hold.
func (f *Field) draw(r terminal.Region, y, labelWidth, lines int, v view.Context, focused bool) {
	w, _ := r.Size()
	role := themes.Dim
	if focused {
		role = themes.Accent
	}
	r.PutIn(0, y, labelWidth-1, f.Label, v.Palette.Style(role), v.ASCII)
	box := r.Region(terminal.Rect{X: labelWidth, Y: y, W: w - labelWidth, H: lines})
	box.Clear(v.Palette.Style(themes.Field))
	if f.choices != nil {
		f.drawChoice(box, v, focused)
		return
	}
	text := []rune(f.input.Value())
	if f.Secret {
		dot := '•'
		if v.ASCII {
			dot = '*'
		}
		text = []rune(strings.Repeat(string(dot), len(text)))
	}
	if len(text) == 0 && f.Hint != "" {
		box.PutIn(1, 0, w-labelWidth-1, f.Hint, v.Palette.Style(themes.Muted), v.ASCII)
	}
	room := max(w-labelWidth-2, 1)
	pos := f.input.Position()
	if lines > 1 {
		drawLines(box, v, text, pos, room, lines, focused)
		return
	}
	// The part around the cursor is shown.
	from, cells := pos, 1
	if pos < len(text) {
		cells = terminal.Width(string(text[pos]))
	}
	for from > 0 && cells+terminal.Width(string(text[from-1])) <= room {
		from--
		cells += terminal.Width(string(text[from]))
	}
	x := 1
	for i := from; i < len(text) && x <= room; i++ {
		if i == pos && focused {
			under := string(text[i])
			if terminal.Width(under) == 0 { // a combining mark has no separate cell
				under = " "
			}
			x = box.Put(x, 0, under, v.Palette.Style(themes.Text).With(themes.Reverse))
			continue
		}
		style := v.Palette.Style(themes.Text)
		if focused && f.whole() {
			style = style.With(themes.Reverse)
		}
		x = box.Put(x, 0, string(text[i]), style)
	}
	if focused && pos >= len(text) {
		under := box.Cell(x, 0).Text // a hint shows through the cursor
		if len(text) > 0 || under == "" {
			under = " "
		}
		box.Put(x, 0, under, v.Palette.Style(themes.Text).With(themes.Reverse))
	}
}

// cellPlace is the place of a rune in a text of several lines.
type cellPlace struct{ x, y int }

// places returns the place of each rune on lines of room cells, and of what follows the last
// one. A word is not divided unless it is longer than a line; a space, and the end of the text,
// may be in the cell after the line.
func places(text []rune, room int) []cellPlace {
	at := make([]cellPlace, len(text)+1)
	x, y, word := 0, 0, 0 // word: index of the first rune of the present word
	for i := range at {
		width := 1
		if i < len(text) {
			width = terminal.Width(string(text[i]))
		}
		space := i == len(text) || text[i] == ' '
		if x+width > room {
			switch from := at[min(word, i)].x; {
			case space:
				at[i] = cellPlace{room, y}
				word = i + 1
				continue
			case word < i && from > 0:
				for k := word; k < i; k++ {
					at[k] = cellPlace{at[k].x - from, y + 1}
				}
				x, y = x-from, y+1
			default:
				x, y = 0, y+1
			}
		}
		at[i] = cellPlace{x, y}
		x += width
		if space {
			word = i + 1
		}
	}
	return at
}

// drawLines draws a text on lines of room cells, those around the cursor at pos.
func drawLines(box terminal.Region, v view.Context, text []rune, pos, room, lines int, focused bool) {
	at := places(text, room)
	first := max(at[pos].y-lines+1, 0)
	for i, c := range text {
		if at[i].y >= first {
			box.Put(1+at[i].x, at[i].y-first, string(c), v.Palette.Style(themes.Text))
		}
	}
	if !focused {
		return
	}
	under := box.Cell(1+at[pos].x, at[pos].y-first).Text // a hint shows through the cursor
	if under == "" {
		under = " "
	}
	box.Put(1+at[pos].x, at[pos].y-first, under, v.Palette.Style(themes.Text).With(themes.Reverse))
}

// lines returns how many lines the fields of a form take.
func (f *Form) lines() int {
	n := 0
	for _, field := range f.Fields {
		n += max(field.Lines, 1)
	}
	return n
}

// Refuse shows the error of a field and focuses it; -1 is the whole form.
func (f *Form) Refuse(field int, words string) {
	f.Wrong, f.WrongAt = words, field
	if field >= 0 {
		f.Continue(field) // a wrong value is corrected, not replaced
	}
}

// Continue focuses a field whose text is continued by what is typed.
func (f *Form) Continue(field int) {
	f.At, f.entered = field, field+1
	f.Fields[field].fresh = false
}

// move changes the focused field.
func (f *Form) move(by int) { f.At = (f.At + by + len(f.Fields)) % len(f.Fields) }

// enter selects the text of the focused field when it has become the focused one.
func (f *Form) enter() {
	if f.At < len(f.Fields) && f.entered != f.At+1 {
		f.entered = f.At + 1
		f.Fields[f.At].enter()
	}
}

// Edit moves to another field, or types into the selected one; typed says
// which. The error of a field disappears once the user types.
func (f *Form) Edit(action keymap.Action, k tea.KeyMsg) (typed bool) {
	f.enter()
	switch {
	case len(f.Fields) == 0:
		return false
	case action == keymap.NextField:
		f.move(1)
		return false
	case action == keymap.PrevField:
		f.move(-1)
		return false
	}
	f.Wrong = ""
	f.Fields[f.At].Key(k)
	return true
}

// DrawFields draws the fields from y on and returns the y after them. If they do
// not fit above the line of keys, those around the selected one are drawn, and
// an arrow next to the label shows where there are more. The error is always
// drawn.
func (f *Form) DrawFields(r terminal.Region, y int, v view.Context) int {
	f.enter()
	w, h := r.Size()
	label := 0
	for _, field := range f.Fields {
		label = max(label, terminal.Width(field.Label))
	}
	label += 2
	room := h - 1 - y
	if f.Wrong != "" {
		indent := label
		if f.WrongAt < 0 {
			indent = 0
			room-- // the empty line above it
		}
		room -= len(view.Wrap(view.Drawable(f.Wrong, v.ASCII), w-indent))
	}
	whole := f.lines() <= room // otherwise each field has one line
	first, end := 0, len(f.Fields)
	if room = max(room, 1); room < end {
		first = min(max(f.At-room/2, 0), end-room)
		end = first + room
	}
	up, down := "↑", "↓"
	if v.ASCII {
		up, down = "^", "v"
	}
	for i := first; i < end; i++ {
		lines := 1
		if whole {
			lines = max(f.Fields[i].Lines, 1)
		}
		f.Fields[i].draw(r, y, label, lines, v, i == f.At)
		switch {
		case i == first && first > 0:
			v.PutIn(r, label-1, y, 1, up, themes.Muted)
		case i == end-1 && end < len(f.Fields):
			v.PutIn(r, label-1, y, 1, down, themes.Muted)
		}
		y += lines
		if f.Wrong != "" && f.WrongAt == i {
			y = v.Paragraph(r, label, y, f.Wrong, themes.Warning)
		}
	}
	if f.Wrong != "" && f.WrongAt < 0 {
		y = v.Paragraph(r, 0, y+1, f.Wrong, themes.Warning)
	}
	return y
}
