package httpapi

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// Units are numbered by 16 bits, and by 32 on a site with more units.
func TestArrowUnits(t *testing.T) {
	for _, n := range []int{1, math.MaxInt16, math.MaxInt16 + 1} {
		units := make([]string, n)
		for i := range units {
			units[i] = fmt.Sprintf("INV-%d-ü", i)
		}
		e := &arrowEncoder{compact: compact{units: units, fields: fields[:1]}}
		b := e.begin(nil)
		want := []int{0, n / 2, n - 1, n - 1}
		for _, i := range want {
			b = e.chunk(b, &chunk{assetID: units[i], times: []int64{int64(i), int64(i) + 1}, values: [][]float64{{float64(i), math.NaN()}}})
		}
		r, err := ipc.NewReader(bytes.NewReader(e.end(b, "")))
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range want {
			if !r.Next() {
				t.Fatalf("%d units: the stream ends before unit %d: %v", n, i, r.Err())
			}
			id := r.RecordBatch().Column(0).(*array.Dictionary)
			at, power := r.RecordBatch().Column(1).(*array.Timestamp), r.RecordBatch().Column(2).(*array.Float64)
			for k := range 2 {
				if got := id.Dictionary().(*array.String).Value(id.GetValueIndex(k)); got != units[i] {
					t.Errorf("%d units: unit %q in place of %q", n, got, units[i])
				}
			}
			if int(at.Value(1)) != i+1 || power.Value(0) != float64(i) || power.IsValid(1) {
				t.Errorf("%d units: unit %d has %v, %v", n, i, at, power)
			}
		}
		if r.Next() || r.Err() != nil {
			t.Errorf("%d units: %v behind the last batch", n, r.Err())
		}
		r.Release()
	}
}
