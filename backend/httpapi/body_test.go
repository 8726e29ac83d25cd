package httpapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/httpapi"
)

// unread is a body that counts what was read of it when the answer began.
type unread struct {
	*httptest.ResponseRecorder
	body   *endless
	before int
}

func (u *unread) WriteHeader(status int) {
	u.before = u.body.read
	u.ResponseRecorder.WriteHeader(status)
}

// TestCredentialBeforeBody refuses an invalid credential with 401 before a byte of
// the body is read, on every route that has one and with each kind of body.
func TestCredentialBeforeBody(t *testing.T) {
	w := newWorld(t, nil)
	tried := 0
	for _, route := range routesOf(http.MethodPost) {
		if route.Credential == api.CredentialNone {
			continue
		}
		for _, contentType := range []string{"application/json", "multipart/form-data; boundary=b"} {
			tried++
			u := &unread{ResponseRecorder: httptest.NewRecorder(), body: &endless{left: 1 << 20}}
			q := httptest.NewRequest(route.Method, pathOf(route, "x"), u.body)
			q.Header.Set("Content-Type", contentType)
			q.Header.Set("Authorization", "Bearer opa_prod_none")
			w.handler.ServeHTTP(u, q)
			if u.Code != http.StatusUnauthorized || u.before != 0 {
				t.Errorf("%s, %s: HTTP %d after %d bytes of the body", route.Name, contentType, u.Code, u.before)
			}
		}
	}
	if tried < 50 {
		t.Errorf("%d requests", tried)
	}
	if n := len(w.trail()); n != 0 {
		t.Errorf("%d records of requests that were not read", n)
	}
}

// TestBodyLimitOfRoutes sends each route a JSON body of its limit, and one that is
// larger, with and without a length.
func TestBodyLimitOfRoutes(t *testing.T) {
	w := newWorld(t, func(d *httpapi.Deps) { d.KeyRate, d.UserRate = 1_000_000, 1_000_000 })
	for _, route := range routesOf(http.MethodPost) {
		most := route.Body.JSON
		if most == 0 {
			continue
		}
		want := int64(api.MaxJSONBytes)
		if route.Credential == api.CredentialNone {
			want = api.MaxPublicJSONBytes
		}
		if route.Path == api.PathBulk {
			want = api.MaxBulkBytes
		}
		if most != want {
			t.Errorf("%s takes %d bytes, want %d", route.Name, most, want)
		}
		for _, length := range []bool{true, false} {
			for _, size := range []int64{most, most + 1} {
				body := `{"x":"` + strings.Repeat("x", int(size)-8) + `"}`
				q := w.asAdministratorOf(route, body)
				if !length {
					q.ContentLength = -1
				}
				r := httptest.NewRecorder()
				w.handler.ServeHTTP(r, q)
				var e api.ErrorBody
				_ = json.Unmarshal(r.Body.Bytes(), &e) // some are accepted
				message := fmt.Sprintf("Request body too large: the limit is %d KiB", most>>10)
				if large := size > most; large != (r.Code == http.StatusRequestEntityTooLarge) || large && e.Error != message {
					t.Errorf("%s, %d bytes, with a length %t: HTTP %d %s", route.Name, size, length, r.Code, e.Error)
				}
			}
		}
	}
}

// asAdministratorOf is a request to a route by an administrator.
func (w *world) asAdministratorOf(route *api.Route, body string) *http.Request {
	q := httptest.NewRequest(route.Method, pathOf(route, "x"), strings.NewReader(body))
	q.Header.Set("Content-Type", "application/json")
	if route.Credential != api.CredentialNone {
		q.Header.Set("Authorization", "Bearer "+w.keys["admin"])
	}
	return q
}

// TestBodyThatExpands refuses bodies that would take much more memory decoded than
// as text, on every route that reads JSON. Refused writes leave their record.
func TestBodyThatExpands(t *testing.T) {
	w := newWorld(t, nil)
	list := strings.TrimSuffix(strings.Repeat("{},", 5001), ",")
	for _, route := range routesOf(http.MethodPost) {
		if route.Body.JSON == 0 {
			continue
		}
		for name, body := range map[string]string{
			"list":   `{"action":"add","x":[` + list + `]}`,
			"depth":  `{"action":"add","x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
			"values": `{"action":"add","x":[` + strings.Repeat("[],", 4999) + `[]],"y":[` + strings.Repeat("0,", 4999) + `0]}`,
		} {
			if int64(len(body)) > route.Body.JSON {
				continue // refused for its size
			}
			r := httptest.NewRecorder()
			w.handler.ServeHTTP(r, w.asAdministratorOf(route, body))
			var e api.ErrorBody
			if err := json.Unmarshal(r.Body.Bytes(), &e); err != nil || r.Code != http.StatusBadRequest || e.Details["field"] == nil || e.Details["reason"] == nil {
				t.Errorf("%s, %s: HTTP %d %.300s", route.Name, name, r.Code, r.Body)
			}
		}
	}
	before := len(w.trail())
	w.as("admin", http.MethodPost, api.PathAssets, `{"action":"add","asset_id":"INV-X","components":[`+list+`]}`)
	if r := w.written(before); r.Action != "add" || r.Status != http.StatusBadRequest || r.TargetIDs["asset_id"] != "INV-X" {
		t.Errorf("the record of a refused body: %+v", r)
	}
}

// current are requests whose bodies do not end.
type held struct {
	w       *world
	writers []*io.PipeWriter
	wait    sync.WaitGroup
}

// body begins a request with a part of its body and returns when the part is
// read, or with the answer if there is one before.
func (h *held) body(path, credential, address, part string) *httptest.ResponseRecorder {
	body, in := io.Pipe()
	q := httptest.NewRequest(http.MethodPost, path, body)
	q.RemoteAddr = address
	q.Header.Set("Content-Type", "application/json")
	if credential != "" {
		q.Header.Set("Authorization", "Bearer "+credential)
	}
	q.Header.Set("Expect", "100-continue") // a refused body is not waited for
	r, done := httptest.NewRecorder(), make(chan struct{})
	h.wait.Go(func() {
		defer close(done)
		h.w.handler.ServeHTTP(r, q)
		_ = body.Close()
	})
	read := make(chan struct{})
	go func() {
		if _, err := io.WriteString(in, part); err == nil { // the service may read less
			close(read)
		}
	}()
	select {
	case <-read:
		h.writers = append(h.writers, in)
		select {
		case <-done:
			return r
		default:
			return nil
		}
	case <-done:
		_ = in.Close()
		return r
	}
}

// end ends all bodies and waits for their answers.
func (h *held) end() {
	for _, in := range h.writers {
		_ = in.Close()
	}
	h.wait.Wait()
	h.writers = nil
}

// until begins bodies until one is refused, and returns how many were read and the
// refusal.
func (h *held) until(path, credential, address, part string, most int) (n int, refusal *httptest.ResponseRecorder) {
	for n = range most {
		if r := h.body(path, credential, address, part); r != nil {
			return n, r
		}
	}
	return most, nil
}

// TestMemoryOfBodies refuses bodies with 503 and Retry-After when those in flight
// take all the memory that there is for them: a quarter for one caller, all for
// all. A route without a credential has its own memory, and takes none of users.
func TestMemoryOfBodies(t *testing.T) {
	w := newWorld(t, func(d *httpapi.Deps) { d.BodyMemory, d.PublicBodyMemory = 4<<20, 1<<20 })
	h := &held{w: w}
	defer h.end()
	busy := func(what string, r *httptest.ResponseRecorder) {
		t.Helper()
		var e api.ErrorBody
		if r == nil {
			t.Fatalf("%s: no body was refused", what)
		}
		if err := json.Unmarshal(r.Body.Bytes(), &e); err != nil || r.Code != http.StatusServiceUnavailable || e.Details["reason"] == nil {
			t.Errorf("%s: HTTP %d %s", what, r.Code, r.Body)
		}
		if s, err := strconv.Atoi(r.Header().Get("Retry-After")); err != nil || s < 1 {
			t.Errorf("%s: Retry-After %q", what, r.Header().Get("Retry-After"))
		}
	}
	full := strings.Repeat(" ", api.MaxPublicJSONBytes-1)
	n, r := h.until(api.PathLogin, "", "192.0.2.1:1", full, 100)
	busy("one network", r)
	if n != 16 { // a quarter of 1 MiB
		t.Errorf("one network: %d bodies", n)
	}
	_, r = h.until(api.PathLogin, "", "192.0.2.250:1", full, 1)
	busy("another address of the network", r)
	for i := 1; i < 4; i++ {
		if n, r = h.until(api.PathLogin, "", fmt.Sprintf("198.51.%d.1:1", i), full, 100); n != 16 {
			t.Errorf("network %d: %d bodies", i, n)
		}
		busy("another network", r)
	}
	_, r = h.until(api.PathLogin, "", "[2001:db8::1]:1", full, 1)
	busy("all networks", r)

	full = strings.Repeat(" ", api.MaxJSONBytes-1)
	if n, r = h.until(api.PathAssets, w.keys["own"], "192.0.2.1:1", full, 100); n != 4 {
		t.Errorf("one key: %d bodies", n)
	}
	busy("one key", r)
	if r := w.as("admin", http.MethodPost, api.PathAssets, `{"action":"list"}`); r.Code != http.StatusOK {
		t.Errorf("another key: HTTP %d %s", r.Code, r.Body)
	}
	h.end()
	for _, c := range []struct{ path, key string }{{api.PathLogin, ""}, {api.PathAssets, w.keys["own"]}} {
		if r := h.body(c.path, c.key, "192.0.2.1:1", full[:api.MaxPublicJSONBytes-1]); r != nil {
			t.Errorf("%s after the others have ended: HTTP %d %s", c.path, r.Code, r.Body)
		}
	}
}

// TestMemoryOfDecodedValues counts what is decoded, not only the bytes of bodies.
func TestMemoryOfDecodedValues(t *testing.T) {
	w := newWorld(t, func(d *httpapi.Deps) { d.BodyMemory = 4 << 20 })
	for n, status := range map[int]int{1000: http.StatusBadRequest, 4990: http.StatusServiceUnavailable} {
		body := `{"action":"list","x":[` + strings.TrimSuffix(strings.Repeat("0,", n), ",") + `]}`
		if r := w.as("own", http.MethodPost, api.PathAssets, body); r.Code != status {
			t.Errorf("%d values in %d bytes: HTTP %d %s", n, len(body), r.Code, r.Body)
		}
	}
}

// TestHeaderOfAPart refuses a form whose part has a header that would take
// megabytes, also behind a part that is passed over.
func TestHeaderOfAPart(t *testing.T) {
	w := newWorld(t, nil)
	long := "--b\r\nContent-Disposition: form-data; name=\"file\"; x=\"" + strings.Repeat("x", 1<<20) + "\"\r\n\r\n\r\n--b--\r\n"
	for name, body := range map[string]string{"first": long, "behind another": "--b\r\nX: y\r\n\r\n" + strings.Repeat("x", 100_000) + "\r\n" + long} {
		r := w.as("own", http.MethodPost, api.PathUploadTrain, body, "Content-Type", "multipart/form-data; boundary=b")
		if r.Code != http.StatusBadRequest || !strings.Contains(r.Body.String(), "the header of a field is longer than 32768 bytes") {
			t.Errorf("%s: HTTP %d %s", name, r.Code, r.Body)
		}
	}
}

// TestTimeOfAnUnauthenticatedBody ends a body that comes steadily but takes too long in
// all, unless its sender has shown a valid credential.
func TestTimeOfAnUnauthenticatedBody(t *testing.T) {
	w := newWorld(t, func(d *httpapi.Deps) { d.UnauthenticatedBody = 500 * time.Millisecond })
	server := httptest.NewServer(w.handler)
	defer server.Close()
	for _, c := range []struct {
		name, path, credential string
		status                 int
	}{
		{"sign-in", api.PathLogin, "", http.StatusRequestTimeout},
		{"a route that reads no body", api.PathHealth, "", http.StatusMethodNotAllowed},
		{"an invalid key", api.PathAssets, "opa_prod_none", http.StatusUnauthorized},
		{"a valid key", api.PathAssets, w.keys["own"], http.StatusOK},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			text := `{"action":"list"}` + strings.Repeat(" ", 20)
			head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n", c.path, len(text))
			if c.credential != "" {
				head += "Authorization: Bearer " + c.credential + "\r\n"
			}
			if _, err := io.WriteString(conn, head+"\r\n"); err != nil {
				t.Fatal(err)
			}
			whole := make(chan bool, 1)
			go func() {
				for i := range text {
					time.Sleep(25 * time.Millisecond)
					if _, err := conn.Write([]byte{text[i]}); err != nil {
						whole <- false
						return
					}
				}
				whole <- true
			}()
			answer, err := io.ReadAll(conn)
			if !strings.HasPrefix(string(answer), fmt.Sprintf("HTTP/1.1 %d ", c.status)) {
				t.Errorf("%q, %v, want %d", answer, err, c.status)
			}
			_ = conn.Close()
			if sent := <-whole; c.status == http.StatusOK && !sent {
				t.Error("the body of a user was not read to its end")
			}
		})
	}
}
