package maintenance

import (
	"math"
	"time"

	"app.sunloop/backend/api"
)

// span is a time for which an order was held.
type span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"` // zero: until now
}

// paused is how much of the spans lies before a time.
func paused(spans []span, before time.Time) (sum time.Duration) {
	for _, s := range spans {
		to := s.To
		if to.IsZero() || to.After(before) {
			to = before
		}
		sum += max(to.Sub(s.From), 0)
	}
	return sum
}

// clocks of an order as of now, within limits.
func (o order) clocks(l Limits, now time.Time) api.OrderClocks {
	// Planned work is not late before its day.
	begin := o.CreatedAt.Time
	if o.MaintenanceType == api.MaintenancePreventive && o.PlannedStart.After(begin) {
		begin = o.PlannedStart.Time
	}
	c := api.OrderClocks{AcknowledgedAt: o.AcknowledgedAt, StartedAt: o.StartedAt, RestoredAt: o.CompletedAt,
		PausedMinutes: int(paused(o.Pauses, now).Minutes()), Paused: len(o.Pauses) > 0 && o.Pauses[len(o.Pauses)-1].To.IsZero()}
	due := func(name string, from time.Time, limit time.Duration, met api.Time) api.Time {
		until := now
		if !met.IsZero() {
			until = met.Time
		} else if !o.open() {
			until = o.UpdatedAt.Time // cancelled
		}
		at := from.Add(limit + paused(o.Pauses, until))
		if until.After(at) {
			c.Breached = append(c.Breached, name)
		}
		return api.At(at)
	}
	c.AcknowledgeDue = due("acknowledge", o.CreatedAt.Time, l.Acknowledge, o.AcknowledgedAt)
	c.StartDue = due("start", begin, l.Start, o.StartedAt)
	c.RestoreDue = due("restore", begin, l.Restore, o.CompletedAt)
	return c
}

// endLast ends the last span, if it goes on.
func endLast(spans []span, at time.Time) {
	if n := len(spans); n > 0 && spans[n-1].To.IsZero() {
		spans[n-1].To = at
	}
}

// heldSince are the holds that began at or after a time.
func (o order) heldSince(t api.Time) (since []span) {
	for _, h := range o.Holds {
		if !h.From.Before(t.Time) {
			since = append(since, h)
		}
	}
	return since
}

// tenth rounds hours to a tenth.
func tenth(hours float64) float64 { return math.Round(hours*10) / 10 }
