// Package httpapi speaks the contract over HTTP: routes, decoding, the order
// of checks, credentials, rates, conditional requests and the one shape of an
// error. No rule of the domain is here; its requirements on the domain are
// small interfaces next to their use.
package httpapi
