//go:build !gateway

package objects

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob/s3blob"
)

// Bounds of reading credentials again.
const (
	renewTimeout = 3 * time.Second
	renewEvery   = time.Second // at most
	// renewedFor is how long after a change an attempt that is refused is taken
	// for one with the former credentials.
	renewedFor = 5 * time.Second
)

// credentials are those of a client of S3. Where the bucket refuses them, their
// source is read again: the SDK reads the files of AWS only once.
type credentials struct {
	load func(context.Context) (aws.CredentialsProvider, error)
	log  *slog.Logger

	mu      sync.Mutex
	current aws.CredentialsProvider
	signer  s3.HTTPSignerV4 // which keeps keys by the credentials' id alone
	read    time.Time       // when the source was read again
	changed time.Time       // when that gave other credentials
}

// renewCredentials makes a client read its credentials again, by load, when the
// bucket rejects them, and retry the request if they have changed. A client
// without credentials is unchanged. log may be nil.
func renewCredentials(o *s3.Options, log *slog.Logger, load func(context.Context) (aws.CredentialsProvider, error)) {
	retryer, ok := o.Retryer.(aws.RetryerV2)
	if o.Credentials == nil || o.Retryer != nil && !ok {
		return
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := &credentials{load: load, log: log, current: o.Credentials, signer: newSigner()}
	o.Credentials, o.HTTPSignerV4, o.AuthSchemes = c, c, nil // nil: made again, with the signer
	if retryer != nil {
		o.Retryer = renewing{retryer, c}
	}
}

// credentialsOf reads the credentials of a bucket by a URI's parameters.
func credentialsOf(ctx context.Context, bucket, params string) (aws.CredentialsProvider, error) {
	opened, err := new(s3blob.URLOpener).OpenBucketURL(ctx, &url.URL{Scheme: s3blob.Scheme, Host: bucket, RawQuery: params})
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }() // nothing was written
	var client *s3.Client
	if !opened.As(&client) {
		return nil, errors.New("the bucket has no client of S3")
	}
	return client.Options().Credentials, nil
}

// Retrieve returns the credentials as they were read last.
func (c *credentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	c.mu.Lock()
	now := c.current
	c.mu.Unlock()
	return now.Retrieve(ctx)
}

// newSigner returns a signer like that of an S3 client.
func newSigner() s3.HTTPSignerV4 {
	return v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
}

// SignHTTP signs a request.
func (c *credentials) SignHTTP(ctx context.Context, by aws.Credentials, r *http.Request, hash, service, region string, at time.Time, options ...func(*v4.SignerOptions)) error {
	c.mu.Lock()
	signer := c.signer
	c.mu.Unlock()
	return signer.SignHTTP(ctx, by, r, hash, service, region, at, options...)
}

// refused reads the credentials again after the bucket refused them. It reports
// whether they have changed, so that another attempt may do better.
func (c *credentials) refused() (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if now.Sub(c.read) >= renewEvery {
		c.read = now
		if c.renew() {
			c.changed = time.Now()
			c.log.Info("bucket credentials read again after they were refused")
		}
	}
	return now.Sub(c.changed) < renewedFor
}

// renew reads the source again. It is called with the lock held.
func (c *credentials) renew() (changed bool) {
	ctx, cancel := context.WithTimeout(context.Background(), renewTimeout)
	defer cancel()
	next, err := c.load(ctx)
	if err != nil || next == nil {
		return false
	}
	after, err := next.Retrieve(ctx)
	if err != nil {
		return false
	}
	before, err := c.current.Retrieve(ctx)
	if err == nil && before.AccessKeyID == after.AccessKeyID && before.SecretAccessKey == after.SecretAccessKey && before.SessionToken == after.SessionToken {
		return false
	}
	c.current, c.signer = next, newSigner()
	return true
}

// renewing is a retryer that also tries again, once they have changed, with
// credentials that were read again.
type renewing struct {
	aws.RetryerV2
	credentials *credentials
}

// IsErrorRetryable reports whether another attempt may do better.
func (r renewing) IsErrorRetryable(err error) bool {
	code, _ := answer(err)
	// A response to HEAD has no error code.
	if slices.Contains(refusedCredentials, code) || code == "Forbidden" || err != nil && strings.Contains(err.Error(), noIdentity) {
		return r.credentials.refused()
	}
	return r.RetryerV2.IsErrorRetryable(err)
}
