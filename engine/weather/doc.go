// Package weather defines weather forecasts: an issued [Forecast], the
// [Provider] that issues one, and the provider for a machine without a network
// ([Offline]), which returns the clear sky and the climate of the latitude and
// is marked as such.
//
// Conditions belong to intervals and are labelled at their start. Unknown is
// NaN. The package reads no clock; it may import engine/series and
// engine/solar.
package weather
