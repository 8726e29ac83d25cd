package api

import (
	"errors"
	"fmt"
	"net/http"
)

// ErrorBody is the body of every answer that is not a success, on every host
// and also for unknown paths and panics.
type ErrorBody struct {
	Success   bool           `json:"success"` // always false
	Status    string         `json:"status"`  // always "error"
	Error     string         `json:"error"`
	RequestID string         `json:"request_id"`
	Code      string         `json:"code"`            // stable, for programs: see docs/errors.md
	Field     string         `json:"field,omitempty"` // of the request that is refused
	Docs      string         `json:"docs"`            // where the code is described
	Details   map[string]any `json:"details,omitempty"`
}

// Error is a refusal with its HTTP status and the contract's words. Handlers
// return it; httpapi writes it; the client gives it back.
type Error struct {
	Status     int
	Message    string
	Code       string // of a conflict; of others empty: that of the message, see [CodeOf]
	Details    map[string]any
	RequestID  string // set by the client
	RetryAfter int    // whole seconds, 0 when the answer carries none

	unknownID bool
}

// Error is the message with its status.
func (e *Error) Error() string { return fmt.Sprintf("%s (HTTP %d)", e.Message, e.Status) }

// Is matches another Error of the same status and message, so that callers
// may write errors.Is(err, api.ErrAssetNotFound).
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Status == e.Status && t.Message == e.Message
}

// With returns a copy that carries a detail.
func (e *Error) With(key string, value any) *Error {
	c := *e
	c.Details = map[string]any{key: value}
	for k, v := range e.Details {
		c.Details[k] = v
	}
	return &c
}

// newError makes an error of the contract.
func newError(status int, message string) *Error { return &Error{Status: status, Message: message} }

// UnknownID is the 404 for an id of a request that names no record. A caller
// whose scope is limited gets [ErrForbidden] instead, see [IsUnknownID].
func UnknownID(message string) *Error {
	return &Error{Status: http.StatusNotFound, Message: message, unknownID: true}
}

// IsUnknownID reports whether err says that an id of the request names no
// record, as opposed to a list or a document that is still empty.
func IsUnknownID(err error) bool {
	var e *Error
	return errors.As(err, &e) && e != nil && e.unknownID
}

// The refusals of the contract.
var (
	ErrUnauthorized      = newError(http.StatusUnauthorized, "Unauthorized")
	ErrInvalidCredential = newError(http.StatusUnauthorized, "Invalid credentials")
	ErrInvalidTOTP       = newError(http.StatusUnauthorized, "Invalid TOTP code")
	ErrMFATokenExpired   = newError(http.StatusUnauthorized, "MFA token expired")
	ErrTokenExpired      = newError(http.StatusUnauthorized, "Token expired")
	ErrInvalidToken      = newError(http.StatusUnauthorized, "Invalid token")
	ErrUserInactive      = newError(http.StatusForbidden, "User account is inactive")
	ErrAPIKeyNotFound    = newError(http.StatusUnauthorized, "API key not found")
	ErrSiteNotPermitted  = newError(http.StatusForbidden, "Site not permitted")
	ErrForbidden         = newError(http.StatusForbidden, "Access denied")
	ErrNotFound          = newError(http.StatusNotFound, "Not found")
	ErrMethodNotAllowed  = newError(http.StatusMethodNotAllowed, "Method not allowed")
	ErrTooSlow           = newError(http.StatusRequestTimeout, "The request body came too slowly")
	ErrFileTooLarge      = newError(http.StatusRequestEntityTooLarge, "File too large: the limit is 10 MB").With("reason", largerFiles)
	ErrTooManyRequests   = newError(http.StatusTooManyRequests, "Too many requests")
	ErrInternal          = newError(http.StatusInternalServerError, "Internal error")
	ErrUnavailable       = newError(http.StatusServiceUnavailable, "Service unavailable")
	ErrNoRoom            = ErrUnavailable.With("reason", "the service has no room to store it")
	ErrDiskFailed        = ErrUnavailable.With("reason", "the service's disk failed: it reads, but stores nothing until an operator has seen to the disk and started it again")

	ErrCSVRequired       = newError(http.StatusBadRequest, "CSV file is required")
	ErrInvalidCSV        = newError(http.StatusBadRequest, "Invalid CSV format")
	ErrUploadFailed      = newError(http.StatusInternalServerError, "Upload failed")
	ErrNoModel           = newError(http.StatusNotFound, "No model found for customer")
	ErrSiteNotFound      = UnknownID("Site not found")
	ErrOwnSiteNotFound   = newError(http.StatusNotFound, ErrSiteNotFound.Message) // to a caller whose scope covers all sites of the customer
	ErrCustomerNotFound  = UnknownID("Customer not found")
	ErrForecastFailed    = newError(http.StatusInternalServerError, "Forecast generation failed")
	ErrInvalidAction     = newError(http.StatusBadRequest, "Invalid action")
	ErrAssetNotFound     = UnknownID("Asset not found")
	ErrComponentNotFound = newError(http.StatusNotFound, "Component not found")
	ErrNoForecastResult  = newError(http.StatusNotFound, "No forecast results found")
	ErrNoInterpolation   = newError(http.StatusNotFound, "No interpolation results found")
	ErrResultNotFound    = UnknownID(ErrNoInterpolation.Message) // no result has the result_id
	ErrUploadNotFound    = UnknownID(ErrNotFound.Message)
	ErrNoChallenger      = newError(http.StatusNotFound, "Model not found") // the site has no model in that state
	ErrNoSummaries       = newError(http.StatusNotFound, "No OODA summaries found")
	ErrDetectionNotFound = UnknownID("Detection not found")
	ErrModelNotFound     = UnknownID("Model not found")
	ErrModelRegistry     = newError(http.StatusInternalServerError, "Failed to retrieve model registry")
)

// BodyTooLarge is the refusal of a JSON body of more than a number of bytes.
func BodyTooLarge(most int64) *Error {
	return newError(http.StatusRequestEntityTooLarge, fmt.Sprintf("Request body too large: the limit is %d KiB", most>>10))
}

// MissingField is the refusal of a JSON body without a required field.
func MissingField(name string) *Error {
	return newError(http.StatusBadRequest, "Missing required field: "+name).With("field", name)
}

// MissingParameter is the refusal of a query or form without a required parameter.
func MissingParameter(name string) *Error {
	return newError(http.StatusBadRequest, "Missing required parameter: "+name).With("field", name)
}

// InvalidParameter names a query or form parameter that cannot be read, and why.
func InvalidParameter(name, why string) *Error {
	return newError(http.StatusBadRequest, "Invalid parameter: "+name).With("field", name).With("reason", why)
}

// InvalidField names a field of a JSON body that cannot be read, and why.
func InvalidField(name, why string) *Error {
	return newError(http.StatusBadRequest, "Invalid field: "+name).With("field", name).With("reason", why)
}

// largerFiles says how a file is sent that is too large for one request.
const largerFiles = "send a larger file in parts to POST /uploads/sessions, as sunloop import FILE --site SITE --remote URL does"
