package auth

import "app.sunloop/backend/api"

// Kinds of principal.
const (
	KindUser = "user"
	KindKey  = "key"
)

// Principal is who calls: a signed-in user or an API key.
type Principal struct {
	Kind      string // KindUser or KindKey
	ID        string // user_id or api_key_id
	Name      string // username, or the key's name
	Role      string
	Customers []string // ids, or api.Every
	Sites     []string // ids, or api.Every
}

// Scope is whose data the principal may see.
func (p Principal) Scope() api.Scope {
	return api.Scope{Customers: p.Customers, Sites: p.Sites, Actor: p.Name, ActorID: p.ID, Role: p.Role}
}

// CanSite reports whether the principal has access to the site id.
func (p Principal) CanSite(id string) bool { return p.Scope().CanSite(id) }

// CanCustomer reports whether the principal has access to the customer.
func (p Principal) CanCustomer(id string) bool { return p.Scope().CanCustomer(id) }

// May reports whether the principal's role has the permission.
func (p Principal) May(permission api.Permission) bool { return May(p.Role, permission) }
