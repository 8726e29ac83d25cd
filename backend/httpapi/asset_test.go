package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"app.sunloop/backend/api"
)

// TestAssetsAddedInTheFormOfTheSpecification: a unit without a site belongs to the site
// that the credential or the location determines, and unknown ids create nothing.
func TestAssetsAddedInTheFormOfTheSpecification(t *testing.T) {
	w := newWorld(t, nil)
	add := func(key, id, more string) (int, string) {
		r := w.as(key, http.MethodPost, api.PathAssets, fmt.Sprintf(`{"action":"add","asset_id":%q,"name":"n","type":"solar_inverter","capacity_kw":50%s}`, id, more))
		return r.Code, r.Body.String()
	}
	read := func(path, body string, v any) {
		if r := w.as("admin", http.MethodPost, path, body); r.Code != http.StatusOK || json.Unmarshal(r.Body.Bytes(), v) != nil {
			t.Fatalf("%s %s: %d %s", path, body, r.Code, r.Body)
		}
	}
	siteOf := func(id string) string {
		var a api.AssetsResponse
		read(api.PathAssets, fmt.Sprintf(`{"action":"get","asset_id":%q}`, id), &a)
		return a.Asset.SiteID
	}
	sites := func() int {
		var a api.SitesResponse
		read(api.PathSites, `{"action":"list"}`, &a)
		return a.Count
	}
	before := sites()
	for _, c := range []struct {
		name, key, more string
		status          int
		want            string // the site, or part of the error
	}{
		{"a key of one site", "own", `,"location":"Roof"`, 200, ownSite},
		{"a key of one customer, by the location", "customer", `,"location":"` + ownSite + `"`, 200, ownSite},
		{"a key of everything, by the location", "admin", `,"location":"` + ownSite + `"`, 200, ownSite},
		{"a key of everything, nothing names the site", "admin", `,"location":"Roof"`, 400, "Missing required field: customer_id"},
		{"a site that does not exist", "admin", `,"location":"Roof","site_id":"Nowhere"`, 404, "Site not found"},
		{"a site that the customer does not have", "admin", `,"location":"Roof","site_id":"Nowhere","customer_id":"` + ownCustomer + `"`, 404, "Site not found"},
		{"a customer that does not exist", "admin", `,"location":"Roof","customer_id":"no-customer"`, 404, "Customer not found"},
		{"a site and a customer that do not exist", "admin", `,"location":"Roof","customer_id":"no-customer","site_id":"Nowhere"`, 404, "Site not found"},
		{"a site that the caller's customer does not have", "customer", `,"location":"Roof","site_id":"Nowhere"`, 404, "Site not found"},
		{"another customer's site", "customer", `,"location":"Roof","site_id":"Elsewhere"`, 404, "Site not found"},
		{"a site that the key does not cover", "own", `,"location":"Roof","site_id":"Nowhere"`, 403, "Access denied"},
	} {
		id := "NEW " + strings.ReplaceAll(c.name, ",", "")
		status, body := add(c.key, id, c.more)
		if status != c.status || status != 200 && !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s", c.name, status, body)
		}
		if c.status == 200 && siteOf(id) != c.want {
			t.Errorf("%s: the unit belongs to site %q, want %q", c.name, siteOf(id), c.want)
		}
		if n := sites(); n != before {
			t.Fatalf("%s: %d sites, want %d", c.name, n, before)
		}
	}
	if status, body := add("customer", "NEW elsewhere", `,"location":"Durban harbour"`); status != 200 || sites() != before+1 || siteOf("NEW elsewhere") != ownCustomer+" Durban harbour" {
		t.Errorf("a new location of the customer: %d %s, site %q", status, body, siteOf("NEW elsewhere"))
	}
}
