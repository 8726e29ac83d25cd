package channel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"app.sunloop/backend/notify"
	"app.sunloop/backend/webhook"
)

// maxResponse bounds what is read of a response.
const maxResponse = 64 << 10

// request is one request of a service. Body is sent as JSON, Form as a form.
type request struct {
	method string // empty: POST
	url    string
	header map[string]string
	body   any
	form   url.Values
	raw    []byte // sent as it is, with the Content-Type of header
}

// at is a URL of the service: path segments below its base, each escaped.
func (k *call) at(segments ...string) string {
	u := *k.base
	escaped := u.EscapedPath()
	for _, s := range segments {
		escaped += "/" + url.PathEscape(s)
	}
	u.RawPath = escaped
	u.Path, _ = url.PathUnescape(escaped)
	return u.String()
}

// withQuery is the URL of the channel as it was given, without credentials.
func (k *call) withQuery() string {
	u := *k.base
	u.RawQuery = k.query
	return u.String()
}

// do makes the request and decodes a JSON response into out, if that is not nil. The
// error is permanent where a repetition has the same outcome.
func (k *call) do(ctx context.Context, r request, out any) error {
	body, kind := r.raw, ""
	switch {
	case r.form != nil:
		body, kind = []byte(r.form.Encode()), "application/x-www-form-urlencoded"
	case r.body != nil:
		b, err := json.Marshal(r.body)
		if err != nil {
			return notify.Permanent(fmt.Errorf("write the message as JSON: %w", err))
		}
		body, kind = b, "application/json"
	}
	if r.method == "" {
		r.method = http.MethodPost
	}
	q, err := http.NewRequestWithContext(ctx, r.method, r.url, bytes.NewReader(body))
	if err != nil {
		return notify.Permanent(errors.New("the URL of the channel cannot be read"))
	}
	if kind != "" {
		q.Header.Set("Content-Type", kind)
	}
	q.Header.Set("User-Agent", "Sunloop-Notify/1")
	for name, value := range r.header {
		q.Header.Set(name, value)
	}
	resp, err := k.client.Do(q)
	if err != nil {
		failure := errors.New(webhook.FailureText(err))
		if webhook.IsRefused(err) {
			return notify.Permanent(failure)
		}
		return failure
	}
	defer resp.Body.Close()
	answer, readErr := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	if err := k.status(resp, answer); err != nil {
		return err
	}
	if out == nil {
		return nil
	}
	if readErr != nil {
		return errors.New("the response ended early: the message may have been sent")
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return notify.Permanent(errors.New("the response is not the JSON of this service: check the URL of the channel"))
	}
	return nil
}

// status returns the error of a response; nil if the message was accepted.
func (k *call) status(resp *http.Response, answer []byte) error {
	code := resp.StatusCode
	if code >= 200 && code < 300 {
		return nil
	}
	reason := k.reason(answer)
	err := fmt.Errorf("HTTP %d%s", code, reason)
	switch {
	case code >= 300 && code < 400:
		return notify.Permanent(fmt.Errorf("HTTP %d: redirects are not followed", code))
	case code == http.StatusTooManyRequests, code >= 500:
		if delay := pause(resp, answer, k.now()); delay > 0 {
			return notify.RetryAfter{Err: err, Delay: delay}
		}
		return err
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusConflict:
		return err
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return notify.Permanent(fmt.Errorf("HTTP %d%s: check the credentials of the channel", code, reason))
	case code == http.StatusNotFound, code == http.StatusGone:
		return notify.Permanent(fmt.Errorf("HTTP %d%s: check the URL of the channel and the address", code, reason))
	}
	return notify.Permanent(err)
}

// maxReason is the longest reason of a receiver that an error repeats.
const maxReason = 120

// reason is what a receiver says about a failure, with a comma before it, if it is a
// short text without anything that a credential may consist of; empty otherwise.
func (k *call) reason(answer []byte) string {
	var said struct {
		Error       any      `json:"error"`
		Description string   `json:"description"`
		Message     string   `json:"message"`
		Errors      []string `json:"errors"`
		ErrorCode   string   `json:"errcode"`
	}
	if json.Unmarshal(answer, &said) != nil {
		return ""
	}
	candidates := append([]string{said.Description}, said.Errors...)
	if text, ok := said.Error.(string); ok {
		candidates = append(candidates, text)
	}
	for _, text := range append(candidates, said.Message, said.ErrorCode) {
		if text = k.safe(text); text != "" {
			return ", " + text
		}
	}
	return ""
}

// safe returns a text of a receiver if it holds letters, spaces and punctuation only,
// and no part of a credential; empty otherwise.
func (k *call) safe(text string) string {
	text = strings.TrimRight(strings.TrimSpace(text), ".")
	if text == "" || len(text) > maxReason || strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune(" _,:'-.", r))
	}) {
		return ""
	}
	for _, word := range strings.Fields(text) {
		if len(word) > 24 {
			return ""
		}
	}
	for _, c := range k.hidden {
		if strings.Contains(text, c) || strings.Contains(c, text) {
			return ""
		}
	}
	return text
}

// pause is the delay that a receiver asks for, in the header or in the JSON of Telegram
// and Matrix; zero without one.
func pause(resp *http.Response, answer []byte, now time.Time) time.Duration {
	if delay := webhook.RetryAfter(resp.Header.Get("Retry-After"), now); delay > 0 {
		return delay
	}
	var said struct {
		Parameters struct {
			Seconds int `json:"retry_after"`
		} `json:"parameters"`
		Milliseconds int `json:"retry_after_ms"`
	}
	if json.Unmarshal(answer, &said) != nil {
		return 0
	}
	seconds := max(said.Parameters.Seconds, said.Milliseconds/1000, 0)
	return time.Duration(min(seconds, 24*3600)) * time.Second
}
