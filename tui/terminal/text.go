package terminal

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/text/unicode/norm"
)

// Printable makes text from data safe to draw: without C0 and C1 controls, ESC,
// DEL and bidirectional controls, with invalid UTF-8 replaced by U+FFFD, and in
// NFC, because terminals disagree about decomposed letters. Line breaks and
// tabs become spaces. It is applied once, where data enters the console.
func Printable(s string) string {
	if plain(s) {
		return s
	}
	clean := strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return ' '
		case hidden(r):
			return -1
		}
		return r // an invalid byte arrives here as U+FFFD
	}, s)
	return norm.NFC.String(clean)
}

// plain reports printable ASCII, which is most text and needs no work.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// hidden reports runes that steer a terminal or the direction of text instead of showing something.
func hidden(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r <= 0x9f:
		return true
	case r == 0x061c, r == 0x200e, r == 0x200f: // Arabic letter mark, left-to-right and right-to-left marks
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // embeddings, overrides, isolates
		return true
	case r == 0x2028, r == 0x2029, r == 0xfeff: // line and paragraph separators, byte order mark
		return true
	case r >= 0xe0000 && r <= 0xe0fff: // tags: invisible text
		return true
	}
	return false
}

// Width returns the number of cells a text takes. It counts grapheme clusters as the terminal emulator of our tests does; escape
// sequences are not understood, text has passed Printable.
func Width(s string) int {
	if plain(s) {
		return len(s)
	}
	n := 0
	for len(s) > 0 {
		cluster, w := next(s)
		n += w
		s = s[len(cluster):]
	}
	return n
}

// Truncate cuts a text to at most width cells. What was cut is marked with an ellipsis, or with '~' where only ASCII may be
// drawn.
func Truncate(s string, width int, ascii bool) string {
	if width <= 0 {
		return ""
	}
	if len(s) <= width && plain(s) || len(prefix(s, width)) == len(s) {
		return s
	}
	mark := "…"
	if ascii {
		mark = "~"
	}
	return prefix(s, width-1) + mark
}

// TruncateMiddle cuts a text to at most width cells by leaving its middle out: the first head cells stay, and as much of the
// end as there is room for. It suits ids that share their beginning.
func TruncateMiddle(s string, head, width int, ascii bool) string {
	if width <= 0 || Width(s) <= width {
		return Truncate(s, width, ascii)
	}
	head = min(max(head, 0), width-1)
	mark := "…"
	if ascii {
		mark = "~"
	}
	start := prefix(s, head)
	return start + mark + suffix(s, width-1-Width(start))
}

// Break splits a text after at most width cells; the head holds at least one cluster, so that repeated breaking ends.
func Break(s string, width int) (head, rest string) {
	head = prefix(s, width)
	if head == "" && s != "" {
		head, _ = next(s)
	}
	return head, s[len(head):]
}

// suffix returns the longest ending of s within width cells.
func suffix(s string, width int) string {
	for excess := Width(s) - width; excess > 0 && s != ""; {
		cluster, w := next(s)
		s, excess = s[len(cluster):], excess-w
	}
	for s != "" { // nothing that would join the text before
		cluster, w := next(s)
		if w > 0 {
			break
		}
		s = s[len(cluster):]
	}
	return s
}

// prefix returns the longest beginning of s within width cells.
func prefix(s string, width int) string {
	n, end := 0, 0
	for end < len(s) {
		cluster, w := next(s[end:])
		if n+w > width {
			break
		}
		n += w
		end += len(cluster)
	}
	return s[:end]
}

// next splits the first grapheme cluster off and gives its width in cells: 0, 1 or 2.
func next(s string) (cluster string, width int) {
	if c := s[0]; c >= 0x20 && c < 0x7f && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return s[:1], 1
	}
	if r, n := utf8.DecodeRuneInString(s); r == utf8.RuneError && n == 1 {
		return s[:1], 0 // an invalid byte: not to be drawn
	}
	cluster, width = ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	return cluster, min(width, 2)
}
