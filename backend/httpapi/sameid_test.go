package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
)

// shareID makes the world's own site, with the same unit, a site of the other
// customer, too.
func shareID(t *testing.T, w *world) {
	t.Helper()
	for _, body := range []struct{ path, body string }{
		{api.PathSites, `{"action":"set","site":{"site_id":"Sibaya","name":"Their Sibaya","timezone":"Europe/Berlin","capacity_kw":70}}`},
		{api.PathAssets, `{"action":"add","asset_id":"` + ownAsset + `","name":"Their inverter","type":"inverter","capacity_kw":70,"location":"l","site_id":"Sibaya"}`},
	} {
		if r := w.as("theirs", http.MethodPost, body.path, body.body); r.Code != http.StatusOK {
			t.Fatalf("%s: HTTP %d %s", body.path, r.Code, r.Body)
		}
	}
}

func newTwins(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1_000_000 })
	w.key("theirs", auth.NewKey{Role: api.RoleAdmin, Customers: []string{foreignCustomer}})
	w.key("both", auth.NewKey{Role: api.RoleAdmin, Customers: []string{ownCustomer, foreignCustomer}})
	shareID(t, w)
	return w
}

// TestSiteIDsBelongToCustomers gives two customers a site of the same id with a
// unit of the same id, and asks for both side by side.
func TestSiteIDsBelongToCustomers(t *testing.T) {
	w := newTwins(t)
	day := time.Date(2025, 9, 30, 22, 0, 0, 0, time.UTC)
	key := api.SiteKey(foreignCustomer, ownSite)
	w.measure(ownSite, ownAsset, "Africa/Johannesburg", day, 10)
	w.measure(key, ownAsset, "Europe/Berlin", day, 4)
	text := func(who, method, url, body string) string {
		t.Helper()
		r := w.as(who, method, url, body)
		if r.Code != http.StatusOK {
			t.Fatalf("%s %s as %s: HTTP %d %s", url, body, who, r.Code, r.Body)
		}
		if strings.Contains(r.Body.String(), `\u001f`) {
			t.Errorf("%s %s as %s shows a key: %s", url, body, who, r.Body)
		}
		return r.Body.String()
	}
	const get = `{"action":"get","site_id":"Sibaya"`
	for who, name := range map[string]string{"customer": `"name":"Sibaya"`, "own": `"name":"Sibaya"`, "theirs": `"name":"Their Sibaya"`} {
		if s := text(who, http.MethodPost, api.PathSites, get+"}"); !strings.Contains(s, name) || !strings.Contains(s, `"site_id":"Sibaya"`) || !strings.Contains(s, `"asset_count":1`) {
			t.Errorf("%s has %s", who, s)
		}
	}
	records := "/telemetry/inverter?asset_id=" + ownAsset + "&site_id=Sibaya&start=2025-09-30&end=2025-10-02"
	for who, n := range map[string]int{"customer": 10, "theirs": 4} {
		s := text(who, http.MethodGet, records, "")
		if got := strings.Count(s, `"site_id":"Sibaya"`); got != n {
			t.Errorf("%s reads %d records instead of %d: %s", who, got, n, s)
		}
		s = text(who, http.MethodGet, "/telemetry/site?site_id=Sibaya&start=2025-09-30&end=2025-10-02", "")
		if got := strings.Count(s, `"timestamp"`); got != n {
			t.Errorf("%s reads %d records of the site instead of %d", who, got, n)
		}
		text(who, http.MethodGet, "/telemetry/data-period?site_id=Sibaya&asset_id="+ownAsset, "")
		text(who, http.MethodGet, "/telemetry/latest?site_id=Sibaya", "")
		text(who, http.MethodGet, "/sites/Sibaya/kpis?from=2025-09-30&to=2025-10-02", "")
		text(who, http.MethodPost, api.PathTerminalTelemetry, `{"action":"site-summary","site_id":"Sibaya"}`)
	}
	if s := text("theirs", http.MethodPost, api.PathAssets, `{"action":"get","asset_id":"`+ownAsset+`"}`); !strings.Contains(s, "Their inverter") {
		t.Errorf("their unit is %s", s)
	}
	// Work of one is not the other's.
	made := map[string]string{}
	for _, who := range []string{"customer", "theirs"} {
		var r api.ScheduleResponse
		s := text(who, http.MethodPost, api.PathSchedule, `{"action":"create","asset_id":"`+ownAsset+`","site_id":"Sibaya","maintenance_type":"corrective","scheduled_date":"2025-10-03T06:00:00Z","priority":"high","reason":"of `+who+`"}`)
		if err := json.Unmarshal([]byte(s), &r); err != nil {
			t.Fatal(err)
		}
		made[who] = r.ScheduleID
		text(who, http.MethodPost, api.PathIssues, `{"action":"create","site":"Sibaya","component":"`+ownAsset+`","issue_type":"noise","description":"of `+who+`"}`)
	}
	for who, other := range map[string]string{"customer": "theirs", "theirs": "customer"} {
		for _, list := range []struct{ path, body string }{
			{api.PathSchedule, `{"action":"list","site_id":"Sibaya"}`}, {api.PathSchedule, `{"action":"list","asset_id":"` + ownAsset + `"}`},
			{api.PathIssues, `{"action":"list","site_id":"Sibaya"}`}, {api.PathActivities, `{"action":"list","site_id":"Sibaya"}`},
		} {
			if s := text(who, http.MethodPost, list.path, list.body); !strings.Contains(s, "of "+who) || strings.Contains(s, "of "+other) {
				t.Errorf("%s of %s: %s", list.path, who, s)
			}
		}
		if r := w.as(who, http.MethodPost, api.PathSchedule, `{"action":"get","schedule_id":"`+made[other]+`"}`); r.Code != http.StatusForbidden {
			t.Errorf("%s reads the other's schedule: HTTP %d", who, r.Code)
		}
	}
	if r := w.as("own", http.MethodGet, records+"&customer_id="+foreignCustomer, ""); r.Code == http.StatusOK && strings.Count(r.Body.String(), "timestamp") == 4 {
		t.Errorf("a key of the first Sibaya reads the second: %s", r.Body)
	}
	again := w.as("theirs", http.MethodPost, api.PathSites, `{"action":"set","site":{"site_id":"Sibaya","name":"Changed"}}`)
	list, _, err := w.domain.Sites.Sites(context.Background(), api.Unlimited("test"), api.ListQuery{CustomerID: foreignCustomer})
	if err != nil || again.Code != http.StatusOK || len(list) != 2 || !slices.ContainsFunc(list, func(s api.Site) bool { return s.SiteID == key && s.Name == "Changed" }) {
		t.Errorf("a second site of the id: %v, %v, %s", list, err, again.Body)
	}
}

// TestAmbiguousSiteAsksForTheCustomer asks for a site and a unit that two
// customers have, with a credential for both.
func TestAmbiguousSiteAsksForTheCustomer(t *testing.T) {
	w := newTwins(t)
	for _, who := range []string{"both", "admin"} {
		for _, c := range []struct{ method, url, body, missing string }{
			{http.MethodPost, api.PathSites, `{"action":"get","site_id":"Sibaya"%s}`, "Missing required field: customer_id"},
			{http.MethodPost, api.PathAssets, `{"action":"get","asset_id":"` + ownAsset + `"%s}`, "Missing required field: customer_id"},
			{http.MethodGet, "/telemetry/latest?site_id=Sibaya%s", "", "Missing required parameter: customer_id"},
			{http.MethodGet, "/ooda/site?site_id=Sibaya&start=2025-10-01&end=2025-10-02%s", "", "Missing required parameter: customer_id"},
			{http.MethodGet, "/sites/Sibaya/kpis?to=2025-10-02%s", "", "Missing required parameter: customer_id"},
		} {
			ask := func(customer string) (int, string) {
				more := ""
				switch {
				case customer == "":
				case c.method == http.MethodGet:
					more = "&customer_id=" + customer
				default:
					more = fmt.Sprintf(`,"customer_id":%q`, customer)
				}
				body := ""
				if c.body != "" {
					body = fmt.Sprintf(c.body, more)
				}
				r := w.as(who, c.method, strings.Replace(c.url, "%s", more, 1), body)
				return r.Code, r.Body.String()
			}
			if code, body := ask(""); code != http.StatusBadRequest || !strings.Contains(body, c.missing) {
				t.Errorf("%s as %s: HTTP %d %s", c.url, who, code, body)
			}
			for _, customer := range []string{ownCustomer, foreignCustomer} {
				if code, body := ask(customer); code != http.StatusOK || strings.Contains(body, `\u001f`) {
					t.Errorf("%s of %s as %s: HTTP %d %s", c.url, customer, who, code, body)
				}
			}
		}
	}
	if r := w.as("admin", http.MethodPost, api.PathKeys, `{"action":"create","name":"k","customer_ids":["*"],"permitted_site_ids":["Sibaya"]}`); r.Code != http.StatusBadRequest || !strings.Contains(r.Body.String(), "customer_ids") {
		t.Errorf("a key for an ambiguous site: HTTP %d %s", r.Code, r.Body)
	}
	r := w.as("admin", http.MethodPost, api.PathKeys, `{"action":"create","name":"k","customer_ids":["`+foreignCustomer+`"],"permitted_site_ids":["Sibaya"]}`)
	var made api.KeysResponse
	if err := json.Unmarshal(r.Body.Bytes(), &made); err != nil || r.Code != http.StatusOK || !slices.Equal(made.Key.PermittedSiteIDs, []string{"Sibaya"}) {
		t.Fatalf("a key for their site: HTTP %d %s", r.Code, r.Body)
	}
	w.keys["their site"] = made.APIKey
	if r := w.as("their site", http.MethodPost, api.PathSites, `{"action":"get","site_id":"Sibaya"}`); r.Code != http.StatusOK || !strings.Contains(r.Body.String(), "Their Sibaya") {
		t.Errorf("their key reads HTTP %d %s", r.Code, r.Body)
	}
}

// TestSiteKeysAreRefused: no caller makes a site or a unit under a key that
// another customer would get.
func TestSiteKeysAreRefused(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1_000_000 })
	w.key("theirs", auth.NewKey{Role: api.RoleAdmin, Customers: []string{foreignCustomer}})
	key, err := json.Marshal(api.SiteKey(ownCustomer, "Roof"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, body string }{
		{api.PathSites, `{"action":"set","site":{"site_id":` + string(key) + `,"name":"Roof"}}`},
		{api.PathAssets, `{"action":"add","asset_id":"I","name":"I","type":"inverter","capacity_kw":70,"location":"l","site_id":` + string(key) + `}`},
	} {
		if r := w.as("theirs", http.MethodPost, c.path, c.body); r.Code != http.StatusBadRequest || !strings.Contains(r.Body.String(), "site_id") {
			t.Errorf("%s: HTTP %d %s", c.path, r.Code, r.Body)
		}
	}
	if all, _, err := w.domain.Sites.Sites(context.Background(), api.Unlimited("test"), api.ListQuery{}); err != nil || slices.ContainsFunc(all, func(s api.Site) bool { return strings.HasPrefix(s.SiteID, "Roof") }) {
		t.Errorf("the sites are %v, %v", all, err)
	}
}
