package tree

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"app.sunloop/engine/learn/frame"
	"app.sunloop/engine/learn/quantile"
)

// LeafValues is the number of equally likely values that represent the samples
// in a leaf of a forest.
const LeafValues = 8

// forestSteps is how finely values are kept: a byte each.
const forestSteps = 256

// Forest is a quantile regression forest (Meinshausen 2006): what the leaves
// that a row falls into hold, of all trees together, is its distribution. To
// average each leaf's own quantiles instead measured 3 % worse.
type Forest struct {
	Features  int
	Low, Step float32 // value b means Low + b·Step up to Low + (b+1)·Step
	Trees     []ForestTree
}

// ForestTree is one tree; the root is node 0, and leaf k holds the values from
// k·[LeafValues] on, ascending. A tree without nodes has one leaf.
type ForestTree struct {
	Nodes  []Node
	Values []uint8
}

// FitForest grows a forest of c.Rounds trees, each split by the squared error
// of its bag; rate, patience and quantile are not of a forest. Against boosting
// it gives up bias for variance, which pays where days are few and noisy.
func FitForest(ctx context.Context, d *frame.Binned, c Config) (*Forest, error) {
	if err := c.check(d); err != nil {
		return nil, err
	}
	t := newTrainer(d, c)
	rng := rand.New(rand.NewPCG(c.Seed, 0x666f7265))
	var mean, weights float64
	for i, y := range d.Target {
		w := float64(t.weight(i))
		mean, weights = mean+w*float64(y), weights+w
	}
	mean /= weights
	widest := 1e-9
	for _, y := range d.Target {
		widest = max(widest, math.Abs(float64(y)-mean))
	}
	for i, y := range d.Target {
		t.gradient[i] = pack(int64(math.Round((float64(y)-mean)/widest*gradientScale)), t.weight(i))
	}
	low, high := slices.Min(d.Target), slices.Max(d.Target)
	f := &Forest{Features: len(d.Columns), Low: low, Step: max((high-low)/forestSteps, 1e-9), Trees: make([]ForestTree, c.Rounds)}
	pairs := make([]quantile.Weighted, d.Len())
	for round := range f.Trees {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t.draw(rng)
		t.out = t.out[:0] // these are not used
		grown, leaves := t.grow()
		values := make([]uint8, 0, LeafValues*len(leaves))
		for _, l := range leaves {
			held := pairs[:0]
			for _, r := range t.rows[l.from:l.to] {
				held = append(held, quantile.Weighted{Value: d.Target[r], Weight: int32(t.weight(int(r)))})
			}
			values = f.sketch(values, held)
		}
		f.Trees[round] = ForestTree{Nodes: grown.Nodes, Values: values}
	}
	return f, nil
}

// sketch appends the values that represent held: its quantiles in the middles
// of equal parts.
func (f *Forest) sketch(values []uint8, held []quantile.Weighted) []uint8 {
	slices.SortFunc(held, func(a, b quantile.Weighted) int { return cmp.Compare(a.Value, b.Value) })
	var total, sum int64
	for _, v := range held {
		total += int64(v.Weight)
	}
	k := int64(0)
	for _, v := range held {
		sum += int64(v.Weight)
		for ; k < LeafValues && 2*LeafValues*sum >= (2*k+1)*total; k++ {
			values = append(values, uint8(min(max((v.Value-f.Low)/f.Step, 0), forestSteps-1)))
		}
	}
	return values
}

// Quantiles writes the quantiles at levels, ascending, of each row: rows is
// row-major, and out is rows × levels. It allocates nothing and may be called
// from many goroutines.
func (f *Forest) Quantiles(rows []float32, levels []float64, out []float32) {
	k := len(levels)
	for i := range len(rows) / f.Features {
		var held [forestSteps]int32
		row := rows[i*f.Features : (i+1)*f.Features]
		for t := range f.Trees {
			l := leafOf(f.Trees[t].Nodes, row)
			for _, v := range f.Trees[t].Values[l*LeafValues : (l+1)*LeafValues] {
				held[v]++
			}
		}
		f.read(&held, levels, out[i*k:i*k+k])
	}
}

// read writes the quantiles of a histogram, straight lines within its steps.
func (f *Forest) read(held *[forestSteps]int32, levels []float64, out []float32) {
	total := float32(LeafValues * len(f.Trees))
	b, below := 0, float32(0)
	for j, level := range levels {
		target := float32(level) * total
		for b < forestSteps-1 && below+float32(held[b]) < target {
			below += float32(held[b])
			b++
		}
		within := float32(0)
		if held[b] > 0 {
			within = min((target-below)/float32(held[b]), 1)
		}
		at := float32(b) + within
		out[j] = f.Low + float32(at*f.Step) // rounded apart: no fused addition
	}
}

// leafOf is the leaf that a row falls into.
func leafOf(nodes []Node, row []float32) int {
	if len(nodes) == 0 {
		return 0
	}
	k := int16(0)
	for k >= 0 {
		n := &nodes[k]
		v := row[n.Feature]
		left := int16(0)
		if v < n.Threshold {
			left = 1
		}
		if v != v && !n.MissingRight {
			left = 1
		}
		k = n.child(left)
	}
	return int(^k)
}

// Check returns an error if a decoded forest is invalid.
func (f *Forest) Check() error {
	if f.Features <= 0 || !finite(f.Low) || !(f.Step > 0) || !finite(f.Step) || len(f.Trees) == 0 {
		return fmt.Errorf("forest: %d features, %d trees, values from %g in steps of %g", f.Features, len(f.Trees), f.Low, f.Step)
	}
	for i, t := range f.Trees {
		leaves := len(t.Nodes) + 1
		if len(t.Values) != leaves*LeafValues || leaves > math.MaxInt16 {
			return fmt.Errorf("tree %d: %d values for %d nodes", i, len(t.Values), len(t.Nodes))
		}
		if err := checkNodes(t.Nodes, f.Features, leaves); err != nil {
			return fmt.Errorf("tree %d %w", i, err)
		}
	}
	return nil
}
