package neural

import (
	"math"
	"math/rand/v2"
)

// work is the memory of one pass over a batch: in[l] is what enters layer l,
// in[len(layers)] what leaves the last.
type work struct {
	in, delta, keep [][]float32
	ones            []float32 // one a row of the batch
	weights         []float32 // a layer's weights, transposed
}

func newWork(layers []Layer, batch int, training bool) *work {
	w := &work{}
	heaviest := 0
	for _, l := range layers {
		w.in = append(w.in, make([]float32, batch*l.In))
		if training {
			w.delta = append(w.delta, make([]float32, batch*l.Out))
			w.keep = append(w.keep, make([]float32, batch*l.Out))
		}
		heaviest = max(heaviest, l.In*l.Out)
	}
	w.in = append(w.in, make([]float32, batch*layers[len(layers)-1].Out))
	if training {
		w.ones, w.weights = fill(batch, 1), make([]float32, heaviest)
	}
	return w
}

// dropout draws which hidden activations a training pass keeps.
type dropout struct {
	source *rand.PCG
	share  float64
}

// forward runs count rows through the layers: rectified between them, dropped
// out too where drop is given.
func (w *work) forward(mul kernel, layers []Layer, count int, drop *dropout) {
	for li, l := range layers {
		in, out := w.in[li], w.in[li+1]
		for i := range count {
			o := out[i*l.Out : i*l.Out+l.Out]
			copy(o, l.Bias)
			mul(o, in[i*l.In:i*l.In+l.In], l.Weights, 1, l.Out)
		}
		if li == len(layers)-1 {
			return
		}
		o := out[:count*l.Out]
		if drop == nil {
			for i, v := range o {
				o[i] = rectified(v, v)
			}
			continue
		}
		keep := w.keep[li][:len(o)]
		drop.draw(keep)
		for i, v := range o {
			k := rectified(keep[i], v)
			o[i], keep[i] = rectified(v, v)*k, k
		}
	}
}

// rectified is x where v is not negative and zero where it is, without a branch
// that no processor could foresee.
func rectified(x, v float32) float32 {
	return math.Float32frombits(math.Float32bits(x) &^ uint32(int32(math.Float32bits(v))>>31))
}

// draw fills keep, of which there are a multiple of four, with 0 or
// 1/(1-share), four values from one random word.
func (d *dropout) draw(keep []float32) {
	limit := uint64(d.share * 65536)
	scale := [2]float32{float32(1 / (1 - d.share)), 0}
	for i := 0; i+4 <= len(keep); i += 4 {
		word := d.source.Uint64()
		// 0 where 16 of the bits are below the limit, without a branch.
		four := (*[4]float32)(keep[i:])
		four[0] = scale[(word&0xffff-limit)>>63]
		four[1] = scale[(word>>16&0xffff-limit)>>63]
		four[2] = scale[(word>>32&0xffff-limit)>>63]
		four[3] = scale[(word>>48-limit)>>63]
	}
}

// backward turns delta of the last layer into the gradients of all weights.
func (w *work) backward(mul kernel, layers, gradient []Layer, count int, dropped bool) {
	for li := len(layers) - 1; li >= 0; li-- {
		l, g := layers[li], gradient[li]
		in, d := w.in[li][:count*l.In], w.delta[li][:count*l.Out]
		clear(g.Weights)
		clear(g.Bias)
		for k := range l.In {
			mul(g.Weights[k*l.Out:k*l.Out+l.Out], in[k:], d, l.In, l.Out)
		}
		mul(g.Bias, w.ones[:count], d, 1, l.Out)
		if li == 0 {
			return
		}
		weights := w.weights[:l.In*l.Out]
		transpose(weights, l.Weights, l.In, l.Out)
		p := w.delta[li-1][:count*l.In]
		clear(p)
		for i := range count {
			mul(p[i*l.In:i*l.In+l.In], d[i*l.Out:i*l.Out+l.Out], weights, 1, l.In)
		}
		if dropped {
			keep := w.keep[li-1][:len(p)]
			for i := range p {
				p[i] *= keep[i]
			}
			continue
		}
		for i, v := range in {
			if v <= 0 {
				p[i] = 0
			}
		}
	}
}

func transpose(dst, src []float32, rows, columns int) {
	for i := range rows {
		for j, v := range src[i*columns : i*columns+columns] {
			dst[j*rows+i] = v
		}
	}
}
