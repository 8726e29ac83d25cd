package simulate

import (
	"math"
	"testing"
	"time"

	"app.sunloop/engine/series"
)

// measured is a history to inject into, as if it had been measured.
func measured(t *testing.T, days int) (*Site, map[string]series.Frame) {
	t.Helper()
	s := Clean(7, start, 3).Sites[2]
	return s, s.Frames(s.Start, s.Start.AddDate(0, 0, days), 15*time.Minute)
}

func energy(f series.Frame) float64 {
	var sum float64
	for _, p := range f.Values(series.PowerKW) {
		if !math.IsNaN(p) {
			sum += max(p, 0) / 4
		}
	}
	return sum
}

// After an injection the missing energy equals the truth, by power and by the
// counter, and the given frames are unchanged.
func TestInjectedLossIsTheTruth(t *testing.T) {
	s, frames := measured(t, 40)
	a, b := s.Units[0].AssetID, s.Units[1].AssetID
	before := frames[a].Clone()
	from := s.Start.AddDate(0, 0, 10)
	for _, f := range []Fault{
		{Kind: UnitOutage, Units: []string{a}, From: from, To: from.AddDate(0, 0, 1)},
		{Kind: StringLoss, Units: []string{a}, From: from, To: from.AddDate(0, 0, 20), Severity: 0.12},
		{Kind: Curtailment, Units: []string{a, b}, From: from, To: from.AddDate(0, 0, 2), Severity: 0.5},
		{Kind: Soiling, Units: []string{a, b}, From: from, To: from.AddDate(0, 0, 20), Severity: 0.003},
		{Kind: PartialShade, Units: []string{a}, From: from, To: from.AddDate(0, 0, 20), Severity: 0.4, AzimuthDeg: 150, WidthDeg: 40},
		{Kind: IntermittentTrip, Units: []string{a}, From: from, To: from.AddDate(0, 0, 3)},
	} {
		got, truth, err := Inject(1, &Site{ID: "measured", Location: s.Location, Zone: s.Zone, Units: s.Units, Faults: []Fault{f}}, frames)
		if err != nil || len(truth) != 1 {
			t.Fatalf("%s: %v, %d truths", f.Kind, err, len(truth))
		}
		var lost, counted float64
		for _, id := range []string{a, b} {
			lost += energy(frames[id]) - energy(got[id])
			n := frames[id].Len() - 1
			counted += frames[id].At(series.EnergyCounterKWh, n) - got[id].At(series.EnergyCounterKWh, n)
		}
		if truth[0].LostKWh < 1 || math.Abs(truth[0].LostKWh-lost) > 0.01*lost+0.1 || math.Abs(counted-lost) > 0.01*lost+0.1 {
			t.Errorf("%s: truth %.2f kWh, missing %.2f kWh, from the counter %.2f kWh", f.Kind, truth[0].LostKWh, lost, counted)
		}
		if !truth[0].Visible || truth[0].Onset.Before(f.From) || truth[0].LossFraction <= 0 {
			t.Errorf("%s: %+v", f.Kind, truth[0])
		}
	}
	if !same(before, frames[a]) {
		t.Error("the given frames were changed")
	}
}

// Faults of the data lose nothing and show.
func TestInjectedDataFaults(t *testing.T) {
	s, frames := measured(t, 20)
	a := s.Units[0].AssetID
	from := s.Start.AddDate(0, 0, 10).Add(10 * time.Hour)
	for _, c := range []struct {
		fault Fault
		rows  int // that are missing
	}{
		{Fault{Kind: CommunicationGap, From: from, To: from.Add(4 * time.Hour)}, 16},
		{Fault{Kind: CommunicationGap, Gap: RowsHeld, From: from, To: from.Add(4 * time.Hour)}, 0},
		{Fault{Kind: StuckSensor, From: from, To: from.Add(3 * time.Hour)}, 0},
		{Fault{Kind: ScaleError, Severity: 1000, From: from, To: from.Add(3 * time.Hour)}, 0},
		{Fault{Kind: TimeShift, Severity: 60, From: from, To: from.AddDate(0, 0, 5)}, 4},
	} {
		c.fault.Units = []string{a}
		got, truth, err := Inject(1, &Site{ID: "measured", Location: s.Location, Zone: s.Zone, Units: s.Units, Faults: []Fault{c.fault}}, frames)
		if err != nil {
			t.Fatal(err)
		}
		if err := got[a].Check(); err != nil {
			t.Errorf("%s: %v", c.fault.Kind, err)
		}
		if missing := frames[a].Len() - got[a].Len(); missing != c.rows || truth[0].LostKWh != 0 || truth[0].Onset.IsZero() {
			t.Errorf("%s: %d rows are missing, %+v", c.fault.Kind, missing, truth[0])
		}
		if same(frames[a], got[a]) {
			t.Errorf("%s: nothing changed", c.fault.Kind)
		}
	}
}

// The grammar draws faults for a history; the same seed draws the same.
func TestInjectDraws(t *testing.T) {
	s, frames := measured(t, 90)
	site := &Site{ID: "measured", Location: s.Location, Zone: s.Zone, Units: s.Units}
	_, one, err := Inject(3, site, frames)
	if err != nil {
		t.Fatal(err)
	}
	_, two, err := Inject(3, site, frames)
	if err != nil || len(one) < 2 || len(one) != len(two) {
		t.Fatalf("%d and %d faults, %v", len(one), len(two), err)
	}
	if _, _, err := Inject(3, site, nil); err == nil {
		t.Error("nothing was injected into")
	}
	site.Faults = []Fault{{Kind: TrackerFault, From: s.Start}}
	if _, _, err := Inject(3, site, frames); err == nil {
		t.Error("a tracker was injected")
	}
}
