package ops

import (
	"context"
	"errors"
	"fmt"
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

// ListActivities lists the activities of the last 24 hours within the scope, newest
// first. Of each site or customer it reads the newest ones until a page is full.
// sites are those to read where the query names neither a site nor a customer.
func (s *Service) ListActivities(ctx context.Context, scope api.Scope, q api.ListQuery, sites []string) (list []api.Activity, next string, err error) {
	since := s.now().Add(-24 * time.Hour)
	c, err := newChoice(notes.Bucket, q.Page)
	if err != nil {
		return nil, "", err
	}
	lists := []store.Query{}
	switch {
	case q.SiteID != "":
		lists = append(lists, store.Query{Prefix: store.Key(q.SiteID), Reverse: true})
	case q.CustomerID != "":
		lists = append(lists, store.Query{Index: "customer", Prefix: store.Key(q.CustomerID), Reverse: true})
	default:
		for _, id := range sites {
			lists = append(lists, store.Query{Prefix: store.Key(id), Reverse: true})
		}
	}
	list = []api.Activity{}
	err = s.records.View(ctx, func(tx store.Tx) error {
		c.rows = nil
		for _, one := range lists {
			if err := chooseActivities(ctx, tx, c, one, since, func(n *Note) bool {
				return asked(scope, q)(n.CustomerID, n.SiteID, n.AssetID)
			}); err != nil {
				return fmt.Errorf("list activities: %w", err)
			}
		}
		list = list[:0]
		var page []Note
		if page, next, err = chosen(ctx, tx, notes, c); err != nil {
			return err
		}
		for _, n := range page {
			list = append(list, n.toAPI())
		}
		return nil
	})
	return list, next, err
}

func (n Note) toAPI() api.Activity {
	return api.Activity{Phase: n.Phase, Title: n.Title, Description: n.Description, Timestamp: api.At(n.At), SiteID: n.SiteID, AssetID: n.AssetID, Actor: n.Actor}
}

// errEnough ends the reading of records of which no further one is required.
var errEnough = errors.New("no further record is required")

// chooseActivities adds the activities of a query, newest first, that keep accepts
// and that are not before since. It ends when the choice has a page of newer ones.
func chooseActivities(ctx context.Context, tx store.Tx, c *choice, q store.Query, since time.Time, keep func(*Note) bool) error {
	// Keys sort by milliseconds, and times are finer.
	until := since.Add(-time.Millisecond)
	chosen := 0
	err := notes.Each(tx, q, func(n Note) error {
		if n.At.Before(until) {
			return errEnough
		}
		if n.At.Before(since) || !keep(&n) {
			return ctx.Err()
		}
		r := row{sortKey{}.newestFirst(n.At), notes.Key(n)}
		if c.after == nil || r.compare(*c.after) > 0 {
			if chosen++; chosen == c.limit+1 {
				until = n.At.Add(-time.Millisecond)
			}
		}
		c.add(r)
		return ctx.Err()
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}
