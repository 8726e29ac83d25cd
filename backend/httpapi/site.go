package httpapi

import (
	"context"

	"app.sunloop/backend/api"
)

// Sites keeps the plants.
type Sites interface {
	// Site answers api.ErrSiteNotFound for an unknown id.
	Site(ctx context.Context, scope api.Scope, siteID string) (api.Site, error)
	// SitesNamed lists the sites of all customers that have the id.
	SitesNamed(ctx context.Context, siteID string) ([]api.Site, error)
	// NewSiteKey is the key of a site that the customer does not have yet.
	NewSiteKey(ctx context.Context, customerID, siteID string) (string, error)
	// Sites lists by name; q.CustomerID narrows.
	Sites(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Site, string, error)
	// SetSite creates a site, or clears fields and changes those that are given, and
	// returns the site as it is now.
	SetSite(ctx context.Context, scope api.Scope, site api.Site, clear ...string) (api.Site, error)
	// AddSite creates a site; 409 if the customer has one of the id.
	AddSite(ctx context.Context, scope api.Scope, site api.Site) (api.Site, error)
	// RenameSite sets the name that is shown, UnarchiveSite ends the archiving of a
	// site. They answer how the site was and is.
	RenameSite(ctx context.Context, scope api.Scope, siteID, name string) (before, after api.Site, err error)
	UnarchiveSite(ctx context.Context, scope api.Scope, siteID string) (before, after api.Site, err error)
}

// SiteChanges change whole sites.
type SiteChanges interface {
	// Archive makes a site read-only; 409 while it has uploads that are not finished.
	Archive(ctx context.Context, scope api.Scope, siteID string) (before, after api.Site, err error)
	// EffectsOfRemoval says what Remove deletes. Remove begins to delete a site with
	// all its data, EffectsOfZone and Zone give it another time zone; both are 409
	// while the site is being changed or has uploads that are not finished.
	EffectsOfRemoval(ctx context.Context, scope api.Scope, siteID string) (api.SiteEffects, error)
	Remove(ctx context.Context, scope api.Scope, siteID string) (api.Site, error)
	EffectsOfZone(ctx context.Context, scope api.Scope, siteID, zone string) (api.SiteEffects, error)
	Zone(ctx context.Context, scope api.Scope, siteID, zone string) (api.Site, error)
	// EffectsOfMerge says what Merge does: it begins to move the values of the unit
	// from into the unit to of the same site.
	EffectsOfMerge(ctx context.Context, scope api.Scope, siteID, to, from string) (api.SiteEffects, error)
	Merge(ctx context.Context, scope api.Scope, siteID, to, from string) (api.Site, error)
}

// Assets keeps the units of the sites.
type Assets interface {
	// Asset answers api.ErrAssetNotFound for an unknown id.
	Asset(ctx context.Context, scope api.Scope, ref api.AssetRef) (api.Asset, error)
	// Assets lists by id; q.CustomerID and q.SiteID narrow.
	Assets(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Asset, string, error)
	// AddAsset answers the asset as stored; 409 for an id that is there already.
	AddAsset(ctx context.Context, scope api.Scope, asset api.Asset) (api.Asset, error)
	// SetAsset clears fields and changes the given ones, InstallComponent installs a
	// component, which replaces former unless that is empty, and
	// RemoveComponent removes one. They answer how the asset was and is; 409
	// when a version is given that it has no longer.
	SetAsset(ctx context.Context, scope api.Scope, ref api.AssetRef, change api.Asset, clear ...string) (before, after api.Asset, err error)
	InstallComponent(ctx context.Context, scope api.Scope, ref api.AssetRef, version int, c api.Component, former string) (before, after api.Asset, err error)
	RemoveComponent(ctx context.Context, scope api.Scope, ref api.AssetRef, version int, serial string) (before, after api.Asset, err error)
}

// Summaries are a site's vital signs.
type Summaries interface {
	SiteSummary(ctx context.Context, scope api.Scope, siteID string) (api.SiteSummary, error)
	// Fleet lists the sites by name; q.CustomerID narrows.
	Fleet(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.FleetSite, string, error)
}

func (s *server) siteHandlers() {
	handle(s, api.SetSite, func(ctx context.Context, c *caller, r *api.SitesRequest) (api.SitesResponse, error) {
		site := *r.Site
		site.SiteID, site.CustomerID = r.SiteID, r.CustomerID
		if c.site.SiteID != "" {
			site.CustomerID = c.site.CustomerID
		}
		now, err := s.Sites.SetSite(ctx, c.scope, site, r.Clear...)
		s.lookups.invalidate()
		return api.SitesResponse{Success: true, Message: "Site stored", Site: &now, Count: 1}, err
	})
	handle(s, api.AddSite, func(ctx context.Context, c *caller, r *api.SitesRequest) (api.SitesResponse, error) {
		site := *r.Site
		site.SiteID, site.CustomerID = r.SiteID, r.CustomerID
		if c.site.SiteID != "" && site.CustomerID == "" {
			site.CustomerID = c.site.CustomerID
		}
		now, err := s.Sites.AddSite(ctx, c.scope, site)
		s.lookups.invalidate()
		return api.SitesResponse{Success: true, Message: "Site added", Site: &now, Count: 1}, err
	})
	handle(s, api.RenameSite, s.moveSite("Site renamed", func(ctx context.Context, scope api.Scope, r *api.SitesRequest) (before, after api.Site, err error) {
		return s.Sites.RenameSite(ctx, scope, r.SiteID, r.Name)
	}))
	handle(s, api.ArchiveSite, s.moveSite("Site archived", func(ctx context.Context, scope api.Scope, r *api.SitesRequest) (before, after api.Site, err error) {
		return s.SiteChanges.Archive(ctx, scope, r.SiteID)
	}))
	handle(s, api.UnarchiveSite, s.moveSite("Site restored from the archive", func(ctx context.Context, scope api.Scope, r *api.SitesRequest) (before, after api.Site, err error) {
		return s.Sites.UnarchiveSite(ctx, scope, r.SiteID)
	}))
	handle(s, api.RemoveSite, s.beginChange("Site is being removed", func(ctx context.Context, scope api.Scope, r *api.SitesRequest) (api.SiteEffects, error) {
		return s.SiteChanges.EffectsOfRemoval(ctx, scope, r.SiteID)
	}, func(ctx context.Context, scope api.Scope, r *api.SitesRequest) (api.Site, error) {
		return s.SiteChanges.Remove(ctx, scope, r.SiteID)
	}))
	handle(s, api.ZoneSite, s.beginChange("The files of the site are being read again", func(ctx context.Context, scope api.Scope, r *api.SitesRequest) (api.SiteEffects, error) {
		return s.SiteChanges.EffectsOfZone(ctx, scope, r.SiteID, r.Timezone)
	}, func(ctx context.Context, scope api.Scope, r *api.SitesRequest) (api.Site, error) {
		return s.SiteChanges.Zone(ctx, scope, r.SiteID, r.Timezone)
	}))
	handle(s, api.GetSite, func(_ context.Context, c *caller, _ *api.SitesRequest) (api.SitesResponse, error) {
		return api.SitesResponse{Success: true, Site: &c.site, Count: 1}, nil
	})
	handle(s, api.ListSites, func(ctx context.Context, c *caller, r *api.SitesRequest) (api.SitesResponse, error) {
		list, next, err := s.Sites.Sites(ctx, c.scope, api.ListQuery{CustomerID: r.CustomerID, Page: r.Page, Archived: r.Archived})
		return api.SitesResponse{Success: true, Sites: nonNil(list), Count: len(list), NextCursor: next}, err
	})
	handle(s, api.GetSiteSummary, func(ctx context.Context, c *caller, r *api.SiteSummaryRequest) (api.SiteSummaryResponse, error) {
		sum, err := s.Summaries.SiteSummary(ctx, c.scope, r.SiteID)
		return api.SiteSummaryResponse{Success: true, Summary: sum, SiteSummary: sum}, err
	})
	handle(s, api.ListFleet, func(ctx context.Context, c *caller, r *api.SiteSummaryRequest) (api.FleetResponse, error) {
		list, next, err := s.Summaries.Fleet(ctx, c.scope, api.ListQuery{CustomerID: r.CustomerID, Page: r.Page})
		return api.FleetResponse{Success: true, Sites: nonNil(list), Count: len(list), NextCursor: next}, err
	})

	handle(s, api.AddAsset, func(ctx context.Context, c *caller, r *api.AssetsRequest) (api.AssetsResponse, error) {
		if c.site.SiteID != "" { // otherwise the domain decides where the unit belongs
			r.Asset.CustomerID = c.site.CustomerID
		}
		added, err := s.Assets.AddAsset(ctx, c.scope, r.Asset)
		s.lookups.invalidate()
		return api.AssetsResponse{Success: true, Message: "Asset added", AssetID: added.AssetID}, err
	})
	handle(s, api.GetAsset, func(_ context.Context, c *caller, _ *api.AssetsRequest) (api.AssetsResponse, error) {
		return api.AssetsResponse{Success: true, Asset: &c.asset, Count: 1}, nil
	})
	handle(s, api.ListAssets, func(ctx context.Context, c *caller, r *api.AssetsRequest) (api.AssetsResponse, error) {
		list, next, err := s.Assets.Assets(ctx, c.scope, api.ListQuery{CustomerID: r.CustomerID, SiteID: r.SiteID, Filter: api.Filter{Type: r.Type}, Page: r.Page})
		return api.AssetsResponse{Success: true, Assets: nonNil(list), Count: len(list), NextCursor: next}, err
	})
	handle(s, api.SetAsset, s.changeAsset("Asset changed", func(ctx context.Context, scope api.Scope, ref api.AssetRef, r *api.AssetsRequest) (before, after api.Asset, err error) {
		return s.Assets.SetAsset(ctx, scope, ref, r.Asset, r.Clear...)
	}))
	handle(s, api.InstallComponent, s.changeAsset("Component installed", func(ctx context.Context, scope api.Scope, ref api.AssetRef, r *api.AssetsRequest) (before, after api.Asset, err error) {
		return s.Assets.InstallComponent(ctx, scope, ref, r.Version, *r.Component, r.FormerSerial)
	}))
	handle(s, api.MergeAssets, func(ctx context.Context, c *caller, r *api.AssetsRequest) (api.AssetsResponse, error) {
		id := c.asset.AssetID
		if r.DryRun {
			e, err := s.SiteChanges.EffectsOfMerge(ctx, c.scope, c.asset.SiteID, id, r.FromAssetID)
			return api.AssetsResponse{Success: true, Message: "Nothing was changed", AssetID: id, Asset: &c.asset, Effects: &e, Count: 1}, err
		}
		_, err := s.SiteChanges.Merge(ctx, c.scope, c.asset.SiteID, id, r.FromAssetID)
		s.lookups.invalidate()
		return api.AssetsResponse{Success: true, Message: "The units are being merged", AssetID: id, Asset: &c.asset, Count: 1}, err
	})
	handle(s, api.RemoveComponent, s.changeAsset("Component removed", func(ctx context.Context, scope api.Scope, ref api.AssetRef, r *api.AssetsRequest) (before, after api.Asset, err error) {
		return s.Assets.RemoveComponent(ctx, scope, ref, r.Version, r.FormerSerial)
	}))
}

// moveSite is a handler of a change of a site that is made at once.
func (s *server) moveSite(message string, change func(ctx context.Context, scope api.Scope, r *api.SitesRequest) (before, after api.Site, err error)) func(context.Context, *caller, *api.SitesRequest) (api.SitesResponse, error) {
	return func(ctx context.Context, c *caller, r *api.SitesRequest) (api.SitesResponse, error) {
		before, after, err := change(ctx, c.scope, r)
		s.lookups.invalidate()
		if err != nil {
			return api.SitesResponse{}, err
		}
		c.audit.change(before, after, after.CustomerID)
		return api.SitesResponse{Success: true, Message: message, Site: &after, Count: 1}, nil
	}
}

// beginChange is a handler of a change of a site that runs in the background. A dry
// run only says what it would do.
func (s *server) beginChange(message string, effects func(context.Context, api.Scope, *api.SitesRequest) (api.SiteEffects, error), begin func(context.Context, api.Scope, *api.SitesRequest) (api.Site, error)) func(context.Context, *caller, *api.SitesRequest) (api.SitesResponse, error) {
	return func(ctx context.Context, c *caller, r *api.SitesRequest) (api.SitesResponse, error) {
		if r.DryRun {
			e, err := effects(ctx, c.scope, r)
			return api.SitesResponse{Success: true, Message: "Nothing was changed", Site: &c.site, Effects: &e, Count: 1}, err
		}
		after, err := begin(ctx, c.scope, r)
		s.lookups.invalidate()
		if err != nil {
			return api.SitesResponse{}, err
		}
		c.audit.change(c.site, after, after.CustomerID)
		return api.SitesResponse{Success: true, Message: message, Site: &after, Count: 1}, nil
	}
}

// changeAsset is a handler of a change of a unit.
func (s *server) changeAsset(message string, change func(ctx context.Context, scope api.Scope, ref api.AssetRef, r *api.AssetsRequest) (before, after api.Asset, err error)) func(context.Context, *caller, *api.AssetsRequest) (api.AssetsResponse, error) {
	return func(ctx context.Context, c *caller, r *api.AssetsRequest) (api.AssetsResponse, error) {
		before, after, err := change(ctx, c.scope, api.AssetRef{AssetID: r.AssetID, SiteID: r.SiteID, CustomerID: r.CustomerID}, r)
		s.lookups.invalidate()
		if err != nil {
			return api.AssetsResponse{}, err
		}
		c.audit.change(before, after, after.CustomerID)
		return api.AssetsResponse{Success: true, Message: message, AssetID: after.AssetID, Asset: &after, Count: 1}, nil
	}
}
