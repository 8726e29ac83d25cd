package feed

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"app.sunloop/backend/client"
	"app.sunloop/engine/simulate"
)

// TestLiveSendsWhatWasRefused plays live samples to a service that refuses the first upload
// of each site, and whose session ends on the way: every sample is sent, each once, and the
// place that is kept is never ahead of what the service took.
func TestLiveSendsWhatWasRefused(t *testing.T) {
	begin := time.Date(2026, 4, 15, 8, 0, 0, 0, time.UTC)
	fleet := simulate.Demo(1, begin.AddDate(0, 0, -2), begin)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var (
		mu        sync.Mutex
		stamps    = map[string][]string{} // that the service took, by site
		refused   = map[string]bool{}
		signedIn  = true
		signedOut bool
		kept      time.Time
	)
	stamp := regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\dZ?`)
	const enough = 12 // steps of each site
	service := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		site := ""
		for _, s := range fleet.Sites {
			if strings.Contains(string(body), s.ID+"_live.csv") {
				site = s.ID
			}
		}
		switch {
		case err != nil || site == "":
			t.Errorf("an upload without a site: %v", err)
		case !signedIn:
			w.WriteHeader(http.StatusUnauthorized)
			return
		case !refused[site]:
			refused[site] = true
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		case !signedOut && len(stamps[site]) > 0: // the next upload finds the session ended
			signedOut, signedIn = true, false
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		for _, at := range stamp.FindAllString(string(body), -1) {
			if all := stamps[site]; len(all) == 0 || all[len(all)-1] != at {
				stamps[site] = append(all, at)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"success":true}`)
		done := 0
		for _, s := range stamps {
			if len(s) >= enough {
				done++
			}
		}
		if done == len(fleet.Sites) {
			cancel()
		}
	})
	p := Player{
		Client: client.New(client.Options{Transport: client.InProcess(service)}), Fleet: fleet, Step: 5 * time.Minute, Log: slog.New(slog.DiscardHandler),
		Clock: NewClock(begin, 300, time.Now),
		SignIn: func(context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			signedIn = true
			return nil
		},
		Sent: func(until time.Time) {
			mu.Lock()
			defer mu.Unlock()
			if until.Before(kept) {
				t.Errorf("the kept place goes back from %v to %v", kept, until)
			}
			kept = until
		},
	}
	if err := p.Live(ctx); err != nil {
		t.Fatal(err)
	}
	if !signedOut || !signedIn {
		t.Errorf("the session ended: %v, and began again: %v", signedOut, signedIn)
	}
	for site, all := range stamps {
		for i, at := range all {
			if want := begin.Add(time.Duration(i) * p.Step).Format("2006-01-02T15:04:05Z"); at != want {
				t.Fatalf("%s: sample %d is of %s, not %s", site, i, at, want)
			}
		}
		if last := begin.Add(time.Duration(len(all)) * p.Step); kept.After(last) {
			t.Errorf("kept %v, but %s has samples before %v only", kept, site, last)
		}
	}
}
