package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// Limits of a call.
const (
	TimeOut       = 15 * time.Second
	maxResponse   = 64 << 10
	maxRetryAfter = 24 * time.Hour // that a Retry-After is heeded for
)

// Delivery is an event to be sent to a URL.
type Delivery struct {
	ID      string // of the message: the same in each attempt
	URL     string
	Secrets []string // each signs
	Body    []byte
	Attempt int // 1 at the first
	// Origin of the event; both may be empty.
	RequestID, Trace string
}

// PostResult is the result of an attempt.
type PostResult struct {
	At         time.Time
	Status     int           // of the answer; 0: there was none
	Failure    string        // reason; empty: it was received
	Gone       bool          // the endpoint refuses further events
	RetryAfter time.Duration // that the place asks for
	Next       time.Time     // of the next attempt, or zero
}

// Wrap replaces the transport of all calls by its result. It is called before
// the first of them.
func (p *Poster) Wrap(wrap func(http.RoundTripper) http.RoundTripper) {
	p.client.Transport = wrap(p.client.Transport)
}

// Poster makes the calls. It is safe for concurrent use.
type Poster struct {
	client *http.Client
	calls  *http.Transport
	now    func() time.Time
}

// NewClient returns a client that connects only to what the guard allows, uses no
// proxy, follows no redirect and has a time limit for a call.
func NewClient(g *Guard) *http.Client {
	return &http.Client{
		Timeout:       TimeOut,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: nil, DialContext: g.dial, TLSHandshakeTimeout: TimeOut, ForceAttemptHTTP2: true,
			MaxIdleConns: 32, MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: maxResponse,
		},
	}
}

// NewPoster calls what the guard allows. now is the real clock.
func NewPoster(g *Guard, now func() time.Time) *Poster {
	client := NewClient(g)
	return &Poster{now: now, calls: client.Transport.(*http.Transport), client: client}
}

// Close drops idle connections.
func (p *Poster) Close() { p.calls.CloseIdleConnections() }

// Post makes one attempt. The response's body is read up to a limit and
// discarded.
func (p *Poster) Post(ctx context.Context, d Delivery) PostResult {
	out := PostResult{At: p.now()}
	signature, err := Sign(d.Secrets, d.ID, out.At, d.Body)
	if err != nil {
		out.Failure = "its secret cannot be read"
		return out
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL, bytes.NewReader(d.Body))
	if err != nil {
		out.Failure = "its URL cannot be read"
		return out
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("User-Agent", "Sunloop-Webhooks/1")
	q.Header.Set(HeaderID, d.ID)
	q.Header.Set(HeaderTimestamp, strconv.FormatInt(out.At.Unix(), 10))
	q.Header.Set(HeaderSignature, signature)
	r, err := p.client.Do(q)
	out.At = p.now()
	if err != nil {
		out.Failure = FailureText(err)
		return out
	}
	defer r.Body.Close()
	_, _ = io.CopyN(io.Discard, r.Body, maxResponse)
	out.Status = r.StatusCode
	switch {
	case r.StatusCode >= 200 && r.StatusCode < 300:
		return out
	case r.StatusCode == http.StatusGone:
		out.Gone = true
	case r.StatusCode >= 300 && r.StatusCode < 400:
		out.Failure = fmt.Sprintf("HTTP %d: redirects are not followed", r.StatusCode)
		return out
	}
	out.Failure = fmt.Sprintf("HTTP %d", r.StatusCode)
	out.RetryAfter = RetryAfter(r.Header.Get("Retry-After"), out.At)
	return out
}

// FailureText describes the error of a failed call without details of the remote network.
func FailureText(err error) string {
	var timeOut net.Error
	var name *net.DNSError
	if r, ok := refusal(err); ok {
		return "it is refused: " + r.Why
	}
	switch {
	case errors.As(err, &timeOut) && timeOut.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("it did not answer within %d s", int(TimeOut.Seconds()))
	case errors.As(err, &name):
		return "its name does not resolve"
	}
	return "the endpoint was not reachable"
}

// RetryAfter reads the value of the header Retry-After: seconds, or a time. It is at most
// a day, and zero without a value.
func RetryAfter(text string, now time.Time) time.Duration {
	wait := time.Duration(0)
	if seconds, err := strconv.Atoi(text); err == nil {
		wait = time.Duration(min(max(seconds, 0), int(maxRetryAfter.Seconds()))) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}
