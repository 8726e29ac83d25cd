package httpapi_test

import (
	"net/http"
	"testing"
)

// TestSnapshotMayBeKept: a partner's client may keep a snapshot for a minute,
// and asks then whether it is still the same.
func TestSnapshotMayBeKept(t *testing.T) {
	w := newWorld(t, nil)
	const url = "/forecast-snapshot?site_id=" + ownSite
	r := w.as("own", http.MethodGet, url, "")
	tag := r.Header().Get("ETag")
	if r.Code != 200 || tag == "" || r.Header().Get("Cache-Control") != "private, max-age=60" {
		t.Fatalf("%d, %v", r.Code, r.Header())
	}
	r = w.as("own", http.MethodGet, url, "", "If-None-Match", tag)
	if r.Code != 304 || r.Body.Len() != 0 || r.Header().Get("ETag") != tag || r.Header().Get("Cache-Control") != "private, max-age=60" {
		t.Errorf("again: %d %q, %v", r.Code, r.Body, r.Header())
	}
}
