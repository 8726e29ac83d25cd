// Package openmeteo is a [weather.Provider] over the Open-Meteo forecast and
// archive APIs (open-meteo.com, or a server of one's own that speaks the same).
//
// Only what a service really said is passed on: a forecast is good for issues
// from the moment it was fetched, and for nothing before. Where there is none,
// callers get an error that wraps [weather.ErrUnavailable] and fall back to the
// climate.
//
// Open-Meteo labels hours at their end for radiation and precipitation, and
// gives other quantities for the moment; here all hours are labelled at their
// start and hold means. Its data are licensed CC BY 4.0.
package openmeteo
