package artifact

import (
	"app.sunloop/engine/learn/frame"
	"app.sunloop/engine/learn/neural"
	"app.sunloop/engine/learn/quantile"
	"app.sunloop/engine/learn/tree"
)

// missingRight marks a node in the high bit of its feature.
const missingRight = 1 << 15

// Ensemble appends e.
func (e *Encoder) Ensemble(t *tree.Ensemble) {
	e.Uint32(uint32(t.Features))
	e.Float32(t.Base)
	e.Uint32(uint32(len(t.Trees)))
	for _, tr := range t.Trees {
		e.nodes(tr.Nodes)
		for _, v := range tr.Leaves {
			e.Float32(v)
		}
	}
}

func (e *Encoder) nodes(nodes []tree.Node) {
	e.Uint16(uint16(len(nodes)))
	for _, n := range nodes {
		f := n.Feature
		if n.MissingRight {
			f |= missingRight
		}
		e.Uint16(f)
		e.Float32(n.Threshold)
		e.Uint16(uint16(n.Left))
		e.Uint16(uint16(n.Right))
	}
}

// nodes takes the inner nodes of a tree whose leaves take leafBytes each.
func (d *Decoder) nodes(leafBytes int) []tree.Node {
	n := int(d.Uint16())
	if n*(10+leafBytes)+leafBytes > len(d.b) {
		d.Fail("a tree of %d nodes in %d bytes", n, len(d.b))
		return nil
	}
	out := make([]tree.Node, n)
	for k := range out {
		f := d.Uint16()
		out[k] = tree.Node{Feature: f &^ missingRight, MissingRight: f&missingRight != 0,
			Threshold: d.Float32(), Left: int16(d.Uint16()), Right: int16(d.Uint16())}
	}
	return out
}

// Ensemble takes one and checks it.
func (d *Decoder) Ensemble() *tree.Ensemble {
	t := &tree.Ensemble{Features: int(d.Uint32()), Base: d.Float32()}
	t.Trees = make([]tree.Tree, d.Length(6))
	for i := range t.Trees {
		tr := tree.Tree{Nodes: d.nodes(4)}
		if d.err != nil {
			return t
		}
		tr.Leaves = make([]float32, len(tr.Nodes)+1)
		for k := range tr.Leaves {
			tr.Leaves[k] = d.Float32()
		}
		t.Trees[i] = tr
	}
	if d.err == nil {
		if err := t.Check(); err != nil {
			d.Fail("%v", err)
		}
	}
	return t
}

// Forest appends f.
func (e *Encoder) Forest(f *tree.Forest) {
	e.Uint32(uint32(f.Features))
	e.Float32(f.Low)
	e.Float32(f.Step)
	e.Uint32(uint32(len(f.Trees)))
	for _, t := range f.Trees {
		e.nodes(t.Nodes)
		e.Raw(t.Values)
	}
}

// Forest takes one and checks it.
func (d *Decoder) Forest() *tree.Forest {
	f := &tree.Forest{Features: int(d.Uint32()), Low: d.Float32(), Step: d.Float32()}
	f.Trees = make([]tree.ForestTree, d.Length(2+tree.LeafValues))
	for i := range f.Trees {
		t := tree.ForestTree{Nodes: d.nodes(tree.LeafValues)}
		if d.err != nil {
			return f
		}
		t.Values = d.Raw((len(t.Nodes) + 1) * tree.LeafValues)
		f.Trees[i] = t
	}
	if d.err == nil {
		if err := f.Check(); err != nil {
			d.Fail("%v", err)
		}
	}
	return f
}

// Network appends n.
func (e *Encoder) Network(n *neural.Network) {
	e.Float64s(n.Quantiles)
	e.Float32s(n.Mean)
	e.Float32s(n.Deviation)
	e.Uint32(uint32(len(n.Layers)))
	for _, l := range n.Layers {
		e.layer(l)
	}
}

func (e *Encoder) layer(l neural.Layer) {
	e.Uint32(uint32(l.In))
	e.Uint32(uint32(l.Out))
	e.Float32s(l.Weights)
	e.Float32s(l.Bias)
}

func (d *Decoder) layer() neural.Layer {
	return neural.Layer{In: int(d.Uint32()), Out: int(d.Uint32()), Weights: d.Float32s(), Bias: d.Float32s()}
}

// Network takes one and checks it.
func (d *Decoder) Network() *neural.Network {
	n := &neural.Network{Quantiles: d.Float64s(), Mean: d.Float32s(), Deviation: d.Float32s()}
	n.Layers = make([]neural.Layer, d.Length(16))
	for i := range n.Layers {
		n.Layers[i] = d.layer()
	}
	if d.err == nil {
		if err := n.Check(); err != nil {
			d.Fail("%v", err)
		}
	}
	return n
}

// BiLSTM appends n.
func (e *Encoder) BiLSTM(n *neural.BiLSTM) {
	e.Uint32(uint32(n.Hidden))
	for _, l := range []neural.Layer{n.Input[0], n.Input[1], n.Recurrent[0], n.Recurrent[1], n.Head} {
		e.layer(l)
	}
}

// BiLSTM takes one and checks it.
func (d *Decoder) BiLSTM() *neural.BiLSTM {
	n := &neural.BiLSTM{Hidden: int(d.Uint32())}
	for _, l := range []*neural.Layer{&n.Input[0], &n.Input[1], &n.Recurrent[0], &n.Recurrent[1], &n.Head} {
		if *l = d.layer(); len(l.Bias) == 0 {
			l.Bias = nil
		}
	}
	if d.err == nil {
		if err := n.Check(); err != nil {
			d.Fail("%v", err)
		}
	}
	return n
}

// Binner appends b.
func (e *Encoder) Binner(b *frame.Binner) {
	e.Uint32(uint32(len(b.Edges)))
	for _, v := range b.Edges {
		e.Float32s(v)
	}
}

// Binner takes one.
func (d *Decoder) Binner() *frame.Binner {
	b := &frame.Binner{Edges: make([][]float32, d.Length(4))}
	for i := range b.Edges {
		b.Edges[i] = d.Float32s()
		if len(b.Edges[i]) >= frame.MaxBins {
			d.Fail("feature %d has %d bin edges", i, len(b.Edges[i]))
		}
	}
	return b
}

// Calibrator appends c.
func (e *Encoder) Calibrator(c *quantile.Calibrator) {
	e.Float64s(c.Quantiles)
	e.Uint32(uint32(c.Low))
	e.Uint32(uint32(c.High))
	e.Float32(c.Floor)
	e.Float64(c.Gamma)
	e.Float64s(c.Levels)
	e.Uint32(uint32(c.Observed))
	e.Uint32(uint32(len(c.Pools)))
	for _, p := range c.Pools {
		e.Float32s(p)
	}
}

// Calibrator takes one and checks it.
func (d *Decoder) Calibrator() *quantile.Calibrator {
	c := &quantile.Calibrator{Quantiles: d.Float64s(), Low: int(int32(d.Uint32())), High: int(int32(d.Uint32())), Floor: d.Float32(), Gamma: d.Float64(), Levels: d.Float64s(), Observed: int(int32(d.Uint32()))}
	c.Pools = make([][]float32, d.Length(4))
	for i := range c.Pools {
		c.Pools[i] = d.Float32s()
	}
	if d.err == nil {
		if err := c.Check(); err != nil {
			d.Fail("%v", err)
		}
	}
	return c
}
