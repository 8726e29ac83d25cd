// Package series holds time series of plant measurements: what one asset
// reported ([Frame]), evenly spaced values ([Series]), and the site's own days
// ([Days]). Every other engine package speaks these types.
//
// Times are Unix seconds in UTC. A missing value is NaN, never zero. The
// package reads no clock and imports nothing of Sunloop.
package series
