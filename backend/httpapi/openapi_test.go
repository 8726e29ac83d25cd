package httpapi_test

import (
	"bytes"
	"encoding/json"
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
	d := &described{compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}, paths: map[string]map[string]any{}, router: http.NewServeMux()}
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
func (d *described) check(t testing.TB, what string, text []byte, place []string) {
	t.Helper()
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
			t.Errorf("%s: %v", pointer, err)
			return
		}
		d.schemas[pointer] = s
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = s.Validate(value)
	}
	if err != nil {
		t.Errorf("%s is not as the document has it: %v\n%.400s", what, err, text)
	}
}

// conforms holds an answer against the document: its status, its content type
// and its body; and the body of a request that was accepted.
func conforms(t testing.TB, q *http.Request, sent string, r *httptest.ResponseRecorder) {
	t.Helper()
	d := document()
	what := q.Method + " " + q.URL.Path + ": the answer " + strconv.Itoa(r.Code)
	errorBody := []string{"components", "schemas", "ErrorBody"}
	op, place := d.operation(q)
	switch {
	case q.Method == http.MethodOptions || q.Method == http.MethodHead:
		return
	case op == nil: // an unknown path or method has the body of errors
		if r.Code < 400 {
			t.Errorf("%s is of a route that the document does not have", what)
			return
		}
		d.check(t, what, r.Body.Bytes(), errorBody)
		return
	}
	status := strconv.Itoa(r.Code)
	declared, ok := op["responses"].(map[string]any)[status].(map[string]any)
	if !ok {
		t.Errorf("%s has a status that the document does not declare\n%.400s", what, r.Body.String())
		return
	}
	contents, _ := declared["content"].(map[string]any)
	if contents == nil {
		if r.Body.Len() > 0 {
			t.Errorf("%s has a body", what)
		}
		return
	}
	kind, _, _ := strings.Cut(r.Header().Get("Content-Type"), ";")
	if contents[kind] == nil {
		t.Errorf("%s has the content type %q", what, kind)
		return
	}
	if kind == "application/json" && r.Header().Get("Content-Encoding") == "" {
		d.check(t, what, r.Body.Bytes(), slices.Concat(place, []string{"responses", status, "content", kind, "schema"}))
	}
	asked, _, _ := strings.Cut(q.Header.Get("Content-Type"), ";")
	if body, ok := op["requestBody"].(map[string]any); ok && r.Code == http.StatusOK && asked == "application/json" && body["content"].(map[string]any)[asked] != nil {
		d.check(t, q.Method+" "+q.URL.Path+": the body that was accepted", []byte(sent), slices.Concat(place, []string{"requestBody", "content", asked, "schema"}))
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
