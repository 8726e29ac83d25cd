package app

import (
	"strings"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/view/widget"
)

// The legend of the help has the mark and the word of each priority as they are drawn,
// also with ASCII characters only.
func TestLegendHasEveryPriority(t *testing.T) {
	d := NewHelp("Observe", keymap.InObserve, nil, keymap.Default())
	for _, ascii := range []bool{false, true} {
		for _, severity := range api.AlertSeverities() {
			shape, letter := widget.PriorityMark(severity, ascii)
			found := false
			for _, line := range d.lines {
				found = found || strings.Contains(widget.KeyNames(line.key, ascii), string(shape)+letter) && strings.Contains(line.words, widget.AlarmPriority(severity))
			}
			if !found {
				t.Errorf("ASCII %v: the legend lacks %c%s %s", ascii, shape, letter, widget.AlarmPriority(severity))
			}
		}
	}
}
