package admin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// logPeriod is how often the service's log is asked for.
const logPeriod = 5 * time.Second

// Log is the further screen of what was logged, oldest on top: by the console
// itself, or by the service. It follows new lines until the user scrolls.
type Log struct {
	view.Base
	lines   func() []string // of the console, oldest first
	service bool            // the service's is shown
	scrolls bool            // it does not follow
	anchor  string          // the line on top while it does not
	level   int             // the least that is shown, of the contract's
	x       int             // columns to the left of what is seen
	list    widget.List     // holds the filter
	shown   []logLine       // as last drawn
	top     int
	seen    int // lines of the place
}

// logLine is an event for the screen.
type logLine struct {
	at    time.Time
	level string
	text  string
	raw   string // as it is saved; it identifies a line
}

// NewLog shows the console's own log first; lines is called each time it is
// drawn, and returns the newest line last.
func NewLog(lines func() []string) *Log {
	if lines == nil {
		lines = func() []string { return nil }
	}
	return &Log{lines: lines, level: slices.Index(api.LogLevels(), api.LogInfo)}
}

// Title names the log.
func (l *Log) Title() string {
	if l.service {
		return "Service log"
	}
	return "Log"
}

// Scope is that of the log's keys.
func (l *Log) Scope() keymap.Scope { return keymap.InLog }

// Disabled returns why one of the log's actions is not possible.
func (l *Log) Disabled(a keymap.Action, v view.Context) string {
	if a == keymap.OtherLog && !l.service && v.User != nil && v.User.ApplicationPermissions != nil && !slices.Contains(v.User.ApplicationPermissions, string(api.PermissionLog)) {
		return "your role does not read the service's log"
	}
	return ""
}

// Queries returns the service's log while it is shown.
func (l *Log) Queries(view.Context) []state.Need {
	if !l.service {
		return nil
	}
	return []state.Need{{Query: state.QueryLog, Period: logPeriod, Focused: true}}
}

// Lists returns the filter of the lines, as a list without columns.
func (l *Log) Lists() view.Lists { return view.Lists{Active: &l.list} }

// all returns the lines of the log that is shown, oldest first.
func (l *Log) all(v view.Context) []logLine {
	var out []logLine
	if !l.service {
		for _, raw := range l.lines() {
			out = append(out, consoleLine(terminal.Printable(raw)))
		}
		return out
	}
	if v.Admin == nil {
		return nil
	}
	for _, e := range slices.Backward(v.Admin.Log.Data) {
		text := strings.TrimSpace(e.Message + "  " + e.Details)
		out = append(out, logLine{at: e.Timestamp.Time, level: e.Level, text: text, raw: fmt.Sprintf("%s %-5s %s #%d", e.Timestamp, e.Level, text, e.Sequence)})
	}
	return out
}

// consoleLine takes a line apart as slog's text handler writes it; one of
// another form is all text.
func consoleLine(raw string) logLine {
	l := logLine{text: raw, raw: raw, level: api.LogInfo}
	rest, ok := strings.CutPrefix(raw, "time=")
	if !ok {
		return l
	}
	stamp, rest, _ := strings.Cut(rest, " ")
	rest, ok = strings.CutPrefix(rest, "level=")
	if !ok {
		return l
	}
	level, rest, _ := strings.Cut(rest, " ")
	l.level, l.text = level, rest
	if at, err := time.Parse(time.RFC3339, stamp); err == nil {
		l.at = at
	}
	if msg, ok := strings.CutPrefix(rest, "msg="); ok {
		l.text = msg
		if quoted, err := strconv.QuotedPrefix(msg); err == nil {
			if words, err := strconv.Unquote(quoted); err == nil {
				l.text = strings.TrimSpace(terminal.Printable(words) + " " + strings.TrimPrefix(msg, quoted))
			}
		}
	}
	return l
}

// narrowed returns the lines of the level and above that hold all that the filter
// says.
func (l *Log) narrowed(v view.Context) []logLine {
	words := strings.Fields(strings.ToLower(l.list.Filter()))
	return slices.DeleteFunc(l.all(v), func(line logLine) bool {
		text := strings.ToLower(line.level + " " + line.text)
		return max(slices.Index(api.LogLevels(), line.level), 0) < l.level || slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
	})
}

// Draw draws the lines that fit, the newest ones while it follows, and the
// position below them.
func (l *Log) Draw(r terminal.Region, v view.Context) {
	w, h := r.Size()
	l.shown, l.seen = l.narrowed(v), max(h-1, 1)
	l.place()
	if len(l.shown) == 0 {
		l.drawEmpty(r, v)
	}
	for i := l.top; i < len(l.shown) && i < l.top+l.seen; i++ {
		line := l.shown[i]
		role := map[string]themes.Role{api.LogWarn: themes.Warning, api.LogError: themes.Critical, api.LogDebug: themes.Muted}[line.level]
		if role == 0 {
			role = themes.Text
		}
		x := 0
		if !line.at.IsZero() {
			x = r.Put(0, i-l.top, display.ClockSeconds(line.at.In(v.Zone()))+" ", v.Palette.Style(themes.Dim))
		}
		x = r.Put(x, i-l.top, fmt.Sprintf("%-6s", line.level), v.Palette.Style(role))
		r.PutIn(x, i-l.top, w-x, skipped(view.Drawable(line.text, v.ASCII), l.x), v.Palette.Style(themes.Text), v.ASCII)
	}
	l.drawFoot(r.Region(terminal.Rect{Y: h - 1, W: w, H: 1}), v)
}

// skipped returns a text without its first columns.
func skipped(s string, columns int) string {
	if columns == 0 || s == "" {
		return s
	}
	_, rest := terminal.Break(s, columns)
	return rest
}

// place finds the line on top.
func (l *Log) place() {
	last := max(len(l.shown)-l.seen, 0)
	if !l.scrolls {
		l.top = last
	} else if i := slices.IndexFunc(l.shown, func(s logLine) bool { return s.raw == l.anchor }); i >= 0 {
		l.top = i
	}
	l.top = min(max(l.top, 0), last)
	if l.top < len(l.shown) {
		l.anchor = l.shown[l.top].raw
	}
}

func (l *Log) drawEmpty(r terminal.Region, v view.Context) {
	words := "Nothing has been logged."
	switch {
	case l.list.Filter() != "" || l.level > 0 && len(l.all(v)) > 0:
		words = "No line of this level contains it."
	case l.service && v.Admin != nil:
		now := widget.StatusOf(v.Admin.Log, v.Now, true)
		switch now.Status {
		case state.Failed:
			y := v.Paragraph(r, 0, 0, state.Sentence(now.Err), themes.Warning)
			v.Paragraph(r, 0, y, "Next try "+state.Soon(now.NextTry.Sub(v.Now))+"; r asks now.", themes.Dim)
			return
		case state.Loading:
			words = "Asking the service …"
		}
	}
	v.Paragraph(r, 0, 0, words, themes.Dim)
}

func (l *Log) drawFoot(r terminal.Region, v view.Context) {
	w, _ := r.Size()
	r.Clear(v.Palette.Style(themes.Bar))
	left := "follows"
	if l.scrolls {
		left = fmt.Sprintf("position: %d to %d", l.top+1, min(l.top+l.seen, len(l.shown)))
	}
	if l.level > 0 {
		left += ", " + api.LogLevels()[l.level] + " and above"
	}
	if l.x > 0 {
		left += fmt.Sprintf(", from column %d", l.x+1)
	}
	if l.service && v.Admin != nil && v.Admin.Log.Err != nil && !v.Admin.Log.At.IsZero() {
		left += ", " + display.Age(v.Now.Sub(v.Admin.Log.At)) + " old: " + state.Reason(v.Admin.Log.Err)
	}
	right := display.CountOf(len(l.shown), "line", "lines")
	r.PutRight(w, 0, right, v.Palette.Style(themes.Dim))
	r.PutIn(0, 0, w-len(right)-2, left, v.Palette.Style(themes.Dim), v.ASCII)
}

// scroll moves by lines; at the end it follows again only on request.
func (l *Log) scroll(by int) {
	l.scrolls = true
	l.top = min(max(l.top+by, 0), max(len(l.shown)-l.seen, 0))
	if l.top < len(l.shown) {
		l.anchor = l.shown[l.top].raw
	}
}

// Do scrolls, changes what is shown, or saves all of it.
func (l *Log) Do(a keymap.Action, v view.Context) view.Request {
	switch a {
	case keymap.Up:
		l.scroll(-1)
	case keymap.Down:
		l.scroll(1)
	case keymap.PageUp:
		l.scroll(-max(l.seen-1, 1))
	case keymap.PageDown:
		l.scroll(max(l.seen-1, 1))
	case keymap.Top:
		l.scroll(-len(l.shown))
	case keymap.Bottom:
		l.scroll(len(l.shown))
	case keymap.Left, keymap.ScrollLeft:
		l.x = max(l.x-8, 0)
	case keymap.Right, keymap.ScrollRight:
		l.x += 8
	case keymap.FollowLog:
		l.scrolls = !l.scrolls
	case keymap.LogLevel:
		l.level = (l.level + 1) % len(api.LogLevels())
	case keymap.OtherLog:
		l.service, l.scrolls = !l.service, false
	case keymap.SaveLog:
		var text strings.Builder
		for _, line := range l.all(v) {
			text.WriteString(line.raw + "\n")
		}
		return view.Save{Title: l.Title(), Text: text.String()}
	}
	return nil
}

// Wheel scrolls three lines.
func (l *Log) Wheel(_, _, by int, _ view.Context) view.Request {
	l.scroll(3 * by)
	return nil
}

// Export returns the lines that are narrowed, oldest first.
func (l *Log) Export(v view.Context) [][]string {
	out := [][]string{{"time", "level", "text"}}
	for _, line := range l.narrowed(v) {
		at := ""
		if !line.at.IsZero() {
			at = api.At(line.at).String()
		}
		out = append(out, []string{at, line.level, line.text})
	}
	return out
}
