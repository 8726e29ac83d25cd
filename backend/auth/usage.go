package auth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// Usage is what was done with an API key, in all and on one day of UTC.
type Usage struct {
	Requests, Refused, Points int64
	Day                       string // of the counts below
	DayRequests, DayPoints    int64
	LastUsedAt                time.Time
}

// keyUsage is a Usage as stored.
type keyUsage struct {
	ID          string    `json:"id" limit:"id"`
	Requests    int64     `json:"requests"`
	Refused     int64     `json:"refused"`
	Points      int64     `json:"points"`
	Day         string    `json:"day" limit:"word"`
	DayRequests int64     `json:"day_requests"`
	DayPoints   int64     `json:"day_points"`
	LastUsedAt  time.Time `json:"last_used_at"`
}

var usages = store.Table[keyUsage]{
	Bucket: "auth/key-usage",
	Key:    func(u keyUsage) []byte { return store.Key(u.ID) },
}

func (u keyUsage) usage() Usage {
	return Usage{u.Requests, u.Refused, u.Points, u.Day, u.DayRequests, u.DayPoints, u.LastUsedAt}
}

// record is the usage as administrators read it. Counts of a day before today are left
// out by the reader, see usageOf.
func (u Usage) record() api.KeyUsage {
	r := api.KeyUsage{Requests: u.Requests, Refused: u.Refused, Points: u.Points, RequestsToday: u.DayRequests, PointsToday: u.DayPoints}
	if !u.LastUsedAt.IsZero() {
		r.LastUsedAt = api.At(u.LastUsedAt)
	}
	return r
}

// plus is the usage with that of more requests. The day is that of the later one.
func (u Usage) plus(more Usage) Usage {
	if more.Day > u.Day {
		u.Day, u.DayRequests, u.DayPoints = more.Day, 0, 0
	}
	if more.Day == u.Day {
		u.DayRequests += more.DayRequests
		u.DayPoints += more.DayPoints
	}
	u.Requests += more.Requests
	u.Refused += more.Refused
	u.Points += more.Points
	if more.LastUsedAt.After(u.LastUsedAt) {
		u.LastUsedAt = more.LastUsedAt
	}
	return u
}

// usage holds what is not stored yet, by key.
type usage struct {
	mu      sync.Mutex
	pending map[string]Usage
}

// maxPendingUsage bounds the keys whose usage waits for a store that takes none.
const maxPendingUsage = 100_000

// CountKey counts a request with an API key, and the points of telemetry that it wrote.
// [Service.StoreUsage] stores the counts.
func (s *Service) CountKey(id string, refused bool, points int) {
	now := s.now().UTC()
	one := Usage{Requests: 1, Points: int64(points), Day: now.Format(time.DateOnly), DayRequests: 1, DayPoints: int64(points), LastUsedAt: now}
	if refused {
		one.Refused = 1
	}
	s.usage.add(map[string]Usage{id: one})
}

func (u *usage) add(more map[string]Usage) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.pending == nil {
		u.pending = map[string]Usage{}
	}
	for id, m := range more {
		if _, known := u.pending[id]; known || len(u.pending) < maxPendingUsage {
			u.pending[id] = u.pending[id].plus(m)
		}
	}
}

func (u *usage) take() map[string]Usage {
	u.mu.Lock()
	defer u.mu.Unlock()
	p := u.pending
	u.pending = nil
	return p
}

// StoreUsage adds the counts since its last call to the stored ones. A service calls it
// each minute and at its end. What cannot be stored waits for the next call.
func (s *Service) StoreUsage(ctx context.Context) error {
	pending := s.usage.take()
	if len(pending) == 0 {
		return nil
	}
	err := s.records.Update(ctx, func(tx store.Tx) error {
		for id, more := range pending {
			if _, err := apiKeys.Get(tx, store.Key(id)); errors.Is(err, store.ErrNotFound) {
				continue // it was deleted
			}
			was, err := usages.Get(tx, store.Key(id))
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
			is := was.usage().plus(more)
			if err := usages.Put(tx, keyUsage{id, is.Requests, is.Refused, is.Points, is.Day, is.DayRequests, is.DayPoints, is.LastUsedAt}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.usage.add(pending)
		return fmt.Errorf("store the usage of API keys: %w", err)
	}
	return nil
}

// usageOf is the usage of a key, with what is not stored yet. The counts of a day are
// those of today.
func (s *Service) usageOf(tx store.Tx, id string) (Usage, error) {
	u, err := usages.Get(tx, store.Key(id))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return Usage{}, fmt.Errorf("read the usage of API key %s: %w", id, err)
	}
	is := u.usage()
	s.usage.mu.Lock()
	more, ok := s.usage.pending[id]
	s.usage.mu.Unlock()
	if ok {
		is = is.plus(more)
	}
	if is.Day != s.now().UTC().Format(time.DateOnly) {
		is.DayRequests, is.DayPoints = 0, 0
	}
	return is, nil
}
