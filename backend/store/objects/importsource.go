package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/gcerrors"

	"app.sunloop/backend/store"
)

// Reasons why an external file is not read, in addition to [store.ErrNotFound].
var (
	ErrNotAllowed  = errors.New("its place is not among those that the operator allows")
	ErrTooLarge    = errors.New("it is larger than the limit")
	ErrDenied      = errors.New("its store does not let the service read it")
	ErrNoFile      = errors.New("it is not a plain file")
	ErrUnreachable = errors.New("its store cannot be reached")
	errPlaceholder = errors.New("{customer_id} is only allowed in the path")
)

// fetchTimeout is how long a file elsewhere may take from the first request
// to its last byte.
const fetchTimeout = time.Minute

// customerMark is the placeholder in an allowed prefix for the id of the
// requesting customer.
const customerMark = "{customer_id}"

// ImportSource reads files outside of the service's own store, by URL: only from
// the places that the operator allows, and never with an address or a
// credential that a caller chose. It is safe for concurrent use; nil allows
// nothing.
type ImportSource struct {
	places  []*place
	timeout time.Duration
}

// place is one allowed prefix.
type place struct {
	scheme string // "s3" or "file"
	root   string // bucket, or absolute folder
	prefix string // keys are it or lie below it; empty: all keys
	params string // query of the bucket's URL, the operator's

	mu     sync.Mutex
	bucket *blob.Bucket // opened when it is first read from
}

// Allow returns an ImportSource over prefixes such as s3://bucket/folder, to which
// the parameters of gocloud.dev/blob/s3blob may be added (region, endpoint,
// use_path_style), and file:///folder. {customer_id} in a path is replaced by
// the requesting customer, as a part of a key (see [Clean]). S3's credentials
// are those of AWS's default chain.
func Allow(prefixes ...string) (*ImportSource, error) {
	e := &ImportSource{timeout: fetchTimeout}
	for _, text := range prefixes {
		p, err := parsePlace(text)
		if err != nil {
			return nil, fmt.Errorf("allow imports from %s: %w", redactURI(text), err)
		}
		e.places = append(e.places, p)
	}
	return e, nil
}

func parsePlace(text string) (*place, error) {
	u, err := parseURI(text)
	switch {
	case err != nil:
		return nil, err
	case strings.Contains(u.Host+u.RawQuery, "{"):
		return nil, errPlaceholder
	}
	if u.Scheme == "s3" {
		if err := checkBucket(); err != nil {
			return nil, err
		}
	}
	p := &place{scheme: u.Scheme, params: u.RawQuery, root: u.Host, prefix: strings.Trim(u.Path, "/")}
	if u.Scheme == "file" {
		p.root, p.prefix = splitFolder(path.Clean(u.Path))
	}
	if p.root == "" {
		return nil, errNoPlace
	}
	return p, nil
}

// splitFolder cuts a folder before the first part that depends on the caller.
func splitFolder(folder string) (root, prefix string) {
	at := strings.Index(folder, customerMark)
	if at < 0 {
		return folder, ""
	}
	cut := strings.LastIndexByte(folder[:at], '/')
	return folder[:cut], folder[cut+1:]
}

// key is the key that a URL names in the place, if it lies within the
// customer's part of it.
func (p *place) key(uri, customerID string) (string, bool) {
	rest, ok := strings.CutPrefix(uri, p.scheme+"://")
	if !ok {
		return "", false
	}
	key, ok := strings.CutPrefix(rest, p.root+"/")
	if !ok {
		return "", false
	}
	for part := range strings.SplitSeq(key, "/") {
		if part == "" || part == "." || part == ".." {
			return "", false
		}
	}
	prefix := strings.ReplaceAll(p.prefix, customerMark, Clean(customerID))
	return key, prefix == "" || key == prefix || strings.HasPrefix(key, prefix+"/")
}

// Fetch reads the file that a URL names, for a customer. The error wraps one of
// this package's, or store.ErrNotFound.
func (e *ImportSource) Fetch(ctx context.Context, uri, customerID string, limit int64) ([]byte, error) {
	if e == nil {
		return nil, ErrNotAllowed
	}
	var key string
	at := slices.IndexFunc(e.places, func(p *place) (ok bool) {
		key, ok = p.key(uri, customerID)
		return ok
	})
	if at < 0 {
		return nil, ErrNotAllowed
	}
	ctx, done := store.Bound(ctx, store.Bucket, e.timeout)
	defer done()
	data, err := e.places[at].read(ctx, key, limit)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", uri, err)
	}
	return data, nil
}

func (p *place) read(ctx context.Context, key string, limit int64) (data []byte, err error) {
	bucket, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	if p.scheme == "file" {
		if err := plainFile(p.root, key); err != nil {
			return nil, err
		}
	}
	r, err := bucket.NewReader(ctx, key, nil)
	if err != nil {
		return nil, outcome(ctx, err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if r.Size() > limit {
		return nil, ErrTooLarge
	}
	data, err = io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return nil, outcome(ctx, err)
	case int64(len(data)) > limit:
		return nil, ErrTooLarge
	}
	return data, nil
}

// open opens the bucket once; a failure is tried again by the next caller.
func (p *place) open(ctx context.Context) (*blob.Bucket, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bucket != nil {
		return p.bucket, nil
	}
	var err error
	if p.scheme == "file" {
		p.bucket, err = fileblob.OpenBucket(p.root, nil)
	} else {
		p.bucket, err = dialBucket(ctx, p.root, p.params)
	}
	if err != nil {
		p.bucket = nil
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return p.bucket, nil
}

// plainFile keeps links from leading out of the folder, and pipes and devices,
// which may never end, from being read.
func plainFile(folder, key string) (err error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	info, err := root.Stat(filepath.FromSlash(key))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return store.ErrNotFound
	case errors.Is(err, os.ErrPermission):
		return ErrDenied
	case err != nil: // a link that leads out
		return ErrNotAllowed
	case !info.Mode().IsRegular():
		return ErrNoFile
	}
	return nil
}

// outcome is a bucket's error as one of this package's.
func outcome(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w in time: %w", ErrUnreachable, ctx.Err())
	}
	switch gcerrors.Code(err) {
	case gcerrors.NotFound:
		return store.ErrNotFound
	case gcerrors.PermissionDenied:
		return ErrDenied
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

// Close closes the buckets.
func (e *ImportSource) Close() error {
	if e == nil {
		return nil
	}
	var err error
	for _, p := range e.places {
		p.mu.Lock()
		if p.bucket != nil {
			err = errors.Join(err, p.bucket.Close())
			p.bucket = nil
		}
		p.mu.Unlock()
	}
	return err
}
