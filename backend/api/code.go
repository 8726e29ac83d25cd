package api

import (
	"net/http"
	"strings"
	"unicode"
)

// Codes of errors are stable: programs compare them, not messages. The code of an error
// is made from the constant part of its message, so that it is declared once; a conflict has
// the code of its kind. docs/errors.md lists all of them, and a change of a message that
// changes a code shows there.

// Codes of conflicts.
const (
	CodeConflict          = "conflict"
	CodeAlreadyExists     = "already_exists"
	CodeVersionConflict   = "version_conflict"
	CodeLimitReached      = "limit_reached"
	CodeInvalidTransition = "invalid_transition"
	CodeInProgress        = "in_progress"
)

// codeKinds are the parts of the formats of conflicts by which their kinds are recognised.
var codeKinds = []struct{ part, code string }{
	{"is at version", CodeVersionConflict},
	{"the most", CodeLimitReached},
	{"is full", CodeLimitReached},
	{"exists already", CodeAlreadyExists},
	{"is taken", CodeAlreadyExists},
	{"has a component with the serial", CodeAlreadyExists},
	{"open for this already", CodeAlreadyExists},
	{"is in progress", CodeInProgress},
	{"is being", CodeInProgress},
	{"cannot become", CodeInvalidTransition},
	{"cannot be changed", CodeInvalidTransition},
	{"cannot be rotated", CodeInvalidTransition},
	{"cannot be assigned", CodeInvalidTransition},
	{"is not possible", CodeInvalidTransition},
	{"already", CodeInvalidTransition},
	{"has ended", CodeInvalidTransition},
	{"only a", CodeInvalidTransition},
	{"can be completed", CodeInvalidTransition},
	{"is resolved", CodeInvalidTransition},
	{"is paused", CodeInvalidTransition},
	{"subscribe again", CodeInvalidTransition},
}

// CodeOf returns the code of an error with the status and the message, or the format of
// the message.
func CodeOf(status int, message string) string {
	if status == http.StatusConflict {
		for _, k := range codeKinds {
			if strings.Contains(message, k.part) {
				return k.code
			}
		}
		return CodeConflict
	}
	message, _, _ = strings.Cut(message, ":")
	message, _, _ = strings.Cut(message, "(")
	words := strings.FieldsFunc(strings.ToLower(message), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return strings.Join(words, "_")
}

// ErrorDocs returns the address of the description of a code, below the prefix of the service.
func ErrorDocs(prefix, code string) string { return prefix + PathDocs + "#error-" + code }

// Body returns the error as it is answered; prefix is that of the service's paths.
func (e *Error) Body(prefix, requestID string) ErrorBody {
	code := e.Code
	if code == "" {
		code = CodeOf(e.Status, e.Message)
	}
	field, _ := e.Details["field"].(string)
	return ErrorBody{Status: "error", Error: e.Message, Code: code, Field: field, RequestID: requestID, Docs: ErrorDocs(prefix, code), Details: e.Details}
}
