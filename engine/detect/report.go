package detect

import (
	"cmp"
	"slices"
	"time"

	"app.sunloop/engine/loss"
)

// events are the records as events, those of units with one cause as one, in order of
// start.
func (s *session) events() []Event {
	slices.SortStableFunc(s.records, func(a, b *record) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.detected, b.detected), cmp.Compare(a.units[0], b.units[0]))
	})
	groups := s.grouped()
	out := make([]Event, 0, len(groups))
	for _, g := range groups {
		out = append(out, s.joined(g))
	}
	return out
}

func (s *session) event(r *record) Event {
	losses := r.lost()
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

// lost is what the record lost until its end.
func (r *record) lost() loss.Ledger {
	if r.end != 0 {
		return r.losses.Before(r.end)
	}
	return r.losses
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
