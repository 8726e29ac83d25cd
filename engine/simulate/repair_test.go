package simulate

import (
	"bytes"
	"testing"
	"time"
)

// A repair ends the fault of its unit from its time on; what was reported before stays,
// and the counter continues from there.
func TestRepair(t *testing.T) {
	start := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	noon := time.Date(2026, 6, 11, 12, 0, 0, 0, time.UTC)
	make := func() *Site {
		s := Clean(1, start, 2).Sites[0]
		s.SetFaults([]Fault{{ID: "f", Kind: UnitOutage, Units: []string{s.Units[0].AssetID}, From: noon.Add(-24 * time.Hour)}})
		return s
	}
	csv := func(s *Site, from, to time.Time) string {
		var b bytes.Buffer
		if err := s.WriteCSV(&b, from, to, time.Hour); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	broken, repaired := make(), make()
	unit := repaired.Units[0].AssetID
	before := csv(repaired, start, noon.Add(6*time.Hour)) // all days are cached
	if repaired.Repair(unit, "string_outage", noon) || repaired.Repair("none", "inverter_outage", noon) || repaired.Repair(unit, "inverter_outage", noon.Add(-48*time.Hour)) {
		t.Error("a repair of what is not broken ended something")
	}
	if !repaired.Repair(unit, "inverter_outage", noon) {
		t.Fatal("nothing was repaired")
	}
	if got := csv(repaired, start, noon); got != csv(broken, start, noon) || !bytes.HasPrefix([]byte(before), []byte(got)) {
		t.Error("the repair changed what was reported before")
	}
	clean := Clean(1, start, 2).Sites[0]
	clean.SetFaults([]Fault{{ID: "f", Kind: UnitOutage, Units: []string{unit}, From: noon.Add(-24 * time.Hour), To: noon}})
	if csv(repaired, noon, noon.Add(48*time.Hour)) != csv(clean, noon, noon.Add(48*time.Hour)) {
		t.Error("after the repair the site differs from one whose fault ended at that time")
	}
}
