package store

import (
	"context"
	"time"
)

// Kinds of a [TransactionEvent].
const (
	TransactionRead   = "read"
	TransactionWrite  = "write"  // of one caller, including its wait for the commit
	TransactionCommit = "commit" // of a group of callers: their closures and the disk
)

// TransactionEvent describes a transaction that has ended, in a data folder or in
// a database.
type TransactionEvent struct {
	Context context.Context // of the caller; of a commit, the background context
	Kind    string
	Begin   time.Time
	Took    time.Duration
	Err     error // of the closure, or of the commit
}

type commitKey struct{}

// WithCommitHook is ctx whose Updates that write also run fn, as their last step: what
// fn writes is there exactly when the change is. It is run in each such Update,
// and again where that is, so it must write the same each time. Its error undoes
// the change and is answered.
func WithCommitHook(ctx context.Context, fn func(tx Tx) error) context.Context {
	return context.WithValue(ctx, commitKey{}, fn)
}

// WithoutCommitHook returns a ctx for Updates that are not the change itself but recorded
// along with it: they do not run the functions of [WithCommitHook], and do not count
// for [Changes].
func WithoutCommitHook(ctx context.Context) context.Context {
	return context.WithValue(WithCommitHook(ctx, nil), changesKey{}, (*Changes)(nil))
}

// RunCommitHook returns fn combined with the functions that [WithCommitHook] has added to
// ctx. A store runs it instead of fn.
func RunCommitHook(ctx context.Context, fn func(tx Tx) error) func(tx Tx) error {
	last, _ := ctx.Value(commitKey{}).(func(tx Tx) error)
	if last == nil {
		return fn
	}
	return func(tx Tx) error {
		w := &watchedTx{Tx: tx}
		if err := fn(w); err != nil || !w.wrote {
			return err
		}
		return last(tx)
	}
}

// watchedTx records whether anything was written.
type watchedTx struct {
	Tx
	wrote bool
}

func (w *watchedTx) Put(bucket string, key, value []byte) error {
	w.wrote = true
	return w.Tx.Put(bucket, key, value)
}

func (w *watchedTx) Delete(bucket string, key []byte) error {
	w.wrote = true
	return w.Tx.Delete(bucket, key)
}

func (w *watchedTx) Enqueue(job Job) error {
	w.wrote = true
	return w.Tx.Enqueue(job)
}
