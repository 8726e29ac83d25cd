// Package series holds time series of plant measurements: the data reported by
// one asset ([Frame]), evenly spaced values ([Series]), and the site's own days
// ([Days]). All other engine packages use these types.
//
// Times are Unix seconds in UTC. A missing value is NaN, never zero. The
// package reads no clock and imports nothing of Sunloop.
package series
