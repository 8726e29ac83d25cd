// Package neural is a small float32 network (multi-layer perceptron) that
// forecasts several quantiles at once. Its head never lets quantiles cross, and
// its output is multiplied by a scale given by the caller (clear-sky power), so
// that it is zero where the scale is and extrapolates to seasons without data.
//
// Training gives the same bits on every machine and with every kernel.
package neural

import (
	"fmt"
	"math"
	"slices"

	"app.sunloop/engine/learn/portable"
)

// Layer is one dense layer. In and Out are padded to multiples of 16; Weights
// is In x Out, row-major, zero in the padding.
type Layer struct {
	In, Out int
	Weights []float32
	Bias    []float32
}

// Network is a trained network: plain data, safe for many goroutines.
type Network struct {
	Quantiles []float64 // ascending, an odd number
	Mean      []float32 // of each feature
	Deviation []float32 // of each feature, above zero
	Layers    []Layer
}

// Features is how many features a row has.
func (n *Network) Features() int { return len(n.Mean) }

// clampInput bounds standardised features: a value never seen in training
// must not run away.
const clampInput = 4

// standardise writes rows into padded network input; a missing feature is the
// mean.
func (n *Network) standardise(dst, rows []float32, count int) {
	w, p := len(n.Mean), n.Layers[0].In
	for i := range count {
		for j, v := range rows[i*w : i*w+w] {
			if v != v {
				v = 0
			} else {
				v = min(max((v-n.Mean[j])/n.Deviation[j], -clampInput), clampInput)
			}
			dst[i*p+j] = v
		}
	}
}

const predictBatch = 64

// Predict writes len(scale) x len(Quantiles) ascending forecasts, row-major.
func (n *Network) Predict(rows, scale, out []float32) {
	n.predict(pickKernel(false), rows, scale, out)
}

func (n *Network) predict(mul kernel, rows, scale, out []float32) {
	w := newWork(n.Layers, min(predictBatch, len(scale)), false)
	q := len(n.Quantiles)
	last := n.Layers[len(n.Layers)-1].Out
	for from := 0; from < len(scale); from += predictBatch {
		count := min(predictBatch, len(scale)-from)
		n.standardise(w.in[0], rows[from*len(n.Mean):], count)
		w.forward(mul, n.Layers, count, nil)
		for i := range count {
			o := out[(from+i)*q : (from+i+1)*q]
			head(w.in[len(n.Layers)][i*last:i*last+q], o)
			for k := range o {
				o[k] *= scale[from+i]
			}
		}
	}
}

// stepScale makes the initial steps between quantiles of the size of those of a
// clear-sky index.
const stepScale = 0.25

// head turns raw outputs into ordered quantiles: the middle is free, the
// others step away from it by softplus.
func head(raw, q []float32) {
	c := len(q) / 2
	q[c] = raw[c]
	for i := c + 1; i < len(q); i++ {
		q[i] = q[i-1] + float32(stepScale*portable.Softplus(raw[i]))
	}
	for i := c - 1; i >= 0; i-- {
		q[i] = q[i+1] - float32(stepScale*portable.Softplus(raw[i]))
	}
}

// headBack is the gradient of head.
func headBack(raw, dq, draw []float32) {
	n := len(dq)
	c := n / 2
	var up, down float32
	for i := n - 1; i > c; i-- {
		up += dq[i]
		draw[i] = float32(stepScale*up) * portable.Sigmoid(raw[i])
	}
	for i := range c {
		down += dq[i]
		draw[i] = float32(-stepScale*down) * portable.Sigmoid(raw[i])
	}
	draw[c] = up + down + dq[c]
}

// Check returns an error if n cannot be used. It makes a network decoded from
// untrusted bytes safe for [Network.Predict].
func (n *Network) Check() error {
	q := len(n.Quantiles)
	if q == 0 || q%2 == 0 || !slices.IsSorted(n.Quantiles) {
		return fmt.Errorf("neural: %d quantiles", q)
	}
	if len(n.Mean) == 0 || len(n.Mean) != len(n.Deviation) || len(n.Layers) == 0 {
		return fmt.Errorf("neural: %d means, %d deviations, %d layers", len(n.Mean), len(n.Deviation), len(n.Layers))
	}
	in := padded(len(n.Mean))
	for i, l := range n.Layers {
		if l.In != in || l.Out <= 0 || l.Out%lanes != 0 || len(l.Weights) != l.In*l.Out || len(l.Bias) != l.Out {
			return fmt.Errorf("neural: layer %d is %d x %d with %d weights after a width of %d", i, l.In, l.Out, len(l.Weights), in)
		}
		in = l.Out
	}
	if in < q {
		return fmt.Errorf("neural: %d outputs for %d quantiles", in, q)
	}
	for _, d := range n.Deviation {
		if !(d > 0) || math.IsInf(float64(d), 0) {
			return fmt.Errorf("neural: a feature's deviation is %g", d)
		}
	}
	all := [][]float32{n.Mean}
	for _, l := range n.Layers {
		all = append(all, l.Weights, l.Bias)
	}
	for _, v := range all {
		for _, x := range v {
			if x-x != 0 {
				return fmt.Errorf("neural: a weight is %g", x)
			}
		}
	}
	return nil
}
