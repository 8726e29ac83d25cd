package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"github.com/go-resty/resty/v2"
)

// Reply is the information about a response in addition to its body; see
// [Observe].
type Reply struct {
	Status      int
	NotModified bool // the value is the one of a former call
	RequestID   string
	Took        time.Duration
	Remaining   int           // requests left in the rate window; -1 if unknown
	Reset       time.Duration // until the oldest request leaves that window; 0 if unknown
	Quota       int           // requests that a rate window allows; 0 if unknown
}

type replyKey struct{}

// Observe fills reply when the next call with the context has its answer.
func Observe(ctx context.Context, reply *Reply) context.Context {
	return context.WithValue(ctx, replyKey{}, reply)
}

type onceKey struct{}

// WithIdempotencyKey marks the next creating call, so that it may be sent
// again without creating twice.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, onceKey{}, key)
}

// request is one call before it is sent.
type request struct {
	method, path string
	query        url.Values
	body         []byte        // JSON
	stream       io.ReadCloser // instead of body
	contentType  string        // of stream, or of body if that is no JSON
	encoding     string        // of body, if it is packed
	conditional  bool
	bare         bool // without credential and renewal
}

// Call sends a request of an operation and returns its response. Path, query or
// body, credential, conditional requests and retries follow from the declaration of
// the operation.
func Call[Req, Resp any](ctx context.Context, c *Client, e api.Endpoint[Req, Resp], req Req) (*Resp, error) {
	return callAs[Resp](ctx, c, e, req)
}

// callAs is Call with another type of response.
func callAs[T, Req, Resp any](ctx context.Context, c *Client, e api.Endpoint[Req, Resp], req Req) (*T, error) {
	r, err := newRequest(e.Operation, &req)
	if err != nil {
		return nil, err
	}
	return call[T](ctx, c, r)
}

// callAction is Call of the operation of the route that the action of the request
// selects.
func callAction[Req, Resp any](ctx context.Context, c *Client, e api.Endpoint[Req, Resp], req Req) (*Resp, error) {
	o, ok := e.Route.Operation(e.ActionOf(&req))
	if !ok {
		o = &api.Operation{Route: e.Route, Request: e.Request} // the service refuses the action
	}
	return Call(ctx, c, api.Endpoint[Req, Resp]{Operation: o}, req)
}

// newRequest returns the request of an operation; body is a pointer to its type.
func newRequest(o *api.Operation, body any) (r request, err error) {
	o.SetAction(body)
	r = request{method: o.Route.Method, conditional: o.Cacheable, bare: o.Route.Credential == api.CredentialNone}
	r.path, r.query = o.EncodeQuery(body)
	if o.HasJSON() {
		if r.body, err = json.Marshal(body); err != nil {
			return r, fmt.Errorf("encode the request of %s: %w", o.Name(), err)
		}
	}
	return r, nil
}

func call[T any](ctx context.Context, c *Client, r request) (*T, error) {
	var known answer
	key := ""
	if r.conditional {
		key = r.method + " " + r.path + "?" + r.query.Encode() + "\n" + string(r.body)
		known = c.answers.get(key)
	}
	resp, err := c.patient(ctx, r, known.etag)
	if err != nil {
		return nil, err
	}
	body := resp.Body()
	switch unchanged := resp.StatusCode() == http.StatusNotModified; {
	case unchanged && known.body != nil:
		body = known.body
	case unchanged:
		if v, ok := known.value.(*T); ok {
			return v, nil
		}
		return nil, refusal(resp)
	case !resp.IsSuccess():
		return nil, refusal(resp)
	}
	v := new(T)
	if err := json.Unmarshal(body, v); err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", r.path, err)
	}
	if etag := resp.Header().Get("ETag"); r.conditional && etag != "" && resp.StatusCode() != http.StatusNotModified {
		c.answers.put(key, newAnswer(etag, body, v))
	}
	return v, nil
}

// patient sends r, and again where the service says when to, as long as the
// client's patience lasts. The last refusal is the answer.
func (c *Client) patient(ctx context.Context, r request, etag string) (*resty.Response, error) {
	for left := c.patience; ; {
		resp, err := c.send(ctx, r, etag)
		if err != nil {
			return nil, err
		}
		pause := retryAfter(resp)
		if pause <= 0 || pause > left || !repeatable(ctx, r, resp.StatusCode()) {
			return resp, nil
		}
		if err := c.wait(ctx, pause); err != nil {
			return nil, fmt.Errorf("wait to ask %s again: %w", r.path, err)
		}
		left -= pause
	}
}

// repeatable says whether a call that was refused may be sent again. A request
// beyond the rate was not looked at any further.
func repeatable(ctx context.Context, r request, status int) bool {
	_, once := ctx.Value(onceKey{}).(string)
	switch {
	case r.stream != nil:
		return false
	case status == http.StatusTooManyRequests:
		return true
	case status == http.StatusServiceUnavailable:
		return r.conditional || r.method == http.MethodGet || once
	}
	return false
}

func retryAfter(resp *resty.Response) time.Duration {
	n, err := strconv.Atoi(resp.Header().Get("Retry-After"))
	if err != nil || n < 0 {
		return 0
	}
	return time.Duration(n) * time.Second
}

// send sends r, and once more if the token was renewed by another call
// meanwhile.
func (c *Client) send(ctx context.Context, r request, etag string) (*resty.Response, error) {
	if !r.bare {
		c.renew(ctx)
	}
	for again := false; ; again = true {
		credential := c.Credential()
		if r.bare {
			credential = ""
		}
		resp, err := c.sendOnce(ctx, r, credential, etag)
		if err != nil {
			return nil, fmt.Errorf("ask %s: %w", r.path, err)
		}
		stale := resp.StatusCode() == http.StatusUnauthorized && !r.bare && credential != c.Credential()
		if again || !stale || r.stream != nil {
			return resp, nil
		}
	}
}

func (c *Client) sendOnce(ctx context.Context, r request, credential, etag string) (*resty.Response, error) {
	q := c.http.R().SetContext(ctx).SetHeader("Accept", "application/json")
	if credential != "" {
		q.SetHeader("Authorization", "Bearer "+credential)
	}
	if etag != "" {
		q.SetHeader("If-None-Match", etag)
	}
	if key, ok := ctx.Value(onceKey{}).(string); ok && !r.conditional {
		q.SetHeader(api.HeaderIdempotencyKey, key)
	}
	if r.query != nil {
		q.SetQueryParamsFromValues(r.query)
	}
	switch {
	case r.stream != nil:
		q.SetHeader("Content-Type", r.contentType).SetContext(context.WithValue(ctx, streamKey{}, r.stream))
	case r.body != nil:
		q.SetHeader("Content-Type", cmp.Or(r.contentType, "application/json")).SetBody(r.body)
		if r.encoding != "" {
			q.SetHeader("Content-Encoding", r.encoding)
		}
	}
	resp, err := q.Execute(r.method, r.path)
	if err != nil {
		if errors.Is(err, resty.ErrResponseBodyTooLarge) {
			return nil, fmt.Errorf("the response is larger than %s: %w", display.Bytes(MaxResponseBytes), err)
		}
		if refused := untrusted(err, c.http.BaseURL); refused != nil {
			return nil, refused
		}
		return nil, err
	}
	if reply, ok := ctx.Value(replyKey{}).(*Reply); ok {
		*reply = Reply{
			Status:      resp.StatusCode(),
			NotModified: resp.StatusCode() == http.StatusNotModified,
			RequestID:   resp.Header().Get(api.HeaderRequestID),
			Took:        resp.Time(),
			Remaining:   rateField(resp.Header().Get(api.HeaderRateLimit), "r=", -1),
			Reset:       time.Duration(rateField(resp.Header().Get(api.HeaderRateLimit), "t=", 0)) * time.Second,
			Quota:       rateField(resp.Header().Get(api.HeaderRatePolicy), "q=", 0),
		}
	}
	return resp, nil
}

type streamKey struct{}

// withStream gives a request its streamed body at the last moment: resty would
// read all of it into memory.
func withStream(_ *resty.Client, q *http.Request) error {
	if stream, ok := q.Context().Value(streamKey{}).(io.ReadCloser); ok {
		q.Body, q.GetBody, q.ContentLength = stream, nil, -1
	}
	return nil
}

// ErrHTTPS is the error of a call by http to a port that takes https only. It
// comes in a [url.Error], as the service was not reached.
var ErrHTTPS = errors.New("it speaks https, not http")

// refusal makes an *api.Error of an answer that is not a success, also of one
// that is not Sunloop's (a proxy's, for example); that has no RequestID. The
// answer of a TLS port to a call by http is [ErrHTTPS].
func refusal(resp *resty.Response) error {
	e := &api.Error{Status: resp.StatusCode(), RequestID: resp.Header().Get(api.HeaderRequestID)}
	e.RetryAfter = int(retryAfter(resp) / time.Second)
	var body api.ErrorBody
	if json.Unmarshal(bytes.TrimSpace(resp.Body()), &body) == nil && body.Error != "" {
		e.Message, e.Code, e.Details = body.Error, body.Code, body.Details
		if body.RequestID != "" {
			e.RequestID = body.RequestID
		}
		return e
	}
	if bytes.HasPrefix(resp.Body(), []byte("Client sent an HTTP request to an HTTPS server")) { // as net/http answers it
		method := resp.Request.Method
		return &url.Error{Op: method[:1] + strings.ToLower(method[1:]), URL: resp.Request.URL, Err: ErrHTTPS}
	}
	e.Message = http.StatusText(e.Status)
	if e.Message == "" {
		e.Message = "Unexpected answer"
	}
	return e
}

// rateField returns the number after a name in a RateLimit header, otherwise none.
func rateField(header, name string, none int) int {
	for part := range strings.SplitSeq(header, ";") {
		if v, ok := strings.CutPrefix(strings.TrimSpace(part), name); ok {
			if n, err := strconv.Atoi(v); err == nil {
				return n
			}
		}
	}
	return none
}
