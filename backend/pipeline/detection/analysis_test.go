package detection

import (
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/engine/detect"
)

// What lasts is part of an analysis with any look-back, also at night, and decides its
// severity. What has ended is part of it within the look-back, never critical, and says
// what it was. The status is normal if and only if there is no anomaly.
func TestAnalysisOfLastingAndEnded(t *testing.T) {
	now := time.Date(2026, 6, 1, 23, 0, 0, 0, time.UTC)
	lasts := finding.Event{Family: "inverter_outage", Units: []string{"INV-1"}, Start: now.Add(-13 * time.Hour), LastSeen: now.Add(-5 * time.Hour), Severity: api.SeverityWarning, Summary: "down"}
	ended := finding.Event{Family: "site_outage_grid", Units: []string{"INV-1"}, Start: now.Add(-16 * time.Hour), LastSeen: now.Add(-14 * time.Hour), End: now.Add(-14 * time.Hour), Severity: api.SeverityCritical, Summary: "grid"}
	for _, c := range []struct {
		name     string
		events   []finding.Event
		lookback time.Duration
		count    int
		want     [4]string // status, severity, fault, summary
	}{
		{"open at night, three hours back", []finding.Event{lasts, ended}, 3 * time.Hour, 1, [4]string{api.AnomalyDetected, api.SeverityWarning, "inverter_outage", "down"}},
		{"open, and a critical one that is over", []finding.Event{ended, lasts}, 24 * time.Hour, 2, [4]string{api.AnomalyDetected, api.SeverityWarning, "inverter_outage", "down"}},
		{"over", []finding.Event{ended}, 24 * time.Hour, 1, [4]string{api.AnomalyDetected, api.SeverityWarning, "site_outage_grid", "grid"}},
		{"over before the look-back", []finding.Event{ended}, 6 * time.Hour, 0, [4]string{api.AnomalyNone, api.SeverityNormal, "none", "No abnormality was detected."}},
	} {
		a := analysis(detect.Unit{AssetID: "INV-1"}, c.events, detect.Input{Now: now}, detect.Report{}, c.lookback)
		if got := [4]string{a.Status, a.SeverityLabel, a.FaultType, a.Summary}; got != c.want || len(a.Anomalies) != c.count {
			t.Errorf("%s: %d anomalies, %v, want %d, %v", c.name, len(a.Anomalies), got, c.count, c.want)
		}
	}
}
