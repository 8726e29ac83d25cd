// Package lambda lets clients that invoke functions of AWS Lambda use the API unmodified.
//
// It answers POST /2015-03-31/functions/{name}/invocations for the functions of the public
// Python client. Each invocation becomes one request of the API, which the handler of the
// API answers: credentials, limits, rates, audit trail and errors are those of that request.
//
// The client signs its requests with credentials of AWS, of which the service knows
// nothing: the signature is not verified. The caller is who the API key or the token says
// that the client sends as its session token (AWS_SESSION_TOKEN, the header
// X-Amz-Security-Token), as its access key id (AWS_ACCESS_KEY_ID), or in the headers of
// the event.
package lambda

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"

	"app.sunloop/backend/api"
)

// functionsPath is the beginning of the paths of invocations.
const functionsPath = "/2015-03-31/functions/"

// maxPayload is the size of a payload: a body of the API, with the escapes of an event.
const maxPayload = 2 * api.MaxJSONBytes

// Names of the functions, as the public Python client has them.
const (
	functionTerminal      = "terminalApi"
	functionForecasting   = "forecastingApi"
	functionInterpolation = "interpolationService"
	functionIngestion     = "dataIngestion"
)

// Types of invocation.
const (
	invokeAndWait = "RequestResponse"
	invokeEvent   = "Event"
	invokeDryRun  = "DryRun"
)

// New returns a handler that answers invocations by requests to next, which serves the API
// under a prefix, and passes all other requests to it.
func New(next http.Handler, prefix string) http.Handler {
	a := &adapter{next: next, prefix: strings.TrimSuffix(prefix, "/")}
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		name, ok := functionOf(strings.TrimPrefix(q.URL.EscapedPath(), a.prefix))
		if !ok || q.Method != http.MethodPost || !strings.HasPrefix(q.URL.Path, a.prefix) {
			next.ServeHTTP(w, q)
			return
		}
		a.invoke(w, q, name)
	})
}

// functionOf returns the name of the function that a path invokes. The client may write an
// ARN, and a version after a colon.
func functionOf(escapedPath string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(escapedPath, functionsPath)
	if !ok {
		return "", false
	}
	rest, ok = strings.CutSuffix(rest, "/invocations")
	name, err := url.PathUnescape(rest)
	if !ok || err != nil || strings.Contains(name, "/") {
		return "", false
	}
	if _, after, isARN := strings.Cut(name, ":function:"); isARN {
		name = after
	}
	name, _, _ = strings.Cut(name, ":")
	return name, name != ""
}

type adapter struct {
	next   http.Handler
	prefix string
}

// event is a payload in the form of an API gateway: a request.
type event struct {
	Method          string            `json:"httpMethod"`
	Path            string            `json:"path"`
	RawPath         string            `json:"rawPath"`
	Body            json.RawMessage   `json:"body"` // text, or an object
	IsBase64Encoded bool              `json:"isBase64Encoded"`
	Headers         map[string]string `json:"headers"`
	RequestContext  struct {
		HTTP struct {
			Method string `json:"method"`
		} `json:"http"`
	} `json:"requestContext"`
}

// request is what an invocation asks of the API.
type request struct {
	path  string
	body  []byte
	event *event // nil: the payload is the body
}

// failure is an error of the invocation, as opposed to a response of the API.
type failure struct {
	status        int
	kind, message string
}

// Errors as AWS names them.
var (
	errTooLarge  = &failure{http.StatusRequestEntityTooLarge, "RequestTooLargeException", "The payload is larger than 512 KB"}
	errNoJSON    = &failure{http.StatusBadRequest, "InvalidRequestContentException", "Parse the payload: it is not a JSON object"}
	errNoType    = &failure{http.StatusBadRequest, "InvalidParameterValueException", "The invocation type is RequestResponse, Event or DryRun"}
	errThrottled = &failure{http.StatusTooManyRequests, "TooManyRequestsException", "Too many requests"}
)

func (a *adapter) invoke(w http.ResponseWriter, q *http.Request, function string) {
	how := q.Header.Get("X-Amz-Invocation-Type")
	if how == "" {
		how = invokeAndWait
	}
	if how != invokeAndWait && how != invokeEvent && how != invokeDryRun {
		errNoType.write(w)
		return
	}
	payload, err := io.ReadAll(io.LimitReader(q.Body, maxPayload+1))
	switch {
	case err != nil:
		errNoJSON.write(w)
		return
	case len(payload) > maxPayload:
		errTooLarge.write(w)
		return
	}
	r, failed := requestOf(function, payload)
	if failed != nil {
		failed.write(w)
		return
	}
	if how == invokeDryRun {
		// A request that changes nothing tells whether the credential is accepted.
		r.path, r.body = api.PathSites, []byte(`{"action":"list","limit":1}`)
	}
	answer := a.ask(q, r)
	h := w.Header()
	if id := answer.header.Get("X-Request-Id"); id != "" {
		h["X-Amzn-Requestid"] = []string{id}
	}
	h["X-Amz-Executed-Version"] = []string{"$LATEST"}
	if how != invokeAndWait {
		answer.accept(w, how)
		return
	}
	b, err := answer.payload(r.event != nil)
	if err != nil {
		h["X-Amz-Function-Error"] = []string{"Unhandled"}
		b = fmt.Appendf(nil, `{"errorType":"InvalidResponse","errorMessage":%q}`, "the response is not JSON")
	}
	h["Content-Type"] = []string{"application/json"}
	_, _ = w.Write(b)
}

// requestOf returns the request of the API for a payload.
func requestOf(function string, payload []byte) (request, *failure) {
	if len(bytes.TrimSpace(payload)) == 0 {
		payload = []byte("{}")
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(payload, &fields) != nil || fields == nil {
		return request{}, errNoJSON
	}
	r := request{body: payload}
	var e event
	if json.Unmarshal(payload, &e) == nil && (e.Method != "" || e.RequestContext.HTTP.Method != "") {
		r.event = &e
		body, ok := e.content()
		if !ok {
			return r, errNoJSON
		}
		r.body = body
		fields = nil
		if json.Unmarshal(body, &fields) != nil || fields == nil {
			return r, errNoJSON
		}
	}
	switch function {
	case functionTerminal:
		if r.event == nil {
			return r, &failure{http.StatusBadRequest, "InvalidRequestContentException", "The payload of terminalApi is an event with httpMethod, path and body"}
		}
		r.path = r.event.terminalPath()
	case functionForecasting:
		r.path = api.PathForecast
	case functionInterpolation:
		// Gaps are filled when a file is imported. The data set that the client names is
		// not needed to find the results.
		r.path = api.PathInterpolation
		delete(fields, "dataset_key")
		r.body, _ = json.Marshal(fields) // what was decoded
	case functionIngestion:
		r.path = api.PathUploadTrain
		if string(fields["data_type"]) == `"nowcast"` {
			r.path = api.PathUploadNowcast
		}
	default:
		return r, &failure{http.StatusNotFound, "ResourceNotFoundException", "Function not found: " + function}
	}
	return r, nil
}

// terminalPath is the path of the API for that of an event: /assets or /terminal/assets is
// /terminal/assets. No path leads out of /terminal.
func (e *event) terminalPath() string {
	name := e.Path
	if name == "" {
		name = e.RawPath
	}
	name = strings.TrimPrefix(path.Clean("/"+name), "/terminal")
	return "/terminal" + path.Clean("/"+name)
}

// content is the body of an event, which is text or an object.
func (e *event) content() ([]byte, bool) {
	if len(e.Body) == 0 || string(e.Body) == "null" {
		return []byte("{}"), true
	}
	if e.Body[0] != '"' {
		return e.Body, true
	}
	var text string
	if json.Unmarshal(e.Body, &text) != nil {
		return nil, false
	}
	if !e.IsBase64Encoded {
		return []byte(text), true
	}
	b, err := base64.StdEncoding.DecodeString(text)
	return b, err == nil
}

// credential returns what the client sends as its API key or token; empty if nothing. The
// signature is not checked: the key itself says who the caller is, as in other requests.
func credential(q *http.Request, e *event) string {
	if e != nil {
		for name, value := range e.Headers {
			switch strings.ToLower(name) {
			case "x-api-key":
				return value
			case "authorization":
				if token, ok := strings.CutPrefix(value, "Bearer "); ok {
					return token
				}
			}
		}
	}
	if key := q.Header.Get("X-Amz-Security-Token"); key != "" {
		return key
	}
	if key := q.Header.Get("X-Api-Key"); key != "" {
		return key
	}
	authorization := q.Header.Get("Authorization")
	if token, ok := strings.CutPrefix(authorization, "Bearer "); ok {
		return token
	}
	if _, scope, ok := strings.Cut(authorization, "Credential="); ok && strings.HasPrefix(authorization, "AWS4-HMAC-SHA256 ") {
		key, _, _ := strings.Cut(scope, "/")
		return key
	}
	return ""
}

// passed are headers of the client that go into the request of the API.
var passed = []string{"X-Forwarded-For", "X-Forwarded-Proto", "X-Request-Id", "Traceparent", "User-Agent", "Idempotency-Key", "Api-Version"}

// ask sends a request to the API.
func (a *adapter) ask(q *http.Request, r request) *response {
	out := &response{header: http.Header{}, status: http.StatusOK}
	inner := q.Clone(q.Context())
	inner.URL = &url.URL{Path: a.prefix + r.path}
	inner.RequestURI = inner.URL.RequestURI()
	inner.Header = http.Header{"Content-Type": {"application/json"}}
	for _, name := range passed {
		if v := q.Header.Values(name); len(v) > 0 {
			inner.Header[name] = v
		}
	}
	if key := credential(q, r.event); key != "" {
		inner.Header.Set("X-Api-Key", key)
	}
	inner.Body, inner.ContentLength, inner.TransferEncoding, inner.Trailer = io.NopCloser(bytes.NewReader(r.body)), int64(len(r.body)), nil, nil
	a.next.ServeHTTP(out, inner)
	return out
}

// response is what the API answered.
type response struct {
	header http.Header
	status int
	wrote  bool
	body   bytes.Buffer
}

// Header is that of the response.
func (r *response) Header() http.Header { return r.header }

// WriteHeader takes the first status.
func (r *response) WriteHeader(status int) {
	if !r.wrote {
		r.status, r.wrote = status, status >= http.StatusOK
	}
}

// Write adds to the body.
func (r *response) Write(b []byte) (int, error) {
	r.wrote = true
	return r.body.Write(b)
}

// payload is the result of the function. Errors, and the result of an event, have
// statusCode and body, whose error the client reads; the result of another payload is the
// body. The body is an object, not text: the client takes either for a success, and only an
// object for an error.
func (r *response) payload(ofEvent bool) ([]byte, error) {
	body := json.RawMessage(bytes.TrimSpace(r.body.Bytes()))
	if len(body) == 0 {
		body = json.RawMessage("{}")
	}
	if !json.Valid(body) {
		return nil, fmt.Errorf("read a response of %d bytes: it is not JSON", len(body))
	}
	if r.status < http.StatusBadRequest && !ofEvent {
		return body, nil
	}
	headers := map[string]string{"Content-Type": "application/json"}
	for _, name := range []string{"Retry-After", "X-Request-Id"} {
		if v := r.header.Get(name); v != "" {
			headers[name] = v
		}
	}
	return json.Marshal(struct {
		Status  int               `json:"statusCode"`
		Headers map[string]string `json:"headers"`
		Body    json.RawMessage   `json:"body"`
	}{r.status, headers, body})
}

// accept answers an invocation whose result the client does not wait for: whether it was
// allowed.
func (r *response) accept(w http.ResponseWriter, how string) {
	var e struct {
		Error string `json:"error"`
	}
	_ = json.Unmarshal(r.body.Bytes(), &e) // a response without a reason has none
	switch r.status {
	case http.StatusUnauthorized:
		(&failure{http.StatusForbidden, "UnrecognizedClientException", e.Error}).write(w)
	case http.StatusForbidden:
		(&failure{http.StatusForbidden, "AccessDeniedException", e.Error}).write(w)
	case http.StatusTooManyRequests:
		w.Header()["Retry-After"] = r.header["Retry-After"]
		errThrottled.write(w)
	default:
		if how == invokeDryRun {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}
}

func (f *failure) write(w http.ResponseWriter) {
	h := w.Header()
	h["Content-Type"] = []string{"application/json"}
	h["X-Amzn-Errortype"] = []string{f.kind}
	w.WriteHeader(f.status)
	b, _ := json.Marshal(map[string]string{"Type": "User", "message": f.message}) // texts alone
	_, _ = w.Write(b)
}
