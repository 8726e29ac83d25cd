package neural

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
)

// Sequence is one sample of a sequence task, all slices of SequenceConfig.Steps
// steps: a step's forecast is Offset + Scale·(the network's output), Weight is
// the weight of its error, zero to ignore it.
type Sequence struct {
	X                             []float32 // steps x inputs, row-major
	Offset, Scale, Target, Weight []float32
}

// NewSequence is an empty sequence.
func NewSequence(inputs, steps int) *Sequence {
	return &Sequence{make([]float32, inputs*steps), make([]float32, steps), make([]float32, steps), make([]float32, steps), make([]float32, steps)}
}

// SequenceConfig is how a [BiLSTM] is trained.
type SequenceConfig struct {
	Inputs, Hidden int // Hidden is a multiple of 16
	Steps          int // of every sequence
	Batch          int // sequences an update, a multiple of 4
	Updates        int // an epoch
	Epochs         int
	Rate           float64 // of Adam at its highest; it falls by a cosine
	Huber          float64 // errors beyond it count linearly
	Clip           float64 // of the gradient's norm
	Seed           uint64
	Workers        int  // goroutines, 1 to 4; the network does not depend on it
	Plain          bool // the kernels in Go even where there is assembly: for comparing
}

// DefaultSequence is the shape that measured best on real sites.
func DefaultSequence(inputs int) SequenceConfig {
	return SequenceConfig{Inputs: inputs, Hidden: 16, Steps: 64, Batch: 16, Updates: 100, Epochs: 16, Rate: 4e-3, Huber: 0.01, Clip: 1, Seed: 1, Workers: 1}
}

func (c SequenceConfig) check(validation []*Sequence) error {
	if c.Inputs < 1 || c.Hidden < lanes || c.Hidden%lanes != 0 || c.Steps < 2 {
		return fmt.Errorf("neural: %d inputs, %d hidden units, %d steps", c.Inputs, c.Hidden, c.Steps)
	}
	if c.Batch < sequenceShards || c.Batch%sequenceShards != 0 || c.Updates < 1 || c.Epochs < 1 || !(c.Rate > 0) || !(c.Huber > 0) || !(c.Clip > 0) {
		return fmt.Errorf("neural: batch %d, %d updates, %d epochs, rate %g, huber %g, clip %g", c.Batch, c.Updates, c.Epochs, c.Rate, c.Huber, c.Clip)
	}
	if len(validation) == 0 {
		return errors.New("neural: no sequences to validate on")
	}
	for _, s := range validation {
		if len(s.X) != c.Inputs*c.Steps || len(s.Weight) != c.Steps {
			return fmt.Errorf("neural: a sequence of %d inputs and %d steps to validate on", len(s.X), len(s.Weight))
		}
	}
	return nil
}

// sequenceShards is in how many parts a batch is cut. The parts' gradients are
// added in order, so that the number of goroutines changes no bit.
const sequenceShards = 4

// FitBiLSTM trains a network on the sequences that draw generates and keeps the
// weights of the epoch with the lowest validation loss. Losses in the report
// are weighted mean Huber losses. draw is called from several goroutines; its
// output must depend on rng only.
func FitBiLSTM(ctx context.Context, c SequenceConfig, draw func(rng *rand.Rand, s *Sequence), validation []*Sequence) (*BiLSTM, Report, error) {
	if err := c.check(validation); err != nil {
		return nil, Report{}, err
	}
	t := newSequenceTrainer(c, draw)
	rep := Report{ValidationLoss: math.Inf(1)}
	var kept *BiLSTM
	for epoch := 1; epoch <= c.Epochs; epoch++ {
		var loss float64
		for range c.Updates {
			if err := ctx.Err(); err != nil {
				return nil, rep, err
			}
			loss += t.update() / float64(c.Updates)
		}
		rep.Epochs = epoch
		v := t.loss(validation)
		rep.Curve = append(rep.Curve, Losses{loss, v})
		if v < rep.ValidationLoss {
			rep.BestEpoch, rep.TrainLoss, rep.ValidationLoss = epoch, loss, v
			kept = t.n.clone()
		}
	}
	if kept == nil {
		return nil, rep, errors.New("neural: training diverged")
	}
	return kept, rep, nil
}

type sequenceTrainer struct {
	c      SequenceConfig
	n      *BiLSTM
	mul    kernel
	bend   squash
	draw   func(*rand.Rand, *Sequence)
	passes []*pass
	parts  [][]*Sequence // of the batch, a slice a pass
	losses []float64
	adam   adam
}

func newSequenceTrainer(c SequenceConfig, draw func(*rand.Rand, *Sequence)) *sequenceTrainer {
	t := &sequenceTrainer{c: c, n: startBiLSTM(c.Inputs, c.Hidden, c.Seed), mul: pickKernel(c.Plain), bend: pickSquash(c.Plain), draw: draw, losses: make([]float64, sequenceShards)}
	t.adam = newAdam(t.n.layers(), c.Plain)
	each := c.Batch / sequenceShards
	for range sequenceShards {
		t.passes = append(t.passes, newPass(t.n, each, c.Steps, true))
		part := make([]*Sequence, each)
		for i := range part {
			part[i] = NewSequence(c.Inputs, c.Steps)
		}
		t.parts = append(t.parts, part)
	}
	return t
}

// side runs f for each shard on the configured number of goroutines.
func (t *sequenceTrainer) side(f func(shard int)) {
	workers := min(max(t.c.Workers, 1), sequenceShards)
	var wg sync.WaitGroup
	for k := 1; k < workers; k++ {
		wg.Go(func() {
			for s := k; s < sequenceShards; s += workers {
				f(s)
			}
		})
	}
	for s := 0; s < sequenceShards; s += workers {
		f(s)
	}
	wg.Wait()
}

// update draws a batch, moves the weights and returns the batch's loss.
func (t *sequenceTrainer) update() float64 {
	t.side(func(shard int) {
		w, part := t.passes[shard], t.parts[shard]
		for i, s := range part {
			number := uint64(t.adam.step*t.c.Batch + shard*len(part) + i)
			t.draw(rand.New(rand.NewPCG(t.c.Seed, number<<8|0x73)), s)
		}
		w.load(part, t.c.Inputs)
		w.forward(t.n, t.mul, t.bend)
		t.losses[shard] = w.huber(part, float32(t.c.Huber), true)
		w.backward(t.n, t.mul)
	})
	sum := t.passes[0].gradient.layers()
	for _, w := range t.passes[1:] {
		for k, l := range w.gradient.layers() {
			addTo(sum[k].Weights, l.Weights)
			addTo(sum[k].Bias, l.Bias)
		}
	}
	// The gradient is of the summed loss; the mean's is what Adam sees.
	scale := float32(1 / float64(t.c.Batch))
	if norm := math.Sqrt(squares(sum)) * float64(scale); norm > t.c.Clip {
		scale *= float32(t.c.Clip / norm)
	}
	for _, l := range sum {
		stretch(l.Weights, scale)
		stretch(l.Bias, scale)
	}
	t.adam.step++
	rate := t.c.Rate * 0.5 * (1 + math.Cos(math.Pi*float64(t.adam.step)/float64(t.c.Epochs*t.c.Updates)))
	t.adam.update(t.n.layers(), sum, rate, 0)
	var loss float64
	for _, v := range t.losses {
		loss += v
	}
	return loss / float64(t.c.Batch)
}

// loss is the mean over sequences, run through in parts of a shard's size.
func (t *sequenceTrainer) loss(sequences []*Sequence) float64 {
	each := len(t.parts[0])
	losses := make([]float64, (len(sequences)+each-1)/each)
	t.side(func(shard int) {
		w := t.passes[shard]
		for k := shard; k < len(losses); k += sequenceShards {
			part := sequences[k*each : min((k+1)*each, len(sequences))]
			w.load(part, t.c.Inputs)
			w.forward(t.n, t.mul, t.bend)
			losses[k] = w.huber(part, float32(t.c.Huber), false)
		}
	})
	var sum float64
	for _, v := range losses {
		sum += v
	}
	return sum / float64(len(sequences))
}

func addTo(to, v []float32) {
	for i, x := range v {
		to[i] += x
	}
}

func stretch(v []float32, by float32) {
	for i := range v {
		v[i] *= by
	}
}

func squares(layers []Layer) float64 {
	var sum float64
	for _, l := range layers {
		for _, v := range [][]float32{l.Weights, l.Bias} {
			for _, x := range v {
				sum += float64(x) * float64(x)
			}
		}
	}
	return sum
}

// load puts the inputs of up to count sequences in their place.
func (w *pass) load(part []*Sequence, inputs int) {
	for i, s := range part {
		for step := range w.steps {
			q := step*w.count + i
			copy(w.x[q*inputs:(q+1)*inputs], s.X[step*inputs:(step+1)*inputs])
		}
	}
}

// huber is the summed loss of the answers; with blamed it leaves its gradient
// by them in blame.
func (w *pass) huber(part []*Sequence, width float32, blamed bool) float64 {
	var sum float64
	for i, s := range part {
		for step, weight := range s.Weight {
			q := step*w.count + i
			if weight == 0 {
				if blamed {
					w.blame[q] = 0
				}
				continue
			}
			e := s.Offset[step] + float32(s.Scale[step]*w.out[q]) - s.Target[step]
			slope := min(max(e/width, -1), 1)
			if blamed {
				w.blame[q] = float32(float32(slope*s.Scale[step]) * weight)
			}
			// width times Huber's: |e| - width/2 outside, e²/(2 width) inside.
			loss := float32(slope*e) - float32(float32(slope*slope)*(0.5*width))
			sum += float64(float32(loss * weight))
		}
	}
	return sum
}
