package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

// Inject adds faults to measured telemetry: it returns frames that show them,
// and the truth of their effects. The site describes where and what the units
// are (Location, Zone, Units with their capacity). Its Faults are injected; if
// there are none, the grammar draws some from the seed. A frame's power is
// changed as the fault would change it at the meter, and its lifetime counter
// accordingly; the given frames are not modified. Faults already in the history
// are not on the list. Stuck trackers cannot be injected into measured power:
// such a fault is an error.
func Inject(seed uint64, s *Site, frames map[string]series.Frame) (map[string]series.Frame, []Truth, error) {
	first, last := int64(math.MaxInt64), int64(0)
	for _, f := range frames {
		if n := f.Len(); n > 0 {
			first, last = min(first, f.Times[0]), max(last, f.Times[n-1])
		}
	}
	if last == 0 {
		return nil, nil, fmt.Errorf("inject faults into site %s: there is no row", s.ID)
	}
	faults := s.Faults
	s = NewSite(seed, time.Unix(first, 0), &Site{ID: s.ID, Location: s.Location, Zone: s.Zone, Units: slices.Clone(s.Units), Portal: portalOf(frames)})
	if len(faults) == 0 {
		days := int((last - first) / 86400)
		for _, f := range schedule(rand.New(rand.NewPCG(seed, hashString(s.ID))), s, days) {
			if f.Kind != Snow && f.Kind != TrackerFault { // no snow lies on what was measured
				faults = append(faults, f)
			}
		}
	}
	s.SetFaults(faults)
	out := make(map[string]series.Frame, len(frames))
	for id, f := range frames {
		out[id] = f.Clone()
	}
	var truth []Truth
	for _, f := range s.Faults {
		if f.Kind == TrackerFault {
			return nil, nil, fmt.Errorf("inject fault %s into site %s: a frozen tracker does not follow from measured power", f.ID, s.ID)
		}
		t := Truth{Fault: f, Family: f.Kind.Family()}
		inj := injector{site: s, fault: &f, truth: &t, threshold: onsetShare * 4 * s.ratingOf(f.Units)}
		for _, u := range s.Units {
			if frame, ok := out[u.AssetID]; ok && f.Concerns(u.AssetID) {
				out[u.AssetID] = inj.into(&u, frame)
			}
		}
		truth = append(truth, inj.close(last))
	}
	return out, truth, nil
}

func (s *Site) ratingOf(units []string) float64 {
	var sum float64
	for _, u := range s.Units {
		if slices.Contains(units, u.AssetID) {
			sum += u.CapacityKW
		}
	}
	return sum
}

// portalOf returns the portal that frames look like: bare without a counter.
func portalOf(frames map[string]series.Frame) Portal {
	for _, f := range frames {
		if f.Values(series.EnergyCounterKWh) != nil {
			return UsualPortal
		}
	}
	return BarePortal
}

// injector puts one fault into frames.
type injector struct {
	site      *Site
	fault     *Fault
	truth     *Truth
	threshold float64 // kWh of the onset
	shown     float64
	full      float64 // kWh that would have been made while it cost something
	hours     float64
}

// into is the frame with the fault.
func (j *injector) into(u *Unit, frame series.Frame) series.Frame {
	f := j.fault
	power, counter := frame.Values(series.PowerKW), frame.Values(series.EnergyCounterKWh)
	step := series.Interval(frame.Times).Hours()
	if power == nil || step == 0 {
		return frame
	}
	missing, held := 0.0, -1
	keep := make([]int, 0, frame.Len())
	for i, t := range frame.Times {
		if counter != nil {
			counter[i] -= missing
		}
		if !f.within(t) {
			keep, held = append(keep, i), i
			continue
		}
		made := power[i]
		after := j.powerKW(u, frame, i, made)
		if lost := made - after; !math.IsNaN(lost) && math.Abs(lost) > 1e-9 {
			missing += lost * step
			j.cost(t, lost*step, made*step, step)
		}
		power[i] = after
		if dataOnly[f.Kind] && made > 0.02*u.CapacityKW {
			j.cost(t, 0, 0, step)
			j.show(t, made*step)
		}
		switch {
		case f.Kind == CommunicationGap && f.Gap == RowsRemoved, f.outage() && f.RowsAbsent:
			continue
		case f.Kind == CommunicationGap && f.Gap == RowsEmpty:
			each(frame, func(c []float64) { c[i] = math.NaN() })
		case f.Kind == CommunicationGap && held >= 0:
			each(frame, func(c []float64) { c[i] = c[held] })
		case f.Kind == StuckSensor && held >= 0:
			power[i] = power[held]
		case f.Kind == ScaleError:
			power[i] *= f.Severity
		case f.Kind == Spikes:
			power[i] = [...]float64{65535, -32768, 1e19}[hashString(f.ID)%3]
		case f.Kind == IrradianceSensor:
			if light := frame.Values(series.IrradianceWM2); light != nil {
				light[i] *= 1 - f.Severity
			}
		}
		keep = append(keep, i)
	}
	frame = rows(frame, keep)
	if f.Kind == TimeShift {
		frame = shifted(frame, f)
	}
	return frame
}

func each(f series.Frame, change func([]float64)) {
	for _, c := range f.Columns {
		change(c.Values)
	}
}

// rows are the frame's rows at the given places.
func rows(f series.Frame, keep []int) series.Frame {
	if len(keep) == f.Len() {
		return f
	}
	out := series.Frame{}
	for _, i := range keep {
		out.Times = append(out.Times, f.Times[i])
	}
	for _, c := range f.Columns {
		values := make([]float64, 0, len(keep))
		for _, i := range keep {
			values = append(values, c.Values[i])
		}
		out.Set(c.Quantity, values)
	}
	return out
}

// shifted moves the stamps of the fault's time; a row that then falls on one
// before it, or on the time after the fault, is lost.
func shifted(f series.Frame, fault *Fault) series.Frame {
	times := slices.Clone(f.Times)
	var keep []int
	last := int64(math.MinInt64)
	for i, t := range times {
		if fault.within(t) {
			times[i] = t + int64(fault.Severity)*60
			if !fault.To.IsZero() && times[i] >= fault.To.Unix() {
				continue
			}
		}
		if times[i] > last {
			keep, last = append(keep, i), times[i]
		}
	}
	f.Times = times
	return rows(f, keep)
}

// powerKW is the power of a row under the fault.
func (j *injector) powerKW(u *Unit, frame series.Frame, i int, made float64) float64 {
	f := j.fault
	if !(made > 0) || dataOnly[f.Kind] {
		return made
	}
	at := time.Unix(frame.Times[i], 0)
	days := at.Sub(f.From).Hours() / 24
	switch f.Kind {
	case UnitOutage, SiteOutage:
		return u.NightKW
	case StringLoss, Snow:
		return made * (1 - f.Severity)
	case CapacityChange:
		return min(made*(1+f.Severity), max(u.CapacityKW, made))
	case Underperformance:
		return made * (1 - f.Severity*min(days/creepDays, 1))
	case Soiling:
		return made * max(1-f.Severity*math.Floor(days), 0.7)
	case Degradation:
		return made * math.Pow(1-f.Severity, days/365.25)
	case Curtailment:
		return min(made, f.Severity*u.CapacityKW)
	case Derating:
		ambient := frame.At(series.TemperatureC, i)
		if math.IsNaN(ambient) {
			ambient = 25
		}
		return min(made, f.limitKW(u, ambient))
	case PartialShade:
		p := solar.At(at, j.site.Location)
		if off := math.Mod(p.AzimuthDeg-f.AzimuthDeg+720, 360); off >= f.WidthDeg {
			return made
		}
		clear := solar.ClearSky(at, p, j.site.Location, 0).GHI / 1000 * u.CapacityKW
		beam := min(max((made/max(clear, 0.1*u.CapacityKW)-0.25)/0.6, 0), 1)
		return made * (1 - f.Severity*beam)
	case GroundFault, IntermittentTrip:
		start := series.Midnight(at, j.site.Zone)
		sun := j.site.clearDay(start, int(24*time.Hour/cell))
		cellOf := int(at.Sub(start) / cell)
		if f.Kind == GroundFault {
			if index := j.site.dayIndex(at); index%3 != 0 || cellOf >= sun.dawn+24 {
				return made
			}
			return 0
		}
		for _, trip := range j.site.trips(j.site.dayIndex(at), u.AssetID, sun) {
			if cellOf >= trip[0] && cellOf < trip[1] {
				return 0
			}
		}
	}
	return made
}

// cost books what a row lost.
func (j *injector) cost(t int64, lost, full, hours float64) {
	j.hours += hours
	j.truth.Seen = time.Unix(t, 0).UTC().Add(time.Duration(hours * float64(time.Hour)))
	j.truth.LostKWh += lost
	j.full += full
	j.show(t, math.Abs(lost))
}

func (j *injector) show(t int64, kWh float64) {
	if j.shown += kWh; j.truth.Onset.IsZero() && j.shown >= j.threshold {
		j.truth.Onset = time.Unix(t, 0).UTC()
	}
}

// close is the truth once the fault is in all frames.
func (j *injector) close(last int64) Truth {
	t := j.truth
	t.ShownHours = j.hours / float64(len(t.Units))
	if j.full > 0 {
		t.LossFraction = min(max(t.LostKWh/j.full, 0), 1)
	}
	t.LostKWh = max(t.LostKWh, 0)
	t.Visible = !t.Onset.IsZero() && t.ShownHours >= leastShown(t.Kind) && t.From.Unix() <= last
	return *t
}
