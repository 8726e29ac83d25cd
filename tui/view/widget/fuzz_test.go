package widget

import (
	"strings"
	"testing"
)

// FuzzFilter asserts that a filter without columns finds the rows that hold
// each of its words, and that one with columns finds none that lack a word
// which no column explains.
func FuzzFilter(f *testing.F) {
	f.Add("inv", "INV-1", "lost")
	f.Add("lost:>100 inv", "INV-1", "120")
	f.Add("lost:>nan lost:<inf :x lost: l-o:1", "", "\x1b[2J")
	f.Add("İ ſ K", "i\u0307", "ß")
	f.Fuzz(func(t *testing.T, text, id, cell string) {
		row := Row{ID: id, Cells: []Cell{{Text: cell}}, Sort: []any{12.5}}
		whole := strings.ToLower(id) + " " + strings.ToLower(cell)
		want, plain := true, true
		for _, word := range strings.Fields(strings.ToLower(text)) {
			want = want && strings.Contains(whole, word)
			plain = plain && !strings.Contains(word, ":")
		}
		if got := parseFilter(text, nil).matches(row); got != want {
			t.Fatalf("filter %q of %q: %v, want %v", text, whole, got, want)
		}
		if got := parseFilter(text, []Column{{Title: "Lost"}}).matches(row); plain && got != want {
			t.Fatalf("filter %q of %q with a column: %v, want %v", text, whole, got, want)
		}
	})
}
