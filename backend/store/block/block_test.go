package block

import (
	"encoding/binary"
	"errors"
	"flag"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"app.sunloop/engine/series"
)

var update = flag.Bool("update", false, "write the golden block")

// bitsOf distinguishes NaNs and zeros, as the format must.
func bitsOf(f series.Frame) (out []uint64) {
	for _, t := range f.Times {
		out = append(out, uint64(t))
	}
	for _, c := range f.Columns {
		out = append(out, uint64(c.Quantity)|1<<63)
		for _, v := range c.Values {
			out = append(out, math.Float64bits(v))
		}
	}
	return out
}

func roundTrip(t testing.TB, f series.Frame) series.Frame {
	t.Helper()
	b, err := Encode(nil, f)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(bitsOf(f), bitsOf(got)) {
		t.Fatalf("wrote %v, read %v", f, got)
	}
	if err := got.Check(); err != nil {
		t.Fatal(err)
	}
	return got
}

func frameOf(times []int64, columns ...series.Column) series.Frame {
	f := series.Frame{Times: times}
	for _, c := range columns {
		f.Set(c.Quantity, c.Values)
	}
	return f
}

func TestRoundTrip(t *testing.T) {
	nan, negZero := math.NaN(), math.Copysign(0, -1)
	odd := math.Float64frombits(0x7ff8dead00000001) // a NaN with a payload
	for name, values := range map[string][]float64{
		"integers":     {1, 2, 3, -4, 5},
		"decimals":     {0.1, 110.25, -3.125, 0.0001, 7},
		"zeros":        {0, 0, 0, 0, 0},
		"minus zero":   {0, negZero, 1, 2, 3},
		"gaps":         {nan, 1.5, nan, nan, 2},
		"all missing":  {nan, nan, nan, nan, nan},
		"NaN payload":  {1, odd, 2, 3, nan},
		"infinite":     {math.Inf(1), 1, math.Inf(-1), 2, 3},
		"thirds":       {1.0 / 3, 2.0 / 3, 5, math.Pi, 1e-300},
		"large":        {1e15, 9007199254740991, -9007199254740991, 1e18, math.MaxFloat64},
		"counters":     {123456789.123, 123456790.5, 123456791.875, 123456792, 123456793.001},
		"large, small": {9e15, 0.1, 0.2, 0.3, 0.4},
	} {
		t.Run(name, func(t *testing.T) {
			roundTrip(t, frameOf([]int64{0, 300, 600, 1200, 1201}, series.Column{Quantity: series.PowerKW, Values: values}))
		})
	}
	roundTrip(t, series.Frame{})
	roundTrip(t, series.Frame{Columns: []series.Column{{Quantity: series.PowerKW}}})
	roundTrip(t, frameOf([]int64{-5}))
	roundTrip(t, days(0, 4))
}

// frames are frames of all sorts: regular or not, decimal or not, with gaps.
func frames() *rapid.Generator[series.Frame] {
	return rapid.Custom(func(t *rapid.T) series.Frame {
		n := rapid.IntRange(0, 60).Draw(t, "n")
		at := rapid.Int64Range(-1<<33, 1<<33).Draw(t, "first")
		step := rapid.Int64Range(1, 1<<20)
		if rapid.Bool().Draw(t, "regular") {
			step = rapid.SampledFrom([]int64{300, 300, 300, 600})
		}
		var f series.Frame
		for range n {
			f.Times = append(f.Times, at)
			at += step.Draw(t, "step")
		}
		qs := rapid.SliceOfNDistinct(rapid.Uint8(), 0, 5, rapid.ID[uint8]).Draw(t, "quantities")
		for _, q := range qs {
			var value *rapid.Generator[float64]
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				value = rapid.Float64()
			case 1:
				value = rapid.Map(rapid.IntRange(-1200, 1200), func(i int) float64 { return float64(i) / 10 })
			case 2:
				value = rapid.OneOf(rapid.Just(math.NaN()), rapid.Map(rapid.Int32(), func(i int32) float64 { return float64(i) / 1000 }))
			case 3:
				value = rapid.Map(rapid.Uint64(), math.Float64frombits)
			}
			f.Set(series.Quantity(q), rapid.SliceOfN(value, n, n).Draw(t, "values"))
		}
		return f
	})
}

func TestRoundTripProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := frames().Draw(rt, "frame")
		b, err := Encode([]byte("before"), f)
		if err != nil {
			rt.Fatal(err)
		}
		b = b[len("before"):]
		got, err := Decode(b)
		if err != nil || !slices.Equal(bitsOf(f), bitsOf(got)) {
			rt.Fatalf("wrote %v, read %v, %v", f, got, err)
		}
		// A part of the stamps and of the columns is that part of the whole.
		edge := rapid.Int64Range(-1<<34, 1<<34)
		if f.Len() > 0 {
			edge = rapid.OneOf(edge, rapid.SampledFrom(f.Times), rapid.Map(rapid.SampledFrom(f.Times), func(t int64) int64 { return t + 1 }))
		}
		from, to := edge.Draw(rt, "from"), edge.Draw(rt, "to")
		part, err := DecodeRange(b, from, to)
		if err != nil || !slices.Equal(bitsOf(f.Slice(from, to)), bitsOf(part)) {
			rt.Fatalf("of %v from %d to %d: %v, %v", f, from, to, part, err)
		}
		if len(f.Columns) > 0 {
			c := rapid.SampledFrom(f.Columns).Draw(rt, "column")
			one, err := Decode(b, c.Quantity)
			want := series.Frame{Times: f.Times, Columns: []series.Column{c}}
			if err != nil || !slices.Equal(bitsOf(want), bitsOf(one)) {
				rt.Fatalf("only %v of %v: %v, %v", c.Quantity, f, one, err)
			}
		}
	})
}

// TestDamage flips each byte of a block: none goes unnoticed.
func TestDamage(t *testing.T) {
	b, err := Encode(nil, days(3, 1))
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		bad := slices.Clone(b)
		bad[i] ^= 0x41
		if _, err := Decode(bad); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("byte %d of %d changed: %v", i, len(b), err)
		}
		if _, err := Decode(b[:i]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut at %d of %d: %v", i, len(b), err)
		}
	}
}

func TestLimits(t *testing.T) {
	long := series.Frame{Times: make([]int64, MaxStamps+1)}
	for i := range long.Times {
		long.Times[i] = int64(i)
	}
	if _, err := Encode(nil, long); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%d stamps: %v", long.Len(), err)
	}
	long.Times = long.Times[:MaxStamps]
	roundTrip(t, long)
	for name, f := range map[string]series.Frame{
		"far":       {Times: []int64{maxTime + 1}},
		"long past": {Times: []int64{-maxTime - 1, 0}},
		"disorder":  {Times: []int64{2, 1}},
	} {
		if _, err := Encode(nil, f); err == nil {
			t.Errorf("%s is encoded", name)
		}
	}
}

// TestGolden holds the format fast: this block was written by the first
// version, and is read for ever.
func TestGolden(t *testing.T) {
	nan := math.NaN()
	f := frameOf([]int64{1774735200, 1774735500, 1774735800, 1774736700, 1774737000, 1774737300},
		series.Column{Quantity: series.PowerKW, Values: []float64{0, 0.4, 12.5, nan, nan, 99.9}},
		series.Column{Quantity: series.TemperatureC, Values: []float64{21, 21, 21, 21, 21, 21}},
		series.Column{Quantity: series.VoltageV, Values: []float64{math.Pi, 230, 231, 232, 233, 234}})
	path := filepath.Join("testdata", "version1.block")
	b, err := Encode(nil, f)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(golden)
	if err != nil || !slices.Equal(bitsOf(f), bitsOf(got)) {
		t.Errorf("read %v, %v", got, err)
	}
}

// FuzzDecode gives bytes with a right checksum, so that all behind it is
// reached.
func FuzzDecode(f *testing.F) {
	for _, frame := range []series.Frame{{}, days(1, 1), days(2, 1).Slice(1735689600, 1735693200),
		frameOf([]int64{1, 2, 9}, series.Column{Quantity: series.PowerKW, Values: []float64{math.NaN(), 1.5, math.Pi}})} {
		b, err := Encode(nil, frame)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:len(b)-4], int64(0), int64(math.MaxInt64))
		f.Add(b[:len(b)-4], int64(1735690000), int64(1735700000))
	}
	f.Fuzz(func(t *testing.T, body []byte, from, to int64) {
		b := binary.LittleEndian.AppendUint32(slices.Clone(body), crc32.Checksum(body, castagnoli))
		part, err := DecodeRange(b, from, to)
		if err == nil {
			if err := part.Check(); err != nil {
				t.Fatal(err)
			}
		}
		whole, err := Decode(b)
		if err != nil {
			return
		}
		if err := whole.Check(); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(bitsOf(whole.Slice(from, to)), bitsOf(part)) {
			t.Fatalf("from %d to %d of %v: %v", from, to, whole, part)
		}
		again, err := Encode(nil, whole)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Decode(again); err != nil || !slices.Equal(bitsOf(whole), bitsOf(got)) {
			t.Fatalf("%v became %v, %v", whole, got, err)
		}
	})
}
