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

// Home is never created in this build.
type Home struct {
	*postgres.Store
	store.Queue
}

// Open returns the error of a build without PostgreSQL.
func Open(_ context.Context, url string, _ postgres.Options) (*Home, error) {
	return nil, postgres.CheckURL(url)
}

// JobStats returns nothing.
func (*Home) JobStats(context.Context, time.Time) (map[string]store.KindStats, error) {
	return nil, nil
}
