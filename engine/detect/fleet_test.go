package detect_test

import (
	"testing"
	"time"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/simulate"
)

var floorFamilies = []detect.Family{detect.SiteOutage, detect.InverterOutage, detect.CommunicationGap}

// On labelled fleets nearly every outage and gap is found, nearly nothing else
// is reported, and no gap of the data alone is called real.
func TestOutagesAndGapsOnLabelledFleets(t *testing.T) {
	const days, inverters = 60, 5
	for _, step := range []time.Duration{5 * time.Minute, 15 * time.Minute} {
		total := map[detect.Family]*score{}
		for seed := uint64(0); seed < 10; seed++ {
			if testing.Short() && seed > 1 || step == 5*time.Minute && seed > 5 {
				break // the finer grid three times the work
			}
			fleet := remember(simulate.Labelled(seed, start, inverters, days, simulate.UnitOutage, simulate.SiteOutage, simulate.CommunicationGap))
			for _, s := range fleet.Sites {
				now := s.Start.AddDate(0, 0, days)
				report := look(t, s, s.Start, now, step)
				for f, sc := range judge(t, s, report, now, floorFamilies...) {
					if total[f] == nil {
						total[f] = &score{}
					}
					total[f].add(sc)
					if sc.right < sc.events || sc.found < sc.truths || sc.wrongClass > 0 || sc.delay(1) > 2*time.Hour {
						t.Logf("seed %d %s %v %s: found %d of %d, %d of %d events right, %d of wrong class, latest %v", seed, s.ID, step, f, sc.found, sc.truths, sc.right, sc.events, sc.wrongClass, sc.delay(1))
						explain(t, s, report, f)
					}
				}
			}
		}
		limit := map[time.Duration]time.Duration{5 * time.Minute: 35 * time.Minute, 15 * time.Minute: 45 * time.Minute}[step]
		for _, f := range floorFamilies {
			sc := total[f]
			t.Logf("%v %-18s truths %3d recall %.3f precision %.3f energy recall %.3f lost error %.3f delay median %v P90 %v max %v wrong class %d",
				step, f, sc.truths, sc.recall(), sc.precision(), sc.energyRecall(), sc.lostError/max(sc.caught, 1), sc.delay(0.5), sc.delay(0.9), sc.delay(1), sc.wrongClass)
			if sc.recall() < 0.97 || sc.precision() < 0.97 {
				t.Errorf("%v %s: recall %.3f, precision %.3f", step, f, sc.recall(), sc.precision())
			}
			if sc.wrongClass > 0 {
				t.Errorf("%v: %d gaps of the data alone were called real", step, sc.wrongClass)
			}
			if d := sc.delay(0.9); d > limit {
				t.Errorf("%v %s: a tenth is found more than %v after it shows, limit %v", step, f, d, limit)
			}
		}
	}
}

// explain logs what was and what was found.
func explain(t *testing.T, s *simulate.Site, report detect.Report, family detect.Family) {
	for _, f := range s.Faults {
		if detect.Family(f.Kind) == family {
			t.Logf("   truth %v to %v, %d units from %s, severity %v, gap shape %d, rows absent %v", f.From.UTC(), f.To.UTC(), len(f.Units), f.Units[0], f.Severity, f.Gap, f.RowsAbsent)
		}
	}
	for _, e := range report.Events {
		if e.Family == family {
			t.Logf("   event %v to %v, %d units from %s, %s, announced %v: %s", e.Start, e.End, len(e.Units), e.Units[0], e.Class, e.DetectedAt, e.Summary)
		}
	}
}

// A fleet without faults raises next to no alarm.
func TestCleanFleetsAreQuiet(t *testing.T) {
	const days, inverters = 365, 3
	alarms, years := map[detect.Family]int{}, 0.0
	for seed := uint64(0); seed < 4; seed++ {
		if testing.Short() && seed > 0 {
			break
		}
		for _, s := range simulate.Clean(seed, start, inverters).Sites {
			now := s.Start.AddDate(0, 0, days)
			for _, e := range look(t, s, s.Start, now, 15*time.Minute).Events {
				alarms[e.Family]++
				t.Logf("seed %d %s: %s %v", seed, s.ID, e.Summary, e.Units)
			}
			years += inverters * days / 365.25
		}
	}
	total := 0
	for f, n := range alarms {
		t.Logf("%s: %.4f false alarms in an inverter-year", f, float64(n)/years)
		total += n
	}
	t.Logf("%d false alarms in %.0f inverter-years", total, years)
	if rate := float64(total) / years; rate > 0.05 {
		t.Errorf("%.3f false alarms in an inverter-year, limit 0.05", rate)
	}
}
