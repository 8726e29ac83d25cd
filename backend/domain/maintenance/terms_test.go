package maintenance

import (
	"maps"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

func TestHoursAreAroundNoon(t *testing.T) {
	for text, want := range map[string]Hours{
		"7-18": DefaultHours(), "06:30-15:00": {6*time.Hour + 30*time.Minute, 15 * time.Hour}, " 0 - 23:59 ": {0, 23*time.Hour + 59*time.Minute}, "11:59-12:01": {719 * time.Minute, 721 * time.Minute}, //nolint:gocritic // spaces are accepted
	} {
		var h Hours
		if err := h.UnmarshalText([]byte(text)); err != nil || h != want {
			t.Errorf("%q is %+v, %v", text, h, err)
		}
	}
	for _, text := range []string{"", "7", "18-7", "7-12", "12-18", "13-22", "7-25", "7-18-20", "seven-ten", "-7-18", "7:5-18"} {
		var h Hours
		if err := h.UnmarshalText([]byte(text)); err == nil || h != (Hours{}) || !strings.Contains(err.Error(), "7-18 or 06:30-15:00") {
			t.Errorf("%q is %+v, %v", text, h, err)
		}
	}
}

func TestLimitsRise(t *testing.T) {
	got, err := ParseLimits(map[string]string{"high": "30m/1.5h/2d", "emergency": "1h/1h/1h"})
	want := map[string]Limits{"high": {30 * time.Minute, 90 * time.Minute, 2 * day}, "emergency": {time.Hour, time.Hour, time.Hour}}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("limits are %v, %v", got, err)
	}
	for _, wrong := range []string{"", "1h", "1h/2h", "2h/1h/3h", "1h/3h/2h", "0h/1h/2h", "-1h/1h/2h", "1/2/3", "1h/2h/3h/4h", "1d/2d/3661d", "1d/2d/99999999999d"} {
		if got, err := ParseLimits(map[string]string{"low": wrong}); err == nil || !strings.Contains(err.Error(), "low orders") || !strings.Contains(err.Error(), "30m/4h/1d") {
			t.Errorf("%q: %v, %v", wrong, got, err)
		}
	}
	if _, err := ParseLimits(map[string]string{"urgent": "1h/2h/3h"}); err == nil || !strings.Contains(err.Error(), `emergency, high, medium, low, and not for "urgent"`) {
		t.Errorf("an unknown priority: %v", err)
	}
}

// What is configured bounds the shifts, the windows and the clocks of orders.
func TestConfiguredLimits(t *testing.T) {
	d := newDesk(t, func(c *Config) {
		c.Crew = Hours{10 * time.Hour, 14 * time.Hour}
		c.Limits = map[string]Limits{api.PriorityMedium: {time.Hour, 2 * time.Hour, 5 * time.Hour}}
	})
	d.clock = time.Date(2026, 6, 15, 3, 0, 0, 0, time.UTC)
	d.foretell()
	for _, w := range d.propose(api.ScheduleRequest{AssetID: inv, MaintenanceType: api.MaintenanceCorrective, EstimatedDurationHours: 2}).Windows {
		if w.Start.UTC().Hour() < 8 || w.End.UTC().Hour() > 12 { // 10 and 14 in Vienna
			t.Errorf("a window from %s to %s", w.Start, w.End)
		}
	}
	b := d.bill(inv)
	o, err := d.CreateOrder(t.Context(), boss, api.OrderRequest{CustomerID: acme, BOMID: b.BOMID, Priority: api.PriorityMedium, EstimatedDurationHours: 6})
	if err != nil {
		t.Fatal(err)
	}
	// Four hours of the first day, two of the second.
	if o.PlannedStart.String() != "2026-06-15T08:00:00Z" || o.EstimatedCompletion.String() != "2026-06-16T10:00:00Z" {
		t.Errorf("planned from %s to %s", o.PlannedStart, o.EstimatedCompletion)
	}
	made := o.CreatedAt
	if c := o.Clocks; c.AcknowledgeDue.Sub(made.Time) != time.Hour || c.StartDue.Sub(made.Time) != 2*time.Hour || c.RestoreDue.Sub(made.Time) != 5*time.Hour {
		t.Errorf("the clocks are %+v", c)
	}
	low, err := d.CreateOrder(t.Context(), boss, api.OrderRequest{CustomerID: acme, BOMID: d.bill(inv).BOMID, Priority: api.PriorityLow})
	if err != nil || low.Clocks.StartDue.Sub(made.Time) != 30*day {
		t.Errorf("what is not configured is not the default: %+v, %v", low.Clocks, err)
	}
	cfg := d.Config
	for _, spoil := range []func(*Config){
		func(c *Config) { c.Crew = Hours{13 * time.Hour, 18 * time.Hour} },
		func(c *Config) { c.Limits = map[string]Limits{api.PriorityLow: {}} },
		func(c *Config) { c.Limits = map[string]Limits{"urgent": {1, 2, 3}} },
	} {
		wrong := cfg
		spoil(&wrong)
		if _, err := New(wrong); err == nil {
			t.Errorf("%+v and %v are taken", wrong.Crew, wrong.Limits)
		}
	}
}
