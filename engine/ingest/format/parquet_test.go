//go:build !gateway

package format

import (
	"bytes"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

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
