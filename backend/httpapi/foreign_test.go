package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/store"
)

// things are the ids of what one customer has, by the kinds of [idFields].
type things map[string]string

// idFields says what the parameters mean that name a thing. A parameter that
// may name one and has no row fails the test.
var idFields = map[string]string{
	"customer_id": "customer", "customer_ids": "customer", "site.customer_id": "customer",
	"site_id": "site", "site_ids": "site", "permitted_site_ids": "site", "site": "site", "site.site_id": "site",
	"asset_id": "asset", "from_asset_id": "asset", "former_ids": "asset", "device_id": "asset", "component": "asset", "asset_filter": "asset", "asset_ids": "asset", "change_id": "change",
	"terminal_device_id": "device", "site.terminal_device_id": "device",
	"issue_id": "issue", "schedule_id": "schedule", "bom_id": "bom", "order_id": "order", "job_id": "order",
	"subscription_id": "subscription", "delivery_id": "delivery", "alert_id": "alert", "detection_id": "detection",
	"result_id": "run", "model_version": "version", "user_id": "user", "api_key_id": "key", "target_id": "order", "actor": "actor",
	"id": "upload", "cursor": "cursor",
	// Items of notifications are looked up below the owner; a route that names others' sites selects nothing.
	"person_id": "", "channel_id": "", "rotation_id": "", "item_id": "", "channel.channel_id": "", "person.person_id": "", "rotation.rotation_id": "", "route.route_id": "",
	"route.customer_ids": "", "route.site_ids": "",
	"entry_id": "entry",
	"skin_id":  "", "role_id": "", "group_id": "", "gateway_id": "", // name nothing of a customer's
}

// mayName are parameters that name a thing, by their names.
var mayName = regexp.MustCompile(`(^|\.)(id|site|component|cursor|actor|asset_filter|model_version)$|_ids?$`)

// foreignThings gives a plant all that can be named, over HTTP and by the
// domain, and returns the ids.
func (w *world) foreignThings(of ids, who string) things {
	w.t.Helper()
	ctx, all := context.Background(), api.Unlimited("test")
	post := func(path, body string) map[string]any {
		w.clock.add(time.Second) // so that lists have one order
		r := w.as("admin", http.MethodPost, path, body)
		var m map[string]any
		if err := json.Unmarshal(r.Body.Bytes(), &m); err != nil || r.Code != 200 {
			w.t.Fatalf("%s %s: HTTP %d %s", path, body, r.Code, r.Body)
		}
		return m
	}
	text := func(m map[string]any, field string) string { return m[field].(string) }
	t := things{"customer": of.customer, "site": of.site, "asset": of.asset, "device": "TERM-" + of.site, "actor": who, "version": "9.9.9", "run": "int_" + who}
	t["event subscription"] = text(post(api.PathSubscriptions, fmt.Sprintf(`{"action":"subscribe","site_id":%q,"callback_url":"https://example.org/events/%s","events":["order.*"]}`, of.site, who)), "subscription_id")
	t["entry"] = post(api.PathShift, fmt.Sprintf(`{"action":"note","site_id":%q,"text":%q}`, of.site, who))["entry"].(map[string]any)["entry_id"].(string)
	t["detection"] = w.judgeOf(of, true)
	issues, _, err := w.domain.Issues.Issues(ctx, all, api.ListQuery{SiteID: of.site})
	if err != nil || len(issues) == 0 {
		w.t.Fatal(issues, err)
	}
	t["issue"] = issues[0].IssueID
	change := post(api.PathAvailability, fmt.Sprintf(`{"action":"set","site_id":%q,"asset_ids":[%q],"from":"2025-09-30T08:00:00Z","to":"2025-09-30T09:00:00Z","category":"force_majeure","reason":%q}`, of.site, of.asset, who))
	t["change"] = text(change, "change_id")
	alerts, _, _, err := w.domain.Alerts.Alerts(ctx, all, api.ListQuery{SiteID: of.site}, "")
	if err != nil || len(alerts) == 0 {
		w.t.Fatal(alerts, err)
	}
	t["alert"] = alerts[0].AlertID
	const plan = `{"action":"create","asset_id":%q,"maintenance_type":"corrective","scheduled_date":"2025-10-0%dT06:00:00Z","priority":"high","reason":%q}`
	t["schedule"] = text(post(api.PathSchedule, fmt.Sprintf(plan, of.asset, 3, who)), "schedule_id")
	post(api.PathSchedule, fmt.Sprintf(plan, of.asset, 5, who))
	list := post(api.PathSchedule, fmt.Sprintf(`{"action":"list","site_id":%q,"limit":1}`, of.site))
	t["cursor"] = text(list, "next_cursor")
	t["bom"] = text(post(api.PathBOM, fmt.Sprintf(`{"action":"generate","asset_id":%q,"maintenance_type":"corrective","schedule_id":%q}`, of.asset, t["schedule"])), "bom_id")
	t["order"] = text(post(api.PathOrder, fmt.Sprintf(`{"action":"create","asset_id":%q,"schedule_id":%q,"bom_id":%q,"assigned_technician":%q,"estimated_duration_hours":4,"priority":"high"}`, of.asset, t["schedule"], t["bom"], who)), "order_id")
	t["subscription"] = text(post(api.PathTrack, fmt.Sprintf(`{"action":"subscribe","order_id":%q,"callback_url":"https://example.org/%s"}`, t["order"], who)), "subscription_id")
	post(api.PathOrder, fmt.Sprintf(`{"action":"start","order_id":%q}`, t["order"]))
	delivery := func(path, subscription string) string {
		list := post(path, fmt.Sprintf(`{"action":"deliveries","subscription_id":%q}`, t[subscription]))["deliveries"].([]any)
		return text(list[0].(map[string]any), "delivery_id")
	}
	t["delivery"], t["event delivery"] = delivery(api.PathTrack, "subscription"), delivery(api.PathSubscriptions, "event subscription")
	t["user"] = text(post(api.PathUsers, fmt.Sprintf(`{"action":"add","username":%q,"password":"correct horse","role_id":"role_admin","customer_ids":[%q]}`, who, of.customer)), "user_id")
	t["key"] = text(post(api.PathKeys, fmt.Sprintf(`{"action":"create","name":%q,"customer_ids":[%q]}`, who, of.customer)), "api_key_id")
	t["upload"] = "upl_" + who
	w.uploads.list = append(w.uploads.list, api.Upload{UploadID: t["upload"], Kind: api.UploadTrain, CustomerID: of.customer, SiteID: of.site, ProcessingStatus: api.UploadQueued})
	err = w.store.Update(ctx, func(tx store.Tx) error {
		m := model.Model{Sequence: 1, Trained: w.clock.now()}
		m.ModelName, m.ModelVersion, m.ModelType, m.SiteID, m.CustomerID = who, t["version"], api.ModelForecasting, of.site, of.customer
		if _, err := w.domain.Models.Register(tx, m, nil); err != nil {
			return err
		}
		fill := model.Interpolation{CustomerID: of.customer}
		fill.SiteID, fill.ResultID, fill.Method = of.site, t["run"], who
		if _, err := w.domain.Models.AddInterpolation(tx, fill); err != nil {
			return err
		}
		return w.domain.Forecasts.Add(tx, forecast.Forecast{SiteID: of.site, CustomerID: of.customer, ForecastID: "fc_" + who, IssuedAt: w.clock.now(), ModelName: who, Start: w.clock.now(), StepMinutes: 60}, time.UTC)
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return t
}

// parameter is one that names a thing: where it is, and its kind.
type idParameter struct {
	name, kind, in string // in is query, path, body or form
	list           bool
}

// namingParameters are those of a route, by the document.
func namingParameters(t *testing.T, route *api.Route) (list []idParameter) {
	t.Helper()
	doc := document()
	op := doc.paths[route.Method+" "+route.Path]
	if op == nil {
		t.Fatalf("the document has no %s %s", route.Method, route.Path)
	}
	add := func(name, in string, schema map[string]any) {
		if !mayName.MatchString(name) {
			return
		}
		kind, known := idFields[name]
		if !known {
			t.Errorf("the parameter %q of %s may name a thing of another customer's, and has no row in idFields", name, route.Name)
		}
		if route.Name == "subscriptions" && (kind == "subscription" || kind == "delivery") {
			kind = "event " + kind
		}
		if kind != "" && schema["$ref"] == nil {
			list = append(list, idParameter{name, kind, in, schema["type"] == "array"})
		}
	}
	params, _ := op["parameters"].([]any)
	for _, p := range params {
		p := p.(map[string]any)
		if ref, ok := p["$ref"].(string); ok {
			p = doc.at(ref)
		}
		if p["in"] != "header" {
			add(p["name"].(string), p["in"].(string), p["schema"].(map[string]any))
		}
	}
	body, _ := op["requestBody"].(map[string]any)
	contents, _ := body["content"].(map[string]any)
	for kind, content := range contents {
		in := "body"
		if kind != contentJSON {
			in = "form"
		} else if len(contents) > 1 {
			continue // the form says the same
		}
		properties, _ := content.(map[string]any)["schema"].(map[string]any)["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			schema := properties[name].(map[string]any)
			add(name, in, schema)
			if ref, ok := schema["$ref"].(string); ok {
				inner, _ := doc.at(ref)["properties"].(map[string]any)
				for _, n := range slices.Sorted(maps.Keys(inner)) {
					add(name+"."+n, in, inner[n].(map[string]any))
				}
			}
		}
	}
	return list
}

// absentIDs stand in the rows of [requests] for things that are not there.
var absentIDs = regexp.MustCompile(`(ord|sch|bom|iss|sub|whd|ntd|alt|usr|key|avc|evs|evd|shf)_0`)

var kindOf = map[string]string{"ord": "order", "sch": "schedule", "bom": "bom", "iss": "issue", "sub": "subscription", "whd": "delivery", "ntd": "delivery", "alt": "alert", "usr": "user", "key": "key", "avc": "change",
	"evs": "event subscription", "evd": "event delivery", "shf": "entry"}

// named sends the request of an operation about one's own things, with one
// parameter that names another.
func (w *world) named(route *api.Route, r request, own things, p idParameter, id, credential string, n int, headers ...string) *httptest.ResponseRecorder {
	path := map[string]string{"id": own["upload"], "site_id": own["site"]}
	if p.in == "path" {
		path[p.name] = id
	}
	target := strings.NewReplacer("{id}", url.PathEscape(path["id"]), "{site_id}", url.PathEscape(path["site_id"])).Replace(route.Path)
	fill := func(text string) string {
		text = strings.NewReplacer("{customer}", own["customer"], "{site}", own["site"], "{asset}", own["asset"], "{n}", fmt.Sprint(n)).Replace(text)
		return absentIDs.ReplaceAllStringFunc(text, func(s string) string { return own[kindOf[s[:3]]] })
	}
	query, err := url.ParseQuery(fill(r.query))
	if err != nil {
		w.t.Fatal(err)
	}
	if p.in == "query" {
		query.Set(p.name, id)
	}
	body, kind := "", contentJSON
	switch {
	case r.form:
		fields := map[string]string{"customer_id": own["customer"], "site_id": own["site"], "region": "r", "location": "l", "offset": "0", "sha256": sumOfForm}
		if p.in == "form" {
			fields[p.name] = id
		}
		var list []string
		for _, f := range slices.Sorted(maps.Keys(fields)) {
			list = append(list, f, fields[f])
		}
		body, kind = formFor(route, append(list, "file", "timestamp,power\n2025-10-01T00:00:00Z,1\n")...)
	case route.Method == http.MethodPost && route.Raw == nil:
		fields := map[string]any{}
		if err := json.Unmarshal([]byte(fill(r.body)), &fields); err != nil {
			w.t.Fatalf("%s: %v", route.Name, err)
		}
		if p.in == "body" {
			at, name := fields, p.name
			if outer, inner, nested := strings.Cut(p.name, "."); nested {
				if at, _ = fields[outer].(map[string]any); at == nil {
					at = map[string]any{}
					fields[outer] = at
				}
				name = inner
			}
			at[name] = id
			if p.list {
				at[name] = []string{id}
			}
		}
		b, err := json.Marshal(fields)
		if err != nil {
			w.t.Fatal(err)
		}
		body = string(b)
	}
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	q := httptest.NewRequest(route.Method, target, strings.NewReader(body))
	q.Header.Set("Authorization", "Bearer "+credential)
	q.Header.Set("Content-Type", kind)
	for i := 0; i+1 < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	a := httptest.NewRecorder()
	w.handler.ServeHTTP(a, q)
	return a
}

// What differs between two services that were asked the same.
var (
	ownIDs  = regexp.MustCompile(`[a-z]{2,4}_([0-9A-HJKMNP-TV-Z]{26}|[0-9]+\b)`)
	secrets = regexp.MustCompile(`"(secret|api_key|next_cursor|cursor|prefix|request_id)":"[^"]*"`)
	codes   = regexp.MustCompile(`"code":"[A-Z2-7]{4}(-[A-Z2-7]{4}){3}"`)                       // for gateways
	counts  = regexp.MustCompile(`"(requests|refused|points|requests_today|points_today)":\d+`) // of the test's own requests
)

// leveled is the content of a response in a defined order: two records of
// one instant have none.
func leveled(text string) string {
	text = counts.ReplaceAllString(codes.ReplaceAllString(text, `"code":"…"`), `"$1":0`)
	parts := strings.FieldsFunc(ownIDs.ReplaceAllString(secrets.ReplaceAllString(text, `"$1":"…"`), "id"), func(r rune) bool { return strings.ContainsRune("{}[],", r) })
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// differ is where two texts begin to, some bytes before.
func differ(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return max(0, n-80)
}

// varying are headers that differ from one answer to the next: of the bodies
// with ids of their own, and of the rates of two services.
var varying = []string{api.HeaderRequestID, "Etag", "Content-Length", "Ratelimit", "Ratelimit-Policy"}

// TestForeignIsAbsent names records of another customer in each parameter of
// each operation, as each role, to a service that has them and to one that
// does not. Both answer the same status, body and headers, and do the same to
// what the caller has.
func TestForeignIsAbsent(t *testing.T) {
	unlimited := func(d *httpapiDeps) { d.KeyRate, d.UserRate = 1_000_000, 1_000_000 }
	with, without := newWorld(t, unlimited), newWorldOf(t, unlimited, ownCustomer)
	theirs := with.foreignThings(ids{foreignCustomer, foreignSite, foreignAsset}, "secretary")
	with.measure(foreignSite, foreignAsset, "Europe/Berlin", time.Date(2025, 9, 30, 22, 0, 0, 0, time.UTC), 288)
	without.clock.add(with.clock.now().Sub(without.clock.now()))
	worlds := []*world{with, without}
	own := make([]things, 2)
	credentials := map[string][]string{}
	for i, w := range worlds {
		own[i] = w.foreignThings(ids{ownCustomer, ownSite, ownAsset}, "ours")
		for _, role := range auth.UserRoles() {
			credentials[role+"'s user"] = append(credentials[role+"'s user"], w.user("u"+role, role, ownCustomer))
		}
		for _, role := range []string{api.RoleAdmin, api.RoleAnalyst} {
			credentials[role+"'s key of a customer"] = append(credentials[role+"'s key of a customer"], w.key("c"+role, auth.NewKey{Role: role, Customers: []string{ownCustomer}}))
			credentials[role+"'s key of a site"] = append(credentials[role+"'s key of a site"], w.key("s"+role, auth.NewKey{Role: role, Sites: []string{ownSite}}))
		}
	}
	n, compared, refused := 0, 0, 0
	for _, route := range api.Routes() {
		if route.Credential == api.CredentialNone || route.Credential == api.CredentialUser {
			continue
		}
		params := namingParameters(t, route)
		for _, op := range route.Operations {
			name := route.Name
			if len(route.Operations) > 1 || op.Action != "" {
				name += " " + op.Action
			}
			for _, caller := range slices.Sorted(maps.Keys(credentials)) {
				for _, p := range params {
					n++
					for _, w := range worlds {
						w.clock.add(time.Second)
					}
					id := theirs[p.kind]
					here := with.named(route, requests[name], own[0], p, id, credentials[caller][0], n)
					about := fmt.Sprintf("%s as %s, %s of another's", name, caller, p.name)
					if strings.Contains(here.Body.String(), "Secret name") {
						t.Errorf("%s: the response reveals the name: %.400s", about, here.Body)
					}
					if here.Code == http.StatusForbidden {
						refused++
						var e api.ErrorBody
						if err := json.Unmarshal(here.Body.Bytes(), &e); err != nil || e.Error != api.ErrForbidden.Message {
							t.Errorf("%s: refused in other words: %s", about, here.Body)
						}
						if op.Cacheable {
							again := with.named(route, requests[name], own[0], p, id, credentials[caller][0], n, "If-None-Match", "*")
							if again.Code != http.StatusForbidden || again.Header().Get("ETag") != "" {
								t.Errorf("%s: a tag is answered by HTTP %d", about, again.Code)
							}
						}
					}
					there := without.named(route, requests[name], own[1], p, id, credentials[caller][1], n)
					if route.Name == "audit" {
						continue // has what was refused here alone
					}
					compared++
					if a, b := leveled(here.Body.String()), leveled(there.Body.String()); here.Code != there.Code || a != b {
						at := differ(a, b)
						t.Errorf("%s: HTTP %d …%.200s\nof what is not there: HTTP %d …%.200s", about, here.Code, a[at:], there.Code, b[at:])
					}
					for h := range here.Header() {
						if !slices.Contains(varying, h) && !slices.Equal(here.Header()[h], there.Header()[h]) {
							t.Errorf("%s: %s is %q, and %q of what is not there", about, h, here.Header()[h], there.Header()[h])
						}
					}
					if len(here.Header()) != len(there.Header()) {
						t.Errorf("%s: headers %v, and %v of what is not there", about, here.Header(), there.Header())
					}
				}
			}
		}
	}
	t.Logf("%d requests: %d refused, %d compared", n, refused, compared)
	if compared < 500 || refused < 500 {
		t.Errorf("of %d requests %d were refused and %d compared: the table of routes has more", n, refused, compared)
	}
}
