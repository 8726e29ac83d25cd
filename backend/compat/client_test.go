package compat

import (
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"testing"

	"app.sunloop/backend/api"
	"github.com/google/go-cmp/cmp"
)

// answer is what a client gets.
type answer struct {
	t      *testing.T
	what   string
	status int
	header http.Header
	body   []byte
	value  any
}

// header is how a credential is carried.
type header string

// The two ways, and none.
const (
	bearer  header = "Authorization"
	xAPIKey header = "X-Api-Key"
	bare    header = ""
)

func (h header) set(q *http.Request, credential string) {
	switch h {
	case bearer:
		q.Header.Set("Authorization", "Bearer "+credential)
	case xAPIKey:
		q.Header.Set("x-api-key", credential)
	}
}

// send sends one request and holds its answer to what is true of every one.
func send(t *testing.T, q *http.Request, nullable ...string) answer {
	t.Helper()
	q.Header.Set("User-Agent", "python-requests/2.32.3")
	resp, err := shared.http.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	a := answer{t: t, what: q.Method + " " + q.URL.RequestURI(), status: resp.StatusCode, header: resp.Header}
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		t.Fatalf("%s: %v", a.what, err)
	}
	for name, value := range map[string]string{"X-Content-Type-Options": "nosniff", "Strict-Transport-Security": "max-age=31536000", "Server": ""} {
		if got := resp.Header.Get(name); got != value {
			t.Errorf("%s: %s is %q", a.what, name, got)
		}
	}
	if resp.Header.Get("X-Request-Id") == "" {
		t.Errorf("%s: no X-Request-Id", a.what)
	}
	if a.status == http.StatusNotModified {
		return a
	}
	if kind := resp.Header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("%s: Content-Type %q", a.what, kind)
	}
	if err := json.Unmarshal(a.body, &a.value); err != nil {
		t.Fatalf("%s: %v in %.300s", a.what, err, a.body)
	}
	for _, wrong := range faultless("", a.value, nullable) {
		t.Errorf("%s: %s", a.what, wrong)
	}
	return a
}

// is holds a success to a shape.
func (a answer) is(s shape) answer {
	a.t.Helper()
	if a.status != http.StatusOK {
		a.t.Fatalf("%s: HTTP %d %.300s", a.what, a.status, a.body)
	}
	for _, wrong := range s("", a.value) {
		a.t.Errorf("%s: %s", a.what, wrong)
	}
	return a
}

// refused holds an error to its status, its message and the one body.
func (a answer) refused(status int, message string) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Errorf("%s: HTTP %d, not %d: %.300s", a.what, a.status, status, a.body)
	}
	s := object(fields{"success": exactly(false), "status": exactly("error"), "error": exactly(message), "request_id": text})
	for _, wrong := range s("", a.value) {
		a.t.Errorf("%s: %s", a.what, wrong)
	}
	return a
}

// at is the value at a path such as records.0.timestamp.
func (a answer) at(path string) any {
	a.t.Helper()
	v := a.value
	for step := range strings.SplitSeq(path, ".") {
		switch c := v.(type) {
		case map[string]any:
			v = c[step]
		case []any:
			i := 0
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(c) {
				a.t.Fatalf("%s: there is no %s in %.300s", a.what, path, a.body)
			}
			v = c[i]
		default:
			a.t.Fatalf("%s: there is no %s in %.300s", a.what, path, a.body)
		}
	}
	return v
}

// text returns a text at a path; it fails the test if the path is missing.
func (a answer) text(path string) string {
	a.t.Helper()
	s, ok := a.at(path).(string)
	if !ok {
		a.t.Fatalf("%s: %s is no text in %.300s", a.what, path, a.body)
	}
	return s
}

// elements are those of an array at a path.
func (a answer) elements(path string) []any {
	a.t.Helper()
	l, ok := a.at(path).([]any)
	if !ok {
		a.t.Fatalf("%s: %s is no array in %.300s", a.what, path, a.body)
	}
	return l
}

// query makes parameters of names and values in turn.
func query(namesAndValues ...string) url.Values {
	v := url.Values{}
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		v.Set(namesAndValues[i], namesAndValues[i+1])
	}
	return v
}

// get asks by GET, with the key in a header.
func get(t *testing.T, h header, base, path string, v url.Values, nullable ...string) answer {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path+"?"+v.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	h.set(q, shared.key)
	return send(t, q, nullable...)
}

// read asks by GET in every way there is: with either header, of the listener
// for all hosts and of the one for this host. All answers are the same.
func read(t *testing.T, host api.Host, path string, v url.Values, nullable ...string) answer {
	t.Helper()
	first := get(t, xAPIKey, shared.hosts[host], path, v, nullable...)
	for _, other := range []answer{get(t, bearer, shared.hosts[host], path, v, nullable...), get(t, xAPIKey, shared.url, path, v, nullable...), get(t, bearer, shared.url, path, v, nullable...)} {
		if other.status != first.status || first.status == http.StatusOK && !cmp.Equal(content(other), content(first)) {
			t.Errorf("%s: the answers differ: HTTP %d %.200s; HTTP %d %.200s", first.what, first.status, first.body, other.status, other.body)
		}
	}
	return first
}

// content is the content of a response, except for the id of a forecast that was
// made for this request.
func content(a answer) any {
	o, ok := a.value.(map[string]any)
	if !ok {
		return a.value
	}
	o = maps.Clone(o)
	delete(o, "forecast_id")
	return o
}

// post sends a JSON body with the key in a header.
func post(t *testing.T, h header, base, path string, body map[string]any, nullable ...string) answer {
	t.Helper()
	return postAs(t, h, shared.key, base, path, body, nullable...)
}

func postAs(t *testing.T, h header, credential, base, path string, body map[string]any, nullable ...string) answer {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+path, bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	h.set(q, credential)
	a := send(t, q, nullable...)
	a.what += " " + string(b)
	return a
}

// terminal posts to the main host as the Python client does.
func terminal(t *testing.T, path string, namesAndValues ...any) answer {
	t.Helper()
	return post(t, bearer, shared.hosts[api.HostMain], path, bodyOf(namesAndValues...))
}

// bodyOf makes a JSON body of names and values in turn.
func bodyOf(namesAndValues ...any) map[string]any {
	body := map[string]any{}
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		body[namesAndValues[i].(string)] = namesAndValues[i+1]
	}
	return body
}

// part is a part of a form; one with a filename is a file.
type part struct{ name, value, filename string }

// formOf writes the parts in their order.
func formOf(t *testing.T, parts ...part) (body []byte, contentType string) {
	t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	for _, p := range parts {
		h := textproto.MIMEHeader{"Content-Disposition": {fmt.Sprintf(`form-data; name=%q`, p.name)}}
		if p.filename != "" {
			h = textproto.MIMEHeader{"Content-Disposition": {fmt.Sprintf(`form-data; name=%q; filename=%q`, p.name, p.filename)}, "Content-Type": {"text/csv"}}
		}
		w, err := m.CreatePart(h)
		if err == nil {
			_, err = io.WriteString(w, p.value)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), m.FormDataContentType()
}

// postForm sends a form.
func postForm(t *testing.T, h header, base, path string, parts ...part) answer {
	t.Helper()
	b, kind := formOf(t, parts...)
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+path, bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", kind)
	h.set(q, shared.key)
	return send(t, q)
}

// raw writes text on a separate connection, closes its side of it if half is
// true, and returns everything received until the service closes.
func raw(t *testing.T, base, text string, half bool) string {
	t.Helper()
	c, err := tls.Dial("tcp", strings.TrimPrefix(base, "https://"), &tls.Config{RootCAs: shared.roots})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	if half {
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
	}
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatalf("after %q: %v", b, err)
	}
	return string(b)
}

// ownCursor is a cursor that a client makes of a record: its position as JSON.
func ownCursor(namesAndValues ...string) string {
	position := map[string]string{}
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		position[namesAndValues[i]] = namesAndValues[i+1]
	}
	b, err := json.Marshal(position)
	if err != nil {
		panic(err) // texts alone
	}
	return base64.RawURLEncoding.EncodeToString(b)
}
