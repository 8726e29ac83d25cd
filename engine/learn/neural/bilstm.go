package neural

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// BiLSTM maps a sequence to one number a step: two LSTM cells (Hochreiter and
// Schmidhuber 1997, with forget gates after Gers and others 2000) read it from
// both ends, and a linear head adds their outputs. It is plain data, safe for
// concurrent use.
//
// Input holds the weights of a step's inputs, Recurrent those of the cell's own
// state, by direction: forward, backward. Their columns are the gates in the
// order input, forget, output, candidate, each Hidden wide. Recurrent has no
// bias. Head is 2*Hidden x 1, forward states first.
type BiLSTM struct {
	Hidden    int
	Input     [2]Layer
	Recurrent [2]Layer
	Head      Layer
}

// Inputs is how many inputs a step has.
func (n *BiLSTM) Inputs() int { return n.Input[0].In }

// Predict writes one answer for each of len(out) steps of a sequence x, which
// is row-major, len(out) x Inputs().
func (n *BiLSTM) Predict(x, out []float32) {
	w := newPass(n, 1, len(out), false)
	copy(w.x, x[:len(out)*n.Inputs()])
	w.forward(n, pickKernel(false), pickSquash(false))
	copy(out, w.out)
}

// Check returns an error if n cannot be used. It makes a network decoded from
// untrusted bytes safe for [BiLSTM.Predict].
func (n *BiLSTM) Check() error {
	h := n.Hidden
	if h < lanes || h > 1024 || h%lanes != 0 {
		return fmt.Errorf("neural: %d hidden units are not a multiple of %d", h, lanes)
	}
	in := n.Inputs()
	shapes := []struct {
		name          string
		layer         Layer
		in, out, bias int
	}{
		{"forward input", n.Input[0], in, 4 * h, 4 * h},
		{"backward input", n.Input[1], in, 4 * h, 4 * h},
		{"forward recurrent", n.Recurrent[0], h, 4 * h, 0},
		{"backward recurrent", n.Recurrent[1], h, 4 * h, 0},
		{"head", n.Head, 2 * h, 1, 1},
	}
	for _, s := range shapes {
		l := s.layer
		if s.in < 1 || l.In != s.in || l.Out != s.out || len(l.Weights) != s.in*s.out || len(l.Bias) != s.bias {
			return fmt.Errorf("neural: %s layer is %d x %d with %d weights and %d biases, not %d x %d", s.name, l.In, l.Out, len(l.Weights), len(l.Bias), s.in, s.out)
		}
		for _, v := range [][]float32{l.Weights, l.Bias} {
			for _, x := range v {
				if x-x != 0 {
					return fmt.Errorf("neural: a weight of the %s layer is %g", s.name, x)
				}
			}
		}
	}
	return nil
}

// Parameters is how many numbers were learned.
func (n *BiLSTM) Parameters() int {
	sum := 0
	for _, l := range n.layers() {
		sum += len(l.Weights) + len(l.Bias)
	}
	return sum
}

// layers in the order the optimiser keeps them; they share memory with n.
func (n *BiLSTM) layers() []Layer {
	return []Layer{n.Input[0], n.Recurrent[0], n.Input[1], n.Recurrent[1], n.Head}
}

func emptyBiLSTM(inputs, hidden int) *BiLSTM {
	n := &BiLSTM{Hidden: hidden, Head: newLayer(2*hidden, 1)}
	for d := range n.Input {
		n.Input[d] = newLayer(inputs, 4*hidden)
		n.Recurrent[d] = newLayer(hidden, 4*hidden)
		n.Recurrent[d].Bias = nil
	}
	return n
}

// startBiLSTM is an untrained network: normal weights, forget gates open, a
// head so small that the first answers are near zero.
func startBiLSTM(inputs, hidden int, seed uint64) *BiLSTM {
	rng := rand.New(rand.NewPCG(seed, 0x6c73746d))
	n := emptyBiLSTM(inputs, hidden)
	draw := func(v []float32, deviation float64) {
		for i := range v {
			v[i] = float32(rng.NormFloat64() * deviation)
		}
	}
	spread := 1 / math.Sqrt(float64(inputs+hidden))
	for d := range n.Input {
		draw(n.Input[d].Weights, spread)
		draw(n.Recurrent[d].Weights, spread)
		for k := hidden; k < 2*hidden; k++ {
			n.Input[d].Bias[k] = 1
		}
	}
	draw(n.Head.Weights, 0.1/math.Sqrt(float64(hidden)))
	return n
}

func (n *BiLSTM) clone() *BiLSTM {
	l := cloneLayers(n.layers())
	return &BiLSTM{Hidden: n.Hidden, Input: [2]Layer{l[0], l[2]}, Recurrent: [2]Layer{l[1], l[3]}, Head: l[4]}
}
