// Package pipeline does the service's work: a file becomes telemetry, telemetry
// a trained model, the model forecasts, and all of it findings.
//
// Work is jobs in the store's queue, run at least once: each handler may be
// killed at any point and run again with the same result. What an upload
// acknowledges is one unit: the object is on stable storage first, then one
// transaction holds its record and its job.
//
//	ingest    object → engine/ingest → site, assets, telemetry, record
//	train     site → model → registry → forecast → detection → its uploads end
//	forecast  site → forecast issued and stored
//	detect    site → detections and findings
//	maintain  old forecasts, activities and nowcast files are dropped
//
// A planner looks at every site's [Track] at each tick and enqueues what is
// due. Two clocks come in: the plant's (Now, what telemetry is compared with;
// a simulation may run it fast) and the wall (Wall, for leases and retries).
package pipeline
