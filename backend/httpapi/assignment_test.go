package httpapi_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// decided are fields that the service alone decides, wherever a body names
// them.
var decided = map[string]string{
	"status": "completed", "state": "acknowledged", "processing_status": "completed", "stage": "done",
	"created_at": "2001-01-01T00:00:00Z", "updated_at": "2001-01-01T00:00:00Z", "created_by": "mallory", "id": "mallory", "_id": "mallory",
	"role": api.RoleAdmin, "is_admin": "true", "permissions": "*", "application_permissions": "*", "owner": "mallory", "actor_id": "mallory", "secret": "mallory",
}

// asked are the operations for which one of them is a question.
var asked = map[string]string{"alerts ": "state", "alerts list": "state", "schedule list": "status", "order list": "status", "notifications list": "status",
	"subscriptions deliveries": "status", "subscriptions list": "status", "keys ": "state", "keys list": "state", "ml-models ": "status", "ml-models list": "status", "issues ": "status", "issues list": "status"}

// TestMassAssignment: a body that also names what the service decides is refused if the
// operation has no such field. Otherwise it is answered, and changes what is kept, as if it
// did not.
func TestMassAssignment(t *testing.T) {
	unlimited := func(d *httpapiDeps) { d.KeyRate, d.UserRate = 1_000_000, 1_000_000 }
	worlds := []*world{newWorld(t, unlimited), newWorld(t, unlimited)}
	var own [2]things
	var credentials [2]string
	for i, w := range worlds {
		own[i] = w.foreignThings(ids{ownCustomer, ownSite, ownAsset}, "ours")
		credentials[i] = w.user("admin2", api.RoleAdmin, ownCustomer)
	}
	n, unknown := 0, 0
	for _, route := range api.Routes() {
		for _, op := range route.Operations {
			name := route.Name
			if len(route.Operations) > 1 || op.Action != "" {
				name += " " + op.Action
			}
			r, known := requests[name]
			if !known || r.form || route.Raw != nil || route.Method != http.MethodPost || route.Name == "audit" { // which repeats what was asked; package points refuses unknown fields of raw bodies
				continue
			}
			for _, field := range slices.Sorted(maps.Keys(decided)) {
				value := decided[field]
				places := []string{field}
				if strings.Contains(r.body, `"site":{`) {
					places = append(places, "site."+field)
				}
				for _, place := range places {
					if asked[name] == place {
						continue
					}
					n++
					if fields, name := api.JSONFields(op.Request), place; fields != nil {
						if outer, inner, nested := strings.Cut(place, "."); nested {
							fields, name = api.JSONFields(fields[outer]), inner
						}
						if fields[name] == nil {
							unknown++
							got := worlds[1].named(route, r, own[1], idParameter{name: place, in: "body"}, value, credentials[1], n)
							if got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), `"code":"unknown_field","field":"`+place+`"`) {
								t.Errorf("%s with %s: HTTP %d %.200s", name, place, got.Code, got.Body)
							}
							continue
						}
					}
					for _, w := range worlds {
						w.clock.add(time.Second)
					}
					plain := worlds[0].named(route, r, own[0], idParameter{}, "", credentials[0], n)
					more := worlds[1].named(route, r, own[1], idParameter{name: place, in: "body"}, value, credentials[1], n)
					if a, b := leveled(plain.Body.String()), leveled(more.Body.String()); plain.Code != more.Code || a != b {
						at := differ(a, b)
						t.Errorf("%s with %s: HTTP %d …%.200s\nwithout: HTTP %d …%.200s", name, place, more.Code, b[at:], plain.Code, a[at:])
					}
				}
			}
		}
	}
	if n < 500 || unknown == 0 || unknown == n {
		t.Errorf("%d requests, %d with an unknown field: the table of routes has more", n, unknown)
	}
}
