package notification

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/notify"
	"app.sunloop/backend/store"
	"app.sunloop/internal/clock"
)

// Figures of the loops.
const (
	planEvery   = time.Minute     // at most so long between two looks for events
	sharedEvery = 2 * time.Second // the same if other processes raise alarms
	planEvents  = 1000            // of one plan
	pause       = 5 * time.Second // after an error of the store
)

// Run plans and sends until ctx ends. Of several replicas one does.
func (s *Service) Run(ctx context.Context) {
	work := func(ctx context.Context) error {
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.deliver(ctx)
		}()
		s.planLoop(ctx)
		<-done
		return ctx.Err()
	}
	if s.Cluster == nil {
		_ = work(ctx)
		return
	}
	if err := s.Cluster.Leader(ctx, "notify", work); err != nil && ctx.Err() == nil {
		s.Log.Error("notifications stopped", "error", err.Error())
	}
}

func (s *Service) planLoop(ctx context.Context) {
	failing := false
	for ctx.Err() == nil {
		next, err := s.PlanDue(ctx)
		wait := planEvery
		if s.Shared {
			wait = sharedEvery
		}
		switch {
		case err != nil:
			if !failing && ctx.Err() == nil {
				s.Log.Error("notifications not planned", "error", err.Error())
			}
			wait = pause
		case !next.IsZero():
			wait = min(wait, max(next.Sub(s.Wall()), 0))
		}
		failing = err != nil
		clock.Wait(ctx, wait, s.planning)
	}
}

// PlanDue makes one plan, if there are events or something is due, and returns when the
// next one is due; zero if only an event causes one.
func (s *Service) PlanDue(ctx context.Context) (next time.Time, err error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	now := s.Wall().UTC()
	due := false
	err = s.Records.View(ctx, func(tx store.Tx) error {
		some, err := events.Full(tx, store.Query{Index: "id"}, 1)
		if err != nil {
			return err
		}
		next, err = nextDue(tx)
		due = some || !next.IsZero() && !next.After(now)
		return err
	})
	if err != nil || !due {
		return next, record.Wrap(err, "look for notifications that are due")
	}
	var done planned
	err = s.Records.Update(ctx, func(tx store.Tx) error {
		done, err = s.plan(tx, now)
		if err != nil {
			return err
		}
		next, err = nextDue(tx)
		return err
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("plan notifications: %w", err)
	}
	if s.Observer != nil {
		for _, why := range done.suppressed {
			s.Observer.NotificationSuppressed(reasonWord(why))
		}
	}
	if done.sends {
		hint(s.sending)
	}
	if done.more {
		next = now
	}
	return next, nil
}

// reasonWord is the reason of a suppressed message as one of a few words.
func reasonWord(why string) string {
	for _, one := range []struct{ begin, word string }{
		{"shelved", "shelved"}, {"suppressed", "suppressed"}, {"maintenance", "maintenance"}, {"chattering", "chattering"}, {"below the threshold", "threshold"},
		{"the same message", "duplicate"}, {noAddress, "no_address"}, {"it ended", "ended"},
	} {
		if strings.HasPrefix(why, one.begin) {
			return one.word
		}
	}
	return "recipient" // removed, disabled, or a rotation without a person on call
}

// Status summarizes what waits.
type Status struct {
	Waiting     int       // deliveries, among them those that are tried again
	Oldest      time.Time // when the oldest of them was made; zero: none waits
	Held        int       // messages that wait for the end of quiet hours or of the limit
	OldestEvent time.Time // the oldest change of an alarm that is not planned; zero: none
}

// mostCounted bounds what Status reads.
const mostCounted = 20_000

// Status reads all that waits.
func (s *Service) Status(ctx context.Context) (out Status, err error) {
	err = s.Records.View(ctx, func(tx store.Tx) error {
		out = Status{}
		waiting, _, err := deliveries.List(tx, store.Query{Index: "due", Limit: mostCounted})
		if err != nil {
			return err
		}
		for _, d := range waiting {
			if out.Waiting++; out.Oldest.IsZero() || d.CreatedAt.Before(out.Oldest) {
				out.Oldest = d.CreatedAt
			}
		}
		held, _, err := entries.List(tx, store.Query{Index: "held", Limit: mostCounted})
		if err != nil {
			return err
		}
		out.Held = len(held)
		first, _, err := events.List(tx, store.Query{Index: "id", Limit: 1})
		if len(first) > 0 {
			out.OldestEvent = first[0].Alarm.At
		}
		return err
	})
	return out, record.Wrap(err, "count waiting notifications")
}

// planned is what a plan did.
type planned struct {
	sends      bool     // there are new deliveries
	more       bool     // there are further events
	suppressed []string // the reasons of messages that are not sent
}

// nextDue returns when an incident is evaluated or a held message is released next.
func nextDue(tx store.Tx) (next time.Time, err error) {
	first, _, err := incidents.List(tx, store.Query{Index: "due", Limit: 1})
	if err != nil {
		return next, fmt.Errorf("query the next incident: %w", err)
	}
	if len(first) > 0 {
		next = first[0].NextAt
	}
	held, _, err := entries.List(tx, store.Query{Index: "held", Limit: 1})
	if err != nil {
		return next, fmt.Errorf("query the next held message: %w", err)
	}
	if len(held) > 0 && (next.IsZero() || held[0].Until.Before(next)) {
		next = held[0].Until
	}
	return next, nil
}

// plan makes a plan from the events and of what is due, and stores it.
func (s *Service) plan(tx store.Tx, now time.Time) (out planned, err error) {
	list, cursor, err := events.List(tx, store.Query{Index: "id", Limit: planEvents})
	if err != nil {
		return out, fmt.Errorf("read events: %w", err)
	}
	state, err := stateFor(tx, list, now)
	if err != nil {
		return out, err
	}
	in := notify.Input{Now: now, NewID: func(prefix string) string { return s.ids.New(prefix, now) }}
	if in.Configs, err = allConfigs(tx); err != nil {
		return out, err
	}
	sites := map[string]bool{}
	for _, e := range list {
		in.Events = append(in.Events, e.Alarm)
		sites[e.SiteID] = true
	}
	for _, i := range state.Incidents {
		if !i.NextAt.IsZero() && !i.NextAt.After(now) {
			for _, a := range i.Alarms {
				sites[a.SiteID] = true
			}
		}
	}
	if in.Windows, err = windowsOf(tx, now, sites); err != nil {
		return out, err
	}
	plan := notify.Make(state, in)
	for _, i := range plan.Incidents {
		if err := incidents.Put(tx, i); err != nil {
			return out, fmt.Errorf("store incident %s: %w", i.ID, err)
		}
	}
	for _, e := range plan.Entries {
		if e.SiteID == "" {
			e.SiteID = noSite
		}
		if err := entries.Put(tx, e); err != nil {
			return out, fmt.Errorf("store message %s: %w", e.ID, err)
		}
		if e.Status == notify.StatusSuppressed {
			out.suppressed = append(out.suppressed, e.Why)
		}
		if e.Status != notify.StatusDue {
			continue
		}
		for _, c := range in.Configs {
			if c.Owner == e.Owner {
				out.sends = true
				n, err := s.fan(tx, c.Config, e)
				if err != nil {
					return out, err
				}
				if n == 0 {
					out.suppressed = append(out.suppressed, noAddress)
				}
			}
		}
	}
	for _, e := range list {
		if err := events.Delete(tx, events.Key(e)); err != nil {
			return out, fmt.Errorf("remove event %s: %w", e.EventID, err)
		}
	}
	out.more = cursor != ""
	return out, nil
}

// noSite is the site of messages about several sites.
const noSite = "-"

func allConfigs(tx store.Tx) (configs []notify.Owned, err error) {
	by := map[string][]item{}
	var owners []string
	err = items.Each(tx, store.Query{}, func(v item) error {
		if by[v.Owner] == nil {
			owners = append(owners, v.Owner)
		}
		by[v.Owner] = append(by[v.Owner], v)
		return nil
	})
	for _, owner := range owners {
		configs = append(configs, notify.Owned{Owner: owner, Config: configFrom(by[owner])})
	}
	return configs, record.Wrap(err, "read the configuration of notifications")
}

// stateFor reads the history that a plan needs: open incidents of the customers of the
// events and those that are due, what is held, and what was sent in the last minutes.
func stateFor(tx store.Tx, list []event, now time.Time) (state notify.State, err error) {
	known := map[string]bool{}
	add := func(i notify.Incident) {
		if !known[i.ID] {
			known[i.ID] = true
			state.Incidents = append(state.Incidents, i)
		}
	}
	customers := map[string]bool{}
	for _, e := range list {
		if c := e.Alarm.CustomerID; !customers[c] {
			customers[c] = true
			err := incidents.Each(tx, store.Query{Index: "open", Prefix: store.Key(c)}, func(i notify.Incident) error { add(i); return nil })
			if err != nil {
				return state, fmt.Errorf("read open incidents: %w", err)
			}
		}
	}
	stop := errors.New("read")
	err = incidents.Each(tx, store.Query{Index: "due"}, func(i notify.Incident) error {
		if i.NextAt.After(now) {
			return stop
		}
		add(i)
		return nil
	})
	if err != nil && !errors.Is(err, stop) {
		return state, fmt.Errorf("read due incidents: %w", err)
	}
	slices.SortFunc(state.Incidents, func(a, b notify.Incident) int { return strings.Compare(a.ID, b.ID) })
	if state.Held, _, err = entries.List(tx, store.Query{Index: "held"}); err != nil {
		return state, fmt.Errorf("read held messages: %w", err)
	}
	slices.SortFunc(state.Held, func(a, b notify.Entry) int { return strings.Compare(a.ID, b.ID) })
	err = entries.Each(tx, store.Query{Index: "sent", Reverse: true}, func(e notify.Entry) error {
		if now.Sub(e.At) >= notify.FloodSpan {
			return stop
		}
		if e.Message.Kind != notify.KindReport && e.Message.Kind != notify.KindTest {
			state.Sent = append(state.Sent, e)
		}
		return nil
	})
	if err != nil && !errors.Is(err, stop) {
		return state, fmt.Errorf("read messages of the last minutes: %w", err)
	}
	return state, nil
}

// noAddress begins the reason of a message for whose priority its recipient has no address.
const noAddress = "no address of the person takes priority"

// fan makes a delivery of a due message for each address of its recipient, and returns
// their number.
func (s *Service) fan(tx store.Tx, c notify.Config, e notify.Entry) (int, error) {
	if e.SiteID == "" {
		e.SiteID = noSite
	}
	kind, id, _ := strings.Cut(e.Recipient, ":")
	var to []notify.Address
	switch kind {
	case "person":
		p, _ := c.Person(id)
		for _, a := range p.Addresses {
			if a.Priority == "" || e.Message.Priority == "" || notify.AtLeast(e.Message.Priority, a.Priority, "") {
				to = append(to, a)
			}
		}
	case "channel":
		v, _ := c.Channel(id)
		to = append(to, notify.Address{Channel: id, Address: v.Address})
	}
	if len(to) == 0 {
		e.Status, e.Why = notify.StatusSuppressed, noAddress+" "+e.Message.Priority
		return 0, record.Wrap(entries.Put(tx, e), "store message "+e.ID)
	}
	now := s.Wall().UTC()
	for _, a := range to {
		d := delivery{DeliveryID: s.ids.New("ntd", now), EntryID: e.ID, SiteID: e.SiteID, Owner: e.Owner, Recipient: e.Recipient, ChannelID: a.Channel, Address: a.Address,
			Status: deliveryPending, Message: e.Message, CreatedAt: now, Due: now, Since: now}
		d.Message.ID = d.DeliveryID
		if err := deliveries.Put(tx, d); err != nil {
			return 0, fmt.Errorf("store delivery %s: %w", d.DeliveryID, err)
		}
	}
	return len(to), nil
}

// Retention of what is over.
const keepFor = 90 * 24 * time.Hour

// Sweep removes closed incidents, messages, deliveries and links that are old.
func (s *Service) Sweep(ctx context.Context) error {
	before := s.Wall().Add(-keepFor)
	return errors.Join(
		sweep(ctx, s.Records, incidents, func(i notify.Incident) (bool, bool) { return i.OpenedAt.Before(before), i.Closed }),
		sweep(ctx, s.Records, entries, func(e notify.Entry) (bool, bool) { return e.At.Before(before), e.Status != notify.StatusHeld }),
		sweep(ctx, s.Records, deliveries, func(d delivery) (bool, bool) { return d.CreatedAt.Before(before), d.Status != deliveryPending }),
		sweep(ctx, s.Records, links, func(l link) (bool, bool) { return l.ExpiresAt.Before(before), true }),
	)
}

// sweep removes the records that are old and over, a part in each transaction.
func sweep[T any](ctx context.Context, r store.Records, t store.Table[T], state func(T) (old, over bool)) error {
	for cursor, more := "", true; more; {
		err := r.Update(ctx, func(tx store.Tx) error {
			more = false
			list, next, err := t.List(tx, store.Query{Index: "id", Limit: api.MaxLimit, Cursor: cursor})
			if err != nil {
				return fmt.Errorf("list old records of notifications: %w", err)
			}
			for _, v := range list {
				old, over := state(v)
				if !old {
					return nil // ids sort by time
				}
				if !over {
					continue
				}
				if err := t.Delete(tx, t.Key(v)); err != nil {
					return fmt.Errorf("remove an old record of notifications: %w", err)
				}
			}
			cursor, more = next, next != ""
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
