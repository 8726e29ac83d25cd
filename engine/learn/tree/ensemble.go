// Package tree grows histogram trees for conditional quantiles: boosted
// ensembles with the pinball loss ([Fit]) and forests ([FitForest]).
//
// Every sum that decides a split is an integer, so a fit depends on nothing but
// the data, the configuration and the seed. A fit runs in its caller's
// goroutine; fit several side by side for speed.
package tree

import (
	"fmt"
	"math"
)

// Node is an inner node: a value under Threshold goes left, any other right. A
// missing value goes left, or right with MissingRight. A child that is
// negative is the leaf ^child.
type Node struct {
	Threshold    float32
	Left, Right  int16
	Feature      uint16
	MissingRight bool

	bin uint8 // the threshold in bins, for the fit
}

// child is Left for 1 and Right for 0, without a branch: which way a sample
// goes no processor foresees.
func (n *Node) child(left int16) int16 { return n.Right ^ (n.Left^n.Right)&-left }

// Tree is one tree; the root is node 0. A tree without nodes has one leaf.
type Tree struct {
	Nodes  []Node
	Leaves []float32
}

// Ensemble returns Base plus the sum of its trees' leaves.
type Ensemble struct {
	Features int
	Base     float32
	Trees    []Tree
}

// Predict writes the answer for each of len(out) rows, given row-major. It
// allocates nothing and may be called from many goroutines.
func (e *Ensemble) Predict(rows, out []float32) {
	for i := range out {
		out[i] = e.Base
	}
	w := e.Features
	for t := range e.Trees {
		nodes, leaves := e.Trees[t].Nodes, e.Trees[t].Leaves
		if len(nodes) == 0 {
			for i := range out {
				out[i] += leaves[0]
			}
			continue
		}
		for i := range out {
			out[i] += leaves[leafOf(nodes, rows[i*w:i*w+w])]
		}
	}
}

// Splits counts how often each feature is split on: a rough importance.
func (e *Ensemble) Splits() []int {
	out := make([]int, e.Features)
	for _, t := range e.Trees {
		for _, n := range t.Nodes {
			out[n.Feature]++
		}
	}
	return out
}

// Check returns an error if e cannot be used. It makes an ensemble decoded from
// untrusted bytes safe for [Ensemble.Predict].
func (e *Ensemble) Check() error {
	if e.Features <= 0 || !finite(e.Base) {
		return fmt.Errorf("tree: %d features, base %g", e.Features, e.Base)
	}
	for i, t := range e.Trees {
		if len(t.Leaves) != len(t.Nodes)+1 || len(t.Leaves) > math.MaxInt16 {
			return fmt.Errorf("tree %d: %d leaves for %d nodes", i, len(t.Leaves), len(t.Nodes))
		}
		if err := checkNodes(t.Nodes, e.Features, len(t.Leaves)); err != nil {
			return fmt.Errorf("tree %d %w", i, err)
		}
		for k, v := range t.Leaves {
			if !finite(v) {
				return fmt.Errorf("tree %d leaf %d: %g", i, k, v)
			}
		}
	}
	return nil
}

func checkNodes(nodes []Node, features, leaves int) error {
	for k, n := range nodes {
		if int(n.Feature) >= features {
			return fmt.Errorf("node %d: feature %d of %d", k, n.Feature, features)
		}
		if n.Threshold != n.Threshold {
			return fmt.Errorf("node %d: threshold is not a number", k)
		}
		for _, c := range [...]int16{n.Left, n.Right} {
			// A child lies behind its parent, so that no walk can cycle.
			if c >= 0 && (int(c) <= k || int(c) >= len(nodes)) || c < 0 && int(^c) >= leaves {
				return fmt.Errorf("node %d: child %d", k, c)
			}
		}
	}
	return nil
}

func finite(v float32) bool { return v-v == 0 }
