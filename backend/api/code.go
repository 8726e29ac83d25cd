package api

import (
	"fmt"
	"net/http"
	"strings"
	"unicode"
)

// Codes of errors are stable: programs compare them, not messages. A conflict has the code
// of the function that makes it; the code of another error is made from the constant part of
// its message. docs/errors.md lists all of them, and a change of a message that changes a
// code shows there.

// Codes of conflicts.
const (
	CodeConflict          = "conflict"
	CodeAlreadyExists     = "already_exists"
	CodeVersionConflict   = "version_conflict"
	CodeLimitReached      = "limit_reached"
	CodeInvalidTransition = "invalid_transition"
	CodeInProgress        = "in_progress"
	CodeRecordsRefused    = "records_refused"
)

// Conflict returns a 409 for a request that the records do not allow, for a reason that the
// other functions do not name.
func Conflict(format string, args ...any) *Error { return conflict(CodeConflict, format, args) }

// AlreadyExists returns a 409 for a record that another one with the same name or id precludes.
func AlreadyExists(format string, args ...any) *Error {
	return conflict(CodeAlreadyExists, format, args)
}

// VersionConflict returns a 409 for a change of a record that was changed meanwhile.
func VersionConflict(format string, args ...any) *Error {
	return conflict(CodeVersionConflict, format, args)
}

// LimitReached returns a 409 for one record more than the service keeps.
func LimitReached(format string, args ...any) *Error { return conflict(CodeLimitReached, format, args) }

// InvalidTransition returns a 409 for an action that the state of the record does not allow.
func InvalidTransition(format string, args ...any) *Error {
	return conflict(CodeInvalidTransition, format, args)
}

// InProgress returns a 409 for what a running change or request prevents until it has ended.
func InProgress(format string, args ...any) *Error { return conflict(CodeInProgress, format, args) }

// RecordsRefused returns a 409 for a request that writes all of its records or none.
func RecordsRefused(format string, args ...any) *Error {
	return conflict(CodeRecordsRefused, format, args)
}

func conflict(code, format string, args []any) *Error {
	e := newError(http.StatusConflict, fmt.Sprintf(format, args...))
	e.Code = code
	return e
}

// CodeOf returns the code of an error that is no conflict by its message, or the format of
// the message.
func CodeOf(message string) string {
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
		code = CodeOf(e.Message)
	}
	field, _ := e.Details["field"].(string)
	return ErrorBody{Status: "error", Error: e.Message, Code: code, Field: field, RequestID: requestID, Docs: ErrorDocs(prefix, code), Details: e.Details}
}
