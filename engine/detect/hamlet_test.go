package detect_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/series"
	"app.sunloop/engine/simulate"
	"app.sunloop/engine/solar"
)

// hamlet is seven units that lie differently, in quarter hours from February on with power
// alone: clear and cloudy days. spoil changes the power of a unit while the sun is at an azimuth.
func hamlet(t *testing.T, days int, spoil func(unit, day int, azimuth, power float64) float64) detect.Input {
	t.Helper()
	var planes []solar.Plane
	for k := range 7 {
		planes = append(planes, solar.Plane{TiltDeg: 15 + 5*float64(k), AzimuthDeg: 135 + 15*float64(k)})
	}
	return hamletOf(t, planes, days, spoil)
}

// hamletOf is a hamlet with a unit in each of the planes.
func hamletOf(t *testing.T, planes []solar.Plane, days int, spoil func(unit, day int, azimuth, power float64) float64) detect.Input {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	loc := solar.Location{LatitudeDeg: 48, LongitudeDeg: 11, AltitudeM: 500}
	begin := time.Date(2025, 2, 1, 0, 0, 0, 0, zone)
	in := detect.Input{Site: detect.Site{ID: "hamlet", Location: &loc, Zone: zone}, Now: begin.AddDate(0, 0, days)}
	r := rand.New(rand.NewPCG(3, 5))
	power := make([][]float64, len(planes))
	var times []int64
	cloud := 1.0
	day, kind := -1, 0.0
	for at := begin; at.Before(in.Now); at = at.Add(15 * time.Minute) {
		if d := int(at.Sub(begin).Hours()+1) / 24; d != day { // the day of summer time is short
			day, kind = d, r.Float64()
		}
		middle := at.Add(450 * time.Second)
		p := solar.At(middle, loc)
		irr := solar.ClearSky(middle, p, loc, 3)
		if kind > 0.6 {
			cloud = min(max(0.7*cloud+0.3*(0.45+0.4*r.NormFloat64()), 0.1), 1)
			irr.GHI, irr.DHI, irr.DNI = irr.GHI*cloud, irr.DHI*max(cloud, 0.3), irr.DNI*max(2*cloud-1, 0)
		}
		times = append(times, at.Unix())
		for k, plane := range planes {
			kw := 0.0
			if p.ApparentZenithDeg < 90 && irr.GHI > 15 {
				kw = 10 * plane.Isotropic(p, irr, 0.2).Global() / 1000 * 0.85 * (1 + 0.01*r.NormFloat64())
			}
			power[k] = append(power[k], spoil(k, day, p.AzimuthDeg, kw))
		}
	}
	for k := range planes {
		f := series.Frame{Times: times}
		f.Set(series.PowerKW, power[k])
		in.Units = append(in.Units, detect.Unit{AssetID: string(rune('A' + k)), CapacityKW: 10, Frame: f})
	}
	return in
}

// A step that began before the change to summer time and is announced after it begins with a
// day of the site.
func TestStepAcrossSummerTime(t *testing.T) {
	in := hamlet(t, 75, func(unit, day int, _, power float64) float64 {
		if unit == 2 && day >= 56 { // 29 March
			power *= 0.85
		}
		return power
	})
	_, events := judged(t, in)
	steps := events[detect.StringOutage]
	if len(steps) != 1 || !slices.Equal(steps[0].Units, []string{"C"}) {
		t.Fatalf("found %v", events)
	}
	changed := time.Date(2025, 3, 30, 12, 0, 0, 0, in.Site.Zone)
	from := steps[0].Start.In(in.Site.Zone)
	if !from.Before(changed) || !steps[0].DetectedAt.After(changed) {
		t.Fatalf("it is from %v, announced %v: the change to summer time is not in between", from, steps[0].DetectedAt)
	}
	if from.Hour() != 0 || from.Minute() != 0 {
		t.Errorf("it begins at %v, want a midnight", from)
	}
}

// What shades several units in the same directions, and began to within days, is one event. It
// lasts while the sun is elsewhere, and until all of them are out of it.
func TestShadeOfSeveralUnits(t *testing.T) {
	in := hamlet(t, 130, func(unit, day int, azimuth, power float64) float64 {
		if unit < 2 && day >= 60+3*unit && azimuth > 140 && azimuth < 165 {
			power *= 0.4
		}
		return power
	})
	_, events := judged(t, in)
	shades := events[detect.PartialShading]
	if len(shades) != 1 {
		t.Fatalf("found %v", events)
	}
	e := shades[0]
	if !slices.Equal(e.Units, []string{"A", "B"}) || e.End != nil || math.Abs(e.LossFraction-0.6) > 0.15 {
		t.Errorf("units %v, end %v, loss %.2f, want A and B, open, 0.6", e.Units, e.End, e.LossFraction)
	}
	if !slices.ContainsFunc(e.Evidence, func(v detect.Evidence) bool { return v.Kind == "same_directions" && v.Value == 2 }) {
		t.Errorf("the evidence does not name the common cause: %v", e.Evidence)
	}
}

// Units of two orientations are compared with those that lie as they do: while two units of one
// of them are out, the median of all is that of the other one, which is no shade and no loss of
// any unit; and a loss of a few per cent is found meanwhile.
func TestPeersOfTwoOrientations(t *testing.T) {
	var planes []solar.Plane
	for k := range 8 {
		planes = append(planes, solar.Plane{TiltDeg: 25, AzimuthDeg: 195 - 90*float64(k%2)})
	}
	in := hamletOf(t, planes, 130, func(unit, day int, _, power float64) float64 {
		switch {
		case (unit == 1 || unit == 3) && day >= 60 && day < 100:
			return 0
		case unit == 2 && day >= 80:
			return 0.93 * power
		}
		return power
	})
	_, events := judged(t, in)
	delete(events, detect.InverterOutage)
	steps := events[detect.StringOutage]
	if len(steps) != 1 || !slices.Equal(steps[0].Units, []string{"C"}) || math.Abs(steps[0].LossFraction-0.07) > 0.015 || len(events) > 1 {
		t.Errorf("found %v, want a loss of 7 %% of C alone", events)
	}
}

// Dirt of which nothing is seen for weeks, as the sensor is dead, is not taken to lie on.
func TestDirtEndsWithoutASensor(t *testing.T) {
	s := simulate.Clean(9, start, 8).Sites[1]
	for k := range s.Units {
		s.Units[k].Tracker = true
	}
	from := s.Start.AddDate(0, 0, 60)
	s.SetFaults([]simulate.Fault{{Kind: simulate.Soiling, Severity: 0.003, From: from, To: from.AddDate(0, 0, 30)}})
	now := from.AddDate(0, 0, 120)
	frames := s.Frames(s.Start, now, 15*time.Minute)
	dead := from.AddDate(0, 0, 29).Unix()
	for _, f := range frames {
		light := f.Values(series.IrradianceWM2)
		for i := range light {
			if f.Times[i] >= dead {
				light[i] = min(light[i], 2)
			}
		}
	}
	e := only(t, evaluate(t, s, frames, now), detect.Soiling)
	if e.End == nil || e.End.After(time.Unix(dead, 0).AddDate(0, 0, 1)) {
		t.Errorf("it ends %v; the sensor has been dead since %v", e.End, time.Unix(dead, 0).UTC())
	}
}
