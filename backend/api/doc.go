// Package api is the wire contract in Go: every field name, message, limit and
// path that Sunloop's service and its clients share is written here and
// nowhere else. It holds no logic beyond the contract's own rules and imports
// nothing of Sunloop.
//
// Times on the wire are UTC, RFC 3339 with a Z and without fractions
// ([Time]). Absent values are left out of JSON, not null, unless a field's
// comment says otherwise.
package api
