// Package pipeline runs the jobs of the service: a file becomes telemetry,
// telemetry a trained model, and the model forecasts and findings.
//
// Jobs are in the store's queue and run at least once. Each may be killed at any
// point and run again with the same result. Each kind has its own package below
// this one, all over package sitedata:
//
//	ingest       importer     object → engine/ingest → site, assets, telemetry, record
//	train        training     site → model → registry → forecast → detection → end of its uploads
//	forecast     forecasting  site → forecast issued and stored, former ones scored
//	detect       detection    site → detections and findings
//	snapshot     snapshot     site → documents for partner systems
//	interpolate  gapfill      site → gaps in its power filled
//	maintain     (here)       retention: old forecasts, activities and nowcast files are deleted
//
// This package has what is about all kinds: the worker that runs them and
// decides about retries, the planner that derives from each site's
// [sitedata.State] which jobs are due, and retention.
package pipeline
