package httpapi

import (
	"context"
	"sync"
	"time"

	"app.sunloop/backend/api"
)

// lookupLifetime is how long the telemetry paths use a site's or a unit's record without
// reading it again: their responses need only its owner and its zone, and a console sends
// requests every few seconds.
const lookupLifetime = 5 * time.Second

const maxLookups = 4096

// lookupCache keeps the records of sites and units that were looked up. The zero value is
// ready to use.
type lookupCache struct {
	mu     sync.Mutex
	sites  map[string]timed[[]api.Site] // by id, of all customers
	assets map[api.AssetRef]timed[api.Asset]
	gen    int
}

type timed[T any] struct {
	value T
	until time.Time
}

// invalidate removes all records, after a change through this handler. The changes of another
// replica are seen after [lookupLifetime].
func (p *lookupCache) invalidate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sites, p.assets = nil, nil
	p.gen++
}

// get returns the value of key in the map that at selects, or looks it up.
// The scope of the caller is checked on the result, in permit.
func get[K comparable, T any](p *lookupCache, at func() *map[K]timed[T], key K, now time.Time, lookUp func() (T, error)) (T, error) {
	p.mu.Lock()
	known, ok := (*at())[key]
	gen := p.gen
	p.mu.Unlock()
	if ok && now.Before(known.until) {
		return known.value, nil
	}
	v, err := lookUp()
	if err != nil {
		return v, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	m := at()
	if p.gen != gen {
		return v, nil // changed meanwhile
	}
	if *m == nil || len(*m) >= maxLookups {
		*m = map[K]timed[T]{}
	}
	(*m)[key] = timed[T]{v, now.Add(lookupLifetime)}
	return v, nil
}

func (s *server) siteOf(ctx context.Context, scope api.Scope, t target) (api.Site, error) {
	lookUp := func() ([]api.Site, error) { return s.Sites.SitesNamed(ctx, *t.siteID) }
	var all []api.Site
	var err error
	if t.cached {
		all, err = get(&s.lookups, func() *map[string]timed[[]api.Site] { return &s.lookups.sites }, *t.siteID, s.Now(), lookUp)
	} else {
		all, err = lookUp()
	}
	if err != nil {
		return api.Site{}, err
	}
	site, err := scope.Choose(all, t.customerID)
	switch {
	case err != nil && t.cached: // an upload or another replica may have created the site since
		if all, err = lookUp(); err != nil {
			return api.Site{}, err
		}
		return scope.Choose(all, t.customerID)
	case err != nil || t.cached:
		return site, err
	}
	return s.Sites.Site(ctx, scope, site.SiteID)
}

func (s *server) assetOf(ctx context.Context, scope api.Scope, t target) (api.Asset, error) {
	lookUp := func() (api.Asset, error) { return s.Assets.Asset(ctx, scope, *t.asset) }
	// Without its site a name may mean another unit to another caller.
	if !t.cached || t.asset.SiteID == "" {
		return lookUp()
	}
	return get(&s.lookups, func() *map[api.AssetRef]timed[api.Asset] { return &s.lookups.assets }, *t.asset, s.Now(), lookUp)
}
