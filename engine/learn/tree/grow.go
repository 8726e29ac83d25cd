package tree

import (
	"math"
	"math/rand/v2"

	"app.sunloop/engine/learn/frame"
	"app.sunloop/engine/learn/quantile"
)

// A histogram bin is one word: the weight of its samples in the high bits, the
// sum of their fixed-point gradients in the low 40. One integer addition a
// sample keeps both, exactly, so that the order of addition never matters and
// a sibling's histogram is the parent's less the other's, without drift.
const (
	gradientBits  = 40
	gradientScale = 1 << 14
	// Weights up to 2^22 in all keep the high part within 23 bits and the
	// gradients, 15 bits each, within 39.
	maxWeight = 1 << 22
	// narrow is the histogram's width where no feature has more bins: it fits
	// the first-level cache, and subtraction and scan touch a quarter.
	narrow, wide = 64, 256
)

func pack(gradient int64, weight int64) int64 { return (weight << gradientBits) + gradient*weight }

func unpack(h int64) (weight, gradient int64) {
	gradient = h << (64 - gradientBits) >> (64 - gradientBits)
	return (h - gradient) >> gradientBits, gradient
}

type split struct {
	gain         float64
	weight       int64 // of what goes left
	feature, bin int
	missingRight bool
}

var noSplit = split{feature: -1}

type leaf struct {
	from, to       int // of trainer.rows
	outFrom, outTo int // of trainer.out
	weight         int64
	hist           []int64
	best           split
	parent         int // node that points here, -1 at the root
	left           bool
}

type trainer struct {
	d        *frame.Binned
	c        Config
	stride   int
	all      []int32   // every sample
	groups   [][]int32 // all, in parts that are drawn whole
	rows     []int32   // the bag, ordered so that each leaf is a range
	out      []int32   // the samples that are not in the bag
	spill    []int32
	gradient []int64 // packed, one a sample
	ordered  []int64 // gradients in the order of a leaf's rows
	residual []float32
	values   []float32
	pairs    []quantile.Weighted
	features []int
	drawn    []int
	pool     [][]int64
	minimum  int64 // weight a leaf holds at least
}

func newTrainer(d *frame.Binned, c Config) *trainer {
	n := d.Len()
	t := &trainer{d: d, c: c, stride: narrow, minimum: int64(c.MinLeaf), all: count(n), spill: make([]int32, n),
		gradient: make([]int64, n), ordered: make([]int64, n), residual: make([]float32, n)}
	for _, e := range d.Binner.Edges {
		if len(e)+2 > narrow {
			t.stride = wide
		}
	}
	for from, i := 0, 1; i <= n; i++ {
		if i == n || d.Group == nil || d.Group[i] != d.Group[i-1] {
			t.groups = append(t.groups, t.all[from:i])
			from = i
		}
	}
	t.features = make([]int, len(d.Columns))
	if d.Weight == nil {
		t.values = make([]float32, n)
		return t
	}
	t.minimum = max(1, int64(c.MinLeaf)*totalWeight(d)/int64(n))
	t.pairs = make([]quantile.Weighted, n)
	return t
}

func totalWeight(d *frame.Binned) int64 {
	if d.Weight == nil {
		return int64(d.Len())
	}
	var total int64
	for _, w := range d.Weight {
		total += int64(w)
	}
	return total
}

func (t *trainer) weight(i int) int64 {
	if t.d.Weight == nil {
		return 1
	}
	return int64(t.d.Weight[i])
}

// leafQuantile is the quantile of the residuals of rows.
func (t *trainer) leafQuantile(rows []int32, q float64) float32 {
	if t.d.Weight == nil {
		buf := t.values[:len(rows)]
		for i, r := range rows {
			buf[i] = t.residual[r]
		}
		return quantile.Select(buf, q)
	}
	buf := t.pairs[:len(rows)]
	for i, r := range rows {
		buf[i] = quantile.Weighted{Value: t.residual[r], Weight: int32(t.d.Weight[r])}
	}
	return quantile.SelectWeighted(buf, q)
}

// draw picks the samples and the features of the next tree.
func (t *trainer) draw(rng *rand.Rand) {
	t.rows, t.out = t.rows[:0], t.out[:0]
	if t.c.BagFraction < 1 {
		limit := uint32(t.c.BagFraction * (1 << 32))
		for _, group := range t.groups {
			if rng.Uint32() < limit {
				t.rows = append(t.rows, group...)
			} else {
				t.out = append(t.out, group...)
			}
		}
	}
	if len(t.rows) == 0 {
		t.rows, t.out = append(t.rows, t.all...), t.out[:0]
	}
	for i := range t.features {
		t.features[i] = i
	}
	k := max(1, int(math.Round(t.c.FeatureFraction*float64(len(t.features)))))
	if k < len(t.features) {
		for i := range k {
			j := i + rng.IntN(len(t.features)-i)
			t.features[i], t.features[j] = t.features[j], t.features[i]
		}
	}
	t.drawn = t.features[:k]
}

// grow makes one tree, always splitting the leaf with the highest gain. The
// caller sets the leaves' values.
func (t *trainer) grow() (Tree, []leaf) {
	var tree Tree
	root := leaf{to: len(t.rows), outTo: len(t.out), hist: t.histogram(), parent: -1}
	t.build(&root)
	t.find(&root)
	leaves := []leaf{root}
	for len(leaves) < t.c.Leaves {
		at := -1
		for i := range leaves {
			if leaves[i].best.feature >= 0 && (at < 0 || leaves[i].best.gain > leaves[at].best.gain) {
				at = i
			}
		}
		if at < 0 {
			break
		}
		l := leaves[at]
		mid := l.from + t.partition(t.rows[l.from:l.to], l.best)
		if missing, _ := unpack(l.hist[l.best.feature*t.stride+int(frame.Missing)]); missing == 0 {
			// Nothing was learned of missing values here: they go with the many.
			l.best.missingRight = l.to-mid > mid-l.from
		}
		outMid := l.outFrom + t.partition(t.out[l.outFrom:l.outTo], l.best)
		node := len(tree.Nodes)
		tree.Nodes = append(tree.Nodes, Node{Threshold: t.threshold(l.best), Feature: uint16(l.best.feature),
			MissingRight: l.best.missingRight, bin: uint8(l.best.bin)})
		tree.point(&l, int16(node))
		a := leaf{from: l.from, to: mid, outFrom: l.outFrom, outTo: outMid, weight: l.best.weight, best: noSplit, parent: node, left: true}
		b := leaf{from: mid, to: l.to, outFrom: outMid, outTo: l.outTo, weight: l.weight - l.best.weight, best: noSplit, parent: node}
		small, large := &a, &b
		if b.to-b.from < a.to-a.from {
			small, large = &b, &a
		}
		if len(leaves)+1 < t.c.Leaves && max(a.weight, b.weight) >= 2*t.minimum {
			small.hist = t.histogram()
			t.build(small)
			for _, f := range t.drawn {
				p, q := l.hist[f*t.stride:(f+1)*t.stride], small.hist[f*t.stride:(f+1)*t.stride]
				for i := range p {
					p[i] -= q[i]
				}
			}
			large.hist = l.hist
			t.find(&a)
			t.find(&b)
		} else {
			t.pool = append(t.pool, l.hist)
		}
		leaves[at] = a
		leaves = append(leaves, b)
	}
	for i := range leaves {
		if leaves[i].hist != nil {
			t.pool = append(t.pool, leaves[i].hist)
			leaves[i].hist = nil
		}
		tree.point(&leaves[i], ^int16(i))
	}
	tree.Leaves = make([]float32, len(leaves))
	return tree, leaves
}

// point links the parent of l to child.
func (t *Tree) point(l *leaf, child int16) {
	switch {
	case l.parent < 0:
	case l.left:
		t.Nodes[l.parent].Left = child
	default:
		t.Nodes[l.parent].Right = child
	}
}

// threshold is the feature value that parts what the split's bin parts.
func (t *trainer) threshold(s split) float32 {
	e := t.d.Binner.Edges[s.feature]
	switch {
	case s.bin == 0: // only missing values go left
		return float32(math.Inf(-1))
	case s.bin-1 < len(e):
		return e[s.bin-1]
	}
	return float32(math.Inf(1)) // every value goes left, missing ones right
}

func (t *trainer) histogram() []int64 {
	if k := len(t.pool); k > 0 {
		h := t.pool[k-1]
		t.pool = t.pool[:k-1]
		clear(h)
		return h
	}
	return make([]int64, len(t.d.Columns)*t.stride)
}

func (t *trainer) build(l *leaf) {
	rows := t.rows[l.from:l.to]
	ordered := t.ordered[:len(rows)]
	for i, r := range rows {
		ordered[i] = t.gradient[r]
	}
	if t.stride == wide {
		for _, f := range t.drawn {
			addWide((*[wide]int64)(l.hist[f*wide:]), t.d.Columns[f], rows, ordered)
		}
		return
	}
	drawn := t.drawn
	for ; len(drawn) > 1; drawn = drawn[2:] {
		f, g := drawn[0], drawn[1]
		addTwo((*[narrow]int64)(l.hist[f*narrow:]), (*[narrow]int64)(l.hist[g*narrow:]), t.d.Columns[f], t.d.Columns[g], rows, ordered)
	}
	for _, f := range drawn {
		addNarrow((*[narrow]int64)(l.hist[f*narrow:]), t.d.Columns[f], rows, ordered)
	}
}

// addTwo fills two histograms side by side: neighbouring samples often fall
// into one bin, and the second addition hides the wait for the first.
func addTwo(h, k *[narrow]int64, column, other []uint8, rows []int32, ordered []int64) {
	ordered, other = ordered[:len(rows)], other[:len(column)]
	for i, r := range rows {
		g := ordered[i]
		h[column[r]&(narrow-1)] += g
		k[other[r]&(narrow-1)] += g
	}
}

func addNarrow(h *[narrow]int64, column []uint8, rows []int32, ordered []int64) {
	ordered = ordered[:len(rows)]
	for i, r := range rows {
		h[column[r]&(narrow-1)] += ordered[i]
	}
}

func addWide(h *[wide]int64, column []uint8, rows []int32, ordered []int64) {
	ordered = ordered[:len(rows)]
	for i, r := range rows {
		h[column[r]] += ordered[i]
	}
}

// find sets the leaf's best split; ties go to the feature drawn first and to
// the lower bin.
func (t *trainer) find(l *leaf) {
	l.best = noSplit
	var total int64
	first := t.drawn[0]
	for _, v := range l.hist[first*t.stride : (first+1)*t.stride] {
		total += v
	}
	weight, gradient := unpack(total)
	l.weight = weight
	if weight < 2*t.minimum {
		return
	}
	for _, f := range t.drawn {
		t.scan(f, l.hist[f*t.stride:(f+1)*t.stride], weight, gradient, &l.best)
	}
}

// scan tries every threshold of feature f: missing values left, then, where
// there are any, right. The gain is that of the squared error of gradients.
func (t *trainer) scan(f int, h []int64, weight, gradient int64, best *split) {
	bins := len(t.d.Binner.Edges[f]) + 2
	base := float64(gradient) * float64(gradient) / float64(weight)
	most := best.gain + base
	missing, _ := unpack(h[frame.Missing])
	for pass := range 2 {
		last := bins - 1
		if pass == 1 {
			if missing == 0 {
				return
			}
			last = bins
		}
		var sum int64
		for b := pass; b < last; b++ {
			if h[b] == 0 {
				continue
			}
			sum += h[b]
			wl, gl := unpack(sum)
			if wl < t.minimum {
				continue
			}
			wr := weight - wl
			if wr < t.minimum {
				break
			}
			left, right := float64(gl), float64(gradient-gl)
			// One division for both sides.
			fl, fr := float64(wl), float64(wr)
			if s := (left*left*fr + right*right*fl) / (fl * fr); s > most {
				most = s
				*best = split{gain: s - base, weight: wl, feature: f, bin: b, missingRight: pass == 1}
			}
		}
	}
}

// partition orders rows left of the split before right, keeping their order,
// and returns how many go left.
func (t *trainer) partition(rows []int32, s split) int {
	column := t.d.Columns[s.feature]
	spill := t.spill[:len(rows)]
	bin := uint8(s.bin)
	k, m := 0, 0
	for _, r := range rows {
		b := column[r]
		// Write to both and advance one: no branch to mispredict.
		rows[k], spill[m] = r, r
		goes := 0
		if b <= bin {
			goes = 1
		}
		if b == frame.Missing && s.missingRight {
			goes = 0
		}
		k += goes
		m += 1 - goes
	}
	copy(rows[k:], spill[:m])
	return k
}
