//go:build !gateway

package objects

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"app.sunloop/backend/store"
)

// bucketOperation is what was asked of a bucket, and the right that it takes.
type bucketOperation struct{ verb, right string }

var (
	reading  = bucketOperation{"read", "s3:GetObject"}
	writing  = bucketOperation{"write", "s3:PutObject"}
	deleting = bucketOperation{"delete", "s3:DeleteObject"}
	listing  = bucketOperation{"list", "s3:ListBucket"}
)

// bucketError is an error of a bucket, with a text that names neither endpoint,
// bucket nor request: its text may reach clients. What it wraps is for
// errors.As.
type bucketError struct {
	text string
	full bool
	down bool // no request would succeed: the bucket is unreachable, absent or refuses the credentials
	err  error
}

func (e *bucketError) Error() string { return "the bucket of the objects " + e.text }
func (e *bucketError) Unwrap() error { return e.err }

// Reason returns the same sentence, as [store.Reason] requires.
func (e *bucketError) Reason() string { return e.Error() }

// Is reports a bucket without space as [store.ErrDiskFull], for which callers
// wait and retry, and one that does not work for another reason as
// [store.ErrUnavailable].
func (e *bucketError) Is(target error) bool {
	switch target {
	case store.ErrDiskFull:
		return e.full
	case store.ErrUnavailable:
		return !e.full
	}
	return false
}

// fault is a bucket's error as the store's; nil for nil. The ends of the
// caller's context stay what they are.
func (b *remote) fault(ctx context.Context, what bucketOperation, key string, err error) error {
	if err == nil {
		return nil
	}
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	if code, _ := answer(err); code == "NoSuchKey" || code == "NotFound" && what != listing {
		return store.ErrNotFound
	}
	b.log.WarnContext(ctx, "the bucket of the objects failed", "operation", what.verb, "key", key, "error", err)
	failure := classifyError(what, err)
	if down(failure) {
		b.noteState(failure)
	}
	return failure
}

// answer is the code and the status of S3's answer; nothing, if there was none.
func answer(err error) (code string, status int) {
	var said smithy.APIError
	if errors.As(err, &said) {
		code = said.ErrorCode()
	}
	var whole *awshttp.ResponseError
	if errors.As(err, &whole) {
		status = whole.HTTPStatusCode()
	}
	return code, status
}

// codeConflict is S3's answer to a conditional write during another one:
// nothing was stored, and it may be retried.
const codeConflict = "ConditionalRequestConflict"

// taken reports whether a key existed before a conditional write.
func taken(err error) bool {
	code, status := answer(err)
	return code == "PreconditionFailed" || status == http.StatusPreconditionFailed
}

// sentences by S3's code. Services other than AWS's have their own codes.
var sentences = []struct {
	codes []string
	text  string
	down  bool
}{
	{[]string{"NoSuchBucket"}, "does not exist", true},
	{refusedCredentials, "refuses the credentials: they are wrong or have ended", true},
	{[]string{"RequestTimeTooSkewed", "RequestExpired"}, "refuses the request: its clock and this machine's differ", true},
	{[]string{"PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "MovedPermanently"},
		"is in another region than the URI says", true},
	{[]string{"SlowDown", "Throttling", "ThrottlingException", "TooManyRequests", "RequestLimitExceeded", "BandwidthLimitExceeded", codeConflict},
		"takes no more requests for now", false},
	{[]string{"NotImplemented"}, "does not know how to keep a key from being written twice (If-None-Match)", false},
}

// refusedCredentials are the codes of credentials that are wrong or have ended.
var refusedCredentials = []string{"InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "TokenRefreshRequired", "UnrecognizedClientException", "XAdminUserNotFound"}

// full are the codes for lack of space. QuotaExceeded has the status of a
// missing permission.
var full = []string{"InsufficientStorage", "InsufficientCapacity", "QuotaExceeded", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", "NoSpaceLeftOnDevice", "DiskFull"}

// noIdentity is part of the SDK's error for missing credentials, before
// anything is sent; it has no type.
const noIdentity = "get identity"

func classifyError(what bucketOperation, err error) error {
	code, status := answer(err)
	if slices.Contains(full, code) || status == http.StatusInsufficientStorage {
		return &bucketError{"is full", true, false, err}
	}
	text := ""
	down := status == 0 || errors.Is(err, context.DeadlineExceeded)
	for _, s := range sentences {
		if slices.Contains(s.codes, code) {
			text, down = s.text, s.down
		}
	}
	switch {
	case text != "":
	case errors.Is(err, context.DeadlineExceeded):
		text = "does not answer in time"
	case status == 0 && strings.Contains(err.Error(), noIdentity):
		text = "cannot be asked: no credentials are found, or they cannot be renewed"
	case status == 0:
		text = "cannot be reached"
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		text = "does not let the service " + what.verb + " (" + what.right + ")"
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
		text = "takes no more requests for now"
	case status == http.StatusNotImplemented:
		text = "does not know how to " + what.verb
	case status >= http.StatusInternalServerError:
		text = "has an internal fault"
	default:
		text = "gives an answer that is not understood"
	}
	return &bucketError{text, false, down, err}
}
