// Package display writes quantities, counts, durations and times as people read
// them in the console, in the output of commands and in messages, so that the
// same figure has the same format everywhere. It does not write for programs:
// JSON and CSV have formats of their own.
//
// Times are written in the zone that the time.Time has; the caller sets the
// zone of the site with In.
package display
