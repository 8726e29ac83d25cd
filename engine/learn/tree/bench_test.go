package tree

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"app.sunloop/engine/learn/frame"
)

// wideFrame has 22 features, of which a few matter.
func wideFrame(n int) *frame.Frame {
	rng := rand.New(rand.NewPCG(5, 6))
	f := &frame.Frame{}
	for j := range 22 {
		f.Names = append(f.Names, fmt.Sprint(j))
	}
	for i := range n {
		row := make([]float32, 22)
		for j := range row {
			row[j] = rng.Float32()
		}
		f.Rows = append(f.Rows, row...)
		f.Target = append(f.Target, row[0]*row[1]+0.3*row[2]*float32(rng.NormFloat64()))
		f.Group = append(f.Group, int32(i/12))
	}
	return f
}

func BenchmarkFit9000x22(b *testing.B) {
	for _, bins := range []int{63, 255} {
		b.Run(fmt.Sprintf("bins%d", bins), func(b *testing.B) {
			d := bin(b, wideFrame(9000), bins)
			c := Default(d.Len())
			c.Quantile = 0.5
			for b.Loop() {
				if _, _, err := Fit(context.Background(), d, nil, c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPredict48(b *testing.B) {
	f := wideFrame(9000)
	c := Default(f.Len())
	c.Quantile = 0.5
	e, _ := fit(b, bin(b, f, 63), nil, c)
	out := make([]float32, 48)
	k := 0
	for b.Loop() { // another stretch each time, or the branch predictor learns it
		e.Predict(f.Rows[k*22:], out)
		k = (k + 48) % (f.Len() - 48)
	}
}
