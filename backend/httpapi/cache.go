package httpapi

import (
	"context"
	"sync"
	"time"

	"app.sunloop/backend/api"
)

// lookupLifetime is how long the telemetry paths take a site's or a unit's record as
// known: their answers need only whose it is and its zone, and a console asks
// every few seconds.
const lookupLifetime = 5 * time.Second

const maxLookups = 4096

// lookupCache remembers sites and units that were looked up. The zero value is
// ready.
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

// invalidate drops all: something was changed through this handler. What another
// replica changed is seen when the time is over.
func (p *lookupCache) invalidate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sites, p.assets = nil, nil
	p.gen++
}

// get returns what is remembered in the map that at picks, or looks it up.
// The caller's scope is checked in permit, on what comes out of here.
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
	if err != nil || t.cached {
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
