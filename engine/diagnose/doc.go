// Package diagnose explains the events that engine/detect finds: likely causes
// with confidence, severity, energy at risk and recommended actions. It reads
// the evidence of an event, never the telemetry: each piece of evidence
// multiplies the odds of some causes, and of some other families, by a factor
// from a table, starting from priors derived from maintenance tickets (a
// product of experts).
//
// The confidence in an event is the sum of the weights of its evidence, mapped
// by a calibration that was fitted on labelled fleets (calibration.json,
// written by `sunloop score --calibrate`). "Unknown" is a cause like any other.
// Severity, energy at risk and revenue are defined here only.
package diagnose
