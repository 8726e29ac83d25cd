package record

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	limits "app.sunloop/backend/limit"
	"app.sunloop/backend/store"
)

// SortedList is a list in an order that no index of its table has. A page reads
// all records of the query one after the other and keeps the sort keys of the
// records on the page only, so that its memory depends on the page and not on the
// table.
type SortedList[T any] struct {
	Table store.Table[T]
	Query store.Query // of the records to choose from
	Begin func()      // called before the records are read, which may happen again; nil: nothing
	// update brings a record up to date before it is used; nil: nothing.
	Update func(*T)
	Keep   func(*T) bool // called once for each record
	Order  func(*T) SortKey
}

// Page returns the records of a page in ascending order of their sort keys, and
// then of their keys, and the cursor of the next page, empty at the end. A page is
// limited by its number of records and by their bytes. A cursor of another list
// is a 400.
func (l SortedList[T]) Page(ctx context.Context, storage store.Records, p api.Page) (records []T, next string, err error) {
	c, err := NewChoice(l.Table.Bucket, p)
	if err != nil {
		return nil, "", err
	}
	err = storage.View(ctx, func(tx store.Tx) error {
		c.Rows = nil
		if l.Begin != nil {
			l.Begin()
		}
		err := l.Table.Each(tx, l.Query, func(v T) error {
			if l.Update != nil {
				l.Update(&v)
			}
			if l.Keep(&v) {
				c.Add(Row{l.Order(&v), l.Table.Key(v)})
			}
			return ctx.Err()
		})
		if err != nil {
			return err
		}
		records, next, err = ReadPage(ctx, tx, l.Table, c)
		return err
	})
	if l.Update != nil {
		for i := range records {
			l.Update(&records[i])
		}
	}
	return records, next, err
}

// Row is the place of a record in a sorted list.
type Row struct {
	Order SortKey
	Key   []byte // of the record in its table
}

// Compare orders rows by sort key, then by the key of the record.
func (r Row) Compare(to Row) int {
	return cmp.Or(bytes.Compare(r.Order, to.Order), bytes.Compare(r.Key, to.Key))
}

// Choice collects the first rows of a sorted list behind a cursor.
type Choice struct {
	list  string // whose cursors are accepted
	After *Row   // nil: from the beginning
	Limit int
	Rows  []Row // at most twice the limit and a few, unsorted
}

// NewChoice returns a Choice for a page. The error is a 400 for a cursor of another
// list.
func NewChoice(list string, p api.Page) (*Choice, error) {
	c := &Choice{list: list, Limit: p.Limit}
	if c.Limit <= 0 {
		c.Limit = api.DefaultLimit
	}
	c.Limit = min(c.Limit, math.MaxInt/4) // twice as many rows can be counted, with 32 bits too
	if p.Cursor == "" {
		return c, nil
	}
	if r, ok := c.parse(p.Cursor); ok {
		c.After = &r
		return c, nil
	}
	return nil, api.InvalidParameter("cursor", "it is not of this list")
}

// Add adds a row if it is behind the cursor and may be among the first.
func (c *Choice) Add(r Row) {
	if c.After != nil && r.Compare(*c.After) <= 0 {
		return
	}
	if c.Rows = append(c.Rows, r); len(c.Rows) >= 2*(c.Limit+1) {
		c.sort()
	}
}

// sort puts the rows into order and drops those that are not on the page. It keeps
// one more, which shows that a next page exists.
func (c *Choice) sort() {
	slices.SortFunc(c.Rows, Row.Compare)
	c.Rows = c.Rows[:min(len(c.Rows), c.Limit+1)]
}

// cursor is the cursor of the page that follows the row.
func (c *Choice) cursor(r Row) string {
	b := append([]byte(c.list), 0, 0)
	b = binary.AppendUvarint(b, uint64(len(r.Order)))
	b = append(b, r.Order...)
	return base64.RawURLEncoding.EncodeToString(append(b, r.Key...))
}

func (c *Choice) parse(cursor string) (r Row, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	b, own := bytes.CutPrefix(b, append([]byte(c.list), 0, 0))
	n, size := binary.Uvarint(b)
	if err != nil || !own || size <= 0 || n > uint64(len(b)-size) {
		return r, false
	}
	b = b[size:]
	return Row{Order: b[:n], Key: b[n:]}, true
}

// ReadPage reads the records of the page, and the cursor of the next one.
func ReadPage[T any](ctx context.Context, tx store.Tx, t store.Table[T], c *Choice) (records []T, next string, err error) {
	c.sort()
	keys := make([][]byte, len(c.Rows))
	for i, r := range c.Rows {
		keys[i] = r.Key
	}
	if err := tx.Prefetch(t.Bucket, keys); err != nil {
		return nil, "", fmt.Errorf("read the records of a page of %s: %w", t.Bucket, err)
	}
	size := 0
	for i, r := range c.Rows {
		v, err := t.Get(tx, r.Key)
		if err != nil {
			return nil, "", fmt.Errorf("read a record of %s: %w", t.Bucket, err)
		}
		n := limits.Size(&v)
		if full := i > 0 && size+n > maxPageBytes; full || i == c.Limit {
			return records, c.cursor(c.Rows[i-1]), nil
		}
		if err := limits.Take(ctx, n); err != nil {
			return nil, "", err
		}
		size += n
		records = append(records, v)
	}
	return records, "", nil
}

// SortKey is bytes that sort as the values that were appended to it do, one after
// the other.
type SortKey []byte

// Text appends a text, in ascending order.
func (k SortKey) Text(s string) SortKey { return append(k, store.Key(s)...) }

// ReverseID appends an id that [NewID] made, in descending order. Ids of one kind
// have one length.
func (k SortKey) ReverseID(id string) SortKey {
	for _, b := range []byte(id) {
		k = append(k, ^b)
	}
	return k
}

// Number appends a number, in ascending order.
func (k SortKey) Number(n int64) SortKey {
	return binary.BigEndian.AppendUint64(k, uint64(n)^1<<63)
}

// Descending appends a number, in descending order. NaN is last.
func (k SortKey) Descending(f float64) SortKey {
	if math.IsNaN(f) {
		f = math.Inf(-1)
	}
	b := math.Float64bits(0 - f) // which is not -0
	if b>>63 == 1 {
		return binary.BigEndian.AppendUint64(k, ^b)
	}
	return binary.BigEndian.AppendUint64(k, b^1<<63)
}

// NewestFirst appends a time, in descending order.
func (k SortKey) NewestFirst(t time.Time) SortKey {
	return k.Number(-t.Unix()).Number(-int64(t.Nanosecond()))
}

// First appends a condition: records that meet it come first.
func (k SortKey) First(is bool) SortKey {
	if is {
		return append(k, 0)
	}
	return append(k, 1)
}
