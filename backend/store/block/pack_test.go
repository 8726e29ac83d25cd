package block

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"app.sunloop/engine/series"
)

// TestPacked: packed numbers are restored from any position: narrow and wide
// groups, and more zeros than one byte can count.
func TestPacked(t *testing.T) {
	stretch := rapid.Custom(func(t *rapid.T) []int64 {
		if rapid.Bool().Draw(t, "still") {
			return make([]int64, rapid.IntRange(1, 3000).Draw(t, "zeros"))
		}
		wide := int64(1) << rapid.IntRange(0, 54).Draw(t, "bits")
		return rapid.SliceOfN(rapid.Int64Range(-wide, wide), 1, 40).Draw(t, "differences")
	})
	rapid.Check(t, func(t *rapid.T) {
		differences := slices.Concat(rapid.SliceOfN(stretch, 0, 4).Draw(t, "stretches")...)
		x := rapid.Int64Range(-1000, 1000).Draw(t, "first")
		var numbers []uint64
		want := []float64{float64(x) / 10}
		sum := x
		for _, d := range differences {
			numbers = append(numbers, zigzag(d))
			sum += d
			want = append(want, float64(sum)/10)
		}
		packed := appendPacked(nil, numbers)
		lo := rapid.IntRange(0, len(want)).Draw(t, "from")
		hi := rapid.IntRange(lo, len(want)).Draw(t, "to")
		r := reader{b: packed}
		got := make([]float64, hi-lo)
		if r.running(got, lo, x, 10); r.failed || !slices.Equal(got, want[lo:hi]) {
			t.Fatalf("%v to %v of %v: %v, failed %v", lo, hi, want, got, r.failed)
		}
		if hi == len(want) && hi > lo && len(r.b) > 0 {
			t.Fatalf("%d bytes are left", len(r.b))
		}
	})
}

// TestConstantColumnsTakeNoSpace: a month of nights in a few bytes.
func TestConstantColumnsTakeNoSpace(t *testing.T) {
	if b := appendPacked(nil, make([]uint64, 8640)); len(b) > 9 {
		t.Errorf("%d bytes", len(b))
	}
}

// TestDecoder: one decoder gives what new ones give, whatever it read before.
func TestDecoder(t *testing.T) {
	var d Decoder
	rapid.Check(t, func(t *rapid.T) {
		f := frames().Draw(t, "frame")
		b, err := Encode(nil, f)
		if err != nil {
			t.Fatal(err)
		}
		from, to := int64(rapid.Int32().Draw(t, "from")), int64(rapid.Int32().Draw(t, "to"))
		var only []series.Quantity
		if len(f.Columns) > 0 && rapid.Bool().Draw(t, "one") {
			only = []series.Quantity{f.Columns[0].Quantity}
		}
		want, err := DecodeRange(b, from, to, only...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.DecodeRange(b, from, to, only...)
		if err != nil || !slices.Equal(bitsOf(got), bitsOf(want)) {
			t.Fatalf("%v, %v, want %v", got, err, want)
		}
	})
}
