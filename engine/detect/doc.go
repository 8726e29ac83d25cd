// Package detect finds faults in the telemetry of one site and says what they
// cost and what speaks for each. What is behind them, how severe they are and
// what to do is engine/diagnose's to say.
//
// It walks the site's days in time order. On each day the readings are laid on
// an even grid (the view), each unit gets an expected power from the best
// source there is (peers, irradiance, a forecast, or what the site has done
// before at that hour under that sun), and one stage for each fault family
// looks at what remains: data first, then outages, then plateaus, then slow
// losses. A stage claims the samples it has explained and later stages leave
// them alone. What is learned on a day serves from the next day on, and an
// event that is announced at a time uses nothing measured after it: a run over
// a longer stretch announces the same events at the same times.
//
// The package reads no clock, and imports engine/series and engine/solar only.
package detect
