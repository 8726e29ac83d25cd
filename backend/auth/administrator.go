package auth

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"app.sunloop/backend/api"
	"app.sunloop/backend/limit"
	"app.sunloop/backend/store"
)

// Administrator manages users and keys within the administrator's own
// permissions: no users of other customers or sites, and no role with more
// permissions than the administrator's.
type Administrator struct {
	*Service
	by api.Scope
}

// As manages in the name of a scope; [api.Unlimited] is that of the operator.
func (s *Service) As(by api.Scope) Administrator { return Administrator{s, by} }

// sees reports whether the permissions given by the customers, sites and role
// are within the administrator's. A user without customers is managed by
// administrators of all customers only.
func (m Administrator) sees(customers, sites []string, role string) bool {
	if len(customers) == 0 {
		customers = []string{api.Every}
	}
	for _, p := range Permissions(role) {
		if !May(m.by.Role, p) {
			return false
		}
	}
	return within(customers, m.by.Customers) && within(everyIfNone(sites), m.by.Sites)
}

// within reports whether all ids are in scope; api.Every requires api.Every.
func within(ids, scope []string) bool {
	if slices.Contains(scope, api.Every) {
		return true
	}
	return !slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(scope, id) })
}

// errBeyond is the refusal to give what the administrator has not.
var errBeyond = api.ErrForbidden.With("reason", "it is more than your own role, customers and sites")

// maxIDs is the longest list of customers or sites, and maxIDRunes the longest
// of these.
const maxIDs, maxIDRunes = 1000, 200

// checkIDs rejects a malformed list of ids.
func checkIDs(field string, ids []string) error {
	if len(ids) > maxIDs {
		return api.InvalidField(field, "more than 1000 ids")
	}
	for _, id := range ids {
		if id == "" || len(id) > maxIDRunes {
			return api.InvalidField(field, "an id is empty or longer than 200 bytes")
		}
	}
	return nil
}

// checkLabel refuses a word for systems outside that would not fit into a token
// or onto a line; nil and empty are none.
func checkLabel(field string, label *string) error {
	if label != nil && (len(*label) > maxIDRunes || strings.ContainsFunc(*label, unicode.IsControl)) {
		return api.InvalidField(field, "it is longer than 200 bytes or holds control characters")
	}
	return nil
}

// cursorTag identifies the list to which a cursor belongs.
func cursorTag[T any]() string { return fmt.Sprintf("%T:", *new(T)) }

// maxPartBytes bounds the records of a page.
const maxPartBytes = 4 << 20

// part is a page of a list that is in the order of its keys, cut by the number of
// records and by their bytes.
func part[T any](list []T, key func(T) string, p api.Page) (records []T, next string, err error) {
	if p.Cursor != "" {
		text, err := base64.RawURLEncoding.DecodeString(p.Cursor)
		after, own := strings.CutPrefix(string(text), cursorTag[T]())
		if err != nil || !own {
			return nil, "", api.InvalidField("cursor", "not a cursor of this list")
		}
		list = slices.DeleteFunc(list, func(v T) bool { return key(v) <= after })
	}
	n, size := 0, 0
	for ; n < len(list) && (p.Limit <= 0 || n < p.Limit); n++ {
		if size += limit.Size(&list[n]); size > maxPartBytes && n > 0 {
			break
		}
	}
	if n < len(list) {
		list = list[:n]
		next = base64.RawURLEncoding.EncodeToString([]byte(cursorTag[T]() + key(list[n-1])))
	}
	return list, next, nil
}

// roomFor refuses one more record of the customers, each of which may have so
// many.
func roomFor[T any](tx store.Tx, t store.Table[T], customers []string, most int, what string, of func(T) []string) error {
	count := map[string]int{}
	err := t.Each(tx, store.Query{}, func(v T) error {
		for _, id := range of(v) {
			count[id]++
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("count the %s: %w", what, err)
	}
	for _, id := range customers {
		if count[id] >= most {
			return api.TooMany("Customer "+id, most, what)
		}
	}
	return nil
}
