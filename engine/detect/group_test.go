package detect_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"app.sunloop/engine/detect"
)

// part writes a member as its unit and hours since the start.
type part struct {
	unit     string
	from, to float64 // to is 0 while it lasts
}

func partsOf(e detect.Event) (out []part) {
	hours := func(at time.Time) float64 { return at.Sub(start).Hours() }
	for _, m := range e.Members {
		p := part{unit: m.Unit, from: hours(m.Start)}
		if m.End != nil {
			p.to = hours(*m.End)
		}
		out = append(out, p)
	}
	return out
}

// Units that stop in the same minute are one event, of which one may recover before the
// others. One that stops later is another event.
func TestUnitsThatStopTogether(t *testing.T) {
	in := plantOf(8, 6, 15*time.Minute)
	const day = 5 * 24
	cut(in, 1, day+9, day+13, 0)
	cut(in, 2, day+9.25, day+11, 0) // within one step
	cut(in, 3, day+9, day+24, 0)
	cut(in, 5, day+10, day+12, 0)
	r := run(t, in)
	if len(r.Events) != 2 {
		t.Fatalf("%d events: %+v", len(r.Events), r.Events)
	}
	together, alone := r.Events[0], r.Events[1]
	want := []part{{"B", day + 9, day + 13}, {"C", day + 9.25, day + 11}, {"D", day + 9, 0}}
	if got := partsOf(together); !slices.Equal(got, want) {
		t.Errorf("the members are %v, want %v", got, want)
	}
	if together.Family != detect.InverterOutage || !slices.Equal(together.Units, []string{"B", "C", "D"}) || together.End != nil || !together.Start.Equal(start.Add((day+9)*time.Hour)) {
		t.Errorf("together: %+v", together)
	}
	if !slices.Equal(together.Affected(), []string{"D"}) {
		t.Errorf("affected are %v, want D", together.Affected())
	}
	sum := 0.0
	for _, m := range together.Members {
		sum += m.LostKWh
	}
	if b, c := together.Members[0].LostKWh, together.Members[1].LostKWh; math.Abs(sum-together.LostKWh) > 1e-6 || !(b > 1.5*c) || !(c > 50) {
		t.Errorf("the event lost %.1f kWh, its members %.1f (%.1f, %.1f, …)", together.LostKWh, sum, b, c)
	}
	if !slices.Equal(alone.Units, []string{"F"}) || len(alone.Members) != 0 {
		t.Errorf("alone: %v %v", alone.Units, alone.Members)
	}
	if v, ok := together.Find("neighbours"); !ok || v.Value != 3 {
		t.Errorf("the evidence does not name the common cause: %v", together.Evidence)
	}
}

// A logger of several units that is silent is one event, live and afterwards.
func TestUnitsOfOneLogger(t *testing.T) {
	in := plantOf(8, 6, 15*time.Minute)
	const day = 4 * 24
	for k := 2; k < 5; k++ {
		end := day + 14.0
		if k == 4 {
			end = day + 15
		}
		cut(in, k, day+9, end, math.NaN())
	}
	for _, now := range []float64{day + 11, day + 14.5, 6 * 24} {
		in := in
		in.Now = start.Add(time.Duration(now * float64(time.Hour)))
		r := run(t, in)
		if len(r.Events) != 1 {
			t.Fatalf("after %v h: %d events: %+v", now, len(r.Events), r.Events)
		}
		e := r.Events[0]
		want := []part{{"C", day + 9, day + 14}, {"D", day + 9, day + 14}, {"E", day + 9, day + 15}}
		for i := range want {
			if want[i].to > now {
				want[i].to = 0
			}
		}
		if got := partsOf(e); e.Family != detect.CommunicationGap || !slices.Equal(got, want) {
			t.Errorf("after %v h: %s %v, want %v", now, e.Family, got, want)
		}
	}
}

// Readings that freeze at once, and readings in another unit, are one event too.
func TestReadingsOfOneLogger(t *testing.T) {
	in := plantOf(6, 6, 15*time.Minute)
	cut(in, 1, 4*24+10, 4*24+16.5, 39)
	cut(in, 4, 4*24+10, 4*24+16.5, 41)
	r := run(t, in)
	if len(r.Events) != 1 || r.Events[0].Family != detect.StuckSensor || len(r.Events[0].Members) != 2 {
		t.Errorf("%+v", r.Events)
	}
}

// Events that are found apart from a run, of units with one cause, are one.
func TestTogether(t *testing.T) {
	silent := func(unit string, after time.Duration) detect.Event {
		at := start.Add(after)
		return detect.Event{Family: detect.DataSilence, Units: []string{unit}, Start: at, DetectedAt: at.Add(time.Hour), LastSeen: at.Add(time.Hour)}
	}
	list := []detect.Event{silent("A", 0), silent("B", time.Hour), silent("C", time.Minute)}
	ended := list[2].LastSeen
	list[2].End = &ended
	got := detect.Together(list, 5*time.Minute, map[string]float64{"A": 10, "B": 10, "C": 10})
	if len(got) != 2 || !slices.Equal(got[0].Units, []string{"A", "C"}) || got[0].End != nil || !slices.Equal(got[0].Affected(), []string{"A"}) || !slices.Equal(got[1].Units, []string{"B"}) {
		t.Errorf("%+v", got)
	}
}
