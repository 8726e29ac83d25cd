// Package detect finds faults in the telemetry of one site, estimates the
// energy they cost and lists the evidence for each. Causes, severity and
// recommended actions are the subject of engine/diagnose.
//
// The package walks the site's days in time order. On each day the readings are
// put on an even grid (the view), each unit gets an expected power from the
// best available source (peers, irradiance, a forecast, or the site's own past
// at that hour and sun position), and one stage for each fault family examines
// the remaining difference: data quality first, then outages, then plateaus,
// then slow losses. A stage claims the samples that it explains, and later
// stages ignore these.
//
// What is learned on a day is used from the next day on, and an event announced
// at some time uses no data measured after it: a run over a longer period
// announces the same events at the same times. The package reads no clock, and
// imports engine/series and engine/solar only.
package detect
