package record

import (
	"bytes"
	"errors"
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
	c, err := NewChoice("list", api.Page{Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	held := 0
	for i := range rows {
		n := int64(i*7919) % rows
		c.Add(Row{SortKey{}.Number(n), []byte(fmt.Sprint(n))})
		held = max(held, len(c.Rows))
	}
	if c.sort(); len(c.Rows) != limit+1 || held > 2*(limit+1) {
		t.Errorf("%d rows were chosen and %d held for a page of %d", len(c.Rows), held, limit)
	}
	for i, r := range c.Rows {
		if string(r.Key) != fmt.Sprint(i) {
			t.Errorf("row %d is %s", i, r.Key)
		}
	}
}

// TestSortKeys compares keys as their values compare.
func TestSortKeys(t *testing.T) {
	day := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	keys := map[string][]SortKey{ // in ascending order
		"text":        {SortKey{}.Text(""), SortKey{}.Text("\x00"), SortKey{}.Text("a"), SortKey{}.Text("a\x00"), SortKey{}.Text("ab"), SortKey{}.Text("b")},
		"number":      {SortKey{}.Number(math.MinInt64), SortKey{}.Number(-5), SortKey{}.Number(-1), SortKey{}.Number(0), SortKey{}.Number(7), SortKey{}.Number(math.MaxInt64)},
		"descending":  {SortKey{}.Descending(math.Inf(1)), SortKey{}.Descending(2.5), SortKey{}.Descending(1e-9), SortKey{}.Descending(0), SortKey{}.Descending(-1), SortKey{}.Descending(-1e300), SortKey{}.Descending(math.NaN())},
		"newestFirst": {SortKey{}.NewestFirst(day.Add(time.Hour)), SortKey{}.NewestFirst(day.Add(2)), SortKey{}.NewestFirst(day.Add(1)), SortKey{}.NewestFirst(day), SortKey{}.NewestFirst(time.Unix(-1, 0)), SortKey{}.NewestFirst(time.Time{})},
		"first":       {SortKey{}.First(true).Text("b"), SortKey{}.First(false).Text("a")},
	}
	for name, list := range keys {
		if !slices.IsSortedFunc(list, func(a, b SortKey) int { return bytes.Compare(a, b) }) {
			t.Errorf("the keys of %s are not in order: %x", name, list)
		}
	}
	if zero := math.Copysign(0, -1); !bytes.Equal(SortKey{}.Descending(zero), SortKey{}.Descending(0)) {
		t.Error("0 and -0 differ")
	}
}

// TestCursorOfASortedList accepts a cursor that the list made, whatever its record's
// key is, and no other.
func TestCursorOfASortedList(t *testing.T) {
	c, err := NewChoice("list", api.Page{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []Row{{SortKey{}, []byte("k")}, {SortKey{}.Text(strings.Repeat("x", 1000)), []byte("\x00\x01")}} {
		cursor := c.cursor(r)
		if got, ok := c.parse(cursor); !ok || got.Compare(r) != 0 {
			t.Errorf("the cursor of %q is read as %q, %v", r, got, ok)
		}
		for _, wrong := range []string{cursor[:6], cursor + "!", "3", " "} {
			if got, ok := c.parse(wrong); ok {
				t.Errorf("%q is read as %q", wrong, got)
			}
		}
		if _, err := NewChoice("other", api.Page{Cursor: cursor}); err == nil {
			t.Error("the cursor of another list is accepted")
		}
	}
}

func TestIDs(t *testing.T) {
	for id, good := range map[string]bool{"Sibaya": true, "North roof 2": true, "a/b": true, "…": true, "": false, " a": false, "a\x00": false, "\xff": false, "*": false, ".": false, "..": false} {
		var refused *api.Error
		if err := CheckText("site_id", id); (err == nil) != good || err != nil && (!errors.As(err, &refused) || refused.Details["field"] != "site_id") {
			t.Errorf("%q: %v", id, err)
		}
	}
}
