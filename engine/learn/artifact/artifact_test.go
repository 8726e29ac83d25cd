package artifact

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"app.sunloop/engine/learn/frame"
	"app.sunloop/engine/learn/neural"
	"app.sunloop/engine/learn/quantile"
	"app.sunloop/engine/learn/tree"
)

type parts struct {
	Trees      *tree.Ensemble
	Forest     *tree.Forest
	Network    *neural.Network
	Binner     *frame.Binner
	Calibrator *quantile.Calibrator
}

func learned(t testing.TB) parts {
	rng := rand.New(rand.NewPCG(1, 1))
	f := &frame.Frame{Names: []string{"a", "b"}}
	for range 300 {
		a, b := rng.Float32(), rng.Float32()
		if rng.IntN(9) == 0 {
			b = float32(math.NaN())
		}
		f.Rows, f.Target = append(f.Rows, a, b), append(f.Target, a*a)
	}
	var p parts
	var err error
	if p.Binner, err = frame.FitBinner(f, 63); err != nil {
		t.Fatal(err)
	}
	d, err := p.Binner.Apply(f)
	if err != nil {
		t.Fatal(err)
	}
	c := tree.Default(300)
	c.Quantile, c.Rounds = 0.5, 10
	if p.Trees, _, err = tree.Fit(context.Background(), d, nil, c); err != nil {
		t.Fatal(err)
	}
	c.Leaves, c.MinLeaf = 8, 5
	if p.Forest, err = tree.FitForest(context.Background(), d, c); err != nil {
		t.Fatal(err)
	}
	qs := []float64{0.1, 0.5, 0.9}
	nc := neural.Default(qs)
	nc.Epochs, nc.Hidden = 2, []int{16}
	if p.Network, _, err = neural.Fit(context.Background(), f, f, nc); err != nil {
		t.Fatal(err)
	}
	p.Calibrator = quantile.NewCalibrator(qs, 0.01, 24)
	p.Calibrator.Start([]float32{0, 1, 2, 0, 1, 2}, []float32{1, 3})
	return p
}

func encode(p parts) []byte {
	var w Writer
	w.Section(1, func(e *Encoder) { e.Ensemble(p.Trees) })
	w.Section(2, func(e *Encoder) { e.Network(p.Network) })
	w.Section(3, func(e *Encoder) { e.Binner(p.Binner) })
	w.Section(4, func(e *Encoder) { e.Calibrator(p.Calibrator) })
	w.Section(5, func(e *Encoder) { e.Forest(p.Forest) })
	return w.Bytes()
}

func decode(b []byte) (p parts, err error) {
	c, err := Open(b)
	if err != nil {
		return p, err
	}
	return p, errors.Join(
		c.Section(1, 0, func(d *Decoder) { p.Trees = d.Ensemble() }),
		c.Section(2, 0, func(d *Decoder) { p.Network = d.Network() }),
		c.Section(3, 0, func(d *Decoder) { p.Binner = d.Binner() }),
		c.Section(4, 0, func(d *Decoder) { p.Calibrator = d.Calibrator() }),
		c.Section(5, 0, func(d *Decoder) { p.Forest = d.Forest() }))
}

func TestRoundTrip(t *testing.T) {
	want := learned(t)
	b := encode(want)
	got, err := decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(tree.Node{}), cmpopts.EquateEmpty()); diff != "" {
		t.Fatal(diff)
	}
	if Hash(b) != Hash(encode(got)) || len(Hash(b)) != 64 {
		t.Fatal("the same things make other bytes")
	}
}

func TestEveryFlippedByteIsFound(t *testing.T) {
	b := encode(learned(t))
	for i := range b {
		b[i] ^= 0x40
		if _, err := decode(b); !errors.Is(err, ErrMalformed) {
			t.Fatalf("byte %d flipped: %v", i, err)
		}
		b[i] ^= 0x40
	}
	for _, n := range []int{0, 3, 11, 20, len(b) - 1} {
		if _, err := decode(b[:n]); !errors.Is(err, ErrMalformed) {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
}

func TestDecodedLearnersAreChecked(t *testing.T) {
	for name, spoil := range map[string]func(*parts){
		"a cycle":          func(p *parts) { p.Trees.Trees[0].Nodes[1].Left = 0 },
		"no such feature":  func(p *parts) { p.Trees.Trees[0].Nodes[0].Feature = 2 },
		"no such leaf":     func(p *parts) { p.Trees.Trees[0].Nodes[0].Left = -100 },
		"an infinite leaf": func(p *parts) { p.Trees.Trees[0].Leaves[0] = float32(math.Inf(1)) },
		"a forest's leaf":  func(p *parts) { p.Forest.Trees[0].Nodes[0].Left = -100 },
		"a lost value":     func(p *parts) { p.Forest.Trees[0].Values = p.Forest.Trees[0].Values[1:] },
		"no step":          func(p *parts) { p.Forest.Step = 0 },
		"a layer's shape":  func(p *parts) { p.Network.Layers[0].Out = 32 },
		"a NaN weight":     func(p *parts) { p.Network.Layers[0].Bias[0] = float32(math.NaN()) },
		"a level":          func(p *parts) { p.Calibrator.Levels[0] = 2 },
	} {
		p := learned(t)
		spoil(&p)
		if _, err := decode(encode(p)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever the bytes, decoding answers or refuses, and what it answers is safe
// to use.
func FuzzDecode(f *testing.F) {
	f.Add(encode(learned(f)))
	f.Add([]byte("SLPA\x01\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		// Behind the checksums too: the parsers are given the bytes as they are.
		for _, read := range []func(*Decoder){
			func(d *Decoder) {
				if e := d.Ensemble(); d.Err() == nil && e.Features < 1000 {
					e.Predict(make([]float32, e.Features), make([]float32, 1))
				}
			},
			func(d *Decoder) {
				if n := d.Network(); d.Err() == nil {
					n.Predict(make([]float32, n.Features()), []float32{1}, make([]float32, len(n.Quantiles)))
				}
			},
			func(d *Decoder) {
				if f := d.Forest(); d.Err() == nil && f.Features < 1000 {
					f.Quantiles(make([]float32, f.Features), []float64{0.1, 0.9}, make([]float32, 2))
				}
			},
			func(d *Decoder) { d.Binner() },
			func(d *Decoder) { d.Calibrator() },
		} {
			read(&Decoder{b: b})
		}
		if _, err := decode(b); err != nil && !errors.Is(err, ErrMalformed) {
			t.Fatal(err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	bytes := encode(learned(b))
	b.SetBytes(int64(len(bytes)))
	for b.Loop() {
		if _, err := decode(bytes); err != nil {
			b.Fatal(err)
		}
	}
}
