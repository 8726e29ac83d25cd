package neural

// pass is the memory of one way through a BiLSTM and back, over count
// sequences of the same number of steps. Everything is by step, then by
// sequence: row q = step*count + sequence.
type pass struct {
	count, steps int
	x            []float32    // inputs
	out, blame   []float32    // answers, and the loss's gradient by them
	gates        [2][]float32 // after squashing: input, forget, output, candidate
	cell         [2][]float32
	bent         [2][]float32 // tanh of cell
	state        [2][]float32

	// For the way back.
	gradient              *BiLSTM
	gatesBlame            []float32
	stateBlame, cellBlame []float32
	nextBlame, turned     []float32
	recurrentTurned       []float32
	ones, zeros           []float32 // constants
}

func newPass(n *BiLSTM, count, steps int, training bool) *pass {
	h, rows := n.Hidden, count*steps
	w := &pass{count: count, steps: steps, x: make([]float32, rows*n.Inputs()), out: make([]float32, rows), zeros: make([]float32, count*h)}
	for d := range w.gates {
		w.gates[d] = make([]float32, rows*4*h)
		w.cell[d], w.bent[d], w.state[d] = make([]float32, rows*h), make([]float32, rows*h), make([]float32, rows*h)
	}
	if training {
		w.gradient = emptyBiLSTM(n.Inputs(), h)
		w.blame, w.gatesBlame = make([]float32, rows), make([]float32, rows*4*h)
		w.stateBlame, w.cellBlame, w.nextBlame = make([]float32, count*h), make([]float32, count*h), make([]float32, count*h)
		w.ones = fill(rows, 1)
		w.turned, w.recurrentTurned = make([]float32, rows*max(n.Inputs(), h)), make([]float32, 4*h*h)
	}
	return w
}

// at is the step that direction d reads k-th, and the one it read before.
func (w *pass) at(d, k int) (step, before int) {
	if d == 0 {
		return k, k - 1
	}
	return w.steps - 1 - k, w.steps - k
}

func (w *pass) forward(n *BiLSTM, mul kernel, bend squash) {
	h, in, c := n.Hidden, n.Inputs(), w.count
	for d := range w.gates {
		input, recurrent := n.Input[d], n.Recurrent[d]
		for k := range w.steps {
			step, before := w.at(d, k)
			past := w.zeros
			if k > 0 {
				past = w.cell[d][before*c*h : (before+1)*c*h]
			}
			for i := range c {
				q := step*c + i
				g := w.gates[d][q*4*h : (q+1)*4*h]
				copy(g, input.Bias)
				mul(g, w.x[q*in:(q+1)*in], input.Weights, 1, 4*h)
				if k > 0 {
					p := before*c + i
					mul(g, w.state[d][p*h:(p+1)*h], recurrent.Weights, 1, 4*h)
				}
				bend(g[:3*h], 0.5, 0.5)
				bend(g[3*h:], 0, 1)
				open, keep, show, new := g[:h], g[h:2*h], g[2*h:3*h], g[3*h:4*h]
				cell, bent, state := w.cell[d][q*h:(q+1)*h], w.bent[d][q*h:(q+1)*h], w.state[d][q*h:(q+1)*h]
				was, keep, open, new := past[i*h : (i+1)*h][:len(cell)], keep[:len(cell)], open[:len(cell)], new[:len(cell)]
				for j := range cell {
					cell[j] = float32(keep[j]*was[j]) + float32(open[j]*new[j])
				}
				copy(bent, cell)
				bend(bent, 0, 1)
				for j := range state {
					state[j] = float32(show[j] * bent[j])
				}
			}
		}
	}
	for q := range w.out {
		w.out[q] = n.Head.Bias[0] + dot(w.state[0][q*h:(q+1)*h], n.Head.Weights[:h]) + dot(w.state[1][q*h:(q+1)*h], n.Head.Weights[h:])
	}
}

// dot sums in four lanes.
func dot(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	for i := 0; i+4 <= len(a); i += 4 {
		s0 += float32(a[i] * b[i])
		s1 += float32(a[i+1] * b[i+1])
		s2 += float32(a[i+2] * b[i+2])
		s3 += float32(a[i+3] * b[i+3])
	}
	return (s0 + s1) + (s2 + s3)
}

// backward turns blame into the gradient of all weights.
func (w *pass) backward(n *BiLSTM, mul kernel) {
	g, h := w.gradient, n.Hidden
	for _, l := range g.layers() {
		clear(l.Weights)
		clear(l.Bias)
	}
	for q, b := range w.blame {
		if b == 0 {
			continue
		}
		g.Head.Bias[0] += b
		for d := range w.state {
			to := g.Head.Weights[d*h : (d+1)*h]
			for j, v := range w.state[d][q*h : (q+1)*h] {
				to[j] += float32(b * v)
			}
		}
	}
	for d := range w.gates {
		w.backwardThroughTime(n, d, mul)
		w.collect(g, d, mul)
	}
}

// backwardThroughTime fills gatesBlame, the gradient by the gates before
// squashing, of direction d.
func (w *pass) backwardThroughTime(n *BiLSTM, d int, mul kernel) {
	h, c := n.Hidden, w.count
	head := n.Head.Weights[d*h : (d+1)*h]
	transpose(w.recurrentTurned, n.Recurrent[d].Weights, h, 4*h)
	clear(w.stateBlame)
	clear(w.cellBlame)
	for k := w.steps - 1; k >= 0; k-- {
		step, before := w.at(d, k)
		past := w.zeros
		if k > 0 {
			past = w.cell[d][before*c*h : (before+1)*c*h]
		}
		clear(w.nextBlame)
		for i := range c {
			q := step*c + i
			gates, blame := w.gates[d][q*4*h:(q+1)*4*h], w.gatesBlame[q*4*h:(q+1)*4*h]
			open, keep, show, new := gates[:h], gates[h:2*h], gates[2*h:3*h], gates[3*h:4*h]
			openB, keepB, showB, newB := blame[:h], blame[h:2*h], blame[2*h:3*h], blame[3*h:4*h]
			bent, was := w.bent[d][q*h:(q+1)*h], past[i*h:(i+1)*h]
			stateB, cellB := w.stateBlame[i*h:(i+1)*h], w.cellBlame[i*h:(i+1)*h]
			fromOut := w.blame[q]
			// One length for all: the compiler drops the checks of bounds.
			open, keep, show, new = open[:len(bent)], keep[:len(bent)], show[:len(bent)], new[:len(bent)]
			openB, keepB, showB, newB = openB[:len(bent)], keepB[:len(bent)], showB[:len(bent)], newB[:len(bent)]
			was, stateB, cellB, head := was[:len(bent)], stateB[:len(bent)], cellB[:len(bent)], head[:len(bent)]
			for j := range bent {
				e := stateB[j] + float32(fromOut*head[j])
				o, t := show[j], bent[j]
				showB[j] = float32(float32(e*t)*o) * (1 - o)
				x := cellB[j] + float32(float32(e*o)*(1-float32(t*t)))
				a, f, m := open[j], keep[j], new[j]
				openB[j] = float32(float32(x*m)*a) * (1 - a)
				keepB[j] = float32(float32(x*was[j])*f) * (1 - f)
				newB[j] = float32(x*a) * (1 - float32(m*m))
				cellB[j] = float32(x * f)
			}
			if k > 0 {
				mul(w.nextBlame[i*h:(i+1)*h], blame, w.recurrentTurned, 1, h)
			}
		}
		w.stateBlame, w.nextBlame = w.nextBlame, w.stateBlame
	}
}

// collect turns gatesBlame of direction d into gradients of its weights.
func (w *pass) collect(g *BiLSTM, d int, mul kernel) {
	h, in, rows := g.Hidden, g.Inputs(), w.count*w.steps
	input, recurrent := g.Input[d], g.Recurrent[d]
	turned := w.turned[:rows*in]
	transpose(turned, w.x, rows, in)
	for k := range in {
		mul(input.Weights[k*4*h:(k+1)*4*h], turned[k*rows:(k+1)*rows], w.gatesBlame, 1, 4*h)
	}
	mul(input.Bias, w.ones, w.gatesBlame, 1, 4*h)
	// A state meets the gates of the step read after it.
	states, blame := w.state[d][:rows*h], w.gatesBlame
	if d == 0 {
		states, blame = states[:(w.steps-1)*w.count*h], blame[w.count*4*h:]
	} else {
		states, blame = states[w.count*h:], blame[:(w.steps-1)*w.count*4*h]
	}
	rows -= w.count
	turned = w.turned[:rows*h]
	transpose(turned, states, rows, h)
	for k := range h {
		mul(recurrent.Weights[k*4*h:(k+1)*4*h], turned[k*rows:(k+1)*rows], blame, 1, 4*h)
	}
}

func fill(n int, v float32) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = v
	}
	return out
}
