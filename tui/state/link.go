package state

import (
	"errors"
	"time"

	"app.sunloop/backend/api"
)

// Link is the state of the connection to the service.
type Link struct {
	Latency     time.Duration
	Down        bool
	Since       time.Time // when it went down
	Limited     time.Time // until when the service limits requests (Retry-After)
	Err         error     // why it is down or limited
	limitedFrom time.Time // when the service first limited requests
	serviceTime time.Time // the service's clock, as of the newest summary
	heardAt     time.Time
}

// ServiceNow returns the service's time at the wall time now; a simulated plant's
// clock may differ. Between responses it advances with the wall clock.
func (s *Store) ServiceNow(now time.Time) time.Time {
	if s.Link.heardAt.IsZero() {
		return now
	}
	return s.Link.serviceTime.Add(now.Sub(s.Link.heardAt))
}

// fail updates the link after a failure. It returns when the query is retried, and the
// error if it has ended the session.
func (s *Store) fail(a Answer, now time.Time) (next time.Time, signedOut error) {
	var refusal *api.Error
	var wait time.Duration
	if errors.As(a.Err, &refusal) {
		wait = time.Duration(refusal.RetryAfter) * time.Second
		if wait > 0 {
			if now.After(s.Link.Limited) {
				s.Link.limitedFrom = now
			}
			s.Link.Limited, s.Link.Err = now.Add(wait), a.Err
		}
		if refusal.Status == 401 {
			signedOut = a.Err
		}
	} else if !s.Link.Down {
		s.Link.Down, s.Link.Since, s.Link.Err = true, now, a.Err
	}
	return s.Planner.Failed(a.Request.Query, now, wait), signedOut
}
