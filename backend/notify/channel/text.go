package channel

import (
	"html"
	"slices"
	"strings"
	"unicode/utf8"

	"app.sunloop/backend/notify"
)

// words is the order of priorities, the worst first, with what other services call them.
var words = map[string]struct {
	ntfy, gotify, pushover int
	pagerDuty, opsgenie    string
	colour                 string // of the line next to a title
}{
	"critical": {5, 10, 1, "critical", "P1", "#a51111"},
	"major":    {4, 8, 1, "error", "P2", "#c2410c"},
	"moderate": {3, 5, 0, "warning", "P3", "#a16207"},
	"minor":    {2, 3, -1, "warning", "P4", "#0b5394"},
	"normal":   {2, 2, -1, "info", "P5", "#495057"},
}

// level returns the words of a message's priority: an all-clear, a report and a test
// have the lowest.
func level(m notify.Message) string {
	if _, ok := words[m.Priority]; !ok || m.Kind == notify.KindAllClear || m.Kind == notify.KindReport || m.Kind == notify.KindTest {
		return "normal"
	}
	return m.Priority
}

// body is the text below the title, without links.
func body(m notify.Message) string { return strings.Join(m.Lines, "\n") }

// withLinks is the text with its links, one a line.
func withLinks(m notify.Message) string {
	lines := append([]string(nil), m.Lines...)
	for _, l := range links(m) {
		lines = append(lines, l.Label+": "+l.URL)
	}
	return strings.Join(lines, "\n")
}

// links are the actions and then the links of a message.
func links(m notify.Message) []notify.Link {
	var out []notify.Link
	for _, l := range slices.Concat(m.Actions, m.Links) {
		if strings.HasPrefix(l.URL, "https://") || strings.HasPrefix(l.URL, "http://") {
			out = append(out, l)
		}
	}
	return out
}

// cut shortens a text to at most n bytes, at the end of a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const ellipsis = "…"
	end := n - len(ellipsis)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + ellipsis
}

// cutRunes shortens a text to at most n characters.
func cutRunes(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return string(r[:n-1]) + "…"
}

// markup is the message in the HTML that Matrix and Telegram accept.
func markup(m notify.Message, lineBreak string) string {
	lines := []string{"<b>" + html.EscapeString(m.Title) + "</b>"}
	for _, l := range m.Lines {
		lines = append(lines, html.EscapeString(l))
	}
	return strings.Join(lines, lineBreak)
}

// oneLine replaces line breaks and other control characters by spaces, for titles and
// headers.
func oneLine(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, s))
}
