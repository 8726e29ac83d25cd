//go:build !gateway

package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const formatParquet = "Parquet"

// readParquet reads a file of Parquet, in batches of rows. Lists and maps in rows are left out.
func readParquet(data []byte, b *Budget) (tables []Table, err error) {
	defer func() {
		if p := recover(); p != nil { // the library trusts the lengths in pages
			tables, err = nil, fail(Damaged, "the Parquet file is damaged; write or copy it again")
		}
	}()
	if len(data) < 12 || !bytes.HasSuffix(data, []byte(parquetMagic)) {
		return nil, fail(Damaged, "the Parquet file is incomplete: it does not end with its directory; write or copy it again")
	}
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, damaged(err, "the Parquet file")
	}
	if err := checkPages(f.Metadata(), data, b); err != nil {
		return nil, err
	}
	schema := f.Schema()
	var cells []func(v parquet.Value) string // by column; nil for those that are left out
	w := newWriter(b, "", formatParquet)
	w.table.Decimal = '.'
	for _, path := range schema.Columns() {
		leaf, ok := schema.Lookup(path...)
		if !ok || leaf.MaxRepetitionLevel > 0 {
			cells = append(cells, nil)
			continue
		}
		cells = append(cells, cellOf(leaf.Node.Type()))
		w.cell(strings.Join(path, " "))
	}
	if err := w.end(); err != nil {
		return nil, err
	}
	rows := make([]parquet.Row, 128)
	for _, group := range f.RowGroups() {
		if err := writeRows(group, rows, cells, w); err != nil {
			return nil, err
		}
	}
	if w.rows < 2 {
		return nil, fail(Empty, "the Parquet file has no rows")
	}
	t, err := w.done()
	return []Table{t}, err
}

func writeRows(group parquet.RowGroup, rows []parquet.Row, cells []func(parquet.Value) string, w *writer) error {
	r := group.Rows()
	defer r.Close()
	line := make([]string, len(cells))
	for {
		n, err := r.ReadRows(rows)
		for _, row := range rows[:n] {
			clear(line)
			for _, v := range row {
				if c := v.Column(); c >= 0 && c < len(cells) && cells[c] != nil && !v.IsNull() {
					line[c] = cells[c](v)
				}
			}
			for i, cell := range line {
				if cells[i] != nil {
					w.cell(cell)
				}
			}
			if err := w.end(); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return damaged(err, "the Parquet file")
		case n == 0:
			return fail(Damaged, "the Parquet file is damaged: a group has fewer rows than it states")
		}
	}
}

// checkPages adds up what the pages of a file expand to, before the library allocates it.
func checkPages(meta *format.FileMetaData, data []byte, b *Budget) error {
	const mostColumns = 100_000
	chunks := 0
	for _, group := range meta.RowGroups {
		for _, column := range group.Columns {
			if chunks++; chunks > mostColumns {
				return fail(TooLarge, "the Parquet file has more than %d parts of columns", mostColumns)
			}
			m := column.MetaData
			at := m.DataPageOffset
			if d := m.DictionaryPageOffset; d > 0 && d < at {
				at = d
			}
			for end := at + m.TotalCompressedSize; at < end; {
				if at < 4 || at >= int64(len(data)) {
					return fail(Damaged, "the Parquet file is damaged: a page is outside of the file")
				}
				page := bytes.NewReader(data[at:])
				var h format.PageHeader
				if err := thrift.NewDecoder(new(thrift.CompactProtocol).NewReader(page)).Decode(&h); err != nil {
					return damaged(err, "the Parquet file")
				}
				if h.CompressedPageSize < 0 || h.UncompressedPageSize < 0 {
					return fail(Damaged, "the Parquet file is damaged: a page has a negative length")
				}
				if b.expanded -= int64(h.UncompressedPageSize); b.expanded < 0 {
					return fail(TooLarge, "the Parquet file expands to more than %s; split it, or export less of it", size(b.maxExpanded))
				}
				header := int64(len(data)) - at - int64(page.Len())
				at += max(header, 1) + int64(h.CompressedPageSize)
			}
		}
	}
	return nil
}

// cellOf returns how values of a type are written as cells.
func cellOf(t parquet.Type) func(v parquet.Value) string {
	if l := t.LogicalType(); l != nil {
		switch l := l.Value.(type) {
		case *format.TimestampType:
			unit, layout := l.Unit.Value.(interface{ Duration() time.Duration }).Duration(), "2006-01-02T15:04:05"
			if l.IsAdjustedToUTC {
				layout += "Z"
			}
			return func(v parquet.Value) string { return timeOf(v.Int64(), unit).Format(layout) }
		case *format.DateType:
			return func(v parquet.Value) string { return time.Unix(int64(v.Int32())*86400, 0).UTC().Format("2006-01-02") }
		case *format.TimeType:
			unit := l.Unit.Value.(interface{ Duration() time.Duration }).Duration()
			return func(v parquet.Value) string { return timeOf(integer(v), unit).Format("15:04:05") }
		case *format.DecimalType:
			return func(v parquet.Value) string { return decimal(v, int(l.Scale)) }
		}
	}
	switch t.Kind() {
	case parquet.Int96: // times of Impala and early Spark: nanoseconds of a Julian day
		return func(v parquet.Value) string {
			i := v.Int96()
			const unixEpoch, day = 2440588, uint64(24 * time.Hour)
			nanos := uint64(i[1])<<32 | uint64(i[0])
			if nanos >= day {
				return "" // not a time of the day
			}
			return instant(time.Unix((int64(i[2])-unixEpoch)*86400, int64(nanos)))
		}
	case parquet.Float, parquet.Double:
		return func(v parquet.Value) string {
			if v.Kind() == parquet.Float { // shortest for 32 bits: 0.1 and not 0.10000000149
				f := v.Float()
				if f != f || math.IsInf(float64(f), 0) {
					return ""
				}
				return strconv.FormatFloat(float64(f), 'f', -1, 32)
			}
			return number(v.Double())
		}
	}
	return func(v parquet.Value) string {
		switch v.Kind() {
		case parquet.ByteArray, parquet.FixedLenByteArray:
			const longest = 1000
			text := v.ByteArray()
			return strings.ToValidUTF8(string(text[:min(len(text), longest)]), "?")
		case parquet.Boolean:
			return strconv.FormatBool(v.Boolean())
		}
		return fmt.Sprint(integer(v))
	}
}

func integer(v parquet.Value) int64 {
	if v.Kind() == parquet.Int32 {
		return int64(v.Int32())
	}
	return v.Int64()
}

// timeOf returns a number of units since 1970.
func timeOf(n int64, unit time.Duration) time.Time {
	per := int64(time.Second / unit)
	return time.Unix(n/per, n%per*int64(unit)).UTC()
}

// decimal returns a number with a fixed number of decimals.
func decimal(v parquet.Value, scale int) string {
	n := new(big.Int)
	switch v.Kind() {
	case parquet.Int32, parquet.Int64:
		n.SetInt64(integer(v))
	default:
		b := v.ByteArray()
		if len(b) > 64 || scale < 0 || scale > 200 {
			return ""
		}
		if n.SetBytes(b); len(b) > 0 && b[0]&0x80 != 0 { // two's complement
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
	}
	f, _ := new(big.Rat).SetFrac(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(scale, 0))), nil)).Float64()
	return number(f)
}
