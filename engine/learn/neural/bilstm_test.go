package neural

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// echo is the task to output the mean of the nearest marked values on either
// side, which needs both directions and memory.
func echo(rng *rand.Rand, s *Sequence) {
	steps := len(s.Weight)
	marked := make([]int, 0, steps)
	for i := range steps {
		s.X[2*i], s.X[2*i+1] = 0, 0
		if i == 0 || i == steps-1 || rng.IntN(5) == 0 {
			s.X[2*i], s.X[2*i+1] = float32(rng.Float64()-0.5), 1
			marked = append(marked, i)
		}
	}
	for i := range steps {
		k, hit := slices.BinarySearch(marked, i)
		s.Weight[i], s.Scale[i], s.Offset[i] = 1, 1, 0.25
		if hit {
			s.Weight[i] = 0
			continue
		}
		s.Target[i] = 0.25 + 0.5*(s.X[2*marked[k-1]]+s.X[2*marked[k]])
	}
}

func echoes(n, steps int, seed uint64) []*Sequence {
	rng := rand.New(rand.NewPCG(seed, 9))
	out := make([]*Sequence, n)
	for i := range out {
		out[i] = NewSequence(2, steps)
		echo(rng, out[i])
	}
	return out
}

func smallSequence() SequenceConfig {
	c := DefaultSequence(2)
	c.Steps, c.Updates, c.Epochs, c.Rate = 20, 100, 6, 1e-2
	return c
}

func TestBiLSTMLearnsFromBothSides(t *testing.T) {
	c := smallSequence()
	n, rep, err := FitBiLSTM(context.Background(), c, echo, echoes(64, c.Steps, 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Check(); err != nil {
		t.Fatal(err)
	}
	var wrong, naive, count float64
	for _, s := range echoes(50, 30, 2) {
		out := make([]float32, 30)
		n.Predict(s.X, out)
		for i, w := range s.Weight {
			if w > 0 {
				wrong += math.Abs(float64(s.Offset[i] + out[i] - s.Target[i]))
				naive += math.Abs(float64(s.Offset[i] - s.Target[i]))
				count++
			}
		}
	}
	t.Logf("report %+v, error %.4f, of the offset alone %.4f, %d parameters", rep, wrong/count, naive/count, n.Parameters())
	if wrong > 0.2*naive || rep.BestEpoch < 1 || rep.Epochs != c.Epochs || !(rep.ValidationLoss < 0.1) || !keeps(rep) {
		t.Errorf("error %.4f, of the offset alone %.4f; %+v", wrong/count, naive/count, rep)
	}
}

func TestBiLSTMIsTheSameWithAnyWorkersAndKernel(t *testing.T) {
	c := smallSequence()
	c.Updates, c.Epochs, c.Steps = 12, 2, 9
	validation := echoes(11, c.Steps, 3)
	fit := func(c SequenceConfig) (*BiLSTM, Report) {
		n, rep, err := FitBiLSTM(context.Background(), c, echo, validation)
		if err != nil {
			t.Fatal(err)
		}
		return n, rep
	}
	want, report := fit(c)
	for _, workers := range []int{2, 3, 4, 9} {
		for _, plain := range []bool{false, true} {
			d := c
			d.Workers, d.Plain = workers, plain
			if got, rep := fit(d); !reflect.DeepEqual(got, want) || !reflect.DeepEqual(rep, report) {
				t.Errorf("workers %d, plain %v: another network", workers, plain)
			}
		}
	}
	c.Seed++
	if got, _ := fit(c); reflect.DeepEqual(got, want) {
		t.Error("the seed changes nothing")
	}
}

// The gradient against finite differences of the loss, for every layer.
func TestBiLSTMGradient(t *testing.T) {
	const steps, count = 7, 3
	n := startBiLSTM(2, 16, 4)
	for i := range n.Head.Weights {
		n.Head.Weights[i] *= 10
	}
	part := echoes(count, steps, 5)
	w := newPass(n, count, steps, true)
	loss := func() float64 {
		w.load(part, 2)
		w.forward(n, addProductsPlain, squashPlain)
		return w.huber(part, 10, true) // wide: the loss is smooth
	}
	loss()
	w.backward(n, addProductsPlain)
	for k, l := range n.layers() {
		g := w.gradient.layers()[k]
		for _, v := range []struct{ weights, gradient []float32 }{{l.Weights, g.Weights}, {l.Bias, g.Bias}} {
			for at := 0; at < len(v.weights); at += 7 {
				const h = 1e-2
				was, got := v.weights[at], float64(v.gradient[at])
				v.weights[at] = was + h
				up := loss()
				v.weights[at] = was - h
				down := loss()
				v.weights[at] = was
				if want := (up - down) / (2 * h); math.Abs(got-want) > 0.03*math.Abs(want)+3e-5 {
					t.Errorf("layer %d weight %d: gradient %.6f, difference %.6f", k, at, got, want)
				}
			}
		}
	}
}

func TestSquashKernels(t *testing.T) {
	var x []float32
	for v := float32(-30); v < 30; v += 0.01 {
		x = append(x, v)
	}
	x = append(x, 0, float32(math.Inf(1)), float32(math.Inf(-1)), 1e-30, -1e30)
	x = x[:len(x)&^7]
	for _, s := range []struct {
		shift, scale float32
		of           func(float64) float64
	}{{0, 1, math.Tanh}, {0.5, 0.5, func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }}} {
		plain, fast := slices.Clone(x), slices.Clone(x)
		squashPlain(plain, s.shift, s.scale)
		squashAssembly(fast, s.shift, s.scale)
		if !slices.Equal(plain, fast) {
			t.Errorf("scale %g: kernels differ", s.scale)
		}
		for i, v := range x {
			if d := math.Abs(float64(plain[i]) - s.of(float64(v))); d > 1.2e-4 {
				t.Fatalf("scale %g: %g is off by %g", s.scale, v, d)
			}
		}
	}
}

func TestBiLSTMRefusals(t *testing.T) {
	good := echoes(4, 20, 6)
	for name, change := range map[string]func(*SequenceConfig){
		"odd hidden": func(c *SequenceConfig) { c.Hidden = 10 },
		"odd batch":  func(c *SequenceConfig) { c.Batch = 6 },
		"one step":   func(c *SequenceConfig) { c.Steps = 1 },
		"no rate":    func(c *SequenceConfig) { c.Rate = math.NaN() },
		"others":     func(c *SequenceConfig) { c.Steps = 21 },
	} {
		c := smallSequence()
		change(&c)
		if _, _, err := FitBiLSTM(context.Background(), c, echo, good); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, _, err := FitBiLSTM(context.Background(), smallSequence(), echo, nil); err == nil {
		t.Error("nothing to validate on: no error")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := FitBiLSTM(ctx, smallSequence(), echo, good); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for name, spoil := range map[string]func(*BiLSTM){
		"hidden":      func(n *BiLSTM) { n.Hidden = 15 },
		"cut weights": func(n *BiLSTM) { n.Input[1].Weights = n.Input[1].Weights[1:] },
		"other shape": func(n *BiLSTM) { n.Recurrent[0].In = 32 },
		"not finite":  func(n *BiLSTM) { n.Head.Bias[0] = float32(math.NaN()) },
	} {
		n := startBiLSTM(3, 16, 1)
		if err := n.Check(); err != nil {
			t.Fatal(err)
		}
		spoil(n)
		if n.Check() == nil {
			t.Errorf("%s: passes the check", name)
		}
	}
}

// One update of 32 sequences of 64 steps, as a gap filler has them.
func BenchmarkSequenceUpdate(b *testing.B) {
	for _, plain := range []bool{false, true} {
		b.Run(map[bool]string{false: "auto", true: "plain"}[plain], func(b *testing.B) {
			c := DefaultSequence(11)
			c.Plain, c.Epochs = plain, 1<<20
			t := newSequenceTrainer(c, func(rng *rand.Rand, s *Sequence) {
				for i := range s.X {
					s.X[i] = rng.Float32()
				}
				for i := 20; i < 44; i++ {
					s.Weight[i], s.Scale[i] = 0.1, 0.5
				}
			})
			for b.Loop() {
				t.update()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.Batch*c.Steps), "ns/step")
		})
	}
}
