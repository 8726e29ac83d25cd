package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/httpapi"
)

// fuzzed is the real handler over a store, for requests of any bytes. Its
// rates are out of the way, and its clock moves on with each request.
type fuzzed struct {
	*world
}

func newFuzzed(f *testing.F) *fuzzed {
	return &fuzzed{world: newWorld(f, func(d *httpapi.Deps) {
		d.KeyRate, d.UserRate = 1_000_000, 1_000_000 // a caller's ring takes 8 bytes for each
		d.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	})}
}

// do sends a request and holds the answer against the contract: no status of
// the server's own failure, JSON as the OpenAPI document has it, refusals in
// the one shape of errors.
func (w *fuzzed) do(t *testing.T, q *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	w.clock.add(time.Second)
	r := httptest.NewRecorder()
	w.handler.ServeHTTP(r, q)
	if r.Code >= http.StatusInternalServerError {
		t.Fatalf("%s %s: HTTP %d %s", q.Method, q.URL, r.Code, r.Body)
	}
	if id := r.Header().Get(api.HeaderRequestID); id == "" || strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c > '~' }) {
		t.Fatalf("%s %s: the request id is %q", q.Method, q.URL, id)
	}
	if r.Code >= http.StatusBadRequest && q.Method != http.MethodHead {
		var e api.ErrorBody
		if err := json.Unmarshal(r.Body.Bytes(), &e); err != nil || e.Success || e.Status != "error" || e.Error == "" || e.RequestID != r.Header().Get(api.HeaderRequestID) {
			t.Fatalf("%s %s: HTTP %d %s %v", q.Method, q.URL, r.Code, r.Body, err)
		}
	}
	// Whether fields that were sent in vain are in the document is no matter here.
	answered := q.Clone(q.Context())
	answered.Header.Del("Content-Type")
	if err := document().conforms(answered, "", r); err != nil {
		t.Fatalf("%s %s: HTTP %d is not as the OpenAPI document has it: %v", q.Method, q.URL, r.Code, err)
	}
	return r
}

// asAdministrator makes a request with a good credential.
func (w *fuzzed) asAdministrator(method, target, body string) *http.Request {
	q := httptest.NewRequest(method, "/", strings.NewReader(body))
	if u, err := url.ParseRequestURI(target); err == nil {
		q.URL, q.RequestURI = u, target
	}
	q.Header.Set("Authorization", "Bearer "+w.keys["admin"])
	return q
}

// routesOf are the rows of the contract with the method.
func routesOf(method string) []*api.Route {
	return slices.DeleteFunc(api.Routes(), func(r *api.Route) bool { return r.Method != method })
}

// pathOf is the route's path, with the text where it has a parameter.
func pathOf(r *api.Route, text string) string {
	path := r.Path
	for _, name := range []string{"{id}", "{site_id}"} {
		path = strings.ReplaceAll(path, name, url.PathEscape(text))
	}
	return path
}

// FuzzBody sends any text as the body of every route that reads one. Each is
// also sent as each role but one may see it: a customer's key must never be
// answered with the name of another's plant.
func FuzzBody(f *testing.F) {
	w := newFuzzed(f)
	routes := routesOf(http.MethodPost)
	for i, r := range routes {
		for _, o := range r.Operations {
			f.Add(byte(i), fmt.Sprintf(`{"action":%q,"customer_id":%q,"site_id":%q,"asset_id":%q,"limit":2,"cursor":"AAAA","name":"n","title":"t","description":"d","status":"open",`+
				`"start":"2025-10-01","end":"2025-10-03T00:00:00Z","reason":"r","username":"u","password":"correct horse","role":"operator","email":"a@example.org","callback_url":"https://example.org/hook",`+
				`"events":["*"],"timezone":"Europe/Berlin","capacity_kw":10,"forecast_hours":24,"horizon_hours":24,"lines":[{"part_id":"p","quantity":1}],"items":[{}],"type":"inverter","s3_path":"s3://b/k","region":"r","location":"l"}`,
				o.Action, ownCustomer, ownSite, ownAsset))
		}
	}
	for _, body := range []string{`{}`, `[]`, `null`, `{"action":null}`, `{"limit":1e400}`, `{"site_id":"\ud800"}`, "{\"site_id\":\"\xff\"}", `{"site_id":{"a":[]}}`, `{"start":"9999-12-31T23:59:59-14:00"}`, strings.Repeat(`{"a":`, 5000)} {
		f.Add(byte(len(body)), body)
	}
	f.Fuzz(func(t *testing.T, route byte, body string) {
		r := routes[int(route)%len(routes)]
		for _, key := range []string{"admin", "customer"} {
			q := w.asAdministrator(r.Method, pathOf(r, "upl_1"), body)
			q.Header.Set("Authorization", "Bearer "+w.keys[key])
			q.Header.Set("Content-Type", "application/json")
			answer := w.do(t, q)
			if key == "customer" && bytes.Contains(answer.Body.Bytes(), []byte("Secret name")) {
				t.Fatalf("%s %s shows another customer's plant: %s", r.Path, body, answer.Body)
			}
		}
	})
}

// FuzzQuery asks every route that is read with any query string: the answer is
// the same twice, and an answer with a tag is not sent to one who has it.
func FuzzQuery(f *testing.F) {
	w := newFuzzed(f)
	w.measure(ownSite, ownAsset, "Africa/Johannesburg", time.Date(2025, 10, 1, 0, 0, 0, 0, time.UTC), 288)
	routes := routesOf(http.MethodGet)
	for i := range routes {
		f.Add(byte(i), ownSite, "site_id="+ownSite+"&customer_id="+ownCustomer+"&asset_id="+ownAsset+"&start=2025-10-01T00:00:00Z&end=2025-10-02T00:00:00%2B02:00&hours=24&limit=3&cursor=AAAA&resolution=1h&window=7d")
		f.Add(byte(i), "..", "site_id=%00&asset_id=%ff&start=9999-12-31T23:59:59-14:00&end=0001-01-01&limit=0")
		f.Add(byte(i), "", "%zz&;=&&start=2025-02-30&limit=99999999999999999999")
	}
	f.Fuzz(func(t *testing.T, route byte, id, query string) {
		r := routes[int(route)%len(routes)]
		target := pathOf(r, id) + "?" + query
		if _, err := url.ParseRequestURI(target); err != nil {
			t.Skip("net/http refuses the line")
		}
		first := w.do(t, w.asAdministrator(r.Method, target, ""))
		tag := first.Header().Get("ETag")
		if first.Code != http.StatusOK || tag == "" {
			return
		}
		q := w.asAdministrator(r.Method, target, "")
		q.Header.Set("If-None-Match", `"another", `+tag)
		if again := w.do(t, q); again.Code != http.StatusNotModified && again.Header().Get("ETag") == tag {
			t.Fatalf("%s: HTTP %d to one who has %s", target, again.Code, tag)
		} else if again.Code == http.StatusNotModified && again.Body.Len() > 0 {
			t.Fatalf("%s: HTTP 304 with a body", target)
		}
	})
}

// FuzzForm sends any bytes as a form to every route that takes one. What is
// accepted was parsed as a form with a file.
func FuzzForm(f *testing.F) {
	w := newFuzzed(f)
	paths := []string{api.PathUploadTrain, api.PathUploadNowcast, api.PathV1UploadTrain, api.PathV1UploadNowcast, api.PathFreemiumForecast}
	routes := map[string]*api.Route{}
	for _, r := range api.Routes() {
		routes[r.Path] = r
	}
	for i, path := range paths {
		good, kind := formFor(routes[path], "customer_id", ownCustomer, "site_id", ownSite, "region", "r", "location", "Durban", "data_type", "training", "email", "a@example.org",
			"verification_code", "123456", "capacity_kw", "10", "tou_accepted", "true", "site_name", "s", "file", "timestamp,power_kw\n2025-09-01T10:00:00Z,1\n")
		f.Add(byte(i), kind, good)
		f.Add(byte(i), kind, good[:len(good)/2])
		f.Add(byte(i), "multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"../../\x1b[2J\u202ecsv.exe\"\r\n\r\na,b\n1,2\n\r\n--b\r\nContent-Disposition: form-data; name=\"site_id\"\r\n\r\n"+ownSite+"\r\n--b--\r\n")
		f.Add(byte(i), "multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"capacity_kw\"\r\n\r\nNaN\r\n--b--\r\n")
		f.Add(byte(i), "multipart/form-data", "--\r\n\r\n----")
		f.Add(byte(i), "multipart/mixed; boundary=\"\"", "")
	}
	f.Fuzz(func(t *testing.T, path byte, contentType, body string) {
		q := w.asAdministrator(http.MethodPost, paths[int(path)%len(paths)], body)
		q.Header.Set("Content-Type", contentType)
		before := len(w.uploads.reqs)
		r := w.do(t, q)
		w.uploads.mu.Lock()
		defer w.uploads.mu.Unlock()
		if kept := len(w.uploads.reqs) > before; kept != (r.Code == http.StatusOK && r.Header().Get("Idempotency-Replayed") == "" && q.URL.Path != api.PathFreemiumForecast) {
			t.Fatalf("HTTP %d, kept %v: %s", r.Code, kept, r.Body)
		}
		w.uploads.reqs, w.uploads.list = nil, nil
	})
}

// FuzzCredential shows any text as a credential. Only the key that was made
// opens anything, whatever surrounds it; where the caller says that it comes
// from changes nothing.
func FuzzCredential(f *testing.F) {
	w := newFuzzed(f)
	good := w.keys["own"]
	token := w.user("fuzz", api.RoleOperator, ownCustomer)
	for _, header := range []string{"", "Bearer", "Bearer  ", "bearer " + good[:len(good)-1], "Basic dTpw", "Bearer " + token[:len(token)-2], "Bearer a.b.c",
		"Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.", "Bearer " + strings.ToUpper(good), "Bearer " + good + " x"} {
		f.Add(header, "", "")
		f.Add("", strings.TrimPrefix(header, "Bearer "), "10.0.0.1, [::1]:80, 192.0.2.9")
	}
	f.Add("BEARER "+good, "", "fe80::1%eth0,,")
	f.Fuzz(func(t *testing.T, authorization, key, forwarded string) {
		q := httptest.NewRequest(http.MethodGet, api.PathUploads, nil)
		q.Header.Set("Authorization", authorization)
		q.Header.Set(api.HeaderAPIKey, key)
		q.Header.Set("X-Forwarded-For", forwarded)
		r := w.do(t, q)
		known := strings.Contains(authorization+" "+key, good) || strings.Contains(authorization+" "+key, token)
		if r.Code == http.StatusOK && !known || r.Code != http.StatusOK && r.Code != http.StatusUnauthorized {
			t.Fatalf("%q %q %q: HTTP %d", authorization, key, forwarded, r.Code)
		}
	})
}

// FuzzIdempotencyKey asserts that the same request with the same key is done
// once and answered alike, and that another body with it is refused.
func FuzzIdempotencyKey(f *testing.F) {
	w := newFuzzed(f)
	for _, key := range []string{"a", "", " ", "\x00", "ü", strings.Repeat("k", 255), strings.Repeat("k", 256), `"quoted"`} {
		f.Add(key, "note")
	}
	f.Fuzz(func(t *testing.T, key, title string) {
		w.clock.add(api.IdempotencyWindow) // a key of a former run is forgotten
		send := func(title string) *httptest.ResponseRecorder {
			body, err := json.Marshal(map[string]any{"customer_id": ownCustomer, "site_id": ownSite, "region": title, "location": "l", "s3_path": "s3://b/k"})
			if err != nil {
				t.Fatal(err)
			}
			q := w.asAdministrator(http.MethodPost, api.PathUploadTrain, string(body))
			q.Header.Set("Content-Type", "application/json")
			q.Header.Set(api.HeaderIdempotencyKey, key)
			return w.do(t, q)
		}
		before := len(w.uploads.reqs)
		first, second := send(title), send(title)
		if first.Code != second.Code {
			t.Fatalf("HTTP %d, then %d %s", first.Code, second.Code, second.Body)
		}
		if first.Code != http.StatusOK {
			return
		}
		made := len(w.uploads.reqs) - before
		if key == "" {
			if made != 2 {
				t.Fatalf("%d uploads of two without a key", made)
			}
			return
		}
		if made != 1 || first.Body.String() != second.Body.String() {
			t.Fatalf("%d uploads, %s and %s", made, first.Body, second.Body)
		}
		if other := send(title + "2"); other.Code != http.StatusUnprocessableEntity {
			t.Fatalf("another body: HTTP %d %s", other.Code, other.Body)
		}
	})
}
