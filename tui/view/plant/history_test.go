package plant

import (
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/tui/internal/stage"
)

// The findings of a family that lost no energy are listed with their times.
func TestHistoryWithoutLoss(t *testing.T) {
	v := stage.ScreenContext(t, false)
	from := time.Date(2012, 1, 1, 0, 0, 0, 0, time.UTC)
	finding := func(family string, start time.Time) api.Finding {
		return api.Finding{FaultFamily: family, AssetID: "INV-1", StartedAt: api.At(start), EndedAt: api.At(start.Add(time.Hour)), Confidence: 0.83}
	}
	v.Site.Findings.Set([]api.Finding{finding("stuck_sensor", from.AddDate(0, 3, 2)), finding("stuck_sensor", from.AddDate(-1, 0, 0)), finding("clock_shift", from.AddDate(0, 1, 0))}, stage.Noon)
	v.Site.History.Set(api.History{From: api.At(from), To: api.At(from.AddDate(1, 0, 0)), Count: 1,
		Families: []api.HistoryFamily{{FaultFamily: "stuck_sensor", Count: 1, LastedHours: 1, AssetIDs: []string{"INV-1"}}}}, stage.Noon)
	var times []string
	for _, line := range historyDetail(v, "stuck_sensor") {
		if strings.Contains(line.Text, "sure") {
			times = append(times, line.Label+" "+line.Text)
		}
	}
	if len(times) != 1 || !strings.HasPrefix(times[0], "2012-04-03") || !strings.Contains(times[0], "INV-1: 83 % sure") {
		t.Errorf("the findings of the period are %q, want the one of 3 April", times)
	}
}
