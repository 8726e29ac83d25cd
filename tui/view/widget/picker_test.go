package widget

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// shownFolder returns the choice of a file in a folder that was read.
func shownFolder() *FilePicker {
	d := PickFile("", nil).(view.Batch)[0].(view.OpenDialog).Dialog.(*FilePicker)
	d.coming = &listing{folder: "/data/exports", entries: []entry{
		{name: "2025", folder: true, modified: stage.Noon.AddDate(0, -3, 0)},
		{name: "sibaya-2026-11.csv", size: 812_000, modified: stage.Noon.Add(-time.Hour)}, {name: "all-years.csv", size: 44_000_000, modified: stage.Noon.AddDate(0, 0, -2)}, {name: "notes.txt", size: 512, modified: stage.Noon.AddDate(0, -1, 0)},
	}}
	d.Answer(nil)
	return d
}

func TestFilePicker(t *testing.T) {
	for _, size := range stage.Sizes {
		picture.Golden(t, fmt.Sprintf("picker-%dx%d", size.W, size.H), stage.DialogText(stage.ScreenContext(t, false), shownFolder(), size.W, size.H))
	}
	for _, size := range append(stage.Sizes, struct{ W, H int }{60, 20}, struct{ W, H int }{20, 5}) {
		text := stage.DialogText(stage.ScreenContext(t, true), shownFolder(), size.W, size.H)
		if i := strings.IndexFunc(text, func(r rune) bool { return r > 0x7e }); i >= 0 {
			t.Errorf("at %d×%d: not ASCII: %.30q", size.W, size.H, text[i:])
		}
		for y, line := range strings.Split(text, "\n") {
			if terminal.Width(line) > size.W {
				t.Errorf("at %d×%d: line %d is wider", size.W, size.H, y)
			}
		}
	}
}
