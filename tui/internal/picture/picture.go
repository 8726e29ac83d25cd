// Package picture compares drawn grids with golden files, for tests of the
// console.
package picture

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/tui/terminal"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Text is a grid's text, a line a row, without the space at the ends of lines.
func Text(g *terminal.Grid) string {
	var b strings.Builder
	w, h := g.Size()
	for y := range h {
		var row strings.Builder
		for x := range w {
			row.WriteString(g.Cell(x, y).Text)
		}
		b.WriteString(strings.TrimRight(row.String(), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// Golden compares text with testdata/name.txt, or writes it with -update.
func Golden(t testing.TB, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s changed (-want +got):\n%s", file, diff)
	}
}
