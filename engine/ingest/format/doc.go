// Package format reads the containers and file formats in which portals,
// meters and databases export measurements, and gives their tables to package
// ingest, which determines the meaning of the columns by names and values.
//
// A format is recognised by the content, never by the name of a file.
// [Unpack] opens what is not text: compression, archives, workbooks and Parquet.
// [Parse] finds tables in text that is not delimited: JSON, HTML, XML and the
// formats of databases and meters. Both return nothing for plain delimited
// text, which package ingest reads directly.
//
// Tables are delimited text in UTF-8: one line a row, tabs between cells.
// Formats that name the series of each value (JSON of an API, line protocol,
// metrics, meters) become long tables with the columns device, parameter, unit,
// time and value.
//
// All readers share one [Budget], so that a small file cannot expand to a large
// one: every byte that decompression yields and every byte of a table counts,
// at every depth of nesting.
package format
