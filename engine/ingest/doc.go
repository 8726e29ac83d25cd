// Package ingest reads the production files that portals, loggers and grid
// operators export and turns them into one [series.Frame] for each asset. It
// finds out the encoding, the dialect, the header, what each column means, the
// order of the date, the unit and the kind of the values, and says every one
// of these decisions in words.
//
// A file is read in steps: bytes → text (text.go) → records (dialect.go,
// record.go) → header (header.go) → the meaning of the columns by their names
// (words.go, unit.go, role.go, plan.go) and the units of a wide file
// (device.go) → cells (moment.go, stamp.go, clock.go, number.go, cell.go) →
// rows (table.go) → the meaning of the columns by their values (shape.go) →
// UTC (order.go, zone.go, season.go, calendar.go) → power (asset.go, kind.go,
// counter.go, scale.go) → units without totals (total.go) → frames (frame.go).
//
// Names are only a hint. If rows contradict each other, the columns that tell
// the units apart are searched by their values (keys.go) and the file is read
// again. A file that no reading explains is refused.
//
// The package reads no clock, no file and no network, and imports nothing of
// Sunloop but series.
package ingest
