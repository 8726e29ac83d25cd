package store

import (
	"context"
	"encoding/binary"
	"errors"
	"iter"
)

// Kinds of rows that a store holds.
const (
	JobRows    = "jobs"    // of a state, [WaitingJobs] or [DeadJobs]
	RecordRows = "records" // of a bucket
	SiteRows   = "site"    // of a site: the one of its layout and roster
	AssetRows  = "assets"  // of a site: ids and numbers
	BlockRows  = "blocks"  // of a site's telemetry, as are the next two
	SumRows    = "sums"
	TailRows   = "tail"
)

// Names of the sets of jobs. A job that runs waits, as it would if its worker had
// died, and so does one that waits for its end.
const (
	WaitingJobs = "waiting" // as [Job], in JSON, by id
	DeadJobs    = "dead"    // as [DeadJob], in JSON
)

// SiteKinds are the kinds of rows that a site has.
func SiteKinds() []string { return []string{SiteRows, AssetRows, BlockRows, SumRows, TailRows} }

// RowSet names rows of one kind, of a bucket or of a site.
type RowSet struct{ Kind, Name string }

// Raw gives access to all rows of a store in bytes that are the same in each
// store, so that one store can be copied to another and compared with it.
type Raw interface {
	// RowSets are the sets that there are. A set may have no rows.
	RowSets(ctx context.Context) ([]RowSet, error)
	// Rows are those of a set, ascending by key, all of one committed state; an
	// unknown set has none. An error ends the sequence. Slices are valid until
	// the next row.
	Rows(ctx context.Context, set RowSet) iter.Seq2[Entry, error]
}

var errRow = errors.New("a row that is damaged")

// CellKey is the key of a row of blocks, sums or tail: it sorts by ref, then by
// time, times before 1970 too.
func CellKey(ref uint32, start int64) []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 12), ref)
	return binary.BigEndian.AppendUint64(b, uint64(start)^1<<63)
}

// SplitCellKey is the inverse of CellKey.
func SplitCellKey(key []byte) (ref uint32, start int64, err error) {
	if len(key) != 12 {
		return 0, 0, errRow
	}
	return binary.BigEndian.Uint32(key), int64(binary.BigEndian.Uint64(key[4:]) ^ 1<<63), nil
}

// AssetValue is the value of a row of assets, whose key is the asset's id.
func AssetValue(ref uint32) []byte { return binary.BigEndian.AppendUint32(nil, ref) }

// SplitAssetValue is the inverse of AssetValue.
func SplitAssetValue(value []byte) (ref uint32, err error) {
	if len(value) != 4 {
		return 0, errRow
	}
	return binary.BigEndian.Uint32(value), nil
}

// SiteValue is the value of a site's own row, whose key is the site's id.
func SiteValue(layout, roster []byte) []byte {
	b := binary.AppendUvarint(nil, uint64(len(layout)))
	return append(append(b, layout...), roster...)
}

// SplitSiteValue is the inverse of SiteValue.
func SplitSiteValue(value []byte) (layout, roster []byte, err error) {
	n, w := binary.Uvarint(value)
	if w <= 0 || n > uint64(len(value)-w) {
		return nil, nil, errRow
	}
	return value[w:][:n:n], value[w:][n:], nil
}
