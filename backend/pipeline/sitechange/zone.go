package sitechange

import (
	"context"
	"fmt"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/kpi"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/internal/display"
)

// EffectsOfZone says what another time zone of a site changes.
func (c *Changer) EffectsOfZone(ctx context.Context, scope api.Scope, siteID, zone string) (api.SiteEffects, error) {
	is, err := c.checkZone(ctx, scope, siteID, zone)
	if err != nil {
		return api.SiteEffects{}, err
	}
	z, err := c.Imports.Rezone(ctx, is, zone)
	if err != nil {
		return api.SiteEffects{}, err
	}
	defer c.Progress.Forget(siteID)
	return z.Effects, z.Count(ctx)
}

// Zone begins to give a site another time zone: its kept files are read again in it.
func (c *Changer) Zone(ctx context.Context, scope api.Scope, siteID, zone string) (api.Site, error) {
	is, err := c.checkZone(ctx, scope, siteID, zone)
	if err != nil {
		return api.Site{}, err
	}
	return c.begin(ctx, scope, siteID, site.Change{SiteChange: api.SiteChange{Kind: api.ChangeZone, Timezone: zone}, Former: is.Timezone})
}

func (c *Changer) checkZone(ctx context.Context, scope api.Scope, siteID, zone string) (api.Site, error) {
	if _, err := time.LoadLocation(zone); err != nil || zone == "Local" {
		return api.Site{}, api.InvalidField("timezone", fmt.Sprintf("%q is not an IANA time zone such as Europe/Vienna", zone))
	}
	is, err := c.Domain.Sites.Site(ctx, scope, siteID)
	if err != nil {
		return is, err
	}
	if err := is.CheckState(true); err != nil {
		return is, err
	}
	if is.Timezone == zone {
		return is, api.InvalidTransition("Site %s is in %s already", siteID, zone)
	}
	return is, nil
}

// changeZone reads the files of a site again in the new zone. What the files replace is
// stored first, then the telemetry is changed in one transaction, and then the records
// in another one.
func (c *Changer) changeZone(ctx context.Context, change site.Change) error {
	is, err := c.Domain.Sites.Site(ctx, api.Unlimited(sitedata.Actor), change.SiteID)
	if err != nil {
		return err
	}
	if is.Timezone == change.Timezone { // only the last step is left
		return c.endZone(ctx, is)
	}
	defer c.Progress.Forget(change.SiteID)
	z, err := c.Imports.Rezone(ctx, is, change.Timezone)
	if err != nil {
		return permanentIfRefused(err)
	}
	if !change.Staged {
		if err := z.Stage(ctx); err != nil {
			return err
		}
		change.Staged = true
		if err := c.Records.Update(ctx, func(tx store.Tx) error { return c.Domain.Sites.PutChange(tx, change) }); err != nil {
			return err
		}
	}
	if err := z.Apply(ctx); err != nil {
		return err
	}
	first, last, _, err := c.Domain.Sites.DataPeriod(ctx, change.SiteID)
	if err != nil {
		return err
	}
	err = c.Records.Update(ctx, func(tx store.Tx) error {
		if err := z.Finish(tx); err != nil {
			return err
		}
		if err := c.Domain.Sites.PutZone(tx, change.SiteID, change.Timezone); err != nil {
			return err
		}
		if err := kpi.Forget(tx, change.SiteID); err != nil {
			return err
		}
		_, err := sitedata.UpdateState(tx, change.SiteID, func(t *sitedata.State) {
			if !last.IsZero() {
				t.LastData = last
			}
		})
		if err != nil {
			return err
		}
		if err := c.dataChanged(tx, change.SiteID, first, last); err != nil {
			return err
		}
		return c.record(tx, change, "Time zone changed", fmt.Sprintf("from %s to %s; %s read again", change.Former, change.Timezone, display.CountOf(z.Effects.UploadsRead, "file", "files")))
	})
	if err != nil {
		return err
	}
	is.Timezone = change.Timezone
	return c.endZone(ctx, is)
}

func (c *Changer) endZone(ctx context.Context, is api.Site) error {
	if err := c.Imports.JoinAgain(ctx, is); err != nil {
		return err
	}
	return c.Records.Update(ctx, func(tx store.Tx) error { return c.Domain.Sites.EndChange(tx, is.SiteID) })
}
