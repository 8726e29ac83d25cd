// Package replay asks how good the engine's forecasts would have been: it
// reads a site's measured history from files, lets [forecast] forecast each day
// of a test span from what was known before it, and scores that and simple
// references against what came true.
//
// A [File] says what the data are and how to test: the text of a site file is
// TOML, [Parse] reads it. [Load] reads the data. [Run] replays them.
//
// What a forecast may see is the whole point. A model is fitted on power from
// before its refit; a forecast also sees power from before its issue, unless
// the file says actuals = "refit". Weather columns of kind "forecast" are seen
// for the horizon as the file has them: they were forecasts. Measured weather
// is seen up to the issue and never after it. The references see the same
// power, and all of the history before it. No clock is read but the given one.
package replay
