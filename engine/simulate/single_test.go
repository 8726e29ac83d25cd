package simulate

import (
	"math"
	"slices"
	"testing"
	"time"

	"app.sunloop/engine/series"
)

// A single loss changes one unit in the time that it states, and costs what is missing.
func TestInjectOne(t *testing.T) {
	s := Clean(7, start, 2).Sites[2]
	frames := s.Frames(s.Start, s.Start.AddDate(0, 0, 240), time.Hour)
	before := frames[s.Units[0].AssetID].Clone()
	drawn := map[Kind]int{}
	for _, kind := range Losses {
		for seed := range uint64(3) {
			got, truth, ok, err := InjectOne(seed, s, kind, frames)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				continue
			}
			drawn[kind]++
			lost := 0.0
			for _, u := range s.Units {
				was, is := frames[u.AssetID], got[u.AssetID]
				for i, at := range was.Times {
					a, b := was.At(series.PowerKW, i), is.At(series.PowerKW, i)
					if a == b {
						continue
					}
					lost += a - b
					if when := time.Unix(at, 0); !truth.Concerns(u.AssetID) || when.Before(truth.From) || !when.Before(truth.To) {
						t.Fatalf("%s, seed %d: %s at %v is changed by %+v", kind, seed, u.AssetID, when, truth.Fault)
					}
				}
			}
			if math.Abs(max(lost, 0)-truth.LostKWh) > 1e-6*math.Abs(lost)+1e-6 {
				t.Errorf("%s, seed %d: %.3f kWh are missing, the truth says %.3f", kind, seed, lost, truth.LostKWh)
			}
			daily := 0.0
			for _, kwh := range truth.DailyLostKWh {
				daily += kwh
			}
			if kind != StuckSensor && math.Abs(daily-truth.LostKWh) > 1e-6*truth.LostKWh {
				t.Errorf("%s, seed %d: days sum up to %.3f of %.3f kWh", kind, seed, daily, truth.LostKWh)
			}
			if days := truth.From.Sub(s.Start).Hours() / 24; days < singleBefore || truth.To.After(s.Start.AddDate(0, 0, 240)) || len(truth.Units) != 1 || truth.Cause != "injected" {
				t.Errorf("%s, seed %d: %+v", kind, seed, truth.Fault)
			}
		}
	}
	for _, kind := range Losses {
		if kind != Derating && drawn[kind] == 0 { // heat needs a hot season within the history
			t.Errorf("%s was never drawn", kind)
		}
	}
	if !same(before, frames[s.Units[0].AssetID]) {
		t.Error("the given frames were changed")
	}
}

// A history without a place for a loss has none, and other kinds are refused.
func TestInjectOneWithoutPlace(t *testing.T) {
	s := Clean(7, start, 1).Sites[2]
	frames := s.Frames(s.Start, s.Start.AddDate(0, 0, 40), time.Hour)
	for _, kind := range Losses {
		if _, _, ok, err := InjectOne(1, s, kind, frames); ok || err != nil {
			t.Errorf("%s in 40 days: %v, %v", kind, ok, err)
		}
	}
	if _, _, _, err := InjectOne(1, s, TrackerFault, frames); err == nil {
		t.Error("a stuck tracker was injected into measured power")
	}
}

// Sites as in practice are the same for a seed, mostly of one unit or meter, and read as
// measured plants are.
func TestPractice(t *testing.T) {
	single, sites, clean := 0, 0, 0
	lights := map[Light]int{}
	for seed := range uint64(6) {
		for _, c := range Practice(seed, start) {
			sites++
			if len(c.Units()) == 1 {
				single++
			}
			if c.Clean {
				clean++
			}
			lights[c.Measuring.Light]++
		}
	}
	if 2*single < sites || clean != sites/practiceSites {
		t.Errorf("%d of %d sites have one unit, %d no fault", single, sites, clean)
	}
	for l := NoLight; l <= PlaneLight; l++ {
		if lights[l] == 0 {
			t.Errorf("no site has irradiance of source %d", l)
		}
	}
	if lights[NoLight] < lights[PlaneLight] {
		t.Errorf("%v: sensors in the plane are more usual than power alone", lights)
	}
	for i, c := range Practice(2, start) {
		c.Until = c.Site.Start.AddDate(0, 0, 20)
		listed := 0
		for _, f := range c.Truth() {
			if f.Cause == "the logger" && !f.Visible {
				listed++
			}
		}
		if gaps := c.Measuring.gaps(c.Site, c.Until); listed != len(gaps) {
			t.Errorf("%s: %d of %d gaps are on the list", c.Site.ID, listed, len(gaps))
		}
		frames, again := c.Frames(), Practice(2, start)[i]
		again.Until = c.Until
		twice := again.Frames()
		for _, u := range c.Units() {
			f := frames[u.AssetID]
			if !same(f, twice[u.AssetID]) {
				t.Errorf("%s: two draws of a seed differ", u.AssetID)
			}
			if hasLight := f.Values(series.IrradianceWM2) != nil; hasLight != (c.Measuring.Light != NoLight) {
				t.Errorf("%s: irradiance %v for source %d", u.AssetID, hasLight, c.Measuring.Light)
			}
			for _, gap := range c.Measuring.gaps(c.Site, c.Until) {
				if slices.ContainsFunc(f.Times, func(at int64) bool { return at >= gap[0] && at < gap[1] }) {
					t.Errorf("%s: rows within the gap %v", u.AssetID, gap)
				}
			}
			if f.Len() == 0 || slices.Max(f.Values(series.PowerKW)) <= 0 {
				t.Errorf("%s produces nothing", u.AssetID)
			}
		}
	}
}

// A reading that is frozen stays frozen, whatever the noise of the plant.
func TestPracticeKeepsFrozenReadings(t *testing.T) {
	c := Practice(1, start)[0]
	c.Step = 15 * time.Minute
	noon := c.Site.Start.AddDate(0, 0, 5).Add(12 * time.Hour)
	c.Site.SetFaults([]Fault{{Kind: StuckSensor, From: noon, To: noon.Add(30 * time.Hour)}})
	c.Until = c.Site.Start.AddDate(0, 0, 8)
	c.Measuring.plant.gaps = 0
	for id, f := range c.Frames() {
		var held []float64
		for i, at := range f.Times {
			if at > noon.Unix() && at < noon.Add(30*time.Hour).Unix() {
				held = append(held, f.At(series.PowerKW, i))
			}
		}
		if len(held) < 100 || slices.Min(held) != slices.Max(held) {
			t.Errorf("%s: %d frozen readings between %v and %v kW", id, len(held), slices.Min(held), slices.Max(held))
		}
	}
}

// What a plant makes less of its irradiance is lost before its limit: with a third of the light
// absorbed no unit reaches the rating that it reaches without, as no reading jumps up to it.
func TestPracticeLimitsWhatThePlantMakes(t *testing.T) {
	for _, haze := range []float64{0, 0.5} {
		highest := 0.0
		for _, c := range Practice(2, start) {
			if c.Measuring.Meter != "" {
				continue
			}
			c.Measuring.plant = measuredPlant{haze: haze, hazeDays: 1e9, weak: 0.006, days: 1}
			c.Site.yield = c.Measuring.yields(c.Site, practiceDays)
			c.Site.SetFaults(nil)
			c.Until = c.Site.Start.AddDate(0, 0, 240)
			frames := c.Frames()
			for _, u := range c.Units() {
				highest = max(highest, slices.Max(frames[u.AssetID].Values(series.PowerKW))/u.CapacityKW)
			}
		}
		if reached := highest > 0.999; reached != (haze == 0) {
			t.Errorf("haze of %g: the highest power is %.3f of the rating", haze, highest)
		}
	}
}
