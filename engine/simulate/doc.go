// Package simulate makes fleets of solar plants whose truth is known: every
// fault in their telemetry is on a list. The demo runs on one, and tests and
// scores of fault detection are measured against them.
//
// Telemetry is a function of the seed, the asset and the time alone. Asking in
// other chunks, at another step or for one sample of the live stream gives the
// same plant: the power of a stamp is the mean until the next stamp, and the
// lifetime counter is its integral, whatever the step.
//
// The package reads no clock and may import engine/series and engine/solar
// only; detection must never import it.
package simulate
