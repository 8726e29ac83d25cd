// Package replay measures how good the engine's forecasts would have been: it
// reads a site's measured history from files, lets [forecast] forecast each day
// of a test period from what was known before it, and scores the forecasts and
// simple references against the measured power.
//
// A [File] describes the data and the test: [Parse] reads it from TOML. [Load]
// reads the data. [Run] replays them.
//
// What a forecast may use is strictly bounded. A model is fitted on power
// before its refit; a forecast also uses power before its issue, unless the
// file says actuals = "refit". Weather columns of kind "forecast" are used for
// the horizon as they are in the file. Measured weather is used up to the issue
// and never after it. The references use the same power, and all of the history
// before it. The package reads no clock except the given one.
package replay
