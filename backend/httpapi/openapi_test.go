package httpapi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/openapi"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// described holds answers and bodies against the document of the service, by
// schemas that are compiled once. Unlike for readers of the document, a field
// that it does not name is an error.
type described struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema // by their place in the document
	paths    map[string]map[string]any
	router   *http.ServeMux
	whole    map[string]any
}

// at is what a reference within the document is to.
func (d *described) at(ref string) map[string]any {
	part := d.whole
	for _, step := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
		part = part[step].(map[string]any)
	}
	return part
}

var document = sync.OnceValue(func() *described {
	whole, err := jsonschema.UnmarshalJSON(bytes.NewReader(openapi.JSON()))
	if err != nil {
		panic(err)
	}
	root := whole.(map[string]any)
	for _, s := range root["components"].(map[string]any)["schemas"].(map[string]any) {
		s.(map[string]any)["additionalProperties"] = false
	}
	d := &described{compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}, paths: map[string]map[string]any{}, router: http.NewServeMux(), whole: root}
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource("document.json", root); err != nil {
		panic(err)
	}
	for path, item := range root["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			pattern := strings.ToUpper(method) + " " + path
			d.paths[pattern] = op.(map[string]any)
			d.router.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
		}
	}
	return d
})

// operation is the one of the request and its place in the document.
func (d *described) operation(q *http.Request) (op map[string]any, place []string) {
	_, pattern := d.router.Handler(q)
	op = d.paths[pattern]
	method, path, _ := strings.Cut(pattern, " ")
	return op, []string{"paths", path, strings.ToLower(method)}
}

// check validates a JSON text against the schema at the place.
func (d *described) check(text []byte, place ...string) error {
	pointer := "document.json#"
	for _, step := range place {
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(step)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.schemas[pointer]
	if s == nil {
		var err error
		if s, err = d.compiler.Compile(pointer); err != nil {
			return err
		}
		d.schemas[pointer] = s
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = s.Validate(value)
	}
	if err != nil {
		return fmt.Errorf("%w\n%.400s", err, text)
	}
	return nil
}

const contentJSON = "application/json"

// conforms holds an answer against the document: its status, its content type
// and its body; and the body of a request that was accepted.
func (d *described) conforms(q *http.Request, sent string, r *httptest.ResponseRecorder) error {
	if q.Method == http.MethodOptions || q.Method == http.MethodHead {
		return nil
	}
	op, place := d.operation(q)
	if op == nil { // an unknown path or method has the body of errors
		if r.Code < http.StatusBadRequest {
			return errors.New("the document has no such route")
		}
		return d.check(r.Body.Bytes(), "components", "schemas", "ErrorBody")
	}
	status := strconv.Itoa(r.Code)
	declared, ok := op["responses"].(map[string]any)[status].(map[string]any)
	if !ok {
		return fmt.Errorf("the document does not declare the status: %.400s", r.Body.String())
	}
	contents, _ := declared["content"].(map[string]any)
	if contents == nil {
		if r.Body.Len() > 0 {
			return errors.New("the document has no body for the status")
		}
		return nil
	}
	kind, _, _ := strings.Cut(r.Header().Get("Content-Type"), ";")
	if contents[kind] == nil {
		return fmt.Errorf("the document does not have the content type %q", kind)
	}
	if kind == contentJSON && r.Header().Get("Content-Encoding") == "" {
		if err := d.check(r.Body.Bytes(), slices.Concat(place, []string{"responses", status, "content", kind, "schema"})...); err != nil {
			return err
		}
	}
	asked, _, _ := strings.Cut(q.Header.Get("Content-Type"), ";")
	body, takes := op["requestBody"].(map[string]any)
	if !takes || r.Code != http.StatusOK || asked != contentJSON || body["content"].(map[string]any)[asked] == nil {
		return nil
	}
	if sent == "" && body["required"] != true || q.Header.Get("Content-Encoding") != "" {
		return nil
	}
	if err := d.check([]byte(sent), slices.Concat(place, []string{"requestBody", "content", asked, "schema"})...); err != nil {
		return fmt.Errorf("the body that was accepted: %w", err)
	}
	return nil
}

// TestConforms distinguishes responses that conform to the document from those that
// are not.
func TestConforms(t *testing.T) {
	for _, c := range []struct {
		name, method, url, sent, kind, body string
		status                              int
		good                                bool
	}{
		{"good", http.MethodGet, "/telemetry/data-period?site_id=s", "", contentJSON, `{"site_id":"s","first_record":null,"last_record":null}`, 200, true},
		{"a field too few", http.MethodGet, "/telemetry/data-period?site_id=s", "", contentJSON, `{"site_id":"s","first_record":null}`, 200, false},
		{"a field too many", http.MethodGet, "/telemetry/data-period?site_id=s", "", contentJSON, `{"site_id":"s","first_record":null,"last_record":null,"more":1}`, 200, false},
		{"a time with fractions", http.MethodGet, "/telemetry/data-period?site_id=s", "", contentJSON, `{"site_id":"s","first_record":"2025-10-01T00:00:00.5Z","last_record":null}`, 200, false},
		{"null for a list", http.MethodGet, "/telemetry/inverter", "", contentJSON, `{"records":null}`, 200, false},
		{"another status", http.MethodGet, "/healthz", "", contentJSON, `{"success":true}`, 201, false},
		{"another content type", http.MethodGet, "/healthz", "", "text/plain", `{"success":true}`, 200, false},
		{"an empty 304", http.MethodGet, "/forecast", "", "", "", 304, true},
		{"a 304 with a body", http.MethodGet, "/forecast", "", contentJSON, "{}", 304, false},
		{"an unknown path", http.MethodGet, "/nowhere", "", contentJSON, `{"success":false,"status":"error","error":"Not found","request_id":"r","code":"not_found","docs":"/docs#error-not_found"}`, 404, true},
		{"an answer of an unknown path", http.MethodGet, "/nowhere", "", contentJSON, `{"success":true}`, 200, false},
		{"an action", http.MethodPost, "/terminal/detections", `{"action":"list"}`, contentJSON, `{"success":true,"detections":[],"count":0}`, 200, true},
		{"no action", http.MethodPost, "/terminal/detections", `{}`, contentJSON, `{"success":true,"detections":[],"count":0}`, 200, true},
		{"an action of another route", http.MethodPost, "/terminal/detections", `{"action":"run"}`, contentJSON, `{"success":true,"detections":[],"count":0}`, 200, false},
		{"an action without what it needs", http.MethodPost, "/terminal/assets", `{"action":"get"}`, contentJSON, `{"success":true,"count":0}`, 200, false},
	} {
		q := httptest.NewRequest(c.method, c.url, strings.NewReader(c.sent))
		if c.sent != "" {
			q.Header.Set("Content-Type", contentJSON)
		}
		r := httptest.NewRecorder()
		r.Header().Set("Content-Type", c.kind)
		r.WriteHeader(c.status)
		r.Body.WriteString(c.body)
		if err := document().conforms(q, c.sent, r); (err == nil) != c.good {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestDocumentIsServed to anybody, with a tag.
func TestDocumentIsServed(t *testing.T) {
	w := newWorld(t, nil)
	r := w.ask(http.MethodGet, api.PathOpenAPI, "")
	if r.Code != http.StatusOK || !bytes.Equal(r.Body.Bytes(), openapi.JSON()) || !json.Valid(r.Body.Bytes()) {
		t.Fatalf("HTTP %d, %d bytes", r.Code, r.Body.Len())
	}
	if again := w.ask(http.MethodGet, api.PathOpenAPI, "", "If-None-Match", r.Header().Get("Etag")); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
		t.Errorf("with its tag: HTTP %d, %d bytes", again.Code, again.Body.Len())
	}
}

// TestPageIsServed under a policy that lets in nothing from elsewhere.
func TestPageIsServed(t *testing.T) {
	r := newWorld(t, nil).ask(http.MethodGet, api.PathDocs, "")
	page, err := io.ReadAll(r.Result().Body)
	if err != nil || r.Code != http.StatusOK || !bytes.Equal(page, openapi.Page().HTML) {
		t.Fatalf("HTTP %d, %d bytes, %v", r.Code, len(page), err)
	}
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": openapi.Page().Policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
	} {
		if got := r.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
