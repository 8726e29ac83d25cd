package simulate

import (
	"math"
	"time"
)

// effect is what the faults of a moment do to a unit.
type effect struct {
	array, beam float64 // share of the array's power and of the beam that remain
	limitKW     float64
	off         bool
	stuck       *aim // of a frozen tracker
}

// acKW is a unit's AC power under the light of its plane: array power with a
// temperature coefficient of -0.37 %/K, 4 % wiring and mismatch loss, inverter
// efficiency 97.5 %, no feed-in below 0.3 % of the rating.
func (u Unit) acKW(beam, rest, ambientC, noise float64, e effect) float64 {
	poa := beam*e.beam + rest
	cellC := ambientC + 0.03*poa // ambient + NOCT rise of 24 K at 800 W/m²
	p := u.CapacityKW * u.DCRatio * poa / 1000 * (1 - 0.0037*(cellC-25)) * 0.96 * inverterEfficiency * e.array * noise
	if p < 0.003*u.CapacityKW {
		return 0
	}
	return min(p, e.limitKW)
}

const inverterEfficiency = 0.975

// action is a fault as it acts on one unit on one day.
type action struct {
	*Fault
	index    int // in the list of faults
	from, to int // cells [from, to)
	array    float64
	wake     int      // of a ground fault: the cell in which the unit starts at last
	trips    [][2]int // of intermittent trips: cells [from, to)
	stuck    aim
}

// dataOnly are the kinds that change the reported data and not the production.
var dataOnly = map[Kind]bool{CommunicationGap: true, StuckSensor: true, TimeShift: true, ScaleError: true, Spikes: true, IrradianceSensor: true}

// acting are the faults that change what the unit produces on a day.
func (s *Site) acting(faults []Fault, u Unit, index int, sun *clearDay, start, end time.Time) []action {
	var out []action
	startS := start.Unix()
	for k := range faults {
		f := &faults[k]
		if dataOnly[f.Kind] || !f.Overlaps(start, end) || !f.Concerns(u.AssetID) {
			continue
		}
		a := action{Fault: f, index: k, from: int(max(f.From.Unix()-startS, 0) / cellS), to: math.MaxInt, array: 1}
		if !f.To.IsZero() {
			a.to = int((f.To.Unix() - startS + cellS - 1) / cellS)
		}
		since := max(start.Sub(f.From).Hours(), 0) / 24
		switch f.Kind {
		case StringLoss:
			a.array = 1 - f.Severity
		case CapacityChange:
			a.array = 1 + f.Severity
		case Underperformance:
			a.array = 1 - f.Severity*min(since/creepDays, 1)
		case Soiling:
			a.array = max(1-f.Severity*float64(s.dryDays(index, s.dayIndex(f.From))), 0.7)
		case Degradation:
			a.array = math.Pow(1-f.Severity, since/365.25)
		case TrackerFault:
			a.stuck = stuckAt(f.Severity)
		case GroundFault:
			if s.wetMorning(index) {
				a.wake = sun.dawn + 18 + s.random(index, "insulation"+u.AssetID).IntN(18)
			}
		case IntermittentTrip:
			a.trips = s.trips(index, u.AssetID, sun)
		}
		out = append(out, a)
	}
	return out
}

// creepDays is how long an underperformance takes to grow to its severity.
const creepDays = 15

// wetMorning reports whether dew or rain is on the modules: after a day of rain
// or during one, and on every fourth other morning.
func (s *Site) wetMorning(index int) bool {
	return s.skyOf(index) == rain || s.skyOf(index-1) == rain || s.chance(index, "dew") < 0.25
}

// trips are four to eight stops of 10 to 25 minutes in the middle of a day,
// with at least half an hour between two.
func (s *Site) trips(index int, assetID string, sun *clearDay) [][2]int {
	r := s.random(index, "trips"+assetID)
	length := sun.dusk - sun.dawn
	n := 4 + r.IntN(5)
	room := max(length*3/5/n, 12) // cells for each
	out := make([][2]int, 0, n)
	for i := range n {
		from := sun.dawn + length/5 + i*room + r.IntN(room-10)
		out = append(out, [2]int{from, from + 2 + r.IntN(4)})
	}
	return out
}

// noFault is the index of no fault.
const noFault = -1

// thaw is how many cells before its end snow begins to slide: three hours.
const thaw = 36

// combined is the effect of all faults but one that act in a cell.
func combined(acting []action, except int, u Unit, cell int, azimuthDeg, ambientC float64) effect {
	e := effect{array: 1, beam: 1, limitKW: u.CapacityKW}
	for k := range acting {
		a := &acting[k]
		if k == except || cell < a.from || cell >= a.to {
			continue
		}
		e.array *= a.array
		switch a.Kind {
		case UnitOutage, SiteOutage:
			e.off = true
		case GroundFault:
			e.off = e.off || cell < a.wake
		case IntermittentTrip:
			for _, t := range a.trips {
				e.off = e.off || cell >= t[0] && cell < t[1]
			}
		case Curtailment:
			e.limitKW = min(e.limitKW, a.Severity*u.CapacityKW)
		case Derating:
			// A healthy cabinet runs 15 K above ambient; from 45 °C in it on
			// the inverter derates by 2 % of its rating for each kelvin.
			hot := ambientC + cabinetRiseC + a.Severity - 45
			e.limitKW = min(e.limitKW, u.CapacityKW*max(1-0.02*max(hot, 0), 0.3))
		case PartialShade:
			if off := math.Mod(azimuthDeg-a.AzimuthDeg+720, 360); off < a.WidthDeg {
				e.beam *= 1 - a.Severity
			}
		case Snow:
			e.array *= 1 - a.Severity*min(float64(a.to-cell)/thaw, 1)
		case TrackerFault:
			e.stuck = &a.stuck
		}
	}
	return e
}

// cabinetRiseC is how much warmer than the air a healthy cabinet is at full
// power.
const cabinetRiseC = 15
