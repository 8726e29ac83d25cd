//go:build !gateway

package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

type guardKey struct{}

// Guarded returns a ctx whose transactions that may write also run fn as their
// last step: its error rolls them back and is returned. A worker guards its
// writes for a job by a check whether it still owns the job.
func Guarded(ctx context.Context, fn func(ctx context.Context, tx pgx.Tx) error) context.Context {
	return context.WithValue(ctx, guardKey{}, fn)
}

func guard(ctx context.Context, tx pgx.Tx) error {
	fn, _ := ctx.Value(guardKey{}).(func(ctx context.Context, tx pgx.Tx) error)
	if fn == nil {
		return nil
	}
	return fn(ctx, tx)
}
