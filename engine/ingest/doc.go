// Package ingest reads the production files that portals, loggers and grid
// operators export and turns them into one [series.Frame] for each asset. It
// finds out the encoding, the dialect, the header, what each column means, the
// order of the date, the unit and the kind of the values, and says every one
// of these decisions in words.
//
// The way of a file is: bytes → text (text.go) → records (dialect.go,
// record.go) → header (header.go) → the meaning of the columns (words.go,
// unit.go, role.go, plan.go) → cells (moment.go, stamp.go, number.go, cell.go)
// → rows (table.go) → UTC (order.go, zone.go) → values (kind.go, counter.go,
// scale.go) → frames (frame.go).
//
// The package reads no clock, no file and no network, and imports nothing of
// Sunloop but series.
package ingest
