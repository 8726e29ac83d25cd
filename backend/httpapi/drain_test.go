package httpapi_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// TestAnswerWaitsForTheBody: who writes all of a body before reading gets the
// answer, also where nothing of the body is wanted.
func TestAnswerWaitsForTheBody(t *testing.T) {
	w := newWorld(t, nil)
	server := httptest.NewServer(w.handler)
	defer server.Close()
	body := strings.Repeat("[", api.MaxJSONBytes)
	token := w.user("ana", api.RoleAdmin, "*") // until it is refreshed
	const own = "Authorization: Bearer TOKEN\r\n"
	for _, c := range []struct {
		name, path, header string
		status             int
	}{
		{"no body is read", api.PathRefresh, own, http.StatusOK},
		{"no credential", api.PathUploadTrain, "Content-Type: multipart/form-data; boundary=b\r\n", http.StatusUnauthorized},
		{"no form", api.PathUploadTrain, own + "Content-Type: multipart/form-data; boundary=b\r\n", http.StatusBadRequest},
		{"no such path", "/nowhere", own, http.StatusNotFound},
		{"compressed", api.PathLogin, "Content-Encoding: gzip\r\n", http.StatusUnsupportedMediaType},
	} {
		for how, sent := range map[string]string{
			"with a length": fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body),
			"in chunks":     fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body),
		} {
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			answers := bufio.NewReader(conn)
			for range 2 { // the connection stays
				if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\n%s%s", c.path, strings.ReplaceAll(c.header, "TOKEN", token), sent); err != nil {
					t.Errorf("%s, %s: %v", c.name, how, err)
					break
				}
				r, err := http.ReadResponse(answers, nil)
				if err != nil {
					t.Errorf("%s, %s: %v", c.name, how, err)
					break
				}
				b, err := io.ReadAll(r.Body)
				if err != nil || r.StatusCode != c.status {
					t.Errorf("%s, %s: %d %s, %v", c.name, how, r.StatusCode, b, err)
				}
				var fresh api.RefreshResponse
				if json.Unmarshal(b, &fresh) == nil && fresh.Token != "" {
					token = fresh.Token
				}
			}
			_ = conn.Close()
		}
	}
}

// TestUnwantedBody: a body is read up to the largest that any route takes,
// and not read if it says that it is longer or is held back.
func TestUnwantedBody(t *testing.T) {
	w := newWorld(t, nil)
	for _, c := range []struct {
		name   string
		length int64
		expect string
		most   int
	}{
		{"without a length", -1, "", api.MaxUploadBytes + 1<<20},
		{"of a gigabyte", 1 << 30, "", 0},
		{"held back", -1, "100-continue", 0},
	} {
		e := &endless{left: 1 << 30}
		q := httptest.NewRequest(http.MethodPost, "/nowhere", e)
		q.ContentLength = c.length
		if c.expect != "" {
			q.Header.Set("Expect", c.expect)
		}
		r := httptest.NewRecorder()
		w.handler.ServeHTTP(r, q)
		if r.Code != http.StatusUnauthorized || e.read != c.most {
			t.Errorf("%s: %d after %d bytes, want %d", c.name, r.Code, e.read, c.most)
		}
	}
}
