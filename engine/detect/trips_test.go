package detect_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/series"
)

// Without other units of the site, readings of nothing between readings of much power
// are short stops, as no cloud takes all; a reading that is only low, as under a storm, is
// none, nor is one over which the counter increased.
func TestTripsOfOneUnit(t *testing.T) {
	stops := []int{10 * 60, 12 * 60, 14 * 60}
	for _, c := range []struct {
		name    string
		times   []int
		share   float64
		counter bool
		want    int
	}{
		{"three stops", stops, 0, false, 1},
		{"two stops", stops[:2], 0, false, 0},
		{"three dark clouds", stops, 0.02, false, 0},
		{"three zeros while the counter increased", stops, 0, true, 0},
	} {
		lost := 0.0
		in := roof(false, func(day, minute int, power, light float64) (float64, float64) {
			if day == clearDay && slices.Contains(c.times, minute) {
				lost += (1 - c.share) * power / 4
				power *= c.share
			}
			return power, light
		})
		if c.counter {
			f := in.Units[0].Frame
			counter := []float64{1000}
			for i, p := range f.Values(series.PowerKW)[:f.Len()-1] {
				if at := time.Unix(f.Times[i], 0).UTC(); dayOf(in, at) == clearDay && slices.Contains(c.times, at.Hour()*60+at.Minute()) {
					p = 5
				}
				counter = append(counter, counter[i]+max(p, 0)/4)
			}
			f.Set(series.EnergyCounterKWh, counter)
			in.Units[0].Frame = f
		}
		_, events := judged(t, in)
		found := events[detect.IntermittentTrip]
		if len(found) != c.want {
			t.Errorf("%s: found %v, want %d short stops", c.name, events, c.want)
			continue
		}
		for _, e := range found {
			if len(e.Occasions) != 3 || math.Abs(e.LostKWh-lost) > 0.1*lost {
				t.Errorf("%s: %d stops with %.2f kWh, want 3 with %.2f", c.name, len(e.Occasions), e.LostKWh, lost)
			}
		}
	}
}
