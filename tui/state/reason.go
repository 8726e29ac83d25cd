package state

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/internal/display"
	"app.sunloop/tui/terminal"
)

// Reason returns an error as text for users, without a full stop: the service's own
// for its refusals, and the innermost cause for a failed connection.
func Reason(err error) string {
	var refusal *api.Error
	var dns *net.DNSError
	var timeout net.Error
	var untrusted *client.CertificateError
	switch {
	case err == nil:
		return "the service has sent nothing newer"
	case errors.As(err, &refusal):
		return refused(refusal)
	case errors.As(err, &untrusted):
		return terminal.Printable(untrusted.Error())
	case errors.As(err, &dns):
		return fmt.Sprintf("the name %s is not known", terminal.Printable(dns.Name))
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "it did not answer in time"
	case errors.Is(err, context.Canceled):
		return "the request was cancelled"
	case errors.Is(err, os.ErrNotExist):
		return "there is no such file"
	case errors.Is(err, os.ErrPermission):
		return "this user may not read it"
	}
	for { // the innermost error names the cause
		inner := errors.Unwrap(err)
		if inner == nil {
			return terminal.Printable(err.Error())
		}
		err = inner
	}
}

// refused returns a refusal in the service's words, with its reason where it gave
// one.
func refused(e *api.Error) string {
	words := terminal.Printable(e.Message)
	if reason, ok := e.Details["reason"].(string); ok && reason != "" {
		words += ": " + terminal.Printable(reason)
	}
	if e.RetryAfter > 0 {
		words += fmt.Sprintf(", try again in %d s", e.RetryAfter)
	}
	if e.Status >= http.StatusInternalServerError && e.RequestID != "" {
		words += " (request " + terminal.Printable(e.RequestID) + ")"
	}
	return words
}

// Sentence returns an error as a separate sentence. A refusal is returned in the
// service's words; any other error means that there was no answer.
func Sentence(err error) string {
	var refusal *api.Error
	if errors.As(err, &refusal) || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return capital(Reason(err)) + "."
	}
	return "The service is not responding: " + Reason(err) + "."
}

// Refusal returns the reason why a step was refused, in the service's words, with the
// possible alternatives.
func Refusal(err error) string {
	words := Sentence(err)
	var refused *api.Error
	if errors.As(err, &refused) {
		var actions []string
		list, _ := refused.Details["actions"].([]any)
		for _, a := range list {
			actions = append(actions, terminal.Printable(fmt.Sprint(a)))
		}
		if len(actions) > 0 {
			words += " Possible: " + strings.Join(actions, ", ") + "."
		}
	}
	return words
}

func capital(s string) string {
	if s != "" && s[0] >= 'a' && s[0] <= 'z' {
		return string(s[0]-'a'+'A') + s[1:]
	}
	return s
}

// Soon describes the wait until the next try in a text that changes seldom.
func Soon(d time.Duration) string {
	if d < 5*time.Second {
		return "in a moment"
	}
	return "in " + display.Age(d)
}
