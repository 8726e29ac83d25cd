package tree

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"app.sunloop/engine/learn/frame"
	"app.sunloop/engine/learn/quantile"
)

// noisy is y = step(x0) + x1·noise with a useless third feature, some of the
// first missing where y is high.
func noisy(n int, seed uint64) *frame.Frame {
	rng := rand.New(rand.NewPCG(seed, 1))
	f := &frame.Frame{Names: []string{"step", "spread", "useless"}}
	for i := range n {
		x0, x1, x2 := float32(rng.IntN(4)), rng.Float32(), rng.Float32()
		y := x0 + x1*float32(rng.NormFloat64())
		if rng.IntN(10) == 0 {
			x0, y = float32(math.NaN()), 10+x1*float32(rng.NormFloat64())
		}
		f.Rows = append(f.Rows, x0, x1, x2)
		f.Target = append(f.Target, y)
		f.Group = append(f.Group, int32(i/24))
	}
	return f
}

func bin(t testing.TB, f *frame.Frame, bins int) *frame.Binned {
	b, err := frame.FitBinner(f, bins)
	if err != nil {
		t.Fatal(err)
	}
	d, err := b.Apply(f)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func fit(t testing.TB, d, v *frame.Binned, c Config) (*Ensemble, Report) {
	e, r, err := Fit(context.Background(), d, v, c)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Check(); err != nil {
		t.Fatal(err)
	}
	return e, r
}

func TestQuantilesOfAKnownDistribution(t *testing.T) {
	train, test := noisy(8000, 1), noisy(4000, 2)
	for _, bins := range []int{63, 255} {
		d := bin(t, train, bins)
		for _, c := range []struct{ q, z float64 }{{0.1, -1.2816}, {0.5, 0}, {0.9, 1.2816}} {
			config := Default(d.Len())
			config.Quantile, config.FeatureFraction = c.q, 1
			e, _ := fit(t, d, nil, config)
			out := make([]float32, test.Len())
			e.Predict(test.Rows, out)
			truth := make([]float32, test.Len())
			for i := range truth {
				row := test.Row(i)
				mean := row[0]
				if mean != mean {
					mean = 10
				}
				truth[i] = mean + float32(c.z)*row[1]
			}
			got, best := quantile.Pinball(c.q, test.Target, out), quantile.Pinball(c.q, test.Target, truth)
			if got > best*1.06 {
				t.Errorf("%d bins, q%g: pinball %.4f, the truth's %.4f", bins, c.q, got, best)
			}
			if s := e.Splits(); s[2] > s[0]+s[1] {
				t.Errorf("splits by feature: %v", s)
			}
		}
	}
}

func TestMissingSharesNoSideByForce(t *testing.T) {
	f := noisy(4000, 3)
	config := Default(f.Len())
	config.Quantile, config.FeatureFraction = 0.5, 1
	e, _ := fit(t, bin(t, f, 63), nil, config)
	out := make([]float32, 2)
	nan := float32(math.NaN())
	e.Predict([]float32{nan, 0.1, 0.5, 0, 0.1, 0.5}, out)
	if math.Abs(float64(out[0]-10)) > 0.3 || math.Abs(float64(out[1])) > 0.3 {
		t.Fatalf("missing answers %g, zero answers %g", out[0], out[1])
	}
}

// The answer on binned samples during the fit is the answer on raw rows after.
func TestBinnedAndRawWalksAgree(t *testing.T) {
	f := noisy(3000, 4)
	d := bin(t, f, 63)
	config := Default(f.Len())
	config.Quantile, config.BagFraction = 0.3, 0.5
	e, rep := fit(t, d, nil, config)
	out := make([]float32, f.Len())
	e.Predict(f.Rows, out)
	if got := quantile.Pinball(0.3, f.Target, out); math.Abs(got-rep.TrainLoss) > 1e-6 {
		t.Fatalf("loss %.7f on raw rows, %.7f in the fit", got, rep.TrainLoss)
	}
}

func TestEarlyStopKeepsTheBestRound(t *testing.T) {
	train, other := bin(t, noisy(300, 5), 63), noisy(2000, 6)
	v, err := train.Binner.Apply(other)
	if err != nil {
		t.Fatal(err)
	}
	config := Default(train.Len())
	config.Quantile, config.Patience, config.Rate, config.MinLeaf = 0.5, 10, 0.3, 5
	e, rep := fit(t, train, v, config)
	if len(e.Trees) != rep.BestRound || rep.Rounds <= rep.BestRound || rep.Rounds == config.Rounds {
		t.Fatalf("%d trees, report %+v", len(e.Trees), rep)
	}
	out := make([]float32, other.Len())
	e.Predict(other.Rows, out)
	if got := quantile.Pinball(0.5, other.Target, out); math.Abs(got-rep.ValidationLoss) > 1e-6 {
		t.Fatalf("validation loss %.6f, report %.6f", got, rep.ValidationLoss)
	}
}

func TestForestQuantilesAreOrderedAndFair(t *testing.T) {
	train, test := noisy(6000, 7), noisy(3000, 8)
	d := bin(t, train, 63)
	config := Default(d.Len())
	config.Rounds, config.BagFraction, config.MinLeaf, config.Leaves, config.FeatureFraction = 60, 0.6, 40, 60, 1
	f, err := FitForest(context.Background(), d, config)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Check(); err != nil {
		t.Fatal(err)
	}
	said := make([]float32, 3*test.Len())
	f.Quantiles(test.Rows, []float64{0.1, 0.5, 0.9}, said)
	var q [3][]float32
	for i, v := range said {
		q[i%3] = append(q[i%3], v)
	}
	for i := range q[0] {
		if q[0][i] > q[1][i] || q[1][i] > q[2][i] {
			t.Fatalf("row %d: %g %g %g", i, q[0][i], q[1][i], q[2][i])
		}
	}
	within := 0
	for i, y := range test.Target {
		if y >= q[0][i] && y <= q[2][i] {
			within++
		}
	}
	if c := float64(within) / float64(test.Len()); c < 0.75 || c > 0.86 {
		t.Errorf("coverage %.3f", c)
	}
}

// A weight counts as that many copies: the fits differ only in how quantiles
// interpolate.
func TestWeightsAreCopies(t *testing.T) {
	f := noisy(1500, 9)
	weighted := *f
	copies := &frame.Frame{Names: f.Names}
	for i := range f.Len() {
		w := 1 + i%3
		weighted.Weight = append(weighted.Weight, uint8(w))
		for range w {
			copies.Rows = append(copies.Rows, f.Row(i)...)
			copies.Target = append(copies.Target, f.Target[i])
		}
	}
	b, err := frame.FitBinner(f, 63)
	if err != nil {
		t.Fatal(err)
	}
	dw, _ := b.Apply(&weighted)
	dc, _ := b.Apply(copies)
	config := Default(f.Len())
	config.Quantile, config.Rounds, config.MinLeaf = 0.9, 50, 20
	ew, _ := fit(t, dw, nil, config)
	config.MinLeaf = 40 // the same weight: samples weigh two on average
	ec, _ := fit(t, dc, nil, config)
	a, c := make([]float32, f.Len()), make([]float32, f.Len())
	ew.Predict(f.Rows, a)
	ec.Predict(f.Rows, c)
	la, lc := quantile.Pinball(0.9, f.Target, a), quantile.Pinball(0.9, f.Target, c)
	if math.Abs(la-lc) > 0.06*lc {
		t.Fatalf("pinball %.5f weighted, %.5f with copies", la, lc)
	}
}

func TestSameSeedSameTrees(t *testing.T) {
	d := bin(t, noisy(3000, 10), 63)
	config := Default(d.Len())
	config.Quantile, config.BagFraction, config.Rounds = 0.5, 0.6, 60
	hash := func(c Config) [32]byte {
		e, _ := fit(t, d, nil, c)
		h := sha256.New()
		for _, tr := range e.Trees {
			for _, n := range tr.Nodes {
				_ = binary.Write(h, binary.LittleEndian, n.Threshold)
				_ = binary.Write(h, binary.LittleEndian, []int32{int32(n.Left), int32(n.Right), int32(n.Feature)})
			}
			_ = binary.Write(h, binary.LittleEndian, tr.Leaves)
		}
		return [32]byte(h.Sum(nil))
	}
	a := hash(config)
	if a != hash(config) {
		t.Fatal("two fits with one seed differ")
	}
	config.Seed++
	if a == hash(config) {
		t.Fatal("the seed changes nothing")
	}
}

func TestRefusals(t *testing.T) {
	d := bin(t, noisy(100, 11), 63)
	good := Default(d.Len())
	good.Quantile = 0.5
	for name, change := range map[string]func(*Config){
		"quantile 0": func(c *Config) { c.Quantile = 0 },
		"no rounds":  func(c *Config) { c.Rounds = 0 },
		"one leaf":   func(c *Config) { c.Leaves = 1 },
		"bag 2":      func(c *Config) { c.BagFraction = 2 },
	} {
		c := good
		change(&c)
		if _, _, err := Fit(context.Background(), d, nil, c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := Fit(ctx, d, nil, good); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled fit: %v", err)
	}
}

func TestConstantTargetNeedsNoTree(t *testing.T) {
	f := noisy(200, 12)
	for i := range f.Target {
		f.Target[i] = 7
	}
	config := Default(f.Len())
	config.Quantile = 0.9
	e, _ := fit(t, bin(t, f, 63), nil, config)
	out := make([]float32, 1)
	e.Predict(f.Row(0), out)
	if out[0] != 7 {
		t.Fatalf("answers %g", out[0])
	}
}

// Where a feature was never missing in training, a missing value goes with the
// many instead of always left.
func TestMissingGoesWithTheMany(t *testing.T) {
	n := 400
	f := &frame.Frame{Names: []string{"x"}, Rows: make([]float32, n), Target: make([]float32, n)}
	for i := range n {
		f.Rows[i] = float32(i)
		if i >= n/4 {
			f.Target[i] = 1 + 0.01*float32(i%3-1)
		}
	}
	b, err := frame.FitBinner(f, 63)
	if err != nil {
		t.Fatal(err)
	}
	d, err := b.Apply(f)
	if err != nil {
		t.Fatal(err)
	}
	e, _, err := Fit(context.Background(), d, nil, Config{Quantile: 0.5, Rounds: 40, Rate: 0.2, Leaves: 2, MinLeaf: 10, FeatureFraction: 1, BagFraction: 1})
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float32, 3)
	e.Predict([]float32{0, 300, float32(math.NaN())}, out)
	if !(out[0] < 0.2 && out[1] > 0.8 && out[2] > 0.8) {
		t.Errorf("few %g, many %g, missing %g", out[0], out[1], out[2])
	}
}
