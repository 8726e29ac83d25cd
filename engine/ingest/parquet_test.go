//go:build !gateway

package ingest_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"app.sunloop/engine/ingest"
)

// parquetRow is a row as pandas and Spark write them, next to a list, which is left out.
type parquetRow struct {
	Time  time.Time `parquet:"timestamp,timestamp(microsecond)"`
	Unit  string    `parquet:"inverter,dict"`
	Power *float32  `parquet:"ac_power_w,optional"`
	Codes []int32   `parquet:"codes,list"`
}

func TestParquet(t *testing.T) {
	var buf bytes.Buffer
	w := parquet.NewGenericWriter[parquetRow](&buf, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(50))
	for q := range 96 {
		a, b := float32(sunny(q)), float32(sunny(q)/2)
		rows := []parquetRow{{quarters(q), "a", &a, []int32{1, 2}}, {quarters(q), "b", &b, nil}}
		if q == 0 { // dark, and missing
			rows[1].Power = nil
		}
		if _, err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := twoUnits("a", "b", "Parquet")
	want.rows--
	checkFile(t, buf.Bytes(), ingest.Options{}, want)

	data := buf.Bytes()
	refused(t, data[:len(data)/2], ingest.NotText, "does not end with its directory")
	damaged := bytes.Clone(data)
	copy(damaged[8:40], make([]byte, 32))
	refused(t, damaged, ingest.NotText, "damaged")

	var empty bytes.Buffer
	if err := parquet.NewGenericWriter[parquetRow](&empty).Close(); err != nil {
		t.Fatal(err)
	}
	refused(t, empty.Bytes(), ingest.NoDataRows, "no rows")
	text := "PAR1,power (W)\n" + plainCSV(0, 96, 1)
	if _, err := ingest.Read(bytes.NewReader([]byte(text)), ingest.Options{Now: formatNow}); err != nil {
		t.Error("a text that begins like Parquet:", err)
	}

	var bomb bytes.Buffer
	z := parquet.NewGenericWriter[parquetRow](&bomb, parquet.Compression(&parquet.Zstd))
	if _, err := z.Write([]parquetRow{{quarters(0), "a", nil, make([]int32, 3<<20)}}); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	refused(t, bomb.Bytes(), ingest.TooLarge, "the Parquet file expands to more than 8 MB")
}
