//go:build gateway

// Package riverjobs is a placeholder in the build for small gateways: a database
// cannot be opened.
package riverjobs

import (
	"context"
	"time"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/postgres"
)

// Storage is never created in this build.
type Storage struct {
	*postgres.Store
	store.Queue
}

// Open returns the error of a build without PostgreSQL.
func Open(_ context.Context, url string, _ postgres.Options) (*Storage, error) {
	return nil, postgres.CheckURL(url)
}

// JobStats returns nothing.
func (*Storage) JobStats(context.Context, time.Time) (map[string]store.KindStats, error) {
	return nil, nil
}
