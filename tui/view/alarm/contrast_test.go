package alarm

import (
	"math"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// Every row of a list of alarms can be read in every theme and depth of colour:
// selected or not, in each state and priority, fresh or outdated, with the keys or
// without.
func TestAlarmRowsAreReadable(t *testing.T) {
	const least = 4.5
	p := plant.New()
	var alerts []api.Alert
	for _, severity := range api.AlertSeverities() {
		for _, st := range []string{api.AlertUnacknowledged, api.AlertAcknowledged, api.AlertReturned, api.AlertShelved, api.AlertSuppressed, api.AlertCleared} {
			alerts = append(alerts, api.Alert{AlertID: severity + st, AlertSeverity: severity, State: st, AssetID: p.UnitID(len(alerts)), AlertType: severity + st, Timestamp: api.At(stage.Noon)})
		}
	}
	s := &state.Site{Site: p.Site(), Zone: p.Zone}
	for _, theme := range themes.Builtin() {
		for _, depth := range []terminal.Profile{themes.TrueColor, themes.Colors256, themes.Colors16} {
			v := stage.ContextOf(t, s)
			v.Palette = terminal.NewPalette(&theme, depth)
			for _, focused := range []bool{true, false} {
				for _, stale := range []bool{true, false} {
					for _, a := range alerts {
						l := NewList()
						l.Stale, l.Selected, v.Focused = stale, a.AlertID, focused
						g := stage.DrawnBy(v, 120, len(alerts)+1, func(r terminal.Region, _ view.Context) { l.DrawAlarms(r, v, alerts) })
						w, h := g.Size()
						for i := range w * h {
							c := g.Cell(i%w, i/w)
							if got := themes.Contrast(c.Style.FG, c.Style.BG); c.Text != " " && c.Text != "" && !math.IsNaN(got) && got < least {
								t.Fatalf("%s at depth %v, focused %v, stale %v, %s selected: %q at %d,%d has %.1f:1, %v on %v", theme.Name, depth, focused, stale, a.AlertID, c.Text, i%w, i/w, got, c.Style.FG, c.Style.BG)
							}
						}
					}
				}
			}
		}
	}
}
