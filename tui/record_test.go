package tui

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"app.sunloop/tui/layout"
)

// A recording is one that asciinema plays: a header with the size, then pieces of output in order
// of time, which enter the screen of the console and leave it.
func TestRecording(t *testing.T) {
	o := start(t, 1, 1, nil).m.o
	var b bytes.Buffer
	if err := Record(t.Context(), o, layout.Size{Columns: 100, Rows: 30}, "a title", []string{"2", "/", `"two_words"`, "esc"}, func() {}, &b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	var header struct {
		Version, Width, Height int
		Title                  string
	}
	if err := json.Unmarshal([]byte(lines[0]), &header); err != nil || header.Version != 2 || header.Width != 100 || header.Height != 30 || header.Title != "a title" {
		t.Errorf("the header is %s, %v", lines[0], err)
	}
	var all strings.Builder
	last := -1.0
	for _, line := range lines[1:] {
		var piece []any
		if err := json.Unmarshal([]byte(line), &piece); err != nil || len(piece) != 3 || piece[1] != "o" {
			t.Fatalf("a piece is %.80s, %v", line, err)
		}
		if at := piece[0].(float64); at < last {
			t.Errorf("%v comes after %v", at, last)
		} else {
			last = at
		}
		all.WriteString(piece[2].(string))
	}
	if got := all.String(); !strings.Contains(got, "\x1b[?1049h") || !strings.Contains(got, "\x1b[?1049l") {
		t.Errorf("recorded %.200q", got)
	}
}
