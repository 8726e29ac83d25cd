package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
)

// HealthCmd asks a service whether it can work.
type HealthCmd struct {
	URL     string        `arg:"" optional:"" default:"http://127.0.0.1:8080" help:"The service, with its --prefix, or its listener of --metrics (${default})."`
	Timeout time.Duration `default:"5s" placeholder:"DURATION" help:"For which an answer is waited (${default})."`
	TrustFlags
}

// maxReadiness bounds the answer that is read, in bytes.
const maxReadiness = 64 << 10

// Run prints "ready", or fails with the parts that are not.
func (c *HealthCmd) Run(ctx context.Context, std streams) error {
	if u, err := url.Parse(c.URL); err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return fmt.Errorf("health wants a URL such as http://127.0.0.1:8080, not %q", c.URL)
	}
	trust, err := c.trust()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(c.URL, "/")+api.PathReady, nil)
	if err != nil {
		return err
	}
	// No proxy and no redirect: the service itself is asked.
	transport := &http.Transport{TLSClientConfig: trust, DisableKeepAlives: true}
	caller := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := caller.Do(req)
	if err != nil {
		return inWords(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		_, err := fmt.Fprintln(std.out, "ready")
		return err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReadiness))
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if wantsTLS(resp.StatusCode, body) {
		return errWantsTLS(req.URL)
	}
	var answer struct {
		Details struct {
			NotReady map[string]string `json:"not_ready"`
		} `json:"details"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || len(answer.Details.NotReady) == 0 {
		return fmt.Errorf("it answers %s, and not whether it is ready", resp.Status)
	}
	var parts []string
	for _, part := range slices.Sorted(maps.Keys(answer.Details.NotReady)) {
		parts = append(parts, part+": "+answer.Details.NotReady[part])
	}
	return errors.New("not ready: " + strings.Join(parts, "; "))
}

// wantsTLS reports whether an answer is that of a TLS listener to a request
// without TLS, as net/http writes it.
func wantsTLS(status int, body []byte) bool {
	return status == http.StatusBadRequest && bytes.HasPrefix(body, []byte("Client sent an HTTP request to an HTTPS server"))
}

// errWantsTLS says how a service is reached that was asked without TLS.
func errWantsTLS(asked *url.URL) error {
	return fmt.Errorf("no answer from %s://%s: it speaks https; use https://%s", asked.Scheme, asked.Host, asked.Host)
}
