package widget

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"app.sunloop/themes"
	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

var fruit = []Column{{Title: "name", IDs: true}, {Title: "kW", Width: 6, Right: true}}

func rowsOf(names string) []Row {
	var rows []Row
	for i, n := range strings.Fields(names) {
		kw := float64(10 * (i + 1))
		row := Row{ID: n, Cells: []Cell{{Text: n, Role: themes.Text}, {Text: fmt.Sprint(kw), Role: themes.Text}}, Sort: []any{n, kw}}
		if strings.HasPrefix(n, "x") {
			row.Sort[1] = nil
		}
		rows = append(rows, row)
	}
	return rows
}

func shown(l *List, v view.Context, names string, h int) []string {
	g := stage.DrawnBy(v, 20, h, func(r terminal.Region, v view.Context) { l.Draw(r, v, fruit, rowsOf(names)) })
	var out []string
	for i, line := range strings.Split(picture.Text(g), "\n") {
		if f := strings.Fields(line); i > 0 && len(f) > 0 {
			out = append(out, f[0])
		}
	}
	return out
}

func TestListSortsAndFilters(t *testing.T) {
	v := stage.ContextOf(t, stage.SiteOf(plant.New(), stage.Noon))
	for _, tt := range []struct {
		name string
		list List
		want string
	}{
		{"as given", List{SortBy: -1}, "pear apple x fig"},
		{"by name", List{SortBy: 0}, "apple fig pear x"},
		{"by name, falling", List{SortBy: 0, Reverse: true}, "x pear fig apple"},
		{"by number, missing last", List{SortBy: 1}, "pear apple fig x"},
		{"by number, falling, missing last", List{SortBy: 1, Reverse: true}, "fig apple pear x"},
		{"filtered", List{SortBy: -1, filter: "P"}, "pear apple"},
		{"by two words", List{SortBy: -1, filter: "p 20"}, "apple"},
		{"nothing matches", List{SortBy: -1, filter: "zz"}, "Nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(strings.Fields(tt.want), shown(&tt.list, v, "pear apple x fig", 8)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestListKeepsItsSelection(t *testing.T) {
	v := stage.ContextOf(t, stage.SiteOf(plant.New(), stage.Noon))
	l := List{SortBy: -1}
	shown(&l, v, "a b c d e f g h", 4)
	for range 5 {
		l.Do(keymap.Down, 2)
		shown(&l, v, "a b c d e f g h", 4)
	}
	if l.Current() != "e" {
		t.Fatalf("five times down is %q, want e", l.Current())
	}
	// The row moves, and stays selected and visible.
	got := shown(&l, v, "e h g f d c b a", 4)
	if l.Current() != "e" || !slices.Contains(got, "e") {
		t.Errorf("after a new order: %q of %v", l.Current(), got)
	}
	// It goes: the first one takes its place.
	shown(&l, v, "a b", 4)
	if l.Current() != "a" {
		t.Errorf("without its row: %q", l.Current())
	}
	for a, want := range map[keymap.Action]string{keymap.Bottom: "h", keymap.Top: "a", keymap.PageDown: "c", keymap.Up: "a"} {
		l := List{SortBy: -1, Selected: "a"}
		shown(&l, v, "a b c d e f g h", 4)
		l.Do(a, 2)
		if l.Current() != want {
			t.Errorf("%s goes to %q, want %q", a, l.Current(), want)
		}
	}
	if l := (List{SortBy: -1}); l.Do(keymap.Down, 2) != true || l.Current() != "" {
		t.Error("an empty list has a selection")
	}
}

func TestListSortKeyGoesRound(t *testing.T) {
	l := List{SortBy: -1}
	var got []string
	for range 6 {
		l.Do(keymap.Sort, 2)
		got = append(got, fmt.Sprint(l.SortBy, l.Reverse))
	}
	if d := cmp.Diff([]string{"0 false", "0 true", "1 false", "1 true", "-1 false", "0 false"}, got); d != "" {
		t.Error(d)
	}
}

func TestListAnswersClicks(t *testing.T) {
	v := stage.ContextOf(t, stage.SiteOf(plant.New(), stage.Noon))
	l := List{SortBy: -1}
	shown(&l, v, "a b c", 6)
	if l.Click(0) || l.Click(4) || l.Current() != "a" {
		t.Error("the header or what is below the rows took the click")
	}
	if !l.Click(2) || l.Current() != "b" {
		t.Errorf("the second row is %q", l.Current())
	}
}

func TestFit(t *testing.T) {
	columns := []Column{{Width: 20, Min: 10}, {Width: 8, Rank: 1}, {Min: 6, Rank: 2}}
	for _, tt := range []struct {
		width  int
		chosen []int
		widths []int
	}{
		{60, []int{0, 1, 2}, []int{20, 8, 30}},
		{30, []int{0, 1, 2}, []int{14, 8, 6}},
		{26, []int{0, 1, 2}, []int{10, 8, 6}},
		{25, []int{0, 1}, []int{16, 8}},
		{18, []int{0}, []int{18}},
		{5, []int{0}, []int{10}},
	} {
		chosen, widths := fit(columns, tt.width)
		if d := cmp.Diff([][]int{tt.chosen, tt.widths}, [][]int{chosen, widths}); d != "" {
			t.Errorf("width %d: %s", tt.width, d)
		}
	}
}

func TestShortenKeepsWhatDiffers(t *testing.T) {
	for _, tt := range []struct {
		names string
		width int
		want  string
	}{
		{"INV-1000000054495190 INV-1000000054495197", 12, "INV-…4495190 INV-…4495197"},
		{"INV-1000000054495190 INV-1000000054495197", 20, "INV-1000000054495190 INV-1000000054495197"},
		{"abcdefghij", 6, "ab…hij"},
		{"prefix-one-suffix prefix-two-suffix", 12, "p…one-suffix p…two-suffix"},
		{"a b", 1, "a b"},
	} {
		if d := cmp.Diff(strings.Fields(tt.want), Shorten(strings.Fields(tt.names), tt.width, false)); d != "" {
			t.Errorf("%s in %d: %s", tt.names, tt.width, d)
		}
	}
}

// Whatever the names, they fit, and names that differ only at their ends stay
// different while there is room for the ends.
func TestShortenFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shared := terminal.Printable(rapid.String().Draw(t, "shared"))
		width := rapid.IntRange(8, 30).Draw(t, "width")
		names := []string{shared + "-01", shared + "-02", shared + "-13"}
		out := Shorten(names, width, rapid.Bool().Draw(t, "ascii"))
		for i, n := range out {
			if terminal.Width(n) > width {
				t.Fatalf("%q takes %d of %d cells", n, terminal.Width(n), width)
			}
			if slices.Index(out, n) != i {
				t.Fatalf("%q is used for two of %q", n, names)
			}
		}
	})
}

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		text  string
		width int
		want  []string
	}{
		{"", 10, nil},
		{"one two three", 7, []string{"one two", "three"}},
		{"one  two\tthree", 20, []string{"one two three"}},
		{"abcdefghij kl", 4, []string{"abcd", "efgh", "ij", "kl"}},
		{"日本語 x", 4, []string{"日本", "語 x"}},
		{"日本", 1, []string{"日", "本"}},
		{"x", 0, nil},
	} {
		if d := cmp.Diff(tt.want, view.Wrap(tt.text, tt.width)); d != "" {
			t.Errorf("%q in %d: %s", tt.text, tt.width, d)
		}
	}
}

func TestWrapLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := terminal.Printable(rapid.String().Draw(t, "text"))
		width := rapid.IntRange(2, 40).Draw(t, "width")
		lines := view.Wrap(text, width)
		for _, line := range lines {
			if terminal.Width(line) > width {
				t.Fatalf("%q takes %d of %d cells", line, terminal.Width(line), width)
			}
		}
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if got := squeeze(strings.Join(lines, " ")); got != squeeze(text) {
			t.Fatalf("%q became %q", squeeze(text), got)
		}
	})
}

var wide = []Column{{Width: 1}, {Title: "unit", Width: 6}, {Title: "state", Width: 8}, {Title: "power", Width: 8}, {Title: "lost", Width: 8}, {Title: "since", Width: 8}}

// header returns the first line of a list of wide columns in w cells.
func header(t *testing.T, l *List, w int) string {
	t.Helper()
	v := stage.ContextOf(t, stage.SiteOf(plant.New(), stage.Noon))
	row := Row{ID: "1", Cells: []Cell{{Text: "!"}, {Text: "INV-1"}, {Text: "idle"}, {Text: "3 kW"}, {Text: "4 kWh"}, {Text: "11:30"}}, Sort: []any{nil, "INV-1", "idle", 3.0, 4.0, "11:30"}}
	g := stage.DrawnBy(v, w, 4, func(r terminal.Region, v view.Context) { l.Draw(r, v, wide, []Row{row}) })
	first, _, _ := strings.Cut(picture.Text(g), "\n")
	return strings.Join(strings.Fields(first), " ")
}

// A table that is wider than its place is scrolled by columns; the first one
// stays, and there is no way beyond the last.
func TestListScrollsSideways(t *testing.T) {
	l := &List{SortBy: -1}
	var seen []string
	for _, a := range []keymap.Action{"", keymap.ScrollRight, keymap.ScrollRight, keymap.ScrollRight, keymap.ScrollRight, keymap.ScrollLeft, keymap.ScrollLeft, keymap.ScrollLeft, keymap.ScrollLeft} {
		l.Do(a, len(wide))
		seen = append(seen, header(t, l, 26))
	}
	want := []string{"unit state power lost", "unit power lost", "unit lost since", "unit lost since", "unit lost since", "unit power lost", "unit state power lost", "unit state power lost", "unit state power lost"}
	want[0], want[6], want[7], want[8] = seen[0], seen[0], seen[0], seen[0] // in the order given: by rank
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
	all := &List{SortBy: -1}
	header(t, all, 80)
	all.Do(keymap.ScrollRight, len(wide))
	if got := header(t, all, 80); got != "unit state power lost since" {
		t.Errorf("with room for all it scrolls to %s", got)
	}
}

func TestListIsArranged(t *testing.T) {
	l := &List{SortBy: -1}
	header(t, l, 60)
	l.Arrange([]string{"since", "unit", "lost"})
	if got := header(t, l, 60); got != "since unit lost" {
		t.Errorf("arranged as %s", got)
	}
	for range 3 { // since, falling, and then the next that is seen
		l.Do(keymap.Sort, len(wide))
	}
	if title := wide[l.SortBy].Title; title != "since" && title != "unit" && title != "lost" {
		t.Errorf("sorted by %s, which is not seen", title)
	}
	rows := l.Export(wide, []Row{{Cells: []Cell{{Text: "!"}, {Text: "INV-1"}, {Text: "idle"}, {Text: "3"}, {Text: "4"}, {Text: "5"}}}})
	if got := fmt.Sprint(rows); got != "[[ since unit lost] [! 5 INV-1 4]]" {
		t.Errorf("exported as %s", got)
	}
	again := &List{}
	again.Restore(l.Memory())
	if got := header(t, again, 60); !strings.HasPrefix(got, "since") || again.SortBy != l.SortBy || again.Reverse != l.Reverse {
		t.Errorf("restored as %s by %d", got, again.SortBy)
	}
	l.Arrange(l.Titles())
	if len(l.shown) > 0 {
		t.Error("all as they come is a choice")
	}
	l.Restore(view.Memory{Sort: "gone", Reverse: true, Shown: []string{"gone", "unit"}})
	if got := header(t, l, 60); got != "unit" || l.SortBy != -1 {
		t.Errorf("of columns that are gone %s is left, sorted by %d", got, l.SortBy)
	}
}

func TestFilterLooksInColumns(t *testing.T) {
	row := Row{ID: "a", Cells: []Cell{{}, {Text: "INV-1"}, {Text: "feeds in"}, {Text: "12.5 kW"}, {Text: ""}, {Text: "11:30"}}, Sort: []any{nil, "INV-1", "feeds in", 12.5, nil, "11:30"}}
	for text, want := range map[string]bool{
		"inv": true, "unit:inv": true, "state:inv": false, "st:feeds": true, "power:>12": true, "power:>12.5": false, "power:<13 unit:1": true,
		"lost:<5": false, "lost:": true, "11:30": true, "none:x": false, "power:12": true, ":": true, "unit:inv feeds": true,
	} {
		if got := parseFilter(text, wide).matches(row); got != want {
			t.Errorf("/%s: %v", text, got)
		}
	}
}
