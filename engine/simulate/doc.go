// Package simulate generates fleets of solar plants with known truth: every
// fault in their telemetry is on a list. The demo runs on such a fleet, and
// fault detection is tested and scored against them.
//
// Telemetry is a function of the seed, the asset and the time only. Requests in
// other chunks, at another step or for one sample of the live stream give the
// same plant: the power at a time stamp is the mean until the next time stamp,
// and the lifetime counter is its integral, whatever the step. The package
// reads no clock and may import engine/series and engine/solar only; detection
// must never import it.
package simulate
