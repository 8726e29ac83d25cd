package ops

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// TestSortedListHoldsAPage chooses the first rows of many, and never holds more than
// two pages of them.
func TestSortedListHoldsAPage(t *testing.T) {
	const rows, limit = 1000, 10
	c, err := newChoice("list", api.Page{Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	held := 0
	for i := range rows {
		n := int64(i*7919) % rows
		c.add(row{sortKey{}.number(n), []byte(fmt.Sprint(n))})
		held = max(held, len(c.rows))
	}
	if c.sort(); len(c.rows) != limit+1 || held > 2*(limit+1) {
		t.Errorf("%d rows were chosen and %d held for a page of %d", len(c.rows), held, limit)
	}
	for i, r := range c.rows {
		if string(r.key) != fmt.Sprint(i) {
			t.Errorf("row %d is %s", i, r.key)
		}
	}
}

// TestSortKeys compares keys as their values compare.
func TestSortKeys(t *testing.T) {
	day := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	keys := map[string][]sortKey{ // in ascending order
		"text":        {sortKey{}.text(""), sortKey{}.text("\x00"), sortKey{}.text("a"), sortKey{}.text("a\x00"), sortKey{}.text("ab"), sortKey{}.text("b")},
		"number":      {sortKey{}.number(math.MinInt64), sortKey{}.number(-5), sortKey{}.number(-1), sortKey{}.number(0), sortKey{}.number(7), sortKey{}.number(math.MaxInt64)},
		"descending":  {sortKey{}.descending(math.Inf(1)), sortKey{}.descending(2.5), sortKey{}.descending(1e-9), sortKey{}.descending(0), sortKey{}.descending(-1), sortKey{}.descending(-1e300), sortKey{}.descending(math.NaN())},
		"newestFirst": {sortKey{}.newestFirst(day.Add(time.Hour)), sortKey{}.newestFirst(day.Add(2)), sortKey{}.newestFirst(day.Add(1)), sortKey{}.newestFirst(day), sortKey{}.newestFirst(time.Unix(-1, 0)), sortKey{}.newestFirst(time.Time{})},
		"first":       {sortKey{}.first(true).text("b"), sortKey{}.first(false).text("a")},
	}
	for name, list := range keys {
		if !slices.IsSortedFunc(list, func(a, b sortKey) int { return bytes.Compare(a, b) }) {
			t.Errorf("the keys of %s are not in order: %x", name, list)
		}
	}
	if zero := math.Copysign(0, -1); !bytes.Equal(sortKey{}.descending(zero), sortKey{}.descending(0)) {
		t.Error("0 and -0 differ")
	}
}

// TestCursorOfASortedList accepts a cursor that the list made, whatever its record's
// key is, and no other.
func TestCursorOfASortedList(t *testing.T) {
	c, err := newChoice("list", api.Page{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []row{{sortKey{}, []byte("k")}, {sortKey{}.text(strings.Repeat("x", 1000)), []byte("\x00\x01")}} {
		cursor := c.cursor(r)
		if got, ok := c.parse(cursor); !ok || got.compare(r) != 0 {
			t.Errorf("the cursor of %q is read as %q, %v", r, got, ok)
		}
		for _, wrong := range []string{cursor[:6], cursor + "!", "3", " "} {
			if got, ok := c.parse(wrong); ok {
				t.Errorf("%q is read as %q", wrong, got)
			}
		}
		if _, err := newChoice("other", api.Page{Cursor: cursor}); err == nil {
			t.Error("the cursor of another list is accepted")
		}
	}
}
