package layout

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"app.sunloop/tui/terminal"
)

var update = flag.Bool("update", false, "write the golden files")

// drawing shows a layout one character for four columns and two rows.
func drawing(l Layout) string {
	const dx, dy = 4, 2
	w, h := (l.Size.Columns+dx-1)/dx, (l.Size.Rows+dy-1)/dy
	rows := make([][]byte, h)
	for i := range rows {
		rows[i] = []byte(strings.Repeat(".", w))
	}
	for y := range h {
		for x := range w {
			hit, pane := l.At(x*dx, y*dy)
			switch hit {
			case OnPane:
				rows[y][x] = "1234"[pane]
			case OnStrip:
				rows[y][x] = "abcd"[pane]
			case OnTabs:
				rows[y][x] = 't'
			case OnStatus:
				rows[y][x] = 's'
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d×%d %s", l.Size.Columns, l.Size.Rows, l.Mode)
	if l.Zoomed {
		b.WriteString(", zoomed")
	}
	b.WriteByte('\n')
	for _, r := range rows {
		b.Write(r)
		b.WriteByte('\n')
	}
	return b.String()
}

func TestDrawings(t *testing.T) {
	tests := []struct {
		name  string
		size  Size
		focus Pane
		zoom  bool
	}{
		{"quad", Size{200, 60}, Orient, false},
		{"quad least", Size{160, 40}, Observe, false},
		{"quad zoomed", Size{160, 40}, Decide, true},
		{"quad misses a row", Size{160, 39}, Decide, false},
		{"strips below", Size{120, 36}, Observe, false},
		{"strips below, third pane", Size{100, 30}, Decide, false},
		{"strips zoomed", Size{120, 36}, Act, true},
		{"adjacent strips", Size{140, 36}, Orient, false},
		{"single", Size{80, 24}, Act, false},
		{"single ignores zoom", Size{80, 24}, Act, true},
		{"single least", Size{60, 20}, Observe, false},
		{"too small", Size{59, 20}, Observe, false},
		{"nothing", Size{0, 0}, Observe, false},
	}
	var b strings.Builder
	for _, tt := range tests {
		l := Compute(tt.size, tt.focus, tt.zoom, Defaults())
		fmt.Fprintf(&b, "%s: %s\n", tt.name, drawing(l))
	}
	golden := filepath.Join("testdata", "drawings.txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("layouts changed (-want +got):\n%s", diff)
	}
}

func rects(l Layout) map[string]terminal.Rect {
	m := map[string]terminal.Rect{
		"status": l.Status, "vitals": l.Vitals, "tabs": l.Tabs, "breadcrumb": l.Breadcrumb, "message": l.Message,
	}
	for p := range Panes {
		m["pane "+p.String()] = l.Panes[p]
		m["strip "+p.String()] = l.Strips[p]
	}
	return m
}

// Whatever the size, focus, zoom and options: nothing leaves the screen, nothing overlaps, every cell belongs to something,
// and the focused pane is shown with room for a frame and content.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := Size{rapid.IntRange(0, 300).Draw(t, "columns"), rapid.IntRange(0, 120).Draw(t, "rows")}
		focus := Pane(rapid.IntRange(0, 3).Draw(t, "focus"))
		zoom := rapid.Bool().Draw(t, "zoom")
		o := Defaults()
		o.SidePercent = rapid.IntRange(0, 100).Draw(t, "side")
		o.TopPercent = rapid.IntRange(0, 100).Draw(t, "top")
		l := Compute(size, focus, zoom, o)

		area := 0
		seen := map[string]terminal.Rect{}
		screen := terminal.Rect{W: size.Columns, H: size.Rows}
		for name, r := range rects(l) {
			if r.Empty() {
				continue
			}
			if r.Intersect(screen) != r {
				t.Fatalf("%s %+v leaves %+v", name, r, screen)
			}
			for other, o := range seen {
				if !r.Intersect(o).Empty() {
					t.Fatalf("%s %+v and %s %+v overlap", name, r, other, o)
				}
			}
			seen[name] = r
			area += r.W * r.H
		}
		if l.Mode == TooSmall {
			return
		}
		if area != size.Columns*size.Rows {
			t.Fatalf("%d of %d cells belong to something", area, size.Columns*size.Rows)
		}
		if f := l.Panes[focus]; f.W < 20 || f.H < 6 {
			t.Fatalf("focused pane is %d×%d", f.W, f.H)
		}
		if l.Status.Y != 0 || l.Vitals.Y != 1 || l.Breadcrumb.Y != size.Rows-1 {
			t.Fatal("status and vital signs are rows 1 and 2, the breadcrumb the last")
		}
	})
}

func TestAt(t *testing.T) {
	l := Compute(Size{120, 36}, Orient, false, Defaults())
	tests := []struct {
		x, y int
		hit  Hit
		pane Pane
	}{
		{0, 0, OnStatus, -1}, {5, 1, OnVitals, -1}, {5, 2, OnPane, Orient}, {119, 35, OnBreadcrumb, -1},
		{3, 34, OnStrip, Act}, {120, 3, Nothing, -1}, {-1, 3, Nothing, -1},
	}
	for _, tt := range tests {
		hit, pane := l.At(tt.x, tt.y)
		if hit != tt.hit || pane != tt.pane {
			t.Errorf("at %d,%d: %v %v, want %v %v", tt.x, tt.y, hit, pane, tt.hit, tt.pane)
		}
	}
}

func TestSizeMessage(t *testing.T) {
	l := Compute(Size{40, 10}, Observe, false, Defaults())
	if got, want := l.SizeMessage(), "sunloop needs 60×20, this window is 40×10"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func BenchmarkCompute(b *testing.B) {
	for b.Loop() {
		Compute(Size{200, 60}, Orient, false, Defaults())
	}
}
