package auth

import (
	"context"
	"fmt"
	"slices"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// RemoveSite removes a site from the scopes of keys and users. A key or a user that
// has no other site must not get all sites instead: such a key is revoked, and such a
// user is blocked until an administrator assigns sites.
func (s *Service) RemoveSite(ctx context.Context, customerID, siteID string) error {
	defer s.known.invalidate()
	err := s.records.Update(ctx, func(tx store.Tx) error {
		keys, _, err := apiKeys.List(tx, store.Query{})
		if err != nil {
			return err
		}
		for _, k := range keys {
			sites, changed := withoutSite(k.Customers, k.Sites, customerID, siteID)
			if !changed {
				continue
			}
			k.ChangedAt = s.now().UTC()
			if k.Sites = sites; len(sites) == 0 && k.RevokedAt.IsZero() {
				k.RevokedAt = s.now().UTC()
			}
			if err := apiKeys.Put(tx, k); err != nil {
				return err
			}
		}
		users, _, err := accounts.List(tx, store.Query{})
		if err != nil {
			return err
		}
		for _, a := range users {
			sites, changed := withoutSite(a.Customers, a.Sites, customerID, siteID)
			if !changed {
				continue
			}
			if len(sites) > 0 {
				a.Sites = sites
			} else { // an empty list means all sites
				a.Inactive = true
				if err := endSessions(tx, a.ID); err != nil {
					return err
				}
			}
			a.ChangedAt = s.now().UTC()
			if err := accounts.Put(tx, a); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("remove site %s from the scopes of keys and users: %w", siteID, err)
	}
	return nil
}

// withoutSite returns a list of sites without one: by its key, and by its id where
// the scope is of the site's customer alone.
func withoutSite(customers, sites []string, customerID, siteID string) (left []string, changed bool) {
	left = slices.DeleteFunc(slices.Clone(sites), func(id string) bool {
		return id == siteID || id == api.PublicSiteID(siteID) && len(customers) == 1 && customers[0] == customerID
	})
	return left, len(left) < len(sites)
}
