package store

import "context"

// Cluster is what the replicas of a service that share a home agree on.
type Cluster interface {
	// Leader waits until this caller is the only leader of the name among all
	// replicas and runs fn, whose context ends when leadership may be lost;
	// Leader then waits for its next turn. It returns what fn answers of its own
	// accord, or when ctx has ended. A home with one owner runs fn at once.
	Leader(ctx context.Context, name string, fn func(ctx context.Context) error) error
}
