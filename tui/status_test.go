package tui

import (
	"strings"
	"testing"

	"app.sunloop/themes"
)

// The least important facts are left out first, and no room is left that the next of them
// would fit in; both ends of the line share it.
func TestFitBoth(t *testing.T) {
	text := func(spans []span) (s string) {
		for _, p := range spans {
			s += p.text
		}
		return s
	}
	one := func(text string, rank int) part { return part{[]span{{text, themes.Text}}, rank} }
	left := []part{one("site", 0), one("day", 2), one("clock", 1), one("zone", 4)}
	right := []part{one("high", 0), one("zero", 2), one("role", 5)}
	for _, tt := range []struct {
		room int
		want string
	}{
		{100, "site day clock zone|high zero role"}, {28, "site day clock zone|high zero role"}, {27, "site day clock zone|high zero"}, {24, "site day clock zone|high zero"},
		{23, "site day clock|high zero"}, {20, "site day clock|high zero"}, {19, "site day clock|high"}, {16, "site day clock|high"}, {15, "site clock|high"}, {13, "site clock|high"}, {12, "site|high"}, {0, "site|high"},
	} {
		l, r := fitBoth(left, right, tt.room)
		got, want := text(l)+"|"+text(r), strings.ReplaceAll(tt.want, " ", "")
		if got != want {
			t.Errorf("%d cells: %s, want %s", tt.room, got, want)
		}
	}
}
