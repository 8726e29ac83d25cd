package detect_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/series"
	"app.sunloop/engine/simulate"
	"app.sunloop/engine/solar"
)

// roof is one unit with a horizontal irradiance sensor, quarter hours of half a
// year: clear, hazy and cloudy days. spoil changes power and irradiance.
func roof(light bool, spoil func(day, minute int, power, light float64) (float64, float64)) detect.Input {
	loc := solar.Location{LatitudeDeg: 48, LongitudeDeg: 11, AltitudeM: 500}
	plane := solar.Plane{TiltDeg: 30, AzimuthDeg: 200}
	begin := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	r := rand.New(rand.NewPCG(7, 11))
	var f series.Frame
	var power, shine, temp []float64
	const days = 170
	for d := range days {
		kind, haze := r.Float64(), 0.97+0.03*r.NormFloat64()
		cloud := 1.0
		for q := range 96 {
			t := begin.AddDate(0, 0, d).Add(time.Duration(q) * 15 * time.Minute)
			p := solar.At(t.Add(450*time.Second), loc)
			g, kw := 0.0, 0.0
			if p.ApparentZenithDeg < 90 {
				if kind > 0.55 {
					cloud = min(max(0.7*cloud+0.3*(0.45+0.4*r.NormFloat64()), 0.1), 1)
				} else {
					cloud = 1
				}
				irr := solar.ClearSky(t, p, loc, 3)
				irr.GHI, irr.DHI = irr.GHI*haze*cloud, irr.DHI*haze*max(cloud, 0.3)
				irr.DNI *= haze * max(2*cloud-1, 0)
				g = irr.GHI * (1 + 0.01*r.NormFloat64())
				kw = 10 * plane.Isotropic(p, irr, 0.2).Global() / 1000 * 0.85 * (1 + 0.01*r.NormFloat64())
				if g < 15 {
					kw = 0
				}
			}
			if spoil != nil {
				kw, g = spoil(d, q*15, kw, g)
			}
			f.Times = append(f.Times, t.Unix())
			power, shine, temp = append(power, kw), append(shine, g), append(temp, 12+8*math.Sin(float64(q)/96*2*math.Pi-2))
		}
	}
	f.Set(series.PowerKW, power)
	if light {
		f.Set(series.IrradianceWM2, shine)
		f.Set(series.TemperatureC, temp)
	}
	return detect.Input{
		Site: detect.Site{ID: "roof", Location: &loc, Zone: time.UTC}, Now: begin.AddDate(0, 0, days),
		Units: []detect.Unit{{AssetID: "A", CapacityKW: 10, Frame: f}},
	}
}

// judged returns the events of a roof by family, without gaps and clipping.
func judged(t *testing.T, in detect.Input) (detect.Report, map[detect.Family][]detect.Event) {
	t.Helper()
	r, err := detect.Run(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	out := map[detect.Family][]detect.Event{}
	for _, e := range r.Events {
		if e.Family != detect.Clipping {
			out[e.Family] = append(out[e.Family], e)
		}
	}
	return r, out
}

func dayOf(in detect.Input, t time.Time) int {
	return int(t.Sub(time.Unix(in.Units[0].Frame.Times[0], 0)).Hours() / 24)
}

// A single unit without a fault gives no event, and the detectable loss is
// reported.
func TestOneCleanUnit(t *testing.T) {
	for _, light := range []bool{true, false} {
		r, events := judged(t, roof(light, nil))
		if len(events) > 0 {
			t.Errorf("light %v: %v", light, events)
		}
		d, ok := r.Detectability["A"]
		want := map[bool]string{true: "irradiance", false: "clear sky"}[light]
		if !ok || d.Basis != want || !(d.Detectable > 0.005 && d.Detectable < 0.5) {
			t.Errorf("light %v: detectability %+v", light, d)
		}
	}
}

// A permanent loss of part of a single unit's power is found by irradiance, by
// power only, and by power after the sensor has failed.
func TestLossOfOneUnit(t *testing.T) {
	for _, c := range []struct {
		name  string
		light bool
		size  float64
		basis string
		dead  int // day from which the sensor reads nothing
	}{
		{"irradiance", true, 0.15, "irradiance", 1000},
		{"power alone", false, 0.3, "clear sky", 1000},
		{"dead sensor", true, 0.3, "clear sky", 85},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := roof(c.light, func(day, _ int, power, light float64) (float64, float64) {
				if day >= 110 && day < 145 {
					power *= 1 - c.size
				}
				if day >= c.dead {
					light = min(light, 2)
				}
				return power, light
			})
			_, events := judged(t, in)
			steps := events[detect.StringOutage]
			if len(steps) != 1 {
				t.Fatalf("found %v", events)
			}
			e := steps[0]
			if from := dayOf(in, e.Start); from < 105 || from > 114 || e.Basis != c.basis || math.Abs(e.LossFraction-c.size) > 0.4*c.size {
				t.Errorf("from day %d, on %s, loss %.3f, want day 110, %s, %.2f", from, e.Basis, e.LossFraction, c.basis, c.size)
			}
			if e.End == nil || dayOf(in, *e.End) < 140 || dayOf(in, *e.End) > 160 {
				t.Errorf("it ends at %v, want day 145", e.End)
			}
			if c.dead < 1000 && len(events[detect.IrradianceSensor]) == 0 {
				t.Error("the dead sensor is not named")
			}
			if len(events[detect.Soiling])+len(events[detect.PartialShading]) > 0 {
				t.Errorf("one cause has several names: %v", events)
			}
		})
	}
}

// Dirt of a single unit that rain washes off is one event, which ends with the rain. The
// same loss from one day to the next, or without the rain, is not such an event.
func TestWashedDirtOfOneUnit(t *testing.T) {
	of := func(share func(day int) float64) map[detect.Family][]detect.Event {
		_, events := judged(t, roof(true, func(day, _ int, power, light float64) (float64, float64) {
			if day >= 80 && day < 130 {
				power *= 1 - share(day)
			}
			return power, light
		}))
		return events
	}
	events := of(func(day int) float64 { return 0.0024 * float64(day-79) })
	dirt := events[detect.Soiling]
	if len(dirt) != 1 || dirt[0].End == nil || len(events[detect.StringOutage]) > 0 {
		t.Fatalf("found %v", events)
	}
	in := roof(true, func(_, _ int, power, light float64) (float64, float64) { return power, light })
	if from, to := dayOf(in, dirt[0].Start), dayOf(in, *dirt[0].End); from < 70 || from > 100 || to < 124 || to > 133 || math.Abs(dirt[0].LossFraction-0.12) > 0.05 {
		t.Errorf("dirt from day %d to %d, %.3f, want 80 to 130, 0.12", from, to, dirt[0].LossFraction)
	}
	if events := of(func(int) float64 { return 0.12 }); len(events[detect.Soiling]) > 0 {
		t.Errorf("a loss of one size is called dirt: %v", events)
	}
}

// A limit and a stuck reading are both constant, and are distinguished.
func TestLimitOrStandingReading(t *testing.T) {
	for _, light := range []bool{true, false} {
		_, events := judged(t, roof(light, func(day, _ int, power, light float64) (float64, float64) {
			if day >= 100 && day < 103 {
				power = min(power, 3.5)
			}
			return power, light
		}))
		if len(events[detect.Curtailment]) != 1 || len(events[detect.StuckSensor]) > 0 {
			t.Errorf("light %v: a limit is called %v", light, events)
		}
		held := 0.0
		_, events = judged(t, roof(light, func(day, minute int, power, light float64) (float64, float64) {
			if day == 100 && minute > 9*60 {
				if held == 0 {
					held = power
				}
				power = held
			}
			return power, light
		}))
		if len(events[detect.StuckSensor]) != 1 || len(events[detect.Curtailment]) > 0 {
			t.Errorf("light %v: a frozen reading is called %v", light, events)
		}
	}
}

// That a unit begins late for weeks, as behind a building site, moves the ends
// of its day but not the middle of its energy: no clock is changed for it.
func TestClockNeedsTwoSigns(t *testing.T) {
	_, events := judged(t, roof(true, func(day, minute int, power, light float64) (float64, float64) {
		if day >= 90 && minute < 7*60 {
			power = 0
		}
		return power, light
	}))
	if n := len(events[detect.TimeShift]); n > 0 {
		t.Errorf("%d shifts of the clock are announced", n)
	}
}

// Under the thickest clouds a unit produces little, but more than by night: without
// irradiance a dark day is no outage. A day without any power is one.
func TestDarkDayIsNoOutage(t *testing.T) {
	for share, want := range map[float64]int{0.02: 0, 0: 1} {
		_, events := judged(t, roof(false, func(day, _ int, power, light float64) (float64, float64) {
			if day == 100 {
				power *= share
			}
			return power, light
		}))
		if n := len(events[detect.InverterOutage]); n != want {
			t.Errorf("a day of %.3f of the power gives %d outages, want %d: %v", share, n, want, events)
		}
	}
}

// Snow that falls again after a day of full production is the same event, with an
// occasion for each.
func TestSnowDoesNotLastOverProduction(t *testing.T) {
	in := roof(true, func(day, _ int, power, light float64) (float64, float64) {
		if day == 100 || day == 102 {
			power *= 0.05
		}
		return power, light
	})
	temp := in.Units[0].Frame.Values(series.TemperatureC)
	for i := range temp {
		if day := i / 96; day >= 100 && day < 103 {
			temp[i] = -3
		}
	}
	_, events := judged(t, in)
	if n := len(events[detect.SnowCover]); n != 1 {
		t.Fatalf("%d events of snow: %v", n, events)
	}
	occasions := events[detect.SnowCover][0].Occasions
	if len(occasions) != 2 || dayOf(in, occasions[0].From) != 100 || dayOf(in, occasions[1].From) != 102 {
		t.Fatalf("snow on %v", occasions)
	}
	for _, o := range occasions {
		if h := o.To.Sub(o.From).Hours(); h < 2 || h > 30 {
			t.Errorf("snow for %.1f h: %v", h, o)
		}
	}
}

// A sensor that begins to read more than the sun gives is no loss of the unit.
func TestSensorThatReadsTooMuch(t *testing.T) {
	r, events := judged(t, roof(true, func(day, _ int, power, light float64) (float64, float64) {
		if day >= 100 && day < 120 {
			light *= 1.35
		}
		return power, light
	}))
	if n := len(events[detect.StringOutage]); n > 0 {
		t.Errorf("a sensor is called a loss: %v", events)
	}
	if !slices.ContainsFunc(r.NotEvaluated, func(s string) bool { return strings.Contains(s, "the irradiance reads more than the sun gives") }) {
		t.Errorf("nothing is said of the sensor: %v", r.NotEvaluated)
	}
}

// Hourly readings in small steps are often equal for two hours: that is no limit.
func TestEqualHoursAreNoLimit(t *testing.T) {
	s := simulate.Clean(9, start, 4).Sites[0]
	now := s.Start.AddDate(0, 0, 200)
	frames := s.Frames(s.Start, now, time.Hour)
	for k, u := range s.Units {
		f := frames[u.AssetID]
		power, q := f.Values(series.PowerKW), u.CapacityKW/500
		for i, p := range power {
			power[i] = math.Round(p*(1+0.05*math.Sin(float64(i*(k+3))))/q) * q
		}
	}
	if n := familiesOf(evaluate(t, s, frames, now))[detect.Curtailment]; n > 0 {
		t.Errorf("%d limits", n)
	}
}

// Without irradiance, a unit that stops for two hours from one sample to the next is in
// outage. A storm that leaves a fiftieth of the power is none, nor is
// one that comes over an hour and takes all of it.
func TestStopOfTwoHoursByPowerAlone(t *testing.T) {
	for share, want := range map[float64]int{0.02: 0, 0: 1} {
		_, events := judged(t, roof(false, func(day, minute int, power, light float64) (float64, float64) {
			if day == 25 && minute >= 10*60 && minute < 12*60 {
				power *= share
			}
			return power, light
		}))
		if n := len(events[detect.InverterOutage]); n != want {
			t.Errorf("two hours of %.3f of the power give %d outages, want %d: %v", share, n, want, events)
		}
	}
	_, events := judged(t, roof(false, func(day, minute int, power, light float64) (float64, float64) {
		if day == 25 && minute >= 9*60 && minute < 12*60 {
			power = min(power, max(10*60-float64(minute), 0)/60*0.6)
		}
		return power, light
	}))
	if n := len(events[detect.InverterOutage]); n > 0 {
		t.Errorf("a storm is called an outage: %v", events)
	}
}

// An outage that continues while it gets cold is no snow: one cause is one event.
func TestOutageInColdIsNoSnow(t *testing.T) {
	in := roof(true, func(day, _ int, power, light float64) (float64, float64) {
		if day >= 100 && day < 105 {
			power = 0
		}
		return power, light
	})
	temp := in.Units[0].Frame.Values(series.TemperatureC)
	for i := range temp {
		if day := i / 96; day >= 102 && day < 104 {
			temp[i] = -3
		}
	}
	_, events := judged(t, in)
	outages := events[detect.InverterOutage]
	if len(outages) != 1 || len(events[detect.SnowCover]) > 0 {
		t.Fatalf("found %v", events)
	}
	if from, to := dayOf(in, outages[0].Start), dayOf(in, *outages[0].End); from != 100 || to < 104 || to > 105 {
		t.Errorf("the outage lasts from day %d to %d, want 100 to 105", from, to)
	}
}

// Three units of two orientations, of which the two of the south are at their rating at
// noon from spring on: what the array of these would make more is no loss of the others.
func TestPeersAtTheirRating(t *testing.T) {
	report, in := practice(t, 2, 0, 230)
	if len(in.Units) != 3 {
		t.Fatalf("%d units: another case", len(in.Units))
	}
	for _, e := range report.Events {
		if e.Family == detect.StringOutage || e.Family == detect.Soiling {
			t.Errorf("%s of %v from %s", e.Family, e.Units, e.Start)
		}
	}
}
