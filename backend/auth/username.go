package auth

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"app.sunloop/backend/api"
	"app.sunloop/backend/limit"
	"app.sunloop/backend/names"
	"app.sunloop/backend/store"
	"golang.org/x/text/unicode/norm"
)

// MaxUsernameRunes is the maximum length of a user name in characters, without @
// and the id of a customer at its end.
const MaxUsernameRunes = 64

// A user name may end in @ and the id of a customer: ana@acme. Such a name is
// reserved for users of that customer, and administrators who are limited to
// customers create names of this form only. The conflict with an existing name
// therefore reveals only users of their own customers to them.

// folded returns a user name in the form that is compared: without case.
func folded(name string) string { return strings.ToLower(norm.NFC.String(name)) }

// cleanUsername returns the name in the form that is stored and shown. It returns
// an error if the name is too long or has characters that are not accepted. The id
// of a customer of the user at the end of the name may have any printable
// character.
func cleanUsername(name string, customers []string) (string, error) {
	name = norm.NFC.String(name)
	local := localPart(name, customers)
	if n := utf8.RuneCountInString(local); n == 0 || n > MaxUsernameRunes || len(name) > 4*MaxUsernameRunes || utf8.RuneCountInString(name) > limit.Kinds["name"] {
		return "", api.InvalidField("username", fmt.Sprintf("1 to %d characters", MaxUsernameRunes))
	}
	if strings.ContainsFunc(name[len(local):], func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "", api.InvalidField("username", "it holds a character that cannot be printed")
	}
	if strings.ContainsFunc(local, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("._-@+", r)
	}) {
		return "", api.InvalidField("username", "letters, digits and . _ - @ + only")
	}
	return name, nil
}

// localPart returns the part of a name before @ and the id of one of the
// customers, or the whole name if it does not end in such an id. If several ids
// match, it returns the part before the longest one.
func localPart(name string, customers []string) string {
	local := name
	for _, id := range customers {
		if before, ok := strings.CutSuffix(name, "@"+norm.NFC.String(id)); ok && id != api.Every && before != "" && len(before) < len(local) {
			local = before
		}
	}
	return local
}

// hasOwnSuffix reports whether a name ends in @ and the id of one of the customers.
func hasOwnSuffix(name string, customers []string) bool { return localPart(name, customers) != name }

// isLimited reports whether the administrator is limited to customers.
func (m Administrator) isLimited() bool { return !slices.Contains(m.by.Customers, api.Every) }

// checkOwnName returns an error if an administrator who is limited to customers
// may not give the name to a user of the customers.
func (m Administrator) checkOwnName(name string, customers []string) error {
	if !m.isLimited() || hasOwnSuffix(norm.NFC.String(name), customers) {
		return nil
	}
	id := "CUSTOMER"
	if len(customers) > 0 {
		id = customers[0]
	}
	return api.InvalidField("username", fmt.Sprintf("it must end in @ and the id of a customer of the user, as in ana@%s", id))
}

// canCompare returns the accounts whose names the name of a new user of the
// customers is compared with. If the administrator is limited to customers, these
// are the accounts that the administrator can manage and those whose names end in
// the id of one of the customers: a conflict reveals no other name.
func (m Administrator) canCompare(customers []string) func(account) bool {
	return func(a account) bool {
		return !m.isLimited() || m.sees(a.Customers, a.Sites, a.Role) || hasOwnSuffix(norm.NFC.String(a.Username), customers)
	}
}

// checkUniqueName returns a conflict if the name is taken, or looks like the name
// of an account for which canCompare returns true.
func checkUniqueName(tx store.Tx, name string, canCompare func(account) bool) error {
	key, look := folded(name), names.SkeletonOf(name)
	taken, similar := false, false
	err := accounts.Each(tx, store.Query{}, func(a account) error {
		switch {
		case folded(a.Username) == key:
			taken = true
		case !similar && canCompare(a):
			similar = names.SkeletonOf(a.Username).IsConfusable(look)
		}
		return nil
	})
	switch {
	case err != nil:
		return fmt.Errorf("compare user names: %w", err)
	case taken:
		return api.AlreadyExists("The username %s is taken", name)
	case similar:
		return api.AlreadyExists("The username %s looks like another one that is taken", name)
	}
	return nil
}

// checkReservedName returns an error if the name ends in @ and the id of a customer
// that the user does not belong to, or in a text that looks like that. Ids are
// compared without case, as names are. The name of a user may end in an id of the
// user's customers even if it looks like the id of another customer.
func checkReservedName(tx store.Tx, name string, customers []string) error {
	if !strings.Contains(name, "@") {
		return nil
	}
	key, look, own := folded(name), names.SkeletonOf(name), hasOwnSuffix(name, customers)
	reserved, similar := false, false
	err := eachCustomer(tx, func(id string) {
		if slices.Contains(customers, id) {
			return
		}
		reserved = reserved || strings.HasSuffix(key, "@"+folded(id))
		similar = similar || !own && look.HasConfusableSuffix(names.SkeletonOf("@"+id))
	})
	switch {
	case err != nil:
		return fmt.Errorf("look up the customers: %w", err)
	case reserved:
		return api.InvalidField("username", "it ends in @ and the id of a customer that the user does not belong to")
	case similar:
		return api.InvalidField("username", "it ends in @ and a text that looks like the id of a customer that the user does not belong to")
	}
	return nil
}

// eachCustomer calls f once for the id of each customer of users and API keys.
func eachCustomer(tx store.Tx, f func(id string)) error {
	seen := map[string]bool{api.Every: true}
	visit := func(ids []string) error {
		for _, id := range ids {
			if !seen[id] {
				seen[id] = true
				f(id)
			}
		}
		return nil
	}
	if err := accounts.Each(tx, store.Query{}, func(a account) error { return visit(a.Customers) }); err != nil {
		return err
	}
	return apiKeys.Each(tx, store.Query{}, func(k apiKey) error { return visit(k.Customers) })
}

// checkNewCustomers returns an error if an id of a customer is not accepted because
// of its look, unless a user, an API key or a site of the customer exists.
func (s *Service) checkNewCustomers(tx store.Tx, ids []string) error {
	for _, id := range ids {
		reason := names.CheckID(id)
		if reason == "" || id == api.Every {
			continue
		}
		exists := false
		err := eachCustomer(tx, func(other string) { exists = exists || other == id })
		if err == nil && !exists && s.hasSites != nil {
			exists, err = s.hasSites(tx, id)
		}
		switch {
		case err != nil:
			return fmt.Errorf("look up customer %s: %w", id, err)
		case !exists:
			return api.InvalidField("customer_ids", reason)
		}
	}
	return nil
}

// keepsReservedName returns an error if a user would lose the customer whose id is
// at the end of the user's name.
func keepsReservedName(name string, before, after []string) error {
	if hasOwnSuffix(name, before) && !hasOwnSuffix(name, after) {
		return api.InvalidField("customer_ids", "the username ends in @ and the id of a customer that is missing")
	}
	return nil
}
