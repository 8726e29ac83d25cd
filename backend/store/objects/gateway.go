//go:build gateway

package objects

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"gocloud.dev/blob"
)

// errNoBuckets is the error of a bucket in a build without S3.
var errNoBuckets = errors.New("this build of Sunloop (gateway) has no S3 buckets; use the full build, or a folder")

// remote is a bucket, of which this build has none.
type remote struct {
	limits struct {
		call  time.Duration
		count int
	}
	uncounted atomic.Bool
}

// bucketOperation is what was asked of a bucket.
type bucketOperation struct{}

var listing bucketOperation

// trials begins the keys of objects that a bucket is tried with.
const trials = ".trials/"

// OpenBucket returns an error.
func OpenBucket(context.Context, string, *slog.Logger) (*Store, error) { return nil, errNoBuckets }

// dialBucket returns an error.
func dialBucket(context.Context, string, string) (*blob.Bucket, error) { return nil, errNoBuckets }

// checkBucket refuses all buckets.
func checkBucket() error { return errNoBuckets }

// Ready returns nil: a folder needs no check.
func (*Store) Ready(context.Context) error { return nil }

// Down returns nil: a folder is never down.
func (*Store) Down() error { return nil }

func (*remote) close() {}

func (*remote) put(context.Context, string, io.Reader) error { return errNoBuckets }

func (*remote) open(context.Context, *blob.Bucket, string) (io.ReadCloser, error) {
	return nil, errNoBuckets
}

func (*remote) delete(context.Context, string) error { return errNoBuckets }

func (*remote) fault(_ context.Context, _ bucketOperation, _ string, err error) error { return err }

func within[T any](ctx context.Context, _ time.Duration, f func(context.Context) (T, error)) (T, error) {
	return f(ctx)
}
