package detect

import (
	"fmt"
	"math"

	"app.sunloop/internal/display"
)

func outageEvidence(r *record) []Evidence {
	f := &r.seen
	var out []Evidence
	if f.armedHours > 0 {
		out = append(out, powerEvidence(f))
	}
	if r.family == SiteOutage && f.armedHours > 0 && !f.dark {
		out = append(out, shows("simultaneous", 1.5, float64(f.together), float64(f.heard), "units",
			"%d of %s stopped within one sample of each other.", f.together, display.CountOf(f.heard, "unit", "units")))
	}
	if n := len(r.units); r.family != SiteOutage && n > 1 {
		out = append(out, shows("neighbours", 0.3, float64(n), float64(f.heard), "units", "%s stopped within one sample: a shared breaker is likely.", display.CountOf(n, "unit", "units")))
	} else if r.family != SiteOutage && f.together > 0 {
		out = append(out, shows("neighbours", 0.3, float64(f.together), float64(f.heard-1), "units",
			"%d of the %s stopped within one sample: a shared breaker is likely.", f.together, display.CountOf(f.heard-1, "other unit", "other units")))
	}
	if gained := f.counterTo - f.counterFrom; !math.IsNaN(gained) && f.counterKWh >= 1 {
		kind, weight := "counter_flat", 1.5
		if gained > 0.05*f.counterKWh {
			kind, weight = "counter_moves", -1
		}
		increase := "did not increase"
		if gained > 0 {
			increase = "increased by " + display.Energy(gained)
		}
		out = append(out, shows(kind, weight, gained, f.counterKWh, "kWh", "The lifetime counter %s, where %s was expected.", increase, display.Energy(f.counterKWh)))
	}
	if f.code > 0 {
		out = append(out, codeEvidence(f.code))
	}
	if o, ok := stateEvidence(f); ok {
		out = append(out, o)
	}
	if o, ok := arrayEvidence(f); ok {
		out = append(out, o)
	}
	if f.acHours > 0 && f.acVolts < 20 {
		out = append(out, shows("grid_dead", 1, f.acVolts, 230, "V", "The AC voltage was at most %.0f V: there is no grid at the unit.", f.acVolts))
	}
	if f.lightHours > 0 && f.tier == tierPeers {
		g, weight := f.lightSum/f.lightHours, 0.8
		if g < 80 {
			weight = -0.8
		}
		out = append(out, shows("irradiance", weight, g, 80, "W/m²", "The site's irradiance averaged %s meanwhile.", display.Irradiance(g)))
	}
	if f.armedHours >= 2 {
		out = append(out, shows(durationKind(r), min(0.25*f.armedHours, 1), f.armedHours, persistence.Hours(), "h", "It has been so through %s of sunshine hours.", formatMinutes(f.armedHours*60)))
	}
	if f.coldest <= 2 && f.tier != tierPeers {
		out = append(out, shows("cold", -1, f.coldest, 2, "°C", "It was as cold as %.1f °C: snow on the modules would look the same.", f.coldest))
	}
	return out
}

// durationKind distinguishes an outage that lasted from one that ended the same
// day, automatically or by an operator.
func durationKind(r *record) string {
	switch hours := float64(r.lastSeen-r.start) / 3600; {
	case hours > 24:
		return "duration_over_a_day"
	case r.end != 0:
		return "duration_restored"
	}
	return "duration"
}

// powerEvidence is the main evidence of an outage: no production although
// production was expected.
func powerEvidence(f *facts) Evidence {
	expected := f.expectedKWh / f.armedHours
	source, weight := "what the site has made under that sun before", 0.7
	switch f.tier {
	case tierPeers:
		source, weight = fmt.Sprintf("%d producing units of the site", f.peers), 2.5
		if f.peers == 1 {
			source = "the one producing unit of the site"
		}
		if f.peers < 3 {
			weight = 1.5
		}
	case tierLight:
		source, weight = "the irradiance", 1.8
	case tierForecast:
		source, weight = "the forecast", 0.8
	}
	return shows("power_zero", weight, f.maxKW, expected, "kW", "Power was at most %s over %s of daylight, while %s put the expectation at %s.",
		display.Power(f.maxKW), formatMinutes(f.armedHours*60), source, display.Power(expected))
}

func stateEvidence(f *facts) (Evidence, bool) {
	names := map[float64]string{stateOff: "off", stateFault: "fault", stateStandby: "standby", stateSleeping: "sleeping"}
	switch {
	case f.running > 0.5*f.armedHours:
		return shows("state_running", -1.5, f.state, 0, "state", "The unit reports that it was running for %s of it.", formatMinutes(f.running*60)), true
	case f.state == stateFault:
		return shows("state_fault", 0.7, f.state, 0, "state", "The unit reports the state fault."), true
	case names[f.state] != "":
		return shows("state_idle", 0.7, f.state, 0, "state", "The unit reports the state %s.", names[f.state]), true
	}
	return Evidence{}, false
}

// arrayEvidence distinguishes the array side from the inverter by the DC
// voltage.
func arrayEvidence(f *facts) (Evidence, bool) {
	switch {
	case f.dcHours == 0:
		return Evidence{}, false
	case f.dcVolts < 30:
		return shows("dc_voltage_absent", 0.3, f.dcVolts, 600, "V", "The DC inputs show at most %.0f V under sun: the array is not connected.", f.dcVolts), true
	default:
		return shows("dc_voltage_present", 0.3, f.dcVolts, 600, "V", "The DC inputs show up to %.0f V: the array is live, the inverter does not use it.", f.dcVolts), true
	}
}
