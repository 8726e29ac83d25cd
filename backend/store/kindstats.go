package store

import "time"

// KindStats are the jobs of one kind.
type KindStats struct {
	Waiting, Running, Dead int
	// Oldest is when the waiting job that is due longest was due; zero: none is
	// due by now.
	Oldest time.Time
}
