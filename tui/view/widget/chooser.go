package widget

import (
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/sahilm/fuzzy"

	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// Choice is one line of a chooser.
type Choice struct {
	Text   string       // what is searched
	Detail string       // drawn quietly on the right
	Key    string       // the key that does the same, drawn at the right end
	Terms  string       // further words that find it
	Why    string       // why it cannot be chosen now; empty when it can
	Do     view.Request // made when it is chosen
	Seen   view.Request // made while the line is marked, for previews
	Quiet  bool         // only listed in searches
	Recent bool         // chosen lately, at place Order of those
	Order  int
	// Strip draws a figure of StripWidth cells at the right end, where the texts leave room;
	// nil: none.
	Strip func(r terminal.Region, v view.Context)
}

// StripWidth is the width of the figure of a choice, in cells.
const StripWidth = 24

// Chooser is a list with a search field: the palette, and the choices of site and
// theme.
type Chooser struct {
	view.Base
	title   string
	query   Field
	choices []Choice
	loud    []Choice // without the quiet ones
	shown   []Choice
	at      int
	cancel  view.Request // made when it is dismissed, to undo a preview; may be nil
	// searched is set for long lists, in which people type: letters never move.
	searched bool
}

// NewChooser makes a chooser; cancel may be nil.
func NewChooser(title, hint string, choices []Choice, cancel view.Request) *Chooser {
	loud := slices.DeleteFunc(slices.Clone(choices), func(c Choice) bool { return c.Quiet })
	return &Chooser{title: title, query: NewField("›", hint, ""), choices: choices, loud: loud, shown: loud, cancel: cancel, searched: hint != ""}
}

// Mark marks the first choice whose text is given.
func (c *Chooser) Mark(text string) {
	for i, choice := range c.shown {
		if choice.Text == text {
			c.at = i
		}
	}
}

// Title returns the chooser's title.
func (c *Chooser) Title() string { return c.title }

// Size takes what the choices need.
func (c *Chooser) Size(w, h int) (int, int) {
	want := max(40, terminal.Width(c.title)+6)
	for _, choice := range c.choices {
		want = max(want, choice.width()+choice.strip())
	}
	return min(want, w-8), min(len(c.choices)+4, h-4)
}

// width returns the cells of the texts of a choice, strip those of its figure with the gap
// before it.
func (c Choice) width() int {
	return terminal.Width(c.Text) + max(terminal.Width(c.Detail), terminal.Width(c.Why)) + terminal.Width(c.Key) + 5
}

func (c Choice) strip() int {
	if c.Strip == nil {
		return 0
	}
	return StripWidth + 2
}

// Draw draws the query and what it finds.
func (c *Chooser) Draw(r terminal.Region, v view.Context) {
	w, h := r.Size()
	if v.ASCII {
		c.query.Label = ">"
	}
	c.query.Draw(r, 0, 2, v, true)
	if len(c.shown) == 0 {
		r.PutIn(0, 2, w, "Nothing matches.", v.Palette.Style(themes.Muted), v.ASCII)
		KeyLine(r, h-1, v, "esc", "back")
		return
	}
	rows := max(h-4, 1)
	top := max(0, c.at-rows+1)
	strips := !slices.ContainsFunc(c.choices, func(choice Choice) bool { return choice.width()+choice.strip() > w })
	for i := top; i < len(c.shown) && i < top+rows; i++ {
		y := 2 + i - top
		choice := c.shown[i]
		role, detail := themes.Text, choice.Detail
		if choice.Why != "" {
			role, detail = themes.Muted, choice.Why
		}
		x := r.PutIn(0, y, w, choice.Text, v.Palette.Style(role), v.ASCII)
		end := w
		if choice.Strip != nil && strips {
			end -= choice.strip()
			choice.Strip(r.Region(terminal.Rect{X: w - StripWidth, Y: y, W: StripWidth, H: 1}), v)
		}
		if choice.Key != "" {
			end = r.PutRight(w, y, choice.Key, v.Palette.Style(themes.Key)) - 2
		}
		if room := end - x - 2; room > 4 {
			r.PutRight(end, y, terminal.Truncate(detail, room, v.ASCII), v.Palette.Style(themes.Dim))
		}
		if i == c.at {
			r.ShadeRow(terminal.Rect{Y: y, W: w, H: 1}, v.Palette.Style(themes.Selection), v.Palette.Style(themes.Panel))
		}
	}
	KeyLine(r, h-1, v, "enter", "choose", "esc", "back")
	if len(c.shown) > rows {
		r.PutRight(w, h-1, fmt.Sprintf("%d of %d", c.at+1, len(c.shown)), v.Palette.Style(themes.Dim))
	}
}

// Key narrows, moves or chooses.
func (c *Chooser) Key(k tea.KeyMsg, v view.Context) view.Request {
	switch action, _, _ := v.Keys.Match(k.String(), keymap.Dialog); action {
	case keymap.Dismiss:
		return view.Batch{view.Close{}, c.cancel}
	case keymap.Accept:
		if c.at >= len(c.shown) || c.shown[c.at].Why != "" {
			return nil
		}
		return view.Batch{view.Close{}, c.shown[c.at].Do}
	case keymap.NextField:
		return c.move(1)
	case keymap.PrevField:
		return c.move(-1)
	}
	if k.Type == tea.KeyPgDown {
		return c.move(8)
	}
	if k.Type == tea.KeyPgUp {
		return c.move(-8)
	}
	before := c.query.Value()
	if by, ok := listKeys[k.String()]; ok && before == "" && !c.begins(k.String()) {
		return c.move(by)
	}
	c.query.Key(k)
	if q := c.query.Value(); q != before {
		c.search(q)
		return c.move(0)
	}
	return nil
}

// listKeys are the keys that move in lists, which are also letters.
var listKeys = map[string]int{"j": 1, "k": -1}

// begins reports whether a letter begins a word of a choice, so that the user who
// types it may be searching.
func (c *Chooser) begins(letter string) bool {
	return c.searched || slices.ContainsFunc(c.choices, func(choice Choice) bool {
		return strings.Contains(" "+strings.ToLower(choice.Text+" "+choice.Terms), " "+letter)
	})
}

func (c *Chooser) move(by int) view.Request {
	if len(c.shown) == 0 {
		return nil
	}
	c.at = min(max(c.at+by, 0), len(c.shown)-1)
	return c.shown[c.at].Seen
}

// literal ranks a choice that has all words of a phrase: those that can be chosen first,
// of these the ones that begin with it, then those that have it, then those that are also
// known by it.
func literal(c Choice, phrase string) int {
	text, rank := strings.ToLower(c.Text), 0
	switch {
	case strings.HasPrefix(text, phrase):
	case strings.Contains(" "+text, " "+phrase):
		rank = 1
	case strings.Contains(" "+strings.ToLower(c.Terms), " "+phrase):
		rank = 2
	default:
		rank = 3
	}
	if c.Why != "" {
		rank += 4
	}
	return rank
}

// search keeps the choices that the query matches, best first.
func (c *Chooser) search(q string) {
	c.at = 0
	if strings.TrimSpace(q) == "" {
		c.shown = c.loud
		return
	}
	texts := make([]string, len(c.choices))
	for i, choice := range c.choices {
		texts[i] = choice.Text + " " + choice.Detail + " " + choice.Terms
	}
	c.shown = nil
	taken := make([]bool, len(texts))
	words := strings.Fields(strings.ToLower(q))
	for i, text := range texts { // those that have all words as they are typed come first
		text = " " + strings.ToLower(text)
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, " "+w) }) {
			taken[i] = true
			c.shown = append(c.shown, c.choices[i])
		}
	}
	phrase := strings.Join(words, " ")
	slices.SortStableFunc(c.shown, func(a, b Choice) int { return literal(a, phrase) - literal(b, phrase) })
	for _, m := range fuzzy.Find(q, texts) {
		if !taken[m.Index] {
			c.shown = append(c.shown, c.choices[m.Index])
		}
	}
}
