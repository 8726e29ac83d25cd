package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// DefaultWait is how long a request may wait for database and bucket in all.
// With what it takes to record the failure, the request ends within 10 s.
const DefaultWait = 7 * time.Second

// waitReserve is the share of the wait, as a divisor, that remains to record a
// failure when the wait is used up.
const waitReserve = 8

// uncertain is the error of a request that has changed something, or may have.
type uncertain struct{ error }

func (u uncertain) Unwrap() error { return u.error }

// detailOutcome is the detail of a 503 that says whether a change may have been
// stored.
const detailOutcome = "outcome"

// The outcomes of a request that was to change something.
const (
	outcomeNone       = "Nothing was stored. Repeat the request later."
	outcomePossible   = "The change may have been stored. Check before you repeat the request."
	outcomeIdempotent = "The change may have been stored. Repeat the request with the same Idempotency-Key: it is carried out at most once."
)

// withOutcome adds to the 503 of an unavailable store, for a request that
// writes, whether the change may have been stored. Other refusals stay as they
// are.
func (w *begunWriter) withOutcome(refusal *api.Error, err error) *api.Error {
	n := w.audit
	unavailable := errors.Is(err, store.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
	if n == nil || !unavailable || refusal.Status != http.StatusServiceUnavailable || !n.writes() {
		return refusal
	}
	outcome := outcomeNone
	if errors.As(err, new(uncertain)) {
		outcome = outcomePossible
		if n.idempotent {
			outcome = outcomeIdempotent
		}
	}
	e := refusal.With(detailOutcome, outcome)
	e.RetryAfter = refusal.RetryAfter
	return e
}

// writes reports whether the operation that was asked for writes.
func (n *auditEntry) writes() bool {
	op, known := n.route.Operation(n.action())
	return known && op.Writes()
}
