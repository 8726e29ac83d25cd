package site

import (
	"context"
	"errors"
	"fmt"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// Change is a change of a whole site, from its announcement until it has ended. A
// job makes it, after a restart too.
type Change struct {
	SiteID     string
	CustomerID string
	api.SiteChange
	Former  string   // of zone: the former time zone
	Staged  bool     // of zone: what the files replace in the new zone is stored, thus the telemetry may be changed
	WaitFor []string // uploads that were being imported at the announcement; others wait for the change
}

// changeRecord is a stored change. Its fields have the meaning of those of
// [Change] and [api.SiteChange].
type changeRecord struct {
	SiteID      string   `json:"site_id" limit:"id"`
	CustomerID  string   `json:"customer_id" limit:"id"`
	Kind        string   `json:"kind" limit:"word"`
	Timezone    string   `json:"timezone,omitempty" limit:"word"`
	AssetID     string   `json:"asset_id,omitempty" limit:"id"`
	FromAssetID string   `json:"from_asset_id,omitempty" limit:"id"`
	Actor       string   `json:"actor" limit:"id"`
	StartedAt   api.Time `json:"started_at"`
	Error       string   `json:"error,omitempty" limit:"line cut"`
	Former      string   `json:"former,omitempty" limit:"word"`
	Staged      bool     `json:"staged,omitempty"`
	WaitFor     []string `json:"wait_for,omitempty" limit:"10000 id"`
}

func newChangeRecord(c Change) changeRecord {
	return changeRecord{SiteID: c.SiteID, CustomerID: c.CustomerID, Kind: c.Kind, Timezone: c.Timezone, AssetID: c.AssetID, FromAssetID: c.FromAssetID, Actor: c.Actor,
		StartedAt: c.StartedAt, Error: c.Error, Former: c.Former, Staged: c.Staged, WaitFor: c.WaitFor}
}

func (r changeRecord) change() Change {
	return Change{SiteID: r.SiteID, CustomerID: r.CustomerID, Former: r.Former, Staged: r.Staged, WaitFor: r.WaitFor, SiteChange: api.SiteChange{
		Kind: r.Kind, Timezone: r.Timezone, AssetID: r.AssetID, FromAssetID: r.FromAssetID, Actor: r.Actor, StartedAt: r.StartedAt, Error: r.Error}}
}

// changes are the running changes of sites, and the last one of a site if it failed.
var changes = store.Table[Change]{
	Bucket: "site-changes",
	Key:    func(c Change) []byte { return store.Key(c.SiteID) },
	Indexes: []store.Index[Change]{{Name: "running", Key: func(c Change) []byte {
		if !c.Running() {
			return nil
		}
		return store.Key(c.SiteID)
	}}},
	Form: store.As(newChangeRecord, changeRecord.change),
}

func lastChange(tx store.Tx, siteID string) (*api.SiteChange, error) {
	c, err := changes.Get(tx, store.Key(siteID))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the change of site %s: %w", siteID, err)
	}
	return &c.SiteChange, nil
}

// RunningChange returns the change of a site that runs, or nil.
func RunningChange(tx store.Tx, siteID string) (*Change, error) {
	c, err := changes.Get(tx, store.Key(siteID))
	if errors.Is(err, store.ErrNotFound) || err == nil && !c.Running() {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the change of site %s: %w", siteID, err)
	}
	return &c, nil
}

// checkUnchanged refuses a change of a site that has a running one.
func checkUnchanged(tx store.Tx, siteID string) error {
	running, err := RunningChange(tx, siteID)
	if err != nil || running == nil {
		return err
	}
	return api.InProgress("Site %s is being changed: %s since %s", siteID, running.Kind, running.StartedAt)
}

// RunningChanges returns the changes of all sites that run, by site.
func RunningChanges(tx store.Tx) (map[string]*Change, error) {
	running := map[string]*Change{}
	err := changes.Each(tx, store.Query{Index: "running"}, func(c Change) error {
		running[c.SiteID] = &c
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the changes of sites: %w", err)
	}
	return running, nil
}

// Suspended returns the sites for which no job runs: archived ones, and those with
// a running change.
func Suspended(tx store.Tx) (map[string]bool, error) {
	out := map[string]bool{}
	running, err := RunningChanges(tx)
	if err != nil {
		return nil, err
	}
	for id := range running {
		out[id] = true
	}
	err = sites.Each(tx, store.Query{Index: "archived"}, func(s api.Site) error {
		out[s.SiteID] = true
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the archived sites: %w", err)
	}
	return out, nil
}

// Announce begins a change of a site. A site has one change at a time, and an
// archived one takes none but its removal. From now on, only the imports of
// c.WaitFor store telemetry of the site.
func (s *Service) Announce(tx store.Tx, c Change) (Change, error) {
	site, err := sites.Get(tx, store.Key(c.SiteID))
	if errors.Is(err, store.ErrNotFound) {
		return c, api.ErrSiteNotFound
	}
	if err != nil {
		return c, fmt.Errorf("read site %s: %w", c.SiteID, err)
	}
	if err := checkUnchanged(tx, c.SiteID); err != nil {
		return c, err
	}
	if c.Kind != api.ChangeRemove {
		if err := site.CheckState(true); err != nil {
			return c, err
		}
	}
	c.CustomerID, c.StartedAt, c.Error = site.CustomerID, api.At(s.now()), ""
	if err := changes.Put(tx, c); err != nil {
		return c, fmt.Errorf("announce the change of site %s: %w", c.SiteID, err)
	}
	return c, nil
}

// PutChange stores the progress of a change, or its failure.
func (s *Service) PutChange(tx store.Tx, c Change) error {
	if err := changes.Put(tx, c); err != nil {
		return fmt.Errorf("store the change of site %s: %w", c.SiteID, err)
	}
	return nil
}

// EndChange ends a change.
func (s *Service) EndChange(tx store.Tx, siteID string) error {
	if err := changes.Delete(tx, store.Key(siteID)); err != nil {
		return fmt.Errorf("end the change of site %s: %w", siteID, err)
	}
	return nil
}

// RunningChangeOf is [RunningChange] in its own transaction.
func (s *Service) RunningChangeOf(ctx context.Context, siteID string) (c *Change, err error) {
	err = s.records.View(ctx, func(tx store.Tx) error {
		c, err = RunningChange(tx, siteID)
		return err
	})
	return c, err
}

// IsArchived reports whether a site is archived; one that does not exist is not.
func IsArchived(tx store.Tx, siteID string) (bool, error) {
	site, err := sites.Get(tx, store.Key(siteID))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read site %s: %w", siteID, err)
	}
	return !site.ArchivedAt.IsZero(), nil
}
