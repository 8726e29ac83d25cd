//go:build !windows

package resilience

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/servetest"
	"app.sunloop/backend/store/s3test"
)

// failover: the primary database is killed under load and its standby promoted.
// The replicas say that they are not ready and find their way by themselves, by
// the standby's name or by a pooler that is led there.
func (c *cluster) failover(w *crowd, keys []string) {
	ctx, cancel := context.WithCancel(c.t.Context())
	stopped := w.press(ctx, c.front.URL, keys)
	defer func() { cancel(); <-stopped }()
	c.goesOn(w, time.Now(), "order")
	c.goesOn(w, time.Now(), "upload")
	w.book.logged = c.logged // a record of the trail follows its change by a moment
	killed := time.Now()
	c.primary.Kill()
	c.notReady()
	c.standby.Promote(c.t)
	promoted := time.Now()
	if c.pooler != nil {
		c.pooler.Retarget(c.t, c.standby.URL(c.database))
	}
	took := c.goesOn(w, promoted)
	c.await(replicas)
	all := time.Since(promoted)
	c.goesOn(w, time.Now(), "order")
	c.goesOn(w, time.Now(), "upload")
	c.stillRun()
	c.t.Logf("the database was away for %s; %s after the standby took its place a write was acknowledged, after %s all replicas were ready",
		promoted.Sub(killed).Round(time.Millisecond), took.Round(time.Millisecond), all.Round(time.Millisecond))
}

// notReady waits until each replica has said that it is not ready.
func (c *cluster) notReady() {
	c.t.Helper()
	for i := range replicas {
		g := &goer{url: c.replica(i).URL, http: http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
		for late := time.Now().Add(servetest.ReadyWithin); ; time.Sleep(20 * time.Millisecond) {
			status, answer, _, err := g.ask(c.t.Context(), http.MethodGet, api.PathReady, "", nil)
			if err != nil {
				c.t.Fatalf("replica %d: %v\n%s", i, err, c.logs())
			}
			if status == http.StatusServiceUnavailable {
				break
			}
			if time.Now().After(late) {
				c.t.Fatalf("replica %d answers %d %s", i, status, answer)
			}
		}
	}
}

// bucketAway: without a bucket, and with one that is full, no file is taken,
// and the answer says why; with it files are taken again.
func (c *cluster) bucketAway(t *testing.T, w *crowd, keys []string) {
	ctx, cancel := context.WithCancel(t.Context())
	stopped := w.press(ctx, c.front.URL, keys)
	defer func() { cancel(); <-stopped }()
	for _, outage := range []struct {
		name, sentence string
		begin, end     func()
	}{
		{"away", "the bucket of the objects cannot be reached", c.bucket.Stop, func() {
			if err := c.bucket.Restart(); err != nil {
				t.Fatal(err)
			}
		}},
		{"full", api.ErrNoRoom.Details["reason"].(string), func() {
			full := s3test.Refuse(http.StatusInsufficientStorage, "InsufficientStorage")
			c.line.Choose(func(r *http.Request) s3test.Fault {
				if r.Method == http.MethodPut {
					return full
				}
				return nil
			})
		}, func() { c.line.Choose(nil) }},
	} {
		c.goesOn(w, time.Now(), "upload")
		outage.begin()
		var all sync.WaitGroup
		for i := range replicas {
			all.Go(func() {
				v := visitorAt(c.replica(i).URL, keys[i])
				defer v.Close()
				_, _, _, csv := file(0)
				_, err := v.UploadNowcast(t.Context(), api.UploadRequest{CustomerID: "refused", SiteID: "refused", Region: "eu", Location: "48.2,16.4", Timezone: "UTC", CapacityKW: 100}, strings.NewReader(csv), nil)
				var refusal *api.Error
				if !errors.As(err, &refusal) || refusal.Status != http.StatusServiceUnavailable || refusal.Details["reason"] != outage.sentence {
					t.Errorf("with the bucket %s replica %d answers %v, %+v", outage.name, i, err, refusal)
				}
			})
		}
		all.Wait()
		c.stillRun()
		outage.end()
		c.await(replicas)
		t.Logf("files were taken again %s after the bucket was there", c.goesOn(w, time.Now(), "upload").Round(time.Millisecond))
	}
	root := at(c.front.URL, c.askers...)
	defer root.Close()
	if list, err := root.Uploads(t.Context(), api.ListQuery{CustomerID: "refused"}); err != nil || len(list.Uploads) != 0 {
		t.Errorf("of files that were refused is kept %+v, %v", list, err)
	}
}
