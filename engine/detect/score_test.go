package detect_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/series"
	"app.sunloop/engine/simulate"
)

var start = time.Date(2025, 10, 1, 0, 0, 0, 0, time.UTC)

// look runs detection on a simulated site as a service would know it.
func look(t testing.TB, s *simulate.Site, from, now time.Time, step time.Duration) detect.Report {
	t.Helper()
	report, err := detect.Run(context.Background(), input(s, s.Frames(from, now, step), now))
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func input(s *simulate.Site, frames map[string]series.Frame, now time.Time) detect.Input {
	in := detect.Input{Site: detect.Site{ID: s.ID, Location: &s.Location, Zone: s.Zone}, Now: now}
	for _, u := range s.Units {
		plane := u.Plane
		in.Units = append(in.Units, detect.Unit{AssetID: u.AssetID, CapacityKW: u.CapacityKW, Plane: &plane, Strings: u.Strings, Frame: frames[u.AssetID]})
	}
	return in
}

// score of a family over runs.
type score struct {
	truths, found int
	events, right int
	lost, caught  float64 // kWh
	delays        []time.Duration
	wrongClass    int // gaps of the data alone that were called real
	lostError     float64
}

func (s *score) recall() float64    { return float64(s.found) / max(float64(s.truths), 1) }
func (s *score) precision() float64 { return float64(s.right) / max(float64(s.events), 1) }
func (s *score) energyRecall() float64 {
	return s.caught / max(s.lost, 1e-9)
}

func (s *score) delay(q float64) time.Duration {
	if len(s.delays) == 0 {
		return 0
	}
	slices.Sort(s.delays)
	return s.delays[int(q*float64(len(s.delays)-1))]
}

// judge matches events with the truth, one to one: same family, a shared unit,
// and an overlap in time. What cannot be seen is left out of the truth: a fault
// that never costs 1 % of a unit's day, a gap that has no hour of daylight.
func judge(t testing.TB, s *simulate.Site, report detect.Report, now time.Time, families ...detect.Family) map[detect.Family]*score {
	out := map[detect.Family]*score{}
	for _, f := range families {
		out[f] = &score{}
	}
	used := map[int]bool{}
	for _, truth := range s.Faults {
		family := detect.Family(truth.Kind)
		sc := out[family]
		if sc == nil || !truth.From.Before(now) {
			continue
		}
		first, visible := onset(s, truth, now)
		if visible && !shows(s, truth, now) {
			visible = false
		}
		matched := -1
		for i, e := range report.Events {
			if used[i] || e.Family != family || !slices.ContainsFunc(e.Units, truth.Concerns) {
				continue
			}
			end := now
			if e.End != nil {
				end = *e.End
			}
			if truth.Overlaps(e.Start.Add(-time.Hour), end) {
				matched = i
				break
			}
		}
		if matched >= 0 {
			used[matched] = true
			e := report.Events[matched]
			sc.events, sc.right = sc.events+1, sc.right+1
			if truth.Kind == simulate.CommunicationGap && e.Class == detect.Real {
				sc.wrongClass++
			}
			if visible && !truth.RowsAbsent { // without rows, the gap is announced in time, and its nature at its end
				sc.delays = append(sc.delays, e.DetectedAt.Sub(first))
				if d := e.DetectedAt.Sub(first); d > 50*time.Minute {
					t.Logf("late: %v %v %v onset %v", d, e.Start, e.Summary, first)
				}
			}
		}
		if !visible {
			continue
		}
		lost := s.LostKWh(truth, truth.From, now)
		sc.truths++
		sc.lost += lost
		if matched >= 0 {
			sc.found++
			sc.caught += lost
			d := report.Events[matched].LostKWh - lost
			sc.lostError += max(d, -d)
		}
	}
	for i, e := range report.Events {
		// An outage that silences the logger too is rightly a gap as well,
		// as long as it is not called one of the data alone.
		silenced := e.Family == detect.CommunicationGap && e.Class != detect.Comms && slices.ContainsFunc(s.Faults, func(f simulate.Fault) bool {
			return f.RowsAbsent && f.Overlaps(e.Start, e.Start.Add(time.Hour))
		})
		if sc := out[e.Family]; sc != nil && !used[i] && !silenced {
			sc.events++
		}
	}
	return out
}

// shows says whether a fault of the further families is long and large enough
// to be seen: a string loss for ten days, a curtailment that takes a sixth of
// an hour's rating, a stuck reading for seven quarter hours.
func shows(s *simulate.Site, f simulate.Fault, now time.Time) bool {
	end := now
	if !f.To.IsZero() && f.To.Before(now) {
		end = f.To
	}
	switch f.Kind {
	case simulate.StringLoss:
		return end.Sub(f.From) >= 10*24*time.Hour
	case simulate.Curtailment:
		return s.LostKWh(f, f.From, end) >= s.CapacityKW()/6
	case simulate.StuckSensor:
		return end.Sub(f.From) >= 105*time.Minute
	}
	return true
}

// onset is when the fault first costs: a hundredth of what its first unit makes
// in a usual day is lost (or would be, for a gap); visible is false if less
// than an hour of it is by day.
func onset(s *simulate.Site, f simulate.Fault, now time.Time) (first time.Time, visible bool) {
	end := now
	if !f.To.IsZero() && f.To.Before(now) {
		end = f.To
	}
	frame := detectable(s).Frames(f.From, end, 5*time.Minute)[f.Units[0]]
	rating := 0.0
	for _, u := range s.Units {
		if u.AssetID == f.Units[0] {
			rating = u.CapacityKW
		}
	}
	lit, made := 0, 0.0
	for i, p := range frame.Values(series.PowerKW) {
		if made += max(p, 0) / 12; first.IsZero() && made > 0.01*4*rating {
			first = time.Unix(frame.Times[i], 0)
		}
		if p > 0.06*rating {
			lit++
		}
	}
	return first, lit >= 12 && !first.IsZero()
}

// detectable is the site as it would be without any fault.
func detectable(s *simulate.Site) *simulate.Site {
	if healthy[s] == nil {
		bare := &simulate.Site{ID: s.ID, Name: s.Name, Location: s.Location, Zone: s.Zone, Climate: s.Climate, Units: s.Units}
		healthy[s] = simulate.NewSite(seedOf[s], s.Start, bare)
	}
	return healthy[s]
}

var (
	healthy = map[*simulate.Site]*simulate.Site{}
	seedOf  = map[*simulate.Site]uint64{}
)

func remember(f *simulate.Fleet) *simulate.Fleet {
	for _, s := range f.Sites {
		seedOf[s] = f.Seed
	}
	return f
}

func (s *score) add(o *score) {
	s.truths, s.found, s.events, s.right = s.truths+o.truths, s.found+o.found, s.events+o.events, s.right+o.right
	s.lost, s.caught, s.lostError, s.wrongClass = s.lost+o.lost, s.caught+o.caught, s.lostError+o.lostError, s.wrongClass+o.wrongClass
	s.delays = append(s.delays, o.delays...)
}
