package detect_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/simulate"
)

// Each family on a site with only that fault: it is found under its name on its
// units, begins near the fault's start, and its loss is estimated.
func TestEachFamily(t *testing.T) {
	const berlin, phoenix, chennai = 0, 1, 2
	day := 24 * time.Hour
	for _, c := range []struct {
		family detect.Family
		fault  simulate.Fault
		site   int
		from   int // days after the start
		last   time.Duration
		all    bool          // units; else the third
		late   time.Duration // at most, from the fault's onset
	}{
		{detect.DataQuality, simulate.Fault{Kind: simulate.ScaleError, Severity: 1000}, phoenix, 40, 2 * day, false, 16 * time.Hour},
		{detect.DataQuality, simulate.Fault{Kind: simulate.ScaleError, Severity: 0.001}, chennai, 40, 2 * day, false, 16 * time.Hour},
		{detect.DataQuality, simulate.Fault{Kind: simulate.Spikes}, phoenix, 40, 30 * time.Hour, false, time.Hour},
		{detect.TimeShift, simulate.Fault{Kind: simulate.TimeShift, Severity: 30}, phoenix, 60, 20 * day, true, 10 * day},
		{detect.TimeShift, simulate.Fault{Kind: simulate.TimeShift, Severity: -60}, phoenix, 60, 20 * day, true, 10 * day},
		{detect.StuckSensor, simulate.Fault{Kind: simulate.StuckSensor}, phoenix, 40, 30 * time.Hour, false, 20 * time.Hour},
		{detect.IrradianceSensor, simulate.Fault{Kind: simulate.IrradianceSensor, Severity: 1}, phoenix, 50, 10 * day, true, 30 * time.Hour},
		{detect.IrradianceSensor, simulate.Fault{Kind: simulate.IrradianceSensor, Severity: 0.3}, phoenix, 50, 12 * day, true, 9 * day},
		{detect.SiteOutage, simulate.Fault{Kind: simulate.SiteOutage}, phoenix, 40, 30 * time.Hour, true, time.Hour},
		{detect.InverterOutage, simulate.Fault{Kind: simulate.UnitOutage}, berlin, 40, 3 * day, false, 2 * time.Hour},
		{detect.CommunicationGap, simulate.Fault{Kind: simulate.CommunicationGap}, berlin, 40, 3 * day, false, 2 * time.Hour},
		{detect.GroundFault, simulate.Fault{Kind: simulate.GroundFault, Code: 1}, phoenix, 40, 12 * day, false, 8 * day},
		{detect.IntermittentTrip, simulate.Fault{Kind: simulate.IntermittentTrip}, chennai, 120, 5 * day, false, 4 * day},
		{detect.Clipping, simulate.Fault{Kind: simulate.CapacityChange, Severity: 0.0}, phoenix, 200, day, true, 0},
		{detect.Curtailment, simulate.Fault{Kind: simulate.Curtailment, Severity: 0.5}, phoenix, 40, 30 * time.Hour, true, 16 * time.Hour},
		{detect.ThermalDerating, simulate.Fault{Kind: simulate.Derating, Severity: 25}, chennai, 150, 20 * day, false, 10 * day},
		{detect.TrackerFault, simulate.Fault{Kind: simulate.TrackerFault, Severity: 0}, phoenix, 50, 15 * day, false, 8 * day},
		{detect.StringOutage, simulate.Fault{Kind: simulate.StringLoss, Severity: 0.12}, phoenix, 50, 25 * day, false, 8 * day},
		{detect.StringOutage, simulate.Fault{Kind: simulate.StringLoss, Severity: 0.08}, chennai, 60, 28 * day, false, 23 * day},
		{detect.CapacityChange, simulate.Fault{Kind: simulate.CapacityChange, Severity: 0.2}, chennai, 90, 60 * day, false, 20 * day},
		{detect.PartialShading, simulate.Fault{Kind: simulate.PartialShade, Severity: 0.6, AzimuthDeg: 130, WidthDeg: 25}, chennai, 90, 40 * day, false, 30 * day},
		{detect.Soiling, simulate.Fault{Kind: simulate.Soiling, Severity: 0.003}, phoenix, 60, 50 * day, true, 25 * day},
	} {
		t.Run(string(c.family)+"/"+string(c.fault.Kind), func(t *testing.T) {
			t.Parallel()
			s := simulate.Clean(9, start, 8).Sites[c.site]
			for k := range s.Units {
				s.Units[k].Tracker = c.site == phoenix
			}
			f := c.fault
			f.From = s.Start.AddDate(0, 0, c.from).Add(10*time.Hour + 5*time.Minute)
			f.To = f.From.Add(c.last)
			f.Units = []string{s.Units[2].AssetID}
			if c.all {
				f.Units = nil
			}
			s.SetFaults([]simulate.Fault{f})
			now := f.To.Add(5 * day)
			report := look(t, s, s.Start, now, 15*time.Minute)
			truth := s.TruthBetween(s.Start, now)[0]
			i := slices.IndexFunc(report.Events, func(e detect.Event) bool {
				return e.Family == c.family && slices.ContainsFunc(e.Units, truth.Concerns) && (c.family == detect.Clipping || f.Overlaps(e.Start, e.LastSeen))
			})
			if i < 0 {
				t.Fatalf("not found; found are %v", familiesOf(report))
			}
			e := report.Events[i]
			if len(e.Evidence) < 2 {
				t.Errorf("%d pieces of evidence", len(e.Evidence))
			}
			if c.family == detect.Clipping {
				return
			}
			if e.Start.Before(f.From.Add(-4*day)) || e.DetectedAt.Sub(truth.Onset) > c.late {
				t.Errorf("from %v, announced %v; the fault is from %v, showed at %v", e.Start, e.DetectedAt, f.From, truth.Onset)
			}
			if truth.LostKWh > 50 && c.family != detect.Curtailment && c.family != detect.Soiling && math.Abs(e.LossFraction-truth.LossFraction) > 0.35*truth.LossFraction+0.02 {
				t.Errorf("loses %.3f of its production, truly %.3f", e.LossFraction, truth.LossFraction)
			}
			if others := len(familiesOf(report)); others > 4 {
				t.Errorf("also found: %v", familiesOf(report))
			}
		})
	}
}

func familiesOf(r detect.Report) map[detect.Family]int {
	out := map[detect.Family]int{}
	for _, e := range r.Events {
		out[e.Family]++
	}
	return out
}

// A site that ages by two percent a year is found after two years; one that
// ages by half a percent is not.
func TestDegradation(t *testing.T) {
	if testing.Short() {
		t.Skip("three years")
	}
	for rate, found := range map[float64]bool{0.025: true, 0.005: false} {
		s := simulate.Clean(11, start, 3).Sites[1]
		s.SetFaults([]simulate.Fault{{Kind: simulate.Degradation, From: s.Start, Severity: rate}})
		report := look(t, s, s.Start, s.Start.AddDate(3, 0, 0), time.Hour)
		got := slices.ContainsFunc(report.Events, func(e detect.Event) bool { return e.Family == detect.Degradation })
		if got != found {
			t.Errorf("%v a year: found %v", rate, got)
		}
	}
}
