package detect

import (
	"math"
	"testing"
	"time"
)

// A usual day is that of the days without what faults took of them, and of a new unit that
// of a dull one at the least, so that a few minutes of a first day are no event.
func TestUsualDay(t *testing.T) {
	const rating = 10.0
	m := newMemory([]Unit{{CapacityKW: rating}})
	u := &m.units[0]
	if got := u.usualDay(); got != rating {
		t.Errorf("of a new unit it is %g kWh, want %g", got, rating)
	}
	v := &view{step: 3600, cells: 24, date: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)}
	v.resize(make([]source, 1))
	uv := &v.units[0]
	for day := range 40 {
		whole := 0.0
		for i := range v.cells {
			v.light[i], v.tempC[i], v.clear[i], uv.claimed[i] = math.NaN(), math.NaN(), 0, ""
			uv.power[i], uv.expected[i], uv.even[i] = 0, 0, math.NaN()
			if i > 6 && i < 18 {
				v.clear[i], uv.power[i], uv.expected[i] = 0.8, 6, 6
			}
			whole += uv.expected[i]
			switch { // a limit and a stop of every day
			case i >= 9 && i < 12:
				uv.claimed[i], uv.power[i] = Curtailment, 2
			case i >= 12 && i < 16:
				uv.claimed[i], uv.power[i] = InverterOutage, 0
			}
		}
		m.learnUnit(v, 0, rating)
		if got := u.usualDay(); got != whole {
			t.Fatalf("after %d days it is %g kWh, want %g", day+1, got, whole)
		}
	}
}
