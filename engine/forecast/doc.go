// Package forecast learns one site's production from its history and forecasts
// it with quantiles: [Train] for sites with months of data, [ColdStart] for
// sites with a few days, [Model.Forecast] for both.
//
// Internally, power is in shares of the site's peak and relative to a learned
// clear-sky envelope. The members (analogs, boosted quantile trees of power and
// of the clear-sky index, a quantile forest, a small network) are blended by
// their loss in a rolling-origin backtest and calibrated on observed power.
// Without a weather forecast the engine uses the sun's position and the site's
// own past; with one it uses a second set of learners that was trained with
// weather.
//
// Intervals are labelled at their start, times are UTC, power is in kW. The
// same history, options and seed give the same model, bit for bit, for any
// number of workers. The package reads no clock. It knows nothing about weather
// sources except what a [weather.Forecast] contains.
package forecast
