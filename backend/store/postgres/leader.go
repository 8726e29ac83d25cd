//go:build !gateway

package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"time"
)

var errLost = errors.New("leadership was lost")

// Leader waits until this caller is the only leader of the name among all
// replicas and runs fn. The context of fn ends when leadership may be lost,
// well before another replica can be leader; if fn has returned for that
// reason, Leader waits for its next turn. It returns fn's result if fn returns
// for another reason, or when ctx has ended; another replica then follows at
// once, and after the lease if a leader dies. The lease is a row, evaluated by
// the database's clock only, so that neither the replicas' clocks nor a pooler
// matter. If the database is unreachable, Leader waits for it.
func (s *Store) Leader(ctx context.Context, name string, fn func(ctx context.Context) error) error {
	holder := rand.Text()
	for {
		// The time starts before the question, so it ends before the lease.
		expiry := time.NewTimer(s.lease / 2)
		if held, err := s.claim(ctx, name, holder); err == nil && held {
			if ended, err := s.lead(ctx, name, holder, expiry, fn); ended {
				return err
			}
		}
		expiry.Stop()
		select {
		case <-time.After(s.lease / 6):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lead runs fn and renews the lease for as long as it can. ended is false if
// the lease was lost.
func (s *Store) lead(ctx context.Context, name, holder string, expiry *time.Timer, fn func(ctx context.Context) error) (ended bool, err error) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer func() {
		expiry.Stop()
		s.release(ctx, name, holder)
	}()
	done := make(chan error, 1)
	go func() { done <- fn(inner) }()
	lost := func() (bool, error) {
		cancel(errLost)
		<-done //nolint:errcheck // said only because its context ended
		return false, nil
	}
	renew := time.NewTicker(s.lease / 6)
	defer renew.Stop()
	for {
		select {
		case err := <-done:
			return true, err
		case <-expiry.C:
			return lost()
		case <-renew.C:
			next := time.NewTimer(s.lease / 2)
			held, err := s.claim(ctx, name, holder)
			switch {
			case err != nil:
				next.Stop() // until the lease has run out
			case held:
				expiry.Stop()
				expiry = next
			default:
				next.Stop()
				return lost()
			}
		}
	}
}

// claim takes or renews the lease, and gives up early where the database is
// silent.
func (s *Store) claim(ctx context.Context, name, holder string) (held bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.lease/6)
	defer cancel()
	tag, err := s.pool.Exec(ctx, `INSERT INTO sunloop.leader AS l (name, holder, until)
		VALUES ($1, $2, clock_timestamp() + $3::bigint * interval '1 microsecond')
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
		WHERE l.holder = excluded.holder OR l.until < clock_timestamp()`, name, holder, s.lease.Microseconds())
	return tag.RowsAffected() == 1, fault("claim leadership", err)
}

// release lets another replica follow at once. Where it fails, the lease runs
// out.
func (s *Store) release(ctx context.Context, name, holder string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.lease/6)
	defer cancel()
	_, _ = s.pool.Exec(ctx, `DELETE FROM sunloop.leader WHERE name = $1 AND holder = $2`, name, holder)
}
