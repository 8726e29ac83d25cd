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
	URL        string        `arg:"" optional:"" default:"http://127.0.0.1:8080" help:"URL of the service, with its --prefix, or of its --metrics listener (${default})."`
	Capability string        `placeholder:"NAME" help:"Capability that must work: reads, writes, uploads, jobs or mail (reads)."`
	Timeout    time.Duration `default:"5s" placeholder:"DURATION" help:"Time to wait for a response (${default})."`
	TrustFlags
}

// maxReadiness bounds the answer that is read, in bytes.
const maxReadiness = 64 << 10

// Run prints "ready" and the parts that are not, or fails with these.
func (c *HealthCmd) Run(ctx context.Context, std streams) error {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return fmt.Errorf("health: invalid URL %q; example: http://127.0.0.1:8080", c.URL)
	}
	trust, err := c.trust(u)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	address := strings.TrimRight(c.URL, "/") + api.PathReady
	if c.Capability != "" {
		address += "?" + url.Values{"capability": {c.Capability}}.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	// No proxy and no redirect: the service itself is asked.
	transport := &http.Transport{TLSClientConfig: trust, DisableKeepAlives: true}
	caller := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := caller.Do(req)
	if err != nil {
		return clientError(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReadiness))
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if wantsTLS(resp.StatusCode, body) {
		return errWantsTLS(req.URL)
	}
	var answer struct {
		api.Readiness
		Details struct {
			NotReady map[string]string `json:"not_ready"`
			Reason   string            `json:"reason"`
		} `json:"details"`
	}
	err = json.Unmarshal(body, &answer)
	switch {
	case err == nil && resp.StatusCode == http.StatusOK:
		fmt.Fprintln(std.out, "ready")
		if len(answer.NotReady) > 0 {
			fmt.Fprintln(std.out, "unavailable: "+partsNotReady(answer.NotReady))
		}
		return nil
	case err == nil && len(answer.Details.NotReady) > 0:
		return errors.New("not ready: " + partsNotReady(answer.Details.NotReady))
	case err == nil && resp.StatusCode == http.StatusBadRequest && c.Capability != "":
		return fmt.Errorf("--capability: invalid value %q: %s", c.Capability, answer.Details.Reason)
	}
	return fmt.Errorf("it answers %s, and not whether it is ready", resp.Status)
}

// partsNotReady are the parts with their reasons, in one line.
func partsNotReady(parts map[string]string) string {
	var all []string
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		all = append(all, part+": "+parts[part])
	}
	return strings.Join(all, "; ")
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
