package state

import (
	"time"
)

// Value is the last successful response to a query, with its age and the error since.
// The zero Value is loading.
type Value[T any] struct {
	Data        T
	At          time.Time // of the last successful response
	Err         error     // of the last attempt, nil after a success
	FailedSince time.Time // first failure since the last good answer
	NextTry     time.Time
}

// Status is how a pane shows a value.
type Status uint8

// The statuses. Empty is a live value without content.
const (
	Loading Status = iota
	Empty
	Live
	Stale
	Failed
)

// Status returns the value's status: stale if it is older than staleAfter, failed if
// there has been no response and the last attempt failed.
func (v Value[T]) Status(now time.Time, staleAfter time.Duration, empty bool) Status {
	switch {
	case v.At.IsZero() && v.Err != nil:
		return Failed
	case v.At.IsZero():
		return Loading
	case now.Sub(v.At) > staleAfter:
		return Stale
	case empty:
		return Empty
	}
	return Live
}

// Set stores an answer.
func (v *Value[T]) Set(data T, now time.Time) {
	v.Data, v.At, v.Err, v.FailedSince, v.NextTry = data, now, nil, time.Time{}, time.Time{}
}

// SetError stores a failure; the last good answer stays.
func (v *Value[T]) SetError(err error, now, next time.Time) {
	if v.Err == nil {
		v.FailedSince = now
	}
	v.Err, v.NextTry = err, next
}
