package pane

import (
	"testing"

	"app.sunloop/tui/internal/plant"
)

// A day shows the open schedules and orders that are planned for it; an order
// that does a schedule counts once.
func TestPlannedOn(t *testing.T) {
	p := plant.New()
	v := viewOf(t, siteOf(p, noon))
	day := p.Midnight(noon)
	for days, want := range map[int]string{0: "INV-06 +1", 1: "", 2: "INV-07", 60: "INV-08"} {
		if got := plannedOn(v, day.AddDate(0, 0, days)); got != want {
			t.Errorf("in %d days: %q, want %q", days, got, want)
		}
	}
	if got := planNotes(v); got != "3 planned, 1 overdue" {
		t.Errorf("notes: %q", got)
	}
	o := &v.Site.Orders.Data[2]
	o.ScheduleID, o.PlannedStart = "sch_soon", v.Site.Schedules.Data[1].ScheduledDate
	if got := plannedOn(v, day.AddDate(0, 0, 2)); got != "INV-07" {
		t.Errorf("with its order: %q", got)
	}
}
