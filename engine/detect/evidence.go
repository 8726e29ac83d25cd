package detect

import (
	"fmt"
	"math"
	"strings"
)

// eventBits are the names of SunSpec's Evt1 bits (models 101-103) and the
// causes that a set bit makes likelier, with the factor.
var eventBits = [16]struct {
	name   string
	causes map[string]float64
}{
	0:  {"GROUND_FAULT", map[string]float64{causeGroundFault: 200}},
	1:  {"DC_OVER_VOLT", map[string]float64{causeHardware: 1.5}},
	2:  {"AC_DISCONNECT", map[string]float64{causeBreaker: 10, causeTrip: 2, causeMainBreaker: 4}},
	3:  {"DC_DISCONNECT", map[string]float64{causeDCSwitch: 20}},
	4:  {"GRID_DISCONNECT", map[string]float64{causeTrip: 10, causeUtility: 5}},
	5:  {"CABINET_OPEN", map[string]float64{causeManual: 10}},
	6:  {"MANUAL_SHUTDOWN", map[string]float64{causeManual: 20}},
	7:  {"OVER_TEMP", map[string]float64{causeHardware: 2}},
	8:  {"OVER_FREQUENCY", map[string]float64{causeTrip: 10, causeUtility: 5}},
	9:  {"UNDER_FREQUENCY", map[string]float64{causeTrip: 10, causeUtility: 5}},
	10: {"AC_OVER_VOLT", map[string]float64{causeTrip: 10, causeUtility: 3}},
	11: {"AC_UNDER_VOLT", map[string]float64{causeTrip: 10, causeUtility: 5}},
	12: {"BLOWN_STRING_FUSE", map[string]float64{causeDCSwitch: 3}},
	13: {"UNDER_TEMP", nil},
	14: {"MEMORY_LOSS", map[string]float64{causeHardware: 15}},
	15: {"HW_TEST_FAILURE", map[string]float64{causeHardware: 15}},
}

// evidence lists what speaks for a record and what against it. Weights are
// natural logarithms of how much likelier the observation is with the fault
// than without; they are estimates, to be calibrated on labelled fleets.
func (s *session) evidence(r *record) []Evidence {
	switch r.family {
	case CommunicationGap:
		return s.gapEvidence(r)
	default:
		return s.outageEvidence(r)
	}
}

func (s *session) outageEvidence(r *record) []Evidence {
	f := &r.seen
	var out []Evidence
	if f.armedHours > 0 {
		out = append(out, s.powerEvidence(r))
	}
	if r.family == SiteOutage && f.armedHours > 0 && !f.dark {
		out = append(out, Evidence{Kind: "simultaneous", Supports: true, Value: float64(f.together), Reference: float64(f.heard), Unit: "units", weight: 1.5,
			Text: fmt.Sprintf("%d of %d units stopped within one sample of each other.", f.together, f.heard)})
	}
	if r.family == InverterOutage && f.together > 0 {
		out = append(out, Evidence{Kind: "neighbours", Supports: true, Value: float64(f.together), Reference: float64(f.heard - 1), Unit: "units", weight: 0.3,
			causes: map[string]float64{causeBreaker: 5},
			Text:   fmt.Sprintf("%d of the %d other units stopped within one sample: a shared breaker is likely.", f.together, f.heard-1)})
	}
	if gained := f.counterTo - f.counterFrom; !math.IsNaN(gained) && f.counterKWh >= 1 {
		e := Evidence{Kind: "counter_flat", Supports: gained <= 0.05*f.counterKWh, Value: gained, Reference: f.counterKWh, Unit: "kWh", weight: 1.5,
			causes: map[string]float64{causeReadings: 0.05},
			Text:   fmt.Sprintf("The lifetime counter gained %s where %s was to be expected.", kwh(gained), kwh(f.counterKWh))}
		if !e.Supports {
			e.weight, e.causes = -1, map[string]float64{causeReadings: 3}
		}
		out = append(out, e)
	}
	if f.code > 0 {
		out = append(out, codeEvidence(f.code))
	}
	if e, ok := stateEvidence(f); ok {
		out = append(out, e)
	}
	if f.lightHours > 0 && f.tier == tierPeers {
		g := f.lightSum / f.lightHours
		e := Evidence{Kind: "irradiance", Supports: g >= 80, Value: g, Reference: 80, Unit: "W/m²", weight: 0.8,
			Text: fmt.Sprintf("The site's irradiance averaged %.0f W/m² meanwhile.", g)}
		if !e.Supports {
			e.weight = -0.8
		}
		out = append(out, e)
	}
	if f.armedHours >= 2 {
		out = append(out, Evidence{Kind: "duration", Supports: true, Value: f.armedHours, Reference: persistence.Hours(), Unit: "h", weight: min(0.25*f.armedHours, 1),
			causes: durationCauses(r), Text: fmt.Sprintf("It has been so through %s of sunshine hours.", span(f.armedHours))})
	}
	if f.coldest <= 2 && f.tier != tierPeers {
		out = append(out, Evidence{Kind: "cold", Supports: false, Value: f.coldest, Reference: 2, Unit: "°C", weight: -1, causes: map[string]float64{causeSnow: 10},
			Text: fmt.Sprintf("It was as cold as %.1f °C: snow on the modules would look the same.", f.coldest)})
	}
	return out
}

func durationCauses(r *record) map[string]float64 {
	if hours := float64(r.lastSeen-r.start) / 3600; hours > 24 {
		return map[string]float64{causeHardware: 1.6, causeTrip: 0.6}
	}
	if r.end != 0 { // back the same day, by itself or by a hand
		return map[string]float64{causeHardware: 0.4, causeTrip: 2}
	}
	return nil
}

// powerEvidence is the heart of an outage: nothing made, something expected.
func (s *session) powerEvidence(r *record) Evidence {
	f := &r.seen
	expected := f.expectedKWh / f.armedHours
	e := Evidence{Kind: "power_zero", Supports: true, Value: f.maxKW, Reference: expected, Unit: "kW"}
	source := ""
	switch f.tier {
	case tierPeers:
		source = fmt.Sprintf("%d producing units of the site", f.peers)
		if f.peers == 1 {
			source = "the one producing unit of the site"
		}
		if e.weight = 2.5; f.peers < 3 {
			e.weight = 1.5
		}
	case tierLight:
		source, e.weight = "the irradiance", 1.8
	case tierForecast:
		source, e.weight = "the forecast", 0.8
	default:
		source, e.weight = "what the site has made under that sun before", 0.7
	}
	e.Text = fmt.Sprintf("Power was at most %.1f kW over %s of daylight, while %s put the expectation at %.1f kW.", f.maxKW, span(f.armedHours), source, expected)
	return e
}

func codeEvidence(code float64) Evidence {
	e := Evidence{Kind: "event_code", Supports: true, Value: code, weight: 1, causes: map[string]float64{}}
	var names []string
	if bits := uint64(code); code == math.Trunc(code) && bits < 1<<16 {
		for b, bit := range eventBits {
			if bits&(1<<b) == 0 {
				continue
			}
			names = append(names, bit.name)
			for c, factor := range bit.causes {
				e.causes[c] = max(e.causes[c], factor)
			}
		}
	}
	e.Text = fmt.Sprintf("The unit reports event code %.0f.", code)
	if len(names) > 0 {
		e.Text = fmt.Sprintf("The unit reports event code %.0f, in SunSpec's reading %s.", code, strings.Join(names, ", "))
		e.weight = 1.5
	}
	return e
}

func stateEvidence(f *facts) (Evidence, bool) {
	names := map[float64]string{stateOff: "off", stateFault: "fault", stateStandby: "standby", stateSleeping: "sleeping"}
	switch {
	case f.running > 0.5*f.armedHours:
		return Evidence{Kind: "state_running", Supports: false, Value: f.state, Unit: "state", weight: -1.5, causes: map[string]float64{causeReadings: 6},
			Text: fmt.Sprintf("The unit says that it was running for %s of it.", span(f.running))}, true
	case names[f.state] != "":
		e := Evidence{Kind: "state_idle", Supports: true, Value: f.state, Unit: "state", weight: 0.7,
			Text: fmt.Sprintf("The unit says that its state is %s.", names[f.state])}
		if f.state == stateFault {
			e.causes = map[string]float64{causeHardware: 1.5}
		}
		return e, true
	}
	return Evidence{}, false
}

func (s *session) gapEvidence(r *record) []Evidence {
	f := &r.seen
	end := r.lastSeen
	if r.end != 0 {
		end = r.end
	}
	hours := float64(end-r.start) / 3600
	out := []Evidence{{Kind: "rows_missing", Supports: true, Value: hours, Unit: "h", weight: 3,
		Text: fmt.Sprintf("Nothing new arrived for %s.", span(hours))}}
	if f.heard > len(r.units) {
		out = append(out, Evidence{Kind: "others_heard", Supports: true, Value: float64(f.heard - len(r.units)), Reference: float64(f.heard), Unit: "units", weight: 0.3,
			causes: map[string]float64{causeLogger: 0.2, causeInternet: 0.1, causePortal: 0.2},
			Text:   fmt.Sprintf("%d of the site's %d units were heard meanwhile.", f.heard-len(r.units), f.heard)})
	} else if f.heard > 1 {
		out = append(out, Evidence{Kind: "all_silent", Supports: true, Value: float64(len(r.units)), Reference: float64(f.heard), Unit: "units", weight: 0.5,
			causes: map[string]float64{causeBus: 0.3, causeInterface: 0.05},
			Text:   fmt.Sprintf("All %d units fell silent together.", f.heard)})
	}
	if gained := f.counterTo - f.counterFrom; !math.IsNaN(gained) && r.class != Unknown {
		e := Evidence{Kind: "counter_over_gap", Supports: r.class == Comms, Value: gained, Reference: f.counterKWh, Unit: "kWh", weight: 1.5}
		share := 100 * gained / f.counterKWh
		if e.Supports {
			e.causes = map[string]float64{causeUnitOff: 0.02}
			e.Text = fmt.Sprintf("Over the gap the counter gained %s, %.0f %% of the %s expected: the plant ran.", kwh(gained), share, kwh(f.counterKWh))
		} else {
			e.weight, e.causes = -1, map[string]float64{causeUnitOff: 12}
			e.Text = fmt.Sprintf("Over the gap the counter gained only %s, %.0f %% of the %s expected; %.0f %% would still be usual.", kwh(gained), share, kwh(f.counterKWh), 100*f.band)
		}
		out = append(out, e)
	}
	return out
}

// confidence multiplies the experts: the odds of the prior and of each piece
// of evidence. It stays at or below 0.95 without an event code, and at or
// below 0.6 with a single piece in favour (how long something lasts is no
// second one) or, for a gap, without a counter that confirms it.
func confidence(r *record, evidence []Evidence) float64 {
	const prior = -1
	odds, favour, limit := float64(prior), 0, 0.95
	for _, e := range evidence {
		odds += e.weight
		if e.Supports && e.Kind != "duration" {
			favour++
		}
		if e.Kind == "event_code" {
			limit = 0.99
		}
	}
	if favour < 2 || r.family == CommunicationGap && r.class == Unknown {
		limit = 0.6
	}
	return min(logistic(odds), limit)
}
