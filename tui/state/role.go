package state

import "app.sunloop/backend/api"

// roles are the ids of the roles with their names, the one that may least
// first.
var roles = []struct{ id, name string }{
	{api.RoleAnalyst, "Analyst"}, {api.RoleTechnician, "Technician"}, {api.RoleOperator, "Operator"}, {api.RoleAdmin, "Administrator"},
}

// Roles are the ids of all roles, the one that may least first.
func Roles() []string {
	ids := make([]string, len(roles))
	for i, r := range roles {
		ids[i] = r.id
	}
	return ids
}

// RoleName is a role's name, the id of one that is not known.
func RoleName(id string) string {
	for _, r := range roles {
		if r.id == id {
			return r.name
		}
	}
	return id
}
