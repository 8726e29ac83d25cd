package block

import (
	"math"
	"math/rand/v2"
	"testing"

	"app.sunloop/engine/series"
)

// days returns power in kW with one decimal, as loggers send it: a bell of
// clear sky times varying clouds, zero at night, a time stamp each 5 minutes.
func days(unit, n int) series.Frame {
	rng := rand.New(rand.NewPCG(1, uint64(unit)))
	cloud := 0.8
	var f series.Frame
	var power []float64
	for i := range n * 288 {
		f.Times = append(f.Times, 1735689600+int64(i)*300)
		half := 6 * (1 + 0.25*math.Cos(2*math.Pi*float64(i/288-15)/365))
		x := (float64(i%288)/12 - 12) / half
		p := 0.0
		if x > -1 && x < 1 {
			cloud = min(1, max(0.1, cloud+0.04*rng.NormFloat64()))
			p = math.Round(1100*math.Cos(x*math.Pi/2)*cloud) / 10
		}
		power = append(power, p)
	}
	f.Set(series.PowerKW, power)
	return f
}

// TestSizes asserts what a point costs, by how many days share a block.
func TestSizes(t *testing.T) {
	f := days(1, 360)
	for _, c := range []struct {
		span int
		max  float64 // bytes a point
	}{{1, 0.62}, {4, 0.55}, {8, 0.54}, {30, 0.53}} {
		size := 0
		for d := 0; d+c.span <= 360; d += c.span {
			b, err := Encode(nil, f.Slice(f.Times[0]+int64(d)*86400, f.Times[0]+int64(d+c.span)*86400))
			if err != nil {
				t.Fatal(err)
			}
			size += len(b)
		}
		got := float64(size) / float64(360/c.span*c.span*288)
		t.Logf("%2d days: %.3f B/point", c.span, got)
		if got > c.max {
			t.Errorf("blocks of %d days: %.3f B/point, want at most %.2f", c.span, got, c.max)
		}
	}
}

func BenchmarkCodec(b *testing.B) {
	f := days(1, 4)
	blk, _ := Encode(nil, f)
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			_, _ = Encode(nil, f)
		}
	})
	b.Run("decode4", func(b *testing.B) {
		for b.Loop() {
			_, _ = Decode(blk, series.PowerKW)
		}
	})
	b.Run("decode4 again", func(b *testing.B) {
		var d Decoder
		for b.Loop() {
			_, _ = d.DecodeRange(blk, math.MinInt64, math.MaxInt64, series.PowerKW)
		}
	})
	b.Run("decode 1 of 4", func(b *testing.B) {
		for b.Loop() {
			_, _ = DecodeRange(blk, f.Times[0]+2*86400, f.Times[0]+3*86400, series.PowerKW)
		}
	})
	day := f.Slice(f.Times[0], f.Times[0]+86400)
	blk1, _ := Encode(nil, day)
	b.Run("decode1", func(b *testing.B) {
		for b.Loop() {
			_, _ = Decode(blk1, series.PowerKW)
		}
	})
}
