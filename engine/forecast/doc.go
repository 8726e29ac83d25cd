// Package forecast learns one site's production from its history and forecasts
// it with bands: [Train] for sites with months of data, [ColdStart] for the first
// days, [Model.Forecast] for both.
//
// Everything inside is in shares of the site's peak and relative to a learned
// clear-sky envelope. Members (analogs, boosted quantile trees of power and of
// the clear-sky index, a quantile forest, a small network) are blended by their
// loss in a rolling-origin backtest and calibrated by what came true. Without a
// weather forecast the engine uses the sun and the site's own past; with one it
// has a second set of learners that was trained with weather.
//
// Intervals are labelled at their start, times are UTC inside, power is in kW.
// The same history, options and seed give the same model, bit for bit, whatever
// the number of workers. No clock is read; nothing of weather's sources is
// known but what a [weather.Forecast] says of itself.
package forecast
