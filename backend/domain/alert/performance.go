package alert

import (
	"context"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/store"
)

// AlertHealth are the figures of the alarm system over windows until now, of
// the alerts that the ids of q select.
func (s *Service) AlertHealth(ctx context.Context, scope api.Scope, q api.ListQuery, windows ...time.Duration) ([]api.AlertHealth, error) {
	now := s.now()
	var figures []*alertFigures
	err := s.records.View(ctx, func(tx store.Tx) error {
		figures = nil
		for _, window := range windows {
			figures = append(figures, newAlertFigures(now, window))
		}
		return alerts.Each(tx, alertQuery(q, ""), func(a Alert) error {
			if selects(scope, q, &a) {
				a.ExpireTimers(now)
				for _, f := range figures {
					f.add(&a)
				}
			}
			return ctx.Err()
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the alerts of the last %v: %w", windows, err)
	}
	out := make([]api.AlertHealth, 0, len(windows))
	for _, f := range figures {
		out = append(out, f.health())
	}
	return out, nil
}

// kindOfAlarm is the key of recurrence: a family at a unit.
type kindOfAlarm struct{ family, asset string }

// alertFigures counts what alerts asked of people in a window of time.
type alertFigures struct {
	from, now time.Time
	calls     []time.Time
	kinds     map[kindOfAlarm]int
	counts    api.AlertHealth
}

func newAlertFigures(now time.Time, window time.Duration) *alertFigures {
	return &alertFigures{from: now.Add(-window), now: now, kinds: map[kindOfAlarm]int{},
		counts: api.AlertHealth{WindowHours: int(window / time.Hour), Priorities: map[string]int{}}}
}

// add counts an alert.
func (f *alertFigures) add(a *Alert) {
	for _, at := range a.annunciations() {
		if at.Before(f.from) || at.After(f.now) {
			continue
		}
		f.calls = append(f.calls, at)
		f.kinds[kindOfAlarm{a.AlertType, a.AssetID}]++
		f.counts.Priorities[a.AlertSeverity]++
	}
	if a.isChattering(f.from, f.now) {
		f.counts.Chattering++
	}
	if open := a.State == api.AlertUnacknowledged || a.State == api.AlertAcknowledged; open && finding.NeedsAction(a.AlertSeverity) && f.now.Sub(a.Timestamp.Time) > api.StaleAfter {
		f.counts.Stale++
	}
}

// health returns the figures of the alerts that were added.
func (f *alertFigures) health() api.AlertHealth {
	h, window := f.counts, f.now.Sub(f.from)
	slices.SortFunc(f.calls, time.Time.Compare)
	h.Alarms, h.PerDay, h.Peak10Min = len(f.calls), float64(len(f.calls))/(window.Hours()/24), peak(f.calls)
	h.Floods, h.FloodPercent = floodStats(f.calls, f.from, window)
	counts := make([]int, 0, len(f.kinds))
	for _, n := range f.kinds {
		counts = append(counts, n)
	}
	slices.Sort(counts)
	for _, n := range counts[max(len(counts)-api.MostFrequent, 0):] {
		h.TopTenPercent += 100 * float64(n) / float64(len(f.calls))
	}
	return h
}

// annunciations are the times at which an alert asked for a person.
func (a *Alert) annunciations() []time.Time {
	var out []time.Time
	for _, m := range a.History {
		if m.To == api.AlertUnacknowledged && m.From != api.AlertUnacknowledged {
			out = append(out, m.At.Time)
		}
	}
	return out
}

// isChattering says whether the alert came and went three times or more in a
// minute of the span.
func (a *Alert) isChattering(from, to time.Time) bool {
	var changes []time.Time
	for _, m := range a.History {
		if gone := m.To == api.AlertReturned || m.To == api.AlertCleared; (gone || m.To == api.AlertUnacknowledged) && m.Actor == "detector" && !m.At.Before(from) && !m.At.After(to) {
			changes = append(changes, m.At.Time)
		}
	}
	for i := api.Chattering - 1; i < len(changes); i++ {
		if changes[i].Sub(changes[i-api.Chattering+1]) <= time.Minute {
			return true
		}
	}
	return false
}

// peak is the most that fell into any ten minutes; calls are in order.
func peak(calls []time.Time) int {
	most, first := 0, 0
	for i, at := range calls {
		for at.Sub(calls[first]) >= api.FloodInterval {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// floodStats counts floods and the share of the window that they lasted, by the
// intervals of the window.
func floodStats(calls []time.Time, from time.Time, window time.Duration) (n int, percent float64) {
	counts := make([]int, int((window+api.FloodInterval-1)/api.FloodInterval))
	for _, at := range calls {
		counts[min(int(at.Sub(from)/api.FloodInterval), len(counts)-1)]++
	}
	flood, long := false, 0
	for _, c := range counts {
		switch {
		case !flood && c > api.FloodBegins:
			flood = true
			n++
		case flood && c < api.FloodEnds:
			flood = false
		}
		if flood {
			long++
		}
	}
	return n, 100 * float64(long) / float64(len(counts))
}
