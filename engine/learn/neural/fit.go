package neural

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"app.sunloop/engine/learn/frame"
)

// Config is how a network is trained.
type Config struct {
	Hidden    []int
	Rate      float64 // of Adam at its highest; it falls by a cosine
	Decay     float64 // of weights, decoupled
	Dropout   float64
	Batch     int
	Epochs    int
	Samples   int // a pass sees at most, drawn again each epoch; 0 is all
	Patience  int // epochs without a better validation loss before stopping; 0 never stops
	Quantiles []float64
	Seed      uint64
	Plain     bool // the kernel in Go even where there is assembly: for comparing
}

// Default is the shape that measured best on real sites.
func Default(quantiles []float64) Config {
	return Config{Hidden: []int{64, 64}, Rate: 3e-3, Decay: 1e-3, Dropout: 0.1, Batch: 256, Epochs: 60, Patience: 10, Quantiles: quantiles, Seed: 1}
}

// Report is what a fit measured: mean losses in units of the target (pinball,
// or Huber where a [BiLSTM] was fitted),
// of the epoch that was kept.
type Report struct {
	Epochs, BestEpoch         int
	TrainLoss, ValidationLoss float64
	Curve                     []Losses // of each epoch, from the first
}

// Losses are the mean losses of one epoch: while it learned, and outside.
type Losses struct{ Train, Validation float64 }

// Fit trains a network and keeps the weights of the epoch with the least
// validation loss.
func Fit(ctx context.Context, train, validation *frame.Frame, c Config) (*Network, Report, error) {
	if err := c.check(train, validation); err != nil {
		return nil, Report{}, err
	}
	n := start(train, c)
	t := newTrainer(n, train, c)
	outside := make([]float32, validation.Len()*n.Layers[0].In)
	n.standardise(outside, validation.Rows, validation.Len())
	rep := Report{ValidationLoss: math.Inf(1)}
	var kept []Layer
	for epoch := 1; epoch <= c.Epochs; epoch++ {
		if err := ctx.Err(); err != nil {
			return nil, rep, err
		}
		loss := t.epoch()
		rep.Epochs = epoch
		v := t.loss(outside, validation)
		rep.Curve = append(rep.Curve, Losses{loss, v})
		if v < rep.ValidationLoss {
			rep.BestEpoch, rep.TrainLoss, rep.ValidationLoss = epoch, loss, v
			kept = cloneLayers(n.Layers)
		} else if c.Patience > 0 && epoch-rep.BestEpoch >= c.Patience {
			break
		}
	}
	if kept == nil {
		return nil, rep, errors.New("neural: training diverged")
	}
	n.Layers = kept
	return n, rep, nil
}

func (c Config) check(train, validation *frame.Frame) error {
	if err := train.Check(); err != nil {
		return err
	}
	if err := validation.Check(); err != nil {
		return err
	}
	switch {
	case train.Len() == 0 || validation.Len() == 0:
		return fmt.Errorf("neural: %d samples to train on, %d to validate on", train.Len(), validation.Len())
	case train.Width() != validation.Width():
		return fmt.Errorf("neural: %d features to train on, %d to validate on", train.Width(), validation.Width())
	case len(c.Quantiles)%2 == 0 || !slices.IsSorted(c.Quantiles):
		return fmt.Errorf("neural: quantiles %v", c.Quantiles)
	case c.Batch < 1 || c.Epochs < 1 || !(c.Rate > 0) || !(c.Dropout >= 0 && c.Dropout < 1):
		return fmt.Errorf("neural: batch %d, epochs %d, rate %g, dropout %g", c.Batch, c.Epochs, c.Rate, c.Dropout)
	}
	return nil
}

// start is an untrained network: features' scale from the data, weights
// uniform with He's variance (the last layer's smaller, so that the first
// forecasts are near the middle).
func start(train *frame.Frame, c Config) *Network {
	n := &Network{Quantiles: slices.Clone(c.Quantiles)}
	w := train.Width()
	for j := range w {
		var sum, squares, count float64
		for i := j; i < len(train.Rows); i += w {
			if v := float64(train.Rows[i]); v == v {
				sum, squares, count = sum+v, squares+float64(v*v), count+1
			}
		}
		count = max(count, 1)
		mean := sum / count
		n.Mean = append(n.Mean, float32(mean))
		n.Deviation = append(n.Deviation, float32(math.Sqrt(max(squares/count-float64(mean*mean), 1e-8))))
	}
	rng := rand.New(rand.NewPCG(c.Seed, 0x77656967))
	in := w
	sizes := append(slices.Clone(c.Hidden), len(c.Quantiles))
	for i, out := range sizes {
		l := newLayer(padded(in), padded(out))
		bound := math.Sqrt(6 / float64(in))
		if i == len(sizes)-1 {
			bound *= 0.3
		}
		for a := range in {
			for b := range out {
				l.Weights[a*l.Out+b] = float32((2*rng.Float64() - 1) * bound)
			}
		}
		n.Layers = append(n.Layers, l)
		in = out
	}
	return n
}

func newLayer(in, out int) Layer {
	return Layer{In: in, Out: out, Weights: make([]float32, in*out), Bias: make([]float32, out)}
}

func cloneLayers(layers []Layer) []Layer {
	out := make([]Layer, len(layers))
	for i, l := range layers {
		out[i] = Layer{l.In, l.Out, slices.Clone(l.Weights), slices.Clone(l.Bias)}
	}
	return out
}

type trainer struct {
	c        Config
	n        *Network
	mul      kernel
	input    []float32 // standardised and padded
	data     *frame.Frame
	order    []int32
	rng      *rand.Rand
	drop     *dropout
	w        *work
	gradient []Layer
	adam     adam
	steps    int // in all epochs, for the cosine
}

func newTrainer(n *Network, data *frame.Frame, c Config) *trainer {
	source := rand.NewPCG(c.Seed, 0x65706f63)
	t := &trainer{c: c, n: n, mul: pickKernel(c.Plain), data: data, order: make([]int32, data.Len()),
		rng: rand.New(source), w: newWork(n.Layers, c.Batch, true), adam: newAdam(n.Layers, c.Plain)}
	t.input = make([]float32, data.Len()*n.Layers[0].In)
	n.standardise(t.input, data.Rows, data.Len())
	for i := range t.order {
		t.order[i] = int32(i)
	}
	if c.Dropout > 0 {
		t.drop = &dropout{source, c.Dropout}
	}
	for _, l := range n.Layers {
		t.gradient = append(t.gradient, newLayer(l.In, l.Out))
	}
	t.steps = c.Epochs * ((t.samples() + c.Batch - 1) / c.Batch)
	return t
}

func (t *trainer) samples() int {
	if t.c.Samples > 0 {
		return min(t.c.Samples, t.data.Len())
	}
	return t.data.Len()
}

// warmup steps raise the rate from zero: Adam's first estimates are poor.
const warmup = 50

// epoch passes once over the samples in random order and answers their loss.
func (t *trainer) epoch() float64 {
	t.rng.Shuffle(len(t.order), func(i, j int) { t.order[i], t.order[j] = t.order[j], t.order[i] })
	p := t.n.Layers[0].In
	total, n := 0.0, t.samples()
	for from := 0; from < n; from += t.c.Batch {
		batch := t.order[from:min(from+t.c.Batch, n)]
		for i, r := range batch {
			copy(t.w.in[0][i*p:i*p+p], t.input[int(r)*p:])
		}
		t.w.forward(t.mul, t.n.Layers, len(batch), t.drop)
		total += t.lossGradient(batch)
		t.w.backward(t.mul, t.n.Layers, t.gradient, len(batch), t.drop != nil)
		t.adam.step++
		rate := t.c.Rate * 0.5 * (1 + math.Cos(math.Pi*float64(t.adam.step)/float64(t.steps)))
		rate *= min(1, float64(t.adam.step)/warmup)
		t.adam.update(t.n.Layers, t.gradient, rate, t.c.Decay)
	}
	return total / float64(n*len(t.c.Quantiles))
}

// smooth is the half-width, in units of the target, in which the pinball
// loss's gradient goes from one side to the other.
const smooth = 0.01

// lossGradient writes the gradient of the mean pinball loss by the last layer's
// outputs into delta and returns the batch's summed loss.
func (t *trainer) lossGradient(batch []int32) float64 {
	last := t.n.Layers[len(t.n.Layers)-1].Out
	out, delta := t.w.in[len(t.n.Layers)], t.w.delta[len(t.n.Layers)-1]
	clear(delta[:len(batch)*last])
	nq := len(t.c.Quantiles)
	q, dq := make([]float32, nq), make([]float32, nq)
	share := 1 / float64(len(batch)*nq)
	var total float64
	for i, r := range batch {
		raw := out[i*last : i*last+nq]
		head(raw, q)
		scale := scaleOf(t.data, int(r))
		for k, a := range t.c.Quantiles {
			e := float64(t.data.Target[r]) - float64(q[k]*scale)
			total += max(float64(a*e), float64((a-1)*e))
			under := min(max((e+smooth)/(2*smooth), 0), 1) // 1 where the actual is above the forecast
			slope := float64((1-a)*(1-under)) - float64(a*under)
			dq[k] = float32(slope*share) * scale
		}
		headBack(raw, dq, delta[i*last:i*last+nq])
	}
	return total
}

func scaleOf(f *frame.Frame, i int) float32 {
	if f.Scale == nil {
		return 1
	}
	return f.Scale[i]
}

// loss is the mean pinball loss on standardised rows.
func (t *trainer) loss(input []float32, f *frame.Frame) float64 {
	p, last := t.n.Layers[0].In, t.n.Layers[len(t.n.Layers)-1].Out
	nq := len(t.c.Quantiles)
	q := make([]float32, nq)
	var total float64
	for from := 0; from < f.Len(); from += t.c.Batch {
		count := min(t.c.Batch, f.Len()-from)
		copy(t.w.in[0], input[from*p:(from+count)*p])
		t.w.forward(t.mul, t.n.Layers, count, nil)
		for i := range count {
			head(t.w.in[len(t.n.Layers)][i*last:i*last+nq], q)
			scale := scaleOf(f, from+i)
			for k, a := range t.c.Quantiles {
				e := float64(f.Target[from+i]) - float64(q[k]*scale)
				total += max(float64(a*e), float64((a-1)*e))
			}
		}
	}
	return total / float64(f.Len()*nq)
}
