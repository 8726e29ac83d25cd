package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/tui/plain"
)

// The power of a site that has not reported for hours is unknown, in JSON and in
// words, and so is the energy of a day without data; those of a site that has reported
// are numbers.
func TestStatusOfStaleSite(t *testing.T) {
	now, expected := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC), 229.0
	for _, tt := range []struct {
		age        time.Duration
		energy     string
		json, text string
	}{
		{5 * time.Hour, "", `"total_kWh_today":null,"total_power_kw":null`, "power unknown of 229 kW expected, energy of today unknown"},
		{15 * time.Hour, api.EnergyNone, `"total_kWh_today":null,"total_power_kw":null`, "power unknown of 229 kW expected, energy of today unknown"},
		{5 * time.Hour, api.EnergyStale, `"total_kWh_today":0,"total_power_kw":null`, "power unknown of 229 kW expected, 0 kWh today until the newest data"},
		{time.Minute, api.EnergyMeasured, `"total_kWh_today":0,"total_power_kw":0`, "0 kW of 229 kW expected, 0 kWh today, 0 of 3 units active"},
	} {
		s := api.SiteSummary{TotalInverters: 3, ServiceTime: api.At(now), LastUpdated: api.NullTime(api.At(now.Add(-tt.age))), ExpectedPowerKW: &expected, EnergyState: tt.energy}
		b, err := json.Marshal(siteStatus{Summary: statusOf(s)})
		if err != nil || !strings.Contains(string(b), tt.json) {
			t.Errorf("%v: %s, %v", tt.age, b, err)
		}
		if fine := noFindings(s, time.UTC) == "nothing abnormal is known"; fine != s.HasPower() {
			t.Errorf("%v: %q", tt.age, noFindings(s, time.UTC))
		}
		if words := plain.Vitals(s); words != tt.text {
			t.Errorf("%v: %q, want %q", tt.age, words, tt.text)
		}
	}
}
