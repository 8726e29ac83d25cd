package api

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// Version is the date of the newest change of the API, which docs/api-changes.md lists. It is in
// the header [HeaderVersion] of each response.
const Version = "2026-11-29"

// Versions returns the versions that a request may ask for with the header [HeaderVersion],
// newest first. A change that a program may notice adds a version, and a request for an earlier
// one is answered as it was then.
func Versions() []string { return []string{Version} }

// CheckVersion refuses a version that is not supported, and names those that are. A request
// without a version has the newest.
func CheckVersion(version string) error {
	if version == "" || slices.Contains(Versions(), version) {
		return nil
	}
	return newError(http.StatusBadRequest, "Unknown API version").With("field", HeaderVersion).
		With("reason", "the service supports "+strings.Join(Versions(), ", ")).With("supported", Versions())
}

// Deprecation says that an operation or a parameter will be removed. Responses to a request that
// uses it have the headers Deprecation (RFC 9745), Sunset (RFC 8594) and a link to the changes of
// the API, and the OpenAPI document marks it.
type Deprecation struct {
	Since   time.Time // it is deprecated from then on
	Sunset  time.Time // it may be removed from then on; zero: not decided
	Instead string    // what to use instead
}

// Join returns the deprecation of a request that uses both: the earlier times.
func (d *Deprecation) Join(other *Deprecation) *Deprecation {
	switch {
	case d == nil:
		return other
	case other == nil:
		return d
	}
	joined := *d
	if other.Since.Before(joined.Since) {
		joined.Since = other.Since
	}
	if joined.Sunset.IsZero() || !other.Sunset.IsZero() && other.Sunset.Before(joined.Sunset) {
		joined.Sunset = other.Sunset
	}
	return &joined
}

// DeprecationOf returns the deprecation of a request, nil if it uses nothing deprecated. given
// reports whether the request has a field or a parameter.
func (o *Operation) DeprecationOf(given func(name string) bool) *Deprecation {
	d := o.Deprecated
	for _, f := range o.Fields {
		if f.Deprecated != nil && given(f.Name) {
			d = d.Join(f.Deprecated)
		}
	}
	return d
}
