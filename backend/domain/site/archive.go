package site

import (
	"context"
	"errors"
	"fmt"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/activity"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
)

// AddSite creates a site; one that the customer has already is a 409.
func (s *Service) AddSite(ctx context.Context, scope api.Scope, site api.Site) (api.Site, error) {
	if err := checkSite(site); err != nil {
		return api.Site{}, err
	}
	if site.CustomerID == "" {
		site.CustomerID = soleCustomer(scope)
	}
	site.ArchivedAt, site.Change = api.Time{}, nil
	want := site
	err := s.records.Update(ctx, func(tx store.Tx) error {
		there, err := s.findSite(tx, scope, want.CustomerID, want.SiteID)
		switch {
		case err == nil && (want.CustomerID == "" || there.CustomerID == want.CustomerID):
			return api.AlreadyExists("Site %s exists already", want.SiteID)
		case err != nil && !errors.Is(err, api.ErrSiteNotFound) && !errors.Is(err, api.ErrForbidden):
			return err
		}
		site, err = s.newSite(tx, scope, want)
		return err
	})
	return site, err
}

// RenameSite sets the name that is shown of a site. Its id stays. An archived site
// keeps its name.
func (s *Service) RenameSite(ctx context.Context, scope api.Scope, siteID, name string) (before, after api.Site, err error) {
	return s.changeSite(ctx, scope, siteID, func(_ store.Tx, site *api.Site) (title, text string, err error) {
		if err := site.CheckState(true); err != nil {
			return "", "", err
		}
		if err := record.CheckText("name", name); err != nil {
			return "", "", err
		}
		if site.Name == name {
			return "", "", nil
		}
		text = site.Name + " is now " + name
		site.Name = name
		return "Site renamed", text, nil
	})
}

// ArchiveSite makes a site read-only: it takes no data, is neither forecast nor
// monitored, and is in lists only if they are asked for archived sites. open
// reports uploads of the site that are not finished, of which there must be none.
func (s *Service) ArchiveSite(ctx context.Context, scope api.Scope, siteID string, open func(tx store.Tx, siteID string) (bool, error)) (before, after api.Site, err error) {
	return s.changeSite(ctx, scope, siteID, func(tx store.Tx, site *api.Site) (title, text string, err error) {
		if !site.ArchivedAt.IsZero() {
			return "", "", nil
		}
		busy, err := open(tx, siteID)
		if err != nil {
			return "", "", err
		}
		if busy {
			return "", "", OpenUploads(siteID)
		}
		site.ArchivedAt = api.At(s.now())
		return "Site archived", site.Name, nil
	})
}

// OpenUploads is the refusal of a change of a whole site that has uploads that are
// not finished.
func OpenUploads(siteID string) error {
	return api.Conflict("Site %s has uploads that are not finished: wait for them, or cancel them", api.PublicSiteID(siteID))
}

// UnarchiveSite ends the archiving of a site.
func (s *Service) UnarchiveSite(ctx context.Context, scope api.Scope, siteID string) (before, after api.Site, err error) {
	return s.changeSite(ctx, scope, siteID, func(_ store.Tx, site *api.Site) (title, text string, err error) {
		if site.ArchivedAt.IsZero() {
			return "", "", nil
		}
		site.ArchivedAt = api.Time{}
		return "Site restored from the archive", site.Name, nil
	})
}

// changeSite changes a site. A change that has nothing to do has no title, and
// succeeds.
func (s *Service) changeSite(ctx context.Context, scope api.Scope, siteID string, change func(tx store.Tx, site *api.Site) (title, text string, err error)) (before, after api.Site, err error) {
	err = s.records.Update(ctx, func(tx store.Tx) error {
		if before, err = s.SiteIn(tx, scope, siteID); err != nil {
			return err
		}
		if err := checkUnchanged(tx, siteID); err != nil {
			return err
		}
		after = before
		title, text, err := change(tx, &after)
		if err != nil {
			return err
		}
		if title == "" {
			return s.count(tx, &after)
		}
		if err := s.putSite(tx, &after); err != nil {
			return fmt.Errorf("store site %s: %w", siteID, err)
		}
		if err := s.activities.Record(tx, activity.Record{Phase: api.PhaseAct, Title: title, Description: text, SiteID: siteID, CustomerID: after.CustomerID, Actor: scope.Actor}); err != nil {
			return err
		}
		return s.count(tx, &after)
	})
	return before, after, err
}

func (s *Service) count(tx store.Tx, site *api.Site) (err error) {
	site.AssetCount, err = countAssets(tx, site.SiteID)
	return err
}

// CheckWritable refuses a request that writes, as its scope says, to an archived
// site or to one that is being removed.
func CheckWritable(tx store.Tx, scope api.Scope, siteID string) error {
	if !scope.Writes {
		return nil
	}
	site, err := sites.Get(tx, store.Key(siteID))
	if errors.Is(err, store.ErrNotFound) {
		return nil // of an upload whose site is not made yet
	}
	if err != nil {
		return fmt.Errorf("read site %s: %w", siteID, err)
	}
	if site.Change, err = lastChange(tx, siteID); err != nil {
		return err
	}
	return site.CheckState(true)
}

// PutZone stores the new time zone of a site and of those of its units that had the
// former one.
func (s *Service) PutZone(tx store.Tx, siteID, zone string) error {
	site, err := sites.Get(tx, store.Key(siteID))
	if err != nil {
		return fmt.Errorf("read site %s: %w", siteID, err)
	}
	former := site.Timezone
	site.Timezone = zone
	if err := s.putSite(tx, &site); err != nil {
		return fmt.Errorf("store site %s: %w", siteID, err)
	}
	units, err := s.AssetsInTx(tx, siteID)
	if err != nil {
		return err
	}
	for _, a := range units {
		if a.Timezone != former {
			continue
		}
		a.Timezone = zone
		if err := s.putAsset(tx, &a); err != nil {
			return fmt.Errorf("store asset %s: %w", a.AssetID, err)
		}
	}
	return nil
}
