//go:build !gateway

package objects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"
	"golang.org/x/sync/singleflight"

	"app.sunloop/backend/store"
)

// limits are what parts of the work with a bucket may take, tries included.
type limits struct {
	call  time.Duration // of a request without an object, and until a reading begins
	part  time.Duration // of one that sends an object or a part of one
	idle  time.Duration // while reading, until the next bytes come
	ready time.Duration // of a look at the bucket for [Store.Ready]
	tries int           // of a request, the first among them
	count int           // of objects that [Store.Usage] looks at; a request for each thousand
	probe time.Duration // first pause before a bucket that is down is looked at again; 0: never
}

var usual = limits{call: 30 * time.Second, part: 2 * time.Minute, idle: 30 * time.Second, ready: 10 * time.Second, tries: 4, count: 20_000, probe: time.Second}

// longestWait is how long a further try waits for its turn.
const longestWait = 5 * time.Second

// maxFolder is the longest folder of a bucket in bytes: with the longest key it
// stays below the 1,024 that S3 takes.
const maxFolder = 256

// remote is a bucket that other processes write to as well: none of its
// contents is cached.
type remote struct {
	client    *s3.Client
	transport *http.Transport
	bucket    string
	folder    string // empty, or with a "/" at its end
	options   s3blob.Options
	limits    limits
	log       *slog.Logger

	mu        sync.Mutex
	owed      int // bytes of the trial before the bucket is ready; none: 0
	looks     singleflight.Group
	trial     string // key of what a look has written and not removed; of one look at a time
	ailing    string // why the last probe found no bucket; as above
	uncounted atomic.Bool
	down      atomic.Pointer[error] // why the bucket is known not to work; nil while it does
	probing   bool                  // guarded by mu

	life context.Context // of the sweep and of checks, which belong to no request
	end  context.CancelFunc
	work sync.WaitGroup
}

// OpenBucket stores objects in a folder of a bucket, s3://bucket/folder, which
// any number of processes may share. The folder may be empty; then the bucket
// must be for the objects only. Parameters are those of
// gocloud.dev/blob/s3blob, such as region, endpoint and use_path_style;
// credentials are those of AWS's default chain. Only an invalid URI is an
// error: [Store.Ready] reports whether the bucket can be used. The bucket's own
// error messages go to log, which may be nil; errors name neither the endpoint
// nor the bucket.
func OpenBucket(ctx context.Context, uri string, log *slog.Logger) (*Store, error) {
	s, err := openBucket(ctx, uri, log, usual)
	if err != nil {
		return nil, fmt.Errorf("open objects in %s: %w", redactURI(uri), err)
	}
	s.remote.work.Go(func() { s.remote.sweep(s.remote.life, abandoned) })
	return s, nil
}

func openBucket(ctx context.Context, uri string, log *slog.Logger, l limits) (*Store, error) {
	u, err := parseURI(uri)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "s3" {
		return nil, errors.New("it does not begin with s3://")
	}
	folder := strings.TrimSuffix(strings.TrimPrefix(u.Path, "/"), "/")
	if folder != "" {
		for part := range strings.SplitSeq(folder, "/") {
			if !safe(part) || len(folder) > maxFolder {
				return nil, errors.New("its folder is too long, or has characters other than letters, digits, . _ and -")
			}
		}
		folder += "/"
	}
	var transport *http.Transport
	bucket, client, options, err := dial(ctx, u.Host, u.RawQuery, log, func(o *s3.Options) {
		base, ok := o.HTTPClient.(*awshttp.BuildableClient)
		if !ok {
			base = awshttp.NewBuildableClient()
		}
		transport = base.WithTransportOptions(func(t *http.Transport) { // a private authority's certificate (AWS_CA_BUNDLE) stays
			t.MaxIdleConnsPerHost = 64 // writers and readers at a time, without new connections
			t.ResponseHeaderTimeout = l.call
		}).GetTransport()
		o.HTTPClient = &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		o.Retryer = retry.NewStandard(func(s *retry.StandardOptions) {
			s.MaxAttempts, s.MaxBackoff, s.RateLimiter = l.tries, longestWait, ratelimit.None
			// What S3 answers to a writer that another was in the way of.
			s.Retryables = append(s.Retryables, retry.RetryableErrorCode{Codes: map[string]struct{}{codeConflict: {}}})
		})
	})
	if err != nil {
		return nil, err
	}
	if client.Options().Region == "" {
		return nil, errors.New("it names no region, as in ?region=eu-central-1, and neither does the environment")
	}
	if folder != "" {
		bucket = blob.PrefixedBucket(bucket, folder)
	}
	s := newStore(bucket)
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	s.remote = &remote{
		client: client, transport: transport, bucket: u.Host, folder: folder, options: options, limits: l,
		log: cmp.Or(log, slog.New(slog.DiscardHandler)), owed: 1, life: life, end: end,
	}
	return s, nil
}

// checkBucket returns nil: this build has buckets.
func checkBucket() error { return nil }

// dialBucket opens a bucket to read from. Nothing is sent.
func dialBucket(ctx context.Context, bucket, params string) (*blob.Bucket, error) {
	b, _, _, err := dial(ctx, bucket, params, nil)
	return b, err
}

// dial opens a bucket by a URI's parameters, which s3blob reads, with further
// options of its client. Nothing is sent.
func dial(ctx context.Context, bucket, params string, log *slog.Logger, tune ...func(*s3.Options)) (*blob.Bucket, *s3.Client, s3blob.Options, error) {
	opener := new(s3blob.URLOpener)
	plain, err := opener.OpenBucketURL(ctx, &url.URL{Scheme: s3blob.Scheme, Host: bucket, RawQuery: params})
	if err != nil {
		return nil, nil, opener.Options, err
	}
	var client *s3.Client
	if known := plain.As(&client); !known || plain.Close() != nil {
		return nil, nil, opener.Options, errors.New("the bucket has no client of S3")
	}
	client = s3.New(client.Options(), append(tune, func(o *s3.Options) {
		o.Logger, o.DisableLogOutputChecksumValidationSkipped = logging.Nop{}, true // it writes to standard error
		renewCredentials(o, log, func(ctx context.Context) (aws.CredentialsProvider, error) {
			return credentialsOf(ctx, bucket, params)
		})
	})...)
	opened, err := s3blob.OpenBucket(ctx, client, bucket, &opener.Options)
	return opened, client, opener.Options, err
}

func (b *remote) close() {
	b.mu.Lock()
	b.end() // under the lock: no probe begins after it
	b.mu.Unlock()
	b.work.Wait()
	b.transport.CloseIdleConnections()
}

// at is where an object lies in the bucket.
func (b *remote) at(key string) *string { return aws.String(b.folder + key) }

// delete removes an object, without asking whether there is one.
func (b *remote) delete(ctx context.Context, key string) error {
	within, done := store.Bound(ctx, store.Bucket, b.limits.call)
	defer done()
	_, err := b.client.DeleteObject(within, &s3.DeleteObjectInput{Bucket: &b.bucket, Key: b.at(key)})
	return b.fault(ctx, deleting, key, err)
}

// open begins to read an object.
func (b *remote) open(ctx context.Context, bucket *blob.Bucket, key string) (io.ReadCloser, error) {
	within, cancel := context.WithCancelCause(ctx)
	s := &stream{b: b, ctx: ctx, key: key, cancel: cancel}
	var err error
	s.bounded(b.limits.call, func() { s.r, err = bucket.NewReader(within, key, nil) }) //nolint:contextcheck // the stream has it
	if err != nil {
		err = s.classify(within, err)
		cancel(nil)
		return nil, err
	}
	s.within = within
	return s, nil
}

// stream reads an object. A bucket that stalls ends it.
type stream struct {
	b           *remote
	ctx, within context.Context // the caller's, and that of the request
	key         string
	r           io.ReadCloser
	cancel      context.CancelCauseFunc
}

// bounded runs a step of the reading. If it takes longer than limit, or than the
// request may still wait, the reading ends.
func (s *stream) bounded(limit time.Duration, step func()) {
	bound, done := store.Bound(s.ctx, store.Bucket, limit)
	stop := context.AfterFunc(bound, func() { s.cancel(context.Cause(bound)) })
	step()
	stop()
	done()
}

// Read continues reading; its errors are the bucket's, worded for
// unauthenticated clients.
func (s *stream) Read(p []byte) (int, error) {
	var n int
	var err error
	s.bounded(s.b.limits.idle, func() { n, err = s.r.Read(p) })
	if err != nil && err != io.EOF { //nolint:errorlint // a line that breaks may be an error that wraps it
		err = s.classify(s.within, err)
	}
	return n, err
}

func (s *stream) classify(within context.Context, err error) error {
	if s.ctx.Err() == nil && within.Err() != nil { // stalled, which the transport calls cancelled
		err = fmt.Errorf("%w: %w", context.Cause(within), err)
	}
	return s.b.fault(s.ctx, reading, s.key, err) //nolint:contextcheck // the context of the reader
}

// Close ends the reading.
func (s *stream) Close() error {
	err := s.r.Close()
	s.cancel(nil)
	return s.b.fault(s.ctx, reading, s.key, err) //nolint:contextcheck // the context of the reader
}

// mark is the metadata by which a writer recognises its own object.
const mark = "sunloop-put"

// markOf returns the mark of an object, or
// [app.sunloop/backend/store.ErrNotFound].
func (b *remote) markOf(ctx context.Context, key string) (string, error) {
	within, done := store.Bound(ctx, store.Bucket, b.limits.call)
	defer done()
	head, err := b.client.HeadObject(within, &s3.HeadObjectInput{Bucket: &b.bucket, Key: b.at(key)})
	if err != nil {
		return "", b.fault(ctx, reading, key, err)
	}
	return head.Metadata[mark], nil
}
