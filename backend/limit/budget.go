package limit

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
)

// ErrBudget is returned while the requests in flight use up the bytes of a
// [Budget]: the same request succeeds later.
var ErrBudget = errors.New("the answers in flight take all memory that is set aside for them")

// Budget is a number of bytes that all requests in flight share. A request that
// takes no more than Free is never refused.
type Budget struct {
	Max, Free int64
	used      atomic.Int64
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

// Take takes n bytes. The error is [ErrBudget].
func (s *Share) Take(n int) error {
	most := s.budget.Max
	if s.taken+int64(n) <= s.budget.Free {
		most = math.MaxInt64
	}
	if !s.budget.Take(int64(n), most) {
		return ErrBudget
	}
	s.taken += int64(n)
	return nil
}

// Cover takes what is missing to n bytes.
func (s *Share) Cover(n int) error {
	if more := int64(n) - s.taken; more > 0 {
		return s.Take(int(more))
	}
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

// ShareOf is the share of the context's request, nil if it has none.
func ShareOf(ctx context.Context) *Share {
	s, _ := ctx.Value(shareKey{}).(*Share)
	return s
}

// Take takes n bytes of the share of the context's request. It returns
// [ErrBudget], and nil in a context without a share.
func Take(ctx context.Context, n int) error {
	if s := ShareOf(ctx); s != nil {
		return s.Take(n)
	}
	return nil
}
