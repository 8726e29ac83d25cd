// Package activity keeps what the service and people did, for 24 hours of reading.
// Other packages write into it within the transaction of what they did.
package activity

import (
	"context"
	"errors"
	"fmt"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
)

// Service keeps activities. It is safe for concurrent use; its state is in the store.
type Service struct {
	records store.Records
	now     func() time.Time
}

// New returns a Service over a store. now is the plant's clock.
func New(records store.Records, now func() time.Time) *Service {
	return &Service{records: records, now: now}
}

// Tables returns the tables of the package, for a check of the data.
func Tables() []store.Checked { return []store.Checked{activities} }

// Record is an activity as it is kept: what the service or a person did.
type Record struct {
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

var activities = store.Table[Record]{
	Bucket: "activities",
	Key:    func(n Record) []byte { return store.Key(n.SiteID, n.ID) },
	Indexes: []store.Index[Record]{
		{Name: "customer", Key: func(n Record) []byte { return store.Key(n.CustomerID, n.ID) }},
	},
}

// Record stores an activity within the transaction of the change that it
// describes.
func (s *Service) Record(tx store.Tx, n Record) error {
	n.At = s.now().UTC()
	n.ID = record.NewID("act", n.At)
	if err := activities.Put(tx, n); err != nil {
		return fmt.Errorf("store an activity: %w", err)
	}
	return nil
}

// List lists the activities of the last 24 hours within the scope, newest
// first. Of each site or customer it reads the newest ones until a page is full.
// sites are those to read where the query names neither a site nor a customer.
func (s *Service) List(ctx context.Context, scope api.Scope, q api.ListQuery, sites []string) (list []api.Activity, next string, err error) {
	since := s.now().Add(-24 * time.Hour)
	c, err := record.NewChoice(activities.Bucket, q.Page)
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
		c.Rows = nil
		for i, one := range lists {
			if err := chooseActivities(ctx, tx, c, one, i, since, func(n *Record) bool {
				return record.Matches(scope, q)(n.CustomerID, n.SiteID, n.AssetID) && q.Since(n.At)
			}); err != nil {
				return fmt.Errorf("list activities: %w", err)
			}
		}
		list = list[:0]
		var page []Record
		if page, next, err = record.ReadPage(ctx, tx, activities, c); err != nil {
			return err
		}
		for _, n := range page {
			list = append(list, n.toAPI())
		}
		return nil
	})
	return list, next, err
}

func (n Record) toAPI() api.Activity {
	return api.Activity{Phase: n.Phase, Title: n.Title, Description: n.Description, Timestamp: api.At(n.At), SiteID: n.SiteID, AssetID: n.AssetID, Actor: n.Actor}
}

// errEnough ends the reading of records of which no further one is required.
var errEnough = errors.New("no further record is required")

// chooseActivities adds the activities of a query, newest first, that keep accepts
// and that are not before since. Those of one time are in the order of their lists,
// the newest id first. It ends when the choice has a page of newer ones.
func chooseActivities(ctx context.Context, tx store.Tx, c *record.Choice, q store.Query, list int, since time.Time, keep func(*Record) bool) error {
	// Keys sort by milliseconds, and times are finer.
	until := since.Add(-time.Millisecond)
	chosen := 0
	err := activities.Each(tx, q, func(n Record) error {
		if n.At.Before(until) {
			return errEnough
		}
		if n.At.Before(since) || !keep(&n) {
			return ctx.Err()
		}
		r := record.Row{Order: record.SortKey{}.NewestFirst(n.At).Number(int64(list)).ReverseID(n.ID), Key: activities.Key(n)}
		if c.After == nil || r.Compare(*c.After) > 0 {
			if chosen++; chosen == c.Limit+1 {
				until = n.At.Add(-time.Millisecond)
			}
		}
		c.Add(r)
		return ctx.Err()
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// Prune deletes activities from before a time.
func Prune(tx store.Tx, before time.Time) (int, error) {
	return record.Prune(tx, activities, func(_ string, made time.Time) bool { return made.Before(before) })
}
