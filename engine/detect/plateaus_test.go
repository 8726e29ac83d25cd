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

// spoiled returns the events of a roof of which one day is changed.
func spoiled(t *testing.T, light bool, day int, change func(minute int, power, light float64) (float64, float64)) map[detect.Family][]detect.Event {
	t.Helper()
	_, events := judged(t, roof(light, func(d, minute int, power, light float64) (float64, float64) {
		if d == day {
			return change(minute, power, light)
		}
		return power, light
	}))
	return events
}

// clearDay is a day of roof without clouds.
const clearDay = 109

func wantOne(t *testing.T, name string, events map[detect.Family][]detect.Event, want, not detect.Family) {
	t.Helper()
	if len(events[want]) != 1 || len(events[not]) > 0 {
		t.Errorf("%s: found %v, want one %s", name, events, want)
	}
}

// A limit in the low sun of a clear day by power alone: the slope of the power next to it
// is no storm.
func TestLimitInLowSun(t *testing.T) {
	wantOne(t, "low sun", spoiled(t, false, clearDay, func(_ int, power, light float64) (float64, float64) {
		return min(power, 2), light
	}), detect.Curtailment, detect.StuckSensor)
}

// Power alone, between clouds: a run that ends where the sun sinks is a limit, one that
// ends with a jump is a frozen reading.
func TestEndOnTheCurve(t *testing.T) {
	clouds := func(minute int) float64 { return 0.3 + 0.4*math.Abs(math.Sin(float64(minute))) }
	held, below := 0.0, 0
	wantOne(t, "on the curve", spoiled(t, false, clearDay, func(minute int, power, light float64) (float64, float64) {
		if minute < 11*60 {
			return power * clouds(minute), light
		}
		if held == 0 {
			held = 0.85 * power
		}
		if power < held {
			below++
		}
		if below > 4 {
			power *= clouds(minute)
		}
		return min(power, held), light
	}), detect.Curtailment, detect.StuckSensor)
	held = 0
	wantOne(t, "a jump", spoiled(t, false, clearDay, func(minute int, power, light float64) (float64, float64) {
		switch {
		case minute < 9*60 || minute >= 13*60:
			return power * clouds(minute), light
		case held == 0:
			held = power
		}
		return held, light
	}), detect.StuckSensor, detect.Curtailment)
}

// From 9:00 on the power of a clear morning is constant, and from noon on it is as
// before. If it did not rise at 9:00, that is a limit; if it did, the reading may also
// have frozen, and the evidence says what a limit would have cost.
func TestConstantOnTheRise(t *testing.T) {
	for _, light := range []bool{true, false} {
		before, held := 0.0, 0.0
		morning := func(step float64) func(int, float64, float64) (float64, float64) {
			return func(minute int, power, light float64) (float64, float64) {
				switch {
				case minute < 9*60:
					before = power
					return power, light
				case minute >= 12*60:
					return power, light
				case minute == 9*60:
					held = before + step*(power-before)
				}
				return held, light
			}
		}
		wantOne(t, "no rise", spoiled(t, light, clearDay, morning(0.1)), detect.Curtailment, detect.StuckSensor)
		events := spoiled(t, light, clearDay, morning(1))
		wantOne(t, "usual rise", events, detect.StuckSensor, detect.Curtailment)
		for _, e := range events[detect.StuckSensor] {
			at := slices.IndexFunc(e.Evidence, func(v detect.Evidence) bool { return v.Kind == "like_limit" })
			if at < 0 || e.Evidence[at].Value < 2 || e.Evidence[at].Value > 12 {
				t.Errorf("evidence of a reading that was constant on the rise: %v", e.Evidence)
			}
		}
	}
}

// Between clouds the power returns to a ceiling that is lifted at noon.
func TestCeilingBetweenClouds(t *testing.T) {
	for _, light := range []bool{true, false} {
		wantOne(t, "ceiling", spoiled(t, light, clearDay, func(minute int, power, light float64) (float64, float64) {
			share := 1.0
			if minute/15%4 == 3 {
				share = 0.3
			}
			power, light = share*power, share*light
			if minute < 13*60 {
				power = min(power, 3.456)
			}
			return power, light
		}), detect.Curtailment, detect.StuckSensor)
	}
}

// A reading that stays while the irradiance sinks below it is frozen, though the irradiance was above it for hours.
func TestReadingOutlivesTheLight(t *testing.T) {
	held := 0.0
	wantOne(t, "frozen", spoiled(t, true, clearDay, func(minute int, power, light float64) (float64, float64) {
		if minute >= 9*60 && minute < 15*60+45 {
			if held == 0 {
				held = power
			}
			power = held
		}
		return power, light
	}), detect.StuckSensor, detect.Curtailment)
}

// An irradiance far below what the unit makes is no measure of a ceiling.
func TestCeilingUnderWrongLight(t *testing.T) {
	wantOne(t, "ceiling", spoiled(t, true, clearDay, func(minute int, power, light float64) (float64, float64) {
		if minute/15%4 == 3 {
			power *= 0.3
		}
		return min(power, 3.456), 0.3 * light
	}), detect.Curtailment, detect.StuckSensor)
}

// A missing reading does not divide a frozen one into two.
func TestFrozenReadingWithGap(t *testing.T) {
	held := 0.0
	wantOne(t, "frozen", spoiled(t, false, clearDay, func(minute int, power, light float64) (float64, float64) {
		if minute >= 8*60 {
			if held == 0 {
				held = power
			}
			power = held
		}
		if minute == 12*60 {
			power = math.NaN()
		}
		return power, light
	}), detect.StuckSensor, detect.Curtailment)
}

// The limit of one unit of a fleet with power alone, on a clear morning and between clouds, is no frozen reading, and a
// frozen reading is no limit.
func TestLimitOfOneUnitOfAFleet(t *testing.T) {
	const at = 120
	for _, c := range []struct {
		name      string
		want, not detect.Family
		change    func(minute int, power, held float64) float64
	}{
		{"limit", detect.Curtailment, detect.StuckSensor, func(_ int, power, _ float64) float64 { return power }},
		{"limit between clouds", detect.Curtailment, detect.StuckSensor, func(minute int, power, _ float64) float64 {
			if minute/15%4 == 3 {
				return 0.6 * power
			}
			return power
		}},
		{"frozen", detect.StuckSensor, detect.Curtailment, func(minute int, power, held float64) float64 {
			if minute >= 9*60 {
				return held
			}
			return power
		}},
	} {
		s := simulate.Clean(3, start, 6).Sites[0]
		now := s.Start.AddDate(0, 0, at+10)
		frames := s.Frames(s.Start, now, 15*time.Minute)
		u := s.Units[2]
		for _, one := range s.Units {
			f := frames[one.AssetID]
			f.Columns = powerOf(f).Columns
			frames[one.AssetID] = f
		}
		f := frames[u.AssetID]
		power, held := f.Values(series.PowerKW), 0.0
		for i, at0 := range f.Times {
			local := time.Unix(at0, 0).In(s.Zone)
			if d := local.Sub(s.Start).Hours() / 24; d < at || d >= at+1 {
				continue
			}
			minute := local.Hour()*60 + local.Minute()
			if held == 0 && minute >= 9*60 {
				held = power[i]
			}
			if c.want == detect.Curtailment {
				power[i] = min(power[i], 0.357*u.CapacityKW)
			}
			power[i] = c.change(minute, power[i], held)
		}
		r := evaluate(t, s, frames, now)
		events := map[detect.Family][]detect.Event{}
		for _, e := range r.Events {
			events[e.Family] = append(events[e.Family], e)
		}
		wantOne(t, c.name, events, c.want, c.not)
	}
}

// In a fleet, a low reading that freezes at noon is shown by the dark first and by the peers on the next day: one
// event, which ends with it.
func TestFrozenReadingOfAFleetIsOneEvent(t *testing.T) {
	const at = 130
	s := simulate.Clean(3, start, 6).Sites[0]
	now := s.Start.AddDate(0, 0, at+10)
	frames := s.Frames(s.Start, now, time.Hour)
	for _, one := range s.Units {
		f := frames[one.AssetID]
		f.Columns = powerOf(f).Columns
		frames[one.AssetID] = f
	}
	f, u := frames[s.Units[2].AssetID], s.Units[2]
	from := s.Start.AddDate(0, 0, at).Add(12 * time.Hour)
	to := from.Add(48 * time.Hour)
	for i, stamp := range f.Times {
		if stamp >= from.Unix() && stamp < to.Unix() {
			f.Values(series.PowerKW)[i] = 0.0953 * u.CapacityKW
		}
	}
	var found []detect.Event
	for _, e := range evaluate(t, s, frames, now).Events {
		if e.Family == detect.StuckSensor {
			found = append(found, e)
		}
	}
	if len(found) != 1 || found[0].End == nil || found[0].Start.Sub(from).Abs() > time.Hour || found[0].End.Sub(to).Abs() > time.Hour {
		t.Errorf("found %+v, want one from %v to %v", found, from, to)
	}
}

// A unit at its own limit is not frozen because the irradiance of a satellite, which errs by half hours, dips below it.
// A reading that stays there while the light sinks is.
func TestOwnLimitUnderNoisyLight(t *testing.T) {
	const limit = 6.0
	for _, late := range []int{0, 17*60 + 30} {
		_, events := judged(t, roof(true, func(day, minute int, power, light float64) (float64, float64) {
			power = min(power, limit)
			if day == clearDay {
				if light *= 1.12; minute/30%2 == 0 {
					light *= 0.75
				}
				if minute >= 12*60 && minute < late {
					power = limit
				}
			}
			return power, light
		}))
		if want := min(late, 1); len(events[detect.StuckSensor]) != want {
			t.Errorf("held until minute %d: found %v, want %d frozen", late, events, want)
		}
	}
}
