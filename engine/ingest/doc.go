// Package ingest reads the production files that portals, loggers and grid
// operators export and converts them to one [series.Frame] for each asset. It
// determines the encoding, the dialect, the header, the meaning of each column,
// the date order, the unit and the kind of the values, and reports each of
// these decisions as text.
//
// A file is read in steps: bytes → tables (content.go and package format, for
// what is no delimited text), joined after they were read (several.go); bytes →
// text (text.go) → records (dialect.go,
// record.go) → header (header.go) → the meaning of the columns by their names
// (words.go, unit.go, role.go, plan.go) and the units of a wide file
// (device.go) → cells (moment.go, stamp.go, clock.go, number.go, cell.go) →
// rows (table.go) → the meaning of the columns by their values (shape.go) → UTC
// (order.go, zone.go, season.go, calendar.go) → power (asset.go, kind.go,
// counter.go, scale.go) → units without totals (total.go) → frames (frame.go).
//
// Names are only hints. If rows contradict each other, the columns that identify
// the units are found by their values (keys.go) and the file is read again. A file that no interpretation explains is rejected.
//
// The package reads no clock, no file and no network, and imports nothing of
// Sunloop except series and format.
package ingest
