package detect_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/series"
	"app.sunloop/engine/simulate"
)

var start = time.Date(2025, 10, 1, 0, 0, 0, 0, time.UTC)

// look runs detection on a simulated site as a service would configure it.
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
		unit := detect.Unit{AssetID: u.AssetID, CapacityKW: u.CapacityKW, Strings: u.Strings, Tracker: u.Tracker, Frame: frames[u.AssetID]}
		if !u.Tracker {
			plane := u.Plane
			unit.Plane = &plane
		}
		in.Units = append(in.Units, unit)
	}
	return in
}

// What is announced at a time is announced by every run that goes beyond it,
// at the same time and with the same start: nothing later was looked at.
func TestNoLookAhead(t *testing.T) {
	type key struct {
		family          detect.Family
		start, detected time.Time
		units           string
	}
	announced := func(r detect.Report, until time.Time) map[key]bool {
		out := map[key]bool{}
		for _, e := range r.Events {
			units := strings.Join(e.Units, " ")
			if e.Family == detect.Clipping {
				units = "" // more may come to their limit
			}
			parts := e.Members
			if len(parts) == 0 {
				parts = []detect.Member{{Unit: units, Start: e.Start, DetectedAt: e.DetectedAt}}
			}
			for _, m := range parts {
				if !m.DetectedAt.After(until) {
					out[key{e.Family, m.Start, m.DetectedAt, m.Unit}] = true
				}
			}
		}
		return out
	}
	const days = 75
	fleets := []*simulate.Site{
		simulate.Labelled(3, start, 9, days, simulate.UnitOutage, simulate.SiteOutage, simulate.CommunicationGap, simulate.StringLoss, simulate.Curtailment).Sites[0],
		simulate.Labelled(6, start, 12, days, simulate.TrackerFault, simulate.IntermittentTrip, simulate.ScaleError, simulate.Derating, simulate.Spikes, simulate.StuckSensor, simulate.IrradianceSensor, simulate.TimeShift, simulate.GroundFault).Sites[1],
	}
	for n, s := range fleets {
		end := s.Start.AddDate(0, 0, days)
		whole := s.Frames(s.Start, end, 15*time.Minute)
		run := func(now time.Time) detect.Report {
			r, err := detect.Run(context.Background(), input(s, whole, now))
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		full := run(end)
		families := map[detect.Family]bool{}
		for _, e := range full.Events {
			families[e.Family] = true
		}
		if len(full.Events) < 7 || len(families) < 3 {
			t.Fatalf("only %d events of %d families to hold against", len(full.Events), len(families))
		}
		step := 41 + 60*n
		if testing.Short() {
			step = 487
		}
		for quarter := 96; quarter < days*96; quarter += step * 7 {
			now := s.Start.Add(time.Duration(quarter) * 15 * time.Minute)
			if diff := cmp.Diff(announced(full, now), announced(run(now), now)); diff != "" {
				t.Fatalf("%s, by %v (-whole +cut off):\n%s", s.ID, now, diff)
			}
		}
	}
}

// plantOf is a fleet of simple units under a plain sun, for cases by hand.
func plantOf(units int, days int, step time.Duration) detect.Input {
	in := detect.Input{Site: detect.Site{ID: "hand"}, Now: start.AddDate(0, 0, days)}
	for k := range units {
		var f series.Frame
		var power []float64
		for t := start; t.Before(in.Now); t = t.Add(step) {
			f.Times = append(f.Times, t.Unix())
			power = append(power, max(0, 45*math.Sin(math.Pi*(t.Sub(series.Midnight(t, time.UTC)).Hours()-6)/12))*(1+0.001*float64(k)))
		}
		f.Set(series.PowerKW, power)
		in.Units = append(in.Units, detect.Unit{AssetID: string(rune('A' + k)), CapacityKW: 50, Frame: f})
	}
	return in
}

// cut sets the power of a unit to v from a to b, in hours since the start.
func cut(in detect.Input, unit int, a, b, v float64) {
	f := in.Units[unit].Frame
	p := f.Values(series.PowerKW)
	for i, t := range f.Times {
		if h := float64(t-start.Unix()) / 3600; h >= a && h < b {
			p[i] = v
		}
	}
}

func run(t *testing.T, in detect.Input) detect.Report {
	t.Helper()
	r, err := detect.Run(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestScarceInputIsSaidNotGuessed(t *testing.T) {
	none := math.NaN()
	for _, c := range []struct {
		name  string
		input func() detect.Input
		notes []string // each is part of some sentence
		want  []detect.Family
	}{
		{"no units", func() detect.Input { return detect.Input{Now: start} }, nil, nil},
		{"one day, two units", func() detect.Input {
			in := plantOf(2, 1, 15*time.Minute)
			cut(in, 0, 10, 13, 0)
			return in
		}, []string{"Without coordinates", "The history has 1 day with production"}, []detect.Family{detect.InverterOutage}},
		{"two units with a past", func() detect.Input {
			in := plantOf(2, 20, 15*time.Minute)
			cut(in, 0, 19*24+9, 19*24+12, 0)
			return in
		}, []string{"A, B: its orientation is not known to equal that of two other units"}, []detect.Family{detect.InverterOutage}},
		{"no weather", func() detect.Input {
			in := plantOf(4, 20, 15*time.Minute)
			for k := range in.Units {
				cut(in, k, 19*24+9, 19*24+12, 0)
			}
			return in
		}, []string{"No irradiance is measured", "No temperature is measured"}, []detect.Family{detect.SiteOutage}},
		{"only NaN", func() detect.Input {
			in := plantOf(1, 3, 15*time.Minute)
			cut(in, 0, 0, 72, none)
			return in
		}, []string{"A: it has no reading of power or energy"}, nil},
		{"only NaN in one of three", func() detect.Input {
			in := plantOf(3, 3, 15*time.Minute)
			cut(in, 1, 0, 72, none)
			cut(in, 0, 2*24+9, 2*24+12, 0)
			return in
		}, []string{"B: it has no reading of power or energy"}, []detect.Family{detect.InverterOutage}},
		{"one row", func() detect.Input {
			in := plantOf(1, 1, 24*time.Hour)
			return in
		}, []string{"A: a single row"}, nil},
		{"no row", func() detect.Input {
			in := plantOf(1, 1, time.Hour)
			in.From = in.Now.Add(-time.Second)
			return in
		}, []string{"A: the period has no data of it"}, nil},
		{"one value a day", func() detect.Input { return plantOf(1, 30, 24*time.Hour) }, []string{"up to two hours apart"}, nil},
		{"one unit with a past", func() detect.Input {
			in := plantOf(1, 20, 15*time.Minute)
			cut(in, 0, 19*24+9, 19*24+15, 0)
			return in
		}, []string{"only unit", "no lifetime counter"}, []detect.Family{detect.InverterOutage}},
		{"one unit without a past", func() detect.Input {
			in := plantOf(1, 2, 15*time.Minute)
			cut(in, 0, 24+9, 24+15, 0)
			return in
		}, []string{"only unit"}, nil},
		{"no capacity", func() detect.Input {
			in := plantOf(3, 4, 15*time.Minute)
			for k := range in.Units {
				in.Units[k].CapacityKW = 0
			}
			cut(in, 2, 3*24+9, 3*24+12, 0)
			return in
		}, []string{"C: no capacity is given"}, []detect.Family{detect.InverterOutage}},
		{"never produced, no capacity", func() detect.Input {
			in := plantOf(2, 3, 15*time.Minute)
			in.Units[0].CapacityKW = 0
			cut(in, 0, 0, 72, 0)
			return in
		}, []string{"A: it has never produced"}, nil},
		{"energy in place of power", func() detect.Input {
			in := plantOf(3, 4, 15*time.Minute)
			for k := range in.Units {
				f := &in.Units[k].Frame
				energy := f.Values(series.PowerKW)
				for i := range energy {
					energy[i] /= 4
				}
				f.Columns = []series.Column{{Quantity: series.EnergyKWh, Values: energy}}
			}
			f := in.Units[1].Frame
			for i := 3*96 + 40; i < 3*96+52; i++ {
				f.Values(series.EnergyKWh)[i] = 0
			}
			return in
		}, nil, []detect.Family{detect.InverterOutage}},
		{"a counter alone", func() detect.Input {
			in := plantOf(3, 4, 15*time.Minute)
			for k := range in.Units {
				f := &in.Units[k].Frame
				power, counter := f.Values(series.PowerKW), make([]float64, f.Len())
				for i := 1; i < len(counter); i++ {
					p := power[i-1] / 4
					if k == 1 && i > 3*96+40 && i <= 3*96+52 {
						p = 0
					}
					counter[i] = counter[i-1] + p
				}
				f.Columns = []series.Column{{Quantity: series.EnergyCounterKWh, Values: counter}}
			}
			return in
		}, nil, []detect.Family{detect.InverterOutage}},
		{"power in W", func() detect.Input {
			in := plantOf(2, 3, 15*time.Minute)
			for k := range in.Units {
				for i, p := range in.Units[k].Frame.Values(series.PowerKW) {
					in.Units[k].Frame.Values(series.PowerKW)[i] = 1000 * p
				}
			}
			return in
		}, []string{"far beyond the capacity"}, []detect.Family{detect.DataQuality}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, c.input())
			var got []detect.Family
			for _, e := range r.Events {
				got = append(got, e.Family)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			for _, n := range c.notes {
				if !strings.Contains(strings.Join(r.NotEvaluated, "\n"), n) {
					t.Errorf("nothing is said of %q in %q", n, r.NotEvaluated)
				}
			}
		})
	}
}

// A unit that is out for two days and a night is one event; a restart that
// fails within the half hour does not end it.
func TestEventsMerge(t *testing.T) {
	in := plantOf(4, 6, 15*time.Minute)
	cut(in, 1, 3*24+10, 5*24+11, 0)
	cut(in, 1, 4*24+12, 4*24+12.25, 20)
	r := run(t, in)
	if len(r.Events) != 1 {
		t.Fatalf("%d events", len(r.Events))
	}
	e := r.Events[0]
	from, to := start.Add((3*24+10)*time.Hour), start.Add((5*24+11)*time.Hour)
	if !e.Start.Equal(from) || e.End == nil || !e.End.Equal(to) || !e.DetectedAt.Equal(from.Add(30*time.Minute)) {
		t.Errorf("from %v, announced %v, to %v", e.Start, e.DetectedAt, e.End)
	}
	// 45 kW·sin over 6..18 h gives 343.8 kWh a day. Lost are the first day
	// from ten on (257.8 kWh), the second completely except for the failed
	// restart, the third until eleven (127.4 kWh).
	if want := 257.8 + 343.8 + 127.4 - 5; math.Abs(e.LostKWh-want) > 0.02*want {
		t.Errorf("lost %.1f kWh, want %.1f", e.LostKWh, want)
	}
}

// Units that stop with each other are the site; one after the other, units.
func TestSiteBeforeUnit(t *testing.T) {
	together, staggered := plantOf(4, 10, 15*time.Minute), plantOf(4, 10, 15*time.Minute)
	for k := range 4 {
		cut(together, k, 9*24+10, 9*24+14, 0)
		cut(staggered, k, 9*24+9+float64(k), 9*24+15, 0)
	}
	for _, c := range []struct {
		in   detect.Input
		want []detect.Family
	}{
		{together, []detect.Family{detect.SiteOutage}},
		{staggered, []detect.Family{detect.InverterOutage, detect.InverterOutage, detect.InverterOutage, detect.InverterOutage}},
	} {
		var got []detect.Family
		for _, e := range run(t, c.in).Events {
			got = append(got, e.Family)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// A power register that is stuck at zero while the counter increases is a stuck
// reading and no outage.
func TestCounterOverrulesZero(t *testing.T) {
	in := plantOf(3, 4, 15*time.Minute)
	for k := range in.Units {
		f := &in.Units[k].Frame
		power, counter := f.Values(series.PowerKW), make([]float64, f.Len())
		for i := 1; i < len(counter); i++ {
			counter[i] = counter[i-1] + power[i-1]/4
		}
		f.Set(series.EnergyCounterKWh, counter)
	}
	cut(in, 1, 3*24+9, 3*24+14, 0)
	if r := run(t, in); len(r.Events) != 1 || r.Events[0].Family != detect.StuckSensor {
		t.Errorf("%+v", r.Events)
	}
}

func TestExpectedIsReturned(t *testing.T) {
	in := plantOf(3, 5, 15*time.Minute)
	in.Keep = 30 * time.Hour
	r := run(t, in)
	got := r.Expected["B"]
	if !got.Start.Equal(in.Now.Add(-in.Keep)) || !got.End().Equal(in.Now) {
		t.Fatalf("from %v to %v", got.Start, got.End())
	}
	noon := in.Now.Add(-12 * time.Hour)
	if v := got.At(noon); math.Abs(v-45) > 1 {
		t.Errorf("at noon %v kW are expected, want 45", v)
	}
}

// Every event has evidence in sentences, some of it in favour.
func TestEvidenceIsInSentences(t *testing.T) {
	s := simulate.Labelled(1, start, 6, 60, simulate.UnitOutage, simulate.CommunicationGap, simulate.SiteOutage).Sites[1]
	for _, e := range look(t, s, s.Start, s.Start.AddDate(0, 0, 60), 15*time.Minute).Events {
		favour := 0
		for _, v := range e.Evidence {
			if v.Supports() {
				favour++
			}
			if v.Text == "" || !strings.HasSuffix(v.Text, ".") {
				t.Errorf("evidence %s has no sentence: %q", v.Kind, v.Text)
			}
		}
		if favour == 0 {
			t.Errorf("%s of %v: no evidence for it", e.Family, e.Units)
		}
	}
}

func TestRunStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := detect.Run(ctx, plantOf(2, 2, time.Hour)); err == nil {
		t.Error("no error")
	}
}

func BenchmarkHundredInvertersYear5min(b *testing.B) {
	units, end := 100, start.AddDate(1, 0, 0)
	if testing.Short() {
		units, end = 10, start.AddDate(0, 3, 0)
	}
	s := simulate.Clean(1, start, units).Sites[0]
	in := input(s, s.Frames(start, end, 5*time.Minute), end)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := detect.Run(context.Background(), in); err != nil {
			b.Fatal(err)
		}
	}
}
