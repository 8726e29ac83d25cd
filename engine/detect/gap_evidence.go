package detect

import "math"

func gapEvidence(r *record) []Evidence {
	f := &r.seen
	end := r.lastSeen
	if r.end != 0 {
		end = r.end
	}
	hours := float64(end-r.start) / 3600
	out := []Evidence{shows("rows_missing", 3, hours, 0, "h", "Nothing new arrived for %s.", MinutesInWords(hours*60))}
	if others := f.heard - len(r.units); others > 0 {
		out = append(out, shows("others_heard", 0.3, float64(others), float64(f.heard), "units", "%d of the site's %d units were heard meanwhile.", others, f.heard))
	} else if f.heard > 1 {
		out = append(out, shows("all_silent", 0.5, float64(len(r.units)), float64(f.heard), "units", "All %d units fell silent together.", f.heard))
	}
	gained := f.counterTo - f.counterFrom
	switch share := 100 * gained / f.counterKWh; {
	case math.IsNaN(gained):
	case r.class == Comms:
		out = append(out, shows("counter_continues", 1.5, gained, f.counterKWh, "kWh", "Over the gap the counter gained %s, %.0f %% of the %s expected: the plant ran.",
			KWhInWords(gained), share, KWhInWords(f.counterKWh)))
	case r.class == Real:
		out = append(out, shows("counter_short", -1, gained, f.counterKWh, "kWh", "Over the gap the counter gained only %s, %.0f %% of the %s expected; %.0f %% would still be usual.",
			KWhInWords(gained), share, KWhInWords(f.counterKWh), 100*f.band))
	}
	return out
}
