package neural

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"app.sunloop/engine/learn/frame"
	"app.sunloop/engine/learn/quantile"
)

var deciles = []float64{0.1, 0.5, 0.9}

// curved is y = scale·(x0² + x1·noise), features missing now and then.
func curved(n int, seed uint64) *frame.Frame {
	rng := rand.New(rand.NewPCG(seed, 1))
	f := &frame.Frame{Names: []string{"a", "b", "c"}}
	for range n {
		a, b, c, s := 2*rng.Float32()-1, rng.Float32(), rng.Float32(), rng.Float32()
		f.Target = append(f.Target, s*(a*a+0.2*b*float32(rng.NormFloat64())))
		if rng.IntN(50) == 0 {
			c = float32(math.NaN())
		}
		f.Rows = append(f.Rows, a, b, c)
		f.Scale = append(f.Scale, s)
	}
	return f
}

func fit(t testing.TB, train, validation *frame.Frame, c Config) (*Network, Report) {
	n, r, err := Fit(context.Background(), train, validation, c)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Check(); err != nil {
		t.Fatal(err)
	}
	return n, r
}

func TestLearnsAKnownDistribution(t *testing.T) {
	train, validation, test := curved(4000, 1), curved(800, 2), curved(2000, 3)
	n, rep := fit(t, train, validation, Default(deciles))
	out := make([]float32, 3*test.Len())
	n.Predict(test.Rows, test.Scale, out)
	for k, z := range []float32{-1.2816, 0, 1.2816} {
		got, truth := make([]float32, test.Len()), make([]float32, test.Len())
		for i := range got {
			got[i] = out[3*i+k]
			a, b := test.Row(i)[0], test.Row(i)[1]
			truth[i] = test.Scale[i] * (a*a + z*0.2*b)
			if !slices.IsSorted(out[3*i : 3*i+3]) {
				t.Fatalf("row %d: quantiles cross: %v", i, out[3*i:3*i+3])
			}
		}
		g, b := quantile.Pinball(deciles[k], test.Target, got), quantile.Pinball(deciles[k], test.Target, truth)
		if g > b*1.2+0.001 {
			t.Errorf("q%g: pinball %.5f, the truth's %.5f", deciles[k], g, b)
		}
	}
	if rep.BestEpoch < 1 || rep.BestEpoch > rep.Epochs || !(rep.ValidationLoss < 0.02) || !(rep.TrainLoss < 0.02) || !keeps(rep) {
		t.Errorf("report %+v", rep)
	}
	zero := make([]float32, 3)
	n.Predict(test.Row(0), []float32{0}, zero)
	if !slices.Equal(zero, []float32{0, 0, 0}) {
		t.Errorf("at scale zero the answer is %v", zero)
	}
}

func TestKernelsAgreeInEveryBit(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{16, 32, 64, 80, 128, 208} {
		for _, k := range []int{0, 1, 3, 64, 100} {
			step := 1 + k%3
			a, b := make([]float32, max(0, k*step-1)), make([]float32, k*n)
			c := make([]float32, n)
			for _, v := range [][]float32{a, b, c} {
				for i := range v {
					v[i] = float32(rng.NormFloat64())
				}
			}
			d := slices.Clone(c)
			addProductsPlain(c, a, b, step, n)
			addProductsAssembly(d, a, b, step, n)
			if !slices.Equal(c, d) {
				t.Fatalf("width %d, depth %d: kernels differ", n, k)
			}
		}
	}
	if !hasAssembly {
		t.Log("this machine runs the plain kernel only")
	}
}

func TestTrainingIsTheSameWithEveryKernel(t *testing.T) {
	train, validation := curved(900, 4), curved(200, 5)
	c := Default(deciles)
	c.Epochs, c.Hidden, c.Samples = 6, []int{64, 20}, 700
	a, ra := fit(t, train, validation, c)
	c.Plain = true
	b, rb := fit(t, train, validation, c)
	if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(ra, rb) {
		t.Fatal("assembly and plain kernels train different networks")
	}
	c.Seed++
	if d, _ := fit(t, train, validation, c); reflect.DeepEqual(b, d) {
		t.Fatal("the seed changes nothing")
	}
}

// The gradient against finite differences of the loss.
func TestGradient(t *testing.T) {
	train := curved(64, 6)
	c := Default(deciles)
	c.Dropout, c.Batch, c.Hidden = 0, 64, []int{16, 16}
	n := start(train, c)
	tr := newTrainer(n, train, c)
	loss := func() float64 {
		copy(tr.w.in[0], tr.input)
		tr.w.forward(tr.mul, n.Layers, 64, nil)
		return tr.lossGradient(tr.order) / float64(64*3)
	}
	loss()
	tr.w.backward(tr.mul, n.Layers, tr.gradient, 64, false)
	for li, l := range n.Layers {
		for _, at := range []int{0, 1, l.Out, l.Out + 2, 2*l.Out + 1} {
			const h = 3e-3
			was := l.Weights[at]
			got := float64(tr.gradient[li].Weights[at])
			l.Weights[at] = was + h
			up := loss()
			l.Weights[at] = was - h
			down := loss()
			l.Weights[at] = was
			if want := (up - down) / (2 * h); math.Abs(got-want) > 0.12*math.Abs(want)+2e-3 {
				t.Errorf("layer %d weight %d: gradient %.5f, difference %.5f", li, at, got, want)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	f := curved(10, 7)
	for name, c := range map[string]func(*Config){
		"even quantiles": func(c *Config) { c.Quantiles = []float64{0.1, 0.9} },
		"no batch":       func(c *Config) { c.Batch = 0 },
		"all dropped":    func(c *Config) { c.Dropout = 1 },
	} {
		config := Default(deciles)
		c(&config)
		if _, _, err := Fit(context.Background(), f, f, config); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := Fit(ctx, f, f, Default(deciles)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled fit: %v", err)
	}
	n, _ := fit(t, f, f, Default(deciles))
	n.Layers[1].In = 48
	if n.Check() == nil {
		t.Error("layers that do not fit pass the check")
	}
}

func BenchmarkEpoch9000x22(b *testing.B) {
	f := &frame.Frame{Names: make([]string, 22)}
	rng := rand.New(rand.NewPCG(5, 6))
	for range 9000 {
		for range 22 {
			f.Rows = append(f.Rows, rng.Float32())
		}
		f.Target = append(f.Target, rng.Float32())
	}
	for _, plain := range []bool{false, true} {
		b.Run(map[bool]string{false: "auto", true: "plain"}[plain], func(b *testing.B) {
			c := Default(deciles)
			c.Plain, c.Epochs = plain, 1000
			t := newTrainer(start(f, c), f, c)
			for b.Loop() {
				t.epoch()
			}
		})
	}
}

func BenchmarkPredict48(b *testing.B) {
	train := curved(500, 8)
	c := Default(deciles)
	c.Epochs = 2
	n, _ := fit(b, train, train, c)
	out := make([]float32, 3*48)
	for b.Loop() {
		n.Predict(train.Rows, train.Scale[:48], out)
	}
}

// keeps reports whether a report's curve has each epoch, and whether the epoch
// with the lowest validation loss was kept.
func keeps(rep Report) bool {
	if len(rep.Curve) != rep.Epochs {
		return false
	}
	best := rep.Curve[rep.BestEpoch-1]
	return best == Losses{rep.TrainLoss, rep.ValidationLoss} &&
		!slices.ContainsFunc(rep.Curve, func(l Losses) bool { return l.Validation < best.Validation })
}
