package kpi_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/domain/domaintest"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/engine/energy"
	"app.sunloop/engine/series"
)

// storeUnits stores frames of both units of twoUnits.
func storeUnits(t *testing.T, d *domaintest.Fixture, one, two series.Frame) {
	t.Helper()
	key := store.SiteKey{ID: "South", Zone: record.Zone("Europe/Vienna")}
	if err := d.Store.Append(t.Context(), key, []store.AssetFrame{{AssetID: "INV-1", Frame: one}, {AssetID: "INV-2", Frame: two}}); err != nil {
		t.Fatal(err)
	}
}

// A sample that states what it covers counts for that time in ratios, too: each
// unit makes 20 kW, and 30 kW from 10:00 to 11:00 UTC in one sample.
func TestKPIsOfStatedTime(t *testing.T) {
	d, _, day := twoUnits(t, steady(20))
	before := day.AddDate(0, 0, -1)
	f := sunny(before.Add(2*time.Hour), steady(20))
	stated := make([]float64, f.Len())
	power := f.Values(series.PowerKW)
	for i, at := range f.Times {
		stated[i] = math.NaN()
		switch hour := time.Unix(at, 0).Sub(before.Add(2 * time.Hour)).Hours(); {
		case hour == 10:
			power[i], stated[i] = 30, 3600
		case hour > 10 && hour < 11:
			power[i] = math.NaN()
		}
	}
	f.Set(series.CoveredS, stated)
	storeUnits(t, d, f, f)
	_, got := d.KPIsOf(before, day)
	wantFigures(t, got, map[string]float64{"energy": 420, "performance_ratio": 0.84, "specific_yield": 4.2, "data_availability": 1, "time_availability": 1})
}

// The energy of KPIs is that of the days, of the roll-up and of any two parts of
// the window, with a counter that exceeds power by 2 %, which the figure says.
func TestEnergyOfWindows(t *testing.T) {
	d, site, day := twoUnits(t, steady(20))
	before := day.AddDate(0, 0, -1)
	one, two := sunny(before.Add(2*time.Hour), steady(20)), sunny(before.Add(2*time.Hour), steady(20))
	counter := make([]float64, one.Len())
	for i := range counter {
		counter[i] = 1000 + 5.1*float64(i)
	}
	one.Set(series.EnergyCounterKWh, counter)
	storeUnits(t, d, one, two)
	days, err := d.Store.Daily(t.Context(), "South", before, day)
	if err != nil || len(days) != 2 {
		t.Fatal(days, err)
	}
	want := days[0].EnergyKWh + days[1].EnergyKWh
	if want < 403 || want > 405 {
		t.Fatalf("the day has %v kWh", want)
	}
	units, err := d.Sites.SiteAssets(t.Context(), "South")
	if err != nil {
		t.Fatal(err)
	}
	roll := func(from, to time.Time) float64 {
		t.Helper()
		r, err := d.KPIs.Rollup(t.Context(), site, units, from, to)
		if err != nil {
			t.Fatal(err)
		}
		return r.ProductionKWh
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) < 2e-3) {
			t.Errorf("%s has %v kWh, want %v", what, got, want)
		}
	}
	k, got := d.KPIsOf(before, day)
	wantFigures(t, got, map[string]float64{"energy": want, "specific_yield": want / 100})
	near("the waterfall", k.Losses.ActualKWh, want)
	near("the roll-up", roll(before, day), want)
	if basis := got["energy"].Basis; !strings.Contains(basis, "differ from power by +2.0 %, more than 0.5 %") {
		t.Errorf("the difference is not flagged: %q", basis)
	}
	for _, name := range []string{"energy", "specific_yield"} {
		if d := got[name].Difference; d == nil || !d.Flagged || math.Abs(d.Share-0.02) > 1e-3 || d.ComparedKWh < 195 || d.ComparedKWh > 200 {
			t.Errorf("the difference of %s is %+v, want 2 %% and flagged", name, d)
		}
	}
	for _, hours := range []int{1, 9, 12, 20} {
		at := before.Add(time.Duration(hours) * time.Hour)
		near("a day in two parts", parts(roll(before, at), roll(at, day)), want)
	}
	near("parts of two days", roll(before.Add(12*time.Hour), day.Add(12*time.Hour)), roll(before.Add(12*time.Hour), day)+roll(day, day.Add(12*time.Hour)))
	near("two days in parts", roll(before, before.Add(9*time.Hour))+roll(before.Add(9*time.Hour), day.Add(9*time.Hour))+roll(day.Add(9*time.Hour), day.AddDate(0, 0, 1)), want+400)
	_, got = d.KPIsOf(day, day.AddDate(0, 0, 1))
	if basis := got["energy"].Basis; strings.Contains(basis, "differ") {
		t.Errorf("power alone is flagged: %q", basis)
	}
	if d := got["energy"].Difference; d != nil {
		t.Errorf("power alone differs from itself by %+v", d)
	}
}

// parts is the sum of energies; NaN is a window without data.
func parts(kWh ...float64) float64 {
	sum := 0.0
	for _, v := range kWh {
		if !math.IsNaN(v) {
			sum += v
		}
	}
	return sum
}

// Energy that a logger added up over a gap is counted once, and in the time of the
// gap: 20 kWh for the hour without samples from 11:00 UTC on.
func TestEnergyOfAGap(t *testing.T) {
	d, site, day := twoUnits(t, steady(20))
	before := day.AddDate(0, 0, -1)
	start := before.Add(2 * time.Hour)
	f := sunny(start, steady(20))
	power := f.Values(series.PowerKW)
	kWh, steps := make([]float64, f.Len()), make([]float64, f.Len())
	for i, at := range f.Times {
		kWh[i], steps[i] = power[i]/4, 900
		switch minute := int(time.Unix(at, 0).Sub(start).Minutes()); {
		case minute >= 11*60 && minute < 12*60:
			power[i], kWh[i] = math.NaN(), math.NaN()
		case minute == 12*60:
			kWh[i] += 20
		}
	}
	f.Set(series.EnergyKWh, kWh)
	f.Set(series.StepS, steps)
	storeUnits(t, d, f, f)
	units, err := d.Sites.SiteAssets(t.Context(), "South")
	if err != nil {
		t.Fatal(err)
	}
	roll := func(from, to time.Time) float64 {
		t.Helper()
		r, err := d.KPIs.Rollup(t.Context(), site, units, from, to)
		if err != nil {
			t.Fatal(err)
		}
		return r.ProductionKWh
	}
	if whole := roll(before, day); math.Abs(whole-400) > 2e-3 {
		t.Errorf("the day has %v kWh, want 400", whole)
	}
	for _, minutes := range []int{11 * 60, 11*60 + 30, 12 * 60, 12*60 + 15} {
		at := start.Add(time.Duration(minutes) * time.Minute)
		if sum := parts(roll(before, at), roll(at, day)); math.Abs(sum-400) > 2e-3 {
			t.Errorf("in two parts at %v the day has %v kWh, want 400", at, sum)
		}
	}
	if gap := roll(start.Add(11*time.Hour), start.Add(12*time.Hour)); math.Abs(gap-40) > 2e-3 {
		t.Errorf("the hour of the gap has %v kWh, want 40", gap)
	}
}

// A unit reports nothing for 3 of 10 hours, through which its counter runs: the energy is
// known although 15 % of the data are missing, and the yield has no estimate of the silent
// unit in addition. Without the counter it is not known, and a counter that gains more than
// the unit can make tells nothing of the gap.
func TestEnergyOfGapsWithCounter(t *testing.T) {
	for name, c := range map[string]struct {
		stepKWh, gapKWh float64
		known           bool
	}{"counter": {5, 60, true}, "no counter": {math.NaN(), 0, false}, "impossible gain": {5, 6000, false}} {
		t.Run(name, func(t *testing.T) {
			d, _, day := twoUnits(t, steady(20))
			before := day.AddDate(0, 0, -1)
			utc := before.Add(2 * time.Hour)
			one, two := sunny(utc, steady(20)), series.Frame{}
			kWh := 1000.0
			var power, counter []float64
			for _, at := range one.Times {
				switch hour := time.Unix(at, 0).Sub(utc).Hours(); {
				case hour >= 10 && hour < 13:
					continue
				case hour == 13:
					kWh += c.gapKWh
				}
				two.Times, power, counter = append(two.Times, at), append(power, 20), append(counter, kWh)
				kWh += c.stepKWh
			}
			two.Set(series.PowerKW, power)
			if c.gapKWh > 0 {
				two.Set(series.EnergyCounterKWh, counter)
			}
			two = energy.StateStep(two)
			storeUnits(t, d, one, two)
			k, got := d.KPIsOf(before, day)
			wantFigures(t, got, map[string]float64{"data_availability": 0.85})
			if c.known {
				wantFigures(t, got, map[string]float64{"energy": 400, "specific_yield": 4})
			}
			f := got["energy"]
			if k.Reportable || (f.Value != nil) != c.known || strings.Contains(f.Basis, "known for 100.0 % of the daylight") != c.known || *f.DataAvailability != 0.85 || got["performance_ratio"].Value != nil {
				t.Errorf("of %v of the data: energy %v of %q, ratio %v", *f.DataAvailability, f.Value, f.Basis, got["performance_ratio"].Value)
			}
		})
	}
}
