package simulate

import (
	"math/rand/v2"
	"time"
)

// slow reports whether faults of the kind last for weeks.
func slow(k Kind) bool {
	switch k {
	case StringLoss, Soiling, Derating, PartialShade, Degradation, TimeShift, IrradianceSensor, CapacityChange, Underperformance, TrackerFault, GroundFault:
		return true
	}
	return false
}

// siteWide reports whether faults of the kind affect all units of a site.
func siteWide(k Kind) bool {
	switch k {
	case SiteOutage, Curtailment, Soiling, TimeShift, Snow, IrradianceSensor, Degradation:
		return true
	}
	return false
}

// inject draws one fault that begins on the given day, by the grammar of
// injected faults: durations from an hour to a month; long faults begin at any
// hour, short ones by day.
func inject(r *rand.Rand, s *Site, kind Kind, day time.Time) (Fault, time.Duration) {
	pick := func(ds ...time.Duration) time.Duration { return ds[r.IntN(len(ds))] }
	share := func(ss ...float64) float64 { return ss[r.IntN(len(ss))] }
	code := func(cs ...int) int { return cs[r.IntN(len(cs))] }
	const hour, day24 = time.Hour, 24 * time.Hour
	anyTime := day.Add(time.Duration(r.IntN(288)) * cell)
	byDay := day.Add(10*hour + time.Duration(r.IntN(36))*cell)
	f := Fault{Kind: kind, From: anyTime, Cause: "injected"}
	var last time.Duration
	short := func(choices ...time.Duration) {
		if last = pick(choices...); last < day24 {
			f.From = byDay
		}
	}
	switch kind {
	case UnitOutage:
		short(hour, 4*hour, day24, 7*day24, 30*day24)
		f.Code = code(0, 0, 1<<2, 1<<3, 1<<6, 1<<14)
	case SiteOutage:
		short(2*hour, day24)
		f.RowsAbsent, f.Code = r.IntN(3) == 0 && s.Portal != BarePortal, 1<<4 // without a counter the energy of absent rows is unknown
	case CommunicationGap:
		short(hour, 4*hour, day24, 7*day24)
		f.Gap = Gap(r.IntN(3))
		if s.Portal == BarePortal && f.Gap == RowsHeld {
			f.Gap = RowsRemoved // with power only, repeated rows are a frozen reading
		}
	case StringLoss:
		last, f.Severity, f.Code = 30*day24, share(0.05, 0.08, 0.12, 0.25), code(0, 0, 1<<12)
	case Soiling:
		last, f.Severity = 60*day24, share(0.0005, 0.0015, 0.003)
	case Curtailment:
		f.From, last, f.Severity = byDay, pick(2*hour, 4*hour), share(0.5, 0.6, 0.7)
	case Derating:
		last, f.Severity, f.Code = 20*day24, share(15, 25), code(0, 1<<7)
	case PartialShade:
		last, f.Severity, f.AzimuthDeg, f.WidthDeg = 40*day24, share(0.2, 0.4, 0.6), 140+80*r.Float64(), share(10, 25, 40)
	case StuckSensor:
		f.From, last = byDay, pick(hour/2, 3*hour, 2*day24) // a reading frozen at zero is an outage for everyone without a counter
	case Degradation:
		last, f.Severity = 2000*day24, share(0.005, 0.01, 0.02)
	case TimeShift:
		last, f.Severity = time.Duration(10+r.IntN(15))*day24, share(-60, -30, -15, 15, 30, 60)
	case ScaleError:
		last, f.Severity = pick(day24, 5*day24), share(1000, 0.001, 4, 12)
	case Spikes:
		f.From = byDay
		last = time.Duration(1+r.IntN(20)) * 15 * time.Minute
	case Snow:
		f.From, last, f.Severity = day.Add(2*hour), pick(11*hour, day24+11*hour, 2*day24+11*hour), share(0.9, 1)
	case GroundFault:
		last, f.Code = 15*day24, 1
	case IntermittentTrip:
		f.From, last, f.Code = day, pick(2*day24, 6*day24), code(0, 1<<10)
	case TrackerFault:
		last, f.Severity = 15*day24, share(-trackerReachDeg, 0, trackerReachDeg)
	case IrradianceSensor:
		last, f.Severity = 15*day24, share(0.2, 0.35, 1)
	case CapacityChange:
		last, f.Severity = 2000*day24, share(0.1, 0.2)
	case Underperformance:
		last, f.Severity = 50*day24, share(0.15, 0.2)
	}
	f.To = f.From.Add(last)
	return f, last
}
