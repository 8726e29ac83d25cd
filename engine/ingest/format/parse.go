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

import (
	"bytes"
	"strings"
)

// headBytes is the length of the beginning of a text by which its format is recognised.
const headBytes = 64 << 10

// Parse finds the tables of a text in UTF-8 without a byte order mark. It returns none for delimited text,
// and an [Error] for a text of a known format without a table.
func Parse(text []byte, b *Budget) ([]Table, error) {
	head := bytes.TrimLeft(text[:min(len(text), headBytes)], " \t\r\n")
	if len(head) == 0 {
		return nil, nil
	}
	switch head[0] {
	case '<':
		return parseMarkup(text, head, b)
	case '{', '[':
		return parseJSON(text, b)
	}
	return parseLines(text, head, b)
}

// Structured reports whether text, of which the beginning suffices, is in a format that [Parse] reads as a
// whole, so that its beginning alone cannot be read.
func Structured(text []byte) bool {
	head := bytes.TrimLeft(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), " \t\r\n")
	return len(head) > 0 && strings.IndexByte("<{[", head[0]) >= 0
}

func parseMarkup(text, head []byte, b *Budget) ([]Table, error) {
	low := bytes.ToLower(head)
	has := func(s string) bool { return bytes.Contains(low, []byte(s)) }
	switch {
	case has("http://naesb.org/espi"), has("<intervalblock"):
		return espiTables(text, b)
	case has("urn:schemas-microsoft-com:office:spreadsheet") && has("<workbook"):
		return xmlSheets(text, b)
	case has("<html"), has("<table"), has("<!doctype html"), has("<head"), has("<body"), has("<meta"):
		return htmlTables(text, b)
	}
	name := "XML"
	m := newMarkup(bytes.NewReader(text))
	for m.next() == nil {
		if m.kind == markupStart {
			name = "XML with the element " + quote(m.name)
			break
		}
	}
	return nil, fail(Unsupported, "the file is %s, which is not read; export the data as CSV, XLSX or JSON", name)
}
