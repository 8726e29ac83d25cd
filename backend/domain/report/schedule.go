package report

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"time"

	"app.sunloop/backend/notify"
	"app.sunloop/backend/store"
	"app.sunloop/internal/clock"
)

// Period is the time of a report.
type Period struct {
	Kind     string
	From, To time.Time // dates, as midnights in UTC: in some zones a midnight does not exist
	Zone     *time.Location
	Due      time.Time // when it is sent
}

// hour is the hour of the recipient's day at which reports are sent.
const hour = 7

// late is how long after its time a report is still sent, by its kind: later ones are of
// no use, and a new subscription does not begin with an old one.
var late = map[string]time.Duration{Daily: 5 * time.Hour, Weekly: 48 * time.Hour, Monthly: 96 * time.Hour}

// Due returns the period of a kind of report that is due in a zone; ok is false if none is.
// Dates are those of the zone's calendar, so that a day of a clock change has one report
// too.
func Due(kind string, now time.Time, zone *time.Location) (p Period, ok bool) {
	local := now.In(zone)
	y, m, d := local.Date()
	p = Period{Kind: kind, Zone: zone}
	date := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }
	switch kind {
	case Daily:
		p.From, p.To = date(y, m, d-1), date(y, m, d)
	case Weekly:
		monday := d - (int(local.Weekday())+6)%7
		p.From, p.To = date(y, m, monday-7), date(y, m, monday)
	case Monthly:
		p.From, p.To = date(y, m-1, 1), date(y, m, 1)
	default:
		return p, false
	}
	dueY, dueM, dueD := p.To.Date()
	p.Due = time.Date(dueY, dueM, dueD, hour, 0, 0, 0, zone)
	return p, !now.Before(p.Due) && now.Sub(p.Due) < late[kind]
}

// Recipient is a person with subscriptions.
type Recipient struct {
	Owner    string // a customer, or "*" for all
	PersonID string
	Zone     *time.Location
	Kinds    []string
	Numbers  string // how numbers are written: point (1,234.5), comma (1.234,5) or space (1 234,5); empty: point
}

// Outbox sends messages to people. Enqueue sends a message once for each ID.
type Outbox interface {
	Recipients(ctx context.Context) ([]Recipient, error)
	Enqueue(ctx context.Context, owner, personID string, m notify.Message) error
}

// Service sends reports when they are due. It is safe for concurrent use.
type Service struct {
	Collector *Collector
	Outbox    Outbox
	Wall      func() time.Time // the real clock
	Cluster   store.Cluster    // nil: one process
	PublicURL string           // of the console for links; may be empty
	Log       *slog.Logger

	sent map[string]time.Time // IDs of this process, so that a report is made once
}

// lookEvery is the time between two looks for reports that are due.
const lookEvery = time.Minute

// Run sends reports until ctx ends. Of several replicas one does.
func (s *Service) Run(ctx context.Context) {
	work := func(ctx context.Context) error {
		failing := false
		for ctx.Err() == nil {
			err := s.SendDue(ctx)
			if err != nil && !failing && ctx.Err() == nil {
				s.Log.Error("reports not sent", "error", err.Error())
			}
			failing = err != nil
			if err := clock.Sleep(ctx, lookEvery); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
	if s.Cluster == nil {
		_ = work(ctx) // ends with ctx
		return
	}
	if err := s.Cluster.Leader(ctx, "reports", work); err != nil && ctx.Err() == nil {
		s.Log.Error("reports stopped", "error", err.Error())
	}
}

// SendDue makes and enqueues the reports that are due. A failure of one does not prevent
// others.
func (s *Service) SendDue(ctx context.Context) error {
	now := s.Wall()
	people, err := s.Outbox.Recipients(ctx)
	if err != nil {
		return err
	}
	if s.sent == nil {
		s.sent = map[string]time.Time{}
	}
	for id, at := range s.sent {
		if now.Sub(at) > 7*24*time.Hour {
			delete(s.sent, id)
		}
	}
	made := map[string]Report{} // by owner and period: people in one zone share it
	var failed error
	for _, p := range people {
		for _, kind := range p.Kinds {
			period, ok := Due(kind, now, p.Zone)
			id := messageID(p, period)
			if _, done := s.sent[id]; !ok || done {
				continue
			}
			key := p.Owner + "\x00" + kind + "\x00" + p.Zone.String()
			r, known := made[key]
			if !known {
				customer := p.Owner
				if customer == "*" {
					customer = ""
				}
				if r, err = s.Collector.Collect(ctx, customer, period); err != nil {
					failed = errors.Join(failed, err)
					continue
				}
				made[key] = r
			}
			r.Numbers = p.Numbers
			m := r.Message(id, s.PublicURL)
			if chart, err := s.Collector.Chart(ctx, r); err == nil {
				m.ChartPNG = chart
			}
			if err := s.Outbox.Enqueue(ctx, p.Owner, p.PersonID, m); err != nil {
				failed = errors.Join(failed, err)
				continue
			}
			s.sent[id] = now
		}
	}
	return failed
}

// messageID is the id of the report of a period for a person: the same in each process.
func messageID(r Recipient, p Period) string {
	sum := sha256.Sum256([]byte(r.Owner + "\x00" + r.PersonID + "\x00" + p.Kind + "\x00" + p.To.Format(time.DateOnly)))
	return "rpt_" + p.To.Format("20060102") + "_" + hex.EncodeToString(sum[:8])
}
