package detect

import "math"

func gapEvidence(r *record) []observation {
	f := &r.seen
	end := r.lastSeen
	if r.end != 0 {
		end = r.end
	}
	hours := float64(end-r.start) / 3600
	out := []observation{shows("rows_missing", hours, 0, "h", "Nothing new arrived for %s.", span(hours)).weigh(3, nil)}
	if others := f.heard - len(r.units); others > 0 {
		out = append(out, shows("others_heard", float64(others), float64(f.heard), "units", "%d of the site's %d units were heard meanwhile.", others, f.heard).
			weigh(0.3, map[string]float64{causeLogger: 0.2, causeInternet: 0.1, causePortal: 0.2}))
	} else if f.heard > 1 {
		out = append(out, shows("all_silent", float64(len(r.units)), float64(f.heard), "units", "All %d units fell silent together.", f.heard).
			weigh(0.5, map[string]float64{causeBus: 0.3, causeInterface: 0.05}))
	}
	gained := f.counterTo - f.counterFrom
	switch share := 100 * gained / f.counterKWh; {
	case math.IsNaN(gained):
	case r.class == Comms:
		out = append(out, shows("counter_over_gap", gained, f.counterKWh, "kWh", "Over the gap the counter gained %s, %.0f %% of the %s expected: the plant ran.",
			kwh(gained), share, kwh(f.counterKWh)).weigh(1.5, map[string]float64{causeUnitOff: 0.02}))
	case r.class == Real:
		out = append(out, shows("counter_over_gap", gained, f.counterKWh, "kWh", "Over the gap the counter gained only %s, %.0f %% of the %s expected; %.0f %% would still be usual.",
			kwh(gained), share, kwh(f.counterKWh), 100*f.band).weigh(-1, map[string]float64{causeUnitOff: 12}))
	}
	return out
}
