package record

import (
	"context"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"app.sunloop/backend/api"
	limits "app.sunloop/backend/limit"
	"app.sunloop/backend/store"
)

// FilterScope drops what is outside the scope or not asked for. It keeps the
// order of the list.
func FilterScope[T any](list []T, scope api.Scope, q api.ListQuery, owner func(T) (customer, site, asset string)) []T {
	return slices.DeleteFunc(list, func(v T) bool { return !Matches(scope, q)(owner(v)) })
}

// Matches says whether a record of these ids is within the scope and asked for.
func Matches(scope api.Scope, q api.ListQuery) func(customer, site, asset string) bool {
	return func(customer, site, asset string) bool {
		return scope.Allows(customer, site) &&
			(q.CustomerID == "" || q.CustomerID == customer) &&
			(q.SiteID == "" || q.SiteID == site) &&
			(q.AssetID == "" || q.AssetID == asset)
	}
}

// NewestFirst is the query for a table's records, the newest first, by its indexes
// of customers and of time.
func NewestFirst(q api.ListQuery) store.Query {
	switch {
	case q.SiteID != "":
		return store.Query{Prefix: store.Key(q.SiteID), Reverse: true}
	case q.CustomerID != "":
		return store.Query{Index: "customer", Prefix: store.Key(q.CustomerID), Reverse: true}
	}
	return store.Query{Index: "time", Reverse: true}
}

// maxPageBytes bounds the records of one part of a list, as they are stored.
const maxPageBytes = 4 << 20

// List reads a table page by page until the page that was asked for is full
// of records that keep takes, by their number or by their bytes. The prefix of sq narrows beforehand, as far as
// the ids of the request do. A cursor of another list is a 400.
func List[T any](ctx context.Context, storage store.Records, t store.Table[T], sq store.Query, page api.Page, keep func(T) bool) (records []T, next string, err error) {
	limit := page.Limit
	if limit <= 0 {
		limit = api.DefaultLimit
	}
	sq.Cursor = page.Cursor
	err = storage.View(ctx, func(tx store.Tx) error {
		records, next = nil, ""
		size := 0
		for at := sq; ; at.Cursor = next {
			// One record more than is missing is never read, so that the
			// cursor is after the last record that is returned.
			at.Limit, at.Bytes = limit-len(records), maxPageBytes-size
			part, cursor, err := t.List(tx, at)
			if err != nil {
				if page.Cursor != "" {
					return api.InvalidParameter("cursor", "it is not of this list")
				}
				return err
			}
			next = cursor
			for _, v := range part {
				if !keep(v) {
					continue
				}
				n := limits.Size(&v)
				if err := limits.Take(ctx, n); err != nil {
					return err
				}
				size += n
				records = append(records, v)
			}
			if next == "" || len(records) >= limit || size >= maxPageBytes {
				return nil
			}
		}
	})
	return records, next, err
}

// Narrowest is the query for all records of the site, of the customer, or of the
// table: one that leads with the site and has an index by customer.
func Narrowest(q api.ListQuery) store.Query {
	sq := store.Query{}
	switch {
	case q.SiteID != "":
		sq.Prefix = store.Key(q.SiteID)
	case q.CustomerID != "":
		sq.Index, sq.Prefix = "customer", store.Key(q.CustomerID)
	}
	return sq
}

// Page cuts a list that was made in memory, by its number of items and by their bytes. Its cursor
// names the last item by key, and its place for a list that does not have the item any more. A
// cursor of another list is a 400.
func Page[T any](list []T, p api.Page, key func(T) string) ([]T, string, error) {
	from, limit := 0, p.Limit
	if limit <= 0 {
		limit = api.DefaultLimit
	}
	if p.Cursor != "" {
		text, err := base64.RawURLEncoding.DecodeString(p.Cursor)
		place, last, ok := strings.Cut(string(text), " ")
		n, bad := strconv.Atoi(place)
		if err != nil || !ok || bad != nil || n < 0 {
			return nil, "", api.InvalidParameter("cursor", "it is not of this list")
		}
		if from = 1 + slices.IndexFunc(list, func(v T) bool { return key(v) == last }); from == 0 {
			from = min(n, len(list))
		}
	}
	to, size := from, 0
	for ; to < len(list) && to < from+limit; to++ {
		if size += limits.Size(&list[to]); size > maxPageBytes && to > from {
			break
		}
	}
	next := ""
	if to < len(list) {
		next = base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(to) + " " + key(list[to-1])))
	}
	return list[from:to], next, nil
}

// Is reports whether a word is the one that a list was asked for; an empty one was not asked for.
func Is(want, is string) bool { return want == "" || strings.EqualFold(want, is) }

// Rename replaces an id by another one, and reports whether it did.
func Rename(id *string, from, to string) bool {
	if *id != from {
		return false
	}
	*id = to
	return true
}

// RenameIn replaces an id of a list by another one, which is in it once, and reports
// whether it did.
func RenameIn(list *[]string, from, to string) bool {
	if !slices.Contains(*list, from) {
		return false
	}
	out := slices.DeleteFunc(slices.Clone(*list), func(id string) bool { return id == from })
	if !slices.Contains(out, to) {
		out = append(out, to)
	}
	*list = out
	return true
}
