package ops

import (
	"context"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// Note is an activity as it is kept: what the service or a person did.
type Note struct {
	ID          string    `json:"id" limit:"id"`
	CustomerID  string    `json:"customer_id" limit:"id"`
	SiteID      string    `json:"site_id" limit:"id"`
	AssetID     string    `json:"asset_id,omitempty" limit:"id"`
	Phase       string    `json:"phase" limit:"word"`
	Title       string    `json:"title" limit:"name cut"`
	Description string    `json:"description" limit:"line cut"`
	Actor       string    `json:"actor,omitempty" limit:"name cut"`
	At          time.Time `json:"at"`
}

var notes = store.Table[Note]{
	Bucket: "activities",
	Key:    func(n Note) []byte { return store.Key(n.SiteID, n.ID) },
	Indexes: []store.Index[Note]{
		{Name: "customer", Key: func(n Note) []byte { return store.Key(n.CustomerID, n.ID) }},
	},
}

// Note keeps an activity within the transaction of what it tells of.
func (s *Service) Note(tx store.Tx, n Note) error {
	n.At = s.now().UTC()
	n.ID = NewID("act", n.At)
	if err := notes.Put(tx, n); err != nil {
		return fmt.Errorf("store an activity: %w", err)
	}
	return nil
}

// maxActivities bounds an answer: a busy day of a large fleet.
const maxActivities = 1000

// Activities are those of the last 24 hours within the scope, newest first,
// the newest thousand at most, or q.Limit of them.
func (s *Service) Activities(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Activity, error) {
	since := s.now().Add(-24 * time.Hour)
	var all []Note
	err := s.records.View(ctx, func(tx store.Tx) error {
		all = nil
		prefixes, index, err := s.activityLists(tx, scope, q)
		if err != nil {
			return err
		}
		for _, prefix := range prefixes {
			list, _, err := notes.List(tx, store.Query{Index: index, Prefix: prefix, Reverse: true, Limit: maxActivities, Bytes: maxPageBytes})
			if err != nil {
				return fmt.Errorf("list activities: %w", err)
			}
			all = append(all, list...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all = allowed(all, scope, q, func(n Note) (string, string, string) { return n.CustomerID, n.SiteID, n.AssetID })
	slices.SortStableFunc(all, func(a, b Note) int { return b.At.Compare(a.At) })
	out, most := []api.Activity{}, maxActivities
	if q.Limit > 0 {
		most = min(most, q.Limit)
	}
	for _, n := range all {
		if n.At.Before(since) || len(out) == most {
			break
		}
		out = append(out, api.Activity{Phase: n.Phase, Title: n.Title, Description: n.Description, Timestamp: api.At(n.At),
			SiteID: n.SiteID, AssetID: n.AssetID, Actor: n.Actor})
	}
	return out, nil
}

// activityLists are the prefixes to read: the site's, the customer's, or those
// of every site within the scope.
func (s *Service) activityLists(tx store.Tx, scope api.Scope, q api.ListQuery) (prefixes [][]byte, index string, err error) {
	switch {
	case q.SiteID != "":
		return [][]byte{store.Key(q.SiteID)}, "", nil
	case q.CustomerID != "":
		return [][]byte{store.Key(q.CustomerID)}, "customer", nil
	}
	own, err := s.sites(tx, scope, q)
	if err != nil {
		return nil, "", fmt.Errorf("list sites: %w", err)
	}
	for _, site := range own {
		prefixes = append(prefixes, store.Key(site.SiteID))
	}
	return prefixes, "", nil
}
