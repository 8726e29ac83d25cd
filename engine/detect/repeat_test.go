package detect_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/series"
	"app.sunloop/engine/simulate"
)

// TestRepeatedData: a portal delivers the readings of the day before under new times from
// noon on. It is found as that, on all units, and ends when true readings return; nothing
// else is reported for them. Coarse readings of clear days are no repetition.
func TestRepeatedData(t *testing.T) {
	day := 24 * time.Hour
	for _, step := range []time.Duration{15 * time.Minute, time.Hour} {
		s := simulate.Clean(9, start, 8).Sites[0]
		now := s.Start.Add(40 * day)
		from, to := s.Start.Add(30*day+11*time.Hour), s.Start.Add(32*day+12*time.Hour)
		frames := s.Frames(s.Start, now, step)
		for _, f := range frames {
			for _, c := range f.Columns {
				values := c.Values
				for i, at := range f.Times {
					if at < from.Unix() || at >= to.Unix() {
						continue
					}
					if j, ok := slices.BinarySearch(f.Times, at-86400); ok {
						values[i] = values[j]
					}
				}
			}
		}
		report := evaluate(t, s, frames, now)
		var found []detect.Event
		for _, e := range report.Events {
			if e.Family == detect.RepeatedData {
				found = append(found, e)
			} else if e.Start.Before(to) && e.LastSeen.After(from.Add(day)) && e.Family != detect.Clipping {
				t.Errorf("%s: also %s of %v from %s", step, e.Family, e.Units, e.Start)
			}
		}
		if len(found) != 1 {
			t.Fatalf("%s: %d events: %v", step, len(found), familiesOf(report))
		}
		e := found[0]
		if len(e.Units) != len(s.Units) || e.End == nil || e.Start.Before(from.Add(-step)) || e.Start.After(from.Add(2*step)) || e.End.Before(to.Add(-16*time.Hour)) || e.End.After(to.Add(step)) ||
			e.DetectedAt.After(from.Add(7*time.Hour)) || e.LostKWh != 0 || len(e.Evidence) < 2 {
			t.Errorf("%s: %+v", step, e)
		}
	}
}

func TestCoarseReadingsAreNotRepeated(t *testing.T) {
	for _, site := range []int{0, 1, 2} {
		s := simulate.Clean(9, start, 8).Sites[site]
		now := s.Start.Add(120 * 24 * time.Hour)
		frames := s.Frames(s.Start, now, time.Hour)
		for _, f := range frames {
			for _, c := range f.Columns {
				for i := range c.Values {
					c.Values[i] = math.Round(c.Values[i])
				}
			}
		}
		if n := familiesOf(evaluate(t, s, frames, now))[detect.RepeatedData]; n > 0 {
			t.Errorf("site %d: %d events", site, n)
		}
	}
}

// A meter whose readings come in coarse steps by day and in finer ones by night, as its own
// use: near sunset, days are equal by chance.
func TestCoarseReadingsWithNightUse(t *testing.T) {
	report, in := practice(t, 0, 1, 95)
	for _, u := range in.Units {
		coarse, fine := 0, 0
		for i := range u.Frame.Times {
			if p := u.Frame.At(series.PowerKW, i); p > 0 && p < u.CapacityKW/100 {
				coarse++
			} else if p < 0 {
				fine++
			}
		}
		if coarse == 0 || fine == 0 {
			t.Fatalf("%s: %d readings of weak light, %d of own use", u.AssetID, coarse, fine)
		}
	}
	if n := familiesOf(report)[detect.RepeatedData]; n > 0 {
		t.Errorf("%d events of repeated data", n)
	}
}

// Under a low sun two days differ by a part of the reading: forty minutes of equal readings
// before a sunset in five-minute data are chance.
func TestEqualSunsetsAreNotRepeated(t *testing.T) {
	report, in := practice(t, 1, 1, 250)
	if step := in.Units[0].Frame.Times[1] - in.Units[0].Frame.Times[0]; step != 300 || len(in.Units) != 1 {
		t.Fatalf("%d units by %d s: another case", len(in.Units), step)
	}
	if n := familiesOf(report)[detect.RepeatedData]; n > 0 {
		t.Errorf("%d events of repeated data", n)
	}
}

// practice evaluates the first days of a site of a seed of sites as in practice.
func practice(t *testing.T, seed uint64, site, days int) (detect.Report, detect.Input) {
	t.Helper()
	c := simulate.Practice(seed, start)[site]
	c.Until = c.Site.Start.AddDate(0, 0, days)
	frames := c.Frames()
	in := detect.Input{Site: detect.Site{ID: c.Site.ID, Location: &c.Site.Location, Zone: c.Site.Zone}, Now: c.Until}
	for _, u := range c.Units() {
		in.Units = append(in.Units, detect.Unit{AssetID: u.AssetID, CapacityKW: u.CapacityKW, Frame: frames[u.AssetID]})
	}
	report, err := detect.Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return report, in
}

func evaluate(t *testing.T, s *simulate.Site, frames map[string]series.Frame, now time.Time) detect.Report {
	t.Helper()
	report, err := detect.Run(t.Context(), input(s, frames, now))
	if err != nil {
		t.Fatal(err)
	}
	return report
}
