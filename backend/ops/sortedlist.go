package ops

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

// sortedList is a list in an order that no index of its table has. A page reads
// all records of the query one after the other and keeps the sort keys of its own
// records only, so that its memory depends on the page and not on the table.
type sortedList[T any] struct {
	table store.Table[T]
	query store.Query // of the records to choose from
	begin func()      // called before the records are read, which may happen again; nil: nothing
	// update brings a record up to date before it is used; nil: nothing.
	update func(*T)
	keep   func(*T) bool // called once for each record
	order  func(*T) sortKey
}

// page returns the records of a page in ascending order of their sort keys, and
// then of their keys, and the cursor of the next page, empty at the end. A page is
// limited by its number of records and by their bytes. A cursor of another list
// is a 400.
func (l sortedList[T]) page(ctx context.Context, home store.Records, p api.Page) (records []T, next string, err error) {
	c, err := newChoice(l.table.Bucket, p)
	if err != nil {
		return nil, "", err
	}
	err = home.View(ctx, func(tx store.Tx) error {
		c.rows = nil
		if l.begin != nil {
			l.begin()
		}
		err := l.table.Each(tx, l.query, func(v T) error {
			if l.update != nil {
				l.update(&v)
			}
			if l.keep(&v) {
				c.add(row{l.order(&v), l.table.Key(v)})
			}
			return ctx.Err()
		})
		if err != nil {
			return err
		}
		records, next, err = chosen(ctx, tx, l.table, c)
		return err
	})
	if l.update != nil {
		for i := range records {
			l.update(&records[i])
		}
	}
	return records, next, err
}

// row is the place of a record in a sorted list.
type row struct {
	order sortKey
	key   []byte // of the record in its table
}

func (r row) compare(to row) int {
	return cmp.Or(bytes.Compare(r.order, to.order), bytes.Compare(r.key, to.key))
}

// choice collects the first rows of a sorted list behind a cursor.
type choice struct {
	list  string // whose cursors are accepted
	after *row   // nil: from the beginning
	limit int
	rows  []row // at most twice the limit and a few, unsorted
}

func newChoice(list string, p api.Page) (*choice, error) {
	c := &choice{list: list, limit: p.Limit}
	if c.limit <= 0 {
		c.limit = api.DefaultLimit
	}
	if p.Cursor == "" {
		return c, nil
	}
	if r, ok := c.parse(p.Cursor); ok {
		c.after = &r
		return c, nil
	}
	return nil, api.InvalidParameter("cursor", "it is not of this list")
}

// add adds a row if it is behind the cursor and may be among the first.
func (c *choice) add(r row) {
	if c.after != nil && r.compare(*c.after) <= 0 {
		return
	}
	if c.rows = append(c.rows, r); len(c.rows) >= 2*(c.limit+1) {
		c.sort()
	}
}

// sort puts the rows into order and drops those that are not on the page. It keeps
// one more, which tells that there is a next page.
func (c *choice) sort() {
	slices.SortFunc(c.rows, row.compare)
	c.rows = c.rows[:min(len(c.rows), c.limit+1)]
}

// cursor is the cursor of the page that follows the row.
func (c *choice) cursor(r row) string {
	b := append([]byte(c.list), 0, 0)
	b = binary.AppendUvarint(b, uint64(len(r.order)))
	b = append(b, r.order...)
	return base64.RawURLEncoding.EncodeToString(append(b, r.key...))
}

func (c *choice) parse(cursor string) (r row, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	b, own := bytes.CutPrefix(b, append([]byte(c.list), 0, 0))
	n, size := binary.Uvarint(b)
	if err != nil || !own || size <= 0 || n > uint64(len(b)-size) {
		return r, false
	}
	b = b[size:]
	return row{order: b[:n], key: b[n:]}, true
}

// chosen reads the records of the page, and the cursor of the next one.
func chosen[T any](ctx context.Context, tx store.Tx, t store.Table[T], c *choice) (records []T, next string, err error) {
	c.sort()
	size := 0
	for i, r := range c.rows {
		v, err := t.Get(tx, r.key)
		if err != nil {
			return nil, "", fmt.Errorf("read a record of %s: %w", t.Bucket, err)
		}
		n := limits.Size(&v)
		if full := i > 0 && size+n > maxPageBytes; full || i == c.limit {
			return records, c.cursor(c.rows[i-1]), nil
		}
		if err := limits.Take(ctx, n); err != nil {
			return nil, "", err
		}
		size += n
		records = append(records, v)
	}
	return records, "", nil
}

// sortKey is bytes that sort as the values that were appended to it do, one after
// the other.
type sortKey []byte

// text appends a text, in ascending order.
func (k sortKey) text(s string) sortKey { return append(k, store.Key(s)...) }

// number appends a number, in ascending order.
func (k sortKey) number(n int64) sortKey {
	return binary.BigEndian.AppendUint64(k, uint64(n)^1<<63)
}

// descending appends a number, in descending order. NaN is last.
func (k sortKey) descending(f float64) sortKey {
	if math.IsNaN(f) {
		f = math.Inf(-1)
	}
	b := math.Float64bits(0 - f) // which is not -0
	if b>>63 == 1 {
		return binary.BigEndian.AppendUint64(k, ^b)
	}
	return binary.BigEndian.AppendUint64(k, b^1<<63)
}

// newestFirst appends a time, in descending order.
func (k sortKey) newestFirst(t time.Time) sortKey {
	return k.number(-t.Unix()).number(-int64(t.Nanosecond()))
}

// first appends a condition: records that meet it come first.
func (k sortKey) first(is bool) sortKey {
	if is {
		return append(k, 0)
	}
	return append(k, 1)
}
