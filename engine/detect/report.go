package detect

import (
	"cmp"
	"slices"
	"time"
)

// events are the records as events, in order of start.
func (s *session) events() []Event {
	out := make([]Event, 0, len(s.records))
	slices.SortStableFunc(s.records, func(a, b *record) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.detected, b.detected), cmp.Compare(a.units[0], b.units[0]))
	})
	for _, r := range s.records {
		out = append(out, s.event(r))
	}
	return out
}

func (s *session) event(r *record) Event {
	losses := r.losses
	if r.end != 0 {
		losses = losses.Before(r.end)
	}
	e := Event{
		Family: r.family, Class: r.class, Basis: r.basis, LossFraction: r.fraction, LostKWh: losses.Total(), Losses: losses,
		Start: time.Unix(r.start, 0).UTC(), DetectedAt: time.Unix(r.detected, 0).UTC(), LastSeen: time.Unix(r.lastSeen, 0).UTC(),
		Evidence: s.evidence(r), Occasions: r.spans,
	}
	if r.family == StringOutage && r.basis != "" {
		e.UsableDays = r.seen.days
	}
	if r.end != 0 {
		end := time.Unix(r.end, 0).UTC()
		e.End = &end
	}
	for _, k := range r.units {
		e.Units = append(e.Units, s.in.Units[k].AssetID)
	}
	return e
}

// ratings returns the rating in kW with which each unit was evaluated, by asset
// id.
func (s *session) ratings() map[string]float64 {
	out := make(map[string]float64, len(s.in.Units))
	for k, u := range s.in.Units {
		out[u.AssetID] = s.rating(k)
	}
	return out
}

// clippedSpans are the stretches of days in which each unit stood at its
// limit, by asset id.
func (s *session) clippedSpans() map[string][]Span {
	out := make(map[string][]Span, len(s.in.Units))
	for k, u := range s.in.Units {
		out[u.AssetID] = s.clipped[k]
	}
	return out
}
