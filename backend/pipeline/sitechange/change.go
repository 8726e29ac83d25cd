// Package sitechange changes whole sites: it archives them, removes them with all
// their data, gives them another time zone and merges their units.
//
// A change is announced in one transaction, which also enqueues its job. From then on
// imports wait, except those that had begun, which the job waits for. The job may be
// interrupted at any point and run again: each of its steps has the same result when
// it is repeated.
package sitechange

import (
	"context"
	"errors"
	"fmt"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/activity"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/pipeline/importer"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
)

// Access are the credentials whose scopes name sites.
type Access interface {
	// RemoveSite removes a site from all scopes. It may be repeated.
	RemoveSite(ctx context.Context, customerID, siteID string) error
}

// Changer changes sites. It is safe for concurrent use; its state is in the store.
type Changer struct {
	*sitedata.Data
	Queue       store.Queue
	Imports     *importer.Importer
	Access      Access          // nil: no credentials name sites
	SiteRecords []record.OfSite // all records of sites
	// RenameAsset replaces a unit by another one in the records above the domain;
	// nil: there are none.
	RenameAsset func(tx store.Tx, siteID, from, to string) error
}

// pause is how long a change waits for imports and jobs that run.
const pause = time.Second

// Archive makes a site read-only.
func (c *Changer) Archive(ctx context.Context, scope api.Scope, siteID string) (before, after api.Site, err error) {
	return c.Domain.Sites.ArchiveSite(ctx, scope, siteID, func(tx store.Tx, siteID string) (bool, error) {
		open, err := c.Domain.Uploads.Open(tx, siteID)
		return len(open) > 0, err
	})
}

// begin announces a change of a site and enqueues its job. A removal and a change of
// the time zone are refused while the site has uploads that are not finished.
func (c *Changer) begin(ctx context.Context, scope api.Scope, siteID string, change site.Change) (is api.Site, err error) {
	err = c.Records.Update(ctx, func(tx store.Tx) error {
		if is, err = c.Domain.Sites.SiteIn(tx, scope, siteID); err != nil {
			return err
		}
		open, err := c.Domain.Uploads.Open(tx, siteID)
		if err != nil {
			return err
		}
		now := change
		for _, u := range open {
			if u.Version == 0 {
				now.WaitFor = append(now.WaitFor, u.UploadID)
			}
		}
		now.SiteID, now.Actor = siteID, scope.Actor
		if now, err = c.Domain.Sites.Announce(tx, now); err != nil {
			return err
		}
		if len(open) > 0 && (change.Kind == api.ChangeRemove || change.Kind == api.ChangeZone) {
			return site.OpenUploads(siteID) // discards the announcement
		}
		is.Change = &now.SiteChange
		return tx.Enqueue(c.NewJob(sitedata.JobSite, sitedata.Payload{SiteID: siteID}))
	})
	return is, err
}

// RunJob makes the running change of a site.
func (c *Changer) RunJob(ctx context.Context, job store.Claimed) error {
	body, err := sitedata.ReadPayload(job)
	if err != nil {
		return err
	}
	change, err := c.Domain.Sites.RunningChangeOf(ctx, body.SiteID)
	if err != nil || change == nil {
		return err
	}
	if err := c.waitForImports(ctx, *change); err != nil {
		return err
	}
	switch change.Kind {
	case api.ChangeRemove:
		return c.remove(ctx, *change)
	case api.ChangeZone:
		return c.changeZone(ctx, *change)
	case api.ChangeMerge:
		return c.merge(ctx, *change)
	}
	return sitedata.NewPermanent(fmt.Errorf("no change of a site is called %q", change.Kind))
}

// waitForImports postpones the job while an import runs that had begun before the
// change. One for a site that is removed is cancelled if it has stored nothing.
func (c *Changer) waitForImports(ctx context.Context, change site.Change) error {
	for _, id := range change.WaitFor {
		u, err := c.Domain.Uploads.Get(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if u.Ended() || u.Version > 0 {
			continue
		}
		if change.Kind == api.ChangeRemove {
			if _, err := c.Imports.Cancel(ctx, api.Unlimited(change.Actor), id); err == nil {
				continue
			}
		}
		return sitedata.Postponed{For: pause, Why: "upload " + id + " is being imported"}
	}
	return nil
}

// JobFailed ends a change that failed in its last attempt. One that may have changed
// something stays, and the next maintenance runs it again.
func (c *Changer) JobFailed(ctx context.Context, job store.Claimed, cause error) error {
	body, err := sitedata.ReadPayload(job)
	if err != nil {
		return err
	}
	return c.Records.Update(ctx, func(tx store.Tx) error {
		change, err := site.RunningChange(tx, body.SiteID)
		if err != nil || change == nil || change.Staged || change.Kind == api.ChangeRemove {
			return err
		}
		change.Error = sitedata.FirstLine(cause)
		if err := c.Domain.Sites.PutChange(tx, *change); err != nil {
			return err
		}
		return c.record(tx, *change, "Change of the site failed", change.Error)
	})
}

func (c *Changer) record(tx store.Tx, change site.Change, title, text string) error {
	return c.Domain.Activities.Record(tx, activity.Record{CustomerID: change.CustomerID, SiteID: change.SiteID, Phase: api.PhaseAct, Title: title, Description: text, Actor: change.Actor})
}

// permanentIfRefused marks an error that another attempt would repeat.
func permanentIfRefused(err error) error {
	var refusal *api.Error
	if errors.As(err, &refusal) && refusal.Status < 500 {
		return sitedata.NewPermanent(err)
	}
	return err
}
