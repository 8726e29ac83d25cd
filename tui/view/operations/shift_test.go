package operations

import (
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/state"
)

// The proposed text of a hand-over names shelved alarms with the time at which they return.
func TestHandOverNamesShelvedAlarms(t *testing.T) {
	v := stage.ScreenContext(t, false)
	until := v.SiteNow.Add(2 * time.Hour)
	v.Site.Orders.Set(nil, stage.Noon)
	v.Site.Alerts.Set(state.AlertList{Alerts: []api.Alert{
		{AlertID: "1", AssetID: "INV-1", AlertType: "string_outage", AlertSeverity: api.AlertModerate, State: api.AlertShelved, ShelvedUntil: api.At(until)},
		{AlertID: "2", AssetID: "INV-2", AlertType: "soiling", AlertSeverity: api.AlertMinor, State: api.AlertSuppressed},
		{AlertID: "3", AssetID: "INV-3", AlertType: "inverter_outage", AlertSeverity: api.AlertMajor, State: api.AlertUnacknowledged},
	}}, stage.Noon)
	want := "INV-1: string outage, shelved until " + until.In(v.Site.Zone).Format("15:04") + "; INV-2: soiling, suppressed; INV-3: inverter outage, not acknowledged"
	if got := (shift{}).handOverText(v); got != want {
		t.Errorf("proposed text %q, want %q", got, want)
	}
}
