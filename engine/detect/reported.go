package detect

import (
	"math"
	"slices"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
	"app.sunloop/internal/display"
)

// reportedGap is how long a unit may be silent between two samples that report the same
// fault.
const reportedGap = time.Hour

// reportedTogether is the time between the first reports of units with one cause.
const reportedTogether = 90 * time.Second

// reportedDark is the irradiance in W/m² up to which a unit that has stopped is not
// missed.
const reportedDark = 20

// Bits of Evt1 by what they mean for a unit.
const (
	bitStringFuse = 12
	// With one of them a unit that makes no power is out of order: over-voltage,
	// disconnects, cabinet, manual stop, temperature, grid, memory and hardware. Bit 13,
	// too cold, is not among them.
	stoppingBits = 1<<1 | 1<<2 | 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<7 | 1<<8 | 1<<9 | 1<<10 | 1<<11 | 1<<14 | 1<<15
)

// Reported returns what the newest sample of each unit says of a fault, by its state and
// event bits: open events, which need no history and are seen within one sample. A unit
// that reports nothing, or whose newest sample is older than a day, has none. If half of
// the units report a stop, it is one event of the site; fewer that report the same since the
// same time are one event, too.
func Reported(in Input) []Event {
	var events, stopped []Event
	heard := 0
	rating := map[string]float64{}
	for _, u := range in.Units {
		rating[u.AssetID] = u.CapacityKW
		list, known := reportedBy(u, in)
		if known {
			heard++
		}
		for _, e := range list {
			if e.Family == InverterOutage {
				stopped = append(stopped, e)
			} else {
				events = append(events, e)
			}
		}
	}
	if len(stopped) >= 2 && 2*len(stopped) >= heard {
		return append(Together(events, reportedTogether, rating), together(stopped, heard))
	}
	return Together(append(events, stopped...), reportedTogether, rating)
}

// together is the outage of the site that units report.
func together(stopped []Event, heard int) Event {
	site := stopped[0]
	site.Family, site.Units = SiteOutage, nil
	for _, e := range stopped {
		site.Units = append(site.Units, e.Units...)
		if e.Start.Before(site.Start) {
			site.Start, site.DetectedAt = e.Start, e.DetectedAt
		}
		if e.LastSeen.After(site.LastSeen) {
			site.LastSeen = e.LastSeen
		}
	}
	site.Evidence = append(site.Evidence, shows("reported_together", 1.5, float64(len(stopped)), float64(heard), "units", "%d of %s report a stop.", len(stopped), display.CountOf(heard, "unit", "units")))
	return site
}

// report is what a sample says.
type report struct {
	state, code, vendor, power float64
	families                   []Family
}

// reportedBy returns the events that a unit reports; known is false if its newest sample
// says nothing of a state.
func reportedBy(u Unit, in Input) (events []Event, known bool) {
	f := within(u.Frame, time.Time{}, in.Now)
	n := f.Len() - 1
	for ; n >= 0; n-- { // the newest sample with a state or a code
		if !math.IsNaN(f.At(series.InverterState, n)) || !math.IsNaN(f.At(series.ErrorCode, n)) {
			break
		}
	}
	if n < 0 || in.Now.Sub(time.Unix(f.Times[n], 0)) > 24*time.Hour {
		return nil, false
	}
	newest := readReport(f, n, u, in.Site)
	last := time.Unix(f.Times[n], 0).UTC()
	if step := f.At(series.StepS, n); step > 0 {
		last = last.Add(time.Duration(step) * time.Second)
	}
	if last.After(in.Now) {
		last = in.Now
	}
	for _, family := range newest.families {
		since := n
		for i := n - 1; i >= 0 && time.Duration(f.Times[since]-f.Times[i])*time.Second <= reportedGap; i-- {
			if r := readReport(f, i, u, in.Site); slices.Contains(r.families, family) {
				since = i
			} else if !math.IsNaN(r.state) || !math.IsNaN(r.code) {
				break
			}
		}
		start := time.Unix(f.Times[since], 0).UTC()
		e := Event{Family: family, Units: []string{u.AssetID}, Start: start, DetectedAt: start, LastSeen: last, Evidence: newest.evidence()}
		if family == InverterOutage || family == GroundFault || family == ArcFault {
			e.LossFraction = 1
			if newest.power > offShare*u.CapacityKW {
				e.LossFraction = 0 // it still produces
			}
		}
		if family == StringOutage {
			dead, share := withoutCurrent(f, n)
			e.Evidence, e.LossFraction = append(e.Evidence, dead...), share
		}
		events = append(events, e)
	}
	return events, true
}

// readReport returns what sample i says.
func readReport(f series.Frame, i int, u Unit, site Site) report {
	r := report{state: f.At(series.InverterState, i), code: code([]float64{f.At(series.ErrorCode, i)}, [2]int{0, 1}), vendor: f.At(series.VendorCode, i), power: f.At(series.PowerKW, i)}
	off := !(r.power > offShare*u.CapacityKW)
	idle := r.state == stateSleeping || r.state == stateOff && !isDay(f, i, site)
	if hasArc(r.code) {
		r.families = append(r.families, ArcFault)
	}
	if hasBit(r.code, bitGroundFault) {
		r.families = append(r.families, GroundFault)
	}
	if len(r.families) == 0 && off && (r.state == stateFault || !idle && r.state != stateMPPT && r.state != stateThrottled && isDay(f, i, site) && anyBit(r.code, stoppingBits)) {
		r.families = append(r.families, InverterOutage)
	}
	if hasBit(r.code, bitOverTemp) && !off {
		r.families = append(r.families, ThermalDerating)
	}
	if hasBit(r.code, bitStringFuse) {
		r.families = append(r.families, StringOutage)
	}
	return r
}

func anyBit(code float64, bits uint64) bool {
	for b := range 16 {
		if bits&(1<<b) != 0 && hasBit(code, b) {
			return true
		}
	}
	return false
}

// isDay reports whether sun is expected at sample i: by the irradiance, else by the place;
// without both a unit that has stopped may be asleep.
func isDay(f series.Frame, i int, site Site) bool {
	if g := f.At(series.IrradianceWM2, i); !math.IsNaN(g) {
		return g > reportedDark
	}
	return site.Location != nil && solar.At(time.Unix(f.Times[i], 0), *site.Location).ApparentZenithDeg < 88
}

// evidence lists what a unit reports.
func (r report) evidence() (out []Evidence) {
	switch {
	case r.code > 0:
		out = append(out, codeEvidence(r.code))
	case r.vendor > 0:
		out = append(out, codeEvidence(vendorCodes+r.vendor))
	}
	switch r.state {
	case stateFault:
		out = append(out, shows("state_fault", 1.5, r.state, 0, "state", "The unit reports the state fault."))
	case stateOff, stateStandby:
		out = append(out, shows("state_idle", 0.7, r.state, 0, "state", "The unit reports that it is %s.", map[float64]string{stateOff: "off", stateStandby: "in standby"}[r.state]))
	case stateThrottled:
		out = append(out, shows("state_throttled", 0.7, r.state, 0, "state", "The unit reports that its power is limited."))
	}
	if !math.IsNaN(r.power) {
		out = append(out, shows("power_now", 0, r.power, 0, "kW", "It reports a power of %s.", display.Power(r.power)))
	}
	return out
}

// withoutCurrent names the DC inputs that have voltage and no current in sample i while
// others have some, and returns their share of the inputs.
func withoutCurrent(f series.Frame, i int) (out []Evidence, share float64) {
	highest, inputs := 0.0, 0
	for n := 1; n <= 31; n++ {
		if a := f.At(series.DCCurrent(n), i); !math.IsNaN(a) {
			inputs++
			highest = max(highest, a)
		}
	}
	for n := 1; n <= 31; n++ {
		if a := f.At(series.DCCurrent(n), i); a < inputDark*highest && highest > leastAmps && f.At(series.DCVoltage(n), i) > 0 {
			out = append(out, shows("input_dead", 1, float64(n), 0, "", "DC input %d of %d delivers no current while others of the unit deliver up to %.1f A.", n, inputs, highest))
		}
	}
	return out, float64(len(out)) / float64(max(inputs, 1))
}

// Covered reports whether open events say of each unit what it reports: its family, or that
// it has stopped.
func Covered(events []Event, reported Event) bool {
	return !slices.ContainsFunc(reported.Units, func(unit string) bool {
		return !slices.ContainsFunc(events, func(e Event) bool {
			return e.End == nil && slices.Contains(e.Affected(), unit) && covers(e.Family, reported.Family)
		})
	})
}

// covers reports whether a family says as much as another one.
func covers(family, reported Family) bool {
	switch reported {
	case InverterOutage, SiteOutage:
		return family == InverterOutage || family == SiteOutage || family == GroundFault || family == ArcFault
	}
	return family == reported
}
