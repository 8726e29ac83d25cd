package detect_test

import (
	"testing"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/simulate"
)

// Eight units of two orientations whose readings have steps of 1.15 % of the rating: in
// weak light such readings are equal for half an hour while the others move.
func TestCoarseReadingsOfPark(t *testing.T) {
	report, in := practice(t, 16, 2, 200)
	if len(in.Units) != 8 {
		t.Fatalf("%d units: another case", len(in.Units))
	}
	truly := 0
	for _, f := range simulate.Practice(16, start)[2].Site.Faults {
		if f.Kind == simulate.StuckSensor && f.From.Before(in.Now) {
			truly++
		}
	}
	if n := familiesOf(report)[detect.StuckSensor]; n > truly+1 {
		t.Errorf("%d frozen readings of %d", n, truly)
	} else {
		t.Logf("%d frozen readings of %d", n, truly)
	}
}
