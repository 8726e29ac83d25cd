package openapi

import (
	"fmt"
	"strings"

	"app.sunloop/backend/api"
)

// Markdown is the table of all routes, for docs/api.md.
func Markdown() string {
	var b strings.Builder
	for _, host := range hosts {
		fmt.Fprintf(&b, "\n### %s\n\n| Route | What it does | Credential and permission |\n|---|---|---|\n", host.Description)
		for _, r := range api.Routes() {
			if string(r.Host) == host.Name {
				fmt.Fprintf(&b, "| `%s %s` | %s | %s |\n", r.Method, r.Path, r.Summary, credentialWords(r))
			}
		}
	}
	b.WriteByte('\n')
	return b.String()
}

// credentialWords name the credential or the permission that a route requires, by action where
// these differ.
func credentialWords(r *api.Route) string {
	switch r.Credential {
	case api.CredentialNone:
		return "none"
	case api.CredentialUser:
		return "a user's token"
	}
	actions := map[string][]string{}
	var order []string
	for _, o := range r.Operations {
		permission := permissionWords(o)
		if actions[permission] == nil {
			order = append(order, permission)
		}
		name := o.Action
		if name == "" {
			name = "no action"
		}
		actions[permission] = append(actions[permission], name)
	}
	if len(order) == 1 {
		return order[0]
	}
	var parts []string
	for _, p := range order {
		parts = append(parts, fmt.Sprintf("%s: %s", p, strings.Join(actions[p], ", ")))
	}
	return strings.Join(parts, "; ")
}

// permissionWords name the permission that an operation requires.
func permissionWords(o *api.Operation) string {
	if o.Own == api.PermissionNone {
		return string(o.Permission)
	}
	return string(o.Permission) + " or " + string(o.Own)
}
