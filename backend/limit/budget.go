package limit

import (
	"context"
	"errors"
	"sync/atomic"
)

// ErrBudget is returned while the requests in flight use up the bytes of a
// [Budget]: the same request succeeds later.
var ErrBudget = errors.New("the answers in flight take all memory that is set aside for them")

// Budget is a number of bytes that all requests in flight share.
type Budget struct {
	Max  int64
	used atomic.Int64
}

// Used is the number of bytes that are taken.
func (b *Budget) Used() int64 { return b.used.Load() }

// Take takes n bytes if no more than most are taken then, and reports whether it
// did. A negative n gives bytes back.
func (b *Budget) Take(n, most int64) bool {
	if b.used.Add(n) > most && n > 0 {
		b.used.Add(-n)
		return false
	}
	return true
}

// Share is what one request has taken of a budget. It is for use by one
// goroutine at a time.
type Share struct {
	budget *Budget
	taken  int64
}

// Take takes n bytes. A request that has taken nothing yet is not refused for its
// own size alone. The error is [ErrBudget].
func (s *Share) Take(n int) error {
	most := s.budget.Max
	if s.taken == s.budget.Used() {
		most = max(most, s.taken+int64(n)) // nobody else waits
	}
	if !s.budget.Take(int64(n), most) {
		return ErrBudget
	}
	s.taken += int64(n)
	return nil
}

// Release gives back what was taken.
func (s *Share) Release() {
	s.budget.Take(-s.taken, 0)
	s.taken = 0
}

type shareKey struct{}

// WithShare returns a context for a request that takes its bytes of the budget,
// and its share, which the caller releases.
func WithShare(ctx context.Context, b *Budget) (context.Context, *Share) {
	s := &Share{budget: b}
	return context.WithValue(ctx, shareKey{}, s), s
}

// Take takes n bytes of the share of the context's request. It returns
// [ErrBudget], and nil in a context without a share.
func Take(ctx context.Context, n int) error {
	if s, ok := ctx.Value(shareKey{}).(*Share); ok {
		return s.Take(n)
	}
	return nil
}
