// Package score replays labelled fleets through detection and diagnosis and
// says how good they are: how much of the lost energy is found, how soon, how
// often an alarm is false, and how far a confidence can be believed.
//
// Detection walks through the telemetry in time order and uses for what it
// announces at a time nothing measured later (engine/detect holds a test to
// that), so one run over a case is its replay; an event's DetectedAt is when it
// would have been on the screen.
package score
