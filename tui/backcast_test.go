package tui

import (
	"strings"
	"testing"

	"app.sunloop/tui/internal/plant"
)

// The first day of a site shows what would have been forecast for the days before it, and
// says so: under the actual, with the KPIs, as an accuracy, and as a run that a key starts.
func TestBackcastIsMarked(t *testing.T) {
	young := plant.New()
	young.Backcasts = 30
	for _, size := range [][2]int{{80, 24}, {120, 36}, {200, 60}} {
		d := start(t, size[0], size[1], nil, young)
		d.press("1", "left")
		d.pass(2)
		d.shows("P50 backcast")
		d.press("esc", "g", "p", "right")
		d.pass(2)
		d.shows("* backcast: computed after the day", "Wh*")
		d.press("esc", "g", "f", "right", "right", "right")
		d.pass(2)
		d.shows("No issued forecast of the last 30 days has been scored yet", "Backcast of days without an issued forecast")
	}
	d := start(t, 120, 36, nil, plant.New())
	d.press("1", "left")
	d.pass(2)
	if s := d.text(); strings.Contains(s, "backcast") || !strings.Contains(s, "P50") {
		t.Errorf("what was issued is shown as:\n%s", s)
	}
}
