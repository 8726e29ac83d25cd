package limit

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
)

// ErrBudget is returned while the requests in flight use up the bytes of a
// [Budget]: the same request succeeds later.
var ErrBudget = errors.New("the answers in flight take all memory that is set aside for them")

// Budget is a number of bytes that all requests in flight share. Those of one
// caller take at most Each of them together; 0: no limit. A request that takes no
// more than Free is never refused.
type Budget struct {
	Max, Each, Free int64

	used    atomic.Int64
	mu      sync.Mutex
	callers map[string]int64 // bytes taken, by caller
}

// takeOf takes n bytes for a caller, whose requests take at most most together, and
// reports whether it did. A negative n gives bytes back.
func (b *Budget) takeOf(caller string, n, most int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > 0 && b.callers[caller]+n > most {
		return false
	}
	if b.callers == nil {
		b.callers = map[string]int64{}
	}
	if b.callers[caller] += n; b.callers[caller] <= 0 {
		delete(b.callers, caller)
	}
	return true
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
	caller string
	taken  int64
}

// SetCaller sets the caller whose part of the budget the share counts for. Nothing
// has been taken yet.
func (s *Share) SetCaller(caller string) { s.caller = caller }

// Take takes n bytes. The error is [ErrBudget].
func (s *Share) Take(n int) error {
	most, each := s.budget.Max, s.budget.Each
	if s.taken+int64(n) <= s.budget.Free {
		most, each = math.MaxInt64, math.MaxInt64
	}
	if each == 0 {
		each = math.MaxInt64
	}
	if !s.budget.takeOf(s.caller, int64(n), each) {
		return ErrBudget
	}
	if !s.budget.Take(int64(n), most) {
		s.budget.takeOf(s.caller, -int64(n), 0)
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

// Release returns what was taken to the budget.
func (s *Share) Release() {
	s.budget.takeOf(s.caller, -s.taken, 0)
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
