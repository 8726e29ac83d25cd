package client_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// answering gives every request the same answer.
type answering struct {
	status            int
	contentType, body string
}

func (a answering) RoundTrip(q *http.Request) (*http.Response, error) {
	return &http.Response{Status: http.StatusText(a.status), StatusCode: a.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: q, ContentLength: -1,
		Header: http.Header{"Content-Type": {a.contentType}, "Etag": {a.body}, "Retry-After": {a.body}}, Body: io.NopCloser(strings.NewReader(a.body))}, nil
}

// FuzzAnswer asserts for any answer of a service, or of something else at its
// address: the client returns a value or an error, and an answer that
// refuses is an error with its status.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{`{"success":true,"sites":[{"site_id":"a"}],"count":1}`, `{"success":false,"status":"error","error":"Unauthorized"}`, `{}`, `null`, `[]`, `{"sites":null}`,
		"<html>", `{"token":"a.eyJleHAiOjF9.b"}`, `{"token":"a..b"}`, "\x1b[2J", ""} {
		f.Add(200, "application/json", body)
		f.Add(429, "text/html", body)
		f.Add(304, "", body)
	}
	f.Fuzz(func(t *testing.T, status int, contentType, body string) {
		if status < 200 || status > 599 {
			t.Skip("no final status")
		}
		c := client.New(client.Options{Transport: answering{status, contentType, body}, Credential: "opa_prod_x"})
		sites, err := c.Sites(t.Context(), api.ListQuery{})
		if err == nil && (sites == nil || status >= 400) || err != nil && err.Error() == "" {
			t.Fatalf("HTTP %d %q: %+v, %v", status, body, sites, err)
		}
		var refused *api.Error
		if errors.As(err, &refused) && status >= 400 && refused.Status != status {
			t.Fatalf("HTTP %d %q became %+v", status, body, refused)
		}
		if in, err := c.Login(t.Context(), "ana", "secret"); err == nil && (in == nil || status >= 400) {
			t.Fatalf("HTTP %d %q: signed in with %+v", status, body, in)
		}
	})
}
