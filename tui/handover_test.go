package tui

import (
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// A hand-over of another person is announced once in the last line, and stays in the status
// line of every pane and screen until it is read.
func TestHandOverIsAnnounced(t *testing.T) {
	d := start(t, 120, 30, nil)
	hand := func(actor string) {
		d.m.data.Site.Activities.Set([]api.Activity{{Title: "Shift handed over", Actor: actor, Timestamp: api.At(d.now.Add(-time.Hour))}}, d.now)
		d.m.announceHandOver()
	}
	d.hides("hand-over")
	hand("anna") // the user
	d.hides("hand-over", "handed the shift over")
	hand("ben")
	d.shows("hand-over", "ben handed the shift over (10:30): press g c to read it.")
	d.pass(10)
	hand("ben")
	d.hides("ben handed the shift over") // not twice
	for _, keys := range [][]string{{"2"}, {"3"}, {"g", "f"}, {"esc", "g", "v"}, {"esc", "z"}} {
		d.press(keys...)
		d.shows("hand-over")
	}
	d.m.data.Site.Shift.Set(api.ShiftResponse{Entries: []api.ShiftEntry{{Kind: api.ShiftHandOver, SignedBy: "ben", ReadBy: []api.ShiftReader{{Name: "anna"}}}}}, d.now)
	hand("ben")
	d.hides("hand-over")
}

// On a small screen with a hand-over the status line keeps the user, rather than the date and
// the age of current data; an age that is a warning is kept.
func TestSmallStatusLineWithHandOver(t *testing.T) {
	d := start(t, 80, 24, nil)
	d.shows("anna")
	d.m.data.Site.Activities.Set([]api.Activity{{Title: "Shift handed over", Actor: "ben", Timestamp: api.At(d.now.Add(-time.Hour))}}, d.now)
	d.m.announceHandOver()
	d.shows("hand-over", "anna")
	d.m.data.Site.Summary.Data.LastUpdated.Time = d.m.context().SiteNow.Add(-40 * time.Minute)
	d.m.frame.dirty = true
	d.shows("hand-over", "anna", "data 40 min old")
}
