// Package client speaks the contract of backend/api as typed calls: over a
// network, or through [InProcess] to a handler of the same process. Refusals
// of the service come back as *[api.Error]; any other error means that no
// answer was had.
//
// The polling reads are conditional: a client remembers the tag of its last
// answers, and where the service says that nothing changed, the call returns
// the very pointer that it returned before. What a call returns is therefore
// shared and must not be changed.
package client

import (
	"context"
	"crypto/tls"
	"net/http"
	"strings"
	"sync"
	"time"

	"app.sunloop/internal/clock"
	"github.com/go-resty/resty/v2"
)

// MaxResponseBytes bounds the body of an answer.
const MaxResponseBytes = 64 << 20

// Options of a client.
type Options struct {
	BaseURL    string            // empty with an in-process transport
	Transport  http.RoundTripper // nil: the network
	Credential string            // API key or token; may come later
	UserAgent  string
	TLS        *tls.Config // only with a nil Transport

	// MaxRetryWait is how long a call may wait in all if the service asks for a
	// retry (429 and 503 with Retry-After); 0: it does not wait. Only calls
	// that may be sent twice are sent again: reads, refusals for the rate, and
	// those with an Idempotency-Key. What streams a file is not.
	MaxRetryWait time.Duration
	// Wait is how time passes between two tries; nil: a timer.
	Wait func(ctx context.Context, d time.Duration) error

	// Now turns on the renewal of a user's token in its last quarter.
	Now func() time.Time
	// OnToken is called with each renewed token, so that it may be stored.
	OnToken func(token string)
	// StoredToken returns the token that is kept where OnToken keeps it; optional. Another
	// process may have renewed it: a second renewal of the same token would end
	// the session of both.
	StoredToken func() string
}

// Client is safe for concurrent use.
type Client struct {
	http    *resty.Client
	base    string // as in Options
	now     func() time.Time
	onToken func(string)
	kept    func() string
	answers answers

	patience time.Duration
	wait     func(context.Context, time.Duration) error

	mu         sync.Mutex
	credential string
	renewing   sync.Mutex
	unanswered string // credential whose renewal had no answer; guarded by renewing
}

// New makes a client. It sends nothing yet.
func New(o Options) *Client {
	transport := o.Transport
	if transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.TLSClientConfig = o.TLS
		transport = t
	}
	base := strings.TrimRight(o.BaseURL, "/")
	if base == "" {
		base = "http://sunloop"
	}
	h := resty.NewWithClient(&http.Client{
		Transport: transport,
		// A redirect would carry the credential to another place.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}).
		SetBaseURL(base).
		SetResponseBodyLimit(MaxResponseBytes).
		SetDisableWarn(true).
		SetLogger(silent{})
	h.SetPreRequestHook(withStream)
	if o.UserAgent != "" {
		h.SetHeader("User-Agent", o.UserAgent)
	}
	wait := o.Wait
	if wait == nil {
		wait = clock.Sleep
	}
	return &Client{http: h, base: strings.TrimRight(o.BaseURL, "/"), now: o.Now, onToken: o.OnToken, kept: o.StoredToken, credential: o.Credential, patience: o.MaxRetryWait, wait: wait}
}

// BaseURL is the address of the service; empty with an in-process transport.
func (c *Client) BaseURL() string { return c.base }

// SetCredential changes the API key or token of the calls to come. Remembered
// answers are forgotten, as they were another's.
func (c *Client) SetCredential(credential string) {
	c.mu.Lock()
	changed := c.credential != credential
	c.credential = credential
	c.mu.Unlock()
	if changed {
		c.answers.clear()
	}
}

// Credential is the API key or token in use.
func (c *Client) Credential() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.credential
}

// Close drops idle connections.
func (c *Client) Close() { c.http.GetClient().CloseIdleConnections() }

// silent keeps resty's own words out of a terminal that shows a console.
type silent struct{}

func (silent) Errorf(string, ...any) {}
func (silent) Warnf(string, ...any)  {}
func (silent) Debugf(string, ...any) {}
