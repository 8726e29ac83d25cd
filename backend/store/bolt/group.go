package bolt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	bolterrors "go.etcd.io/bbolt/errors"

	"app.sunloop/backend/store"
)

// group lets concurrent writers share commits: while one commit is in progress
// to the disk, those who come wait, and the next commit takes them all. A lone
// writer never waits for company. No goroutine runs: the first of the waiting
// does the work for the others.
type group struct {
	db      *mapped
	disk    *store.Disk
	now     func() time.Time
	ended   func(store.TransactionEvent) // optional
	mu      sync.Mutex
	waiting []*write
	busy    bool
}

// maxGroup bounds how many writes share a commit, so that none waits long.
const maxGroup = 256

// write is one caller's part of a commit.
type write struct {
	ctx  context.Context
	fn   func(root) (dirty bool, err error)
	lead chan struct{} // closed when this caller shall lead
	done chan struct{} // closed when err is final
	err  error
}

// panicked carries a panic of a closure from the leader to its owner.
type panicked struct{ value any }

// errAbandoned: a closure left by runtime.Goexit, so nothing was committed.
var errAbandoned = errors.New("transaction abandoned")

func (p panicked) Error() string { return fmt.Sprintf("panic in a transaction: %v", p.value) }

// update runs fn in a transaction that may include other callers' work. fn
// reports whether it wrote anything before it failed. Only an error of fn
// itself or of the commit is returned.
func (g *group) update(ctx context.Context, fn func(root) (dirty bool, err error)) error {
	w := &write{ctx: ctx, fn: fn, lead: make(chan struct{}), done: make(chan struct{})}
	if g.ended != nil {
		begin := g.now()
		defer func() {
			g.ended(store.TransactionEvent{Context: ctx, Kind: store.TransactionWrite, Begin: begin, Took: g.now().Sub(begin), Err: w.err})
		}()
	}
	g.mu.Lock()
	g.waiting = append(g.waiting, w)
	if !g.busy {
		g.busy = true
		close(w.lead)
	}
	g.mu.Unlock()
	select {
	case <-w.done:
	case <-w.lead:
		g.commit()
		<-w.done
	}
	if p, ok := w.err.(panicked); ok { //nolint:errorlint // never wrapped
		panic(p.value)
	}
	return w.err
}

// commit serves the first of the waiting callers, including this one, and
// passes the lead to the next, even if a closure ends the goroutine.
func (g *group) commit() {
	g.mu.Lock()
	n := min(len(g.waiting), maxGroup)
	batch := g.waiting[:n:n]
	g.waiting = g.waiting[n:]
	g.mu.Unlock()

	finished := false
	defer func() {
		g.mu.Lock()
		if len(g.waiting) > 0 {
			close(g.waiting[0].lead)
		} else {
			g.waiting, g.busy = nil, false
		}
		g.mu.Unlock()
		for _, w := range batch {
			if !finished {
				w.err = errAbandoned
			}
			close(w.done)
		}
	}()
	g.run(batch)
	finished = true
}

// run commits all writes of the batch that succeed. One that fails after it
// has written undoes the others' work too, as there is one rollback for all:
// they run again without it.
func (g *group) run(batch []*write) {
	for len(batch) > 0 {
		if err := g.disk.Failure(); err != nil {
			for _, w := range batch {
				w.err = err
			}
			return
		}
		var spoiler, id int
		spoiled := false
		begin := g.now()
		err := g.db.update(func(r root) error {
			for i, w := range batch {
				dirty, err := w.call(r)
				w.err = err
				if err != nil && dirty {
					spoiler, spoiled = i, true
					return err
				}
			}
			id = r.tx.ID()
			return nil
		})
		if g.ended != nil && !spoiled {
			g.ended(store.TransactionEvent{Context: context.Background(), Kind: store.TransactionCommit, Begin: begin, Took: g.now().Sub(begin), Err: err})
		}
		switch {
		case spoiled:
			batch = append(batch[:spoiler:spoiler], batch[spoiler+1:]...)
			continue
		case err != nil:
			// Nothing was stored, and what the clean failures saw was not either.
			if id > 0 {
				err = g.handleCommitError(err, id)
			}
			for _, w := range batch {
				w.err = fmt.Errorf("commit: %w", err)
			}
		}
		return
	}
}

// handleCommitError handles a failed commit. If space was missing, the transaction is
// undone: what it wrote is in pages to which nothing refers. After any other
// failure, or if the new state may be visible although the disk may not have
// it, durability cannot be guaranteed.
func (g *group) handleCommitError(err error, id int) error {
	reached := true
	_ = g.db.view(func(r root) error {
		reached = r.tx.ID() >= id
		return nil
	})
	var path *fs.PathError
	writing := errors.As(err, &path) && path.Op == "write"
	// bbolt's words, of which the cause is no part.
	growing := strings.HasPrefix(err.Error(), "file resize error: ") || errors.Is(err, bolterrors.ErrMaxSizeReached)
	if !reached && (growing || writing && store.IsNoSpace(err)) {
		return g.disk.MarkFull(err)
	}
	return g.disk.MarkFailed(err)
}

// call runs the closure, unless its caller has given up meanwhile.
func (w *write) call(r root) (dirty bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			if dirty, err = true, damageOf(p); err == nil {
				err = panicked{p}
			}
		}
	}()
	if err := w.ctx.Err(); err != nil {
		return false, err
	}
	return w.fn(r)
}
