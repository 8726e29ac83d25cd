package neural

import "math"

// adam is Kingma and Ba's optimiser (2015) with decoupled weight decay
// (Loshchilov and Hutter 2019).
type adam struct {
	move               mover
	step               int
	first, second      []Layer // running moments
	decayed1, decayed2 float64 // beta^step, kept as products: no Pow
}

const (
	beta1, beta2 = 0.9, 0.999
	adamEpsilon  = 1e-8
)

func newAdam(layers []Layer, plain bool) adam {
	a := adam{move: pickMover(plain), decayed1: 1, decayed2: 1}
	for _, l := range layers {
		a.first = append(a.first, newLayer(l.In, l.Out))
		a.second = append(a.second, newLayer(l.In, l.Out))
	}
	return a
}

// stride is how far one update moves: the assembly reads its fields by place.
type stride struct {
	keep1, new1, keep2, new2 float32 // of the running moments
	debias1, debias2         float32
	rate, decay              float32
	epsilon                  float32
}

// mover moves weights w against their gradient g, and their moments m and v.
// All movers agree in every bit.
type mover func(w, g, m, v []float32, by *stride)

func pickMover(plain bool) mover {
	if hasAssembly && !plain {
		return moveAssembly
	}
	return movePlain
}

// update moves the weights; step was raised before.
func (a *adam) update(layers, gradient []Layer, rate, decay float64) {
	a.decayed1 *= beta1
	a.decayed2 *= beta2
	by := stride{beta1, 1 - beta1, beta2, 1 - beta2, float32(1 / (1 - a.decayed1)), float32(1 / (1 - a.decayed2)), float32(rate), 0, adamEpsilon}
	for i := range layers {
		l, g, m, v := layers[i], gradient[i], a.first[i], a.second[i]
		a.move(l.Bias, g.Bias, m.Bias, v.Bias, &by)
		decayed := by
		decayed.decay = float32(rate * decay)
		a.move(l.Weights, g.Weights, m.Weights, v.Weights, &decayed)
	}
}

// movePlain is the mover in Go. The conversions forbid fusing products into
// sums.
func movePlain(w, g, m, v []float32, by *stride) {
	g, m, v = g[:len(w)], m[:len(w)], v[:len(w)]
	for i := range w {
		gi := g[i]
		mi := float32(by.keep1*m[i]) + float32(by.new1*gi)
		vi := float32(by.keep2*v[i]) + float32(float32(by.new2*gi)*gi)
		m[i], v[i] = mi, vi
		root := float32(math.Sqrt(float64(float32(vi * by.debias2))))
		w[i] -= float32(float32(by.rate*mi)*by.debias1)/(root+by.epsilon) + float32(by.decay*w[i])
	}
}
