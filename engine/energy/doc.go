// Package energy turns the measurements of a unit into its energy. It is the
// only code that does: day sums, records, KPIs, reports and exports
// rest on it.
//
// A day's production comes from the best source that the unit has and that
// passes its checks: a lifetime or day counter, else the energy of intervals,
// else mean power over the time that each sample covers (series.Intervals).
// What a better source does not cover comes from the next one, so that gaps of
// power are filled by a counter that ran, and gaps of a counter by power.
//
// Production and consumption are kept apart: negative power is consumption.
//
// A counter is used for a day if at most a tenth of its steps are impossible (a
// fall that is neither a rollover nor a reset, or more energy than the unit can
// produce) and if its gain is within 25 % of the energy by power over the same
// time. Interval energy is used if it is within a factor of two of that. The
// difference is reported in any case.
package energy
