package ops

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/oklog/ulid/v2"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// Service answers for the records of all customers. It is safe for concurrent
// use; all of its state is in the store.
type Service struct {
	records   store.Records
	telemetry store.Telemetry
	now       func() time.Time
}

// New makes a Service over a store. now is the plant's clock: what the
// telemetry's stamps are compared with.
func New(records store.Records, telemetry store.Telemetry, now func() time.Time) *Service {
	return &Service{records: records, telemetry: telemetry, now: now}
}

// NewID makes an id: the kind's prefix, then a ULID, so that ids of one kind
// sort by the time they were made.
func NewID(prefix string, at time.Time) string {
	return prefix + "_" + ulid.MustNew(ulid.Timestamp(at), rand.Reader).String()
}

func (s *Service) id(prefix string) string { return NewID(prefix, s.now()) }

// allowed drops what is outside the scope or not asked for. It keeps the
// order of the list.
func allowed[T any](list []T, scope api.Scope, q api.ListQuery, owner func(T) (customer, site, asset string)) []T {
	return slices.DeleteFunc(list, func(v T) bool { return !asked(scope, q)(owner(v)) })
}

// asked says whether a record of these ids is within the scope and asked for.
func asked(scope api.Scope, q api.ListQuery) func(customer, site, asset string) bool {
	return func(customer, site, asset string) bool {
		return scope.Allows(customer, site) &&
			(q.CustomerID == "" || q.CustomerID == customer) &&
			(q.SiteID == "" || q.SiteID == site) &&
			(q.AssetID == "" || q.AssetID == asset)
	}
}

// newest is the query for a table's records, the newest first, by its indexes
// of customers and of time.
func newest(q api.ListQuery) store.Query {
	switch {
	case q.SiteID != "":
		return store.Query{Prefix: store.Key(q.SiteID), Reverse: true}
	case q.CustomerID != "":
		return store.Query{Index: "customer", Prefix: store.Key(q.CustomerID), Reverse: true}
	}
	return store.Query{Index: "time", Reverse: true}
}

// list is [List] of the records within the scope that q asks for.
func list[T any](ctx context.Context, s *Service, t store.Table[T], sq store.Query, scope api.Scope, q api.ListQuery,
	owner func(T) (customer, site, asset string)) (records []T, next string, err error) {
	return List(ctx, s.records, t, sq, q.Page, func(v T) bool { return asked(scope, q)(owner(v)) })
}

// List reads a table page by page until the page that was asked for is full
// of records that keep takes. The prefix of sq narrows beforehand, as far as
// the ids of the request do. A cursor of another list is a 400.
func List[T any](ctx context.Context, home store.Records, t store.Table[T], sq store.Query, page api.Page, keep func(T) bool) (records []T, next string, err error) {
	limit := page.Limit
	if limit <= 0 {
		limit = api.DefaultLimit
	}
	sq.Cursor = page.Cursor
	err = home.View(ctx, func(tx store.Tx) error {
		records, next = nil, ""
		for at := sq; ; at.Cursor = next {
			// One record more than is missing is never read, so that the
			// cursor stands behind the last record that is handed out.
			at.Limit = limit - len(records)
			part, cursor, err := t.List(tx, at)
			if err != nil {
				if page.Cursor != "" {
					return api.InvalidParameter("cursor", "it is not of this list")
				}
				return err
			}
			next = cursor
			for _, v := range part {
				if keep(v) {
					records = append(records, v)
				}
			}
			if next == "" || len(records) >= limit {
				return nil
			}
		}
	})
	return records, next, err
}

// every is all records of the query's site, of its customer, or of the table,
// for lists that are sorted in memory. The table leads with the site and has
// an index by customer; what is within a scope is for [allowed] to say.
func every[T any](ctx context.Context, s *Service, t store.Table[T], q api.ListQuery) (all []T, err error) {
	sq := store.Query{}
	switch {
	case q.SiteID != "":
		sq.Prefix = store.Key(q.SiteID)
	case q.CustomerID != "":
		sq.Index, sq.Prefix = "customer", store.Key(q.CustomerID)
	}
	err = s.records.View(ctx, func(tx store.Tx) error {
		all, _, err = t.List(tx, sq)
		return err
	})
	return all, err
}

// page is [Page] of a query.
func page[T any](list []T, q api.ListQuery) ([]T, string, error) { return Page(list, q.Page) }

// Page cuts a list that was sorted in memory; its cursor is a count. A cursor
// of another list is a 400.
func Page[T any](list []T, p api.Page) ([]T, string, error) {
	from := 0
	if p.Cursor != "" {
		n, err := strconv.Atoi(p.Cursor)
		if err != nil || n < 0 {
			return nil, "", api.InvalidParameter("cursor", "it is not of this list")
		}
		from = min(n, len(list))
	}
	limit := p.Limit
	if limit <= 0 {
		limit = api.DefaultLimit
	}
	to := min(from+limit, len(list))
	next := ""
	if to < len(list) {
		next = strconv.Itoa(to)
	}
	return list[from:to], next, nil
}

// found turns the store's absence into the contract's refusal.
func found(err error, refusal *api.Error, what string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrNotFound):
		return refusal
	default:
		return fmt.Errorf("read %s: %w", what, err)
	}
}
