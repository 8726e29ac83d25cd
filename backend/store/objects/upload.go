//go:build !gateway

package objects

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"app.sunloop/backend/store"
)

// partBytes is the size up to which an object is sent in one request, and the
// size of the parts of a larger one. Some services require parts of one size.
const partBytes = 16 << 20

// smallBytes is up to which size the memory for an object grows with it.
const smallBytes = 1 << 20

// absent makes a write conditional on the object's absence.
const absent = "*"

// put stores an object unless there is one. Which of several writers wins, in
// this process or another, the bucket decides.
func (b *remote) put(ctx context.Context, key string, r io.Reader) error {
	switch _, err := b.markOf(ctx, key); {
	case err == nil:
		return store.ErrExists // before r is read
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	own := rand.Text()
	var source *sourceError
	err := b.send(ctx, key, own, r)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &source):
		return source.error
	case taken(err):
		err = store.ErrExists
	default:
		err = b.fault(ctx, writing, key, err)
	}
	if ctx.Err() != nil {
		return err
	}
	// The response may have been lost, or a retry have been refused because
	// the first attempt succeeded: the object's mark shows whose it is.
	switch there, err := b.markOf(ctx, key); {
	case err == nil && there == own:
		return nil
	case err == nil:
		return store.ErrExists
	}
	if !errors.Is(err, store.ErrExists) {
		b.markSuspect(err)
	}
	return err
}

// sourceError is an error of what was to be stored, not of the bucket.
type sourceError struct{ error }

// inMemory is a reader whose bytes need not be copied to be sent twice.
type inMemory interface {
	io.ReadSeeker
	Len() int
}

func (b *remote) send(ctx context.Context, key, own string, r io.Reader) error {
	if m, ok := r.(inMemory); ok && m.Len() <= partBytes {
		return b.sendWhole(ctx, key, own, m)
	}
	var part bytes.Buffer
	if err := fill(&part, r); err != nil {
		return err
	}
	if part.Len() < partBytes {
		return b.sendWhole(ctx, key, own, bytes.NewReader(part.Bytes()))
	}
	return b.sendParts(ctx, key, own, &part, r)
}

// fill reads a part; one that is shorter is the last. An end that came too
// early is an error, and no end.
func fill(part *bytes.Buffer, r io.Reader) error {
	part.Reset()
	_, err := part.ReadFrom(io.LimitReader(r, smallBytes))
	if err == nil && part.Len() == smallBytes {
		part.Grow(partBytes - smallBytes + bytes.MinRead) // growing by doubling would take four times as much
		_, err = part.ReadFrom(io.LimitReader(r, partBytes-smallBytes))
	}
	if err != nil {
		return &sourceError{err}
	}
	return nil
}

func (b *remote) sendWhole(ctx context.Context, key, own string, body io.ReadSeeker) error {
	within, done := store.Bound(ctx, store.Bucket, b.limits.part)
	defer done()
	_, err := b.client.PutObject(within, &s3.PutObjectInput{
		Bucket: &b.bucket, Key: b.at(key), Body: body, IfNoneMatch: aws.String(absent),
		Metadata: map[string]string{mark: own}, ContentType: aws.String(contentType),
		ServerSideEncryption: b.options.EncryptionType, SSEKMSKeyId: b.kmsKey(), ChecksumAlgorithm: b.checksum(),
	})
	return err
}

// sendParts sends what does not fit into one part. Its parts are one object at
// the end, or nothing.
func (b *remote) sendParts(ctx context.Context, key, own string, part *bytes.Buffer, r io.Reader) (err error) {
	within, done := store.Bound(ctx, store.Bucket, b.limits.part)
	defer done()
	upload, err := b.client.CreateMultipartUpload(within, &s3.CreateMultipartUploadInput{
		Bucket: &b.bucket, Key: b.at(key),
		Metadata: map[string]string{mark: own}, ContentType: aws.String(contentType),
		ServerSideEncryption: b.options.EncryptionType, SSEKMSKeyId: b.kmsKey(), ChecksumAlgorithm: b.checksum(),
	})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			// Also when the caller has gone away. What stays is swept by age.
			if left := b.abort(context.WithoutCancel(ctx), *b.at(key), upload.UploadId); left != nil {
				b.log.WarnContext(ctx, "parts of an object that was not stored stay in the bucket", "key", key, "error", left)
			}
		}
	}()
	var parts []types.CompletedPart
	for part.Len() > 0 {
		sent, err := b.sendPart(ctx, key, upload.UploadId, int32(len(parts)+1), part.Bytes()) //nolint:gosec // a bucket takes 10,000 parts
		if err != nil {
			return err
		}
		parts = append(parts, sent)
		if part.Len() < partBytes {
			break
		}
		if err := fill(part, r); err != nil {
			return err
		}
	}
	completing, done := store.Bound(ctx, store.Bucket, b.limits.part)
	defer done()
	_, err = b.client.CompleteMultipartUpload(completing, &s3.CompleteMultipartUploadInput{
		Bucket: &b.bucket, Key: b.at(key), UploadId: upload.UploadId, IfNoneMatch: aws.String(absent),
		MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
	})
	return err
}

func (b *remote) sendPart(ctx context.Context, key string, upload *string, number int32, data []byte) (types.CompletedPart, error) {
	within, done := store.Bound(ctx, store.Bucket, b.limits.part)
	defer done()
	sent, err := b.client.UploadPart(within, &s3.UploadPartInput{
		Bucket: &b.bucket, Key: b.at(key), UploadId: upload, PartNumber: &number, Body: bytes.NewReader(data), ChecksumAlgorithm: b.checksum(),
	})
	if err != nil {
		return types.CompletedPart{}, err
	}
	return types.CompletedPart{PartNumber: &number, ETag: sent.ETag, ChecksumCRC32: sent.ChecksumCRC32}, nil
}

// abort removes the parts of an upload. at is its key in the bucket.
func (b *remote) abort(ctx context.Context, at string, upload *string) error {
	within, done := store.Bound(ctx, store.Bucket, b.limits.call)
	defer done()
	_, err := b.client.AbortMultipartUpload(within, &s3.AbortMultipartUploadInput{Bucket: &b.bucket, Key: &at, UploadId: upload})
	return err
}

func (b *remote) kmsKey() *string {
	if b.options.KMSEncryptionID == "" {
		return nil
	}
	return &b.options.KMSEncryptionID
}

// checksum is the checksum by which the bucket verifies each part, unless the
// URI disables it.
func (b *remote) checksum() types.ChecksumAlgorithm {
	if b.options.RequestChecksumCalculation == aws.RequestChecksumCalculationWhenRequired {
		return ""
	}
	return types.ChecksumAlgorithmCrc32
}
