// Package score replays labelled fleets through detection and diagnosis and
// measures the result: the share of lost energy that is found, the delay, the
// rate of false alarms, and the calibration of confidences.
//
// Detection processes telemetry in time order and uses no later data for an
// announcement (engine/detect has a test of that), so one run over a case is
// its replay; an event's DetectedAt is the time at which it would have been
// shown.
package score
