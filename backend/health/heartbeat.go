package health

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"app.sunloop/internal/clock"
)

// Figures of the heartbeat.
const (
	heartbeatEvery = time.Minute
	heartbeatFor   = 10 * time.Second // a call takes at most
	maxHeartbeat   = 4 << 10          // bytes that are read of a response
)

// Heartbeat calls a URL each minute while the service is well, so that a watchdog
// elsewhere notices when it is not, or is dead. The URL is a secret: neither the log nor
// an error contains it.
type Heartbeat struct {
	URL string
	// Unwell returns why the service is not well; empty if it is.
	Unwell func(ctx context.Context) []string
	Log    *slog.Logger
	// Wait waits between two calls; nil: on the wall clock.
	Wait func(ctx context.Context, d time.Duration) error
}

// CheckHeartbeat validates the URL of a heartbeat. Its errors do not contain it.
func CheckHeartbeat(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return errors.New("the URL of the heartbeat is not one with https:// or http:// and a host")
	}
	return nil
}

// Run calls until ctx ends. A change between well and unwell, and between calls that
// arrive and calls that fail, is logged once.
func (h *Heartbeat) Run(ctx context.Context) {
	wait := h.Wait
	if wait == nil {
		wait = clock.Sleep
	}
	client := &http.Client{Timeout: heartbeatFor, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}}
	state := ""
	for {
		now := h.beat(ctx, client)
		if ctx.Err() != nil {
			return
		}
		switch {
		case now != "" && now != state:
			h.Log.Warn("heartbeat not sent", "reason", now)
		case now == "" && state != "":
			h.Log.Info("heartbeat sent again")
		}
		state = now
		if wait(ctx, heartbeatEvery) != nil {
			return
		}
	}
}

// beat makes one call, if the service is well. It returns why none arrived.
func (h *Heartbeat) beat(ctx context.Context, client *http.Client) string {
	if reasons := h.Unwell(ctx); len(reasons) > 0 {
		slices.Sort(reasons)
		return "the service is not well: " + strings.Join(reasons, "; ")
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, h.URL, http.NoBody)
	if err != nil {
		return "the URL cannot be read"
	}
	q.Header.Set("User-Agent", "Sunloop-Heartbeat/1")
	r, err := client.Do(q)
	if err != nil {
		var name *net.DNSError
		var late net.Error
		switch {
		case errors.As(err, &name):
			return "the name of the watchdog does not resolve"
		case errors.As(err, &late) && late.Timeout():
			return "the watchdog did not answer in time"
		}
		return "the watchdog was not reachable"
	}
	defer r.Body.Close()
	_, _ = io.CopyN(io.Discard, r.Body, maxHeartbeat)
	if r.StatusCode < 200 || r.StatusCode > 299 {
		return fmt.Sprintf("the watchdog answered %d", r.StatusCode)
	}
	return ""
}
