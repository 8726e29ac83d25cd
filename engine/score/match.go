package score

import (
	"cmp"
	"slices"
	"time"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/diagnose"
	"app.sunloop/engine/simulate"
)

// coarse groups similar families: an event of a similar family finds
// the fault too, under another name.
var coarse = map[detect.Family]string{
	detect.StuckSensor: "readings", detect.DataQuality: "readings",
	detect.InverterOutage: "stops", detect.SiteOutage: "stops", detect.IntermittentTrip: "stops", detect.GroundFault: "stops", detect.ArcFault: "stops", detect.SnowCover: "stops",
	detect.Curtailment: "limits", detect.ThermalDerating: "limits",
	detect.StringOutage: "losses", detect.PartialShading: "losses", detect.Underperformance: "losses", detect.TrackerFault: "losses",
	detect.Soiling: "dirt and age", detect.Degradation: "dirt and age",
}

// pair is a fault and the finding that is taken for it.
type pair struct{ truth, finding int }

// matching is the outcome of a case.
type matching struct {
	pairs   []pair
	truthOf map[int]int // by finding
	foundBy map[int]int // by truth
}

// match pairs faults and findings, one to one: they share a unit, the family
// or its coarse group, and the finding overlaps the fault or starts within a
// day or a quarter of the fault's length of it. The same family comes before
// the same group, then the longest overlap.
func match(truth []simulate.Truth, findings []diagnose.Finding, now time.Time) matching {
	type candidate struct {
		pair
		exact   bool
		visible bool
		overlap time.Duration
	}
	var all []candidate
	for t := range truth {
		f := &truth[t]
		from, to := f.From, endOf(f, now)
		slack := max(24*time.Hour, to.Sub(from)/4)
		for k := range findings {
			e := &findings[k]
			exact := string(e.Family) == f.Family
			group := coarse[e.Family]
			if !exact && (group == "" || group != coarse[detect.Family(f.Family)]) || !slices.ContainsFunc(e.Units, f.Concerns) {
				continue
			}
			start, end := e.Start, ended(e, now)
			overlap := minTime(to, end).Sub(maxTime(from, start))
			if overlap <= 0 && start.Sub(from).Abs() > slack {
				continue
			}
			all = append(all, candidate{pair{t, k}, exact, f.Visible, overlap})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(yesFirst(a.exact, b.exact), yesFirst(a.visible, b.visible), cmp.Compare(b.overlap, a.overlap))
	})
	m := matching{truthOf: map[int]int{}, foundBy: map[int]int{}}
	for _, c := range all {
		_, usedTruth := m.foundBy[c.truth]
		_, usedFinding := m.truthOf[c.finding]
		if !usedTruth && !usedFinding {
			m.pairs = append(m.pairs, c.pair)
			m.truthOf[c.finding], m.foundBy[c.truth] = c.truth, c.finding
		}
	}
	return m
}

func endOf(f *simulate.Truth, now time.Time) time.Time {
	if f.To.IsZero() || f.To.After(now) {
		return now
	}
	return f.To
}

func ended(e *diagnose.Finding, now time.Time) time.Time {
	if e.End != nil {
		return *e.End
	}
	return now
}

func yesFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// excused reports whether a finding without a matching fault is right
// nevertheless: an outage that stops the logger is also a gap, unless it is
// reported as a data gap only; and a clock that is set forward leaves a gap.
func excused(e *diagnose.Finding, truth []simulate.Truth) bool {
	if e.Family != detect.CommunicationGap {
		return false
	}
	begins := func(t time.Time) bool { return t.Sub(e.Start).Abs() <= 2*time.Hour }
	return slices.ContainsFunc(truth, func(f simulate.Truth) bool {
		return f.RowsAbsent && e.Class != detect.Comms && f.Overlaps(e.Start.Add(-time.Hour), e.Start.Add(time.Hour)) ||
			f.Kind == simulate.TimeShift && (begins(f.From) || begins(f.To))
	})
}
