// Package openmeteo is a [weather.Provider] over the Open-Meteo forecast and
// archive APIs (open-meteo.com, or a compatible server). Only real forecasts
// are passed on: a forecast is used for issues from the time it was fetched,
// and for none before. Without one, callers get an error that wraps
// [weather.ErrUnavailable] and use the climate instead.
//
// Open-Meteo labels hours at their end for radiation and precipitation, and
// gives other quantities as instantaneous values; here all hours are labelled
// at their start and hold means. Its data are licensed CC BY 4.0.
package openmeteo
