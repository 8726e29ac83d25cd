package sitechange

import (
	"context"
	"errors"
	"slices"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
)

// EffectsOfRemoval counts what the removal of a site deletes.
func (c *Changer) EffectsOfRemoval(ctx context.Context, scope api.Scope, siteID string) (e api.SiteEffects, err error) {
	err = c.Records.View(ctx, func(tx store.Tx) error {
		e = api.SiteEffects{}
		if _, err := c.Domain.Sites.SiteIn(tx, scope, siteID); err != nil {
			return err
		}
		for _, r := range c.SiteRecords {
			if r.Effect == nil {
				continue
			}
			if *r.Effect(&e), err = r.CountPrefix(tx, store.Key(siteID)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return e, err
	}
	first, last, ok, err := c.Domain.Sites.DataPeriod(ctx, siteID)
	if ok {
		e.FirstRecord, e.LastRecord = api.At(first), api.At(last)
	}
	return e, err
}

// Remove begins to delete a site with all its data. From now on no other request
// finds the site.
func (c *Changer) Remove(ctx context.Context, scope api.Scope, siteID string) (api.Site, error) {
	return c.begin(ctx, scope, siteID, site.Change{SiteChange: api.SiteChange{Kind: api.ChangeRemove}})
}

// deletedAtOnce is the number of records of a kind that one transaction deletes, so
// that other writers wait only briefly.
const deletedAtOnce = 200

// remove deletes a site. The last transaction deletes its own record, and with it the
// change.
func (c *Changer) remove(ctx context.Context, change site.Change) error {
	siteID := change.SiteID
	if !change.Staged {
		// Jobs that run may store records for some moments more; others do not begin.
		for _, kind := range sitedata.JobKinds() {
			if kind == sitedata.JobIngest || kind == sitedata.JobMaintain || kind == sitedata.JobSite {
				continue
			}
			if err := c.Queue.Cancel(ctx, kind, siteID); err != nil {
				return err
			}
		}
		change.Staged = true
		if err := c.Records.Update(ctx, func(tx store.Tx) error { return c.Domain.Sites.PutChange(tx, change) }); err != nil {
			return err
		}
		return sitedata.Postponed{For: pause, Why: "jobs of site " + siteID + " end"}
	}
	if c.Access != nil {
		if err := c.Access.RemoveSite(ctx, change.CustomerID, siteID); err != nil {
			return err
		}
	}
	if err := errors.Join(c.removeUploads(ctx, siteID), c.Imports.DropSessions(ctx, siteID), c.removeModels(ctx, siteID)); err != nil {
		return err
	}
	for done := false; !done; {
		err := c.Records.Update(ctx, func(tx store.Tx) (err error) {
			done, err = c.removeRecords(tx, siteID)
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := c.removeTelemetry(ctx, siteID); err != nil {
		return err
	}
	err := c.Records.Update(ctx, func(tx store.Tx) error {
		done, err := c.removeRecords(tx, siteID)
		if err != nil {
			return err
		}
		if !done {
			return sitedata.Postponed{For: pause, Why: "records of site " + siteID + " were stored meanwhile"}
		}
		for _, r := range c.SiteRecords {
			if r.Last {
				if _, err := r.DeletePrefix(tx, store.Key(siteID), deletedAtOnce); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err == nil {
		c.Logger.InfoContext(ctx, "site removed", "site_id", siteID, "customer_id", change.CustomerID, "by", change.Actor)
	}
	return err
}

// removeRecords deletes some records of a site, but not the last ones. done reports
// that there were none.
func (c *Changer) removeRecords(tx store.Tx, siteID string) (done bool, err error) {
	for _, r := range c.SiteRecords {
		if r.Last {
			continue
		}
		n, err := r.DeletePrefix(tx, store.Key(siteID), deletedAtOnce)
		if err != nil || n > 0 {
			return false, err
		}
	}
	return true, nil
}

// removeUploads deletes the uploads of a site with their files.
func (c *Changer) removeUploads(ctx context.Context, siteID string) error {
	for {
		var keys []string
		done := false
		err := c.Records.Update(ctx, func(tx store.Tx) error {
			some, err := c.Domain.Uploads.SomeOfSite(tx, siteID, deletedAtOnce)
			if err != nil {
				return err
			}
			keys, done = nil, len(some) == 0
			for _, u := range some {
				if u.ObjectKey != "" {
					keys = append(keys, u.ObjectKey)
				}
			}
			return errors.Join(c.Domain.Uploads.Delete(tx, some), c.MarkForDeletion(tx, "", keys...))
		})
		if err != nil || done {
			return err
		}
		c.DeleteMarked(ctx, "", keys...)
	}
}

// removeModels deletes the models and interpolations of a site with their files.
func (c *Changer) removeModels(ctx context.Context, siteID string) error {
	var keys []string
	err := c.Records.Update(ctx, func(tx store.Tx) error {
		found, uris, err := model.ObjectsOfSite(tx, siteID)
		if err != nil {
			return err
		}
		for _, uri := range uris {
			if key, ok := c.Objects.Key(uri); ok {
				found = append(found, key)
			}
		}
		slices.Sort(found)
		keys = slices.Compact(found)
		if err := c.MarkForDeletion(tx, siteID, keys...); err != nil {
			return err
		}
		for _, r := range model.SiteRecords() {
			for {
				n, err := r.DeletePrefix(tx, store.Key(siteID), deletedAtOnce)
				if err != nil {
					return err
				}
				if n == 0 {
					break
				}
			}
		}
		return nil
	})
	if err == nil {
		c.DeleteMarked(ctx, siteID, keys...)
	}
	return err
}

func (c *Changer) removeTelemetry(ctx context.Context, siteID string) error {
	is, err := c.Domain.Sites.Site(ctx, api.Unlimited(sitedata.Actor), siteID)
	if errors.Is(err, api.ErrSiteNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	key := store.SiteKey{ID: siteID, Zone: record.Zone(is.Timezone)}
	return c.Telemetry.Rewrite(ctx, key, func([]store.AssetFrame) ([]store.AssetFrame, error) { return nil, nil })
}
