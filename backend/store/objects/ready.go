//go:build !gateway

package objects

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"app.sunloop/backend/store"
)

// trials is the folder of objects that test whether writing is possible. No
// object has such a key.
const trials = ".trials/"

// roomBytes is what must fit into a bucket that was full before it is ready
// again.
const roomBytes = 1 << 20

var errClosed = errors.New("the objects are closed")

// Ready returns why a bucket cannot be used, in a sentence that is safe to show
// to clients, or nil if it can. The first time, and after a failed write, it
// writes an object and deletes it; otherwise it is one small request. It takes
// seconds at most; concurrent callers share a result. A folder and memory are
// always ready: [store.Disk] has the state of the disk.
func (s *Store) Ready(ctx context.Context) error {
	if s.remote == nil {
		return nil
	}
	return s.remote.ready(ctx)
}

func (b *remote) look() error {
	within, cancel := context.WithTimeout(b.life, b.limits.ready)
	defer cancel()
	err := b.bucketExists(within)
	b.mu.Lock()
	owed := b.owed
	b.mu.Unlock()
	if err == nil && owed > 0 {
		if err = b.try(within, owed); err == nil {
			b.settle(owed)
		}
	}
	switch {
	case b.life.Err() != nil:
		return errClosed
	case within.Err() != nil && err != nil:
		err = classifyError(reading, within.Err())
	}
	b.noteState(err)
	return err
}

// bucketExists checks whether the bucket exists and may be listed. Without the
// permission to list, S3 does not report an object as absent.
func (b *remote) bucketExists(ctx context.Context) error {
	_, err := b.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &b.bucket}, retryOnce)
	if _, status := answer(err); err != nil && status != 0 {
		// An answer to HEAD has no words in it.
		one := int32(1)
		_, err = b.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &b.bucket, Prefix: b.at(""), MaxKeys: &one}, retryOnce)
	}
	if err == nil {
		b.ailing = ""
		return nil
	}
	failure := classifyError(listing, err)
	if ctx.Err() == nil && failure.Error() == b.ailing {
		return failure // probes come every few seconds: the log has it
	}
	failure = b.fault(ctx, listing, "", err)
	b.ailing = failure.Error()
	return failure
}

// retryOnce has a request tried once more, and no oftener.
func retryOnce(o *s3.Options) {
	o.Retryer = retry.AddWithMaxAttempts(o.Retryer, min(2, o.Retryer.MaxAttempts()))
}

// try writes n bytes, finds that nothing else can be written in their place, in
// one request or in parts, reads them and removes them.
func (b *remote) try(ctx context.Context, n int) (err error) {
	if b.trial != "" { // where nothing can be removed, no more is written
		if err := b.delete(ctx, b.trial); err != nil {
			return err
		}
	}
	b.trial = trials + rand.Text()
	key := b.trial
	if err := b.put(ctx, key, bytes.NewReader(make([]byte, n))); err != nil {
		return err
	}
	defer func() {
		removed := b.delete(context.WithoutCancel(ctx), key)
		if removed == nil {
			b.trial = ""
		}
		err = errors.Join(err, removed)
	}()
	for _, again := range []func() error{
		func() error { return b.sendWhole(ctx, key, rand.Text(), bytes.NewReader(nil)) },
		func() error { return b.sendParts(ctx, key, rand.Text(), bytes.NewBuffer([]byte{0}), nil) },
	} {
		switch err := again(); {
		case err == nil:
			return classifyError(writing, &smithy.GenericAPIError{Code: "NotImplemented"})
		case !taken(err):
			return b.fault(ctx, writing, key, err)
		}
	}
	read, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.bucket, Key: b.at(key)})
	if err == nil {
		_, err = io.Copy(io.Discard, read.Body)
		read.Body.Close()
	}
	return b.fault(ctx, reading, key, err)
}

// markSuspect makes the next check write, because a write has failed.
func (b *remote) markSuspect(failure error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.owed = max(b.owed, 1); errors.Is(failure, store.ErrDiskFull) {
		b.owed = roomBytes
	}
}

// settle notes a trial of n bytes that went well.
func (b *remote) settle(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n >= b.owed {
		b.owed = 0
	}
}

// abandoned is the age from which an unfinished upload, or a trial, is
// abandoned: a writer has minutes for each part.
const abandoned = 24 * time.Hour

// sweep deletes unfinished uploads of dead processes, of any replica: the
// bucket's clock determines their age. What cannot be deleted now is deleted
// after the next start.
func (b *remote) sweep(ctx context.Context, age time.Duration) {
	if err := errors.Join(b.sweepUploads(ctx, age), b.sweepTrials(ctx, age)); err != nil && ctx.Err() == nil {
		b.log.WarnContext(ctx, "sweep unfinished uploads from the bucket", "error", err)
	}
}

func (b *remote) sweepUploads(ctx context.Context, age time.Duration) error {
	in := &s3.ListMultipartUploadsInput{Bucket: &b.bucket, Prefix: b.at("")}
	for {
		page, err := within(ctx, b.limits.call, func(ctx context.Context) (*s3.ListMultipartUploadsOutput, error) {
			return b.client.ListMultipartUploads(ctx, in)
		})
		if err != nil {
			return err
		}
		now, known := middleware.GetServerTime(page.ResultMetadata)
		for _, u := range page.Uploads {
			own := u.Key != nil && check(strings.TrimPrefix(*u.Key, b.folder)) == nil
			if known && own && u.Initiated != nil && now.Sub(*u.Initiated) >= age {
				if err := b.abort(ctx, *u.Key, u.UploadId); err != nil {
					return err
				}
			}
		}
		if page.IsTruncated == nil || !*page.IsTruncated {
			return nil
		}
		in.KeyMarker, in.UploadIdMarker = page.NextKeyMarker, page.NextUploadIdMarker
	}
}

func (b *remote) sweepTrials(ctx context.Context, age time.Duration) error {
	page, err := within(ctx, b.limits.call, func(ctx context.Context) (*s3.ListObjectsV2Output, error) {
		return b.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &b.bucket, Prefix: b.at(trials)})
	})
	if err != nil {
		return err
	}
	now, known := middleware.GetServerTime(page.ResultMetadata)
	for _, o := range page.Contents {
		if known && o.LastModified != nil && now.Sub(*o.LastModified) >= age {
			if err := b.delete(ctx, strings.TrimPrefix(*o.Key, b.folder)); err != nil {
				return err
			}
		}
	}
	return nil
}

// within runs a request with a bound in time.
func within[T any](ctx context.Context, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	bound, done := store.Bound(ctx, store.Bucket, limit)
	defer done()
	return f(bound)
}
