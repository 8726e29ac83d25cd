// Package compat holds the service to what public clients of the API send and
// read: a file of tests for each service, over TLS, against the demo's fleet.
// The clients are JavaScript and Python; they send customer_id with nearly
// everything, times with and without a zone, and the credential in either
// header, and they compare times as text. There is no code in it but tests.
package compat
