package auth

import (
	"fmt"
	"slices"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"golang.org/x/text/unicode/norm"
)

// A user name may end in @ and the id of a customer: ana@acme. Such a name is
// reserved for users of that customer, and administrators who are limited to
// customers give names of this form only. The refusal of a name that is taken
// therefore tells such an administrator only about users of the own customers.

// localPart is what stands before @ and the id of one of the customers at the end
// of a name, or the whole name if it has no such end. Of several ids the longest
// counts.
func localPart(name string, customers []string) string {
	local := name
	for _, id := range customers {
		if before, ok := strings.CutSuffix(name, "@"+norm.NFC.String(id)); ok && id != api.Every && before != "" && len(before) < len(local) {
			local = before
		}
	}
	return local
}

// isLimited reports whether the administrator is limited to customers.
func (m Administrator) isLimited() bool { return !slices.Contains(m.by.Customers, api.Every) }

// checkOwnName returns a refusal of a name that an administrator who is limited to
// customers may not give to a user of the customers.
func (m Administrator) checkOwnName(name string, customers []string) error {
	name = norm.NFC.String(name)
	if !m.isLimited() || localPart(name, customers) != name {
		return nil
	}
	id := "CUSTOMER"
	if len(customers) > 0 {
		id = customers[0]
	}
	return api.InvalidField("username", fmt.Sprintf("it must end in @ and the id of a customer of the user, as in ana@%s", id))
}

// checkReservedName refuses a name that ends in @ and the id of a customer which
// the user does not belong to. Ids are compared as names are, without case: names
// that differ only in it are the same name.
func checkReservedName(tx store.Tx, name string, customers []string) error {
	end := folded(name)
	reserved := false
	look := func(ids []string) {
		for _, id := range ids {
			reserved = reserved || id != api.Every && strings.HasSuffix(end, "@"+folded(id)) && !slices.Contains(customers, id)
		}
	}
	if !strings.Contains(name, "@") {
		return nil
	}
	err := accounts.Each(tx, store.Query{}, func(a account) error { look(a.Customers); return nil })
	if err == nil {
		err = apiKeys.Each(tx, store.Query{}, func(k apiKey) error { look(k.Customers); return nil })
	}
	switch {
	case err != nil:
		return fmt.Errorf("look up the customers: %w", err)
	case reserved:
		return api.InvalidField("username", "it ends in @ and the id of a customer that the user does not belong to")
	}
	return nil
}

// keepsReservedName refuses to take a user out of the customer at the end of the
// user's name.
func keepsReservedName(name string, before, after []string) error {
	if localPart(name, before) != name && localPart(name, after) == name {
		return api.InvalidField("customer_ids", "the username ends in @ and the id of a customer that is missing")
	}
	return nil
}
