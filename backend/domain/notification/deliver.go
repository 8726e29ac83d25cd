package notification

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/notify"
	"app.sunloop/backend/store"
	"app.sunloop/internal/clock"
)

// delays are those after failed attempts; after the last, a delivery is dead.
var delays = []time.Duration{
	2 * time.Second, 10 * time.Second, 30 * time.Second, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour,
	8 * time.Hour, 12 * time.Hour,
}

const (
	atOnce      = 16               // sends at a time
	sendTimeout = 30 * time.Second // of one attempt
	maxWaiting  = 2000             // deliveries that are looked at for one that may be sent
)

// deliver sends what is pending until ctx ends, and waits for the running sends.
func (s *Service) deliver(ctx context.Context) {
	var sends sync.WaitGroup
	defer sends.Wait()
	busy := busyQueues{}
	free := make(chan struct{}, atOnce)
	failing := false
	for ctx.Err() == nil {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return
		}
		d, ok, next, err := s.nextDelivery(ctx, &busy)
		if ok {
			failing = false
			sends.Go(func() {
				s.send(ctx, d)
				busy.end(d)
				<-free
				hint(s.sending)
			})
			continue
		}
		<-free
		wait := planEvery
		switch {
		case err != nil:
			if !failing && ctx.Err() == nil {
				s.Log.Error("notifications not read", "error", err.Error())
			}
			wait = pause
		case !next.IsZero():
			wait = min(wait, max(next.Sub(s.Wall()), 10*time.Millisecond))
		}
		failing = err != nil
		clock.Wait(ctx, wait, s.sending)
	}
}

// busyQueues are the queues of which a delivery is being sent by this process, which is
// the only one that sends.
type busyQueues struct {
	mu     sync.Mutex
	queues map[string]bool
}

func (b *busyQueues) begin(d delivery) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := string(d.queue())
	if b.queues[key] {
		return false
	}
	if b.queues == nil {
		b.queues = map[string]bool{}
	}
	b.queues[key] = true
	return true
}

func (b *busyQueues) end(d delivery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.queues, string(d.queue()))
}

// nextDelivery returns a delivery that may be sent now, and marks its queue as busy;
// without one, when the next is due.
func (s *Service) nextDelivery(ctx context.Context, busy *busyQueues) (out delivery, ok bool, next time.Time, err error) {
	now := s.Wall()
	var candidates []delivery
	err = s.Records.View(ctx, func(tx store.Tx) error {
		candidates, next = nil, time.Time{}
		list, _, err := deliveries.List(tx, store.Query{Index: "due", Limit: maxWaiting})
		if err != nil {
			return err
		}
		heads := map[string]string{}
		for _, d := range list {
			key := string(d.queue())
			head, known := heads[key]
			if !known {
				if head, err = headOf(tx, d); err != nil {
					return err
				}
				heads[key] = head
			}
			if head != d.DeliveryID {
				continue // one before it is not delivered
			}
			// A clock that was set back does not make it wait longer than it should.
			if now.Before(d.Due) && !now.Before(d.Since) {
				if next.IsZero() || d.Due.Before(next) {
					next = d.Due
				}
				continue
			}
			candidates = append(candidates, d)
			if len(candidates) > atOnce {
				return nil
			}
		}
		return nil
	})
	if err != nil {
		return out, false, next, fmt.Errorf("read pending notifications: %w", err)
	}
	for _, d := range candidates {
		if busy.begin(d) {
			// It may have been sent between the look and now.
			is, err := s.delivery(ctx, d.DeliveryID)
			if err != nil || is.Status != deliveryPending || is.Attempts != d.Attempts {
				busy.end(d)
				if err != nil && !errors.Is(err, api.ErrDeliveryNotFound) {
					return out, false, next, err
				}
				continue
			}
			return is, true, next, nil
		}
	}
	return out, false, next, nil
}

// headOf returns the id of the first pending delivery of a queue.
func headOf(tx store.Tx, d delivery) (id string, err error) {
	stop := errors.New("found")
	err = deliveries.Each(tx, store.Query{Index: "queue", Prefix: d.queue()}, func(v delivery) error {
		if v.Status == deliveryPending {
			id = v.DeliveryID
			return stop
		}
		return nil
	})
	if errors.Is(err, stop) {
		err = nil
	}
	return id, err
}

func (s *Service) delivery(ctx context.Context, id string) (d delivery, err error) {
	err = s.Records.View(ctx, func(tx store.Tx) error {
		d, err = deliveryByID(tx, id)
		return err
	})
	return d, err
}

func deliveryByID(tx store.Tx, id string) (delivery, error) {
	list, _, err := deliveries.List(tx, store.Query{Index: "id", Prefix: store.Key(id), Limit: 1})
	if err != nil {
		return delivery{}, fmt.Errorf("read delivery %s: %w", id, err)
	}
	if len(list) == 0 {
		return delivery{}, api.ErrDeliveryNotFound
	}
	return list[0], nil
}

// send makes one attempt and records it. An attempt that is interrupted because ctx ends
// is made again later.
func (s *Service) send(ctx context.Context, d delivery) {
	var to notify.Target
	message := d.Message
	err := s.Records.View(ctx, func(tx store.Tx) (err error) {
		if to, err = s.target(tx, d.Owner, d.ChannelID, d.Address); err != nil {
			return err
		}
		message.Reference, err = referenceOf(tx, d)
		if err != nil {
			return err
		}
		return s.complete(tx, d, &to, &message)
	})
	var receipt notify.Receipt
	begin := s.Wall()
	if err == nil {
		attempt, cancel := context.WithTimeout(ctx, sendTimeout)
		receipt, err = s.Sender.Send(attempt, to, message)
		cancel()
		if err != nil && ctx.Err() != nil {
			return
		}
	} else if errors.Is(err, store.ErrUnavailable) || ctx.Err() != nil {
		return
	}
	chance := rand.Float64() //nolint:gosec // spreads retries, no secret
	took := s.Wall().Sub(begin)
	status, failed := s.record(context.WithoutCancel(ctx), d.DeliveryID, receipt, err, chance)
	if failed != nil {
		s.Log.Error("delivery not recorded", "delivery_id", d.DeliveryID, "error", failed.Error())
		return
	}
	if s.Observer != nil {
		if status == deliveryPending {
			status = "failed"
		}
		s.Observer.Notified(to.Kind, status, took)
	}
}

// referenceOf returns the reference of the first message of the thread to the address.
func referenceOf(tx store.Tx, d delivery) (reference string, err error) {
	if d.Message.Thread == "" {
		return "", nil
	}
	err = deliveries.Each(tx, store.Query{Index: "queue", Prefix: d.queue()}, func(v delivery) error {
		if reference == "" {
			reference = v.Reference
		}
		return nil
	})
	return reference, err
}

// complete adds to a message what only its recipient may know: name, zone and links.
func (s *Service) complete(tx store.Tx, d delivery, to *notify.Target, m *notify.Message) error {
	config, err := configOf(tx, d.Owner)
	if err != nil {
		return err
	}
	if p, ok := config.Person(recipientID(d.Recipient)); ok {
		to.Name = p.Name
		if zone, err := store.Zone(p.Zone); err == nil {
			to.Zone = zone
		}
	}
	if s.PublicURL != "" && m.Thread != "" && (m.Kind == notify.KindRaised || m.Kind == notify.KindUpdate || m.Kind == notify.KindEscalated) {
		m.Actions = append(m.Actions, notify.Link{Label: "Acknowledge", URL: s.PublicURL + api.PathAcknowledge + "/" + s.token(d)})
	}
	return nil
}

// record stores the result of an attempt, and returns the status of the delivery.
func (s *Service) record(ctx context.Context, id string, receipt notify.Receipt, failure error, chance float64) (status string, err error) {
	err = s.Records.Update(ctx, func(tx store.Tx) error {
		d, err := deliveryByID(tx, id)
		if err != nil {
			return err
		}
		now := s.Wall().UTC()
		d.Attempts++
		d.LastAttemptAt, d.Failure = now, ""
		switch {
		case failure == nil:
			d.Status, d.DeliveredAt, d.Due, d.Since = deliveryDelivered, now, time.Time{}, time.Time{}
			d.Detail, d.Reference = receipt.Detail, receipt.Reference
		default:
			d.Failure = failure.Error()
			wait, again := delayAfter(d.Attempts, failure, chance)
			if !again {
				d.Status, d.Due, d.Since = deliveryDead, time.Time{}, time.Time{}
				break
			}
			d.Due, d.Since = now.Add(wait), now
		}
		status = d.Status
		return record.Wrap(deliveries.Put(tx, d), "store delivery "+id)
	})
	return status, err
}

// delayAfter returns how long a failed delivery waits; again is false if it is dead.
func delayAfter(attempts int, failure error, chance float64) (wait time.Duration, again bool) {
	if errors.Is(failure, notify.ErrPermanent) || attempts > len(delays) {
		return 0, false
	}
	wait = delays[attempts-1]
	wait += time.Duration(float64(wait) * chance / 10)
	var later notify.RetryAfter
	if errors.As(failure, &later) {
		wait = max(wait, min(later.Delay, 24*time.Hour))
	}
	return wait, true
}

// Retry makes a dead delivery pending again.
func (s *Service) Retry(ctx context.Context, scope api.Scope, id string) (api.NotificationDelivery, error) {
	var out api.NotificationDelivery
	err := s.Records.Update(ctx, func(tx store.Tx) error {
		d, err := deliveryByID(tx, id)
		if err != nil {
			return err
		}
		if _, err := ownerOf(scope, customerOf(d.Owner)); err != nil {
			return api.ErrForbidden
		}
		if d.Status != deliveryDead {
			return api.Conflict("Delivery %s is %s: only a dead one can be sent again", id, d.Status)
		}
		now := s.Wall().UTC()
		d.Status, d.Attempts, d.Due, d.Since = deliveryPending, 0, now, now
		if err := deliveries.Put(tx, d); err != nil {
			return fmt.Errorf("store delivery %s: %w", id, err)
		}
		out = d.wire(api.NotificationDelivery{EntryID: d.EntryID, SiteID: d.SiteID, Kind: string(d.Message.Kind), Title: d.Message.Title})
		return nil
	})
	hint(s.sending)
	return out, err
}

// Test sends a message to a person or a channel now, once to each address, and returns
// the result.
func (s *Service) Test(ctx context.Context, scope api.Scope, r api.NotificationsRequest) ([]api.NotificationResult, error) {
	owner, err := ownerOf(scope, r.CustomerID)
	if err != nil {
		return nil, err
	}
	var to []notify.Target
	err = s.Records.View(ctx, func(tx store.Tx) error {
		to = nil
		config, err := configOf(tx, owner)
		if err != nil {
			return err
		}
		var addresses []notify.Address
		name := ""
		if r.PersonID != "" {
			p, ok := config.Person(r.PersonID)
			if !ok {
				return api.ErrNotificationItemNotFound
			}
			addresses, name = p.Addresses, p.Name
		} else {
			v, ok := config.Channel(r.ChannelID)
			if !ok {
				return api.ErrNotificationItemNotFound
			}
			addresses = []notify.Address{{Channel: v.ID, Address: v.Address}}
		}
		for _, a := range addresses {
			if r.ChannelID != "" && a.Channel != r.ChannelID {
				continue
			}
			t, err := s.target(tx, owner, a.Channel, a.Address)
			if err != nil && !errors.Is(err, notify.ErrPermanent) {
				return err
			}
			t.ChannelID, t.Name = a.Channel, name
			to = append(to, t)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	now := s.Wall().UTC()
	results := make([]api.NotificationResult, len(to))
	var sends sync.WaitGroup
	for n, t := range to {
		sends.Go(func() {
			attempt, cancel := context.WithTimeout(ctx, sendTimeout)
			defer cancel()
			m := notify.Message{ID: s.ids.New("ntd", now), Kind: notify.KindTest, At: now, Priority: "normal", Title: "Test message of Sunloop",
				Lines: []string{"This channel works. " + scope.Actor + " sent this message."}}
			receipt, err := s.Sender.Send(attempt, t, m)
			results[n] = api.NotificationResult{ChannelID: t.ChannelID, Kind: t.Kind, Address: t.Address, Delivered: err == nil, Detail: receipt.Detail}
			if err != nil {
				results[n].Failure, results[n].Permanent = err.Error(), errors.Is(err, notify.ErrPermanent)
			}
		})
	}
	sends.Wait()
	return results, nil
}
