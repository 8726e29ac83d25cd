package simulate

import (
	"fmt"
	"math/rand/v2"
	"time"

	"app.sunloop/engine/solar"
)

// Case is one site of a seed that detection is scored on.
type Case struct {
	Site  *Site
	Step  time.Duration // of its telemetry
	Until time.Time     // end of it
	Clean bool          // nothing was injected: what is announced is a false alarm
	Plain bool          // detection knows neither planes nor strings

	Measuring *Measuring // what measuring adds; nil for exact readings
}

// The extent of a seed.
const (
	scoredUnits = 12
	scoredDays  = 400
	longUnits   = 4
	longYears   = 3
)

// Scored returns the cases of one seed: Berlin (fixed, facing south), Phoenix
// (single-axis trackers) and Chennai (flat) with twelve inverters each over 400
// days, one of them clean, one with five-minute data and the others with
// quarter hours, and a fourth site of four inverters over three years of hourly
// data, which may degrade. Which site is clean, which has fine data and what
// the portals report rotates with the seed, so that nine seeds contain every
// combination; for a site whose portal reports power only, only the capacity is
// known.
func Scored(seed uint64, start time.Time) []Case {
	fleet := Clean(seed, start, scoredUnits)
	var out []Case
	for i, s := range fleet.Sites {
		s.Portal = [...]Portal{RichPortal, UsualPortal, UsualPortal, BarePortal}[(seed+uint64(i))%4]
		r := rand.New(rand.NewPCG(seed, uint64(100+i)))
		for k := range s.Units {
			s.Units[k].NightKW = [...]float64{0, 0, -0.001 - 0.019*r.Float64(), 0.010}[r.IntN(4)]
			s.Units[k].Tracker = s.ID == "Phoenix"
		}
		c := Case{Site: s, Step: 15 * time.Minute, Until: s.Start.AddDate(0, 0, scoredDays), Clean: uint64(i) == seed%3, Plain: s.Portal == BarePortal}
		if uint64(i) == seed/3%3 {
			c.Step = 5 * time.Minute
		}
		if !c.Clean {
			s.SetFaults(schedule(r, s, scoredDays))
		}
		out = append(out, c)
	}
	return append(out, long(seed, start))
}

// long is the site of a seed that may degrade.
func long(seed uint64, start time.Time) Case {
	r := rand.New(rand.NewPCG(seed, 200))
	base := Clean(seed, start, longUnits).Sites[r.IntN(3)]
	base.ID, base.Portal = "Long-"+base.ID, UsualPortal
	base.Units = units(base.ID+"-", 4000000000000000+int64(seed)*1000, "Make Model", 12, []float64{50, 50, 25, 100}, []solar.Plane{base.Units[0].Plane})
	s := NewSite(seed, start, base)
	c := Case{Site: s, Step: time.Hour, Until: s.Start.AddDate(longYears, 0, 0), Clean: seed%4 == 0}
	if !c.Clean {
		f, _ := inject(r, s, Degradation, s.Start)
		s.SetFaults([]Fault{f})
	}
	return c
}

// layer is a set of kinds of which a unit has one at a time. Faults of other
// layers may overlap them: that is how mixes come about.
type layer struct {
	after int     // first day
	rate  float64 // faults a day and site of twelve units
	kinds []Kind  // by weight
}

var layers = []layer{
	{8, 0.2, []Kind{
		UnitOutage, UnitOutage, UnitOutage, UnitOutage, SiteOutage, CommunicationGap, CommunicationGap, CommunicationGap, StuckSensor, StuckSensor,
		Spikes, ScaleError, Curtailment, Curtailment, IntermittentTrip, GroundFault,
	}},
	{30, 0.05, []Kind{StringLoss, StringLoss, StringLoss, StringLoss, PartialShade, PartialShade, Derating, TrackerFault, TrackerFault, CapacityChange, Underperformance}},
	{45, 0.03, []Kind{Soiling, Soiling, Soiling, TimeShift, TimeShift, IrradianceSensor, Snow, Snow, Snow}},
}

// schedule draws the faults of a site over days from its start. Two of one
// layer on a unit stay four days apart, longer ones two weeks; what lasts for a
// week or more overlaps nothing on its unit but what befalls the site; and never
// more than a third of the units have something slow at a time.
func schedule(r *rand.Rand, s *Site, days int) []Fault {
	n := len(s.Units)
	free := make([][]int, len(layers)) // first day on which each unit may have its next fault of the layer
	for l := range free {
		free[l] = make([]int, n)
	}
	var out []Fault
	for d := range days {
		for l, layer := range layers {
			if d < layer.after || r.Float64() > layer.rate*float64(n)/scoredUnits {
				continue
			}
			kind, unit := layer.kinds[r.IntN(len(layer.kinds))], r.IntN(n)
			if !possible(s, kind, d) {
				continue
			}
			f, last := inject(r, s, kind, day0(s, s.Start, d))
			hit := []int{unit}
			if siteWide(kind) || kind == CommunicationGap && r.IntN(5) == 0 {
				hit = hit[:0]
				for k := range n {
					hit = append(hit, k)
				}
			}
			until := d + int(last.Hours()/24) + 4
			if slow(kind) {
				until = min(until+10, d+100)
			}
			if !clearOf(free, l, hit, d, last) {
				continue
			}
			f.ID = fmt.Sprintf("%s-%d", s.ID, len(out)+1)
			for _, k := range hit {
				f.Units = append(f.Units, s.Units[k].AssetID)
				free[l][k] = until
				if last > 5*24*time.Hour && l == 0 { // what a long stop hides is not to be found
					free[1][k] = max(free[1][k], until)
				}
			}
			out = append(out, f)
		}
	}
	return out
}

// possible reports whether the kind can occur at the site on a day: snow needs
// cold, shading by an object and heat derating need fixed modules, and a sensor
// must exist to fail.
func possible(s *Site, kind Kind, d int) bool {
	tracker := s.Units[0].Tracker
	switch kind {
	case Snow:
		index := s.dayIndex(s.Start) + d
		for i := range 3 {
			if s.temperature(index+i)(0.5) > 0.5 {
				return false
			}
		}
		return true
	case TrackerFault:
		return tracker
	case PartialShade:
		return !tracker
	case IrradianceSensor:
		return s.Portal != BarePortal
	case GroundFault:
		return s.Portal != BarePortal
	}
	return true
}

func clearOf(free [][]int, l int, hit []int, d int, last time.Duration) bool {
	for _, k := range hit {
		if free[l][k] > d || l == 0 && last > 5*24*time.Hour && free[1][k] > d {
			return false
		}
	}
	if l != 1 {
		return true
	}
	open := 0
	for _, until := range free[1] {
		if until > d {
			open++
		}
	}
	return 3*(open+1) <= len(free[1])
}
