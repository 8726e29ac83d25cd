package simulate

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"app.sunloop/engine/series"
)

var (
	start = time.Date(2025, 10, 1, 0, 0, 0, 0, time.UTC)
	now   = time.Date(2026, 6, 15, 9, 20, 0, 0, time.UTC)
)

func TestTelemetryDoesNotDependOnTheQuestion(t *testing.T) {
	whole := Demo(7, start, now)
	rapid.Check(t, func(t *rapid.T) {
		site := rapid.IntRange(0, 2).Draw(t, "site")
		from := now.Add(-time.Duration(rapid.IntRange(0, 2*24*60).Draw(t, "minutes back")) * time.Minute)
		span := time.Duration(rapid.IntRange(1, 20*60).Draw(t, "minutes")) * time.Minute
		step := rapid.SampledFrom([]time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour}).Draw(t, "step")
		cut := from.Add(span / 3)

		// The other fleet is asked for the later part first.
		other := freshFleet
		all := whole.Sites[site].Frames(from, from.Add(span), step)
		late := other.Sites[site].Frames(cut, from.Add(span), step)
		early := other.Sites[site].Frames(from, cut, step)
		for id, f := range all {
			if parts := series.Merge(early[id], late[id]); !same(f, parts) {
				t.Fatalf("%s in two parts (-whole +parts):\n%s", id, cmp.Diff(f, parts, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()))
			}
		}
	})
}

// same compares frames without reflection, because they are long.
func same(a, b series.Frame) bool {
	if a.Len() == 0 && b.Len() == 0 {
		return true
	}
	equal := func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) }
	return slices.Equal(a.Times, b.Times) && slices.EqualFunc(a.Columns, b.Columns, func(c, d series.Column) bool {
		return c.Quantity == d.Quantity && slices.EqualFunc(c.Values, d.Values, equal)
	})
}

var freshFleet = Demo(7, start, now)

func TestSampleIsTheRowOfTheHistory(t *testing.T) {
	s := Demo(3, start, now).Site("Sibaya")
	at := now.Add(7 * time.Minute)
	got := s.Sample(at, 15*time.Minute)
	want := s.Frames(now.Add(-time.Hour), now.Add(time.Hour), 15*time.Minute)
	stamp := at.Truncate(15 * time.Minute).Unix()
	if len(got) != len(s.Units) {
		t.Fatalf("%d of %d units are heard", len(got), len(s.Units))
	}
	for id, f := range got {
		if diff := cmp.Diff(want[id].Slice(stamp, stamp+1), f, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s (-history +live):\n%s", id, diff)
		}
	}
}

// The counter is the integral of power at every step, over clock changes too.
func TestCounterIsTheIntegralOfPower(t *testing.T) {
	s := Demo(5, start, now).Site("Havelland")
	from := time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC) // clocks spring forward on the 29th
	for _, step := range []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour} {
		f := s.Frames(from, from.AddDate(0, 0, 3), step)[s.Units[0].AssetID]
		power, counter := f.Values(series.PowerKW), f.Values(series.EnergyCounterKWh)
		var sum float64
		for i, p := range power {
			if made := counter[i] - counter[0]; math.Abs(made-sum) > 0.02 {
				t.Fatalf("step %v: the counter made %.3f kWh by %v, power %.3f", step, made, time.Unix(f.Times[i], 0), sum)
			}
			sum += p * step.Hours()
		}
		if sum < 50 {
			t.Errorf("step %v: only %.1f kWh in three days of March", step, sum)
		}
	}
}

func TestYieldIsOfThisWorld(t *testing.T) {
	fleet := Demo(1, start, now)
	for _, want := range []struct {
		site      string
		low, high float64 // kWh for each kW of AC rating in a year; PVGIS gives 1,010 (Berlin), 1,650 (Durban), 1,950 (Phoenix) for each kWp
	}{{"Sibaya", 1500, 2300}, {"Havelland", 950, 1500}, {"Gila-Bend", 2000, 2700}} {
		s := fleet.Site(want.site)
		s.SetFaults(nil)
		s.mu.Lock()
		a, b := s.counters(s.dayIndex(start)), s.counters(s.dayIndex(start)+365)
		s.mu.Unlock()
		var sum float64
		for i := range a {
			sum += b[i] - a[i]
		}
		if y := sum / s.CapacityKW(); y < want.low || y > want.high {
			t.Errorf("%s makes %.0f kWh/kW a year, want %.0f to %.0f", s.ID, y, want.low, want.high)
		} else {
			t.Logf("%s: %.0f kWh/kW", s.ID, y)
		}
	}
}

func TestDemoHoldsWhatTheContractNames(t *testing.T) {
	f := Demo(1, start, now)
	s := f.Site("Sibaya")
	if s == nil || s.Zone.String() != "Africa/Johannesburg" || s.Currency != "ZAR" || s.Units[0].AssetID != "INV-1000000054495190" || s.TerminalID != "TERM-1000000054495190" {
		t.Errorf("Sibaya is not as the contract names it: %+v", s)
	}
	units := 0
	ids := map[string]bool{}
	for _, s := range f.Sites {
		units += len(s.Units)
		for _, u := range s.Units {
			ids[u.AssetID] = true
		}
	}
	if units != 24 || len(ids) != 24 {
		t.Errorf("%d inverters with %d ids, want 24", units, len(ids))
	}
}

// At any hour of any season the demo has an active outage, an old string loss,
// soiling, a gap within the day, and curtailment that costs energy.
func TestDemoFaultsAreThereAtNow(t *testing.T) {
	for hours := 0; hours < 366*24; hours += 24*29 + 5 {
		now := now.Add(time.Duration(hours) * time.Hour)
		f := Demo(uint64(hours), now.AddDate(-1, 0, 0), now)
		found := map[Kind]float64{}
		for _, fault := range f.Truth(now) {
			recent := fault.Overlaps(now.AddDate(0, 0, -1), now)
			lost := 0.0
			switch {
			case fault.Kind == UnitOutage && fault.Open(now), fault.Kind == StringLoss && fault.Open(now), fault.Kind == Soiling && fault.Open(now):
				lost = f.Site(fault.SiteID).LostKWh(fault, now.AddDate(0, 0, -30), now)
			case fault.Kind == CommunicationGap && recent:
				lost = 1
			case fault.Kind == Curtailment && fault.Overlaps(now.AddDate(0, 0, -40), now):
				lost = f.Site(fault.SiteID).LostKWh(fault, now.AddDate(0, 0, -40), now)
			}
			found[fault.Kind] += lost
		}
		for _, k := range []Kind{UnitOutage, StringLoss, Soiling, CommunicationGap, Curtailment} {
			if found[k] <= 0 {
				t.Errorf("at %v there is no %s", now, k)
			}
		}
		if next := f.Truth(now.Add(6 * time.Hour)); len(next) == len(f.Truth(now)) {
			t.Errorf("nothing begins within six hours after %v", now)
		}
	}
}

func TestFaultsShowInTheData(t *testing.T) {
	base := Clean(11, start, 3)
	s := base.Site("Phoenix")
	noon := time.Date(2025, 10, 20, 19, 0, 0, 0, time.UTC)
	id := s.Units[1].AssetID
	healthy := s.Frames(noon.Add(-4*time.Hour), noon.Add(6*time.Hour), 5*time.Minute)[id]
	frame := func(f Fault) series.Frame {
		f.Units, f.From, f.To = []string{id}, noon, noon.Add(2*time.Hour)
		s.SetFaults([]Fault{f})
		return s.Frames(noon.Add(-4*time.Hour), noon.Add(6*time.Hour), 5*time.Minute)[id]
	}
	at := func(f series.Frame, q series.Quantity, t time.Time) float64 {
		part := f.Slice(t.Unix(), t.Unix()+1)
		if part.Len() == 0 {
			return math.Inf(-1)
		}
		return part.At(q, 0)
	}
	mid, after := noon.Add(time.Hour), noon.Add(150*time.Minute)
	full := at(healthy, series.PowerKW, mid)

	out := frame(Fault{Kind: UnitOutage, Code: 64})
	if p, c := at(out, series.PowerKW, mid), at(out, series.ErrorCode, mid); p > 0 || c != 64 {
		t.Errorf("outage reports %v kW and code %v", p, c)
	}
	if before, later := at(out, series.EnergyCounterKWh, noon), at(out, series.EnergyCounterKWh, noon.Add(2*time.Hour)); before != later {
		t.Errorf("the counter of a unit that is out goes from %v to %v", before, later)
	}
	if lost := s.LostKWh(s.Faults[0], noon, noon.Add(24*time.Hour)); math.Abs(lost-(at(healthy, series.EnergyCounterKWh, noon.Add(2*time.Hour))-at(healthy, series.EnergyCounterKWh, noon))) > 0.05 {
		t.Errorf("lost energy %v is not what the healthy unit made", lost)
	}
	for gap, want := range map[Gap]float64{RowsRemoved: math.Inf(-1), RowsEmpty: math.NaN(), RowsHeld: at(healthy, series.PowerKW, noon.Add(-5*time.Minute))} {
		f := frame(Fault{Kind: CommunicationGap, Gap: gap})
		if got := at(f, series.PowerKW, mid); !cmp.Equal(got, want, cmpopts.EquateNaNs()) {
			t.Errorf("gap %d reports %v, want %v", gap, got, want)
		}
		if got, want := at(f, series.EnergyCounterKWh, after), at(healthy, series.EnergyCounterKWh, after); got != want {
			t.Errorf("after gap %d the counter is %v, want %v as if nothing had been", gap, got, want)
		}
	}
	if got := at(frame(Fault{Kind: StringLoss, Severity: 0.25}), series.PowerKW, mid); full < s.Units[1].CapacityKW && math.Abs(got/full-0.75) > 0.001 {
		t.Errorf("a quarter of the strings lost leaves %v of %v kW", got, full)
	}
	if got, want := at(frame(Fault{Kind: Curtailment, Severity: 0.4}), series.PowerKW, mid), 0.4*s.Units[1].CapacityKW; math.Abs(got-want) > 0.001 {
		t.Errorf("curtailed to 40 %% the unit makes %v kW, want %v", got, want)
	}
	if got, want := at(frame(Fault{Kind: StuckSensor}), series.PowerKW, mid), at(healthy, series.PowerKW, noon.Add(-5*time.Minute)); got != want {
		t.Errorf("a stuck reading says %v, want %v", got, want)
	}
	if got := at(frame(Fault{Kind: PartialShade, Severity: 0.5, AzimuthDeg: 100, WidthDeg: 160}), series.PowerKW, mid); got > 0.75*full {
		t.Errorf("half the beam lost leaves %v of %v kW", got, full)
	}
}

func TestConcurrentUse(t *testing.T) {
	s := Demo(9, now.AddDate(0, 0, -20), now).Site("Gila-Bend")
	want := s.Frames(now.AddDate(0, 0, -3), now, 15*time.Minute)
	var group sync.WaitGroup
	for back := range 6 {
		group.Go(func() {
			from := now.AddDate(0, 0, -3).Add(time.Duration(back) * 5 * time.Hour)
			for id, f := range s.Frames(from, now, 15*time.Minute) {
				if !same(want[id].Slice(from.Unix(), now.Unix()), f) {
					t.Errorf("%s differs from what one asker got", id)
				}
			}
		})
	}
	group.Wait()
}

func TestWriteCSV(t *testing.T) {
	s := Demo(1, start, now).Site("Sibaya")
	var b bytes.Buffer
	if err := s.WriteCSV(&b, now, now.Add(30*time.Minute), 15*time.Minute, s.Units[1].AssetID, s.Units[0].AssetID); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 5 || lines[0]+"\n" != Header || !strings.HasPrefix(lines[1], "2026-06-15T09:30:00Z,INV-1000000054495190,") {
		t.Errorf("got\n%s", b.String())
	}
	for _, l := range lines {
		if strings.Count(l, ",") != strings.Count(Header, ",") {
			t.Errorf("%q has another number of cells than the header", l)
		}
	}
	if err := s.WriteCSV(&b, now, now, time.Minute, "INV-9"); err == nil {
		t.Error("an asset that is not there is not refused")
	}
}

// Neighbouring inverters have nearly the same sky.
func TestUnitsShareTheSky(t *testing.T) {
	s := Clean(2, start, 4).Site("Berlin")
	frames := s.Frames(start, start.AddDate(0, 0, 60), 15*time.Minute)
	x, y := frames[s.Units[0].AssetID].Values(series.PowerKW), frames[s.Units[1].AssetID].Values(series.PowerKW)
	var sx, sy, sxx, syy, sxy, n float64
	for i := range x {
		if x[i] > 0 && y[i] > 0 {
			sx, sy, sxx, syy, sxy, n = sx+x[i], sy+y[i], sxx+x[i]*x[i], syy+y[i]*y[i], sxy+x[i]*y[i], n+1
		}
	}
	if r := (n*sxy - sx*sy) / math.Sqrt((n*sxx-sx*sx)*(n*syy-sy*sy)); r < 0.93 || r > 0.9999 {
		t.Errorf("correlation of neighbours is %.4f", r)
	}
}

func BenchmarkDemoYear15min(b *testing.B) {
	for b.Loop() {
		f := Demo(1, start, start.AddDate(1, 0, 0))
		for _, s := range f.Sites {
			s.Frames(start, start.AddDate(1, 0, 0), 15*time.Minute)
		}
	}
}

func BenchmarkLiveSample(b *testing.B) {
	s := Demo(1, start, now).Site("Sibaya")
	s.Sample(now, 5*time.Second)
	for b.Loop() {
		s.Sample(now, 5*time.Second)
	}
}
