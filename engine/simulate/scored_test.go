package simulate

import (
	"testing"
	"time"

	"app.sunloop/internal/longtest"
)

// A seed contains the described cases, and its truth is consistent.
func TestScoredSeed(t *testing.T) {
	longtest.Mark(t)
	var kinds = map[Kind]int{}
	visible := map[Kind]int{}
	lost := map[Kind]float64{}
	for seed := range uint64(2) {
		for _, c := range Scored(seed, time.Date(2025, 10, 1, 0, 0, 0, 0, time.UTC)) {
			frames := c.Site.Frames(c.Site.Start, c.Until, c.Step)
			if len(frames) != len(c.Site.Units) {
				t.Fatalf("%s: %d frames", c.Site.ID, len(frames))
			}
			truth := c.Site.TruthBetween(c.Site.Start, c.Until)
			if c.Clean && len(truth) > 0 {
				t.Errorf("%s is clean and has %d faults", c.Site.ID, len(truth))
			}
			for _, f := range truth {
				kinds[f.Kind]++
				if f.Visible {
					visible[f.Kind]++
				}
				lost[f.Kind] += f.LostKWh
				if f.Visible && (f.Onset.Before(f.From.Add(-time.Hour)) || !f.To.IsZero() && f.Onset.After(f.To)) {
					t.Errorf("%s %v: onset %v outside %v to %v", f.ID, f.Kind, f.Onset, f.From, f.To)
				}
				if f.LossFraction < 0 || f.LossFraction > 1 || f.LostKWh < 0 || dataOnly[f.Kind] && f.LostKWh > 0 {
					t.Errorf("%s %v: lost %v kWh, %v", f.ID, f.Kind, f.LostKWh, f.LossFraction)
				}
			}
		}
	}
	t.Log(kinds)
	t.Log(visible)
	t.Log(lost)
	for _, k := range []Kind{UnitOutage, CommunicationGap, StringLoss, Soiling, StuckSensor} {
		if visible[k] == 0 {
			t.Errorf("no %s to be seen", k)
		}
	}
}

// The ledger's loss is that of a run without the fault.
func TestLedgerIsTheDifference(t *testing.T) {
	c := Scored(0, time.Date(2025, 10, 1, 0, 0, 0, 0, time.UTC))[1]
	truth := c.Site.TruthBetween(c.Site.Start, c.Until)
	checked := 0
	for _, f := range truth {
		if f.LostKWh == 0 || f.To.Sub(f.From) > 8*24*time.Hour || checked > 4 {
			continue
		}
		checked++
		want := c.Site.LostKWh(f.Fault, f.From, f.To)
		if d := f.LostKWh - want; d > 0.02*want+0.5 || d < -0.02*want-0.5 {
			t.Errorf("%s %s: ledger %v kWh, difference of two runs %v", f.ID, f.Kind, f.LostKWh, want)
		}
	}
	if checked == 0 {
		t.Error("nothing to compare")
	}
}

func BenchmarkScoredSeed(b *testing.B) {
	for b.Loop() {
		for _, c := range Scored(1, time.Date(2025, 10, 1, 0, 0, 0, 0, time.UTC)) {
			c.Site.Frames(c.Site.Start, c.Until, c.Step)
			c.Site.TruthBetween(c.Site.Start, c.Until)
		}
	}
}
