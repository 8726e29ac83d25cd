package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"app.sunloop/engine/series"
)

// Losses are the kinds that [InjectOne] knows.
var Losses = []Kind{StringLoss, UnitOutage, Soiling, PartialShade, Curtailment, StuckSensor, Derating}

// Where a single loss may lie.
const (
	singleBefore = 60  // days of history before it
	singleAfter  = 10  // and after it
	singleAlive  = 0.5 // of the usual energy that the unit must have made in its time
	singleLeast  = 0.01
	singleHours  = 2.0
	singleTries  = 60
)

// InjectOne adds one loss to one unit of measured telemetry, drawn from the seed: the
// protocol by which faults on measured plants are scored. The site describes the
// location, the zone and the units with their capacity; nothing is lost that the unit
// did not make. ok is false if the history has no place for the kind: 60 days before
// it, and a unit that works in its time; derating needs a temperature.
func InjectOne(seed uint64, s *Site, kind Kind, frames map[string]series.Frame) (out map[string]series.Frame, truth Truth, ok bool, err error) {
	if !slices.Contains(Losses, kind) {
		return nil, truth, false, fmt.Errorf("inject fault into site %s: no single loss is of kind %q", s.ID, kind)
	}
	if len(s.Units) == 0 {
		return nil, truth, false, fmt.Errorf("inject fault into site %s: it has no unit", s.ID)
	}
	r := rand.New(rand.NewPCG(seed, hashString(s.ID+" "+string(kind))))
	for range singleTries {
		u := s.Units[r.IntN(len(s.Units))]
		frame, known := frames[u.AssetID]
		if !known || frame.Len() == 0 {
			continue
		}
		fault, fits := drawLoss(r, s, kind, u, frame)
		if !fits {
			continue
		}
		t := Truth{Fault: fault, Family: kind.Family()}
		inj := injector{site: s, fault: &fault, truth: &t, threshold: onsetShare * 4 * u.CapacityKW}
		after := inj.into(&u, frame.Clone())
		t = inj.close(frame.Times[frame.Len()-1])
		if !t.measure(s.Zone, frame, after) {
			continue
		}
		out = make(map[string]series.Frame, len(frames))
		for id, f := range frames {
			out[id] = f.Clone()
		}
		out[u.AssetID] = after
		return out, t, true, nil
	}
	return nil, truth, false, nil
}

// drawLoss draws when and how much a unit loses.
func drawLoss(r *rand.Rand, s *Site, kind Kind, u Unit, frame series.Frame) (f Fault, ok bool) {
	n := frame.Len()
	first, last := series.Midnight(time.Unix(frame.Times[0], 0), s.Zone), time.Unix(frame.Times[n-1], 0)
	between := func(least, most int) int { return least + r.IntN(most-least+1) }
	share := func(least, most float64) float64 { return least + (most-least)*r.Float64() }
	f = Fault{ID: string(kind), SiteID: s.ID, Kind: kind, Units: []string{u.AssetID}, Cause: "injected"}
	days := 0
	switch kind {
	case StringLoss:
		days, f.Severity = between(30, 120), []float64{0.05, 0.08, 0.1, 0.125, 0.167, 0.2, 0.25, 0.3}[r.IntN(8)]
	case UnitOutage:
		days = []int{0, 0, 1, 2, 5}[r.IntN(5)]
	case Soiling:
		days, f.Severity = between(30, 80), share(0.001, 0.003)
	case PartialShade:
		days, f.Severity, f.WidthDeg = between(60, 150), share(0.3, 0.6), share(25, 45)
		middle := share(95, 150)
		if r.IntN(2) == 1 {
			middle = share(210, 265)
		}
		if s.Location.LatitudeDeg < 0 {
			middle += 180
		}
		f.AzimuthDeg = math.Mod(middle-f.WidthDeg/2+360, 360)
	case Curtailment:
		days, f.Severity = []int{0, 0, 1, 4}[r.IntN(4)], share(0.4, 0.75)
	case StuckSensor:
		days = between(0, 2)
	case Derating:
		if days, f.Severity = between(10, 40), share(15, 25); frame.Values(series.TemperatureC) == nil {
			return f, false
		}
	}
	span := int(last.Sub(first).Hours() / 24)
	if span < singleBefore+singleAfter+days+5 {
		return f, false
	}
	from := first.AddDate(0, 0, between(singleBefore, span-days-singleAfter))
	f.From, f.To = from, from.AddDate(0, 0, days)
	if days == 0 { // some hours by day
		f.From = from.Add(time.Duration(between(8, 12)) * time.Hour)
		f.To = f.From.Add(time.Duration(between(2, 6)) * time.Hour)
	}
	if kind == StuckSensor { // it holds a value of the day
		length := f.To.Sub(f.From)
		power := frame.Values(series.PowerKW)
		i, _ := slices.BinarySearch(frame.Times, f.From.Unix())
		for i++; i < n && !(power[i-1] > 0.1*u.CapacityKW); i++ {
		}
		if i >= n {
			return f, false
		}
		f.From = time.Unix(frame.Times[i], 0)
		f.To = f.From.Add(length)
	}
	return f, alive(frame, f)
}

// alive reports whether the unit made half of its usual energy in a fault's time.
func alive(frame series.Frame, f Fault) bool {
	power := frame.Values(series.PowerKW)
	mean := func(from, to int64) float64 {
		i, _ := slices.BinarySearch(frame.Times, from)
		j, _ := slices.BinarySearch(frame.Times, to)
		sum, n := 0.0, 0
		for ; i < j && power != nil; i++ {
			if !math.IsNaN(power[i]) {
				sum += max(power[i], 0)
				n++
			}
		}
		return sum / float64(n)
	}
	now, usual := mean(f.From.Unix(), f.To.Unix()), mean(f.From.Unix()-singleBefore*86400, f.From.Unix())
	return now > 0 && now >= singleAlive*usual
}

// measure fills in what a fault cost, from the telemetry before and after it was
// injected. It reports whether that is enough to be looked for.
func (t *Truth) measure(zone *time.Location, before, after series.Frame) bool {
	step := series.Interval(before.Times).Hours()
	was, is := before.Values(series.PowerKW), after.Values(series.PowerKW)
	if was == nil || step == 0 || len(is) != len(was) {
		return false
	}
	t.FirstDay = series.Midnight(t.From, zone)
	t.LostKWh, t.ShownHours, t.Onset, t.DailyLostKWh = 0, 0, time.Time{}, nil
	made := 0.0
	for i, at := range before.Times {
		if !t.within(at) || math.IsNaN(was[i]) {
			continue
		}
		made += max(was[i], 0) * step
		if is[i] == was[i] {
			continue
		}
		when := time.Unix(at, 0).UTC()
		if t.Onset.IsZero() {
			t.Onset = when
		}
		t.Seen = when.Add(time.Duration(step * float64(time.Hour)))
		t.ShownHours += step
		t.LostKWh += (was[i] - is[i]) * step
		if t.Kind != StuckSensor {
			day := int(series.Midnight(when, zone).Sub(t.FirstDay).Hours()/24 + 0.5)
			for len(t.DailyLostKWh) <= day {
				t.DailyLostKWh = append(t.DailyLostKWh, 0)
			}
			t.DailyLostKWh[day] += (was[i] - is[i]) * step
		}
	}
	enough := t.Kind == StuckSensor || t.LostKWh >= singleLeast*made
	t.LostKWh = max(t.LostKWh, 0)
	if made > 0 {
		t.LossFraction = min(t.LostKWh/made, 1)
	}
	t.Visible = true
	return made > 0 && t.ShownHours >= singleHours && enough
}
