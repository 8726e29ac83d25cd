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

// part is the part of a finding that one fault can match: that of one of its units, or
// all of it, which is the unit "".
type part struct {
	finding int
	unit    string
}

// pair is a fault and the part that is taken for it.
type pair struct {
	truth int
	part
}

// matching is the outcome of a case.
type matching struct {
	truthOf map[int]int           // by finding: the first of its faults
	foundBy map[int]int           // by truth
	partOf  map[int]detect.Member // by truth: the part of that finding
}

// parts are what one fault each can match of a finding: its members, as units with one cause may have
// independent faults that began together, or all of it.
func parts(e *diagnose.Finding) []string {
	if len(e.Members) == 0 {
		return []string{""}
	}
	return e.Units
}

// match pairs faults and findings: they share a unit, the family
// or its coarse group, and the finding overlaps the fault or starts within a
// day or a quarter of the fault's length of it. The same family comes before
// the same group, then the longest overlap. A fault matches one finding. A finding of several
// units matches one fault for each of its members at the most, others one.
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
			for _, unit := range parts(e) {
				if unit != "" && !f.Concerns(unit) {
					continue
				}
				m := e.Member(unit)
				overlap := minTime(to, endedAt(m.End, now)).Sub(maxTime(from, m.Start))
				if overlap <= 0 && m.Start.Sub(from).Abs() > slack {
					continue
				}
				all = append(all, candidate{pair{t, part{k, unit}}, exact, f.Visible, overlap})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(yesFirst(a.exact, b.exact), yesFirst(a.visible, b.visible), cmp.Compare(b.overlap, a.overlap))
	})
	m := matching{truthOf: map[int]int{}, foundBy: map[int]int{}, partOf: map[int]detect.Member{}}
	used := map[part]bool{}
	for _, c := range all {
		if _, found := m.foundBy[c.truth]; found || used[c.part] {
			continue
		}
		used[c.part] = true
		if _, ok := m.truthOf[c.finding]; !ok {
			m.truthOf[c.finding] = c.truth
		}
		m.foundBy[c.truth], m.partOf[c.truth] = c.finding, partFor(&findings[c.finding], &truth[c.truth])
	}
	return m
}

func endOf(f *simulate.Truth, now time.Time) time.Time {
	if f.To.IsZero() || f.To.After(now) {
		return now
	}
	return f.To
}

func ended(e *diagnose.Finding, now time.Time) time.Time { return endedAt(e.End, now) }

func endedAt(end *time.Time, now time.Time) time.Time {
	if end != nil {
		return *end
	}
	return now
}

// partFor is the part of a finding that is a fault's: that of its unit, or all of it, if
// the fault concerns several of the finding's units.
func partFor(e *diagnose.Finding, f *simulate.Truth) detect.Member {
	unit := ""
	for _, u := range e.Units {
		if f.Concerns(u) {
			if unit != "" {
				return e.Member("")
			}
			unit = u
		}
	}
	return e.Member(unit)
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
