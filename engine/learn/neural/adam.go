package neural

import "math"

// adam is Kingma and Ba's optimiser (2015) with decoupled weight decay
// (Loshchilov and Hutter 2019).
type adam struct {
	step               int
	first, second      []Layer // running moments
	decayed1, decayed2 float64 // beta^step, kept as products: no Pow
}

const (
	beta1, beta2 = 0.9, 0.999
	adamEpsilon  = 1e-8
)

func newAdam(layers []Layer) adam {
	a := adam{decayed1: 1, decayed2: 1}
	for _, l := range layers {
		a.first = append(a.first, newLayer(l.In, l.Out))
		a.second = append(a.second, newLayer(l.In, l.Out))
	}
	return a
}

// update moves the weights; step was raised before.
func (a *adam) update(layers, gradient []Layer, rate, decay float64) {
	a.decayed1 *= beta1
	a.decayed2 *= beta2
	c1, c2 := float32(1/(1-a.decayed1)), float32(1/(1-a.decayed2))
	for i := range layers {
		l, g, m, v := layers[i], gradient[i], a.first[i], a.second[i]
		move(l.Weights, g.Weights, m.Weights, v.Weights, c1, c2, float32(rate), float32(rate*decay))
		move(l.Bias, g.Bias, m.Bias, v.Bias, c1, c2, float32(rate), 0)
	}
}

func move(w, g, m, v []float32, c1, c2, rate, decay float32) {
	g, m, v = g[:len(w)], m[:len(w)], v[:len(w)]
	for i := range w {
		gi := g[i]
		mi := float32(beta1*m[i]) + float32((1-beta1)*gi)
		vi := float32(beta2*v[i]) + float32(float32((1-beta2)*gi)*gi)
		m[i], v[i] = mi, vi
		root := float32(math.Sqrt(float64(float32(vi * c2))))
		w[i] -= float32(float32(rate*mi)*c1)/(root+adamEpsilon) + float32(decay*w[i])
	}
}
