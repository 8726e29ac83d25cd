// Package diagnose says what is behind the events that engine/detect finds, how
// sure that is, what is at stake and what to do.
//
// It reads the evidence of an event, never the telemetry: each piece makes
// some causes, and some other families, likelier or less likely by a factor
// from a table, on top of priors from what tickets name (a product of experts).
// The confidence that an event is what it is called is the sum of the weights
// of its evidence, put through a calibration that was fitted on labelled fleets
// (calibration.json, made by `sunloop score --calibrate`). "Unknown" is a cause
// like any other.
//
// Severity, energy at risk and revenue have their one definition here.
package diagnose
