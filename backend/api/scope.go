package api

import (
	"cmp"
	"slices"
)

// Every in a list of customers or sites means all of them.
const Every = "*"

// Scope is whose data a caller may see and change: a site is within it when
// both its customer and its id are listed. An empty list opens nothing.
type Scope struct {
	Customers []string // ids, or Every
	Sites     []string // ids, or Every
	Actor     string   // who acts, for activities and audit: a username or a key id
	ActorID   string   // user_id or api_key_id
	Role      string
	Writes    bool   // the request changes records, which those of archived sites do not allow
	Origin    string // of an API key that replaced others: the id of the first of them

	OwnUploads bool // of uploads, those alone that the caller sent
}

// Unlimited is the scope of the service itself, for its jobs and for
// commands on the data folder.
func Unlimited(actor string) Scope {
	return Scope{Customers: []string{Every}, Sites: []string{Every}, Actor: actor, Role: RoleAdmin}
}

// Sender names who sends an upload. It stays the same when an API key is replaced.
func (s Scope) Sender() string { return cmp.Or(s.Origin, s.ActorID) }

// Allows says whether the site of the customer is within the scope.
func (s Scope) Allows(customerID, siteID string) bool {
	return s.CanCustomer(customerID) && s.CanSite(siteID)
}

// CanCustomer says whether the customer is listed; the caller may still be
// limited to some of the customer's sites.
func (s Scope) CanCustomer(id string) bool { return listed(s.Customers, id) }

// CanSite reports whether the site key is listed; the site's customer must be
// allowed too. A scope of one customer may list its sites by their ids, see
// [SiteKey].
func (s Scope) CanSite(key string) bool {
	if listed(s.Sites, key) {
		return true
	}
	return len(s.Customers) == 1 && s.Customers[0] != Every && listed(s.Sites, PublicSiteID(key))
}

// Unlimited reports whether the scope covers all customers and all of their
// sites. Only such a caller learns that an id does not exist: to every other,
// an unknown id and another customer's are one error, [ErrForbidden].
func (s Scope) Unlimited() bool {
	return slices.Contains(s.Customers, Every) && slices.Contains(s.Sites, Every)
}

// CanWholeCustomer reports whether the scope covers all sites of the customer.
// What belongs to the customer and not to one site, such as stock, is changed
// by such a caller only.
func (s Scope) CanWholeCustomer(id string) bool { return s.CanCustomer(id) && s.CanSite(Every) }

// Check is Allows as an error: nil or [ErrForbidden].
func (s Scope) Check(customerID, siteID string) error {
	if !s.Allows(customerID, siteID) {
		return ErrForbidden
	}
	return nil
}

func listed(list []string, id string) bool {
	return slices.Contains(list, Every) || (id != "" && slices.Contains(list, id))
}
