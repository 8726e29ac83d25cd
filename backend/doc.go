// Package backend is Sunloop's service in one value: it opens the data folder,
// composes store, auth, ops, pipeline and httpapi, and gives one http.Handler
// for every host's paths and one Run for the work behind it.
//
// Embedded, the console calls the handler through an in-process transport;
// headless, a server listens with it. Both run the same code and checks.
package backend
