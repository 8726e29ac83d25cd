package detect

import (
	"fmt"
	"math"
)

func outageEvidence(r *record) []observation {
	f := &r.seen
	var out []observation
	if f.armedHours > 0 {
		out = append(out, powerEvidence(f))
	}
	if r.family == SiteOutage && f.armedHours > 0 && !f.dark {
		out = append(out, shows("simultaneous", float64(f.together), float64(f.heard), "units",
			"%d of %d units stopped within one sample of each other.", f.together, f.heard).weigh(1.5, nil))
	}
	if r.family == InverterOutage && f.together > 0 {
		out = append(out, shows("neighbours", float64(f.together), float64(f.heard-1), "units",
			"%d of the %d other units stopped within one sample: a shared breaker is likely.", f.together, f.heard-1).
			weigh(0.3, map[string]float64{causeBreaker: 5}))
	}
	if gained := f.counterTo - f.counterFrom; !math.IsNaN(gained) && f.counterKWh >= 1 {
		o := shows("counter_flat", gained, f.counterKWh, "kWh", "The lifetime counter gained %s where %s was to be expected.", kwh(gained), kwh(f.counterKWh))
		if gained <= 0.05*f.counterKWh {
			out = append(out, o.weigh(1.5, map[string]float64{causeReadings: 0.05}))
		} else {
			out = append(out, o.weigh(-1, map[string]float64{causeReadings: 3}))
		}
	}
	if f.code > 0 {
		out = append(out, codeEvidence(f.code))
	}
	if o, ok := stateEvidence(f); ok {
		out = append(out, o)
	}
	if f.lightHours > 0 && f.tier == tierPeers {
		g, weight := f.lightSum/f.lightHours, 0.8
		if g < 80 {
			weight = -0.8
		}
		out = append(out, shows("irradiance", g, 80, "W/m²", "The site's irradiance averaged %.0f W/m² meanwhile.", g).weigh(weight, nil))
	}
	if f.armedHours >= 2 {
		out = append(out, shows("duration", f.armedHours, persistence.Hours(), "h", "It has been so through %s of sunshine hours.", span(f.armedHours)).
			weigh(min(0.25*f.armedHours, 1), durationCauses(r)))
	}
	if f.coldest <= 2 && f.tier != tierPeers {
		out = append(out, shows("cold", f.coldest, 2, "°C", "It was as cold as %.1f °C: snow on the modules would look the same.", f.coldest).
			weigh(-1, map[string]float64{causeSnow: 10}))
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
func powerEvidence(f *facts) observation {
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
	return shows("power_zero", f.maxKW, expected, "kW", "Power was at most %.1f kW over %s of daylight, while %s put the expectation at %.1f kW.",
		f.maxKW, span(f.armedHours), source, expected).weigh(weight, nil)
}

func stateEvidence(f *facts) (observation, bool) {
	names := map[float64]string{stateOff: "off", stateFault: "fault", stateStandby: "standby", stateSleeping: "sleeping"}
	switch {
	case f.running > 0.5*f.armedHours:
		return shows("state_running", f.state, 0, "state", "The unit says that it was running for %s of it.", span(f.running)).
			weigh(-1.5, map[string]float64{causeReadings: 6}), true
	case f.state == stateFault:
		return shows("state_idle", f.state, 0, "state", "The unit says that its state is fault.").weigh(0.7, map[string]float64{causeHardware: 1.5}), true
	case names[f.state] != "":
		return shows("state_idle", f.state, 0, "state", "The unit says that its state is %s.", names[f.state]).weigh(0.7, nil), true
	}
	return observation{}, false
}
