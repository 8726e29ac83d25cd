//go:build !gateway

package format

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
)

// A time of Impala has 64 bits of nanoseconds; more than a day of them are no time.
func TestInt96BeyondADay(t *testing.T) {
	type row struct {
		Time  deprecated.Int96 `parquet:"time"`
		Power float64          `parquet:"power"`
	}
	day := uint64(24 * time.Hour)
	of := func(nanos uint64) row {
		return row{deprecated.Int96{uint32(nanos), uint32(nanos >> 32), 2440588 + 20000}, 1}
	}
	var buf bytes.Buffer
	w := parquet.NewGenericWriter[row](&buf)
	if _, err := w.Write([]row{of(uint64(12 * time.Hour)), of(day - 1), of(day), of(1 << 63), of(1<<64 - 1)}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	tables, err := readParquet(buf.Bytes(), NewBudget(1<<20))
	if err != nil || len(tables) != 1 {
		t.Fatalf("%d tables, %v", len(tables), err)
	}
	text := string(tables[0].Text)
	for _, want := range []string{"2024-10-04T12:00:00Z", "2024-10-04T23:59:59Z"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %q", want, text)
		}
	}
	if n := strings.Count(text, "T"); n != 2 {
		t.Errorf("%d times in %q, not 2", n, text)
	}
}

func FuzzParquet(f *testing.F) {
	type row struct {
		Time  time.Time `parquet:"time,timestamp(millisecond)"`
		Power *float64  `parquet:"power,optional"`
	}
	var buf bytes.Buffer
	power := 1.5
	w := parquet.NewGenericWriter[row](&buf)
	if _, err := w.Write([]row{{time.Unix(1748736000, 0), &power}, {time.Unix(1748736900, 0), nil}}); err != nil {
		f.Fatal(err)
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	fuzzParse(f, readParquet, buf.String())
}
