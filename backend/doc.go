// Package backend is Sunloop's service as one value: an http.Handler for every
// host's paths, and a Run for the work behind it. Its files are the four steps:
//
//	service.go  Config, Service, New, Handler, Close
//	open.go     storage: a data folder's file, or a database that replicas share
//	compose.go  all parts over an open storage; starts nothing
//	run.go      what runs: jobs, timers, webhooks, opening a database that was not available
//
// Embedded, the console calls the handler through an in-process transport; headless,
// a server listens with it. Both run the same code and checks.
package backend
