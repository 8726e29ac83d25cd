package availability

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/activity"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/store"
)

// change is the record of a category that a person assigned. It is never deleted:
// a change that is revoked keeps who revoked it and why.
type change struct {
	ChangeID     string   `json:"change_id" limit:"id"`
	CustomerID   string   `json:"customer_id" limit:"id"`
	SiteID       string   `json:"site_id" limit:"id"`
	AssetIDs     []string `json:"asset_ids,omitempty" limit:"1000 id"` // none: all units of the site
	From         api.Time `json:"from"`
	To           api.Time `json:"to"`
	Category     string   `json:"category" limit:"word"`
	Reason       string   `json:"reason" limit:"text"`
	By           string   `json:"by" limit:"name cut"`
	At           api.Time `json:"at"`
	RevokedAt    api.Time `json:"revoked_at,omitzero"`
	RevokedBy    string   `json:"revoked_by,omitempty" limit:"name cut"`
	RevokeReason string   `json:"revoke_reason,omitempty" limit:"text"`
	Sequence     int64    `json:"sequence"` // of the site's changes: of two that overlap the higher counts
}

// changes are kept in the order in which they were made.
var changes = store.Table[change]{
	Bucket: "availability_changes",
	Key:    func(c change) []byte { return store.Key(c.SiteID, fmt.Sprintf("%012d", c.Sequence)) },
	Indexes: []store.Index[change]{
		{Name: "id", Key: func(c change) []byte { return store.Key(c.SiteID, c.ChangeID) }},
	},
}

func (c change) toAPI() api.AvailabilityChange {
	return api.AvailabilityChange{ChangeID: c.ChangeID, SiteID: c.SiteID, AssetIDs: c.AssetIDs, From: c.From, To: c.To, Category: c.Category, Reason: c.Reason,
		By: c.By, At: c.At, RevokedAt: c.RevokedAt, RevokedBy: c.RevokedBy, RevokeReason: c.RevokeReason}
}

// changesOf returns the changes of a site that count, the oldest first.
func changesOf(tx store.Tx, siteID string) (list []change, err error) {
	err = changes.Each(tx, store.Query{Prefix: store.Key(siteID)}, func(c change) error {
		if c.RevokedAt.IsZero() {
			list = append(list, c)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the availability changes of site %s: %w", siteID, err)
	}
	return list, nil
}

// Set assigns a category to a time of units of a site. Units that the site does
// not have, and a time of more than [api.MaxAvailabilityDays], are a 400.
func (s *Service) Set(ctx context.Context, scope api.Scope, r api.AvailabilityRequest) (api.AvailabilityChange, error) {
	if r.To.Sub(r.From.Time) > api.MaxAvailabilityDays*24*time.Hour {
		return api.AvailabilityChange{}, api.InvalidField("to", fmt.Sprintf("at most %d days after from", api.MaxAvailabilityDays))
	}
	if last := api.At(s.now().AddDate(1, 0, 0)); r.To.After(last.Time) {
		return api.AvailabilityChange{}, api.InvalidField("to", "must be "+last.String()+" or earlier")
	}
	ids := slices.Compact(slices.Sorted(slices.Values(r.AssetIDs)))
	var c change
	err := s.records.Update(ctx, func(tx store.Tx) error {
		at, err := s.sites.SiteIn(tx, scope, r.SiteID)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if _, err := site.AssetIn(tx, at.SiteID, id); err != nil {
				return record.NotFoundAs(err, api.InvalidField("asset_ids", fmt.Sprintf("%q is not a unit of the site", id)), "asset "+id)
			}
		}
		full, err := changes.Full(tx, store.Query{Prefix: store.Key(at.SiteID)}, api.MaxAvailabilityChanges)
		switch {
		case err != nil:
			return err
		case full:
			return api.TooMany("Site "+at.SiteID, api.MaxAvailabilityChanges, "availability changes")
		}
		last, _, err := changes.List(tx, store.Query{Prefix: store.Key(at.SiteID), Reverse: true, Limit: 1})
		if err != nil {
			return fmt.Errorf("read the last availability change of site %s: %w", at.SiteID, err)
		}
		c = change{ChangeID: record.NewID("avc", s.now()), CustomerID: at.CustomerID, SiteID: at.SiteID, AssetIDs: ids, From: r.From, To: r.To, Category: r.Category,
			Reason: strings.TrimSpace(r.Reason), By: scope.Actor, At: api.At(s.now()), Sequence: 1}
		if len(last) > 0 {
			c.Sequence = last[0].Sequence + 1
		}
		if err := changes.Put(tx, c); err != nil {
			return fmt.Errorf("store availability change %s: %w", c.ChangeID, err)
		}
		return s.note(tx, c, "Availability changed", c.Reason, scope.Actor)
	})
	return c.toAPI(), err
}

// Revoke revokes a change. It returns the change before and after.
func (s *Service) Revoke(ctx context.Context, scope api.Scope, siteID, changeID, reason string) (before, after api.AvailabilityChange, err error) {
	err = s.records.Update(ctx, func(tx store.Tx) error {
		at, err := s.sites.SiteIn(tx, scope, siteID)
		if err != nil {
			return err
		}
		list, _, err := changes.List(tx, store.Query{Index: "id", Prefix: store.Key(at.SiteID, changeID), Limit: 1})
		switch {
		case err != nil:
			return fmt.Errorf("read availability change %s: %w", changeID, err)
		case len(list) == 0:
			return api.ErrAvailabilityChangeNotFound
		}
		c := list[0]
		if !c.RevokedAt.IsZero() {
			return api.InvalidTransition("Availability change %s is revoked already", changeID)
		}
		before = c.toAPI()
		c.RevokedAt, c.RevokedBy, c.RevokeReason = api.At(s.now()), scope.Actor, strings.TrimSpace(reason)
		if err := changes.Put(tx, c); err != nil {
			return fmt.Errorf("store availability change %s: %w", c.ChangeID, err)
		}
		after = c.toAPI()
		return s.note(tx, c, "Availability change revoked", c.RevokeReason, scope.Actor)
	})
	return before, after, err
}

func (s *Service) note(tx store.Tx, c change, title, reason, actor string) error {
	asset := ""
	if len(c.AssetIDs) == 1 {
		asset = c.AssetIDs[0]
	}
	return s.activities.Record(tx, activity.Record{CustomerID: c.CustomerID, SiteID: c.SiteID, AssetID: asset, Phase: api.PhaseAct, Title: title,
		Description: strings.ReplaceAll(c.Category, "_", " ") + ": " + reason, Actor: actor})
}

// Changes lists the changes of a site, the newest first, also revoked ones.
func (s *Service) Changes(ctx context.Context, scope api.Scope, siteID string, page api.Page) ([]api.AvailabilityChange, string, error) {
	if _, err := s.sites.Site(ctx, scope, siteID); err != nil {
		return nil, "", err
	}
	list, next, err := record.List(ctx, s.records, changes, store.Query{Prefix: store.Key(siteID), Reverse: true}, page, func(c change) bool {
		return page.Since(c.At.Time) || !c.RevokedAt.IsZero() && page.Since(c.RevokedAt.Time)
	})
	return record.Convert(list, change.toAPI), next, record.Wrap(err, "list the availability changes of site "+siteID)
}

// RenameAsset replaces a unit by another one in the changes of a site.
func RenameAsset(tx store.Tx, siteID, from, to string) error {
	return changes.ChangePrefix(tx, store.Key(siteID), func(c *change) bool { return record.RenameIn(&c.AssetIDs, from, to) })
}
