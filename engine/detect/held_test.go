package detect_test

import (
	"testing"
	"time"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/series"
	"app.sunloop/engine/simulate"
)

// powerOf removes all quantities except power: the unit does not report that it
// is throttled.
func powerOf(f series.Frame) series.Frame {
	out := series.Frame{Times: f.Times}
	out.Set(series.PowerKW, f.Values(series.PowerKW))
	return out
}

// TestCurtailedUnitsAreNotStuck replays the demo fleet's curtailed days: the
// readings are constant because a limit holds them.
func TestCurtailedUnitsAreNotStuck(t *testing.T) {
	now := time.Date(2026, 11, 28, 8, 0, 0, 0, time.UTC)
	for _, site := range simulate.Demo(1, now.AddDate(-1, 0, 0), now).Sites[:1] { // the one that is curtailed
		in := detect.Input{Site: detect.Site{ID: site.ID, Location: &site.Location, Zone: site.Zone}, From: now.AddDate(0, -4, 0), Now: now}
		frames := site.Frames(in.From, now, 15*time.Minute)
		for _, u := range site.Units {
			in.Units = append(in.Units, detect.Unit{AssetID: u.AssetID, CapacityKW: u.CapacityKW, Plane: &u.Plane, Strings: u.Strings, Frame: powerOf(frames[u.AssetID])})
		}
		report, err := detect.Run(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		stuck := map[string]int{}
		for _, f := range site.Faults {
			if f.Kind == simulate.StuckSensor {
				for _, id := range f.Units {
					stuck[id]++
				}
			}
		}
		for _, e := range report.Events {
			if e.Family == detect.StuckSensor && stuck[e.Units[0]] == 0 {
				t.Errorf("%s: %v is called stuck from %v", site.ID, e.Units, e.Start)
			}
		}
	}
}
