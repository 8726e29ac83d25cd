package tui

import (
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/workflow"
)

// onService returns a console on its own service, with a unit selected.
func onService(t *testing.T, keys ...string) (*world, *client.Client) {
	t.Helper()
	c := realService(t)
	d := start(t, 120, 36, func(o *Options, _ *plant.Service) { o.Client = c })
	d.m.nav.selection = view.Selection{AssetID: "INV-1"}
	d.press(keys...)
	return d, c
}

// Planned work by keys, against the service itself: made, refused, confirmed,
// completed and cancelled, once and recurring.
func TestPlansByKeys(t *testing.T) {
	d, c := onService(t, "3", "p")
	d.shows("Plan maintenance of INV-1", "preventive", "2026-11-30 07:00", "low")
	d.press("enter")
	d.shows("What work is planned, and why?")
	d.press("filters", "shift+tab", "shift+tab", "ctrl+u", "2026-11-20 07:00", "enter")
	d.shows("2026-11-20T05:00:00Z is in the", "past; only emergency work may have begun.")
	if len(schedules(t, c)) != 0 {
		t.Fatal("work of the past was planned")
	}
	d.press("ctrl+u", "soon", "enter")
	d.shows("The date is a date and a time as in 2026-11-30 07:00.")
	d.press("ctrl+u", "2026-12-02 08:00", "enter")
	plan := schedules(t, c)[0]
	if plan.Reason != "filters" || !plan.ScheduledDate.Equal(time.Date(2026, 12, 2, 6, 0, 0, 0, time.UTC)) || plan.MaintenanceType != api.MaintenancePreventive {
		t.Errorf("planned: %+v", plan)
	}

	// Its day is chosen by keys; the plan moves as its state allows.
	d.press("right", "right", "right", "right", "d")
	d.shows("Chosen day: Wed 02 Dec", "preventive: filters, pending", "Unavailable: the plan of INV-1 is pending; possible: confirm, cancel.")
	d.press("c", "crew booked", "enter")
	if s := schedules(t, c)[0]; s.Status != api.ScheduleConfirmed {
		t.Fatalf("after c it is %s\n%s", s.Status, d.text())
	}
	d.press("d", "2027-01-01 00:00", "enter")
	d.shows("it is in the future")
	d.press("ctrl+u", "2026-11-28 11:30", "enter")
	if s := schedules(t, c)[0]; s.Status != api.ScheduleCompleted {
		t.Errorf("after d it is %s\n%s", s.Status, d.text())
	}

	d.press("R", "thermography", "tab", "ctrl+u", "2026-12-05 07:00", "enter")
	series := schedules(t, c)[0]
	if series.Task != "thermography" || series.EveryMonths != 6 || series.EveryDays != 0 {
		t.Fatalf("recurring: %+v\n%s", series, d.text())
	}
	d.press("g", "d")
	d.shows("Schedules", "thermography", "every 6 months", "completed")
	d.press("X", "enter")
	d.shows("Why?")
	d.press("crane is broken", "enter")
	all := schedules(t, c)
	if len(all) != 3 || all[0].Status != api.SchedulePending || all[0].Task != "thermography" || !strings.HasPrefix(all[0].ScheduledDate.String(), "2027-06-05") {
		t.Errorf("the series continues with %+v\n%s", all, d.text())
	}
	d.shows("Schedule cancelled: INV-1")
	d.minute() // the minute's requests are spent
	d.press("home", "X", "sold", "tab", "right", "enter")
	for _, s := range schedules(t, c) {
		if workflow.OpenPlan(s) {
			t.Errorf("the series did not end: %+v\n%s", s, d.text())
		}
	}
}

// A change by another user meanwhile is an error with the possible
// transitions, at the form, which keeps the typed text.
func TestPlanMovedByOthers(t *testing.T) {
	d, c := onService(t, "3", "p", "filters", "enter", "g", "d", "X", "not needed")
	plan := schedules(t, c)[0]
	for _, action := range []string{api.ActionConfirm, api.ActionComplete} {
		if _, err := c.MoveSchedule(t.Context(), api.ScheduleRequest{Action: action, ScheduleID: plan.ScheduleID}); err != nil {
			t.Fatal(err)
		}
	}
	d.press("enter")
	d.shows("is completed", "not needed")
	if !strings.HasSuffix(d.place(), "[Cancel the plan]") {
		t.Errorf("the form went: %s", d.place())
	}
}

// The order, the plan and the comparison take the window of the chosen day.
func TestChosenDayIsTheDefault(t *testing.T) {
	d := start(t, 120, 36, nil)
	d.press("n", "3", "right", "o")
	d.shows("The best window of the selected day; it loses 41.5 kWh, ZAR 62.25; 3.50 kWh,", "ZAR 5.25 more than the best.", "2026-11-30 06:00")
	d.press("esc", "p")
	d.shows("2026-11-30 06:00", "high", "corrective")
	d.press("esc", "home", "o")
	d.shows("The best of 3 windows", "2026-11-29 06:00")
	d.press("esc", "right", "enter")
	d.shows("chosen day", "least energy", "in a week", "Mon 30 Nov 06:00", "41.5 kWh, ZAR 62.25", "over the least", "the least")
	d.press("enter")
	d.shows("2026-11-30 06:00")
}

// minute lets a minute and a little go by at once, so that as many requests as
// before may be sent, and the last notice has gone.
func (d *world) minute() {
	d.now = d.now.Add(65 * time.Second)
	d.pass(2)
}
