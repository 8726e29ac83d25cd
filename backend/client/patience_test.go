package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// A service that refuses some times, then answers.
func refusing(times, status int, after string) (http.Handler, *int) {
	asked := 0
	return handler(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked <= times {
			w.Header().Set("Retry-After", after)
			writeJSON(w, status, api.ErrorBody{Status: "error", Error: http.StatusText(status)})
			return
		}
		writeJSON(w, http.StatusOK, map[string]any{"success": true, "sites": []any{}})
	}), &asked
}

func TestRetryAfter(t *testing.T) {
	list := func(ctx context.Context, c *client.Client) error {
		_, err := c.Sites(ctx, api.ListQuery{})
		return err
	}
	create := func(ctx context.Context, c *client.Client) error {
		_, err := c.AddAsset(ctx, api.Asset{AssetID: "a"})
		return err
	}
	upload := func(ctx context.Context, c *client.Client) error {
		_, err := c.UploadNowcast(ctx, api.UploadRequest{SiteID: "s"}, strings.NewReader("a,b"), nil)
		return err
	}
	once := func(ctx context.Context, c *client.Client) error {
		return create(client.WithIdempotencyKey(ctx, "k"), c)
	}
	for _, c := range []struct {
		name          string
		call          func(context.Context, *client.Client) error
		times, status int
		after         string
		patience      time.Duration
		asked         int
		waited        time.Duration
		refused       bool
	}{
		{"a read waits for Retry-After", list, 2, 429, "7", time.Minute, 3, 14 * time.Second, false},
		{"a service that is busy", list, 1, 503, "3", time.Minute, 2, 3 * time.Second, false},
		{"without patience", list, 1, 429, "7", 0, 1, 0, true},
		{"patience ends", list, 9, 429, "25", time.Minute, 3, 50 * time.Second, true},
		{"no Retry-After", list, 1, 503, "", time.Minute, 1, 0, true},
		{"Retry-After is a date", list, 1, 503, "Wed, 21 Oct 2015 07:28:00 GMT", time.Minute, 1, 0, true},
		{"another refusal", list, 1, 409, "7", time.Minute, 1, 0, true},
		{"a write beyond the rate was not looked at", create, 1, 429, "7", time.Minute, 2, 7 * time.Second, false},
		{"a write that may have been done", create, 1, 503, "7", time.Minute, 1, 0, true},
		{"a write that is done once", once, 1, 503, "7", time.Minute, 2, 7 * time.Second, false},
		{"a file is read but once", upload, 1, 429, "7", time.Minute, 1, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, asked := refusing(c.times, c.status, c.after)
			var waited time.Duration
			cl := client.New(client.Options{Transport: client.InProcess(h), Credential: "key", MaxRetryWait: c.patience,
				Wait: func(_ context.Context, d time.Duration) error { waited += d; return nil }})
			defer cl.Close()
			err := c.call(t.Context(), cl)
			var refused *api.Error
			if errors.As(err, &refused) != c.refused || err != nil && !c.refused || *asked != c.asked || waited != c.waited {
				t.Errorf("asked %d times, waited %v: %v", *asked, waited, err)
			}
		})
	}
}

// Waiting ends with the context.
func TestRetryEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := httptest.NewServer(handler(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		writeJSON(w, http.StatusTooManyRequests, api.ErrorBody{Status: "error", Error: "Too many requests"})
		cancel()
	}))
	defer s.Close()
	c := client.New(client.Options{BaseURL: s.URL, MaxRetryWait: 2 * time.Hour})
	defer c.Close()
	if _, err := c.Sites(ctx, api.ListQuery{}); !errors.Is(err, context.Canceled) {
		t.Errorf("it waited: %v", err)
	}
}
