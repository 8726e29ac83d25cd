package operations

import (
	"testing"

	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/view"
)

// The chosen day stays as the days go by, and is let go of with the unit.
func TestChosenDay(t *testing.T) {
	p := plant.New()
	v := stage.ContextOf(t, stage.SiteOf(p, stage.Noon))
	v.Selection = view.Selection{AssetID: "INV-03", FindingID: "f-dead"}
	d := NewDecide()
	if got := d.ChosenDay(v); !got.IsZero() {
		t.Errorf("chosen from the start: %s", got)
	}
	d.choose(v, 5)
	want := p.Midnight(stage.Noon).AddDate(0, 0, 5)
	for later := range 5 {
		v.SiteNow = stage.Noon.AddDate(0, 0, later).In(p.Zone)
		if got := d.ChosenDay(v); !got.Equal(want) {
			t.Errorf("after %d days: %s, want %s", later, got, want)
		}
	}
	v.Selection = view.Selection{AssetID: "INV-05"}
	if got := d.ChosenDay(v); !got.IsZero() {
		t.Errorf("for another unit: %s", got)
	}
}
