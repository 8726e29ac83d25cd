// Package pane holds the four panes of the console: Observe, Orient, Decide
// and Act. A pane draws a [View] into a region and keeps nothing but
// selection, sort order and scroll; what it shows is in state, and what it
// wants done it answers as an [Intent].
package pane

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
)

// View is all that a pane needs to draw itself.
type View struct {
	Site    *state.Site  // nil until a site is open
	Admin   *state.Admin // what administrators see; nil for none
	Sites   []api.Site   // in reach
	User    *api.User    // who is signed in; nil when not known
	Now     time.Time    // wall clock, for ages
	SiteNow time.Time    // the service's time in the site's zone
	Hand    Hand
	Focused bool
	Palette *terminal.Palette
	ASCII   bool
	Pen     chart.Pen
	Keys    keymap.Map
	Memo    *Memo // nil: nothing is kept
	// WriteWhy is why this person may not change things, empty if they may.
	WriteWhy string
}

// Hand is the thing in hand: choosing it in one pane turns the others to it.
type Hand struct {
	AssetID   string
	FindingID string
	OrderID   string
}

// Intent is what a pane wants done with a key; what is empty is not wanted.
type Intent struct {
	Hand   *Hand         // take this in hand
	Focus  string        // go on in the pane of that name
	Action keymap.Action // do this as if its key had been pressed
	Day    *time.Time    // look at the site's day that holds this; the zero time is today
	Say    string        // say this in the last line
	Do     any           // make this request, one of package screen
}

// Pane is one of the four.
type Pane interface {
	// Draw fills the region, the inside of the pane's frame.
	Draw(r terminal.Region, v View)
	// Strip fills a summary of a few lines.
	Strip(r terminal.Region, v View)
	// Do answers an action of lists or of the pane's own scope.
	Do(a keymap.Action, v View) Intent
	// Click answers a click at x, y of the region last drawn.
	Click(x, y int, v View) Intent
	// Wheel answers a turn of the wheel there, down if by is above zero.
	Wheel(x, y, by int, v View) Intent
	// Help says what the pane's own keys do, in pairs of key and words.
	Help() [][2]string
	// Export is what the pane shows, as rows of CSV with a header.
	Export(v View) [][]string
	// Needs are the queries behind the pane.
	Needs(v View) []state.Need
}

// style is a role's look.
func (v View) style(r themes.Role) terminal.Style { return v.Palette.Style(r) }

// put draws text in a role and answers the x after it.
func (v View) put(r terminal.Region, x, y int, text string, role themes.Role) int {
	return r.Put(x, y, Words(text, v.ASCII), v.style(role))
}

// putIn draws text within width cells.
func (v View) putIn(r terminal.Region, x, y, width int, text string, role themes.Role) int {
	return r.PutIn(x, y, width, Words(text, v.ASCII), v.style(role), v.ASCII)
}

var plainWords = strings.NewReplacer("…", "...", "–", "-", "−", "-", "·", "|", "×", "x", "←", "left", "→", "right", "↑", "up", "↓", "down", "›", ">", "°", "", "²", "2")

// Words are the console's own words where only ASCII may be drawn.
func Words(s string, ascii bool) string {
	if !ascii {
		return s
	}
	return plainWords.Replace(s)
}

// severity draws the shape and letter of a severity and answers the x after.
func (v View) severity(r terminal.Region, x, y int, label string) int {
	a, ok := alarms[label]
	if !ok {
		a = alarms["normal"]
	}
	shape := a.shape
	if v.ASCII {
		shape = a.ascii
	}
	s := v.style(severityRole(label))
	r.PutRune(x, y, shape, s)
	return r.Put(x+1, y, a.letter, s)
}

func severityRole(label string) themes.Role {
	switch label {
	case "critical":
		return themes.Critical
	case "warning":
		return themes.Warning
	}
	return themes.Notice
}

// heading draws a section's title with a quiet rule behind it, and on the
// right those of the notes that are not empty.
func (v View) heading(r terminal.Region, y int, title string, notes ...string) {
	w, _ := r.Size()
	notes = slices.DeleteFunc(notes, func(s string) bool { return s == "" })
	right := strings.Join(notes, ", ")
	x := v.put(r, 0, y, title+" ", themes.Title)
	end := w
	if right != "" {
		end = r.PutRight(w, y, right, v.style(themes.Dim)) - 1
	}
	if x < end {
		r.HLine(x, y, end-x, terminal.LinesFor(v.ASCII), v.style(themes.Border))
	}
}

// Paragraph draws text wrapped at words and answers the y after it.
func (v View) Paragraph(r terminal.Region, x, y int, text string, role themes.Role) int {
	w, h := r.Size()
	for _, line := range wrap(Words(text, v.ASCII), w-x) {
		if y >= h {
			break
		}
		v.putIn(r, x, y, w-x, line, role)
		y++
	}
	return y
}

// separator stands between facts in one line.
func (v View) separator() string {
	if v.ASCII {
		return " | "
	}
	return " · "
}

// asset is a unit's id for a place of that width.
func (v View) asset(id string, width int) string {
	return terminal.TruncateMiddle(id, min(4, width/3), width, v.ASCII)
}

// wrap cuts text into lines of at most width cells, at spaces; a word longer
// than a line is cut where the line ends.
func wrap(text string, width int) []string {
	if width < 1 {
		return nil
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && terminal.Width(line)+1+terminal.Width(word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for line = word; terminal.Width(line) > width; {
			head, rest := terminal.Break(line, width)
			if rest == "" { // one wide cluster in a narrow place
				break
			}
			lines, line = append(lines, head), rest
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// When is a time in the site's words: the clock today, the date before.
func When(t, now time.Time, zone *time.Location) string {
	a, b := t.In(zone), now.In(zone)
	if a.Year() == b.Year() && a.YearDay() == b.YearDay() {
		return a.Format("15:04")
	}
	if a.Year() == b.Year() {
		return a.Format("02 Jan 15:04")
	}
	return a.Format("02 Jan 2006")
}

// lasting is how long something has lasted, in the two units that matter.
func lasting(d time.Duration) string {
	d = d.Round(time.Minute)
	minutes, hours := int(d.Minutes()), int(d.Hours())
	switch {
	case hours == 0:
		return fmt.Sprintf("%d min", minutes)
	case hours < 48:
		return fmt.Sprintf("%d h %02d min", hours, minutes%60)
	}
	return fmt.Sprintf("%d d %d h", hours/24, hours%24)
}
