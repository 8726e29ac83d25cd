// Package httpapi speaks the contract over HTTP: routes, decoding, the order
// of checks, credentials, rates, conditional requests and the one shape of an
// error. No rule of the domain lives here; what it needs of the domain is in
// small interfaces beside their use.
package httpapi
