package auth

import (
	"slices"

	"app.sunloop/backend/api"
)

// roles is the whole table of who may do what. A role that is not in it may do
// nothing.
var roles = []struct {
	id, name string
	may      []api.Permission
}{
	{api.RoleAdmin, "Administrator", []api.Permission{
		api.PermissionRead, api.PermissionUpload, api.PermissionDetect, api.PermissionAssets, api.PermissionSites, api.PermissionModels, api.PermissionOrders,
		api.PermissionTelemetry, api.PermissionUploadOwn, api.PermissionUsers, api.PermissionAudit, api.PermissionLog}},
	{api.RoleOperator, "Operator", []api.Permission{
		api.PermissionRead, api.PermissionUpload, api.PermissionDetect, api.PermissionAssets, api.PermissionSites, api.PermissionModels, api.PermissionOrders,
		api.PermissionTelemetry, api.PermissionUploadOwn}},
	{api.RoleTechnician, "Technician", []api.Permission{
		api.PermissionRead, api.PermissionDetect, api.PermissionOrders}},
	{api.RoleAnalyst, "Analyst", []api.Permission{
		api.PermissionRead}},
	{api.RoleCollector, "Collector", []api.Permission{
		api.PermissionTelemetry, api.PermissionUploadOwn}},
}

// Roles are the ids of the roles, most powerful first.
func Roles() []string {
	var ids []string
	for _, r := range roles {
		ids = append(ids, r.id)
	}
	return ids
}

// UserRoles are the ids of the roles that a user may have, most powerful first. The
// others are those of API keys only.
func UserRoles() []string {
	return slices.DeleteFunc(Roles(), func(id string) bool { return id == api.RoleCollector })
}

// RoleName returns the display name of a role, empty if the role is unknown.
func RoleName(role string) string {
	for _, r := range roles {
		if r.id == role {
			return r.name
		}
	}
	return ""
}

// Permissions of a role.
func Permissions(role string) []api.Permission {
	for _, r := range roles {
		if r.id == role {
			return slices.Clone(r.may)
		}
	}
	return nil
}

// May reports whether a role has a permission. All roles have
// [api.PermissionNone].
func May(role string, p api.Permission) bool {
	if p == api.PermissionNone {
		return true
	}
	for _, r := range roles {
		if r.id == role {
			return slices.Contains(r.may, p)
		}
	}
	return false
}

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
	Rate      Rate     // of a key
	Origin    string   // of a key that replaced others: the id of the first of them
}

// Scope is whose data the principal may see.
func (p Principal) Scope() api.Scope {
	return api.Scope{Customers: p.Customers, Sites: p.Sites, Actor: p.Name, ActorID: p.ID, Role: p.Role, Origin: p.Origin}
}

// CanSite reports whether the principal has access to the site id.
func (p Principal) CanSite(id string) bool { return p.Scope().CanSite(id) }

// CanCustomer reports whether the principal has access to the customer.
func (p Principal) CanCustomer(id string) bool { return p.Scope().CanCustomer(id) }

// May reports whether the principal's role has the permission.
func (p Principal) May(permission api.Permission) bool { return May(p.Role, permission) }
