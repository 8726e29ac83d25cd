// Package metric scores probabilistic forecasts of power against what came
// true: a [Distribution] for each interval goes into a [Tally], and out come
// [Scores], whole and by month.
//
// Values are shares of the AC capacity. The definitions follow Yang et al.,
// "Verification of deterministic solar forecasts", Solar Energy 210 (2020), for
// errors and skill, and Gneiting and Raftery, "Strictly proper scoring rules",
// JASA 102 (2007), for distributions. The package imports nothing of Sunloop.
package metric
